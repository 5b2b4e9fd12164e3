// From a DType to the host type that holds its elements.
#pragma once

#include <cstdint>
#include <type_traits>

#include "engine/fold/support.h"

namespace qrewrite::fold {

template <class T>
struct Tag {
  using type = T;
};

// Calls f(Tag<T>{}) for the type's host type; f returns something a Status converts to. Types
// without arithmetic on the host give a reason; kernels get float16 and bfloat16 as float
// (InFloat).
template <class F>
auto VisitFloat(DType dtype, F&& f) -> decltype(f(Tag<float>{})) {
  switch (dtype) {
    case DType::kFloat: return f(Tag<float>{});
    case DType::kDouble: return f(Tag<double>{});
    default: return Reason("not computed for type {}", Name(dtype));
  }
}

template <class F>
auto VisitInteger(DType dtype, F&& f) -> decltype(f(Tag<int64_t>{})) {
  switch (dtype) {
    case DType::kInt8: return f(Tag<int8_t>{});
    case DType::kInt16: return f(Tag<int16_t>{});
    case DType::kInt32: return f(Tag<int32_t>{});
    case DType::kInt64: return f(Tag<int64_t>{});
    case DType::kUint8: return f(Tag<uint8_t>{});
    case DType::kUint16: return f(Tag<uint16_t>{});
    case DType::kUint32: return f(Tag<uint32_t>{});
    case DType::kUint64: return f(Tag<uint64_t>{});
    default: return Reason("not computed for type {}", Name(dtype));
  }
}

template <class F>
auto VisitNumber(DType dtype, F&& f) -> decltype(f(Tag<float>{})) {
  return IsFloat(dtype) ? VisitFloat(dtype, f) : VisitInteger(dtype, f);
}

inline bool IsHalf(DType dtype) { return dtype == DType::kFloat16 || dtype == DType::kBfloat16; }
// Whether arithmetic exists for the type: a host type, or half through float.
inline bool HasFloatMath(DType dtype) {
  return dtype == DType::kFloat || dtype == DType::kDouble || IsHalf(dtype);
}
inline bool HasIntegerMath(DType dtype) { return IsInteger(dtype) && Info(dtype).bits >= 8; }
inline bool HasMath(DType dtype) { return HasFloatMath(dtype) || HasIntegerMath(dtype); }

// Makes a kernel that knows float work on float16 and bfloat16: inputs are widened, float outputs
// rounded once to the type of the first such input. This is what ONNX Runtime does on a CPU.
Kernel InFloat(Kernel kernel);

}  // namespace qrewrite::fold
