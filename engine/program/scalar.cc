#include "engine/program/scalar.h"

#include <algorithm>

namespace qrewrite {
namespace {

constexpr int64_t kExact = int64_t{1} << 53;  // whole numbers up to here are doubles

}  // namespace

BinOp ToBinOp(BinaryOp op) {
  switch (op) {
    case BinaryOp::kAdd: return BinOp::kAdd;
    case BinaryOp::kSub: return BinOp::kSub;
    case BinaryOp::kMul: return BinOp::kMul;
    case BinaryOp::kDiv: return BinOp::kDiv;
    case BinaryOp::kFloorDiv: return BinOp::kFloorDiv;
    case BinaryOp::kMod: return BinOp::kMod;
    case BinaryOp::kPow: return BinOp::kPow;
    case BinaryOp::kEq: return BinOp::kEqual;
    case BinaryOp::kNe: return BinOp::kNotEqual;
    case BinaryOp::kLt: return BinOp::kLess;
    case BinaryOp::kLe: return BinOp::kLessEqual;
    case BinaryOp::kGt: return BinOp::kGreater;
    default: return BinOp::kGreaterEqual;
  }
}

std::optional<double> ExactDouble(const Val& v) {
  if (const auto* d = v.get_if<double>()) return *d;
  const auto* i = v.get_if<int64_t>();
  if (i == nullptr || *i > kExact || *i < -kExact) return std::nullopt;
  return static_cast<double>(*i);
}

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

std::optional<DType> ElementTypeOf(const Val& val) {
  if (const auto* dtype = val.get_if<DType>()) return *dtype;
  const auto* text = val.get_if<std::string>();
  return text == nullptr ? std::nullopt : DTypeFromName(*text);
}

std::optional<Val> ScalarArithmetic(BinaryOp op, const Val& a, const Val& b) {
  const auto* x = a.get_if<int64_t>();
  const auto* y = b.get_if<int64_t>();
  if (x != nullptr && y != nullptr) {
    int64_t out = 0;
    return IntegerOp(ToBinOp(op), *x, *y, &out) ? std::optional(Val::Int(out)) : std::nullopt;
  }
  const std::optional<double> u = ExactDouble(a), v = ExactDouble(b);
  const std::optional<double> out = u && v ? FloatOp(ToBinOp(op), *u, *v) : std::nullopt;
  return out ? std::optional(Val::Float(*out)) : std::nullopt;
}

std::optional<bool> ScalarCompare(BinaryOp op, const Val& a, const Val& b) {
  const auto* s = a.get_if<Ints>();
  const auto* t = b.get_if<Ints>();
  if (s != nullptr && t != nullptr && op == BinaryOp::kEq) return *s == *t;
  const auto* i = a.get_if<int64_t>();
  const auto* j = b.get_if<int64_t>();
  const auto each = [](const Ints& list, auto holds) {
    return std::all_of(list.begin(), list.end(), holds);
  };
  if (s != nullptr && j != nullptr) {
    return each(*s, [&](int64_t k) { return CompareIntegers(ToBinOp(op), k, *j); });
  }
  if (i != nullptr && t != nullptr) {
    return each(*t, [&](int64_t k) { return CompareIntegers(ToBinOp(op), *i, k); });
  }
  const std::optional<Element> x = ElementOf(a);
  const std::optional<Element> y = x ? ElementOf(b) : std::nullopt;
  return y ? CompareElements(ToBinOp(op), *x, *y) : std::nullopt;
}

}  // namespace qrewrite
