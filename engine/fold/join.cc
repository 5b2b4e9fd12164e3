// Concat.
#include "engine/fold/layout.h"

namespace qrewrite::fold {
namespace {

OutputTypes ConcatTypes(const FoldCall& call) {
  QR_ASSIGN_OR_RETURN(const Tensor first, Need(call, 0));
  const int64_t default_axis = call.since < 4 ? 1 : 0;  // required since version 4
  QR_ASSIGN_OR_RETURN(const int64_t a,
                      NormalAxis(call.attributes.Int("axis", default_axis), first.rank()));
  const auto axis = static_cast<size_t>(a);
  Dims dims = first.dims();
  dims[axis] = 0;
  for (size_t i = 0; i < call.inputs.size(); ++i) {
    QR_ASSIGN_OR_RETURN(const Tensor t, Need(call, i));
    Dims rest = t.dims();
    if (t.dtype() != first.dtype() || rest.size() != dims.size()) {
      return Reason("Concat of {}{} and {}{}", Name(first.dtype()), ShapeText(first.dims()),
                    Name(t.dtype()), ShapeText(t.dims()));
    }
    rest[axis] = dims[axis];
    if (rest != dims) {
      return Misfit("Concat of {} and {}", ShapeText(first.dims()), ShapeText(t.dims()));
    }
    if (__builtin_add_overflow(dims[axis], t.dims()[axis], &dims[axis])) {
      return Reason("Concat is too large");
    }
    rest[axis] = t.dims()[axis];
  }
  return OneType(first.dtype(), std::move(dims));
}

Outputs Concat(const FoldCall& call) {
  QR_ASSIGN_OR_RETURN(const std::vector<TensorType> types, ConcatTypes(call));
  const Dims& dims = types[0].dims;
  const int64_t default_axis = call.since < 4 ? 1 : 0;
  QR_ASSIGN_OR_RETURN(const int64_t axis, NormalAxis(call.attributes.Int("axis", default_axis),
                                                     static_cast<int64_t>(dims.size())));
  const auto a = static_cast<size_t>(axis);
  QR_RETURN_IF_ERROR(CheckSize(types[0]));
  const int64_t outer = CountRange(dims, 0, a);
  const int64_t inner = CountRange(dims, a + 1, dims.size());
  QR_ASSIGN_OR_RETURN(ElementWriter writer, ElementWriter::Make(types[0].dtype, dims));
  const auto width = static_cast<int64_t>(writer.width());
  const int64_t row = dims[a] * inner * width;
  int64_t at = 0;
  for (const Tensor& input : call.inputs) {
    QR_ASSIGN_OR_RETURN(const ElementReader reader, ElementReader::Open(input));
    const int64_t piece = input.dims()[a] * inner * width;
    if (piece == 0) continue;
    for (int64_t o = 0; o < outer; ++o) {
      std::memcpy(writer.data() + o * row + at, reader.data() + o * piece,
                  static_cast<size_t>(piece));
    }
    at += piece;
  }
  return One(std::move(writer).Finish());
}

}  // namespace

void RegisterJoin(KernelRegistry& registry) {
  Add(registry, "Concat", {.inputs = kAnyNumber}, MovesStrings(Concat, kAllInputs), ConcatTypes);
}

}  // namespace qrewrite::fold
