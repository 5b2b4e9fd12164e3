// Constants that a model spells as nodes, and another one as initializers.
#pragma once

#include "qrewrite/model.h"

namespace qrewrite {

// How many Constant nodes there are, in subgraphs and functions too.
size_t CountConstantNodes(const Model& model);
// A copy with initializers of the same names in their place; kinds that nobody computes stay. Errors: of Clone().
Result<Model> WithoutConstantNodes(const Model& model);

}  // namespace qrewrite
