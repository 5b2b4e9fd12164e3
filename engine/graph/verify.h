// Verify: every invariant of a Graph, checked. On in tests; in the command under `--check-graph`.
#pragma once

#include "engine/graph/graph.h"
#include "qrewrite/status.h"

namespace qrewrite {

// Use lists are doubly linked and counted right, producers and outputs agree, constants and inputs
// are listed by their bodies, subgraphs belong to the node that holds them, nothing alive refers to
// something removed, what is read has a name of its own in its body and is computed, every value a
// node reads is visible to it, no body has a cycle. The error names the node or value.
Status Verify(const Graph& graph);

}  // namespace qrewrite
