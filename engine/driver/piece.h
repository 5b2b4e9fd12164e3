// A piece of a graph that somebody chose by names, for a rule that is made of it.
#pragma once

#include <string>
#include <vector>

#include "engine/graph/graph.h"
#include "qrewrite/status.h"

namespace qrewrite {

// The nodes that `specs` name (their own names, or of values that they make; "A..B": all on a way from A
// to B), in order, without those that only spell a constant; at least one. Errors: kUsage (no such node or
// way, nodes that share no value, nodes of different graphs, no operator), kUnsupported (a node with a
// subgraph), kInvalidModel (a cycle).
Result<std::vector<NodeId>> PieceNamed(const Graph& graph, const std::vector<std::string>& specs);

}  // namespace qrewrite
