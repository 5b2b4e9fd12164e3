#include "engine/evaluate/groups.h"

#include <algorithm>

#include "engine/api/model_impl.h"
#include "engine/evaluate/open_sizes.h"
#include "engine/match/facts.h"
#include "engine/onnx_io/inference.h"

namespace qrewrite {
namespace {

uint64_t BytesOf(const TypeInfo& type) {
  uint64_t count = 1;
  for (const Dim dim : type.dims) count *= static_cast<uint64_t>(dim.size());
  return PackedBytes(type.dtype, count);
}

}  // namespace

ValueSizes::ValueSizes(const Model& model, const Tensors& inputs) {
  Result<Model> clone = model.Clone();
  if (!clone.ok()) return;
  Graph& graph = clone->impl().file->graph();
  CloseSizes(graph, TypesOf(inputs));
  const std::unique_ptr<ShapeInference> inference = MakeOnnxInference();
  Facts facts(graph, Signatures::Builtin(), KernelRegistry::Evaluation(), inference.get());
  for (size_t i = 0; i < graph.num_values(); ++i) {
    const ValueId v(i);
    if (!graph.alive(v) || graph.body_of(v) != graph.main()) continue;
    const TypeInfo& type = facts.InferredType(v);
    const bool known = type.known_shape() && type.dtype != DType::kUndefined;
    bytes_[std::string(graph.name(v))] = known ? std::optional(BytesOf(type)) : std::nullopt;
  }
}

uint64_t ValueSizes::Bytes(const std::string& name) {
  const auto found = bytes_.find(name);
  if (found == bytes_.end()) return 0;
  if (!found->second) return largest_;
  largest_ = std::max(largest_, *found->second);
  return *found->second;
}

std::vector<std::vector<size_t>> GroupsOf(const std::vector<uint64_t>& sizes, uint64_t most) {
  std::vector<std::vector<size_t>> groups(1);
  uint64_t sum = 0;
  for (size_t i = 0; i < sizes.size(); ++i) {
    if (!groups.back().empty() && sum + sizes[i] > most) {
      groups.emplace_back();
      sum = 0;
    }
    groups.back().push_back(i);
    sum += sizes[i];
  }
  return groups;
}

}  // namespace qrewrite
