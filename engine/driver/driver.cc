#include "engine/driver/driver.h"

#include <algorithm>
#include <limits>

#include <fmt/format.h>

#include "engine/base/diagnostics.h"
#include "engine/driver/function_types.h"
#include "engine/driver/run.h"
#include "engine/driver/versions.h"
#include "engine/graph/node_text.h"
#include "engine/graph/verify.h"

namespace qrewrite {
Status CheckRuleNames(const RuleSet& rules, const std::vector<std::string>& names) {
  if (names.empty()) return {};
  const std::vector<std::string> known = RuleNames(rules);
  for (const std::string& name : names) {
    if (std::find(known.begin(), known.end(), name) != known.end()) continue;
    const std::string hint = DidYouMean(name, known);
    return {StatusCode::kUsage, fmt::format("rule set `{}` has no rule `{}`{}", rules.name,
                                            Printable(name), hint.empty() ? "" : "; " + hint)};
  }
  return {};
}

Status CheckOpset(const Graph& graph, const RuleSet& rules) {
  const int64_t opset = graph.OpsetOf(graph.main(), "");
  QR_RETURN_IF_ERROR(CheckVersions(graph));
  if (opset > 0 && (opset < rules.opset_min || opset > rules.opset_max)) {
    return {StatusCode::kUnsupported,
            fmt::format("rule set `{}` needs ai.onnx opset {}, the model imports {}", rules.name,
                        rules.opset, opset)};
  }
  const std::string fault = OtherOpset(graph, rules.opsets);
  if (fault.empty()) return {};
  return {StatusCode::kUnsupported, fmt::format("rule set `{}` needs {}", rules.name, fault)};
}

std::vector<std::string> RuleNames(const RuleSet& rules) {
  std::vector<std::string> names;
  for (const Rule& rule : rules.rules) names.push_back(rule.name);
  for (const Phase& phase : rules.phases) {
    if (phase.use == nullptr) continue;
    const std::vector<std::string> used = RuleNames(*phase.use);
    names.insert(names.end(), used.begin(), used.end());
  }
  return names;
}

std::string OtherOpset(const Graph& graph, const std::map<std::string, std::string>& opsets) {
  for (const auto& [domain, constraint] : opsets) {
    int64_t min = 0, max = std::numeric_limits<int64_t>::max();
    const int64_t version = graph.OpsetOf(graph.main(), domain);
    if (version <= 0 || !ParseOpsetRange(constraint, min, max)) continue;
    if (version >= min && version <= max) continue;
    return fmt::format("{} opset {}, the model imports {}", domain, constraint, version);
  }
  return "";
}

namespace {

Status CheckCounts(const RunOptions& options) {
  const std::pair<std::string_view, int64_t> counts[] = {
      {"max_rewrites", options.max_rewrites}, {"stop_after", options.stop_after.value_or(0)}};
  for (const auto& [name, count] : counts) {
    if (count < 0)
      return {StatusCode::kUsage, fmt::format("{} is {}, which is no count", name, count)};
  }
  return {};
}

// Without outputs all nodes are unread, and would go. (A library of functions has no nodes beside them.)
Status CheckOutputs(const Graph& graph) {
  const Body& main = graph.body(graph.main());
  if (!main.outputs.empty()) return {};
  for (const NodeId n : main.nodes) {
    if (!graph.alive(n)) continue;
    return {StatusCode::kInvalidModel,
            fmt::format("the graph has no outputs: nothing would be left of {} and the others",
                        NodeText(graph, n))};
  }
  return {};
}

Status RunInto(Graph& graph, const Program& program, const RunOptions& options,
               const RunContext& context, RunResult& result) {
  const RuleSet& rules = program.rules();
  const bool changed_before = graph.changed();
  const NodeId made(graph.num_nodes());
  result.report.nodes_before = static_cast<int64_t>(graph.num_alive_nodes());
  QR_RETURN_IF_ERROR(CheckCounts(options));
  QR_RETURN_IF_ERROR(CheckOpset(graph, rules));
  QR_RETURN_IF_ERROR(CheckOutputs(graph));
  QR_ASSIGN_OR_RETURN(Params params, BindParams(rules, options.set));
  QR_RETURN_IF_ERROR(CheckRuleNames(rules, options.skip_rules));
  QR_RETURN_IF_ERROR(CheckRuleNames(rules, options.require_hits));
  QR_ASSIGN_OR_RETURN(const KeptNodes kept, FindKept(graph, options.keep));
  result.report.kept = static_cast<int64_t>(kept.nodes.size());
  for (const std::string& text : kept.idle) result.report.warnings.push_back({.text = text});
  Facts calls(graph, rules.signatures, KernelsOf(context), context.inference);
  StateFunctionTypes(graph, calls);
  RunWatch watch(graph, options.observer, options.stop_after, result.report);
  RunBook book;
  RunSetup setup{options, context, kept.nodes, watch, book};
  if (options.verify) setup.carried = CarriedValues(graph);
  RuleRun run(graph, program, std::move(params), setup, result.report);
  QR_RETURN_IF_ERROR(run.RunPhases());
  run.TellUnits();
  // A test of one rule is no run of its set.
  const bool whole = !watch.stopped() && options.only_rules.empty();
  if (whole) QR_RETURN_IF_ERROR(run.CheckHits());
  RunReport& report = result.report;
  report.changed =
      graph.changed() && (report.changes() > 0 || (report.cleaned && report.removed > 0));
  if (report.changed) {
    QR_RETURN_IF_ERROR(Finish(graph, rules.signatures, made, context, report));
  } else if (!changed_before) {
    graph.ClearDirty();  // what was unused is written as it was
    report.removed = 0;
  }
  if (options.verify) QR_RETURN_IF_ERROR(Verify(graph, setup.carried));
  if (!result.report.stopped) {
    QR_ASSIGN_OR_RETURN(result.files, run.MakeFiles());
  }
  report.nodes_after = report.changed || changed_before
                           ? static_cast<int64_t>(graph.num_alive_nodes())
                           : report.nodes_before;
  return {};
}

}  // namespace

Result<RunResult> Run(Graph& graph, const Program& program, const RunOptions& options,
                      const RunContext& context) {
  RunResult result;
  if (Status status = RunInto(graph, program, options, context, result); !status.ok()) {
    if (options.failed != nullptr) *options.failed = std::move(result.report);
    return status;
  }
  return result;
}

}  // namespace qrewrite
