#include "engine/diff/spelling.h"

#include <string>
#include <utility>
#include <vector>

#include "engine/api/model_impl.h"
#include "engine/fold/kernel.h"
#include "engine/ops/node_signature.h"

namespace qrewrite {
namespace {

std::vector<NodeId> ConstantNodes(const Graph& graph) {
  std::vector<NodeId> nodes;
  for (size_t i = 0; i < graph.num_nodes(); ++i) {
    const NodeId n(i);
    if (graph.alive(n) && graph.op_name(graph.op(n)) == OpName{"", "Constant"} &&
        graph.num_inputs(n) == 0 && graph.num_outputs(n) == 1 && graph.output(n, 0).valid())
      nodes.push_back(n);
  }
  return nodes;
}

Tensor TensorOf(const Graph& graph, NodeId n) {
  const Signature* const s = SignatureOf(graph, n, Signatures::Builtin());
  if (s == nullptr) return {};
  const KernelEntry* const kernel = KernelRegistry::Builtin().Find("", "Constant", s->since);
  const std::vector<Tensor> none;
  const Outputs made = Fold(kernel, {"", "Constant", s->since, none, graph.attributes(n)}, {});
  return made.ok() && made->size() == 1 ? made->front() : Tensor();
}

void MakeInitializer(Graph& graph, NodeId n) {
  const Tensor tensor = TensorOf(graph, n);
  if (!tensor.valid()) return;
  const ValueId made = graph.output(n, 0);
  const std::string name(graph.name(made));
  const ValueId constant = graph.AddConstant(graph.body_of(n), graph.FreshName(name), tensor);
  graph.ReplaceUses(made, constant);
  graph.RemoveNode(n);
  graph.Rename(constant, name);
}

Result<Model> WithoutConstantNodes(const Model& model) {
  QR_ASSIGN_OR_RETURN(Model copy, model.Clone());
  Graph& graph = copy.impl().file->graph();
  for (const NodeId n : ConstantNodes(graph)) MakeInitializer(graph, n);
  return copy;
}

}  // namespace

Result<std::optional<std::pair<Model, Model>>> SpellAlike(const Model& a, const Model& b) {
  QR_RETURN_IF_ERROR(a.impl().Usable());
  QR_RETURN_IF_ERROR(b.impl().Usable());
  const size_t in_a = ConstantNodes(a.impl().file->graph()).size();
  if (in_a == ConstantNodes(b.impl().file->graph()).size())
    return std::optional<std::pair<Model, Model>>();
  QR_ASSIGN_OR_RETURN(Model copy_a, WithoutConstantNodes(a));
  QR_ASSIGN_OR_RETURN(Model copy_b, WithoutConstantNodes(b));
  return std::optional(std::pair(std::move(copy_a), std::move(copy_b)));
}

}  // namespace qrewrite
