#include "engine/evaluate/meaning.h"

#include <map>
#include <utility>

#include "engine/api/model_impl.h"
#include "engine/graph/tensor_type.h"
#include "engine/onnx_io/spelled_out.h"

namespace qrewrite {
namespace {

std::vector<std::optional<TypeInfo>> TypesOf(const std::vector<Tensor>& inputs) {
  std::vector<std::optional<TypeInfo>> types;
  for (const Tensor& t : inputs) {
    types.push_back(t.valid() ? std::optional(TypeOfTensor(t)) : std::nullopt);
  }
  return types;
}

}  // namespace

Result<std::unique_ptr<Meaning>> Meaning::Make(const Graph& graph, NodeId n,
                                               const Attributes& attributes,
                                               const std::vector<Tensor>& inputs,
                                               const KernelRegistry& kernels, int64_t max_steps) {
  const OpName& op = graph.op_name(graph.op(n));
  std::vector<bool> outputs;
  for (size_t i = 0; i < graph.num_outputs(n); ++i) outputs.push_back(graph.output(n, i).valid());
  std::optional<std::string> bytes;
  if (op.domain.empty()) {
    bytes = SpelledOut({op.name, graph.OpsetOf(n, ""), attributes, TypesOf(inputs), outputs});
  }
  if (!bytes) return std::unique_ptr<Meaning>();
  QR_ASSIGN_OR_RETURN(Model model, Model::Parse(*std::move(bytes)));
  std::unique_ptr<Meaning> meaning(new Meaning(std::move(model), TypesOf(inputs), outputs));
  const Graph& spelled = std::as_const(*meaning->model_.impl().file).graph();
  QR_ASSIGN_OR_RETURN(GraphInterpreter interpreter,
                      GraphInterpreter::Make(spelled, kernels, max_steps));
  meaning->interpreter_.emplace(std::move(interpreter));
  meaning->num_nodes_ = spelled.num_nodes();
  return meaning;
}

bool Meaning::Fits(const std::vector<Tensor>& inputs) const { return TypesOf(inputs) == types_; }

Result<std::vector<Tensor>> Meaning::Run(const std::vector<Tensor>& inputs) {
  std::map<std::string, Tensor> given;
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (inputs[i].valid()) given["i" + std::to_string(i)] = inputs[i];
  }
  QR_ASSIGN_OR_RETURN(std::vector<Tensor> made, interpreter_->Run(given));
  std::vector<Tensor> results(outputs_.size());
  size_t next = 0;
  for (size_t i = 0; i < results.size(); ++i) {
    if (outputs_[i] && next < made.size()) results[i] = std::move(made[next++]);
  }
  return results;
}

}  // namespace qrewrite
