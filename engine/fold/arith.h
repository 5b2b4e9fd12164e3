// Arithmetic and comparison of the rule language on constants. Other than the operators of ONNX,
// whose integers wrap, it is exact or fails with a reason:
//
//   integer, integer   computed and returned as int64; overflow fails; `/` is an error (`//` floors)
//   float, float       computed in the wider type and returned as it; float16 beside bfloat16, and
//                      types of 8 bits and less, as float
//   integer, float     the integer becomes the float type exactly, or the operation fails
//   weak               a literal or numeric attribute (int64 or double, any shape). Beside a strong
//                      operand it takes that one's type: an integer becomes the float type exactly, a
//                      float is rounded to it. A weak float beside a strong integer makes double.
//                      Two weak operands give a weak result; where one is a float, as attributes
//                      are, the other is rounded to it for ==, !=, <= and >=.
//   bool               compares as 0 and 1, has no arithmetic
//
// Comparison does not depend on types: an integer and a float compare by value, however large. It
// gives a bool tensor. Operands broadcast as in ONNX.
#pragma once

#include "engine/tensor/tensor.h"
#include "qrewrite/status.h"

namespace qrewrite {

enum class BinOp {
  kAdd,
  kSub,
  kMul,
  kDiv,       // floats only
  kFloorDiv,  // towards minus infinity
  kMod,       // the sign of the divisor, as in Python
  kPow,       // of integers: no negative exponent
  kMin,
  kMax,
  kEqual,
  kNotEqual,
  kLess,
  kLessEqual,
  kGreater,
  kGreaterEqual,
};

constexpr bool IsComparison(BinOp op) { return op >= BinOp::kEqual; }

struct Num {
  Tensor t;
  bool weak = false;
};

// A large float result of floats is lazy; what can fail is computed at once.
Result<Num> Apply(BinOp op, const Num& left, const Num& right);

// clip(x, lo, hi): max and then min, each where its bound is given.
Result<Num> Clamp(const Num& x, const Num* lo, const Num* hi);

}  // namespace qrewrite
