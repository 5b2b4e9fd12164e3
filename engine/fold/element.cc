#include "engine/fold/element.h"

#include <cfloat>
#include <cmath>
#include <cstring>

namespace qrewrite {
namespace {

constexpr int64_t kFew = 4096;

template <class T>
T Read(const std::byte* bytes, int64_t index) {
  T value;
  std::memcpy(&value, bytes + static_cast<size_t>(index) * sizeof(T), sizeof(T));
  return value;
}

template <class T>
Tensor Make(DType dtype, const Dims& dims, T value) {
  return Tensor::Of<T>(dtype, dims, std::span<const T>(&value, 1));
}

// The shape of a result: both have one element, so the longer one.
const Dims& Shape(const Tensor& a, const Tensor& b) {
  return a.rank() >= b.rank() ? a.dims() : b.dims();
}

// A double in FLOAT, if a finite one stays finite.
std::optional<float> Narrow(double d) {
  const auto f = static_cast<float>(d);
  if (std::isfinite(d) && !std::isfinite(f)) return std::nullopt;
  return f;
}

template <class F>
std::optional<F> ExactFloat(int64_t i) {
  const auto f = static_cast<F>(i);
  // 2^63 is a float, but no int64; arith.h has INT64_MIN in none.
  if (i == INT64_MIN || f >= 0x1p63 || static_cast<int64_t>(f) != i) return std::nullopt;
  return f;
}

// An element as F, float or double, as an operand of arithmetic in F.
template <class F>
std::optional<F> Operand(const Element& e) {
  if (!e.is_float) return ExactFloat<F>(e.i);
  if constexpr (std::is_same_v<F, float>) return Narrow(e.d);
  return static_cast<F>(e.d);
}

template <class F>
std::optional<F> Compute(BinOp op, F a, F b) {
  switch (op) {
    case BinOp::kAdd: return a + b;
    case BinOp::kSub: return a - b;
    case BinOp::kMul: return a * b;
    case BinOp::kDiv: return a / b;
    case BinOp::kMin: return a < b || a != a ? a : b;  // NaN wins
    case BinOp::kMax: return a > b || a != a ? a : b;
    default: return std::nullopt;
  }
}

template <class F>
std::optional<Num> FloatResult(BinOp op, const Element& a, const Element& b, DType dtype,
                               const Dims& dims) {
  const std::optional<F> x = Operand<F>(a), y = Operand<F>(b);
  const std::optional<F> out = x && y ? Compute(op, *x, *y) : std::nullopt;
  if (!out) return std::nullopt;
  return Num{Make<F>(dtype, dims, *out), a.weak && b.weak};
}

bool Power(int64_t base, int64_t exponent, int64_t* out) {
  int64_t result = 1;
  if (exponent < 0) return false;
  for (; exponent > 0; exponent /= 2) {
    if (exponent % 2 != 0 && __builtin_mul_overflow(result, base, &result)) return false;
    // The last square is not used, so that its overflow is none.
    if (exponent > 1 && __builtin_mul_overflow(base, base, &base)) return false;
  }
  *out = result;
  return true;
}

template <class T>
bool Holds(BinOp op, T a, T b) {
  switch (op) {
    case BinOp::kEqual: return a == b;
    case BinOp::kNotEqual: return a != b;
    case BinOp::kLess: return a < b;
    case BinOp::kLessEqual: return a <= b;
    case BinOp::kGreater: return a > b;
    default: return a >= b;
  }
}

// Element number `index` of a tensor of this type.
std::optional<Element> ReadElement(DType dtype, bool weak, const std::byte* bytes, int64_t index) {
  Element e{.dtype = dtype, .weak = weak};
  switch (dtype) {
    case DType::kInt8: e.i = Read<int8_t>(bytes, index); return e;
    case DType::kInt16: e.i = Read<int16_t>(bytes, index); return e;
    case DType::kInt32: e.i = Read<int32_t>(bytes, index); return e;
    case DType::kInt64: e.i = Read<int64_t>(bytes, index); return e;
    case DType::kUint8: e.i = Read<uint8_t>(bytes, index); return e;
    case DType::kUint16: e.i = Read<uint16_t>(bytes, index); return e;
    case DType::kUint32: e.i = Read<uint32_t>(bytes, index); return e;
    case DType::kUint64: e.i = Read<int64_t>(bytes, index); break;  // beyond INT64: negative here
    case DType::kFloat: e.d = Read<float>(bytes, index); break;
    case DType::kDouble: e.d = Read<double>(bytes, index); break;
    case DType::kFloat16:
    case DType::kBfloat16: e.d = DecodeFloat(dtype, Read<uint16_t>(bytes, index)); break;
    default: return std::nullopt;
  }
  if (dtype == DType::kUint64) return e.i < 0 ? std::nullopt : std::optional(e);
  e.is_float = true;
  return e;
}

template <class T>
std::optional<Tensor> IntegerIn(DType dtype, const Dims& dims, int64_t i) {
  if (i < IntMin(dtype) || i > IntMax(dtype)) return std::nullopt;
  return Make(dtype, dims, static_cast<T>(i));
}

}  // namespace

bool IntegerOp(BinOp op, int64_t x, int64_t y, int64_t* out) {
  switch (op) {
    case BinOp::kAdd: return !__builtin_add_overflow(x, y, out);
    case BinOp::kSub: return !__builtin_sub_overflow(x, y, out);
    case BinOp::kMul: return !__builtin_mul_overflow(x, y, out);
    case BinOp::kFloorDiv:
      if (y == 0 || (x == INT64_MIN && y == -1)) return false;
      *out = x / y - (x % y != 0 && (x < 0) != (y < 0) ? 1 : 0);
      return true;
    case BinOp::kMod:
      if (y == 0) return false;
      *out = y == -1 ? 0 : x % y;
      if (*out != 0 && (*out < 0) != (y < 0)) *out += y;
      return true;
    case BinOp::kPow: return Power(x, y, out);
    case BinOp::kMin: *out = std::min(x, y); return true;
    case BinOp::kMax: *out = std::max(x, y); return true;
    default: return false;
  }
}

std::optional<double> FloatOp(BinOp op, double x, double y) { return Compute(op, x, y); }

std::optional<Element> OnlyElement(const Tensor& t, bool weak) {
  if (t.size() != 1 || t.is_lazy() || t.is_string()) return std::nullopt;
  return ReadElement(t.dtype(), weak, t.bytes().data(), 0);
}

bool CompareIntegers(BinOp op, int64_t a, int64_t b) { return Holds(op, a, b); }

void NearestFloats(BinOp op, double& x, double& y) {
  if (op == BinOp::kLess || op == BinOp::kGreater) return;
  const std::optional<float> f = Narrow(x), g = Narrow(y);
  if (!f || !g) return;
  const bool x_is = *f == x, y_is = *g == y;
  if (y_is) x = *f;
  if (x_is) y = *g;
}

std::optional<bool> CompareElements(BinOp op, const Element& a, const Element& b) {
  if (!a.is_float && !b.is_float) return Holds(op, a.i, b.i);
  Element x = a, y = b;
  // A float literal beside a tensor means the nearest value of its type.
  for (auto [own, other] : {std::pair(&x, &b), std::pair(&y, &a)}) {
    if (!own->weak || !own->is_float || other->weak || !other->is_float) continue;
    if (other->dtype == DType::kDouble) continue;
    if (other->dtype != DType::kFloat) return std::nullopt;
    if (const std::optional<float> f = Narrow(own->d)) own->d = *f;
  }
  if (x.is_float && y.is_float) {
    if (a.weak && b.weak) NearestFloats(op, x.d, y.d);
    return Holds(op, x.d, y.d);
  }
  // Of one that is whole and small enough to be a double, too.
  Element& whole = x.is_float ? y : x;
  const std::optional<double> d = ExactFloat<double>(whole.i);
  if (!d) return std::nullopt;
  return x.is_float ? Holds(op, x.d, *d) : Holds(op, *d, y.d);
}

std::optional<bool> CompareFew(BinOp op, const Num& a, const Num& b) {
  const int64_t n = std::max(a.t.size(), b.t.size());
  if (n > kFew || a.t.size() == 0 || b.t.size() == 0) return std::nullopt;
  if (a.t.is_lazy() || b.t.is_lazy() || a.t.is_string() || b.t.is_string()) return std::nullopt;
  const bool one_a = a.t.rank() == 0, one_b = b.t.rank() == 0;
  if (!one_a && !one_b && a.t.dims() != b.t.dims()) return std::nullopt;
  bool all = true;
  for (int64_t i = 0; i < n; ++i) {
    const auto x = ReadElement(a.t.dtype(), a.weak, a.t.bytes().data(), one_a ? 0 : i);
    const auto y = ReadElement(b.t.dtype(), b.weak, b.t.bytes().data(), one_b ? 0 : i);
    const std::optional<bool> holds = x && y ? CompareElements(op, *x, *y) : std::nullopt;
    if (!holds) return std::nullopt;
    all &= *holds;
  }
  return all;
}

std::optional<Num> ApplyToElements(BinOp op, const Num& a, const Num& b) {
  const std::optional<Element> x = OnlyElement(a.t, a.weak);
  if (!x) return std::nullopt;
  const std::optional<Element> y = OnlyElement(b.t, b.weak);
  if (!y) return std::nullopt;
  const Dims& dims = Shape(a.t, b.t);
  if (IsComparison(op)) {
    const std::optional<bool> holds = CompareElements(op, *x, *y);
    if (!holds) return std::nullopt;
    return Num{Make<uint8_t>(DType::kBool, dims, *holds ? 1 : 0), false};
  }
  if (!x->is_float && !y->is_float) {
    int64_t out = 0;
    if (!IntegerOp(op, x->i, y->i, &out)) return std::nullopt;
    return Num{Make<int64_t>(DType::kInt64, dims, out), x->weak && y->weak};
  }
  // The type that a strong float gives; between weak ones, and for a weak float beside an integer,
  // it is DOUBLE.
  DType dtype = DType::kUndefined;
  for (const Element* e : {&*x, &*y}) {
    if (!e->is_float || e->weak) continue;
    if (dtype != DType::kUndefined && dtype != e->dtype) return std::nullopt;
    dtype = e->dtype;
  }
  if (dtype == DType::kFloat) return FloatResult<float>(op, *x, *y, dtype, dims);
  if (dtype == DType::kDouble || dtype == DType::kUndefined) {
    return FloatResult<double>(op, *x, *y, DType::kDouble, dims);
  }
  return std::nullopt;
}

std::optional<Tensor> ElementAt(const Tensor& t, int64_t index) {
  if (t.rank() != 1 || t.is_lazy() || t.is_string() || index < 0 || index >= t.size()) {
    return std::nullopt;
  }
  const int bits = Info(t.dtype()).bits;
  if (bits < 8 || bits > 64) return std::nullopt;
  const auto size = static_cast<size_t>(bits) / 8;
  return Tensor::View(t.dtype(), {}, nullptr,
                      t.bytes().subspan(static_cast<size_t>(index) * size, size));
}

std::optional<Tensor> CastElement(const Tensor& x, DType dtype) {
  const std::optional<Element> e = OnlyElement(x, false);
  if (!e) return std::nullopt;
  if (dtype == DType::kFloat || dtype == DType::kDouble) {
    if (dtype == DType::kDouble) {
      const std::optional<double> d = Operand<double>(*e);
      return d ? std::optional(Make<double>(dtype, x.dims(), *d)) : std::nullopt;
    }
    const std::optional<float> f = Operand<float>(*e);
    return f ? std::optional(Make<float>(dtype, x.dims(), *f)) : std::nullopt;
  }
  int64_t i = e->i;
  if (e->is_float) {
    if (!(e->d > -0x1p62 && e->d < 0x1p62) || e->d != std::floor(e->d)) return std::nullopt;
    i = static_cast<int64_t>(e->d);
  }
  switch (dtype) {
    case DType::kInt8: return IntegerIn<int8_t>(dtype, x.dims(), i);
    case DType::kInt16: return IntegerIn<int16_t>(dtype, x.dims(), i);
    case DType::kInt32: return IntegerIn<int32_t>(dtype, x.dims(), i);
    case DType::kInt64: return IntegerIn<int64_t>(dtype, x.dims(), i);
    case DType::kUint8: return IntegerIn<uint8_t>(dtype, x.dims(), i);
    case DType::kUint16: return IntegerIn<uint16_t>(dtype, x.dims(), i);
    case DType::kUint32: return IntegerIn<uint32_t>(dtype, x.dims(), i);
    default: return std::nullopt;
  }
}

}  // namespace qrewrite
