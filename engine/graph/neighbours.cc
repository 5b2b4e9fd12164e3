#include "engine/graph/neighbours.h"

namespace qrewrite {

std::vector<NodeId> Neighbours(const Graph& graph, NodeId n) {
  std::vector<NodeId> found;
  for (size_t i = 0; i < graph.num_outputs(n); ++i) {
    const ValueId v = graph.output(n, i);
    if (!v.valid()) continue;
    for (const UseId u : graph.uses(v)) {
      if (!graph.user(u).is_output()) found.push_back(graph.user(u).node);
    }
  }
  for (size_t i = 0; i < graph.num_inputs(n); ++i) {
    const ValueId v = graph.input(n, i);
    if (v.valid() && graph.producer(v).valid()) found.push_back(graph.producer(v));
  }
  return found;
}

}  // namespace qrewrite
