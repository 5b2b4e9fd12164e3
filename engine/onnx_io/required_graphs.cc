#include "engine/onnx_io/required_graphs.h"

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <onnx/defs/schema.h>

#include "engine/base/diagnostics.h"
#include "engine/graph/find.h"
#include "engine/graph/node_text.h"
#include "engine/onnx_io/schemas.h"

namespace qrewrite {
namespace {

std::vector<std::string> RequiredGraphs(const OpName& op) {
  constexpr int64_t kNewest = std::numeric_limits<int>::max();  // they are the same at all versions
  std::vector<std::string> names;
  const onnx::OpSchema* schema = FindSchema(op.domain, op.name, kNewest);
  if (schema == nullptr) return names;
  for (const auto& [name, attribute] : schema->attributes()) {
    if (attribute.required && attribute.type == onnx::AttributeProto::GRAPH) names.push_back(name);
  }
  return names;
}

}  // namespace

Status CheckRequiredGraphs(const Graph& graph) {
  std::vector<std::vector<std::string>> required(graph.num_ops());
  bool any = false;
  const auto functions = LocalFunctions(graph);
  for (size_t i = 0; i < graph.num_ops(); ++i) {
    const OpName& op = graph.op_name(OpId(i));
    if (functions.contains(op)) continue;  // a function of the model takes its place
    required[i] = RequiredGraphs(op);
    any |= !required[i].empty();
  }
  if (!any) return {};
  for (size_t i = 0; i < graph.num_nodes(); ++i) {
    const NodeId node(i);
    for (const std::string& name : required[graph.op(node).index]) {
      if (graph.attributes(node).Find(name) != nullptr) continue;
      return {StatusCode::kInvalidModel,
              fmt::format("{} has no `{}`, which it must have", NodeText(graph, node), name)};
    }
  }
  return {};
}

}  // namespace qrewrite
