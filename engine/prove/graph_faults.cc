#include "engine/prove/graph_faults.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "engine/base/diagnostics.h"
#include "engine/base/message.h"
#include "engine/graph/verify.h"
#include "engine/ops/node_signature.h"
#include "engine/ops/quantizer.h"
#include "engine/prove/run_model.h"
#include "engine/prove/stated_facts.h"
#include "engine/prove/variation.h"
#include "engine/rewrite/edit.h"
#include "engine/rule/check.h"

namespace qrewrite {
namespace {

constexpr int64_t kMostElements = 1 << 16;  // of a value: each graph runs on many samples
constexpr std::string_view kTooLarge = ": too large";
constexpr const char* kOddWindow = ": a window with numbers below 0";

// Whether floats are real numbers: data, what a dequantizer makes, or constants that integers of a type beside them do not
// become without getting a fraction or a sign. Those that other operators of a rule set make may be integers, held in floats.
bool AreNoIntegers(const Graph& graph, ValueId v, DType integers, const Signatures& signatures,
                   Facts& facts) {
  const Tensor* const tensor = graph.constant(v) != nullptr ? graph.constant(v) : facts.Constant(v);
  if (tensor == nullptr) {
    const NodeId n = graph.producer(v);
    return !n.valid() || RoleOf(graph, n, signatures) == QuantizerRole::kDequantizer;
  }
  const Result<std::vector<double>> values = ToDoubles(*tensor);
  return values.ok() && std::ranges::any_of(*values, [&](double number) {
           return number != std::rint(number) || (number < 0 && IntMin(integers) == 0);
         });
}

// Whether the types of the inputs are what the signature allows. "" or what is wrong.
// `any_type`: Court::any_type.
std::string TypeFault(const Graph& graph, NodeId n, const Signature& s, bool any_type,
                      const Signatures& signatures, Facts& facts) {
  const OpName& op = graph.op_name(graph.op(n));
  const auto count = static_cast<int>(graph.num_inputs(n));
  if (count < s.min_inputs || count > s.max_inputs) return op.text() + ": number of inputs";
  std::map<int, DType> bound;
  // Integers that count as floats, beside real numbers in an operator that takes both: what comes of it is neither.
  std::map<int, DType> small;
  std::vector<std::pair<int, ValueId>> wide;
  for (size_t i = 0; i < graph.num_inputs(n); ++i) {
    const FormalValue& formal = *FormalInput(s, i);
    const ValueId v = graph.input(n, i);
    if (!v.valid()) {
      if (formal.arity == Arity::kRequired) return op.text() + ": an input is missing";
      continue;
    }
    DType dtype = facts.dtype(v);
    if (dtype == DType::kUndefined || formal.type_var < 0) continue;
    const TypeVar& var = s.types[static_cast<size_t>(formal.type_var)];
    const bool is_small = dtype == DType::kInt8 || dtype == DType::kUint8;
    if (formal.homogeneous && is_small) small.emplace(formal.type_var, dtype);
    if (formal.homogeneous && dtype == DType::kFloat) wide.emplace_back(formal.type_var, v);
    if (any_type && is_small && var.Allows(DType::kFloat)) dtype = DType::kFloat;
    if (var.only_tensors && !var.Allows(dtype)) return op.text() + ": type of an input";
    if (!formal.homogeneous) continue;
    const auto [known, is_new] = bound.emplace(formal.type_var, dtype);
    if (!is_new && known->second != dtype) return op.text() + ": types of inputs differ";
  }
  const bool mixed = std::ranges::any_of(wide, [&](const auto& entry) {
    const auto beside = small.find(entry.first);
    return beside != small.end() &&
           AreNoIntegers(graph, entry.second, beside->second, signatures, facts);
  });
  return mixed ? op.text() + ": types of inputs differ" : "";
}

// Whether the inputs are as many as the signature has, and all there that have to be.
bool TakesInputsOf(const Graph& graph, NodeId n, const Signature& s) {
  const auto count = static_cast<int>(graph.num_inputs(n));
  if (count < s.min_inputs || count > s.max_inputs) return false;
  for (size_t i = 0; i < graph.num_inputs(n); ++i) {
    const FormalValue& formal = *FormalInput(s, i);
    if (!graph.input(n, i).valid() && formal.arity == Arity::kRequired) return false;
  }
  return true;
}

bool IsFinite(const Tensor& tensor) {
  if (!IsFloat(tensor.dtype())) return true;
  const Result<std::vector<double>> values = ToDoubles(tensor);
  return !values.ok() || std::ranges::all_of(*values, [](double v) { return std::isfinite(v); });
}

// What rules promise is said of finite numbers.
bool HasFiniteConstants(const Graph& graph) {
  for (size_t i = 0; i < graph.num_values(); ++i) {
    const Tensor* tensor = graph.alive(ValueId(i)) ? graph.constant(ValueId(i)) : nullptr;
    if (tensor != nullptr && !IsFinite(*tensor)) return false;
  }
  for (size_t i = 0; i < graph.num_nodes(); ++i) {
    if (!graph.alive(NodeId(i))) continue;
    for (const Attribute& a : graph.attributes(NodeId(i))) {
      const auto* const tensor = std::get_if<Tensor>(&a.value);
      if (tensor != nullptr && !IsFinite(*tensor)) return false;
    }
  }
  return true;
}

// Windows that slide have no pads below 0, which some runtimes take for a part to be cut off.
bool HasOddWindow(const Attributes& attributes, const Signature& s) {
  if (s.FindAttribute("strides") == nullptr) return false;
  const AttrValue* const pads = attributes.Find("pads");
  const auto* const list = pads == nullptr ? nullptr : std::get_if<std::vector<int64_t>>(pads);
  return list != nullptr && std::ranges::any_of(*list, [](int64_t v) { return v < 0; });
}

}  // namespace

bool HasManyConditions(const Graph& graph, NodeId n, const Signature& s, Facts& facts) {
  if (!graph.HasSubgraphs(n)) return false;
  for (size_t i = 0; i < std::min(graph.num_inputs(n), s.inputs.size()); ++i) {
    const FormalValue& formal = s.inputs[i];
    const ValueId v = graph.input(n, i);
    if (!v.valid() || formal.arity == Arity::kVariadic || formal.type_var < 0) continue;
    const TypeVar& var = s.types[static_cast<size_t>(formal.type_var)];
    if (!var.Allows(DType::kBool) || var.Allows(DType::kFloat)) continue;
    const std::vector<Dim>& dims = facts.Type(v).dims;
    if (std::ranges::any_of(dims, [](Dim d) { return d.known() && d.size() != 1; })) return true;
  }
  return false;
}

namespace {

std::string NodeFault(const Graph& graph, NodeId n, const Signatures& signatures, bool any_type,
                      Facts& facts) {
  const OpName& op = graph.op_name(graph.op(n));
  const Signature* s = SignatureOf(graph, n, signatures);
  if (s == nullptr) {
    const bool known = signatures.Has(op.domain, op.name);
    return known ? op.text() + ": not in this opset" : "";
  }
  // A form that was deprecated for a newer one is taken by runtimes that have both.
  const Signature* const newest = signatures.Newest(op.domain, op.name);
  if (s->deprecated && newest->deprecated) return op.text() + ": deprecated";
  if (static_cast<int>(graph.num_outputs(n)) > s->max_outputs) return op.text() + ": outputs";
  for (const Attribute& a : graph.attributes(n)) {
    const FormalAttribute* formal = s->FindAttribute(a.name);
    if (formal == nullptr || KindOf(a.value) != formal->kind)
      return fmt::format("{}: attribute `{}`", op.text(), a.name);
    const auto* const type = NamesType(a.name) ? std::get_if<int64_t>(&a.value) : nullptr;
    if (type != nullptr && (*type < 0 || *type >= kNumDTypes))
      return fmt::format("{}: `{}` names no element type", op.text(), a.name);
  }
  const Attributes& attributes = graph.attributes(n);
  const AttrValue* const rule_of_pads = attributes.Find("auto_pad");
  const auto* const how =
      rule_of_pads == nullptr ? nullptr : std::get_if<std::string>(rule_of_pads);
  if (how != nullptr && *how != "NOTSET" && attributes.Find("pads") != nullptr)
    return op.text() + ": both `pads` and `auto_pad`";
  if (HasOddWindow(attributes, *s)) return op.text() + kOddWindow;
  for (const FormalAttribute& formal : s->attributes) {
    if (formal.required && graph.attributes(n).Find(formal.name) == nullptr)
      return fmt::format("{}: attribute `{}` is missing", op.text(), formal.name);
  }
  if (std::string fault = TypeFault(graph, n, *s, any_type, signatures, facts); !fault.empty())
    return fault;
  if (facts.Contradicts(n)) return op.text() + ": shapes";
  if (HasManyConditions(graph, n, *s, facts)) return op.text() + ": a condition is no single one";
  for (size_t i = 0; i < graph.num_outputs(n); ++i) {
    const ValueId v = graph.output(n, i);
    if (!v.valid() || !facts.Type(v).known_shape()) continue;
    Dims dims;
    for (const Dim d : facts.Type(v).dims) dims.push_back(d.size());
    if (!CheckedCount(dims, kMostElements)) return op.text() + std::string(kTooLarge);
  }
  return "";
}

// A rule file that has a form of its own of one of ONNX's operators says of types what its rules need; runtimes have
// ONNX's. Where a node is of ONNX's form, its types are.
std::string OnnxTypeFault(const Graph& graph, NodeId n, bool any_type, const Signatures& signatures,
                          Facts& facts) {
  const Signature* const s = SignatureOf(graph, n, Signatures::Builtin());
  if (s == nullptr || !TakesInputsOf(graph, n, *s)) return "";
  return TypeFault(graph, n, *s, any_type, signatures, facts);
}

// Whether an operator of the rule set's own reads what no test of it has: integers as a scale.
bool HasOtherOperands(const Graph& graph, NodeId n, const OwnOperands& known, Facts& facts) {
  const OpName& op = graph.op_name(graph.op(n));
  for (size_t i = 0; i < graph.num_inputs(n); ++i) {
    const ValueId v = graph.input(n, i);
    if (v.valid() && !known.Have(op, i, facts.dtype(v))) return true;
  }
  return false;
}

// What is wrong with a node. "": nothing. `as_given`: types are those of ONNX, too, where the rule file has a form of its
// own of an operator; results may have that.
std::string FaultOf(const Court& court, const Graph& graph, bool any_type, bool as_given) {
  const Signatures& signatures = court.signatures();
  StatedFacts facts(graph, court);
  for (size_t i = 0; i < graph.num_nodes(); ++i) {
    const NodeId n(i);
    if (!graph.alive(n)) continue;
    if (std::string fault = NodeFault(graph, n, signatures, any_type, *facts); !fault.empty())
      return fault;
    if (!as_given) continue;
    if (!any_type && HasOtherOperands(graph, n, court.own_operands, *facts))
      return graph.op_name(graph.op(n)).text() + ": type of an input";
    std::string fault = OnnxTypeFault(graph, n, any_type, signatures, *facts);
    if (!fault.empty()) return fault;
  }
  return "";
}

}  // namespace

bool IsTooLarge(const std::string& fault) { return fault.ends_with(kTooLarge); }

void LearnOperands(const Court& court, const Graph& graph, OwnOperands& known) {
  StatedFacts facts(graph, court);
  known.Learn(graph, *facts);
}

std::string ResultFault(const Court& court, const Graph& graph) {
  if (!court.any_type) return FaultOf(court, graph, false, /*as_given=*/false);
  const Signatures& signatures = court.signatures();
  Facts facts(graph, signatures, KernelRegistry::Builtin(), court.context.inference);
  for (size_t i = 0; i < graph.num_nodes(); ++i) {
    const NodeId n(i);
    if (!graph.alive(n)) continue;
    const OpName& op = graph.op_name(graph.op(n));
    if (facts.Contradicts(n)) return op.text() + ": shapes";
    const Signature* const s = SignatureOf(graph, n, signatures);
    if (s != nullptr && HasOddWindow(graph.attributes(n), *s)) return op.text() + kOddWindow;
  }
  return "";
}

std::string NewFault(const Court& court, const Model& before, const Model& after) {
  const Graph& result = GraphOf(after);
  // What is wrong in a body shows only where it is entered.
  for (size_t i = 0; i < result.num_nodes(); ++i) {
    if (result.alive(NodeId(i)) && result.HasSubgraphs(NodeId(i))) return "";
  }
  std::string fault = ResultFault(court, result);
  if (fault.empty() || IsTooLarge(fault)) return "";
  const bool had = !ResultFault(court, GraphOf(before)).empty();
  return had ? "" : fault;
}

std::string Prepare(const Court& court, Graph& graph) {
  return Prepare(court, graph, court.any_type);
}

std::string Prepare(const Court& court, Graph& graph, bool any_type) {
  const Signatures& signatures = court.signatures();
  RemoveUnused(graph);
  for (size_t i = 0; i < graph.num_values(); ++i) {
    const ValueId v(i);
    if (graph.alive(v) && graph.producer(v).valid()) graph.SetDeclared(v, TypeInfo{});
  }
  if (const Status status = Verify(graph); !status.ok()) return Message(status);
  if (std::string fault = FaultOf(court, graph, any_type, /*as_given=*/true); !fault.empty())
    return fault;
  Facts facts(graph, signatures, KernelRegistry::Builtin(), court.context.inference);
  if (!HasFiniteConstants(graph)) return "a constant is not finite";
  const size_t outputs = graph.body(graph.main()).outputs.size();
  for (size_t i = 0; i < outputs; ++i) {
    const ValueId v = graph.output(graph.main(), i);
    if (!graph.producer(v).valid()) continue;
    graph.SetDeclared(v, TypeInfo{.dtype = facts.dtype(v)});
  }
  return outputs == 0 ? "no outputs" : "";
}

}  // namespace qrewrite
