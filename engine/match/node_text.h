// Nodes in the words of messages.
#pragma once

#include <string>

#include "engine/graph/graph.h"

namespace qrewrite {

// "Conv `conv1`", for reasons; by what it makes if it has no name.
std::string NodeText(const Graph& graph, NodeId n);

}  // namespace qrewrite
