#include "engine/evaluate/open_sizes.h"

namespace qrewrite {

SizedTypes TypesOf(const Tensors& tensors) {
  SizedTypes types;
  for (const auto& [name, tensor] : tensors)
    types[name] = {static_cast<DType>(tensor.dtype), tensor.dims};
  return types;
}

bool CloseSizes(Graph& graph, const SizedTypes& types) {
  bool any = false;
  for (size_t i = 0; i < graph.num_values(); ++i) {
    const ValueId v(i);
    if (!graph.alive(v) || graph.body_of(v) != graph.main()) continue;
    TypeInfo type = graph.declared(v);
    const auto sized = types.find(std::string(graph.name(v)));
    if (sized == types.end() || type.known_shape()) continue;
    if (type.dtype == DType::kUndefined) type.dtype = sized->second.dtype;
    type.has_rank = true;
    type.dims.clear();
    for (const int64_t size : sized->second.dims) type.dims.emplace_back(size);
    graph.SetDeclared(v, type);
    any = true;
  }
  return any;
}

}  // namespace qrewrite
