// Operators that keep the elements in order: the data is shared, nothing is copied or computed.
// Shape and Size, which look at no element either.
#include <algorithm>

#include "engine/fold/support.h"

namespace qrewrite::fold {
namespace {

// The shape of all elements of `x` under new dimensions. Errors: other counts.
Outputs Under(const Tensor& x, Dims dims) {
  if (CheckedCount(dims) != x.size()) {
    return Misfit("shape {} cannot become {}", ShapeText(x.dims()), ShapeText(dims));
  }
  return std::vector<Tensor>{x.Reshaped(std::move(dims))};
}

Outputs Identity(const FoldCall& call) { return One(Need(call, 0)); }

// Fills in 0 (the source's dimension) and -1 (what is left).
Result<Dims> ReshapeDims(const Tensor& x, Dims dims, bool allow_zero) {
  int64_t known = 1;
  std::optional<size_t> open;
  for (size_t i = 0; i < dims.size(); ++i) {
    if (dims[i] == 0 && !allow_zero) {
      if (i >= x.dims().size()) return Misfit("dimension {} has no source", i);
      dims[i] = x.dims()[i];
    }
    if (dims[i] == -1) {
      if (open) return Reason("two dimensions are -1");
      open = i;
    } else if (dims[i] < 0) {
      return Reason("dimension {} is {}", i, dims[i]);
    } else if (__builtin_mul_overflow(known, dims[i], &known)) {
      return Reason("shape {} is too large", ShapeText(dims));
    }
  }
  if (open) {
    if (known == 0 || x.size() % known != 0) {
      return Misfit("shape {} cannot become {}", ShapeText(x.dims()), ShapeText(dims));
    }
    dims[*open] = x.size() / known;
  }
  return dims;
}

Outputs Reshape(const FoldCall& call) {
  QR_ASSIGN_OR_RETURN(const Tensor x, Need(call, 0));
  QR_ASSIGN_OR_RETURN(auto wanted, OptionalInts(call, 5, 1, "shape"));
  if (!wanted) return Reason("Reshape has no shape");
  const bool allow_zero = call.since >= 14 && call.attributes.Int("allowzero", 0) != 0;
  QR_ASSIGN_OR_RETURN(Dims dims, ReshapeDims(x, *std::move(wanted), allow_zero));
  return Under(x, std::move(dims));
}

Outputs Flatten(const FoldCall& call) {
  QR_ASSIGN_OR_RETURN(const Tensor x, Need(call, 0));
  const int64_t rank = x.rank();
  int64_t axis = call.attributes.Int("axis", 1);
  if (axis < -rank || axis > rank) return Misfit("axis {} is outside rank {}", axis, rank);
  if (axis < 0) axis += rank;
  const auto a = static_cast<size_t>(axis);
  return Under(x, {CountRange(x.dims(), 0, a), CountRange(x.dims(), a, x.dims().size())});
}

Outputs Squeeze(const FoldCall& call) {
  QR_ASSIGN_OR_RETURN(const Tensor x, Need(call, 0));
  QR_ASSIGN_OR_RETURN(const auto axes, OptionalInts(call, 13, 1, "axes"));
  // No axes at all to ONNX Runtime, which squeezes every one; nothing to do to onnx's inference.
  if (axes && axes->empty()) return Reason("Squeeze of an empty list of axes");
  std::vector<bool> set;
  if (axes) {
    QR_ASSIGN_OR_RETURN(set, AxisSet(*axes, x.rank()));
  } else {
    for (const int64_t d : x.dims()) set.push_back(d == 1);
  }
  Dims dims;
  for (size_t i = 0; i < set.size(); ++i) {
    if (!set[i]) dims.push_back(x.dims()[i]);
    if (set[i] && x.dims()[i] != 1) return Misfit("dimension {} is {}, not 1", i, x.dims()[i]);
  }
  return Under(x, std::move(dims));
}

Outputs Unsqueeze(const FoldCall& call) {
  QR_ASSIGN_OR_RETURN(const Tensor x, Need(call, 0));
  QR_ASSIGN_OR_RETURN(const auto axes, OptionalInts(call, 13, 1, "axes"));
  if (!axes) return Reason("Unsqueeze has no axes");
  QR_ASSIGN_OR_RETURN(const std::vector<bool> set,
                      AxisSet(*axes, x.rank() + static_cast<int64_t>(axes->size())));
  Dims dims;
  auto next = x.dims().begin();
  for (const bool inserted : set) dims.push_back(inserted ? 1 : *next++);
  return Under(x, std::move(dims));
}

Outputs Shape(const FoldCall& call) {
  QR_ASSIGN_OR_RETURN(const Tensor x, Need(call, 0));
  const int64_t rank = x.rank();
  const auto bound = [rank](int64_t i) {
    return std::clamp<int64_t>(i < 0 ? i + rank : i, 0, rank);
  };
  const int64_t begin = bound(call.attributes.Int("start", 0));
  const int64_t end = std::max(begin, bound(call.attributes.Int("end", rank)));
  return std::vector<Tensor>{
      Tensor::Int64s(Dims(x.dims().begin() + begin, x.dims().begin() + end))};
}

Outputs Size(const FoldCall& call) {
  QR_ASSIGN_OR_RETURN(const Tensor x, Need(call, 0));
  return std::vector<Tensor>{Tensor::Int64Scalar(x.size())};
}

}  // namespace

void RegisterReshape(KernelRegistry& registry) {
  Add(registry, "Identity", {}, Identity);
  Add(registry, "Reshape", {.inputs = 2}, Reshape);
  Add(registry, "Flatten", {}, Flatten);
  Add(registry, "Squeeze", {.inputs = 2}, Squeeze);
  Add(registry, "Unsqueeze", {.inputs = 2}, Unsqueeze);
  Add(registry, "Shape", {}, Shape);
  Add(registry, "Size", {}, Size);
}

}  // namespace qrewrite::fold
