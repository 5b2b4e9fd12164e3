#include "engine/fold/window.h"

#include <algorithm>

namespace qrewrite::fold {
namespace {

constexpr int64_t kMaxSources = int64_t{1} << 26;

// One spatial axis.
struct Axis {
  int64_t size, kernel, stride, dilation, pad_begin, pad_end, out;
};

int64_t CeilDiv(int64_t a, int64_t b) { return (a + b - 1) / b; }

Result<int64_t> At(const FoldCall& call, std::string_view name, size_t i, size_t n,
                   int64_t fallback) {
  const std::vector<int64_t>* list = call.attributes.Ints(name);
  if (list == nullptr || list->empty()) return fallback;
  if (list->size() != n) return Reason("{} has {} numbers in {}", call.op, list->size(), name);
  return (*list)[i];
}

// Rounded up, a window must not begin in the padding behind the data; one that is larger than all there is has
// its place if it begins less than a stride too late.
int64_t OutSize(const Axis& a, bool ceil) {
  const int64_t reach = (a.kernel - 1) * a.dilation + 1;
  const int64_t room = a.size + a.pad_begin + a.pad_end - reach;
  if (room < 0 && (!ceil || room <= -a.stride)) return 0;
  int64_t out = (ceil ? CeilDiv(room, a.stride) : room / a.stride) + 1;
  if (ceil && (out - 1) * a.stride >= a.size + a.pad_begin) --out;
  return out;
}

Result<Axis> MakeAxis(const FoldCall& call, size_t i, const Dims& spatial, const Dims& kernel) {
  const size_t n = spatial.size();
  Axis a{.size = spatial[i], .kernel = kernel[i]};
  QR_ASSIGN_OR_RETURN(a.stride, At(call, "strides", i, n, 1));
  QR_ASSIGN_OR_RETURN(a.dilation, At(call, "dilations", i, n, 1));
  QR_ASSIGN_OR_RETURN(a.pad_begin, At(call, "pads", i, 2 * n, 0));
  QR_ASSIGN_OR_RETURN(a.pad_end, At(call, "pads", i + n, 2 * n, 0));
  constexpr int64_t kMost = int64_t{1} << 31;
  for (const int64_t v : {a.stride, a.dilation, a.kernel}) {
    if (v < 1 || v > kMost) return Reason("{} with a stride, dilation or size of {}", call.op, v);
  }
  for (const int64_t v : {a.pad_begin, a.pad_end}) {
    if (v < 0 || v > kMost) return Reason("{} with padding {}", call.op, v);
  }
  const std::string_view mode = call.attributes.String("auto_pad", "NOTSET");
  if (mode == "SAME_UPPER" || mode == "SAME_LOWER") {
    const int64_t reach = (a.kernel - 1) * a.dilation + 1;
    const int64_t out = CeilDiv(a.size, a.stride);
    const int64_t total = std::max<int64_t>(0, (out - 1) * a.stride + reach - a.size);
    a.pad_begin = mode == "SAME_UPPER" ? total / 2 : total - total / 2;
    a.pad_end = total - a.pad_begin;
  } else if (mode == "VALID") {
    a.pad_begin = a.pad_end = 0;
  }
  a.out = OutSize(a, call.attributes.Int("ceil_mode", 0) != 0);
  return a;
}

Result<std::vector<Axis>> MakeAxes(const FoldCall& call, const Dims& spatial, const Dims& kernel) {
  if (kernel.size() != spatial.size()) {
    return Reason("{} with a window {} over {}", call.op, ShapeText(kernel), ShapeText(spatial));
  }
  std::vector<Axis> axes;
  for (size_t i = 0; i < spatial.size(); ++i) {
    QR_ASSIGN_OR_RETURN(const Axis axis, MakeAxis(call, i, spatial, kernel));
    axes.push_back(axis);
  }
  return axes;
}

Dims SizesOf(const std::vector<Axis>& axes) {
  Dims sizes;
  for (const Axis& a : axes) sizes.push_back(a.out);
  return sizes;
}

// Counts through `sizes`, the last one first. False at the end.
bool Next(std::vector<int64_t>& index, const std::vector<int64_t>& sizes) {
  for (size_t i = index.size(); i-- > 0;) {
    if (++index[i] < sizes[i]) return true;
    index[i] = 0;
  }
  return false;
}

int64_t SourceOf(const std::vector<Axis>& axes, const Dims& out, const Dims& tap) {
  int64_t source = 0;
  int64_t beside = 0;
  for (size_t i = 0; i < axes.size(); ++i) {
    const Axis& a = axes[i];
    const int64_t at = out[i] * a.stride + tap[i] * a.dilation - a.pad_begin;
    if (at >= a.size + a.pad_end) return kBeyond;
    if (at < 0 || at >= a.size) beside = kPadding;
    source = source * a.size + at;
  }
  return beside < 0 ? beside : source;
}

}  // namespace

Result<Dims> SpatialDims(const Tensor& tensor, std::string_view op) {
  if (tensor.rank() < 3) return Reason("{} of shape {}", op, ShapeText(tensor.dims()));
  return Dims(tensor.dims().begin() + 2, tensor.dims().end());
}

Result<Dims> Window::Sizes(const FoldCall& call, const Dims& spatial, const Dims& kernel) {
  QR_ASSIGN_OR_RETURN(const std::vector<Axis> axes, MakeAxes(call, spatial, kernel));
  return SizesOf(axes);
}

Result<Window> Window::Make(const FoldCall& call, const Dims& spatial, const Dims& kernel) {
  QR_ASSIGN_OR_RETURN(const std::vector<Axis> axes, MakeAxes(call, spatial, kernel));
  Window window;
  window.out = SizesOf(axes);
  Dims all = window.out;
  all.insert(all.end(), kernel.begin(), kernel.end());
  const std::optional<int64_t> count = CheckedCount(all, kMaxSources);
  // Beside no result the window may have any size.
  if (!count || !CheckedCount(kernel, kMaxSources))
    return Reason("{} with windows that are too large", call.op);
  window.taps = Count(kernel);
  window.outputs = Count(window.out);
  if (*count == 0) return window;
  window.source.reserve(static_cast<size_t>(*count));
  Dims tap(kernel.size(), 0);
  do {
    Dims out(kernel.size(), 0);
    do {
      window.source.push_back(SourceOf(axes, out, tap));
    } while (Next(out, window.out));
  } while (Next(tap, kernel));
  return window;
}

OutputTypes WindowTypes(DType dtype, int64_t batch, int64_t channels, const Dims& out,
                        const Dims& kernel, int64_t products) {
  TensorType type{dtype, {batch, channels}, /*may_fail=*/true};
  type.dims.insert(type.dims.end(), out.begin(), out.end());
  Dims work = type.dims;
  work.insert(work.end(), kernel.begin(), kernel.end());
  work.push_back(products);
  const std::optional<int64_t> all = CheckedCount(work, INT64_MAX);
  if (!all) return Reason("windows over {} are too many to be counted", ShapeText(type.dims));
  type.products = static_cast<uint64_t>(*all);
  return std::vector{std::move(type)};
}

}  // namespace qrewrite::fold
