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

}  // namespace qrewrite
