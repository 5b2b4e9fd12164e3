// Verify: every invariant of a Graph, checked. On in tests; in the command under `--verify`.
#pragma once

#include "engine/graph/graph.h"
#include "qrewrite/status.h"

namespace qrewrite {

// Use lists are doubly linked and counted right, producers and outputs agree, nothing alive refers to
// something removed, every value a node reads is visible to it, no body has a cycle. The error
// names the node or value.
Status Verify(const Graph& graph);

}  // namespace qrewrite
