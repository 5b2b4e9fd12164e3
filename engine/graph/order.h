// The order of a whole model; that of one body is TopologicalOrder (graph.h).
#pragma once

#include <vector>

#include "engine/graph/graph.h"
#include "qrewrite/status.h"

namespace qrewrite {

// All live nodes of all bodies, producers first; those of a subgraph before the node that holds it.
// Error: a cycle, as TopologicalOrder tells it.
Result<std::vector<NodeId>> NodesInOrder(const Graph& graph);

}  // namespace qrewrite
