// What is wrong with a graph that was made, or with a result: what keeps it from being a model.
#include <algorithm>
#include <cmath>
#include <utility>

#include <fmt/format.h>

#include "engine/api/constant.h"
#include "engine/api/model_impl.h"
#include "engine/base/diagnostics.h"
#include "engine/graph/verify.h"
#include "engine/match/interpreter.h"
#include "engine/ops/node_signature.h"
#include "engine/ops/quantizer.h"
#include "engine/prove/judge.h"
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

// Whether what decides about a body is known to be no single number. A branch that is not taken hides it from who
// runs the graph.
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

// Windows that slide have no pads below 0, which some runtimes take for a part to be cut off.
bool HasOddWindow(const Attributes& attributes, const Signature& s) {
  if (s.FindAttribute("strides") == nullptr) return false;
  const AttrValue* const pads = attributes.Find("pads");
  const auto* const list = pads == nullptr ? nullptr : std::get_if<std::vector<int64_t>>(pads);
  return list != nullptr && std::ranges::any_of(*list, [](int64_t v) { return v < 0; });
}

// Facts of a graph, those among them that signatures of the rule file state.
class StatedFacts {
 public:
  StatedFacts(const Graph& graph, const Court& court)
      : facts_(graph, court.program.rules().signatures, KernelRegistry::Builtin(),
               court.context.inference),
        in_(graph, court.program, facts_, KernelRegistry::Builtin(), Defaults(court),
            HostFunctions()) {}

  Facts& operator*() { return facts_; }

 private:
  static Params Defaults(const Court& court) {
    Result<Params> params = BindParams(court.program.rules(), {});
    return params.ok() ? *std::move(params) : Params();
  }

  Facts facts_;
  Interpreter in_;  // evaluates them when the facts ask
};

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

}  // namespace

bool Judge::IsTooLarge(const std::string& fault) { return fault.ends_with(kTooLarge); }

std::string Judge::FaultOf(const Graph& graph, bool any_type, bool as_given) const {
  const Signatures& signatures = court_.program.rules().signatures;
  StatedFacts facts(graph, court_);
  for (size_t i = 0; i < graph.num_nodes(); ++i) {
    const NodeId n(i);
    if (!graph.alive(n)) continue;
    if (std::string fault = NodeFault(graph, n, signatures, any_type, *facts); !fault.empty())
      return fault;
    if (!as_given) continue;
    if (!any_type && HasOtherOperands(graph, n, court_.own_operands, *facts))
      return graph.op_name(graph.op(n)).text() + ": type of an input";
    std::string fault = OnnxTypeFault(graph, n, any_type, signatures, *facts);
    if (!fault.empty()) return fault;
  }
  return "";
}

void Judge::LearnOperands(const Graph& graph, OwnOperands& known) const {
  StatedFacts facts(graph, court_);
  known.Learn(graph, *facts);
}

namespace {

const Graph& GraphOf(const Model& model) { return std::as_const(*model.impl().file).graph(); }

// The graph with the sizes of a sample in place of open ones.
Graph WithSizesOf(const Model& model, const Tensors& sample) {
  Graph graph = GraphOf(model);
  CloseSizes(graph, TypesOf(sample));
  return graph;
}

}  // namespace

// Whether shapes contradict each other where open sizes are those of the sample.
bool Judge::Misfits(const Model& model, const Tensors& sample) const {
  const Graph graph = WithSizesOf(model, sample);
  Facts facts(graph, court_.program.rules().signatures, KernelRegistry::Builtin(),
              court_.context.inference);
  for (size_t i = 0; i < graph.num_nodes(); ++i) {
    if (graph.alive(NodeId(i)) && facts.Contradicts(NodeId(i))) return true;
  }
  return false;
}

namespace {

// Whether the graph is a model only as long as none of its bodies is entered.
bool HasFaultInBody(const Graph& graph, const Signatures& signatures, ShapeInference* inference) {
  Facts facts(graph, signatures, KernelRegistry::Builtin(), inference);
  for (size_t i = 0; i < graph.num_nodes(); ++i) {
    const NodeId n(i);
    if (!graph.alive(n)) continue;
    if (graph.body_of(n) != graph.main() && facts.Contradicts(n)) return true;
    const Signature* const s = SignatureOf(graph, n, signatures);
    if (s != nullptr && HasManyConditions(graph, n, *s, facts)) return true;
  }
  return false;
}

}  // namespace

