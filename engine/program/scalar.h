// What a value is on its own, a number or an element type; and arithmetic and comparison of weak scalars,
// without a tensor: what rules compute most. It gives exactly what engine/fold/arith.h would; where that
// would fail, or would need a tensor, it answers nothing and the caller asks arith.h.
#pragma once

#include <optional>

#include "engine/expr/ast.h"
#include "engine/fold/element.h"
#include "engine/program/val.h"

namespace qrewrite {

constexpr bool IsComparison(BinaryOp op) { return op >= BinaryOp::kEq && op <= BinaryOp::kGe; }

// The operator of engine/fold/arith.h. REQUIRES: an arithmetic operator or a comparison.
BinOp ToBinOp(BinaryOp op);

// A weak scalar as a double, if it is one exactly.
std::optional<double> ExactDouble(const Val& v);
// A number on its own, weak or not; nothing of other things.
std::optional<Element> ElementOf(const Val& val);

// The element type that a value is or names: plain data of a rule file (parameters, data of sets) has
// texts for them.
std::optional<DType> ElementTypeOf(const Val& val);

std::optional<Val> ScalarArithmetic(BinaryOp op, const Val& a, const Val& b);
// Of two numbers on their own, or of two short lists of integers (only whether they are equal).
std::optional<bool> ScalarCompare(BinaryOp op, const Val& a, const Val& b);

}  // namespace qrewrite
