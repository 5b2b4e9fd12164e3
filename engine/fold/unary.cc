// Operators that map each element on its own.
#include <cmath>
#include <numbers>

#include "engine/fold/elementwise.h"

namespace qrewrite::fold {
namespace {

OutputTypes NumberType(const FoldCall& call) { return SameType(call, HasMath); }
OutputTypes FloatType(const FoldCall& call) { return SameType(call, HasFloatMath); }
OutputTypes IntegerType(const FoldCall& call) { return SameType(call, HasIntegerMath); }

template <class Op>
Kernel FloatMap(Op op) {
  return InFloat([op](const FoldCall& call) -> Outputs {
    QR_RETURN_IF_ERROR(FloatType(call).status());
    QR_ASSIGN_OR_RETURN(const Tensor x, NeedBytes(call, 0));
    return One(VisitFloat(x.dtype(), [&](auto tag) -> Result<Tensor> {
      using T = typename decltype(tag)::type;
      return MapLoop<T, T>(x, x.dtype(), op);
    }));
  });
}

// A float operator with attributes: `make` reads them and gives the operation.
template <class Make>
Kernel FloatMapWith(Make make) {
  return [make](const FoldCall& call) { return FloatMap(make(call.attributes))(call); };
}

template <class Op>
Kernel NumberMap(Op op) {
  return InFloat([op](const FoldCall& call) -> Outputs {
    QR_RETURN_IF_ERROR(NumberType(call).status());
    QR_ASSIGN_OR_RETURN(const Tensor x, NeedBytes(call, 0));
    return One(VisitNumber(x.dtype(), [&](auto tag) -> Result<Tensor> {
      using T = typename decltype(tag)::type;
      return MapLoop<T, T>(x, x.dtype(), op);
    }));
  });
}

struct NegOp {
  template <class T>
  T operator()(T x) const {
    if constexpr (std::is_integral_v<T>) return static_cast<T>(0 - static_cast<uint64_t>(x));
    return -x;
  }
};
struct AbsOp {
  template <class T>
  T operator()(T x) const {
    if constexpr (std::is_floating_point_v<T>) return std::fabs(x);
    return x < 0 ? NegOp()(x) : x;
  }
};
struct SignOp {  // NaN stays
  template <class T>
  T operator()(T x) const {
    if (x != x) return x;
    return static_cast<T>((x > 0) - (x < 0));
  }
};
struct ReluOp {  // NaN stays
  template <class T>
  T operator()(T x) const {
    return x < 0 ? T{0} : x;
  }
};

// As accurate for very negative as for very positive arguments.
template <class T>
T Logistic(T x) {
  if (x >= 0) return 1 / (1 + std::exp(-x));
  const T e = std::exp(x);
  return e / (1 + e);
}

template <class T>
T NormalShare(T x) {  // x times the normal distribution up to x
  return x * static_cast<T>(0.5) * (1 + std::erf(x / static_cast<T>(std::numbers::sqrt2)));
}

auto GeluOf(const Attributes& attributes) {
  const bool tanh = attributes.String("approximate", "none") == "tanh";
  return [tanh](auto x) -> decltype(x) {
    using T = decltype(x);
    if (!tanh) return NormalShare(x);
    const T inner = static_cast<T>(std::sqrt(2 / std::numbers::pi)) *
                    (x + static_cast<T>(0.044715) * x * x * x);
    return static_cast<T>(0.5) * x * (1 + std::tanh(inner));
  };
}

auto LeakyReluOf(const Attributes& attributes) {
  const float alpha = attributes.Float("alpha", 0.01f);
  return [alpha](auto x) -> decltype(x) { return x < 0 ? x * alpha : x; };
}

auto EluOf(const Attributes& attributes) {
  const float alpha = attributes.Float("alpha", 1.0f);
  return [alpha](auto x) -> decltype(x) { return x < 0 ? alpha * std::expm1(x) : x; };
}

auto HardSigmoidOf(const Attributes& attributes) {
  const float alpha = attributes.Float("alpha", 0.2f);
  const float beta = attributes.Float("beta", 0.5f);
  return [alpha, beta](auto x) -> decltype(x) {
    using T = decltype(x);
    const T y = alpha * x + beta;
    return y < 0 ? T{0} : (y > 1 ? T{1} : y);
  };
}

auto HardSwish(auto x) {
  using T = decltype(x);
  const T y = x / 6 + static_cast<T>(0.5);
  return x * (y < 0 ? T{0} : (y > 1 ? T{1} : y));
}

Outputs Not(const FoldCall& call) {
  QR_ASSIGN_OR_RETURN(const Tensor x, NeedBytes(call, 0));
  if (x.dtype() != DType::kBool) return Reason("Not of {}", Name(x.dtype()));
  return One(MapLoop<uint8_t, uint8_t>(x, DType::kBool, [](uint8_t v) { return v == 0; }));
}

Outputs BitwiseNot(const FoldCall& call) {
  QR_RETURN_IF_ERROR(IntegerType(call).status());
  QR_ASSIGN_OR_RETURN(const Tensor x, NeedBytes(call, 0));
  return One(VisitInteger(x.dtype(), [&](auto tag) -> Result<Tensor> {
    using T = typename decltype(tag)::type;
    return MapLoop<T, T>(x, x.dtype(), [](T v) { return static_cast<T>(~v); });
  }));
}

template <class Test>
Outputs TestFloats(const FoldCall& call, Test test) {
  QR_RETURN_IF_ERROR(FloatType(call).status());
  QR_ASSIGN_OR_RETURN(const Tensor x, NeedBytes(call, 0));
  return One(VisitFloat(x.dtype(), [&](auto tag) -> Result<Tensor> {
    using T = typename decltype(tag)::type;
    return MapLoop<T, uint8_t>(x, DType::kBool, test);
  }));
}

Outputs IsNaN(const FoldCall& call) {
  return TestFloats(call, [](auto x) { return std::isnan(x); });
}

Outputs IsInf(const FoldCall& call) {
  const bool negative = call.attributes.Int("detect_negative", 1) != 0;
  const bool positive = call.attributes.Int("detect_positive", 1) != 0;
  return TestFloats(
      call, [=](auto x) { return std::isinf(x) && (std::signbit(x) ? negative : positive); });
}

void AddFloat(KernelRegistry& registry, std::string_view op, int first, Kernel run) {
  Add(registry, op, {.first = first}, std::move(run), FloatType);
}

void RegisterTrigonometry(KernelRegistry& registry) {
  AddFloat(registry, "Sin", 7, FloatMap([](auto x) { return std::sin(x); }));
  AddFloat(registry, "Cos", 7, FloatMap([](auto x) { return std::cos(x); }));
  AddFloat(registry, "Tan", 7, FloatMap([](auto x) { return std::tan(x); }));
  AddFloat(registry, "Asin", 7, FloatMap([](auto x) { return std::asin(x); }));
  AddFloat(registry, "Acos", 7, FloatMap([](auto x) { return std::acos(x); }));
  AddFloat(registry, "Atan", 7, FloatMap([](auto x) { return std::atan(x); }));
  AddFloat(registry, "Sinh", 9, FloatMap([](auto x) { return std::sinh(x); }));
  AddFloat(registry, "Cosh", 9, FloatMap([](auto x) { return std::cosh(x); }));
  AddFloat(registry, "Asinh", 9, FloatMap([](auto x) { return std::asinh(x); }));
  AddFloat(registry, "Acosh", 9, FloatMap([](auto x) { return std::acosh(x); }));
  AddFloat(registry, "Atanh", 9, FloatMap([](auto x) { return std::atanh(x); }));
}

void RegisterActivations(KernelRegistry& registry) {
  Add(registry, "Relu", {.first = 1}, NumberMap(ReluOp()), NumberType);
  AddFloat(registry, "Sigmoid", 1, FloatMap([](auto x) { return Logistic(x); }));
  AddFloat(registry, "Tanh", 1, FloatMap([](auto x) { return std::tanh(x); }));
  AddFloat(registry, "Erf", 9, FloatMap([](auto x) { return std::erf(x); }));
  AddFloat(registry, "Softplus", 1, FloatMap([](auto x) {
             return x > 0 ? x + std::log1p(std::exp(-x)) : std::log1p(std::exp(x));
           }));
  AddFloat(registry, "Softsign", 1, FloatMap([](auto x) { return x / (1 + std::fabs(x)); }));
  AddFloat(registry, "HardSwish", 14, FloatMap([](auto x) { return HardSwish(x); }));
  AddFloat(registry, "LeakyRelu", 1, FloatMapWith(LeakyReluOf));
  AddFloat(registry, "Elu", 1, FloatMapWith(EluOf));
  AddFloat(registry, "HardSigmoid", 1, FloatMapWith(HardSigmoidOf));
  AddFloat(registry, "Gelu", 20, FloatMapWith(GeluOf));
}

}  // namespace

void RegisterUnary(KernelRegistry& registry) {
  Add(registry, "Neg", {.first = 1}, NumberMap(NegOp()), NumberType);
  Add(registry, "Abs", {.first = 1}, NumberMap(AbsOp()), NumberType);
  Add(registry, "Sign", {.first = 9}, NumberMap(SignOp()), NumberType);
  AddFloat(registry, "Ceil", 1, FloatMap([](auto x) { return std::ceil(x); }));
  AddFloat(registry, "Floor", 1, FloatMap([](auto x) { return std::floor(x); }));
  AddFloat(registry, "Round", 11, FloatMap([](auto x) { return std::nearbyint(x); }));
  AddFloat(registry, "Sqrt", 1, FloatMap([](auto x) { return std::sqrt(x); }));
  AddFloat(registry, "Exp", 1, FloatMap([](auto x) { return std::exp(x); }));
  AddFloat(registry, "Log", 1, FloatMap([](auto x) { return std::log(x); }));
  AddFloat(registry, "Reciprocal", 1, FloatMap([](auto x) { return 1 / x; }));
  RegisterTrigonometry(registry);
  RegisterActivations(registry);
  Add(registry, "Not", {}, Not);
  Add(registry, "BitwiseNot", {.first = 18}, BitwiseNot, IntegerType);
  Add(registry, "IsNaN", {.first = 9}, InFloat(IsNaN));
  Add(registry, "IsInf", {.first = 10}, InFloat(IsInf));
}

}  // namespace qrewrite::fold
