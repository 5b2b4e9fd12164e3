#include "engine/driver/versions.h"

#include <fmt/format.h>

#include "engine/graph/node_text.h"

namespace qrewrite {
namespace {

// A graph or function that does not import ai.onnx may have no operator of it.
Status CheckImported(const Graph& graph, std::string_view subject) {
  bool missing = !graph.opset().contains("");
  for (size_t b = 0; b < graph.num_bodies(); ++b) {
    const Body& body = graph.body(BodyId(b));
    missing |= body.alive && body.kind == BodyKind::kFunction && !body.opset.contains("");
  }
  if (!missing) return {};
  for (size_t i = 0; i < graph.num_nodes(); ++i) {
    const NodeId n(i);
    if (!graph.alive(n) || !graph.op_name(graph.op(n)).domain.empty()) continue;
    if (graph.OpsetOf(graph.body_of(n), "") > 0) continue;
    return {StatusCode::kInvalidModel,
            fmt::format("{} of {} is an operator of ai.onnx, which is not imported there",
                        NodeText(graph, n), subject)};
  }
  return {};
}

}  // namespace

Status CheckVersions(const Graph& graph, std::string_view subject) {
  const int64_t opset = graph.OpsetOf(graph.main(), "");
  if (opset < 1 && graph.opset().contains("")) {
    return {StatusCode::kInvalidModel,
            fmt::format("{} imports ai.onnx opset {}, which does not exist", subject, opset)};
  }
  if (graph.ir_version < 0) {
    return {StatusCode::kInvalidModel,
            fmt::format("{} has IR version {}, which does not exist", subject, graph.ir_version)};
  }
  return CheckImported(graph, subject);
}

}  // namespace qrewrite
