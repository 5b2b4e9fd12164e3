#include "engine/match/node_text.h"

#include <fmt/format.h>

#include "engine/base/diagnostics.h"

namespace qrewrite {

std::string_view FirstOutput(const Graph& graph, NodeId n) {
  for (size_t i = 0; i < graph.num_outputs(n); ++i) {
    if (graph.output(n, i).valid()) return graph.name(graph.output(n, i));
  }
  return "";
}

std::string NodeText(const Graph& graph, NodeId n) {
  if (!n.valid()) return "no node";
  const std::string_view name = graph.name(n).empty() ? FirstOutput(graph, n) : graph.name(n);
  return fmt::format("{} `{}`", graph.op_name(graph.op(n)).text(), Printable(name));
}

}  // namespace qrewrite
