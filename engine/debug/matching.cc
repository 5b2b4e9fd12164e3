#include "engine/debug/matching.h"

#include <algorithm>
#include <set>
#include <string_view>

#include <fmt/format.h>

#include "engine/debug/alignment.h"
#include "engine/debug/behind.h"

namespace qrewrite {
namespace {

// What onnxruntime.quantization and tools like it append, and nncf puts in front; a number counts pairs of
// one value.
constexpr std::string_view kSuffixes[] = {"_QuantizeLinear_Input",
                                          "_QuantizeLinear_Output",
                                          "_DequantizeLinear_Output",
                                          "_QuantizeLinear",
                                          "_quantized",
                                          "_dequantized",
                                          "_QuantizeInput",
                                          "_Transposed"};
constexpr std::string_view kPrefixes[] = {"q_output_", "dq_output_"};
// What the operators of QOperator models have behind the names of their nodes.
constexpr std::string_view kNodeSuffixes[] = {"_quant", "_quantized"};

std::string_view WithoutNumber(std::string_view name) {
  const size_t underscore = name.find_last_of('_');
  if (underscore == std::string_view::npos || underscore + 1 == name.size()) return name;
  const std::string_view digits = name.substr(underscore + 1);
  return digits.find_first_not_of("0123456789") == std::string_view::npos
             ? name.substr(0, underscore)
             : name;
}

// neural-compressor has the operator behind what operators that only move integers make:
// x_QuantizeInput_quantized_Reshape. Without `_QuantizeInput` such names are also those of values of qdq_form.
std::string_view WithoutOperator(std::string_view name) {
  constexpr std::string_view kMark = "_QuantizeInput_quantized_";
  const size_t at = name.rfind(kMark);
  if (at == std::string_view::npos || at == 0) return name;
  const bool plain = name.substr(at + kMark.size()).find_first_of("_./:") == std::string_view::npos;
  return plain ? name.substr(0, at) : name;
}

class Matcher {
 public:
  Matcher(const NamedGraph& float_graph, const NamedGraph& quantized, const QuantizedValues& values,
          const Absorbable& absorbable, const Products& float_products,
          const Products& quantized_products)
      : float_(float_graph),
        quantized_(quantized),
        values_(values),
        absorbable_(absorbable),
        float_products_(float_products),
        quantized_products_(quantized_products) {
    for (const auto& [output, op] : absorbable) absorbed_ops_.insert(op);
    for (const QuantizedActivation& a : values.activations)
      restored_.insert(a.restored.begin(), a.restored.end());
    for (const QuantizedWeight& w : values.weights) {
      weights_.insert(w.restored);
      if (!w.turned.empty()) weights_.insert(w.turned);
    }
    result_.activations.resize(values.activations.size());
    result_.weights.resize(values.weights.size());
  }

  Result<Matching> Run(const std::map<std::string, std::string>& map) {
    for (const auto& [wanted, name] : map) QR_RETURN_IF_ERROR(Say(wanted, name));
    for (size_t i = 0; i < values_.activations.size(); ++i) MatchActivation(i);
    for (size_t i = 0; i < values_.weights.size(); ++i) MatchWeight(i);
    Alignment(float_, quantized_, values_, float_products_, quantized_products_, result_).Run();
    return std::move(result_);
  }

 private:
  static std::vector<std::string> NamesOf(const QuantizedActivation& a) {
    std::vector<std::string> names{a.source};
    names.insert(names.end(), a.restored.begin(), a.restored.end());
    names.push_back(a.q);
    names.push_back(a.quantizer);
    return names;
  }
  static std::vector<std::string> NamesOf(const QuantizedWeight& w) {
    if (w.source.empty()) return {w.restored, w.q};
    return {w.source, w.restored, w.q};
  }

  // What the user says holds for whatever has that name.
  Status Say(const std::string& wanted, const std::string& name) {
    if (!float_.Has(wanted)) {
      return {StatusCode::kUsage, fmt::format("the float model has no value `{}`", wanted)};
    }
    bool found = false;
    const auto set = [&](const auto& values, std::vector<Counterpart>& counterparts) {
      for (size_t i = 0; i < values.size(); ++i) {
        const std::vector<std::string> names = NamesOf(values[i]);
        if (std::find(names.begin(), names.end(), name) == names.end()) continue;
        counterparts[i] = {wanted, "map"};
        found = true;
      }
    };
    set(values_.activations, result_.activations);
    set(values_.weights, result_.weights);
    if (found) return {};
    return {StatusCode::kUsage,
            fmt::format("the quantized model has no quantized value `{}`", name)};
  }

