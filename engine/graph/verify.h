// Verify: every invariant of a Graph, checked. On in tests; in the command under `--check-graph`.
#pragma once

#include <unordered_set>

#include "engine/graph/graph.h"
#include "qrewrite/status.h"

namespace qrewrite {

// Use lists are doubly linked and counted right, producers and outputs agree, constants and inputs
// are listed by their bodies, subgraphs belong to the node that holds them, nothing alive refers to
// something removed, what is read has a name of its own in its body and is computed, every value a
// node reads is visible to it, no body has a cycle. The error names the node or value.
// `carried`: values that nothing needs to compute.
Status Verify(const Graph& graph, const std::unordered_set<ValueId>& carried = {});

// Values that are read and of which the graph does not know where they come from: only the file has
// them (sparse initializers, tensors of newer types). To be asked of a graph that is as it was read.
std::unordered_set<ValueId> CarriedValues(const Graph& graph);

}  // namespace qrewrite
