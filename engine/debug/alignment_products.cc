// Alignment of products: whose addend one model has in them and the other one behind them (what a product alone makes stands
// for no value of the other model, the sum does), and whose operand the quantized model alone multiplies by constants.
#include <algorithm>
#include <cmath>
#include <utility>

#include "engine/debug/alignment.h"
#include "engine/debug/folded_weights.h"
#include "engine/evaluate/decibels.h"

namespace qrewrite {
namespace {

// NoiseShare(): numbers further apart are no rounded ones.
constexpr double kFar = 0.25;

template <class Map>
const typename Map::mapped_type* Find(const Map& map, const typename Map::key_type& key) {
  const auto found = map.find(key);
  return found == map.end() ? nullptr : &found->second;
}

ValueId ResultOf(const Graph& g, NodeId n) {
  return n.valid() && g.num_outputs(n) == 1 ? g.output(n, 0) : ValueId();
}

}  // namespace

// How far what `mine` of the quantized model holds is from `theirs`. INFINITY: they are not the same, or nobody knows.
double Alignment::Apart(ValueId mine, ValueId theirs) const {
  if (!mine.valid() || !theirs.valid()) return INFINITY;
  const Graph& f = float_.graph();
  const Tensor* const lazy = f.constant(theirs);
  if (lazy == nullptr) return known_[mine.index] == theirs ? 0 : INFINITY;
  const Result<Tensor> tensor = lazy->Materialize();
  if (!tensor.ok()) return INFINITY;
  if (const size_t at = weight_of_[mine.index]; at != 0) {
    return ApartFrom(at - 1, *tensor);
  }
  const std::string* const before = Find(quantized_products_.same_numbers, quantized_.Name(mine));
  if (before != nullptr) return Apart(quantized_.Find(*before), theirs);
  const Tensor* const constant = quantized_.graph().constant(mine);
  if (constant == nullptr) return INFINITY;
  const Result<Tensor> held = constant->Materialize();
  if (!held.ok()) return INFINITY;
  const Result<std::vector<double>> wanted = ToDoubles(*tensor), got = ToDoubles(*held);
  return wanted.ok() && got.ok() ? NoiseShare(*wanted, *got) : INFINITY;
}

// Likewise of the weight `i` and a float one.
double Alignment::ApartFrom(size_t i, const Tensor& theirs) const {
  const QuantizedWeight& w = values_.weights[i];
  const Result<Tensor> turned = InShapeOf(w, theirs);
  const Result<std::vector<double>> got = Dequantize(w.integers, w.scheme);
  if (!turned.ok() || !got.ok()) return INFINITY;
  const Result<std::vector<double>> wanted = ToDoubles(*turned);
  return wanted.ok() ? NoiseShare(*wanted, *got) : INFINITY;
}

// A bias of zeros is none.
bool Alignment::HasAddend(const NamedGraph& graph, const Product& product) const {
  const ValueId v = graph.Find(product.addend);
  if (product.addend.empty() || !v.valid()) return false;
  const Tensor* tensor = graph.graph().constant(v);
  if (&graph == &quantized_ && weight_of_[v.index] != 0)
    tensor = &values_.weights[weight_of_[v.index] - 1].integers;
  if (tensor == nullptr) return true;
  const Result<Tensor> whole = tensor->Materialize();
  const Result<std::vector<double>> numbers =
      whole.ok() ? ToDoubles(*whole) : Result<std::vector<double>>(whole.status());
  return !numbers.ok() || std::ranges::any_of(*numbers, [](double x) { return x != 0; });
}

// The sum of the float model that adds to `product` what `addend` stands for; and how far that is.
std::pair<ValueId, double> Alignment::SumBehind(ValueId product, ValueId addend,
                                                ValueId& other) const {
  const Graph& f = float_.graph();
  std::pair<ValueId, double> best(ValueId(), kFar);
  for (const UseId use : f.uses(product)) {
    const User user = f.user(use);
    const ValueId made = user.is_output() ? ValueId() : ResultOf(f, user.node);
    if (!made.valid() || taken_[user.node.index]) continue;
    const auto* const sum = Find(float_products_.sums, float_.Name(made));
    if (sum == nullptr) continue;
    const ValueId a = float_.Find(sum->first), b = float_.Find(sum->second);
    const ValueId added = a == product ? b : a;
    const double apart = Apart(addend, added);
    if (apart < best.second) best = {made, apart}, other = added;
  }
  return best;
}

bool Alignment::AlignProduct(NodeId n, NodeId counterpart) {
  constexpr size_t kMostCompared = 256;
  const Graph& f = float_.graph();
  const ValueId y = ResultOf(quantized_.graph(), n);
  const Product* const mine =
      y.valid() ? Find(quantized_products_.products, quantized_.Name(y)) : nullptr;
  const ValueId x = mine == nullptr ? ValueId() : quantized_.Find(mine->x);
  if (!x.valid() || !known_[x.index].valid()) return false;
  const ValueId w = quantized_.Find(mine->w), addend = quantized_.Find(mine->addend);
  const bool adds = HasAddend(quantized_, *mine);
  const ValueId same = ResultOf(f, counterpart);
  const Product* const theirs =
      same.valid() ? Find(float_products_.products, float_.Name(same)) : nullptr;
  if (theirs != nullptr && HasAddend(float_, *theirs) == adds &&
      Apart(w, float_.Find(theirs->w)) < kFar)
    return false;
  struct Best {
    const Product* product = nullptr;
    ValueId result, sum, added;
    double apart = kFar;
  } best;
  size_t seen = 0;
  for (const UseId use : f.uses(known_[x.index])) {
    if (++seen > kMostCompared) break;
    const ValueId result = f.user(use).is_output() ? ValueId() : ResultOf(f, f.user(use).node);
    if (!result.valid() || taken_[f.user(use).node.index]) continue;
    const Product* const other = Find(float_products_.products, float_.Name(result));
    if (other == nullptr || other->kind != mine->kind || float_.Find(other->x) != known_[x.index])
      continue;
    double apart = Apart(w, float_.Find(other->w));
    if (apart >= best.apart) continue;
    ValueId sum, added;
    if (HasAddend(float_, *other) == adds) {  // the same by another operator
      sum = result;
      added = float_.Find(other->addend);
      if (adds) apart = std::max(apart, Apart(addend, added));
    } else if (adds) {
      const auto [made, further] = SumBehind(result, addend, added);
      sum = made;
      apart = made.valid() ? std::max(apart, further) : INFINITY;
    }
    if (apart < best.apart) best = {other, result, sum, added, apart};
  }
  if (best.product == nullptr || known_[y.index].valid()) return false;
  AlignWeight(w, float_.Find(best.product->w));
  if (!best.sum.valid()) {
    Open(y, best.result);
    return true;
  }
  AlignWeight(addend, best.added);
  for (const ValueId v : {best.result, best.sum}) taken_[f.producer(v).index] = true;
  Learn(y, best.sum, OrderFor(n, y));
  return true;
}

// Of a product with an addend and one without, the values differ.
bool Alignment::IsOtherProduct(NodeId n, NodeId counterpart) const {
  const ValueId y = ResultOf(quantized_.graph(), n);
  const ValueId same = ResultOf(float_.graph(), counterpart);
  if (!y.valid() || !same.valid() || known_[y.index].valid()) return false;
  const Product* const mine = Find(quantized_products_.products, quantized_.Name(y));
  const Product* const theirs = Find(float_products_.products, float_.Name(same));
  return mine != nullptr && theirs != nullptr &&
         HasAddend(quantized_, *mine) != HasAddend(float_, *theirs);
}

// `v` stands for what the float product `result` has without its addend.
void Alignment::Open(ValueId v, ValueId result) {
  open_[v] = result;
  const auto activations = activations_of_.find(v);
  if (activations == activations_of_.end()) return;
  for (const size_t i : activations->second) {
    for (const std::string& name : values_.activations[i].restored) {
      if (const ValueId restored = quantized_.Find(name); restored.valid())
        open_[restored] = result;
    }
  }
}

bool Alignment::AlignSum(NodeId n) {
  const ValueId y = ResultOf(quantized_.graph(), n);
  const auto* const sum = y.valid() ? Find(quantized_products_.sums, quantized_.Name(y)) : nullptr;
  if (sum == nullptr) return false;
  const ValueId a = quantized_.Find(sum->first), b = quantized_.Find(sum->second);
  bool is_open = false;
  for (const auto& [product, addend] : {std::pair(a, b), std::pair(b, a)}) {
    const auto open = open_.find(product);
    if (open == open_.end()) continue;
    is_open = true;
    const ValueId result = open->second;
    const ValueId theirs = float_.Find(float_products_.products.at(float_.Name(result)).addend);
    if (Apart(addend, theirs) >= kFar) continue;
    AlignWeight(addend, theirs);
    taken_[float_.graph().producer(result).index] = true;
    Learn(y, known_[y.index].valid() ? known_[y.index] : result, OrderFor(n, product));
    return true;
  }
  return is_open;
}

// Something may be folded into weights of the float model. It is not where they are what was quantized: what is behind
// the product then belongs to what reads it.
bool Alignment::HasOtherWeights(NodeId n, NodeId counterpart) const {
  constexpr double kSame = 0.03;
  const ValueId y = ResultOf(quantized_.graph(), n), same = ResultOf(float_.graph(), counterpart);
  const Product* const mine =
      y.valid() ? Find(quantized_products_.products, quantized_.Name(y)) : nullptr;
  const Product* const theirs =
      same.valid() ? Find(float_products_.products, float_.Name(same)) : nullptr;
  if (mine == nullptr || theirs == nullptr) return false;
  const bool adds = HasAddend(quantized_, *mine);
  if (adds != HasAddend(float_, *theirs)) return true;
  const auto apart = [&](const std::string& a, const std::string& b) {
    return Apart(quantized_.Find(a), float_.Find(b));
  };
  return apart(mine->w, theirs->w) > kSame || (adds && apart(mine->addend, theirs->addend) > kSame);
}

bool Alignment::HasOtherFactor(NodeId n, NodeId candidate) const {
  const ValueId y = ResultOf(quantized_.graph(), n), same = ResultOf(float_.graph(), candidate);
  if (!y.valid() || !same.valid()) return false;
  const ScaledValue* const mine = Find(quantized_products_.scaled, quantized_.Name(y));
  const ScaledValue* const theirs = Find(float_products_.scaled, float_.Name(same));
  if (mine == nullptr || theirs == nullptr) return false;
  const Result<std::vector<double>> a = ToDoubles(mine->factor), b = ToDoubles(theirs->factor);
  return a.ok() && b.ok() && NoiseShare(*b, *a) >= kFar;
}

// The value is the float one times constants: nothing of the float model is that, but all is known.
void Alignment::AlignScaled(NodeId n) {
  const ValueId y = ResultOf(quantized_.graph(), n);
  const ScaledValue* const scaled =
      y.valid() ? Find(quantized_products_.scaled, quantized_.Name(y)) : nullptr;
  const ValueId x = scaled == nullptr ? ValueId() : quantized_.Find(scaled->x);
  if (!x.valid() || !known_[x.index].valid() || known_[y.index].valid() || orders_.contains(x) ||
      !scaled->factor.valid())
    return;
  scaled_[y] = scaled;
  for (const size_t i : activations_of_[y]) {
    Counterpart& c = matching_.activations[i];
    if (!c.name.empty()) continue;
    c = {.name = float_.Name(known_[x.index]), .method = "structure", .factor = scaled->factor};
    for (const std::string& name : values_.activations[i].restored) {
      if (const ValueId v = quantized_.Find(name); v.valid()) scaled_[v] = scaled;
    }
  }
}

// A product whose operand is scaled is the float one if its weight is that one's divided by the same.
bool Alignment::AlignScaledProduct(NodeId n) {
  const Graph& f = float_.graph();
  const ValueId y = ResultOf(quantized_.graph(), n);
  const Product* const mine =
      y.valid() ? Find(quantized_products_.products, quantized_.Name(y)) : nullptr;
  const ValueId x = mine == nullptr ? ValueId() : quantized_.Find(mine->x);
  const auto scaled = x.valid() ? scaled_.find(x) : scaled_.end();
  const ValueId w = mine == nullptr ? ValueId() : quantized_.Find(mine->w);
  if (scaled == scaled_.end() || !w.valid() || weight_of_[w.index] == 0) return false;
  const size_t at = weight_of_[w.index] - 1;
  const ValueId known = known_[quantized_.Find(scaled->second->x).index];
  const ValueId addend = quantized_.Find(mine->addend);
  for (const UseId use : f.uses(known)) {
    const ValueId result = f.user(use).is_output() ? ValueId() : ResultOf(f, f.user(use).node);
    if (!result.valid() || taken_[f.user(use).node.index]) continue;
    const Product* const theirs = Find(float_products_.products, float_.Name(result));
    if (theirs == nullptr || theirs->kind != mine->kind || float_.Find(theirs->x) != known)
      continue;
    const bool adds = HasAddend(float_, *theirs);
    const ValueId weight = float_.Find(theirs->w);
    const Tensor* const constant = f.constant(weight);
    if (constant == nullptr || adds != HasAddend(quantized_, *mine) ||
        (adds && Apart(addend, float_.Find(theirs->addend)) >= kFar))
      continue;
    const std::optional<Tensor> divided =
        Divided(values_.weights[at], *constant, scaled->second->factor);
    if (!divided || ApartFrom(at, *divided) >= kFar) continue;
    AlignWeight(w, weight);
    AlignWeight(addend, float_.Find(theirs->addend));
    Counterpart& c = matching_.weights[at];
    if (c.name == float_.Name(weight)) c.factor = scaled->second->factor;
    taken_[f.user(use).node.index] = true;
    Learn(y, known_[y.index].valid() ? known_[y.index] : result);
    return true;
  }
  return false;
}

void Alignment::AlignWeight(ValueId mine, ValueId theirs) {
  if (!mine.valid() || weight_of_[mine.index] == 0) return;
  Counterpart& c = matching_.weights[weight_of_[mine.index] - 1];
  if (c.name.empty() && theirs.valid() && !float_.graph().IsInput(theirs)) {
    c = {float_.Name(theirs), "structure"};
  }
}

}  // namespace qrewrite
