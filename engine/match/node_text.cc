#include "engine/match/node_text.h"

#include <string_view>

#include <fmt/format.h>

#include "engine/base/diagnostics.h"

namespace qrewrite {

std::string NodeText(const Graph& graph, NodeId n) {
  if (!n.valid()) return "no node";
  std::string_view name = graph.name(n);
  for (size_t i = 0; i < graph.num_outputs(n) && name.empty(); ++i) {
    if (graph.output(n, i).valid()) name = graph.name(graph.output(n, i));
  }
  return fmt::format("{} `{}`", graph.op_name(graph.op(n)).text(), Printable(name));
}

}  // namespace qrewrite
