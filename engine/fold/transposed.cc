// What a Window gathers for each result of a convolution is scattered from each element here.
#include "engine/fold/transposed.h"

#include <algorithm>

#include "engine/fold/window.h"

namespace qrewrite::fold {
namespace {

constexpr int64_t kMostProducts = int64_t{1} << 28;

// One spatial axis.
struct Axis {
  int64_t size, kernel, stride = 1, dilation = 1, pad_begin = 0, pad_end = 0, more = 0, out = 0;
};

Status Read(const FoldCall& call, std::string_view name, std::vector<Axis>& axes, size_t from,
            int64_t Axis::*field) {
  const std::vector<int64_t>* const list = call.attributes.Ints(name);
  if (list == nullptr || list->empty()) return {};
  const size_t n = axes.size() * (name == "pads" ? 2 : 1);
  if (list->size() != n) return Reason("{} has {} numbers in {}", call.op, list->size(), name);
  for (size_t i = 0; i < axes.size(); ++i) axes[i].*field = (*list)[from + i];
  return {};
}

// ONNX leaves open where `auto_pad` and `output_shape` put what is left over, and its versions differ.
Result<std::vector<Axis>> AxesOf(const FoldCall& call, const Dims& spatial, const Dims& kernel) {
  constexpr int64_t kMost = int64_t{1} << 20;
  const std::string_view mode = call.attributes.String("auto_pad", "NOTSET");
  const std::vector<int64_t>* const shape = call.attributes.Ints("output_shape");
  if (mode.starts_with("SAME") || (shape != nullptr && !shape->empty()))
    return Reason("{} with a shape for its result is not computed", call.op);
  std::vector<Axis> axes;
  for (size_t i = 0; i < spatial.size(); ++i)
    axes.push_back({.size = spatial[i], .kernel = kernel[i]});
  QR_RETURN_IF_ERROR(Read(call, "strides", axes, 0, &Axis::stride));
  QR_RETURN_IF_ERROR(Read(call, "dilations", axes, 0, &Axis::dilation));
  QR_RETURN_IF_ERROR(Read(call, "output_padding", axes, 0, &Axis::more));
  if (mode == "NOTSET") {
    QR_RETURN_IF_ERROR(Read(call, "pads", axes, 0, &Axis::pad_begin));
    QR_RETURN_IF_ERROR(Read(call, "pads", axes, axes.size(), &Axis::pad_end));
  }
  for (Axis& a : axes) {
    for (const int64_t v : {a.stride, a.dilation, a.kernel}) {
      if (v < 1 || v > kMost) return Reason("{} with a stride, dilation or size of {}", call.op, v);
    }
    for (const int64_t v : {a.pad_begin, a.pad_end, a.more}) {
      if (v < 0 || v > kMost) return Reason("{} with padding {}", call.op, v);
    }
    if (a.more >= std::max(a.stride, a.dilation))
      return Reason("{} with an output_padding of {}", call.op, a.more);
    a.out = (a.size - 1) * a.stride + a.more + (a.kernel - 1) * a.dilation + 1 - a.pad_begin -
            a.pad_end;
    if (a.size < 1 || a.out < 1) return Reason("{} without results", call.op);
  }
  return axes;
}

// Where element `at` of the data goes by tap `tap` of the kernel, or kPadding.
int64_t TargetOf(const std::vector<Axis>& axes, int64_t at, int64_t tap) {
  int64_t target = 0, behind = 1;
  for (size_t i = axes.size(); i-- > 0;) {
    const Axis& a = axes[i];
    const int64_t o = at % a.size * a.stride + tap % a.kernel * a.dilation - a.pad_begin;
    if (o < 0 || o >= a.out) return kPadding;
    target += o * behind;
    behind *= a.out, at /= a.size, tap /= a.kernel;
  }
  return target;
}

Outputs ConvTranspose(const FoldCall& call) {
  QR_ASSIGN_OR_RETURN(const Tensor x, NeedBytes(call, 0));
  QR_ASSIGN_OR_RETURN(const Tensor w, NeedBytes(call, 1));
  if (!IsFloat(x.dtype()) || x.dtype() != w.dtype())
    return Reason("{} of {} and {}", call.op, Name(x.dtype()), Name(w.dtype()));
  QR_ASSIGN_OR_RETURN(const Dims spatial, SpatialDims(x, call.op));
  QR_ASSIGN_OR_RETURN(const Dims kernel, SpatialDims(w, call.op));
  const std::vector<int64_t>* const said = call.attributes.Ints("kernel_shape");
  const int64_t groups = call.attributes.Int("group", 1);
  const int64_t channels = x.dims()[1];
  if (kernel.size() != spatial.size() || groups < 1 || channels != w.dims()[0] ||
      channels % groups != 0 || !CheckedCount({w.dims()[1], groups}) ||
      (said != nullptr && !said->empty() && *said != kernel)) {
    return Reason("{} of {} with weights {} in {} groups", call.op, ShapeText(x.dims()),
                  ShapeText(w.dims()), groups);
  }
  QR_ASSIGN_OR_RETURN(const std::vector<Axis> axes, AxesOf(call, spatial, kernel));
  const int64_t filters = w.dims()[1], batch = x.dims()[0], inputs = channels / groups;
  Dims dims{batch, filters * groups};
  for (const Axis& a : axes) dims.push_back(a.out);
  QR_RETURN_IF_ERROR(CheckSize({DType::kUndefined, dims}));
  const int64_t in_size = Count(spatial), taps = Count(kernel),
                outputs = CountRange(dims, 2, dims.size());
  if (!CheckedCount({batch, channels, filters, in_size, taps}, kMostProducts))
    return Reason("{} with windows that are too large", call.op);
  QR_ASSIGN_OR_RETURN(const std::vector<double> xs, ToDoubles(x));
  QR_ASSIGN_OR_RETURN(const std::vector<double> ws, ToDoubles(w));
  std::vector<double> bias(static_cast<size_t>(filters * groups), 0.0);
  if (const Tensor* given = Input(call, 2); given != nullptr) {
    if (given->rank() != 1 || given->size() != filters * groups)
      return Reason("{} with a bias of shape {}", call.op, ShapeText(given->dims()));
    QR_ASSIGN_OR_RETURN(bias, ToDoubles(*given));
  }
  std::vector<double> y(static_cast<size_t>(Count(dims)), 0.0);
  for (int64_t at = 0; at < in_size; ++at) {
    for (int64_t tap = 0; tap < taps; ++tap) {
      const int64_t target = TargetOf(axes, at, tap);
      if (target < 0) continue;
      for (int64_t c = 0; c < batch * channels; ++c) {
        const double value = xs[static_cast<size_t>(c * in_size + at)];
        const int64_t row = c % channels;  // of the weights
        const int64_t first = c / channels * filters * groups + row / inputs * filters;
        for (int64_t f = 0; f < filters; ++f)
          y[static_cast<size_t>((first + f) * outputs + target)] +=
              value * ws[static_cast<size_t>((row * filters + f) * taps + tap)];
      }
    }
  }
  for (size_t i = 0; i < y.size(); ++i)
    y[i] += bias[i / static_cast<size_t>(outputs) % bias.size()];
  return One(FromDoubles(x.dtype(), dims, y));
}

}  // namespace

void RegisterTransposed(KernelRegistry& registry) {
  Add(registry, "ConvTranspose", {.inputs = 3}, ConvTranspose);
}

}  // namespace qrewrite::fold
