// Element types of a node's outputs, as far as the signature alone tells them.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "engine/base/function_ref.h"
#include "engine/base/ids.h"
#include "engine/graph/graph.h"
#include "engine/ops/signature.h"
#include "engine/tensor/dtype.h"

namespace qrewrite {

// One entry an output of `node`; kUndefined if not known. In this order: the dtype_expr of the
// formal output, the inputs that share its type variable, a type that is the only one. A type that
// the signature does not allow is not believed: models may be ill-typed on purpose (Conv on int8),
// and what such a node yields the signature does not know. `dtype_of_input` answers kUndefined if
// it does not know either.
std::vector<DType> InferOutputDTypes(const Graph& graph, NodeId node, const Signature& signature,
                                     FunctionRef<DType(ValueId)> dtype_of_input);

// The language of dtype_expr in the built-in tables:
//
//   expr = term { " ?? " term }      the first term that is not absent
//   term = FLOAT | INT8 | ...        this type
//        | dtype(x)                  type of the input; absent if the input is
//        | attr to                   type that an attribute names (by number, in Cast-1 by name),
//                                    with its default; 0 and no attribute are absent
//        | dtype(attr value)         type of the attribute itself; absent if the node lacks it
//
// Nullopt: not of this language (rule files state more).
std::optional<std::vector<DTypeTerm>> ParseDTypeExpr(std::string_view text,
                                                     const Signature& signature);
// Reads the dtype_expr of every output. Who makes a signature calls it once, when inputs and
// outputs are known.
void ResolveDTypes(Signature& signature);

}  // namespace qrewrite
