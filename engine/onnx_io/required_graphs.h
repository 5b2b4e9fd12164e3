// Nodes that cannot be read without a graph (If, Loop, Scan and their like) have it.
#pragma once

#include "qrewrite/status.h"

#include "engine/graph/graph.h"

namespace qrewrite {

// kInvalidModel, naming node and attribute: a graph that an operator's signature requires is not there.
Status CheckRequiredGraphs(const Graph& graph);

}  // namespace qrewrite
