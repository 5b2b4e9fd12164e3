// Operators that are a strided view of their input: Transpose, Slice, Split, Expand, Tile,
// DepthToSpace, SpaceToDepth. Each only says which view.
#include <algorithm>
#include <functional>
#include <limits>
#include <numeric>

#include "engine/fold/broadcast.h"
#include "engine/fold/layout.h"

namespace qrewrite::fold {
namespace {

// The view, and the shape of the result.
struct Arrangement {
  StridedView view;
  Dims dims;
};
using Arrange = std::function<Result<Arrangement>(const FoldCall&)>;

void AddArranged(KernelRegistry& registry, std::string_view op, Form form, const Arrange& arrange) {
  Kernel run = [arrange](const FoldCall& call) -> Outputs {
    QR_ASSIGN_OR_RETURN(Arrangement a, arrange(call));
    return One(CopyStrided(call.inputs[0], a.view, std::move(a.dims)));
  };
  InferTypes infer = [arrange](const FoldCall& call) -> OutputTypes {
    QR_ASSIGN_OR_RETURN(Arrangement a, arrange(call));
    return OneType(call.inputs[0].dtype(), std::move(a.dims));
  };
  Add(registry, op, form, MovesStrings(std::move(run)), std::move(infer));
}

Result<Arrangement> Transpose(const FoldCall& call) {
  QR_ASSIGN_OR_RETURN(const Tensor x, Need(call, 0));
  const auto rank = static_cast<size_t>(x.rank());
  std::vector<int64_t> perm(rank);
  std::iota(perm.rbegin(), perm.rend(), 0);
  if (const auto* given = call.attributes.Ints("perm"); given != nullptr) {
    if (given->size() != rank) return Reason("perm {} for rank {}", ShapeText(*given), rank);
    for (size_t i = 0; i < rank; ++i) {
      QR_ASSIGN_OR_RETURN(perm[i], NormalAxis((*given)[i], x.rank()));
    }
    QR_RETURN_IF_ERROR(AxisSet(perm, x.rank()).status());
  }
  const std::vector<int64_t> strides = Strides(x.dims());
  Arrangement a;
  for (const int64_t p : perm) {
    a.view.dims.push_back(x.dims()[static_cast<size_t>(p)]);
    a.view.strides.push_back(strides[static_cast<size_t>(p)]);
  }
  a.dims = a.view.dims;
  return a;
}

// Whether ONNX Runtime takes `end` for the end in the direction of the step, which ONNX says only of steps forwards.
bool MeansEnd(int64_t end) {
  return end == std::numeric_limits<int64_t>::max() || end == std::numeric_limits<int32_t>::max();
}

// One axis of a Slice; any 64-bit start and end. As in Python, but that a start in front of the first element is that
// one backwards too.
void SliceAxis(StridedView& view, size_t axis, int64_t start, int64_t end, int64_t step) {
  const int64_t d = view.dims[axis];
  const auto from_end = [d](int64_t i) { return i < 0 ? i + d : i; };
  const int64_t lowest = step > 0 ? 0 : -1;
  const int64_t highest = step > 0 ? d : d - 1;
  const int64_t s = std::clamp(from_end(start), int64_t{0}, std::max<int64_t>(highest, 0));
  const int64_t e = std::clamp(from_end(end), lowest, highest);
  int64_t n = 0;
  if (step > 0 && s < e) n = (e - s - 1) / step + 1;
  // -(step + 1) is defined for the lowest integer, -step is not.
  if (step < 0 && s > e && d > 0) {
    n = static_cast<int64_t>(static_cast<uint64_t>(s - e - 1) /
                             (static_cast<uint64_t>(-(step + 1)) + 1)) +
        1;
  }
  view.dims[axis] = n;
  if (n > 0) view.offset += s * view.strides[axis];
  view.strides[axis] = n > 1 ? view.strides[axis] * step : 1;
}

Result<Arrangement> Slice(const FoldCall& call) {
  QR_ASSIGN_OR_RETURN(const Tensor x, Need(call, 0));
  QR_ASSIGN_OR_RETURN(const auto starts, OptionalInts(call, 10, 1, "starts"));
  QR_ASSIGN_OR_RETURN(const auto ends, OptionalInts(call, 10, 2, "ends"));
  QR_ASSIGN_OR_RETURN(auto axes, OptionalInts(call, 10, 3, "axes"));
  QR_ASSIGN_OR_RETURN(auto steps, OptionalInts(call, 10, 4, "steps"));
  if (!starts || !ends) return Reason("Slice has no starts or ends");
  if (!axes) {
    axes.emplace(starts->size());
    std::iota(axes->begin(), axes->end(), 0);
  }
  if (!steps) steps.emplace(starts->size(), 1);
  if (ends->size() != starts->size() || axes->size() != starts->size() ||
      steps->size() != starts->size()) {
    return Reason("Slice has lists of different length");
  }
  QR_RETURN_IF_ERROR(AxisSet(*axes, x.rank()).status());
  Arrangement a{{x.dims(), Strides(x.dims()), 0}, {}};
  for (size_t i = 0; i < starts->size(); ++i) {
    if ((*steps)[i] == 0) return Reason("Slice has a step of 0");
    if ((*steps)[i] < 0 && MeansEnd((*ends)[i]))
      return Reason("Slice goes backwards to the largest integer");
    QR_ASSIGN_OR_RETURN(const int64_t axis, NormalAxis((*axes)[i], x.rank()));
    SliceAxis(a.view, static_cast<size_t>(axis), (*starts)[i], (*ends)[i], (*steps)[i]);
  }
  a.dims = a.view.dims;
  return a;
}

// Source dimensions as they broadcast into `dims`. REQUIRES: they do.
StridedView Broadcasted(const Tensor& x, const Dims& dims) {
  const std::vector<int64_t> own = Strides(x.dims());
  StridedView view{dims, std::vector<int64_t>(dims.size(), 0), 0};
  const size_t missing = dims.size() - x.dims().size();
  for (size_t i = missing; i < dims.size(); ++i) {
    if (x.dims()[i - missing] != 1) view.strides[i] = own[i - missing];
  }
  return view;
}

Result<Arrangement> Expand(const FoldCall& call) {
  QR_ASSIGN_OR_RETURN(const Tensor x, Need(call, 0));
  QR_ASSIGN_OR_RETURN(const Tensor shape, Need(call, 1));
  QR_ASSIGN_OR_RETURN(const Dims wanted, IntList(shape));
  for (const int64_t d : wanted) {
    if (d < 0) return Reason("Expand to {}", ShapeText(wanted));
  }
  QR_ASSIGN_OR_RETURN(Dims dims, BroadcastShape(x.dims(), wanted));
  StridedView view = Broadcasted(x, dims);
  return Arrangement{std::move(view), std::move(dims)};
}

Result<Arrangement> Tile(const FoldCall& call) {
  QR_ASSIGN_OR_RETURN(const Tensor x, Need(call, 0));
  QR_ASSIGN_OR_RETURN(const Tensor repeats, Need(call, 1));
  QR_ASSIGN_OR_RETURN(const std::vector<int64_t> times, IntList(repeats));
  if (times.size() != x.dims().size()) return Reason("Tile of {} axes", times.size());
  const std::vector<int64_t> strides = Strides(x.dims());
  Arrangement a;
  for (size_t i = 0; i < times.size(); ++i) {
    int64_t extent = 0;
    if (times[i] < 0 || __builtin_mul_overflow(times[i], x.dims()[i], &extent)) {
      return Reason("Tile {} times", times[i]);
    }
    a.view.dims.insert(a.view.dims.end(), {times[i], x.dims()[i]});
    a.view.strides.insert(a.view.strides.end(), {0, strides[i]});
    a.dims.push_back(extent);
  }
  return a;
}

// The six dimensions of a view of [N, C, H, W] data, picked by `order`.
Arrangement Blocks(const Dims& six, const std::vector<size_t>& order, Dims dims) {
  const std::vector<int64_t> strides = Strides(six);
  Arrangement a{{}, std::move(dims)};
  for (const size_t i : order) {
    a.view.dims.push_back(six[i]);
    a.view.strides.push_back(strides[i]);
  }
  return a;
}

Result<int64_t> BlockSize(const FoldCall& call, const Tensor& x) {
  const int64_t b = call.attributes.Int("blocksize", 0);
  if (x.rank() != 4) return Reason("{} of rank {}", call.op, x.rank());
  if (b < 1 || b > (1 << 15)) return Reason("{} by blocks of {}", call.op, b);
  return b;
}

Result<Arrangement> DepthToSpace(const FoldCall& call) {
  QR_ASSIGN_OR_RETURN(const Tensor x, Need(call, 0));
  QR_ASSIGN_OR_RETURN(const int64_t b, BlockSize(call, x));
  const int64_t n = x.dims()[0], c = x.dims()[1], h = x.dims()[2], w = x.dims()[3];
  if (c % (b * b) != 0) return Reason("{} channels in blocks of {}", c, b);
  const std::string_view mode = call.attributes.String("mode", "DCR");
  Dims dims{n, c / (b * b), h * b, w * b};
  if (mode == "DCR") return Blocks({n, b, b, dims[1], h, w}, {0, 3, 4, 1, 5, 2}, dims);
  if (mode == "CRD") return Blocks({n, dims[1], b, b, h, w}, {0, 1, 4, 2, 5, 3}, dims);
  return Reason("DepthToSpace in mode {}", mode);
}

Result<Arrangement> SpaceToDepth(const FoldCall& call) {
  QR_ASSIGN_OR_RETURN(const Tensor x, Need(call, 0));
  QR_ASSIGN_OR_RETURN(const int64_t b, BlockSize(call, x));
  const int64_t n = x.dims()[0], c = x.dims()[1], h = x.dims()[2], w = x.dims()[3];
  if (h % b != 0 || w % b != 0) return Reason("{}x{} in blocks of {}", h, w, b);
  int64_t channels = 0;
  if (__builtin_mul_overflow(c, b * b, &channels)) return Reason("{} channels", c);
  const std::string_view mode = call.attributes.String("mode", "DCR");
  const Dims six{n, c, h / b, b, w / b, b}, dims{n, channels, h / b, w / b};
  if (mode == "DCR") return Blocks(six, {0, 3, 5, 1, 2, 4}, dims);
  if (mode == "CRD") return Blocks(six, {0, 1, 3, 5, 2, 4}, dims);
  return Reason("SpaceToDepth in mode {}", mode);
}

// ---- Split: several views

// Sizes of the pieces of an axis of length `d`.
Result<std::vector<int64_t>> PieceSizes(const FoldCall& call, int64_t d) {
  QR_ASSIGN_OR_RETURN(auto sizes, OptionalInts(call, 13, 1, "split"));
  const auto outputs = static_cast<int64_t>(call.num_outputs);
  if (!sizes) {
    const int64_t n = call.since >= 18 ? call.attributes.Int("num_outputs", outputs) : outputs;
    if (n < 1 || n != outputs) return Reason("Split into {}, read as {}", n, outputs);
    if (call.since < 18 && d % n != 0) return Reason("Split of {} into {}", d, n);
    const int64_t piece = (d + n - 1) / n;  // the last may be shorter
    sizes.emplace(static_cast<size_t>(n), piece);
    sizes->back() = d - piece * (n - 1);
  }
  int64_t sum = 0;
  for (const int64_t s : *sizes) {
    if (s < 0 || s > d - sum) return Reason("Split of {} into {}", d, ShapeText(*sizes));
    sum += s;
  }
  if (sum != d || static_cast<int64_t>(sizes->size()) != outputs) {
    return Reason("Split of {} into {}", d, ShapeText(*sizes));
  }
  return *std::move(sizes);
}

Result<std::vector<StridedView>> SplitViews(const FoldCall& call) {
  QR_ASSIGN_OR_RETURN(const Tensor x, Need(call, 0));
  QR_ASSIGN_OR_RETURN(const int64_t a, NormalAxis(call.attributes.Int("axis", 0), x.rank()));
  const auto axis = static_cast<size_t>(a);
  QR_ASSIGN_OR_RETURN(const std::vector<int64_t> sizes, PieceSizes(call, x.dims()[axis]));
  std::vector<StridedView> views;
  StridedView view{x.dims(), Strides(x.dims()), 0};
  for (const int64_t size : sizes) {
    view.dims[axis] = size;
    views.push_back(view);
    view.offset += size * view.strides[axis];
  }
  return views;
}

Outputs Split(const FoldCall& call) {
  QR_ASSIGN_OR_RETURN(const std::vector<StridedView> views, SplitViews(call));
  std::vector<Tensor> pieces(views.size());
  for (size_t i = 0; i < views.size(); ++i) {
    if (call.wanted >= 0 && i != static_cast<size_t>(call.wanted)) continue;
    QR_ASSIGN_OR_RETURN(pieces[i], CopyStrided(call.inputs[0], views[i], views[i].dims));
  }
  return pieces;
}

OutputTypes SplitTypes(const FoldCall& call) {
  QR_ASSIGN_OR_RETURN(const std::vector<StridedView> views, SplitViews(call));
  std::vector<TensorType> types;
  for (const StridedView& view : views) types.push_back({call.inputs[0].dtype(), view.dims});
  return types;
}

}  // namespace

void RegisterStrided(KernelRegistry& registry) {
  AddArranged(registry, "Transpose", {}, Transpose);
  AddArranged(registry, "Slice", {.inputs = 5}, Slice);
  AddArranged(registry, "Expand", {.first = 8, .inputs = 2}, Expand);
  AddArranged(registry, "Tile", {.first = 6, .inputs = 2}, Tile);
  AddArranged(registry, "DepthToSpace", {}, DepthToSpace);
  AddArranged(registry, "SpaceToDepth", {}, SpaceToDepth);
  Add(registry, "Split", {.first = 2, .inputs = 2}, MovesStrings(Split), SplitTypes);
}

}  // namespace qrewrite::fold
