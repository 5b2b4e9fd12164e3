#include "engine/debug/float_places.h"

#include <algorithm>
#include <cstddef>
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
  // By weight: of each quantizer behind it, how many products it is behind.
  std::vector<std::vector<size_t>> rows_of_;
};

// What is looked at, and what it stands for.
struct Place {
  QuantizedActivation activation;
  Counterpart counterpart;
};

// Where values are made, in the order of the graph; 0: by no node of it.
class Positions {
 public:
  explicit Positions(const NamedGraph& named) : named_(named) {
    const auto order = TopologicalOrder(named.graph(), named.graph().main());
    if (!order.ok()) return;
    for (size_t i = 0; i < order->size(); ++i) positions_[(*order)[i].index] = i;
  }

  size_t operator()(const Place& place) const {
    const ValueId v = named_.Find(place.activation.quantizer);
    const NodeId n = v.valid() ? named_.graph().producer(v) : NodeId();
    const auto at = n.valid() ? positions_.find(n.index) : positions_.end();
    return at == positions_.end() ? 0 : at->second;
  }

 private:
  const NamedGraph& named_;
  std::unordered_map<uint32_t, size_t> positions_;  // by node
};

}  // namespace

void AddFloatPlaces(const NamedGraph& float_graph, const NamedGraph& form, QuantizedValues& values,
                    Matching& matching) {
  const Finder finder(form, values);
  const auto made = MadeWithWeights(float_graph, form, values, matching);
  std::set<std::string> known;
  std::vector<Place> places;
  for (size_t i = 0; i < values.activations.size(); ++i) {
    known.insert(matching.activations[i].name);
    places.push_back({std::move(values.activations[i]), std::move(matching.activations[i])});
  }
  const size_t quantized = places.size();
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
    places.push_back({{.source = name,
                       .q = name,
                       .quantizer = name,
                       .scheme = {.scale = *scale},
                       .restored = {name},
                       .is_float = true},
                      {.name = reference, .method = same ? "name" : "structure"}});
  }
  // Producers stand first; of what is quantized the order stays.
  const auto middle = places.begin() + static_cast<ptrdiff_t>(quantized);
  const Positions position(form);
  std::ranges::sort(middle, places.end(), {}, position);
  values.activations.clear();
  matching.activations.clear();
  const auto add = [&](Place& place) {
    values.activations.push_back(std::move(place.activation));
    matching.activations.push_back(std::move(place.counterpart));
  };
  auto next = middle;
  for (auto at = places.begin(); at != middle; ++at) {
    for (; next != places.end() && position(*next) < position(*at); ++next) add(*next);
    add(*at);
  }
  for (; next != places.end(); ++next) add(*next);
}

}  // namespace qrewrite
