// Dependence: which outputs of a model can change with the numbers that it is given.
#pragma once

#include <set>
#include <string>

#include "qrewrite/model.h"
#include "qrewrite/rules.h"

namespace qrewrite {

// Names of outputs that a way leads to from an input, those with an initial value excepted. What reads sizes alone (the
// rule `sizes` of `roles`, see LoadInputRoles) ends a way: numbers change nothing behind it.
std::set<std::string> OutputsOfInputs(const Model& model, const Rules* roles);

}  // namespace qrewrite
