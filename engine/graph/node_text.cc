#include "engine/graph/node_text.h"

#include <fmt/format.h>

#include "engine/base/diagnostics.h"

namespace qrewrite {

std::string_view FirstOutput(const Graph& graph, NodeId n) {
  for (size_t i = 0; i < graph.num_outputs(n); ++i) {
    if (graph.output(n, i).valid()) return graph.name(graph.output(n, i));
  }
  return "";
}

std::string_view NodeName(const Graph& graph, NodeId n) {
  return graph.name(n).empty() ? FirstOutput(graph, n) : graph.name(n);
}

std::string NodeText(const Graph& graph, NodeId n) {
  if (!n.valid()) return "no node";
  return fmt::format("{} `{}`", graph.op_name(graph.op(n)).text(), Printable(NodeName(graph, n)));
}

}  // namespace qrewrite
