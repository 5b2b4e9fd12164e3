// The nodes beside a node.
#pragma once

#include <vector>

#include "engine/graph/graph.h"

namespace qrewrite {

// Those that read what `n` makes, then those that make what it reads; one may be there several times.
std::vector<NodeId> Neighbours(const Graph& graph, NodeId n);

}  // namespace qrewrite
