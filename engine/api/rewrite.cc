#include "qrewrite/rewrite.h"

#include <algorithm>
#include <functional>
#include <utility>

#include <fmt/format.h>

#include "engine/api/model_impl.h"
#include "engine/api/rules_impl.h"
#include "engine/driver/driver.h"
#include "engine/onnx_io/inference.h"
#include "engine/rewrite/input_shapes.h"

namespace qrewrite {
namespace {

Report ToReport(RunResult result, const std::string& set) {
  Report report{.sets = {set},
                .rewrites = result.report.rewrites,
                .folded = result.report.folded,
                .removed = result.report.removed,
                .edits = result.report.edits,
                .kept = result.report.kept,
                .nodes_before = result.report.nodes_before,
                .nodes_after = result.report.nodes_after,
                .stopped = result.report.stopped,
                .units = std::move(result.report.units)};
  if (report.rewrites == 0) report.nearest = std::move(result.report.nearest);
  for (RuleCount& rule : result.report.rules) {
    report.rules.push_back(
        {std::move(rule.set), std::move(rule.rule), rule.fired, std::move(rule.counters)});
  }
  for (Finding& finding : result.report.warnings) {
    report.warnings.push_back({set, std::move(finding.rule), std::move(finding.text),
                               std::move(finding.op), std::move(finding.node),
                               std::move(finding.output), std::move(finding.notes)});
  }
  for (RuleCost& cost : result.report.profile) {
    RuleProfile& rule = report.profile.emplace_back(RuleProfile{.set = std::move(cost.set),
                                                                .rule = std::move(cost.rule),
                                                                .phase = std::move(cost.phase),
                                                                .seconds = cost.seconds,
                                                                .tried = cost.tried,
                                                                .fired = cost.fired,
                                                                .steps = cost.steps});
    for (RuleCost::Stop& stop : cost.stops) {
      rule.stops.push_back(
          {std::move(stop.text), std::move(stop.file), stop.line, stop.column, stop.count});
    }
    std::ranges::stable_sort(rule.stops, std::greater<>(), &RuleProfile::Stop::count);
  }
  std::ranges::stable_sort(report.profile, std::greater<>(), &RuleProfile::seconds);
  for (PhaseCost& cost : result.report.phases) {
    report.phases.push_back({std::move(cost.set), std::move(cost.phase), cost.seconds});
  }
  for (SidecarFile& file : result.files) {
    report.files.push_back({std::move(file.path), std::move(file.bytes), file.beside_model});
  }
  return report;
}

Status WarningsAsErrors(const Report& report) {
  std::vector<Diagnostic> diagnostics;
  for (const RewriteWarning& warning : report.warnings) {
    Diagnostic& diagnostic = diagnostics.emplace_back();
    diagnostic.message = warning.Text();
    diagnostic.notes = warning.notes;
  }
  return {StatusCode::kRefused, std::move(diagnostics)};
}

}  // namespace

Result<Report> Rewrite(Model& model, const Rules& rules, const RewriteOptions& options) {
  Model::Impl& impl = model.impl();
  QR_RETURN_IF_ERROR(impl.Usable());
  Graph& graph = impl.file->graph();
  if (impl.inference == nullptr) impl.inference = MakeOnnxInference();
  RunReport failed;
  const RunOptions run{.set = options.set,
                       .verify = options.verify,
                       .allow_partial = options.allow_partial,
                       .max_rewrites = options.max_rewrites,
                       .only_rules = {},
                       .skip_rules = options.skip_rules,
                       .keep = {.ops = options.keep_ops, .nodes = options.keep_nodes},
                       .observer = options.observer,
                       .stop_after = options.stop_after,
                       .profile = options.profile,
                       .require_hits = options.require_hits,
                       .nearest = options.nearest,
                       .failed = &failed};
  const RunContext context{.kernels = &rules.impl().kernels,
                           .functions = &rules.impl().functions,
                           .inference = impl.inference.get()};
  const bool was_changed = graph.changed();
  int64_t shaped = 0;
  if (!options.shapes.empty()) {
    QR_ASSIGN_OR_RETURN(shaped, FixInputShapes(graph, options.shapes));
  }
  const auto bytes_before = static_cast<int64_t>(graph.constant_bytes());
  // Stays if memory runs out: an exception leaves the model between two states.
  impl.poison = Status(StatusCode::kLimit, "memory ran out");
  Result<RunResult> result = Run(graph, *rules.impl().program, run, context);
  impl.poison = Status();
  const auto fail = [&](Status status) {
    // Parameters are looked at before anything is changed.
    if (graph.changed() && status.code() != StatusCode::kUsage) impl.poison = status;
    return status;
  };
  if (!result.ok()) {
    if (options.failed != nullptr) {
      *options.failed = ToReport({.report = std::move(failed), .files = {}}, rules.name());
    }
    return fail(result.status());
  }
  for (const SidecarFile& file : result->files) {
    if (!file.source.empty()) impl.read.push_back(file.source);
  }
  Report report = ToReport(*std::move(result), rules.name());
  report.edits += shaped;
  report.changed = report.rewrites + report.folded + report.removed + report.edits > 0 ||
                   (graph.changed() && !was_changed);
  report.bytes_before = bytes_before;
  report.bytes_after = static_cast<int64_t>(graph.constant_bytes());
  if (options.strict && !report.warnings.empty()) return fail(WarningsAsErrors(report));
  return report;
}

}  // namespace qrewrite
