// Nodes in the words of messages.
#pragma once

#include <string>
#include <string_view>

#include "engine/graph/graph.h"

namespace qrewrite {

// The name of the first output that is there; "" if there is none.
std::string_view FirstOutput(const Graph& graph, NodeId n);
// "Conv `conv1`", for reasons; by what it makes if it has no name.
std::string NodeText(const Graph& graph, NodeId n);

}  // namespace qrewrite
