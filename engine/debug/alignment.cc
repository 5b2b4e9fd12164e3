#include "engine/debug/alignment.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "engine/debug/behind.h"
#include "engine/debug/folded_weights.h"
#include "engine/debug/unfolded.h"
#include "engine/evaluate/decibels.h"

namespace qrewrite {
Alignment::Alignment(const NamedGraph& float_graph, const NamedGraph& quantized,
                     const QuantizedValues& values, const Products& float_products,
                     const Products& quantized_products, Matching& matching)
    : float_(float_graph),
      quantized_(quantized),
      values_(values),
      float_products_(float_products),
      quantized_products_(quantized_products),
      matching_(matching),
      known_(quantized.graph().num_values()),
      weight_of_(quantized.graph().num_values(), 0),
      doubtful_(values.activations.size(), false),
      taken_(float_graph.graph().num_nodes(), false) {
  for (size_t i = 0; i < values.activations.size(); ++i) {
    const ValueId source = quantized.Find(values.activations[i].source);
    if (source.valid()) activations_of_[source].push_back(i);
  }
  for (size_t i = 0; i < values.weights.size(); ++i) {
    for (const std::string& name : {values.weights[i].restored, values.weights[i].turned}) {
      const ValueId v = name.empty() ? ValueId() : quantized.Find(name);
      if (v.valid()) weight_of_[v.index] = i + 1;
    }
  }
  const Graph& f = float_graph.graph();
  for (const NodeId n : f.body(f.main()).nodes) {
    if (f.alive(n) && !f.name(n).empty()) named_.try_emplace(f.name(n), n);
  }
}

void Alignment::Run() {
  const Graph& g = quantized_.graph();
  AlignInputs();
  for (size_t i = 0; i < g.num_values(); ++i) {  // equal names
    const ValueId v(i);
    if (!g.alive(v) || g.body_of(v) != g.main() || !quantized_.IsActivation(v)) continue;
    const ValueId same = float_.Find(g.name(v));
    if (!known_[i].valid() && float_.IsActivation(same)) known_[i] = same;
  }
  for (size_t i = 0; i < values_.activations.size(); ++i) {
    const Counterpart& c = matching_.activations[i];
    if (c.name.empty()) continue;
    doubtful_[i] = IsDoubtful(i);
    if (!doubtful_[i]) LearnActivation(i);
  }
  AlignMovedBack();
  Result<std::vector<NodeId>> order = TopologicalOrder(g, g.main());
  if (!order.ok()) return;
  for (const NodeId n : *order) AlignNode(n);
  for (size_t i = values_.activations.size(); i-- > 0;) AlignBack(i);
}

void Alignment::LearnActivation(size_t i) {
  const QuantizedActivation& a = values_.activations[i];
  const ValueId v = float_.Find(matching_.activations[i].name);
  for (const std::string& name : a.restored) Learn(quantized_.Find(name), v);
  Learn(quantized_.Find(a.source), v);
}

// The integers have the name of a value that another operator makes than the one which makes what is quantized: tf2onnx
// names operators of TFLite so that became several ones, of which some may be behind the integers.
bool Alignment::IsDoubtful(size_t i) const {
  const QuantizedActivation& a = values_.activations[i];
  const Counterpart& c = matching_.activations[i];
  if (c.method != "name" || a.source == c.name || (a.q != c.name && a.quantizer != c.name))
    return false;
  const std::string mine = quantized_.OpOf(quantized_.Find(a.source));
  const std::string theirs = float_.OpOf(float_.Find(c.name));
  return !mine.empty() && !theirs.empty() && mine != theirs;
}

// What the float model makes next of `known` is what the quantized one makes of activation `i`.
bool Alignment::IsBefore(size_t i, ValueId known) const {
  const ValueId next = OnlyResult(float_, known);
  if (!next.valid() || known == float_.Find(matching_.activations[i].name)) return false;
  const Graph& f = float_.graph();
  return ReaderOps(quantized_, values_, values_.activations[i])
      .contains(f.op_name(f.op(f.producer(next))).text());
}

// What a node puts into the order of the float model's value, whose name it has, was in another order before.
void Alignment::AlignMovedBack() {
  for (size_t i = 0; i < values_.activations.size(); ++i) {
    const QuantizedActivation& a = values_.activations[i];
    Counterpart& c = matching_.activations[i];
    const ValueId known = float_.Find(c.name);
    if (c.name.empty() || c.name == a.source) continue;
    for (const std::string& name : a.restored) {
      const auto moved = std::find_if(
          values_.moved.begin(), values_.moved.end(),
          [&](const auto& m) { return m.second.source == name && float_.Find(m.first) == known; });
      if (moved == values_.moved.end()) continue;
      const std::optional<Order> order = MovedBack(moved->second.perm);
      if (!order) continue;
      c.order = *order;
      Learn(quantized_.Find(a.source), known, *order);
      for (const std::string& other : a.restored) Learn(quantized_.Find(other), known, *order);
    }
  }
}

// Names and operands told nothing of activation `i`: it is what it becomes by other axes or another type.
void Alignment::AlignBack(size_t i) {
  const Graph& g = quantized_.graph();
  for (const std::string& name : values_.activations[i].restored) {
    const ValueId v = quantized_.Find(name);
    if (!v.valid()) continue;
    for (const UseId use : g.uses(v)) {
      const NodeId n = g.user(use).node;
      if (g.user(use).is_output() || g.num_outputs(n) != 1 || !g.output(n, 0).valid()) continue;
      const ValueId result = g.output(n, 0);
      const std::string made = quantized_.Name(result);
      const auto is = [&](const std::map<std::string, std::string>& same) {
        const auto found = same.find(made);
        return found != same.end() && found->second == name;
      };
      if (is(values_.cast)) {
        const auto order = orders_.find(result);
        AlignBack(i, result, order == orders_.end() ? Order() : order->second);
      } else if (is(values_.reshaped) && !orders_.contains(result)) {
        AlignBack(i, result, {});
      }
    }
  }
}

void Alignment::AlignBack(size_t i, ValueId result, const Order& order) {
  const QuantizedActivation& a = values_.activations[i];
  Counterpart& c = matching_.activations[i];
  const ValueId known = known_[result.index];
  if (!c.name.empty() || !known.valid()) return;
  c = {float_.Name(known), "structure", order};
  Learn(quantized_.Find(a.source), known, order);
  for (const std::string& name : a.restored) Learn(quantized_.Find(name), known, order);
}

// By name, and by place where both models have as many.
void Alignment::AlignInputs() {
  const auto inputs = [](const NamedGraph& graph) {
    std::vector<ValueId> values;
    for (const ValueId v : graph.graph().inputs()) {
      if (graph.graph().constant(v) == nullptr) values.push_back(v);
    }
    return values;
  };
  const std::vector<ValueId> mine = inputs(quantized_), theirs = inputs(float_);
  for (size_t i = 0; i < mine.size(); ++i) {
    const ValueId same = float_.Find(quantized_.graph().name(mine[i]));
    if (float_.IsActivation(same)) {
      known_[mine[i].index] = same;
    } else if (mine.size() == theirs.size()) {
      known_[mine[i].index] = theirs[i];
    }
  }
  for (const ValueId v : mine) AlignQuantized(v);
}

void Alignment::Learn(ValueId v, ValueId counterpart, const Order& order) {
  if (!v.valid() || !counterpart.valid()) return;
  known_[v.index] = counterpart;
  if (!order.empty()) orders_[v] = order;
}

void Alignment::Forget(ValueId v) {
  if (v.valid()) known_[v.index] = {};
}

void Alignment::AlignQuantized(ValueId source) {
  const auto found = activations_of_.find(source);
  if (found == activations_of_.end() || !known_[source.index].valid()) return;
  for (const size_t i : found->second) AlignQuantized(source, i);
}

void Alignment::AlignQuantized(ValueId source, size_t i) {
  const QuantizedActivation& a = values_.activations[i];
  Counterpart& c = matching_.activations[i];
  if (doubtful_[i] && IsBefore(i, known_[source.index])) {
    c = {};
    for (const std::string& name : {a.q, a.quantizer}) Forget(quantized_.Find(name));
  }
  if (c.name.empty()) {
    const bool is_made =
        quantized_.graph().producer(source).valid() && !values_.moved.contains(a.source);
    const ValueId v = known_[source.index];
    c = {float_.Name(is_made ? BehindAbsorbed(float_, float_products_, v, quantized_,
                                              quantized_products_, values_, a)
                             : v),
         "structure"};
  }
  if (const auto order = orders_.find(source); order != orders_.end()) c.order = order->second;
  for (const std::string& name : a.restored)
    Learn(quantized_.Find(name), float_.Find(c.name), c.order);
}

void Alignment::AlignNode(NodeId n) {
  const Graph& g = quantized_.graph();
  const bool is_known = AlignSum(n) || AlignScaledProduct(n);
  const NodeId counterpart = is_known ? NodeId() : CounterpartOf(n);
  if (is_known || AlignProduct(n, counterpart)) {
    // and what it is quantized to
  } else if (counterpart.valid()) {
    taken_[counterpart.index] = true;
    if (AlignUnfolded(n, counterpart)) return;
    AlignWeights(n, counterpart);
    for (size_t i = 0; i < std::min(g.num_outputs(n), float_.graph().num_outputs(counterpart));
         ++i) {
      const ValueId v = g.output(n, i);
      if (!v.valid()) continue;
      const ValueId known = known_[v.index];
      if (IsOtherProduct(n, counterpart)) continue;
      Learn(v, known.valid() ? known : float_.graph().output(counterpart, i), OrderFor(n, v));
    }
  } else {
    AlignMoved(n);
    AlignSame(n);
    AlignScaled(n);
  }
  for (size_t i = 0; i < g.num_outputs(n); ++i) {
    if (g.output(n, i).valid()) AlignQuantized(g.output(n, i));
  }
  for (size_t i = 0; i < g.num_outputs(n); ++i) {  // nothing told more than the name
    const auto found = activations_of_.find(g.output(n, i));
    if (found == activations_of_.end() || known_[g.output(n, i).index].valid()) continue;
    for (const size_t k : found->second) {
      if (doubtful_[k]) LearnActivation(k);
    }
  }
}

// What the float operator makes is what the quantized model makes behind nodes that are folded into the float one; what
// its own operator makes, of other weights, is in no float model.
bool Alignment::AlignUnfolded(NodeId n, NodeId counterpart) {
  const Graph& g = quantized_.graph();
  const Graph& f = float_.graph();
  if (g.num_outputs(n) != 1 || f.num_outputs(counterpart) != 1 || !g.output(n, 0).valid())
    return false;
  const ValueId theirs = f.output(counterpart, 0);
  std::vector<ValueId> way = UnfoldedBehind(quantized_, values_, activations_of_, g.output(n, 0),
                                            ReaderOps(float_, theirs));
  const ValueId last = way.back();
  way.pop_back();
  if (way.empty() || (known_[last.index].valid() && known_[last.index] != theirs)) return false;
  if (!HasOtherWeights(n, counterpart)) return false;
  const auto is_mapped = [&](size_t i) { return matching_.activations[i].method == "map"; };
  for (const ValueId v : way) {
    if (std::ranges::any_of(activations_of_[v], is_mapped)) return false;
  }
  for (const ValueId v : way) {
    for (const size_t i : activations_of_[v]) {
      matching_.activations[i] = {};
      for (const std::string& name : values_.activations[i].restored) Forget(quantized_.Find(name));
    }
    Forget(v);
  }
  Learn(last, theirs);
  return true;
}

void Alignment::AlignMoved(NodeId n) {
  const Graph& g = quantized_.graph();
  const ValueId v = g.num_outputs(n) == 1 ? g.output(n, 0) : ValueId();
  const auto moved = v.valid() ? values_.moved.find(quantized_.Name(v)) : values_.moved.end();
  if (moved == values_.moved.end()) return;
  const ValueId source = quantized_.Find(moved->second.source);
  if (!source.valid() || !known_[source.index].valid()) return;
  if (known_[v.index].valid() && known_[v.index] != known_[source.index]) return;
  const auto order = orders_.find(source);
  const std::vector<int64_t>& perm = moved->second.perm;
  const bool fits = order != orders_.end() && order->second.size() == perm.size();
  const std::optional<Order> now = Moved(fits ? order->second : Order(), perm);
  if (now) Learn(v, known_[source.index], *now);
}

// The float model has no such node: what it casts or reshapes is the same value.
void Alignment::AlignSame(NodeId n) {
  const Graph& g = quantized_.graph();
  const ValueId v = g.num_outputs(n) == 1 ? g.output(n, 0) : ValueId();
  if (!v.valid() || known_[v.index].valid()) return;
  const auto learn = [&](const std::map<std::string, std::string>& same, bool in_order) {
    const auto found = same.find(quantized_.Name(v));
    const ValueId source = found == same.end() ? ValueId() : quantized_.Find(found->second);
    if (!source.valid() || (!in_order && orders_.contains(source))) return;
    Learn(v, known_[source.index], in_order ? OrderFor(n, v) : Order());
    if (const auto open = open_.find(source); open != open_.end()) Open(v, open->second);
  };
  learn(values_.cast, true);
  learn(values_.reshaped, false);
}

// What is computed of values in some order is taken to be in that order, too, if it may have as many axes.
Order Alignment::OrderFor(NodeId n, ValueId result) const {
  const Graph& g = quantized_.graph();
  for (size_t i = 0; i < g.num_inputs(n); ++i) {
    const auto order = g.input(n, i).valid() ? orders_.find(g.input(n, i)) : orders_.end();
    if (order == orders_.end()) continue;
    const TypeInfo& type = g.declared(result);
    return !type.has_rank || type.dims.size() == order->second.size() ? order->second : Order();
  }
  return {};
}

size_t Alignment::Readers::Free(size_t k) {
  size_t end = k;
  while (end < next.size() && next[end] != end) end = next[end];
  while (k < end) k = std::exchange(next[k], static_cast<uint32_t>(end));
  return end;
}

std::vector<NodeId> Alignment::FreeReaders(ValueId v, size_t i, NodeId n, size_t most) {
  const Graph& f = float_.graph();
  const auto [it, added] = readers_.try_emplace(v);
  Readers& readers = it->second;
  if (added) {
    for (const UseId use : f.uses(v)) {
      if (!f.user(use).is_output()) readers.users.push_back(f.user(use));
    }
    readers.next.resize(readers.users.size());
    std::iota(readers.next.begin(), readers.next.end(), 0);
  }
  std::vector<NodeId> free;
  size_t seen = 0;
  for (size_t k = readers.Free(0); k < readers.users.size() && seen < most;
       k = readers.Free(k + 1)) {
    const User& user = readers.users[k];
    if (taken_[user.node.index]) {
      readers.next[k] = static_cast<uint32_t>(k + 1);
      continue;
    }
    ++seen;
    if (user.index == i && Fits(n, user.node)) free.push_back(user.node);
  }
  return free;
}

// Among nodes that fit: one of the same name, then the one with the nearest weights, then one with the same
// attributes and other constants, then the first.
NodeId Alignment::CounterpartOf(NodeId n) {
  constexpr size_t kMostCompared = 256;
  const Graph& g = quantized_.graph();
  const Graph& f = float_.graph();
  std::vector<NodeId> candidates;
  for (size_t i = 0; i < g.num_inputs(n); ++i) {
    const ValueId input = g.input(n, i);
    if (!input.valid() || !known_[input.index].valid()) continue;
    const ValueId known = known_[input.index];
    if (const auto same = named_.find(g.name(n)); same != named_.end()) {
      const NodeId m = same->second;
      if (i < f.num_inputs(m) && f.input(m, i) == known && Fits(n, m)) return m;
    }
    candidates = FreeReaders(known, i, n, kMostCompared);
    break;
  }
  if (candidates.size() == 1) return candidates.front();
  NodeId best;
  std::pair<double, bool> least;
  for (const NodeId candidate : candidates) {
    const std::pair distance(Distance(n, candidate), !IsAlike(n, candidate));
    if (!best.valid() || distance < least) best = candidate, least = distance;
  }
  return best;
}

bool Alignment::Fits(NodeId n, NodeId candidate) const {
  const Graph& g = quantized_.graph();
  const Graph& f = float_.graph();
  if (taken_[candidate.index] || g.op_name(g.op(n)) != f.op_name(f.op(candidate))) return false;
  if (HasOtherFactor(n, candidate)) return false;
  for (size_t i = 0; i < g.num_inputs(n); ++i) {
    const ValueId mine = g.input(n, i);
    if (!mine.valid() || !known_[mine.index].valid()) continue;
    if (i >= f.num_inputs(candidate) || f.input(candidate, i) != known_[mine.index]) return false;
  }
  return true;
}

double Alignment::Distance(NodeId n, NodeId candidate) const {
  const Graph& g = quantized_.graph();
  const Graph& f = float_.graph();
  double distance = 0;
  for (size_t i = 0; i < std::min(g.num_inputs(n), f.num_inputs(candidate)); ++i) {
    const ValueId mine = g.input(n, i);
    const ValueId theirs = f.input(candidate, i);
    const Tensor* tensor = theirs.valid() ? f.constant(theirs) : nullptr;
    if (!mine.valid() || weight_of_[mine.index] == 0 || tensor == nullptr) continue;
    const QuantizedWeight& w = values_.weights[weight_of_[mine.index] - 1];
    const Result<Tensor> turned =
        w.turned.empty() ? Result<Tensor>(*tensor) : InShapeOf(w, *tensor);
    if (!turned.ok() || w.integers.dims() != turned->dims()) return INFINITY;
    const Result<std::vector<double>> a = Dequantize(w.integers, w.scheme);
    const Result<std::vector<double>> b = ToDoubles(*turned);
    if (!a.ok() || !b.ok()) continue;
    distance += NoiseShare(*b, *a);
  }
  return distance;
}

bool Alignment::IsAlike(NodeId n, NodeId candidate) const {
  const Graph& g = quantized_.graph();
  const Graph& f = float_.graph();
  if (g.attributes(n) != f.attributes(candidate)) return false;
  for (size_t i = 0; i < std::min(g.num_inputs(n), f.num_inputs(candidate)); ++i) {
    const ValueId mine = g.input(n, i);
    const ValueId theirs = f.input(candidate, i);
    if (!mine.valid() || !theirs.valid() || weight_of_[mine.index] != 0) continue;
    const Tensor* a = g.constant(mine);
    const Tensor* b = f.constant(theirs);
    if (a == nullptr || b == nullptr || a->dtype() != b->dtype()) continue;
    const Result<bool> same = BytesEqual(*a, *b);
    if (same.ok() && !*same) return false;
  }
  return true;
}

void Alignment::AlignWeights(NodeId n, NodeId counterpart) {
  const Graph& g = quantized_.graph();
  const Graph& f = float_.graph();
  for (size_t i = 0; i < std::min(g.num_inputs(n), f.num_inputs(counterpart)); ++i)
    AlignWeight(g.input(n, i), f.input(counterpart, i));
}

}  // namespace qrewrite
