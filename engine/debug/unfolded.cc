#include "engine/debug/unfolded.h"

#include <algorithm>

namespace qrewrite {
namespace {

class Way {
 public:
  Way(const NamedGraph& quantized, const QuantizedValues& values,
      const ActivationsOf& activations_of)
      : quantized_(quantized), values_(values), activations_of_(activations_of) {}

  // Nodes that read `v` or what it is quantized to; quantizers are none.
  std::set<NodeId> ReadersOf(ValueId v) const {
    const Graph& g = quantized_.graph();
    std::set<ValueId> same = {v};
    const auto found = activations_of_.find(v);
    const size_t count = found == activations_of_.end() ? 0 : found->second.size();
    for (size_t k = 0; k < count; ++k) {
      const QuantizedActivation& a = values_.activations[found->second[k]];
      for (const std::string& name : {a.quantizer, a.q}) same.insert(quantized_.Find(name));
      for (const std::string& name : a.restored) same.insert(quantized_.Find(name));
    }
    same.erase(ValueId());
    std::set<NodeId> readers;
    for (const ValueId s : same) {
      for (const UseId use : g.uses(s)) {
        const User user = g.user(use);
        if (user.is_output()) continue;
        const bool quantizer = g.num_outputs(user.node) > 0 && g.output(user.node, 0).valid() &&
                               same.contains(g.output(user.node, 0));
        if (!quantizer) readers.insert(user.node);
      }
    }
    return readers;
  }

  // The value it makes of one value and constants for channels; invalid: it is another kind of node.
  ValueId ResultByChannel(NodeId n) const {
    const Graph& g = quantized_.graph();
    size_t read = 0;
    bool by_channel = false;
    for (size_t i = 0; i < g.num_inputs(n); ++i) {
      const ValueId input = g.input(n, i);
      if (!input.valid()) continue;
      const Tensor* const constant = g.constant(input);
      read += constant == nullptr;
      by_channel |= constant != nullptr && IsFloat(constant->dtype()) && constant->size() > 1;
    }
    return read == 1 && by_channel && g.num_outputs(n) == 1 ? g.output(n, 0) : ValueId();
  }

  bool IsOneOf(const std::set<NodeId>& nodes, const std::set<std::string>& ops) const {
    const Graph& g = quantized_.graph();
    return std::ranges::any_of(nodes,
                               [&](NodeId n) { return ops.contains(g.op_name(g.op(n)).text()); });
  }

 private:
  const NamedGraph& quantized_;
  const QuantizedValues& values_;
  const ActivationsOf& activations_of_;
};

}  // namespace

std::vector<ValueId> UnfoldedBehind(const NamedGraph& quantized, const QuantizedValues& values,
                                    const ActivationsOf& activations_of, ValueId v,
                                    const std::set<std::string>& wanted) {
  constexpr size_t kMostFolded = 8;
  const Way way(quantized, values, activations_of);
  std::vector<ValueId> found = {v};
  while (found.size() <= kMostFolded) {
    const std::set<NodeId> readers = way.ReadersOf(found.back());
    if (way.IsOneOf(readers, wanted)) return found;
    if (readers.size() != 1 || quantized.graph().IsOutput(found.back())) break;
    const ValueId next = way.ResultByChannel(*readers.begin());
    if (!next.valid()) break;
    found.push_back(next);
  }
  return {v};
}

}  // namespace qrewrite