// Whether the model ran, if it did, only because a body was not entered: of one sample at least.
bool Judge::NeedsBodyNotEntered(const Model& model, const std::vector<Tensors>& samples) const {
  return std::ranges::any_of(samples, [&](const Tensors& sample) {
    return HasFaultInBody(WithSizesOf(model, sample), court_.program.rules().signatures,
                          court_.context.inference);
  });
}

// Whether values that a run made of a sample have other shapes than inference has it: an attribute says what the
// operator's definition does not know (2 where 0 and 1 have a meaning), and everybody makes something else of it.
bool Judge::HasOtherShapes(Graph graph, const Tensors& sample, const Tensors& values) const {
  CloseSizes(graph, TypesOf(sample));
  StatedFacts stated(graph, court_);
  Facts& facts = *stated;
  for (size_t i = 0; i < graph.num_values(); ++i) {
    const ValueId v(i);
    const bool made = graph.alive(v) && graph.producer(v).valid();
    if (!made || graph.body_of(v) != graph.main() || !facts.Type(v).has_rank) continue;
    const auto value = values.find(std::string(graph.name(v)));
    if (value == values.end()) continue;
    const std::vector<Dim>& inferred = facts.Type(v).dims;
    const std::vector<int64_t>& dims = value->second.dims;
    if (inferred.size() != dims.size()) return true;
    for (size_t k = 0; k < dims.size(); ++k) {
      if (inferred[k].known() && inferred[k].size() != dims[k]) return true;
    }
  }
  return false;
}

namespace {

bool IsSizes(const TypeInfo& type) {
  constexpr int64_t kMostSizes = 64;
  int64_t count = 1;
  for (const Dim d : type.dims) count *= d.size();
  return IsInteger(type.dtype) && Info(type.dtype).bits >= 32 && count <= kMostSizes;
}

// Each node by itself, on values of the shapes that a run made: what `graph` makes becomes an input where it is read.
Graph CutApart(const Graph& graph, const Tensors& values) {
  Graph apart = graph;
  for (size_t i = 0; i < graph.num_values(); ++i) {
    const ValueId v(i);
    const bool made = graph.alive(v) && graph.producer(v).valid();
    if (!made || graph.body_of(v) != graph.main()) continue;
    const auto value = values.find(std::string(graph.name(v)));
    if (value == values.end()) continue;
    TypeInfo type{.dtype = static_cast<DType>(value->second.dtype)};
    type.is_tensor = type.has_rank = true;
    for (const int64_t d : value->second.dims) type.dims.emplace_back(d);
    const std::string_view name = apart.FreshName("made");
    // Sizes and axes are looked at where inference knows them, as it does of a result.
    const Result<Tensor> number = FromPlain(value->second);
    if (IsSizes(type) && number.ok()) {
      apart.ReplaceUses(v, apart.AddConstant(apart.main(), name, *number));
      continue;
    }
    const ValueId input = apart.AddValue(apart.main(), name);
    apart.SetDeclared(input, type);
    apart.AddInput(apart.main(), input);
    apart.ReplaceUses(v, input);
  }
  return apart;
}

}  // namespace

// Whether a node of a graph that runs contradicts the shapes of what it reads, or makes another one than it should. Where
// nobody knows the shape of what stands in front of it this shows in a run alone.
bool Judge::MisfitsWhenRun(const Model& model, const Tensors& sample, const Tensors& values) const {
  const Result<Model> apart = ModelOf(CutApart(WithSizesOf(model, sample), values));
  if (!apart.ok()) return false;
  return Misfits(*apart, sample) || HasOtherShapes(GraphOf(*apart), sample, values);
}

// What the kernels make of each value of the main graph; nullopt: they do not run it.
std::optional<Tensors> Judge::AllValues(const Model& model, const Tensors& sample) const {
  Graph shown = GraphOf(model);
  Facts facts(shown, court_.program.rules().signatures, KernelRegistry::Builtin(),
              court_.context.inference);
  std::vector<std::pair<ValueId, DType>> inner;
  for (size_t i = 0; i < shown.num_values(); ++i) {
    const ValueId v(i);
    const bool made = shown.alive(v) && shown.producer(v).valid();
    if (made && shown.body_of(v) == shown.main() && !shown.IsOutput(v))
      inner.emplace_back(v, facts.dtype(v));
  }
  for (const auto& [v, dtype] : inner) {
    shown.SetDeclared(v, TypeInfo{.dtype = dtype});
    shown.AddOutput(shown.main(), v);
  }
  const Result<Model> whole = ModelOf(shown);
  if (!whole.ok()) return std::nullopt;
  Outcome ran = RunModel(court_.kernels, *whole, {sample});
  if (!ran.status.ok()) return std::nullopt;
  return std::move(ran.values.front());
}

