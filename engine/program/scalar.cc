#include "engine/program/scalar.h"

#include <cmath>

namespace qrewrite {
namespace {

constexpr int64_t kExact = int64_t{1} << 53;  // whole numbers up to here are doubles

std::optional<Val> Integers(BinaryOp op, int64_t a, int64_t b) {
  int64_t out = 0;
  switch (op) {
    case BinaryOp::kAdd:
      if (__builtin_add_overflow(a, b, &out)) return std::nullopt;
      return Val::Int(out);
    case BinaryOp::kSub:
      if (__builtin_sub_overflow(a, b, &out)) return std::nullopt;
      return Val::Int(out);
    case BinaryOp::kMul:
      if (__builtin_mul_overflow(a, b, &out)) return std::nullopt;
      return Val::Int(out);
    case BinaryOp::kFloorDiv:
      if (b == 0 || (a == INT64_MIN && b == -1)) return std::nullopt;
      out = a / b;
      return Val::Int(out - (a % b != 0 && (a < 0) != (b < 0)));
    case BinaryOp::kMod:
      if (b == 0 || b == -1) return std::nullopt;
      out = a % b;
      return Val::Int(out != 0 && (out < 0) != (b < 0) ? out + b : out);
    default: return std::nullopt;
  }
}

std::optional<Val> Floats(BinaryOp op, double a, double b) {
  switch (op) {
    case BinaryOp::kAdd: return Val::Float(a + b);
    case BinaryOp::kSub: return Val::Float(a - b);
    case BinaryOp::kMul: return Val::Float(a * b);
    case BinaryOp::kDiv: return Val::Float(a / b);
    default: return std::nullopt;
  }
}

// A scalar as a double, if it is one exactly.
std::optional<double> AsDouble(const Val& v) {
  if (const auto* d = v.get_if<double>()) return *d;
  const auto* i = v.get_if<int64_t>();
  if (i == nullptr || *i > kExact || *i < -kExact) return std::nullopt;
  return static_cast<double>(*i);
}

template <class T>
bool Holds(BinaryOp op, T a, T b) {
  switch (op) {
    case BinaryOp::kEq: return a == b;
    case BinaryOp::kNe: return a != b;
    case BinaryOp::kLt: return a < b;
    case BinaryOp::kLe: return a <= b;
    case BinaryOp::kGt: return a > b;
    default: return a >= b;
  }
}

}  // namespace

std::optional<Element> ElementOf(const Val& val) {
  if (const auto* n = val.get_if<Num>()) return OnlyElement(n->t, n->weak);
  if (const auto* i = val.get_if<int64_t>()) {
    return Element{.dtype = DType::kInt64, .weak = true, .i = *i};
  }
  if (const auto* d = val.get_if<double>()) {
    return Element{.dtype = DType::kDouble, .weak = true, .is_float = true, .d = *d};
  }
  return std::nullopt;
}

std::optional<Val> ScalarArithmetic(BinaryOp op, const Val& a, const Val& b) {
  const auto* x = a.get_if<int64_t>();
  const auto* y = b.get_if<int64_t>();
  if (x != nullptr && y != nullptr) return Integers(op, *x, *y);
  const std::optional<double> u = AsDouble(a), v = AsDouble(b);
  return u && v ? Floats(op, *u, *v) : std::nullopt;
}

std::optional<bool> ScalarCompare(BinaryOp op, const Val& a, const Val& b) {
  const auto* x = a.get_if<int64_t>();
  const auto* y = b.get_if<int64_t>();
  if (x != nullptr && y != nullptr) return Holds(op, *x, *y);
  const auto* s = a.get_if<Ints>();
  const auto* t = b.get_if<Ints>();
  if (s != nullptr && t != nullptr && op == BinaryOp::kEq) return *s == *t;
  const std::optional<double> u = AsDouble(a), v = AsDouble(b);
  return u && v ? std::optional(Holds(op, *u, *v)) : std::nullopt;
}

}  // namespace qrewrite
