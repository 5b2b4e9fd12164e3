// Whether two bodies of a graph compute the same, as far as that can be seen: the same nodes, shared in the same way.
#pragma once

#include "engine/base/function_ref.h"
#include "engine/graph/graph.h"

namespace qrewrite {

// Inputs by position (element types where both are declared), outputs in order, values of outside by identity, constants
// and attributes by value, bodies inside in the same way. Names, the order of nodes and what no output needs do not count.
// `step` is asked before each value; false ends the comparison, and the bodies count as different.
bool SameBodies(const Graph& graph, BodyId a, BodyId b, FunctionRef<bool()> step);

}  // namespace qrewrite