  void MatchActivation(size_t i) {
    Counterpart& c = result_.activations[i];
    const QuantizedActivation& a = values_.activations[i];
    if (!c.name.empty()) return;
    const auto is_activation = [&](const std::string& name) { return float_.IsActivation(name); };
    if (ByNames(NamesOf(a), is_activation, c)) {
      c.name = AbsorbedByName(c.name, a);
      const ValueId v = BehindSameOps(float_.Find(c.name), quantized_.Find(a.source));
      c.name = float_.Name(BehindRelu(v, a));
      return;
    }
    const ValueId source = quantized_.Find(a.source);
    const std::string node = quantized_.NodeName(source);
    const std::string op = quantized_.OpOf(source);
    if (node.empty()) return;
    for (const ValueId v : OfNodesNamed(node, quantized_.OutputIndex(source))) {
      if (float_.OpOf(v) != op) continue;
      c = {float_.Name(BehindAbsorbed(float_, float_products_, v, quantized_, quantized_products_,
                                      values_, a)),
           "node"};
      return;
    }
  }

  // Of several quantizers of one value one may stand for a Relu or Clip of it: its integers have that one's name.
  std::string AbsorbedByName(const std::string& name, const QuantizedActivation& a) const {
    for (const std::string& integers : NamesOf(a)) {
      const std::string bare = WithoutSuffix(integers);
      if (bare == name || !absorbable_.contains(bare)) continue;
      const NodeId n = float_.graph().producer(float_.Find(bare));
      const ValueId input = float_.graph().input(n, 0);
      if (input.valid() && float_.Name(input) == name) return bare;
    }
    return name;
  }

  // A producer that fuses operators has one name for them: in the float model the first one has it, whose result
  // others read, while the quantizer reads what the last one makes. They are the operators that lie between.
  ValueId BehindSameOps(ValueId v, ValueId source) const {
    constexpr size_t kMostOps = 8;
    const std::string first = float_.OpOf(v);
    if (first.empty() || (source.valid() && quantized_.Name(source) == float_.Name(v))) return v;
    std::vector<std::string> ops;  // from `source` up
    for (ValueId at = source;; at = OnlyOperand(at)) {
      const std::string op = at.valid() ? quantized_.OpOf(at) : "";
      if (op.empty() || restored_.contains(quantized_.Name(at)) || ops.size() > kMostOps) return v;
      if (op == first) break;
      ops.push_back(op);
    }
    ValueId next = v;
    for (; !ops.empty(); ops.pop_back()) {
      next = OnlyResultOf(next, ops.back());
      if (!next.valid()) return v;
    }
    return next;
  }

  // What the producer of `v` reads besides constants and weights, if that is one value.
  ValueId OnlyOperand(ValueId v) const {
    const Graph& g = quantized_.graph();
    const NodeId n = g.producer(v);
    ValueId operand;
    for (size_t i = 0; n.valid() && i < g.num_inputs(n); ++i) {
      const ValueId input = g.input(n, i);
      if (!input.valid() || !quantized_.IsActivation(input)) continue;
      if (weights_.contains(quantized_.Name(input))) continue;
      if (operand.valid() && operand != input) return {};
      operand = input;
    }
    return operand;
  }

  // The result of the one reader of `v` in the float model with that operator.
  ValueId OnlyResultOf(ValueId v, const std::string& op) const {
    const Graph& g = float_.graph();
    ValueId result;
    for (const UseId use : g.uses(v)) {
      const User user = g.user(use);
      if (user.is_output() || g.num_outputs(user.node) != 1) continue;
      const ValueId made = g.output(user.node, 0);
      if (!made.valid() || float_.OpOf(made) != op) continue;
      if (result.valid()) return {};
      result = made;
    }
    return result;
  }

