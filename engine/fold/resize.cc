// Resize and Upsample, one axis after the other. Sizes and places are computed in float32, as ONNX Runtime and ONNX's
// shape inference do (3 / 0.6f is 5, and below it in float64, where `floor` takes another element); sums in float64.
#include <algorithm>
#include <cmath>

#include "engine/fold/support.h"

namespace qrewrite::fold {
namespace {

// Where an element of a resized axis comes from.
struct Tap {
  int64_t index;
  double weight;
};
using Taps = std::vector<std::vector<Tap>>;  // for each element of the result

struct Modes {
  std::string_view mode, coordinates, nearest;
  double cubic;
};

Result<float> Coordinate(std::string_view mode, int64_t i, float scale, int64_t in, int64_t out) {
  const auto x = static_cast<float>(i);
  if (mode == "asymmetric") return x / scale;
  if (mode == "half_pixel") return (x + 0.5F) / scale - 0.5F;
  if (mode == "pytorch_half_pixel") return out > 1 ? (x + 0.5F) / scale - 0.5F : 0.0F;
  if (mode == "align_corners") {
    return out > 1 ? x * static_cast<float>(in - 1) / static_cast<float>(out - 1) : 0.0F;
  }
  return Reason("coordinates `{}` are not computed", mode);
}

Result<int64_t> Nearest(std::string_view mode, float x) {
  const float down = std::floor(x);
  if (mode == "floor") return static_cast<int64_t>(down);
  if (mode == "ceil") return static_cast<int64_t>(std::ceil(x));
  // What rounding leaves of a half counts as one, as in ONNX Runtime 1.31.
  constexpr float kNearHalf = 1e-6F;
  const bool half = std::fabs(x - down - 0.5F) <= kNearHalf;
  if (mode == "round_prefer_floor") return static_cast<int64_t>(half ? down : std::round(x));
  if (mode == "round_prefer_ceil") return static_cast<int64_t>(half ? down + 1 : std::round(x));
  return Reason("nearest_mode `{}` is not computed", mode);
}

// Weights of the four neighbours of a place that lies `t` behind the second.
std::vector<double> CubicWeights(double t, double a) {
  const auto far = [a](double d) { return ((a * d - 5 * a) * d + 8 * a) * d - 4 * a; };
  const auto near = [a](double d) { return ((a + 2) * d - (a + 3)) * d * d + 1; };
  return {far(1 + t), near(t), near(1 - t), far(2 - t)};
}

Result<Taps> TapsOf(const Modes& modes, float scale, int64_t in, int64_t out) {
  Taps taps(static_cast<size_t>(out));
  for (int64_t i = 0; i < out; ++i) {
    QR_ASSIGN_OR_RETURN(const float x, Coordinate(modes.coordinates, i, scale, in, out));
    const auto add = [&](int64_t index, double weight) {
      taps[static_cast<size_t>(i)].push_back({std::clamp<int64_t>(index, 0, in - 1), weight});
    };
    const auto below = static_cast<int64_t>(std::floor(x));
    if (modes.mode == "nearest") {
      QR_ASSIGN_OR_RETURN(const int64_t index, Nearest(modes.nearest, x));
      add(index, 1);
    } else if (modes.mode == "linear") {
      const double t = static_cast<double>(x) - static_cast<double>(below);
      add(below, 1 - t);
      add(below + 1, t);
    } else if (modes.mode == "cubic") {
      const std::vector<double> weights =
          CubicWeights(static_cast<double>(x) - static_cast<double>(below), modes.cubic);
      for (int64_t k = 0; k < 4; ++k) add(below - 1 + k, weights[static_cast<size_t>(k)]);
    } else {
      return Reason("mode `{}` is not computed", modes.mode);
    }
  }
  return taps;
}

std::vector<double> ResizeAxis(const std::vector<double>& x, const Dims& dims, size_t axis,
                               const Taps& taps) {
  const int64_t outer = CountRange(dims, 0, axis);
  const int64_t n = dims[axis];
  const int64_t inner = CountRange(dims, axis + 1, dims.size());
  std::vector<double> y;
  y.reserve(static_cast<size_t>(outer * inner) * taps.size());
  for (int64_t o = 0; o < outer; ++o) {
    for (const std::vector<Tap>& list : taps) {
      for (int64_t i = 0; i < inner; ++i) {
        double sum = 0;
        for (const Tap& tap : list) {
          sum += tap.weight * x[static_cast<size_t>((o * n + tap.index) * inner + i)];
        }
        y.push_back(sum);
      }
    }
  }
  return y;
}

// Scale and size of the result along each axis.
struct Target {
  std::vector<float> scales;
  Dims dims;
};

Result<Target> TargetOf(const FoldCall& call, const Tensor& x, size_t scales_at) {
  Target target;
  const Tensor* sizes = scales_at == 2 ? Input(call, 3) : nullptr;
  if (sizes != nullptr && sizes->size() > 0) {
    QR_ASSIGN_OR_RETURN(target.dims, IntList(*sizes));
    for (size_t i = 0; i < target.dims.size() && i < x.dims().size(); ++i) {
      target.scales.push_back(static_cast<float>(target.dims[i]) / static_cast<float>(x.dims()[i]));
    }
  } else {
    if (call.op == "Upsample" && call.since < 9) {
      const std::vector<float>* list = call.attributes.Floats("scales");
      if (list == nullptr) return Reason("{} without scales", call.op);
      target.scales.assign(list->begin(), list->end());
    } else {
      QR_ASSIGN_OR_RETURN(const Tensor scales, NeedBytes(call, scales_at));
      QR_ASSIGN_OR_RETURN(const std::vector<double> list, ToDoubles(scales));
      target.scales.assign(list.begin(), list.end());
    }
    for (size_t i = 0; i < target.scales.size() && i < x.dims().size(); ++i) {
      if (!(target.scales[i] > 0 && target.scales[i] < 1e9)) {
        return Reason("{} with a scale of {}", call.op, target.scales[i]);
      }
      target.dims.push_back(
          static_cast<int64_t>(std::floor(static_cast<float>(x.dims()[i]) * target.scales[i])));
    }
  }
  const bool regular = std::all_of(target.scales.begin(), target.scales.end(),
                                   [](float s) { return std::isfinite(s) && s > 0; });
  if (!regular || target.dims.size() != x.dims().size() ||
      target.scales.size() != x.dims().size() ||
      !CheckedCount(target.dims, MaxComputedElements())) {
    return Reason("{} of {} to {}", call.op, ShapeText(x.dims()), ShapeText(target.dims));
  }
  return target;
}

Outputs Resize(const FoldCall& call) {
  QR_ASSIGN_OR_RETURN(const Tensor x, NeedBytes(call, 0));
  if (call.attributes.Int("antialias", 0) != 0 || call.attributes.Int("exclude_outside", 0) != 0 ||
      call.attributes.Find("axes") != nullptr ||
      call.attributes.String("keep_aspect_ratio_policy", "stretch") != "stretch" || x.size() == 0) {
    return Reason("{} with these attributes is not computed", call.op);
  }
  const bool old = call.op == "Upsample" || call.since < 11;
  Modes modes{
      .mode = call.attributes.String("mode", "nearest"),
      .coordinates = old ? "asymmetric"
                         : call.attributes.String("coordinate_transformation_mode", "half_pixel"),
      .nearest = old ? "floor" : call.attributes.String("nearest_mode", "round_prefer_floor"),
      .cubic = call.attributes.Float("cubic_coeff_a", -0.75f)};
  QR_ASSIGN_OR_RETURN(const Target target, TargetOf(call, x, old ? 1 : 2));
  // Its other sizes may be any, and are none that memory is taken for.
  if (Count(target.dims) == 0) return One(FromDoubles(x.dtype(), target.dims, {}));
  QR_ASSIGN_OR_RETURN(std::vector<double> values, ToDoubles(x));
  Dims dims = x.dims();
  for (size_t axis = 0; axis < dims.size(); ++axis) {
    if (target.scales[axis] == 1 && target.dims[axis] == dims[axis]) continue;
    // What is made smaller skips ahead in the old versions, axis by axis.
    if (old) modes.nearest = target.scales[axis] < 1 ? "ceil" : "floor";
    Dims next = dims;
    next[axis] = target.dims[axis];
    QR_RETURN_IF_ERROR(CheckSize({x.dtype(), next}));  // a later axis may make it small again
    QR_ASSIGN_OR_RETURN(const Taps taps,
                        TapsOf(modes, target.scales[axis], dims[axis], target.dims[axis]));
    values = ResizeAxis(values, dims, axis, taps);
    dims = std::move(next);
  }
  if (IsInteger(x.dtype())) {
    for (double& v : values) v = std::trunc(v);
  }
  return One(FromDoubles(x.dtype(), std::move(dims), values));
}

OutputTypes ResizeTypes(const FoldCall& call) {
  QR_ASSIGN_OR_RETURN(const Tensor x, Need(call, 0));
  const bool old = call.op == "Upsample" || call.since < 11;
  QR_ASSIGN_OR_RETURN(Target target, TargetOf(call, x, old ? 1 : 2));
  const uint64_t taps = call.attributes.String("mode", "nearest") == "cubic" ? 4 : 1;
  const uint64_t products = taps * static_cast<uint64_t>(Count(target.dims));
  return std::vector<TensorType>{{x.dtype(), std::move(target.dims), /*may_fail=*/true, products}};
}

}  // namespace

void RegisterResize(KernelRegistry& registry) {
  Add(registry, "Resize", {.first = 10, .inputs = 4}, Resize, ResizeTypes);
  Add(registry, "Upsample", {.first = 7, .inputs = 2}, Resize, ResizeTypes);
}

}  // namespace qrewrite::fold
