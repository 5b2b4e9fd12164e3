// Constants that one model spells as nodes, and another one as initializers.
#pragma once

#include <optional>
#include <utility>

#include "qrewrite/model.h"

namespace qrewrite {

// Copies of both with initializers of the same names in the place of their Constant nodes, if one of them has more
// such nodes than the other, in subgraphs and functions too; kinds that nobody computes stay nodes. nullopt: they are
// spelled alike. Errors: a model that a failed rewrite left unusable; of Clone().
Result<std::optional<std::pair<Model, Model>>> SpellAlike(const Model& a, const Model& b);

}  // namespace qrewrite
