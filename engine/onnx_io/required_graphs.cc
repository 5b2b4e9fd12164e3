#include "engine/onnx_io/required_graphs.h"

#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "engine/base/diagnostics.h"
#include "engine/graph/find.h"
#include "engine/graph/node_text.h"
#include "engine/ops/signature.h"

namespace qrewrite {
namespace {

// The same at all versions of an operator.
std::vector<std::string> RequiredGraphs(const OpName& op) {
  std::vector<std::string> names;
  const Signature* signature = Signatures::Builtin().Newest(op.domain, op.name);
  if (signature == nullptr || !signature->has_subgraphs) return names;
  for (const FormalAttribute& attribute : signature->attributes) {
    if (attribute.required && attribute.kind == AttrKind::kGraph) names.push_back(attribute.name);
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
