// Comparisons and Where.
#include "engine/fold/elementwise.h"
#include "engine/fold/layout.h"

namespace qrewrite::fold {
namespace {

bool Comparable(DType dtype) { return HasMath(dtype) || dtype == DType::kBool; }

OutputTypes CompareTypes(const FoldCall& call) {
  QR_ASSIGN_OR_RETURN(std::vector<TensorType> types, BroadcastTypes(call, Comparable));
  types[0].dtype = DType::kBool;
  return types;
}

template <class Op>
Kernel Compare(Op op) {
  return InFloat([op](const FoldCall& call) -> Outputs {
    QR_RETURN_IF_ERROR(CompareTypes(call).status());
    QR_ASSIGN_OR_RETURN(const Tensor a, NeedBytes(call, 0));
    QR_ASSIGN_OR_RETURN(const Tensor b, NeedBytes(call, 1));
    const auto run = [&](auto tag) -> Result<Tensor> {
      using T = typename decltype(tag)::type;
      return BinaryLoop<T, T, uint8_t>(a, b, DType::kBool, op);
    };
    return One(a.dtype() == DType::kBool ? run(Tag<uint8_t>{}) : VisitNumber(a.dtype(), run));
  });
}

Outputs EqualStrings(const Tensor& a, const Tensor& b) {
  QR_ASSIGN_OR_RETURN(const BroadcastLoop loop, BroadcastLoop::Make({&a.dims(), &b.dims()}));
  QR_ASSIGN_OR_RETURN(TensorBuffer buffer, TensorBuffer::Make(DType::kBool, loop.shape()));
  const std::string* x = a.strings().data();
  const std::string* y = b.strings().data();
  uint8_t* out = buffer.as<uint8_t>().data();
  loop.ForEachRow([&](const BroadcastLoop::Row& row) {
    for (int64_t i = 0; i < loop.row_length(); ++i) {
      out[row.out + i] = x[row.in[0] + i * loop.step(0)] == y[row.in[1] + i * loop.step(1)] ? 1 : 0;
    }
  });
  return One(std::move(buffer).Finish());
}

Outputs EqualKernel(const FoldCall& call) {
  static const Kernel numbers = Compare([](auto x, auto y) { return x == y; });
  const Tensor* a = Input(call, 0);
  const Tensor* b = Input(call, 1);
  if (a != nullptr && b != nullptr && a->is_string() && b->is_string()) return EqualStrings(*a, *b);
  return numbers(call);
}

OutputTypes WhereTypes(const FoldCall& call) {
  QR_ASSIGN_OR_RETURN(const Tensor c, Need(call, 0));
  QR_ASSIGN_OR_RETURN(const Tensor a, Need(call, 1));
  QR_ASSIGN_OR_RETURN(const Tensor b, Need(call, 2));
  if (c.dtype() != DType::kBool || a.dtype() != b.dtype()) {
    return Reason("Where of {}, {} and {}", Name(c.dtype()), Name(a.dtype()), Name(b.dtype()));
  }
  QR_ASSIGN_OR_RETURN(const Dims ab, BroadcastShape(a.dims(), b.dims()));
  QR_ASSIGN_OR_RETURN(Dims dims, BroadcastShape(ab, c.dims()));
  return OneType(a.dtype(), std::move(dims));
}

Outputs Where(const FoldCall& call) {
  QR_RETURN_IF_ERROR(WhereTypes(call).status());
  QR_ASSIGN_OR_RETURN(const Tensor c, NeedBytes(call, 0));
  QR_ASSIGN_OR_RETURN(const ElementReader a, ElementReader::Open(call.inputs[1]));
  QR_ASSIGN_OR_RETURN(const ElementReader b, ElementReader::Open(call.inputs[2]));
  QR_ASSIGN_OR_RETURN(
      const BroadcastLoop loop,
      BroadcastLoop::Make({&c.dims(), &call.inputs[1].dims(), &call.inputs[2].dims()}));
  QR_ASSIGN_OR_RETURN(ElementWriter writer,
                      ElementWriter::Make(call.inputs[1].dtype(), loop.shape()));
  const uint8_t* condition = c.as<uint8_t>().data();
  VisitWidth(a.width(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    const T* x = reinterpret_cast<const T*>(a.data());
    const T* y = reinterpret_cast<const T*>(b.data());
    T* out = reinterpret_cast<T*>(writer.data());
    loop.ForEachRow([&](const BroadcastLoop::Row& row) {
      for (int64_t i = 0; i < loop.row_length(); ++i) {
        const bool first = condition[row.in[0] + i * loop.step(0)] != 0;
        out[row.out + i] =
            first ? x[row.in[1] + i * loop.step(1)] : y[row.in[2] + i * loop.step(2)];
      }
    });
  });
  return One(std::move(writer).Finish());
}

}  // namespace

void RegisterCompare(KernelRegistry& registry) {
  Add(registry, "Equal", {.first = 7, .inputs = 2}, EqualKernel, CompareTypes);
  Add(registry, "Greater", {.first = 7, .inputs = 2}, Compare([](auto x, auto y) { return x > y; }),
      CompareTypes);
  Add(registry, "GreaterOrEqual", {.first = 12, .inputs = 2},
      Compare([](auto x, auto y) { return x >= y; }), CompareTypes);
  Add(registry, "Less", {.first = 7, .inputs = 2}, Compare([](auto x, auto y) { return x < y; }),
      CompareTypes);
  Add(registry, "LessOrEqual", {.first = 12, .inputs = 2},
      Compare([](auto x, auto y) { return x <= y; }), CompareTypes);
  Add(registry, "Where", {.first = 9, .inputs = 3}, MovesStrings(Where, 0b110), WhereTypes);
}

}  // namespace qrewrite::fold
