// Boundaries: numbers of a constant with which a condition that compares it just holds, or just does not.
#pragma once

#include <vector>

#include "engine/prove/guards.h"

namespace qrewrite {

struct Boundary {
  ValueId constant;
  std::vector<double> numbers;  // as many as it has elements
};

// Of the comparisons in the conditions of `rule` and its cases, on the matches of its pattern in `graph`:
// of a constant with something that can be computed there. Conditions of definitions are not looked at.
std::vector<Boundary> BoundariesOf(const Graph& graph, const Program& program,
                                   const CompiledRule& rule, const std::vector<Guard>& guards,
                                   const Task& task, const RunContext& context);

}  // namespace qrewrite