// Whether `values` (AllValues) have other shapes than inference has it: of the model, or of the graph as it was given, which
// still has the operators whose shapes signatures of the rule file state.
bool Judge::RunsOtherwise(const Model& model, const Tensors& sample, const Tensors& values) const {
  return HasOtherShapes(GraphOf(model), sample, values) ||
         HasOtherShapes(*given_, sample, values) || MisfitsWhenRun(model, sample, values);
}

// Of one sample at least: how long the parts of an axis are may be data. Else the types of all values are added to `types`:
// sizes may be open behind the inputs as well, of what a Slice to a bound of run time leaves.
bool Judge::RunOtherwise(const Model& model, const std::vector<Tensors>& samples,
                         std::set<SizedTypes>& types) const {
  for (const Tensors& sample : samples) {
    const std::optional<Tensors> values = AllValues(model, sample);
    if (!values) continue;
    if (RunsOtherwise(model, sample, *values) || BranchesRunOtherwise(model, sample, *values))
      return true;
    SizedTypes all = TypesOf(sample);
    all.merge(TypesOf(*values));
    types.insert(std::move(all));
  }
  return false;
}

std::string Judge::ResultFault(const Graph& graph) const {
  if (!court_.any_type) return FaultOf(graph, false, /*as_given=*/false);
  const Signatures& signatures = court_.program.rules().signatures;
  Facts facts(graph, signatures, KernelRegistry::Builtin(), court_.context.inference);
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

std::string Judge::NewFault(const Model& before, const Model& after) const {
  const Graph& result = std::as_const(*after.impl().file).graph();
  // What is wrong in a body shows only where it is entered.
  for (size_t i = 0; i < result.num_nodes(); ++i) {
    if (result.alive(NodeId(i)) && result.HasSubgraphs(NodeId(i))) return "";
  }
  std::string fault = ResultFault(result);
  if (fault.empty() || IsTooLarge(fault)) return "";
  const bool had = !ResultFault(std::as_const(*before.impl().file).graph()).empty();
  return had ? "" : fault;
}

namespace {

// Whether the node reads the input as a step or a zero point, not as data.
bool ReadsStep(const Graph& graph, const User& use, const Signatures& signatures) {
  const NodeId n = use.node;
  if (!n.valid() || use.index == 0) return false;
  return RoleOf(graph, n, signatures) != QuantizerRole::kNone ||
         IsPrivateDomain(graph.op_name(graph.op(n)).domain);
}

}  // namespace

// Whether an input of data is a number alone. Its size stays (judge_inputs.cc), which may be none that quantizers were
// made for.
bool Judge::HasNumberAsData(const Graph& graph) const {
  const Signatures& signatures = court_.program.rules().signatures;
  return std::ranges::any_of(graph.body(graph.main()).inputs, [&](ValueId v) {
    const TypeInfo& type = graph.declared(v);
    const bool small = IsInteger(type.dtype) && Info(type.dtype).bits <= 16;
    if (graph.constant(v) != nullptr || !type.has_rank || !type.dims.empty() ||
        (!small && !IsFloat(type.dtype)))
      return false;
    for (const UseId u : graph.uses(v)) {
      if (!ReadsStep(graph, graph.user(u), signatures)) return true;
    }
    return false;
  });
}

std::string Judge::Prepare(Graph& graph, bool any_type) const {
  const Signatures& signatures = court_.program.rules().signatures;
  RemoveUnused(graph);
  for (size_t i = 0; i < graph.num_values(); ++i) {
    const ValueId v(i);
    if (graph.alive(v) && graph.producer(v).valid()) graph.SetDeclared(v, TypeInfo{});
  }
  if (const Status status = Verify(graph); !status.ok()) return Message(status);
  if (std::string fault = FaultOf(graph, any_type, /*as_given=*/true); !fault.empty()) return fault;
  Facts facts(graph, signatures, KernelRegistry::Builtin(), court_.context.inference);
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
