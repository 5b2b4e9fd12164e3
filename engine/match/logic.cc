#include "engine/match/logic.h"

#include <algorithm>

namespace qrewrite {

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

Val AllTrue(const Tensor& t) {
  const Result<std::vector<int64_t>> values = ToInt64s(t);
  if (!values.ok()) return Failure{values.status().message()};
  return std::all_of(values->begin(), values->end(), [](int64_t b) { return b != 0; });
}

Val And(const Val& a, const Val& b) {
  if (const bool* x = a.get_if<bool>(); x != nullptr && !*x) return false;
  if (const bool* y = b.get_if<bool>(); y != nullptr && !*y) return false;
  if (a.stops()) return a;
  return b;
}

Val Or(const Val& a, const Val& b) {
  if (const bool* x = a.get_if<bool>(); x != nullptr && *x) return true;
  if (const bool* y = b.get_if<bool>(); y != nullptr && *y) return true;
  if (a.stops()) return a;
  return b;
}

Val Not(const Val& a) {
  if (const bool* x = a.get_if<bool>()) return !*x;
  return a;
}

}  // namespace qrewrite
