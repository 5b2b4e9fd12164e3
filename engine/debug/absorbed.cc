#include "engine/debug/absorbed.h"

#include "engine/fold/cast.h"
#include "engine/ops/node_signature.h"
#include "engine/ops/signature.h"

namespace qrewrite {
namespace {

// A constant, also one that is spelt as a node.
Tensor ConstantOf(const Graph& graph, ValueId v) {
  if (const Tensor* tensor = graph.constant(v); tensor != nullptr) return *tensor;
  const NodeId n = graph.producer(v);
  if (!n.valid() || graph.op_name(graph.op(n)) != OpName{"", "Constant"}) return Tensor();
  const Tensor* value = graph.attributes(n).TensorValue("value");
  return value == nullptr ? Tensor() : *value;
}

}  // namespace

std::optional<AbsorbedActivation> AbsorbedActivation::Make(const NamedGraph& float_graph,
                                                           ValueId output) {
  const Graph& graph = float_graph.graph();
  const NodeId n = graph.producer(output);
  if (!n.valid()) return std::nullopt;
  const OpName& op = graph.op_name(graph.op(n));
  const Signature* signature = SignatureOf(graph, n, Signatures::Builtin());
  if (signature == nullptr || !op.domain.empty()) return std::nullopt;
  AbsorbedActivation absorbed;
  absorbed.op_ = op.name;
  absorbed.since_ = signature->since;
  absorbed.kernel_ = KernelRegistry::Builtin().Find(op.domain, op.name, signature->since);
  absorbed.attributes_ = graph.attributes(n);
  absorbed.inputs_.resize(graph.num_inputs(n));
  for (size_t i = 1; i < graph.num_inputs(n); ++i) {
    const ValueId v = graph.input(n, i);
    if (!v.valid()) continue;
    absorbed.inputs_[i] = ConstantOf(graph, v);
    if (!absorbed.inputs_[i].valid()) return std::nullopt;
  }
  if (absorbed.kernel_ == nullptr || absorbed.inputs_.empty()) return std::nullopt;
  return absorbed;
}

Result<Tensor> AbsorbedActivation::Apply(const Tensor& x) const {
  std::vector<Tensor> inputs = inputs_;
  inputs[0] = x;
  for (size_t i = 1; i < inputs.size(); ++i) {  // the quantized model may be in half precision
    if (!inputs[i].valid() || inputs[i].dtype() == x.dtype()) continue;
    QR_ASSIGN_OR_RETURN(inputs[0], fold::CastTensor(x, inputs[i].dtype()));
    break;
  }
  const FoldCall call{"", op_, since_, inputs, attributes_};
  QR_ASSIGN_OR_RETURN(std::vector<Tensor> outputs, Fold(kernel_, call, {.lazy = UINT64_MAX}));
  return outputs[0];
}

Status AbsorbedActivation::PutBehind(Graph& graph, ValueId v, DType dtype) const {
  const BodyId main = graph.main();
  const std::string stem(graph.name(v));
  const ValueId result = graph.AddValue(main, graph.FreshName(stem + "_" + op_));
  graph.SetDeclared(result, graph.declared(v));
  graph.ReplaceUses(v, result);
  std::vector<ValueId> inputs = {v};
  for (size_t i = 1; i < inputs_.size(); ++i) {
    ValueId& input = inputs.emplace_back();
    if (!inputs_[i].valid()) continue;
    QR_ASSIGN_OR_RETURN(Tensor bound, fold::CastTensor(inputs_[i], dtype));
    input = graph.AddConstant(main, graph.FreshName(stem + "_bound"), std::move(bound));
  }
  graph.AddNode(main, graph.InternOp("", op_), inputs, std::vector{result}, attributes_,
                graph.FreshName(stem + "_" + op_));
  return {};
}

std::vector<AbsorbedActivation> AbsorbedBefore(const NamedGraph& float_graph,
                                               const Absorbable& absorbable,
                                               const std::string& reference,
                                               const std::string& op) {
  constexpr size_t kMost = 4;
  std::vector<AbsorbedActivation> absorbed;
  const Graph& graph = float_graph.graph();
  ValueId v = float_graph.Find(reference);
  while (absorbed.size() < kMost && v.valid() && absorbable.contains(float_graph.Name(v))) {
    std::optional<AbsorbedActivation> one = AbsorbedActivation::Make(float_graph, v);
    if (!one) break;
    absorbed.insert(absorbed.begin(), *std::move(one));
    if (float_graph.OpOf(v) == op) break;  // the quantized model has it
    const NodeId n = graph.producer(v);
    v = graph.num_inputs(n) > 0 ? graph.input(n, 0) : ValueId();
  }
  return absorbed;
}

std::optional<AbsorbedActivation> KeptBehind(const NamedGraph& float_graph, const NamedGraph& form,
                                             const Absorbable& absorbable,
                                             const std::string& reference,
                                             const QuantizedActivation& a) {
  const NodeId theirs = float_graph.OnlyReader(float_graph.Find(reference));
  if (!theirs.valid() || a.restored.size() != 1) return std::nullopt;
  const ValueId made = float_graph.graph().output(theirs, 0);
  if (!made.valid() || !absorbable.contains(float_graph.Name(made))) return std::nullopt;
  const NodeId ours = form.OnlyReader(form.Find(a.restored.front()));
  const Graph& graph = form.graph();
  if (!ours.valid() || graph.op_name(graph.op(ours)).text() != float_graph.OpOf(made))
    return std::nullopt;
  return AbsorbedActivation::Make(float_graph, made);
}

}  // namespace qrewrite
