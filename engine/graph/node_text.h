// Nodes in the words of messages.
#pragma once

#include <string>
#include <string_view>

#include "engine/graph/graph.h"

namespace qrewrite {

// The name of the first output that is there; "" if there is none.
std::string_view FirstOutput(const Graph& graph, NodeId n);
// The name of the node, or else of what it makes.
std::string_view NodeName(const Graph& graph, NodeId n);
// "Conv `conv1`", for reasons: operator and NodeName.
std::string NodeText(const Graph& graph, NodeId n);

}  // namespace qrewrite
