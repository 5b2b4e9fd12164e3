// Add, Sub, Mul, Div, Mod, Pow, PRelu and the variadic Sum, Mean, Min, Max; Clip.
// Integers wrap in their own type, as the operators do in ONNX Runtime.
#include <algorithm>
#include <cmath>
#include <limits>
#include <type_traits>

#include "engine/fold/elementwise.h"

namespace qrewrite::fold {

OutputTypes BroadcastTypes(const FoldCall& call, Supports supports) {
  Dims dims;
  DType dtype = DType::kUndefined;
  for (size_t i = 0; i < call.inputs.size(); ++i) {
    QR_ASSIGN_OR_RETURN(const Tensor t, Need(call, i));
    if (i == 0) dtype = t.dtype();
    if (t.dtype() != dtype) {
      return Reason("{} of {} and {}", call.op, Name(dtype), Name(t.dtype()));
    }
    QR_ASSIGN_OR_RETURN(dims, BroadcastShape(dims, t.dims()));
  }
  if (dtype == DType::kUndefined) return Reason("{} has no inputs", call.op);
  if (!supports(dtype)) return Reason("{} is not computed for type {}", call.op, Name(dtype));
  return OneType(dtype, std::move(dims));
}

OutputTypes SameType(const FoldCall& call, Supports supports) {
  QR_ASSIGN_OR_RETURN(const Tensor t, Need(call, 0));
  if (!supports(t.dtype()))
    return Reason("{} is not computed for type {}", call.op, Name(t.dtype()));
  return OneType(t.dtype(), t.dims());
}

namespace {

// Integer arithmetic modulo 2^n; through uint64, where overflow is defined.
template <class T>
uint64_t U(T value) {
  return static_cast<uint64_t>(value);
}

struct AddOp {
  template <class T>
  static T Run(T a, T b) {
    if constexpr (std::is_integral_v<T>) return static_cast<T>(U(a) + U(b));
    return a + b;
  }
};
struct SubOp {
  template <class T>
  static T Run(T a, T b) {
    if constexpr (std::is_integral_v<T>) return static_cast<T>(U(a) - U(b));
    return a - b;
  }
};
struct MulOp {
  template <class T>
  static T Run(T a, T b) {
    if constexpr (std::is_integral_v<T>) return static_cast<T>(U(a) * U(b));
    return a * b;
  }
};
struct DivOp {  // integers: towards zero; the divisor was checked
  template <class T>
  static T Run(T a, T b) {
    if constexpr (std::is_signed_v<T> && std::is_integral_v<T>) {
      if (b == -1) return static_cast<T>(0 - U(a));
    }
    return static_cast<T>(a / b);
  }
};
struct FloorModOp {  // the sign of the divisor
  template <class T>
  static T Run(T a, T b) {
    if constexpr (std::is_unsigned_v<T>) {
      return static_cast<T>(a % b);
    } else {
      if (b == -1) return 0;
      const T r = static_cast<T>(a % b);
      return r != 0 && (r < 0) != (b < 0) ? static_cast<T>(r + b) : r;
    }
  }
};
struct TruncModOp {  // the sign of the dividend
  template <class T>
  static T Run(T a, T b) {
    if constexpr (std::is_floating_point_v<T>) {
      return std::fmod(a, b);
    } else {
      if constexpr (std::is_signed_v<T>) {
        if (b == -1) return 0;
      }
      return static_cast<T>(a % b);
    }
  }
};
struct MinOp {  // NaN wins
  template <class T>
  static T Run(T a, T b) {
    return a < b || a != a ? a : b;
  }
};
struct MaxOp {
  template <class T>
  static T Run(T a, T b) {
    return a > b || a != a ? a : b;
  }
};
struct PReluOp {
  template <class T>
  static T Run(T x, T slope) {
    return x > 0 ? x : MulOp::Run(x, slope);
  }
};

template <class Op>
Result<Tensor> Apply(const Tensor& a, const Tensor& b) {
  return VisitNumber(a.dtype(), [&](auto tag) -> Result<Tensor> {
    using T = typename decltype(tag)::type;
    return BinaryLoop<T, T, T>(a, b, a.dtype(), [](T x, T y) { return Op::template Run<T>(x, y); });
  });
}

OutputTypes NumberTypes(const FoldCall& call) { return BroadcastTypes(call, HasMath); }

template <class Op>
Outputs Binary(const FoldCall& call) {
  QR_RETURN_IF_ERROR(NumberTypes(call).status());
  QR_ASSIGN_OR_RETURN(const Tensor a, NeedBytes(call, 0));
  QR_ASSIGN_OR_RETURN(const Tensor b, NeedBytes(call, 1));
  return One(Apply<Op>(a, b));
}

Status NoZero(const Tensor& divisor) {
  QR_ASSIGN_OR_RETURN(const std::vector<double> values, ToDoubles(divisor));
  if (std::ranges::find(values, 0.0) != values.end()) return Reason("integer division by zero");
  return {};
}

Outputs Div(const FoldCall& call) {
  QR_RETURN_IF_ERROR(NumberTypes(call).status());
  QR_ASSIGN_OR_RETURN(const Tensor b, NeedBytes(call, 1));
  if (IsInteger(b.dtype())) QR_RETURN_IF_ERROR(NoZero(b));
  return Binary<DivOp>(call);
}

OutputTypes DivTypes(const FoldCall& call) {
  QR_ASSIGN_OR_RETURN(std::vector<TensorType> types, NumberTypes(call));
  types[0].may_fail = IsInteger(types[0].dtype);
  return types;
}

template <class Op>
Result<Tensor> ApplyInteger(const Tensor& a, const Tensor& b) {
  return VisitInteger(a.dtype(), [&](auto tag) -> Result<Tensor> {
    using T = typename decltype(tag)::type;
    return BinaryLoop<T, T, T>(a, b, a.dtype(), [](T x, T y) { return Op::template Run<T>(x, y); });
  });
}

OutputTypes ModTypes(const FoldCall& call) {
  QR_ASSIGN_OR_RETURN(std::vector<TensorType> types, NumberTypes(call));
  types[0].may_fail = true;
  return types;
}

Outputs Mod(const FoldCall& call) {
  QR_RETURN_IF_ERROR(NumberTypes(call).status());
  QR_ASSIGN_OR_RETURN(const Tensor a, NeedBytes(call, 0));
  QR_ASSIGN_OR_RETURN(const Tensor b, NeedBytes(call, 1));
  const bool fmod = call.attributes.Int("fmod", 0) != 0;
  if (IsFloat(a.dtype())) {
    if (!fmod) return Reason("Mod of floats needs fmod=1");
    return One(Apply<TruncModOp>(a, b));
  }
  QR_RETURN_IF_ERROR(NoZero(b));
  return One(fmod ? ApplyInteger<TruncModOp>(a, b) : ApplyInteger<FloorModOp>(a, b));
}

// The base's type is the result's. Integer results that do not fit it have no meaning.
template <class Base, class Exponent>
Result<Tensor> PowTyped(const Tensor& a, const Tensor& b) {
  if constexpr (std::is_floating_point_v<Base>) {
    return BinaryLoop<Base, Exponent, Base>(
        a, b, a.dtype(), [](Base x, Exponent y) { return static_cast<Base>(std::pow(x, y)); });
  } else {
    bool fits = true;
    constexpr auto kLo = static_cast<double>(std::numeric_limits<Base>::lowest());
    constexpr auto kHi = static_cast<double>(std::numeric_limits<Base>::max());
    Result<Tensor> result =
        BinaryLoop<Base, Exponent, Base>(a, b, a.dtype(), [&fits](Base x, Exponent y) -> Base {
          const double value = std::pow(static_cast<double>(x), static_cast<double>(y));
          // kHi itself may be rounded up to what does not fit
          const bool ok = value >= kLo && (value < kHi || (value == kHi && kHi < 0x1p53));
          fits = fits && ok;
          return ok ? static_cast<Base>(value) : Base{0};
        });
    if (!fits) return Reason("Pow leaves the range of {}", Name(a.dtype()));
    return result;
  }
}

Result<std::vector<TensorType>> PowTypes(const FoldCall& call) {
  QR_ASSIGN_OR_RETURN(const Tensor a, Need(call, 0));
  QR_ASSIGN_OR_RETURN(const Tensor b, Need(call, 1));
  if (!HasMath(a.dtype()) || !HasMath(b.dtype())) {
    return Reason("Pow of {} and {}", Name(a.dtype()), Name(b.dtype()));
  }
  QR_ASSIGN_OR_RETURN(Dims dims, BroadcastShape(a.dims(), b.dims()));
  return std::vector<TensorType>{{a.dtype(), std::move(dims), IsInteger(a.dtype())}};
}

Outputs Pow(const FoldCall& call) {
  QR_RETURN_IF_ERROR(PowTypes(call).status());
  QR_ASSIGN_OR_RETURN(const Tensor a, NeedBytes(call, 0));
  QR_ASSIGN_OR_RETURN(const Tensor b, NeedBytes(call, 1));
  // Few combinations are worth code of their own: integers travel as int64, exponents as double.
  if (a.dtype() == DType::kFloat && b.dtype() == DType::kFloat)
    return One(PowTyped<float, float>(a, b));
  QR_ASSIGN_OR_RETURN(const std::vector<double> exponents, ToDoubles(b));
  const Tensor wide = Tensor::Of<double>(DType::kDouble, b.dims(), exponents);
  return One(VisitNumber(a.dtype(), [&](auto tag) -> Result<Tensor> {
    return PowTyped<typename decltype(tag)::type, double>(a, wide);
  }));
}

// The type of the exponent says nothing of the result's: only a base of 16 bits rounds.
Outputs PowOfAny(const FoldCall& call) {
  QR_ASSIGN_OR_RETURN(const Tensor base, Need(call, 0));
  return IsHalf(base.dtype()) ? InFloat(Pow)(call) : Pow(call);
}

template <class Op>
Outputs Variadic(const FoldCall& call) {
  QR_RETURN_IF_ERROR(NumberTypes(call).status());
  QR_ASSIGN_OR_RETURN(Tensor result, NeedBytes(call, 0));
  for (size_t i = 1; i < call.inputs.size(); ++i) {
    QR_ASSIGN_OR_RETURN(const Tensor next, NeedBytes(call, i));
    QR_ASSIGN_OR_RETURN(result, Apply<Op>(result, next));
  }
  return One(std::move(result));
}

OutputTypes FloatTypes(const FoldCall& call) { return BroadcastTypes(call, HasFloatMath); }

Outputs Mean(const FoldCall& call) {
  QR_RETURN_IF_ERROR(FloatTypes(call).status());
  QR_ASSIGN_OR_RETURN(const std::vector<Tensor> sum, Variadic<AddOp>(call));
  const size_t count = call.inputs.size();
  return One(VisitFloat(sum[0].dtype(), [&](auto tag) -> Result<Tensor> {
    using T = typename decltype(tag)::type;
    // ONNX Runtime, which has no kernel for double, multiplies by the reciprocal.
    return MapLoop<T, T>(sum[0], sum[0].dtype(), [count](T x) {
      if constexpr (std::is_same_v<T, double>) return x / static_cast<T>(count);
      return x * (T(1) / static_cast<T>(count));
    });
  }));
}

// A bound of Clip: input `i`, or before version 11 an attribute. If there is none, it is the type's
// last finite number, so an infinite element becomes finite.
template <class T>
Result<T> ClipBound(const FoldCall& call, size_t i, std::string_view name) {
  const T absent = i == 1 ? std::numeric_limits<T>::lowest() : std::numeric_limits<T>::max();
  if (call.since < 11) {
    // The defaults of version 6 are the limits of float, whatever the type.
    constexpr float kMost = std::numeric_limits<float>::max();
    if (call.attributes.Find(name) != nullptr)
      return static_cast<T>(call.attributes.Float(name, 0));
    return std::is_same_v<T, double> ? static_cast<T>(i == 1 ? -kMost : kMost) : absent;
  }
  if (Input(call, i) == nullptr) return absent;
  QR_ASSIGN_OR_RETURN(const Tensor bound, NeedBytes(call, i));
  return bound.as<T>()[0];
}

OutputTypes ClipTypes(const FoldCall& call) {
  QR_ASSIGN_OR_RETURN(const std::vector<TensorType> types, SameType(call, HasMath));
  for (size_t i = 1; i < call.inputs.size(); ++i) {
    const Tensor* bound = Input(call, i);
    if (bound != nullptr && bound->dtype() != call.inputs[0].dtype()) {
      return Reason("Clip of {} by {}", Name(call.inputs[0].dtype()), Name(bound->dtype()));
    }
    if (bound != nullptr && bound->size() != 1) {
      return Reason("Clip by a bound of shape {}", ShapeText(bound->dims()));
    }
  }
  return types;
}

Outputs Clip(const FoldCall& call) {
  QR_RETURN_IF_ERROR(ClipTypes(call).status());
  QR_ASSIGN_OR_RETURN(const Tensor x, NeedBytes(call, 0));
  return One(VisitNumber(x.dtype(), [&](auto tag) -> Result<Tensor> {
    using T = typename decltype(tag)::type;
    QR_ASSIGN_OR_RETURN(const T lo, ClipBound<T>(call, 1, "min"));
    QR_ASSIGN_OR_RETURN(const T hi, ClipBound<T>(call, 2, "max"));
    return MapLoop<T, T>(x, x.dtype(), [lo, hi](T v) {
      const T raised = v < lo ? lo : v;
      return raised > hi ? hi : raised;
    });
  }));
}

}  // namespace

void RegisterArithmetic(KernelRegistry& registry) {
  const Form numpy_broadcasting{.first = 7, .inputs = 2};
  Add(registry, "Add", numpy_broadcasting, InFloat(Binary<AddOp>), NumberTypes);
  Add(registry, "Sub", numpy_broadcasting, InFloat(Binary<SubOp>), NumberTypes);
  Add(registry, "Mul", numpy_broadcasting, InFloat(Binary<MulOp>), NumberTypes);
  Add(registry, "Div", numpy_broadcasting, InFloat(Div), DivTypes);
  Add(registry, "PRelu", numpy_broadcasting, InFloat(Binary<PReluOp>), NumberTypes);
  Add(registry, "Mod", {.first = 10, .inputs = 2}, InFloat(Mod), ModTypes);
  Add(registry, "Pow", numpy_broadcasting, PowOfAny, PowTypes);
  Add(registry, "Sum", {.first = 6, .inputs = kAnyNumber}, InFloat(Variadic<AddOp>), NumberTypes);
  Add(registry, "Min", {.first = 6, .inputs = kAnyNumber}, InFloat(Variadic<MinOp>), NumberTypes);
  Add(registry, "Max", {.first = 6, .inputs = kAnyNumber}, InFloat(Variadic<MaxOp>), NumberTypes);
  Add(registry, "Mean", {.first = 6, .inputs = kAnyNumber}, InFloat(Mean), FloatTypes);
  Add(registry, "Clip", {.first = 6, .inputs = 3}, InFloat(Clip), ClipTypes);
}

}  // namespace qrewrite::fold
