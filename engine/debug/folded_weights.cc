#include "engine/debug/folded_weights.h"

#include <cmath>
#include <numeric>
#include <optional>
#include <utility>
#include <vector>

#include "engine/evaluate/decibels.h"
#include "qrewrite/rewrite.h"

namespace qrewrite {
namespace {

// A weight as an operator reads it, and the float value that the operator makes with all that was folded.
struct FoldedUse {
  size_t weight;
  size_t input;
  std::string op, result;
};

class Finder {
 public:
  Finder(const NamedGraph& float_graph, const NamedGraph& form, const QuantizedValues& values,
         const Absorbable& absorbable, const Matching& matching)
      : float_(float_graph), form_(form), values_(values), absorbable_(absorbable) {
    for (size_t i = 0; i < values.activations.size(); ++i) {
      references_[values.activations[i].source] = matching.activations[i].name;
    }
  }

  std::vector<FoldedUse> Run() const {
    std::vector<FoldedUse> uses;
    const Graph& g = form_.graph();
    for (size_t i = 0; i < values_.weights.size(); ++i) {
      const ValueId v = form_.Find(values_.weights[i].restored);
      if (!v.valid()) continue;
      for (const UseId use : g.uses(v)) {
        const User user = g.user(use);
        if (user.is_output() || g.num_outputs(user.node) == 0) continue;
        const ValueId result = g.output(user.node, 0);
        if (!result.valid()) continue;
        const std::string op = form_.OpOf(result);
        std::string behind = BehindFolded(Reference(result), op);
        if (!behind.empty()) uses.push_back({i, user.index, op, std::move(behind)});
      }
    }
    return uses;
  }

 private:
  // The float value that `v` of the quantized model stands for.
  ValueId Reference(ValueId v) const {
    const std::string name = form_.Name(v);
    const auto quantized = references_.find(name);
    return float_.Find(quantized == references_.end() ? name : quantized->second);
  }

  // The last value on the way from the float operator `op` to `v` that is not made by an activation which a
  // quantizer stands for; "": nothing is folded, or there is no such operator.
  std::string BehindFolded(ValueId v, const std::string& op) const {
    constexpr int kMostFolded = 8;
    const Graph& f = float_.graph();
    std::string behind;
    for (int step = 0; step < kMostFolded && v.valid() && f.producer(v).valid(); ++step) {
      if (float_.OpOf(v) == op) return behind;
      const NodeId n = f.producer(v);
      if (!absorbable_.contains(float_.Name(v)) && behind.empty()) behind = float_.Name(v);
      v = f.num_inputs(n) > 0 ? f.input(n, 0) : ValueId();
    }
    return "";
  }

