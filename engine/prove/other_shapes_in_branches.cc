// What the branches compute that a sample takes: in the main graph, where values can be looked at.
#include <optional>
#include <utility>

#include "engine/api/constant.h"
#include "engine/api/model_impl.h"
#include "engine/prove/other_shapes.h"
#include "engine/prove/run_model.h"
#include "qrewrite/rewrite.h"

namespace qrewrite {
namespace {

std::optional<bool> TruthOf(const Tensors& tensors, const std::string& name) {
  const auto value = tensors.find(name);
  if (value == tensors.end()) return std::nullopt;
  const Result<Tensor> tensor = FromPlain(value->second);
  if (!tensor.ok() || tensor->dtype() != DType::kBool || tensor->size() != 1) return std::nullopt;
  const Result<std::vector<int64_t>> numbers = ToInt64s(*tensor);
  return numbers.ok() ? std::optional(numbers->front() != 0) : std::nullopt;
}

// Conditions become what they are in the sample. False: there are none but constants.
bool SetConditions(Graph& graph, const Tensors& sample, const Tensors& values) {
  bool any = false;
  const std::vector<NodeId> nodes(graph.body(graph.main()).nodes.begin(),
                                  graph.body(graph.main()).nodes.end());
  for (const NodeId n : nodes) {
    if (!graph.alive(n) || !graph.HasSubgraphs(n) || graph.num_inputs(n) != 1) continue;
    const ValueId v = graph.input(n, 0);
    if (!v.valid() || graph.constant(v) != nullptr) continue;
    const std::string name(graph.name(v));
    std::optional<bool> taken = TruthOf(values, name);
    if (!taken) taken = TruthOf(sample, name);
    if (!taken) continue;
    const std::string_view fresh = graph.FreshName("taken");
    graph.SetInput(n, 0, graph.AddConstant(graph.main(), fresh, Tensor::Bool(*taken)));
    any = true;
  }
  graph.MarkChanged();
  return any;
}

bool HasBodies(const Graph& graph) {
  for (const NodeId n : graph.body(graph.main()).nodes) {
    if (graph.alive(n) && graph.HasSubgraphs(n)) return true;
  }
  return false;
}

}  // namespace

bool BranchesRunOtherwise(const Court& court, const Model& model, const Tensors& sample,
                          Tensors values) {
  constexpr int kDepth = 3;  // branches in branches
  if (!HasBodies(GraphOf(model))) return false;
  Result<Model> flat = model.Clone();
  for (int i = 0; i < kDepth && flat.ok(); ++i) {
    Graph& graph = flat->impl().file->graph();
    if (!HasBodies(graph)) break;
    const bool any = SetConditions(graph, sample, values);
    if ((!any && i > 0) || !Rewrite(*flat, court.branches).ok()) break;
    std::optional<Tensors> flat_values = AllValues(court, *flat, sample);
    if (!flat_values) return false;
    values = *std::move(flat_values);
    if (HasOtherShapes(court, GraphOf(*flat), sample, values) ||
        MisfitsWhenRun(court, *flat, sample, values))
      return true;
  }
  return false;
}

}  // namespace qrewrite
