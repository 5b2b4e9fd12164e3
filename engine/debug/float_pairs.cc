#include "engine/debug/float_pairs.h"

#include <string>
#include <unordered_map>

namespace qrewrite {

std::unordered_map<uint32_t, std::string> MadeWithWeights(const NamedGraph& float_graph,
                                                          const NamedGraph& form,
                                                          const QuantizedValues& values,
                                                          const Matching& matching) {
  std::unordered_map<uint32_t, std::string> made;
  for (size_t i = 0; i < values.weights.size(); ++i) {
    const NodeId ours = form.OnlyReader(form.Find(values.weights[i].restored));
    const NodeId theirs = float_graph.OnlyReader(float_graph.Find(matching.weights[i].name));
    if (!ours.valid() || !theirs.valid()) continue;
    const ValueId output = float_graph.graph().output(theirs, 0);
    if (output.valid()) made.emplace(ours.index, float_graph.Name(output));
  }
  return made;
}

void AddFloatPairs(const NamedGraph& float_graph, const NamedGraph& form,
                   const QuantizedValues& values, const Matching& matching,
                   std::vector<Pair>& pairs) {
  const Graph& graph = form.graph();
  const auto order = TopologicalOrder(graph, graph.main());
  if (!order.ok()) return;
  const auto made = MadeWithWeights(float_graph, form, values, matching);
  for (const NodeId n : *order) {
    for (size_t i = 0; i < graph.num_outputs(n); ++i) {
      const ValueId v = graph.output(n, i);
      if (!v.valid() || graph.name(v).empty()) continue;
      const std::string name = form.Name(v);
      const auto other = i == 0 ? made.find(n.index) : made.end();
      if (float_graph.IsActivation(name)) {
        pairs.push_back({.float_name = name, .quantized_name = name});
      } else if (other != made.end() && !form.IsActivation(other->second)) {
        pairs.push_back({.float_name = other->second, .quantized_name = name});
      }
    }
  }
}

}  // namespace qrewrite
