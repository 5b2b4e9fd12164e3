// Three-valued logic over Val.
#pragma once

#include "engine/expr/ast.h"
#include "engine/fold/arith.h"
#include "engine/program/val.h"

namespace qrewrite {

// Every element of a bool tensor, as a condition; Failure if it cannot be computed.
Val AllTrue(const Tensor& t);

// Kleene's logic: an Unknown (or Failure) decides only if the other side does not.
Val And(const Val& a, const Val& b);
Val Or(const Val& a, const Val& b);
Val Not(const Val& a);

}  // namespace qrewrite
