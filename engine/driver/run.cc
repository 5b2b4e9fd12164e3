// A run of one rule set: what it is set up with, and its phases in order.
#include "engine/driver/run.h"

#include <algorithm>
#include <chrono>
#include <iterator>

#include <fmt/format.h>

#include "engine/base/diagnostics.h"
#include "engine/driver/explain.h"

namespace qrewrite {

const KernelRegistry& KernelsOf(const RunContext& context) {
  return context.kernels != nullptr ? *context.kernels : KernelRegistry::Builtin();
}

const HostFunctions& FunctionsOf(const RunContext& context) {
  static const auto* const none = new HostFunctions();
  return context.functions != nullptr ? *context.functions : *none;
}

Val EvalPlain(Interpreter& in, CodeId code, bool changed, bool folded) {
  Frame frame(in.program().plain());
  frame.Bind(0, changed);
  frame.Bind(1, folded);
  in.BeginBudget();
  return in.Eval(code, frame);
}

void ConfigureConstants(Interpreter& in, bool changed) {
  uint64_t max_bytes = uint64_t{64} << 20;
  if (in.program().max_bytes().valid()) {
    const std::optional<int64_t> bytes =
        in.Force(EvalPlain(in, in.program().max_bytes(), changed, false)).whole();
    if (bytes) max_bytes = static_cast<uint64_t>(std::max<int64_t>(*bytes, 0));
  }
  const ConstantsConfig& constants = in.rules().constants;
  in.facts().SetConstantsConfig(&constants.keep, max_bytes);
  if (constants.overridable) in.facts().TrustOverridable();
}

Params ParamsOfUsed(const RuleSet& used, const Params& given) {
  Params params;
  for (const Param& p : used.params) {
    const auto mine = given.find(p.name);
    params[p.name] = mine != given.end() ? mine->second : FromLiteral(p.default_value);
  }
  return params;
}

RuleRun::RuleRun(Graph& graph, const Program& program, Params params, const RunSetup& setup,
                 RunReport& report)
    : graph_(graph),
      program_(program),
      rules_(program.rules()),
      params_(std::move(params)),
      setup_(setup),
      options_(setup.options),
      context_(setup.context),
      watch_(setup.watch),
      report_(report),
      facts_(graph, rules_.signatures, KernelsOf(setup.context), setup.context.inference),
      hosts_(WatchedFunctions()),
      in_(graph, program, facts_, KernelsOf(setup.context), params_, hosts_),
      rewriter_(graph, in_),
      given_nodes_(graph.num_nodes()),
      given_values_(graph.num_values()) {
  rewriter_.set_accept(
      [this](const CompiledRule& rule, Frame& frame) { return TakeNotes(rule, frame); });
  rewriter_.set_found([this](const CompiledRule& rule, Frame& frame) { NoteSaid(rule, frame); });
  if (watch_.wanted()) in_.set_matched(&watch_.matched_nodes());
  ConfigureConstants(in_, changed());
  in_.Assume(options_.assumed);
  if (!setup.kept.empty()) {
    facts_.SetKeptNodes(&setup.kept);
    in_.SetKeptNodes(&setup.kept);
  }
}

Result<bool> RuleRun::When(CodeId when, const Place& place) {
  if (!when.valid()) return true;
  const Val truth = in_.Truth(EvalPlain(when));
  QR_RETURN_IF_ERROR(in_.host_fault());
  if (const bool* b = truth.get_if<bool>()) return *b;
  Diagnostic d{.span = place.span(), .message = "`when` cannot be decided: " + in_.Why(truth)};
  return Status(StatusCode::kInvalidRules, std::vector<Diagnostic>{d});
}

Status RuleRun::RunPhases() {
  if (!options_.only_rules.empty()) return RunOnly(options_.only_rules);
  for (const Phase& phase : rules_.phases) {
    QR_ASSIGN_OR_RETURN(const bool run, When(CodeOf(phase).when, phase.place));
    if (run) QR_RETURN_IF_ERROR(RunPhase(phase));
    if (!run && options_.explainer != nullptr) {
      options_.explainer->PhaseSkipped(
          rules_, phase, fmt::format("phase `{}` is left out by its `when`", phase.name));
    }
    if (watch_.stopped()) break;
  }
  WarnOfMistyped();
  return {};
}

// Rules of an opset upgrade run in the upgrade they belong to, others in a phase of their own.
Status RuleRun::RunOnly(std::vector<std::string> names) {
  for (const Phase& phase : rules_.phases) {
    if (phase.kind != PhaseKind::kToOpset) continue;
    const auto listed = [&](const std::string& name) {
      return std::find(phase.rules.begin(), phase.rules.end(), name) != phase.rules.end();
    };
    std::vector<std::string> rules;
    std::copy_if(names.begin(), names.end(), std::back_inserter(rules), listed);
    if (rules.empty()) continue;
    std::erase_if(names, listed);
    QR_RETURN_IF_ERROR(ToOpset(phase, rules));
  }
  if (names.empty()) return {};
  Phase phase;
  phase.name = "test";
  phase.rules = std::move(names);
  return RunPhase(phase);
}

// In order. A phase that is none of the set, as RunOnly makes them, has names alone.
std::vector<const CompiledRule*> RuleRun::RulesOf(const Phase& phase) const {
  const bool of_set =
      std::ranges::any_of(rules_.phases, [&](const Phase& p) { return &p == &phase; });
  if (of_set) return CodeOf(phase).rules;
  std::vector<const CompiledRule*> rules;
  for (const std::string& name : phase.rules) {
    if (const Rule* rule = rules_.FindRule(name)) rules.push_back(&Compiled(*rule));
  }
  return rules;
}

Status RuleRun::RunPhase(const Phase& phase) {
  QR_RETURN_IF_ERROR(watch_.Phase(rules_, phase, /*ends=*/false));
  if (options_.explainer != nullptr) options_.explainer->PhaseBegins(*this, phase);
  for (const std::string& name : phase.rules) setup_.book.had_turn.insert(rules_.FindRule(name));
  const auto began = std::chrono::steady_clock::now();
  if (!watch_.stopped()) QR_RETURN_IF_ERROR(RunWatched(phase));
  if (options_.profile) {
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - began;
    report_.phases.push_back({rules_.name, phase.name, took.count()});
  }
  if (options_.explainer != nullptr) options_.explainer->PhaseEnds(*this, phase);
  QR_RETURN_IF_ERROR(in_.host_fault());
  QR_RETURN_IF_ERROR(Refusals());
  if (options_.nearest && report_.rewrites == 0) NoteNearest(phase);
  return watch_.Phase(rules_, phase, /*ends=*/true);
}

Status RuleRun::RunWatched(const Phase& phase) {
  switch (phase.kind) {
    case PhaseKind::kRules: return FixedPoint(phase);
    case PhaseKind::kFold: return FoldPhase(phase);
    case PhaseKind::kFreezeInputs: return FreezeInputs();
    case PhaseKind::kInline: return InlineFunctions();
    case PhaseKind::kToOpset: return ToOpset(phase, phase.rules);
    case PhaseKind::kWriteDefaults: return WriteDefaults(phase);
    case PhaseKind::kWriteShapes: return WriteShapes();
    case PhaseKind::kRename: return RenameAll(phase);
    case PhaseKind::kUse: return UsePhase(phase);
  }
  return {};
}

void RuleRun::ForgetAll() {
  ordered_ = false;
  facts_.ForgetTypes();
  in_.ForgetAllFacts();
  in_.ForgetDefaults();
  rewriter_.ForgetIndexes();
}

}  // namespace qrewrite
