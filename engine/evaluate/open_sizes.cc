#include "engine/evaluate/open_sizes.h"

namespace qrewrite {

InputShapes ShapesOf(const Tensors& sample) {
  InputShapes shapes;
  for (const auto& [name, tensor] : sample) shapes[name] = tensor.dims;
  return shapes;
}

bool CloseSizes(Graph& graph, const InputShapes& shapes) {
  bool any = false;
  for (const ValueId v : graph.body(graph.main()).inputs) {
    TypeInfo type = graph.declared(v);
    const auto shape = shapes.find(std::string(graph.name(v)));
    if (shape == shapes.end() || type.known_shape()) continue;
    type.has_rank = true;
    type.dims.clear();
    for (const int64_t size : shape->second) type.dims.emplace_back(size);
    graph.SetDeclared(v, type);
    any = true;
  }
  return any;
}

}  // namespace qrewrite
