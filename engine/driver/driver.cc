#include "engine/driver/driver.h"

#include <fmt/format.h>

#include "engine/driver/run.h"
#include "engine/graph/verify.h"

namespace qrewrite {
namespace {

int64_t CountNodes(const Graph& graph) {
  int64_t count = 0;
  for (size_t n = 0; n < graph.num_nodes(); ++n) count += graph.alive(NodeId(n));
  return count;
}

}  // namespace

Result<RunResult> Run(Graph& graph, const RuleSet& rules, const RunOptions& options,
                      const RunContext& context) {
  RunResult result;
  result.report.nodes_before = CountNodes(graph);
  const int64_t opset = graph.OpsetOf(graph.main(), "");
  if (opset > 0 && (opset < rules.opset_min || opset > rules.opset_max)) {
    return Status(StatusCode::kUnsupported,
                  fmt::format("rule set `{}` needs ai.onnx opset {}, the model imports {}",
                              rules.name, rules.opset, opset));
  }
  QR_ASSIGN_OR_RETURN(Params params, BindParams(rules, options.set));
  RuleRun run(graph, rules, std::move(params), options, context, result.report);
  QR_RETURN_IF_ERROR(run.RunPhases());
  result.report.changed = graph.changed() && result.report.total() > 0;
  if (result.report.changed) {
    QR_RETURN_IF_ERROR(Finish(graph, rules.signatures, context, result.report));
  }
  if (options.verify) QR_RETURN_IF_ERROR(Verify(graph));
  QR_ASSIGN_OR_RETURN(result.files, run.MakeFiles());
  result.report.nodes_after = CountNodes(graph);
  return result;
}

}  // namespace qrewrite
