// GridSample: an image, of any number of axes, at places that a grid gives.
#include <algorithm>
#include <array>
#include <cmath>
#include <string>

#include "engine/fold/types.h"
#include "engine/fold/whole_models.h"

namespace qrewrite::fold {
namespace {

// More is not computed: a model must not keep the tool busy for minutes.
constexpr int64_t kMaxSteps = int64_t{1} << 30;
constexpr int64_t kMaxTaps = int64_t{1} << 16;  // pixels that one result is made of

enum class Padding { kZeros, kBorder, kReflection };

struct SamplePlan {
  Tensor x, grid;
  int64_t taps = 1;  // along an axis: 1 nearest, 2 linear, 4 cubic
  Padding padding = Padding::kZeros;
  bool align_corners = false;
  Dims dims;
};

Status ReadModes(const FoldCall& call, SamplePlan& plan) {
  // Two of them got other names.
  const bool old = call.since < 20;
  const std::string_view linear = old ? "bilinear" : "linear", cubic = old ? "bicubic" : "cubic";
  const std::string_view mode = call.attributes.String("mode", linear);
  plan.taps = mode == "nearest" ? 1 : mode == linear ? 2 : mode == cubic ? 4 : 0;
  if (plan.taps == 0) return Reason("the mode {} of {} is not known", mode, call.op);
  const std::string_view padding = call.attributes.String("padding_mode", "zeros");
  if (padding == "border") {
    plan.padding = Padding::kBorder;
  } else if (padding == "reflection") {
    plan.padding = Padding::kReflection;
  } else if (padding != "zeros") {
    return Reason("the padding {} of {} is not known", padding, call.op);
  }
  plan.align_corners = call.attributes.Int("align_corners", 0) != 0;
  return {};
}

Result<SamplePlan> Plan(const FoldCall& call) {
  SamplePlan plan;
  QR_ASSIGN_OR_RETURN(plan.x, Need(call, 0));
  QR_ASSIGN_OR_RETURN(plan.grid, Need(call, 1));
  QR_RETURN_IF_ERROR(ReadModes(call, plan));
  const Dims &in = plan.x.dims(), &grid = plan.grid.dims();
  if (!HasMath(plan.x.dtype()) || !IsFloat(plan.grid.dtype()))
    return Reason("{} of {} at {}", call.op, Name(plan.x.dtype()), Name(plan.grid.dtype()));
  if (in.size() < 3 || grid.size() != in.size() || grid[0] != in[0] ||
      grid.back() != static_cast<int64_t>(in.size()) - 2 || (call.since < 20 && in.size() != 4))
    return Misfit("{} of {} at {}", call.op, ShapeText(in), ShapeText(grid));
  plan.dims = {in[0], in[1]};
  plan.dims.insert(plan.dims.end(), grid.begin() + 1, grid.end() - 1);
  QR_RETURN_IF_ERROR(CheckSize({plan.x.dtype(), plan.dims}));
  const Dims taps(in.size() - 2, plan.taps);
  Dims work = plan.dims;
  work.insert(work.end(), taps.begin(), taps.end());
  if (!CheckedCount(taps, kMaxTaps) || !CheckedCount(work, kMaxSteps))
    return Reason("{} of too many pixels", call.op);
  if (CountRange(in, 2, in.size()) == 0 && Count(plan.dims) > 0)
    return Reason("{} of no pixels", call.op);
  return plan;
}

// --- one axis. Places are computed in the type of the grid, as ONNX Runtime does: halves lie between two pixels.

template <class G>
struct Axis {
  int64_t size;
  G low, high;  // where reflection turns
};

template <class G>
G Reflect(G v, const Axis<G>& axis) {
  const G range = axis.high - axis.low;
  if (range <= 0) return axis.low;
  const bool below = v < axis.low;
  if (!below && v <= axis.high) return v;
  const G beyond = below ? axis.low - v : v - axis.high;
  const auto turns = static_cast<int64_t>(beyond / range);
  const G rest = beyond - static_cast<G>(turns) * range;
  return below == (turns % 2 == 0) ? axis.low + rest : axis.high - rest;
}

struct Tap {
  int64_t at;  // -1: a zero
  double weight;
};

template <class G>
Tap TapAt(int64_t at, double weight, const Axis<G>& axis, Padding padding) {
  const int64_t last = axis.size - 1;
  if (at >= 0 && at <= last) return {at, weight};
  if (padding == Padding::kZeros) return {-1, weight};
  if (padding == Padding::kReflection) at = static_cast<int64_t>(Reflect(static_cast<G>(at), axis));
  return {std::clamp<int64_t>(at, 0, last), weight};
}

// How much each of four neighbours counts at `d` behind the second one.
std::array<double, 4> CubicWeights(double d) {
  constexpr double kA = -0.75;
  const auto near = [](double v) { return ((kA + 2) * v - (kA + 3)) * v * v + 1; };
  const auto far = [](double v) { return ((kA * v - 5 * kA) * v + 8 * kA) * v - 4 * kA; };
  return {far(d + 1), near(d), near(1 - d), far(2 - d)};
}

// The pixels along one axis that a place of the grid is made of.
template <class G>
Result<std::vector<Tap>> TapsOf(const SamplePlan& plan, G place, const Axis<G>& axis) {
  const auto size = static_cast<G>(axis.size);
  G v = plan.align_corners ? (place + 1) / 2 * (size - 1) : ((place + 1) * size - 1) / 2;
  if (!(std::fabs(v) < static_cast<G>(int64_t{1} << 40))) return Reason("GridSample at {}", place);
  if (plan.taps == 1) v = std::nearbyint(v);
  // Neighbours of a cubic place are sought on their own, from the place as it is: ONNX Runtime and torch do so, where
  // onnx's own evaluator moves the place first.
  if (plan.taps != 4 && (v < axis.low || v > axis.high)) {
    if (plan.padding == Padding::kBorder) v = std::clamp(v, G{0}, size - 1);
    if (plan.padding == Padding::kReflection) v = Reflect(v, axis);
  }
  const auto first = static_cast<int64_t>(std::floor(v));
  const double d = static_cast<double>(v - static_cast<G>(first));
  std::vector<Tap> taps;
  const auto add = [&](int64_t at, double weight) {
    taps.push_back(TapAt(at, weight, axis, plan.padding));
  };
  if (plan.taps == 1) {
    add(first, 1);
  } else if (plan.taps == 2) {
    add(first, 1 - d);
    add(first + 1, d);
  } else {
    int64_t at = first - 1;
    for (const double weight : CubicWeights(d)) add(at++, weight);
  }
  return taps;
}

// --- all axes

// All combinations of the axes' taps. The grid names the last axis first.
template <class G>
Result<std::vector<Tap>> PixelsOf(const SamplePlan& plan, std::span<const G> place,
                                  const std::vector<Axis<G>>& axes) {
  std::vector<Tap> pixels{{0, 1}};
  for (size_t i = 0; i < axes.size(); ++i) {
    QR_ASSIGN_OR_RETURN(const std::vector<Tap> taps,
                        TapsOf(plan, place[axes.size() - 1 - i], axes[i]));
    std::vector<Tap> next;
    for (const Tap& pixel : pixels) {
      for (const Tap& tap : taps) {
        const bool zero = pixel.at < 0 || tap.at < 0;
        next.push_back({zero ? -1 : pixel.at * axes[i].size + tap.at, pixel.weight * tap.weight});
      }
    }
    pixels = std::move(next);
  }
  return pixels;
}

template <class G>
std::vector<Axis<G>> AxesOf(const SamplePlan& plan) {
  std::vector<Axis<G>> axes;
  for (size_t i = 2; i < plan.x.dims().size(); ++i) {
    const int64_t size = plan.x.dims()[i];
    const G half = plan.align_corners ? G{0} : G{0.5};
    axes.push_back({size, -half, static_cast<G>(size - 1) + half});
  }
  return axes;
}

template <class G>
Result<std::vector<double>> SampleAll(const SamplePlan& plan, std::span<const G> grid) {
  QR_ASSIGN_OR_RETURN(const std::vector<double> x, ToDoubles(plan.x));
  const std::vector<Axis<G>> axes = AxesOf<G>(plan);
  const int64_t channels = plan.dims[1], size = CountRange(plan.x.dims(), 2, axes.size() + 2);
  const int64_t places = CountRange(plan.dims, 2, plan.dims.size());
  std::vector<double> y(static_cast<size_t>(Count(plan.dims)));
  for (int64_t at = 0; !y.empty() && at < plan.dims[0] * places; ++at) {
    const auto place = grid.subspan(static_cast<size_t>(at) * axes.size(), axes.size());
    QR_ASSIGN_OR_RETURN(const std::vector<Tap> pixels, PixelsOf(plan, place, axes));
    for (int64_t c = at / places * channels, end = c + channels; c < end; ++c) {
      double& sum = y[static_cast<size_t>(c * places + at % places)];
      for (const Tap& pixel : pixels) {
        if (pixel.at >= 0) sum += pixel.weight * x[static_cast<size_t>(c * size + pixel.at)];
      }
    }
  }
  return y;
}

Outputs GridSample(const FoldCall& call) {
  QR_ASSIGN_OR_RETURN(const SamplePlan plan, Plan(call));
  QR_ASSIGN_OR_RETURN(const std::vector<double> wide, ToDoubles(plan.grid));
  std::vector<double> y;
  if (plan.grid.dtype() == DType::kDouble) {
    QR_ASSIGN_OR_RETURN(y, SampleAll(plan, std::span<const double>(wide)));
  } else {
    const std::vector<float> grid(wide.begin(), wide.end());
    QR_ASSIGN_OR_RETURN(y, SampleAll(plan, std::span<const float>(grid)));
  }
  if (!IsFloat(plan.x.dtype()))
    std::ranges::transform(y, y.begin(), [](double v) { return std::trunc(v); });
  return One(FromDoubles(plan.x.dtype(), plan.dims, y));
}

}  // namespace

void RegisterSampling(KernelRegistry& registry) {
  Add(registry, "GridSample", {.first = 16, .inputs = 2}, GridSample);
}

}  // namespace qrewrite::fold
