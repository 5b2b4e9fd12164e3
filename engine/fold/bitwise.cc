// BitShift and the bitwise operators, And, Or, Xor.
#include "engine/fold/elementwise.h"

namespace qrewrite::fold {
namespace {

OutputTypes IntegerTypes(const FoldCall& call) { return BroadcastTypes(call, HasIntegerMath); }
OutputTypes UnsignedTypes(const FoldCall& call) {
  return BroadcastTypes(
      call, [](DType d) { return HasIntegerMath(d) && Info(d).kind == DTypeKind::kUint; });
}
OutputTypes BoolTypes(const FoldCall& call) {
  return BroadcastTypes(call, [](DType d) { return d == DType::kBool; });
}

// Bits do not care about signs or order: one loop for each width.
template <class Op>
Result<Tensor> OnBits(const Tensor& a, const Tensor& b, Op op) {
  const auto run = [&]<class T>(Tag<T>) {
    return BinaryLoop<T, T, T>(a, b, a.dtype(),
                               [op](T x, T y) { return static_cast<T>(op(x, y)); });
  };
  switch (Info(a.dtype()).bits) {
    case 8: return run(Tag<uint8_t>{});
    case 16: return run(Tag<uint16_t>{});
    case 32: return run(Tag<uint32_t>{});
    default: return run(Tag<uint64_t>{});
  }
}

constexpr auto kAnd = [](auto x, auto y) { return x & y; };
constexpr auto kOr = [](auto x, auto y) { return x | y; };
constexpr auto kXor = [](auto x, auto y) { return x ^ y; };
// Shifting everything out gives 0; in C++ it would be undefined.
constexpr auto kLeft = [](auto x, auto y) -> decltype(x) {
  return y >= sizeof(x) * 8 ? 0 : static_cast<decltype(x)>(x << y);
};
constexpr auto kRight = [](auto x, auto y) -> decltype(x) {
  return y >= sizeof(x) * 8 ? 0 : static_cast<decltype(x)>(x >> y);
};

template <class Op>
Kernel BitKernel(InferTypes types, Op op) {
  return [types = std::move(types), op](const FoldCall& call) -> Outputs {
    QR_RETURN_IF_ERROR(types(call).status());
    QR_ASSIGN_OR_RETURN(const Tensor a, NeedBytes(call, 0));
    QR_ASSIGN_OR_RETURN(const Tensor b, NeedBytes(call, 1));
    return One(OnBits(a, b, op));
  };
}

Outputs BitShift(const FoldCall& call) {
  const std::string_view direction = call.attributes.String("direction", "");
  if (direction == "LEFT") return BitKernel(UnsignedTypes, kLeft)(call);
  if (direction == "RIGHT") return BitKernel(UnsignedTypes, kRight)(call);
  return Reason("BitShift needs the direction LEFT or RIGHT");
}

OutputTypes BitShiftTypes(const FoldCall& call) {
  QR_ASSIGN_OR_RETURN(std::vector<TensorType> types, UnsignedTypes(call));
  types[0].may_fail = true;  // without a direction
  return types;
}

}  // namespace

void RegisterBitwise(KernelRegistry& registry) {
  Add(registry, "BitShift", {.first = 11, .inputs = 2}, BitShift, BitShiftTypes);
  Add(registry, "BitwiseAnd", {.first = 18, .inputs = 2}, BitKernel(IntegerTypes, kAnd),
      IntegerTypes);
  Add(registry, "BitwiseOr", {.first = 18, .inputs = 2}, BitKernel(IntegerTypes, kOr),
      IntegerTypes);
  Add(registry, "BitwiseXor", {.first = 18, .inputs = 2}, BitKernel(IntegerTypes, kXor),
      IntegerTypes);
  Add(registry, "And", {.first = 7, .inputs = 2}, BitKernel(BoolTypes, kAnd), BoolTypes);
  Add(registry, "Or", {.first = 7, .inputs = 2}, BitKernel(BoolTypes, kOr), BoolTypes);
  Add(registry, "Xor", {.first = 7, .inputs = 2}, BitKernel(BoolTypes, kXor), BoolTypes);
}

}  // namespace qrewrite::fold
