#include "engine/debug/float_places.h"

#include <algorithm>
#include <iterator>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "engine/debug/float_pairs.h"
#include "engine/debug/flow.h"
#include "engine/fold/cast.h"

namespace qrewrite {
namespace {

// The node that multiplies by the weight, and what it makes. A vector is a bias or a factor of each channel.
std::pair<NodeId, ValueId> ProductOf(const NamedGraph& form, const QuantizedWeight& w) {
  const Graph& graph = form.graph();
  if (w.integers.rank() < 2) return {};
  for (const std::string& name : {w.turned, w.restored}) {
    const NodeId n = form.OnlyReader(form.Find(name));
    if (n.valid() && graph.body_of(n) == graph.main() && graph.num_outputs(n) > 0)
      return {n, graph.output(n, 0)};
  }
  return {};
}

class Finder {
 public:
  Finder(const NamedGraph& form, const QuantizedValues& values) : form_(form) {
    for (const QuantizedWeight& w : values.weights) products_.push_back(ProductOf(form, w));
    for (const QuantizedActivation& a : values.activations) sources_.insert(a.source);
    rows_of_.resize(values.weights.size());
    for (const Operands& operands : OperandsOf(form, values)) {
      std::set<uint32_t> nodes;
      for (const size_t w : operands.weights) {
        if (products_[w].first.valid()) nodes.insert(products_[w].first.index);
      }
      for (const size_t w : operands.weights) rows_of_[w].push_back(nodes.size());
    }
  }

  // What is made with the weight, if no quantizer behind it is that of this product alone.
  ValueId Unmeasured(size_t weight) const {
    const ValueId v = products_[weight].second;
    if (!v.valid() || form_.Name(v).empty() || sources_.contains(form_.Name(v))) return {};
    const bool measured =
        std::ranges::any_of(rows_of_[weight], [](size_t products) { return products == 1; });
    return measured ? ValueId() : v;
  }

 private:
  const NamedGraph& form_;
  std::vector<std::pair<NodeId, ValueId>> products_;  // by weight
  std::set<std::string> sources_;
  std::vector<std::vector<size_t>>
      rows_of_;  // by weight: of each quantizer behind it, how many products it is behind
};

// Of what is made by a node: its place in the order of the graph.
std::unordered_map<uint32_t, size_t> Positions(const Graph& graph) {
  std::unordered_map<uint32_t, size_t> positions;
  const auto order = TopologicalOrder(graph, graph.main());
  if (!order.ok()) return positions;
  for (size_t i = 0; i < order->size(); ++i) positions[(*order)[i].index] = i;
  return positions;
}

}  // namespace

void AddFloatPlaces(const NamedGraph& float_graph, const NamedGraph& form, QuantizedValues& values,
                    Matching& matching) {
  const Finder finder(form, values);
  const auto made = MadeWithWeights(float_graph, form, values, matching);
  const std::unordered_map<uint32_t, size_t> positions = Positions(form.graph());
  const auto position = [&](const std::string& name) {
    const ValueId v = form.Find(name);
    const NodeId n = v.valid() ? form.graph().producer(v) : NodeId();
    const auto at = n.valid() ? positions.find(n.index) : positions.end();
    return at == positions.end() ? size_t{0} : at->second;
  };
  std::set<std::string> known;
  for (const Counterpart& c : matching.activations) known.insert(c.name);
  for (size_t i = 0; i < values.weights.size(); ++i) {
    const ValueId v = finder.Unmeasured(i);
    if (!v.valid() || !values.weights[i].scheme.scale.valid()) continue;
    const std::string name = form.Name(v);
    const auto by_weight = made.find(form.graph().producer(v).index);
    const bool same = float_graph.IsActivation(name);
    const std::string reference = same ? name : by_weight != made.end() ? by_weight->second : "";
    if (reference.empty() || !known.insert(reference).second) continue;
    const Result<Tensor> scale =
        fold::CastTensor(Tensor::FloatScalar(1), values.weights[i].scheme.scale.dtype());
    if (!scale.ok()) continue;
    // Producers stand first.
    const auto behind = std::ranges::find_if(
        values.activations, [&](const auto& a) { return position(a.quantizer) > position(name); });
    const auto at = std::distance(values.activations.begin(), behind);
    values.activations.insert(behind, {.source = name,
                                       .q = name,
                                       .quantizer = name,
                                       .scheme = {.scale = *scale},
                                       .restored = {name},
                                       .is_float = true});
    matching.activations.insert(matching.activations.begin() + at,
                                {.name = reference, .method = same ? "name" : "structure"});
  }
}

}  // namespace qrewrite