  // Quantized operators keep the name of the float one also where their quantizer stands for the Relu or
  // Clip behind it: no integer is below 0, and nothing clips any more.
  ValueId BehindRelu(ValueId v, const QuantizedActivation& a) const {
    const ValueId next = OnlyResult(float_, v);
    if (!next.valid() || !absorbable_.contains(float_.Name(next)) || !IsNonNegative(a)) return v;
    // Where a Relu is still there the quantizer stands for it, too, if nothing reads the value without it.
    for (const std::string& op : ReaderOps(quantized_, quantized_.Find(a.q))) {
      if (absorbed_ops_.contains(op)) return v;
    }
    bool rectified = false, as_it_is = false;
    for (const std::string& name : a.restored) {
      for (const std::string& op : ReaderOps(quantized_, quantized_.Find(name))) {
        (absorbed_ops_.contains(op) ? rectified : as_it_is) = true;
      }
    }
    if (rectified && as_it_is) return v;
    const std::string op = quantized_.OpOf(quantized_.Find(a.source));
    return absorbed_ops_.contains(op) || float_.OpOf(v) != op ? v : next;
  }

  static bool IsNonNegative(const QuantizedActivation& a) {
    if (!a.scheme.zero_point.valid() || !IsInteger(a.scheme.zero_point.dtype())) return false;
    const Result<std::vector<int64_t>> zeros = ToInt64s(a.scheme.zero_point);
    const int64_t least = IntMin(a.scheme.zero_point.dtype());
    return zeros.ok() &&
           std::all_of(zeros->begin(), zeros->end(), [&](int64_t z) { return z == least; });
  }

  void MatchWeight(size_t i) {
    Counterpart& c = result_.weights[i];
    if (!c.name.empty()) return;
    const auto is_constant = [&](const std::string& name) {
      return float_.Has(name) && !float_.graph().IsInput(float_.Find(name));
    };
    ByNames(NamesOf(values_.weights[i]), is_constant, c);
  }

  template <class Fits>
  static bool ByNames(const std::vector<std::string>& names, Fits fits, Counterpart& c) {
    for (const std::string& name : names) {
      if (!fits(name)) continue;
      c = {name, "name"};
      return true;
    }
    for (std::string name : names) {
      for (std::string bare = WithoutSuffix(name); bare != name; bare = WithoutSuffix(name)) {
        if (fits(bare)) {
          c = {bare, "suffix"};
          return true;
        }
        name = std::move(bare);
      }
    }
    return false;
  }

  // Output `index` of the float model's nodes of that name, or of the name without a node suffix.
  std::vector<ValueId> OfNodesNamed(const std::string& name, size_t index) const {
    std::set<std::string, std::less<>> names{name};
    for (const std::string_view suffix : kNodeSuffixes) {
      if (name.ends_with(suffix)) names.insert(name.substr(0, name.size() - suffix.size()));
    }
    const Graph& graph = float_.graph();
    std::vector<ValueId> found;
    for (const NodeId n : graph.body(graph.main()).nodes) {
      if (!graph.alive(n) || !names.contains(graph.name(n)) || graph.num_outputs(n) <= index)
        continue;
      if (graph.output(n, index).valid()) found.push_back(graph.output(n, index));
    }
    return found;
  }

  const NamedGraph& float_;
  const NamedGraph& quantized_;
  const QuantizedValues& values_;
  const Absorbable& absorbable_;
  const Products &float_products_, &quantized_products_;
  std::set<std::string> absorbed_ops_;
  std::set<std::string> restored_,
      weights_;  // of the quantized model: what is made real of integers
  Matching result_;
};

}  // namespace

std::string WithoutSuffix(const std::string& name) {
  const std::string_view numbered = WithoutNumber(name);
  for (const std::string_view prefix : kPrefixes) {
    if (numbered.size() > prefix.size() && numbered.starts_with(prefix)) {
      return std::string(numbered.substr(prefix.size()));
    }
  }
  if (const std::string_view bare = WithoutOperator(name); bare != name) return std::string(bare);
  for (const std::string_view candidate : {std::string_view(name), numbered}) {
    for (const std::string_view suffix : kSuffixes) {
      if (candidate.size() > suffix.size() && candidate.ends_with(suffix)) {
        return std::string(candidate.substr(0, candidate.size() - suffix.size()));
      }
    }
  }
  return name;
}

Result<Matching> MatchValues(const NamedGraph& float_graph, const NamedGraph& quantized,
                             const QuantizedValues& values, const Absorbable& absorbable,
                             const Products& float_products, const Products& quantized_products,
                             const std::map<std::string, std::string>& map) {
  return Matcher(float_graph, quantized, values, absorbable, float_products, quantized_products)
      .Run(map);
}

}  // namespace qrewrite
