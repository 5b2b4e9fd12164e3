#include "engine/debug/flow.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

namespace qrewrite {
namespace {

using Index = std::unordered_map<uint32_t, size_t>;

void AddOnce(std::vector<size_t>& list, size_t i) {
  if (std::find(list.begin(), list.end(), i) == list.end()) list.push_back(i);
}

// Upwards from `v` as far as to values that were made of integers.
Operands Above(const Graph& graph, ValueId v, const Index& activations, const Index& weights) {
  Operands operands;
  std::unordered_set<uint32_t> seen;
  std::vector<ValueId> todo{v};
  for (size_t at = 0; at < todo.size(); ++at) {  // breadth first: the nearest node is found first
    const NodeId n = graph.producer(todo[at]);
    if (!n.valid() || !seen.insert(n.index).second) continue;
    bool has_quantizers = at == 0;
    for (size_t i = 0; i < graph.num_inputs(n); ++i) {
      const ValueId input = graph.input(n, i);
      if (!input.valid()) continue;
      const auto activation = activations.find(input.index);
      const auto weight = weights.find(input.index);
      if (activation != activations.end()) AddOnce(operands.activations, activation->second);
      if (weight != weights.end()) AddOnce(operands.weights, weight->second);
      const bool quantized = activation != activations.end() || weight != weights.end();
      if (quantized && !operands.node.valid()) operands.node = n;
      has_quantizers |= quantized;
      if (!quantized) todo.push_back(input);
    }
    if (has_quantizers) operands.nodes.push_back(n);
  }
  return operands;
}

Index WeightsOf(const NamedGraph& form, const QuantizedValues& values) {
  Index weights;
  for (size_t i = 0; i < values.weights.size(); ++i) {
    const ValueId v = form.Find(values.weights[i].restored);
    if (v.valid()) weights[v.index] = i;
  }
  return weights;
}

}  // namespace

std::vector<Operands> OperandsOf(const NamedGraph& form, const QuantizedValues& values) {
  Index activations;
  for (size_t i = 0; i < values.activations.size(); ++i) {
    for (const std::string& name : values.activations[i].restored) {
      if (const ValueId v = form.Find(name); v.valid()) activations[v.index] = i;
    }
  }
  const Index weights = WeightsOf(form, values);
  std::vector<Operands> all;
  for (const QuantizedActivation& a : values.activations) {
    const ValueId source = form.Find(a.source);
    all.push_back(source.valid() ? Above(form.graph(), source, activations, weights) : Operands());
  }
  return all;
}

std::vector<Operands> OperandsOfFloats(const NamedGraph& form, const QuantizedValues& values,
                                       const std::vector<ValueId>& floats) {
  Index activations;
  for (size_t i = 0; i < floats.size(); ++i) activations[floats[i].index] = i;
  const Index weights = WeightsOf(form, values);
  std::vector<Operands> all;
  for (const ValueId v : floats) all.push_back(Above(form.graph(), v, activations, weights));
  return all;
}

}  // namespace qrewrite