  const NamedGraph& float_;
  const NamedGraph& form_;
  const QuantizedValues& values_;
  const Absorbable& absorbable_;
  std::map<std::string, std::string> references_;  // of what is quantized
};

// NoiseShare() of the weight; nullopt: another shape, or no numbers.
std::optional<double> Distance(const QuantizedWeight& w, const Tensor& reference) {
  if (w.integers.dims() != reference.dims()) return std::nullopt;
  const Result<std::vector<double>> a = Dequantize(w.integers, w.scheme);
  const Result<std::vector<double>> b = ToDoubles(reference);
  if (!a.ok() || !b.ok()) return std::nullopt;
  return NoiseShare(*b, *a);
}

// What `optimize` makes of the float weight, if it is nearer to the integers.
std::optional<Tensor> Nearer(const NamedGraph& folded, const FoldedUse& use,
                             const QuantizedWeight& w, const Tensor* now) {
  const ValueId result = folded.Find(use.result);
  if (!result.valid() || folded.OpOf(result) != use.op) return std::nullopt;
  const Graph& g = folded.graph();
  const NodeId n = g.producer(result);
  const ValueId v = use.input < g.num_inputs(n) ? g.input(n, use.input) : ValueId();
  const Tensor* const lazy = v.valid() ? g.constant(v) : nullptr;
  if (lazy == nullptr) return std::nullopt;
  Result<Tensor> weight = lazy->Materialize();
  if (!weight.ok()) return std::nullopt;
  const std::optional<double> distance = Distance(w, *weight);
  const std::optional<double> before = now == nullptr ? std::nullopt : Distance(w, *now);
  if (!distance || (before && *before <= *distance)) return std::nullopt;
  return *std::move(weight);
}

// Numbers of `weight` divided by those of `factor`, which lie along the axis.
std::optional<Tensor> DividedAlong(const Tensor& weight, size_t axis,
                                   const std::vector<double>& factor) {
  Result<std::vector<double>> numbers = ToDoubles(weight);
  if (!numbers.ok()) return std::nullopt;
  size_t inner = 1;
  for (size_t k = axis + 1; k < weight.dims().size(); ++k)
    inner *= static_cast<size_t>(weight.dims()[k]);
  for (size_t k = 0; k < numbers->size(); ++k) (*numbers)[k] /= factor[k / inner % factor.size()];
  Result<Tensor> divided = FromDoubles(DType::kDouble, weight.dims(), *numbers);
  if (!divided.ok()) return std::nullopt;
  return *std::move(divided);
}

std::optional<double> DistanceInShape(const QuantizedWeight& w, const Tensor& weight) {
  const Result<Tensor> turned = InShapeOf(w, weight);
  return turned.ok() ? Distance(w, *turned) : std::nullopt;
}

}  // namespace

std::optional<Tensor> Divided(const QuantizedWeight& w, const Tensor& weight,
                              const Tensor& factor) {
  const Result<Tensor> whole = weight.Materialize();
  const Result<std::vector<double>> factors = ToDoubles(factor);
  if (!whole.ok() || !factors.ok()) return std::nullopt;
  for (const double f : *factors) {
    if (f == 0 || !std::isfinite(f)) return std::nullopt;
  }
  std::optional<double> least = DistanceInShape(w, *whole);
  std::optional<Tensor> nearest;
  for (size_t axis = 0; axis < whole->dims().size(); ++axis) {
    if (factors->size() > 1 && whole->dims()[axis] != static_cast<int64_t>(factors->size()))
      continue;
    std::optional<Tensor> divided = DividedAlong(*whole, axis, *factors);
    const std::optional<double> distance = divided ? DistanceInShape(w, *divided) : std::nullopt;
    if (distance && (!least || *distance < *least)) least = distance, nearest = std::move(divided);
  }
  return nearest;
}

Result<FoldedWeights> FindFoldedWeights(const Model& original, const NamedGraph& float_graph,
                                        const NamedGraph& form, const QuantizedValues& values,
                                        const Absorbable& absorbable, const Matching& matching) {
  FoldedWeights weights;
  for (size_t i = 0; i < values.weights.size(); ++i) {
    const Counterpart& c = matching.weights[i];
    const ValueId v = float_graph.Find(c.name);
    const Tensor* const weight = v.valid() ? float_graph.graph().constant(v) : nullptr;
    if (!c.factor.valid() || weight == nullptr) continue;
    if (std::optional<Tensor> divided = Divided(values.weights[i], *weight, c.factor))
      weights[i] = *std::move(divided);
  }
  const std::vector<FoldedUse> uses = Finder(float_graph, form, values, absorbable, matching).Run();
  if (uses.empty()) return weights;
  QR_ASSIGN_OR_RETURN(const Rules rules, Rules::Load("optimize", {.tests = false}));
  QR_ASSIGN_OR_RETURN(Model model, original.Clone());
  if (!Rewrite(model, rules).ok()) return weights;  // a model that runs is measured nevertheless
  const NamedGraph folded(model);
  for (const FoldedUse& use : uses) {
    const ValueId now = float_graph.Find(matching.weights[use.weight].name);
    const Tensor* nearest = now.valid() ? float_graph.graph().constant(now) : nullptr;
    if (const auto found = weights.find(use.weight); found != weights.end())
      nearest = &found->second;  // of another reader
    std::optional<Tensor> weight = Nearer(folded, use, values.weights[use.weight], nearest);
    if (weight) weights[use.weight] = *std::move(weight);
  }
  return weights;
}

Result<Tensor> InShapeOf(const QuantizedWeight& w, const Tensor& weight) {
  const Dims& dims = w.integers.dims();
  const size_t rank = dims.size();
  if (rank < 2) return weight;
  Dims other = dims;
  std::swap(other[rank - 2], other[rank - 1]);
  const bool is_square = dims == other;
  if (weight.dims() != other || (is_square && rank > 2 && w.turned.empty())) return weight;
  Order order(rank);
  std::iota(order.begin(), order.end(), 0);
  std::swap(order[rank - 2], order[rank - 1]);
  QR_ASSIGN_OR_RETURN(const Tensor whole, weight.Materialize());
  QR_ASSIGN_OR_RETURN(Tensor turned, InOrder(whole, order));
  if (!is_square) return turned;
  const std::optional<double> as_it_is = Distance(w, whole), transposed = Distance(w, turned);
  return as_it_is && transposed && *transposed < *as_it_is ? turned : whole;
}

}  // namespace qrewrite
