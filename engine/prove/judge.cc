#include "engine/prove/judge.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

#include <fmt/format.h>

#include "engine/api/constant.h"
#include "engine/api/model_impl.h"
#include "engine/base/diagnostics.h"
#include "engine/graph/find.h"
#include "engine/graph/verify.h"
#include "engine/prove/guards.h"
#include "engine/prove/scales.h"
#include "engine/prove/units.h"
#include "engine/prove/variation.h"
#include "engine/rewrite/edit.h"
#include "engine/verify/small_integers.h"

namespace qrewrite {
namespace {

// Whether there is an input of which nobody knows how many axes it has.
bool HasOpenRank(const Graph& graph) {
  return std::ranges::any_of(graph.body(graph.main()).inputs, [&](ValueId v) {
    return graph.constant(v) == nullptr && !graph.declared(v).has_rank;
  });
}

}  // namespace

Result<Model> ModelOf(const Graph& graph) {
  // ir_version 10 and a graph without nodes, named g.
  static constexpr char kEmpty[] = {0x08, 0x0a, 0x3a, 0x03, 0x12, 0x01, 'g'};
  QR_ASSIGN_OR_RETURN(Model model, Model::Parse(std::string(kEmpty, sizeof kEmpty)));
  Graph& inside = model.impl().file->graph();
  inside = graph;
  inside.ir_version = std::max<int64_t>(graph.ir_version, 8);
  inside.MarkChanged();
  return model;
}

RunOptions Task::Options(CodeId assumed) const {
  RunOptions options;
  options.set = set;
  options.only_rules = rules;
  options.assumed = assumed;
  options.max_rewrites = 200;
  return options;
}

int64_t Judge::Apply(Graph& graph, const Task& task, CodeId assumed, Trial& trial) {
  const Result<RunResult> result =
      Run(graph, court_.program, task.Options(assumed), court_.context);
  if (!result.ok()) {
    const StatusCode code = result.status().code();
    // What a function of the host cannot take ends the run, unless the graph is none that runs.
    const bool broken = code == StatusCode::kLimit ||
                        (code == StatusCode::kCallback && LargestNumber(*given_).has_value());
    trial.fate = broken ? Trial::Fate::kBroken : Trial::Fate::kQuiet;
    trial.why = Message(result.status());
    return 0;
  }
  for (const RuleCount& count : result->report.rules) {
    if (count.fired > 0) trial.fired.push_back(count.rule);
  }
  trial.fate = Trial::Fate::kQuiet;
  if (trial.fired.empty()) return 0;
  return result->report.rewrites;
}

bool Judge::Hold(const Graph& graph, const Graph& changed, Promise promise, Trial& trial) {
  const bool rescaled = promise.kind == Promise::Kind::kRescaled;
  if (promise.kind == Promise::Kind::kNone || (rescaled && !HaveSameInputs(graph, changed))) {
    trial.fate = Trial::Fate::kUnknown;
    trial.why =
        rescaled ? "its inputs are in other units" : "the rule promises nothing (`equivalence:`)";
    return false;
  }
  if (rescaled) AddUnits(graph, changed, promise);
  read_ = ReadByRule(graph, changed);
  const Result<Model> a = Lowered(graph, rescaled);
  const Result<Model> b = Lowered(changed, rescaled);
  if (!a.ok() || !b.ok()) {
    trial.fate = Trial::Fate::kUnknown;
    trial.why = Message(a.ok() ? b.status() : a.status());
    return false;
  }
  CompareAtSizes(*a, *b, promise, trial.of_data && !ChangesConstantsAlone(graph, changed), trial);
  JudgeOwnOperators(*a, *b, trial);
  bool turned = false;
  if (trial.fate == Trial::Fate::kHeld && !trial.of_data && HasOpenRank(graph)) {
    Trial other = trial;
    other.types.clear();
    Compare(*a, *b, promise, 1, /*turned=*/true, other);
    turned = other.fate == Trial::Fate::kBroken;
    if (turned) trial = other;
  }
  if (trial.fate == Trial::Fate::kBroken) AcquitWhereMade(graph, changed, promise, turned, trial);
  return turned;
}

Trial Judge::Try(const Graph& graph, const Task& task, CodeId assumed) {
  Trial trial;
  given_ = &graph;
  is_smooth_ = false;
  Graph changed = graph;
  const int64_t rewrites = Apply(changed, task, assumed, trial);
  if (rewrites == 0) return trial;
  trial.kind = KindOf(graph);
  if (const Status status = Verify(changed); !status.ok()) {
    trial.fate = Trial::Fate::kBroken;
    trial.why = "the result is no valid graph: " + Message(status);
    return trial;
  }
  const Promise promise = PromiseOf(trial.fired, graph, task.other_steps);
  trial.of_data = promise.kind == Promise::Kind::kApprox && promise.limit < kAnySizeDb;
  const bool turned = Hold(graph, changed, promise, trial);
  if (trial.fate == Trial::Fate::kBroken)
    AcquitEachTime(graph, task, assumed, rewrites, turned, trial);
  const Promise weakest = WeakestOf(trial.fired);
  trial.promised = weakest.kind, trial.limit = weakest.limit;
  if (trial.excuse == Excuse::kNone) trial.excuse = ExcuseOf(promise, weakest);
  if (trial.excuse == Excuse::kNone && std::isnan(trial.margin)) trial.excuse = Excuse::kByOne;
  if (trial.fate == Trial::Fate::kBroken) Dismiss(graph, task, assumed, trial);
  // The kernels cut off nothing.
  const bool by_runtime = trial.fate == Trial::Fate::kBroken && trial.by_runtime;
  if (by_runtime && IsOfCutOffSums(graph, task, assumed)) {
    trial.fate = Trial::Fate::kUnknown;
    trial.why = "the runtime cuts off sums of 8 bits on this machine";
  }
  return trial;
}

void Judge::JudgeOwnOperators(const Model& before, const Model& after, Trial& trial) {
  const Graph& given = std::as_const(*before.impl().file).graph();
  const Graph& graph = std::as_const(*after.impl().file).graph();
  if (trial.fate == Trial::Fate::kUnknown) AddWhyNotSpelledOut(graph, trial);
  if (trial.fate != Trial::Fate::kHeld) return;
  const std::map<OpName, BodyId> functions = LocalFunctions(graph);
  for (size_t i = 0; i < graph.num_ops(); ++i) {
    const OpName& op = graph.op_name(OpId(i));
    const OpId known = given.FindOp(op.domain, op.name);
    const size_t had = known.valid() ? given.num_nodes(known) : 0;
    if (graph.num_nodes(OpId(i)) <= had) continue;
    if (Signatures::Builtin().Newest(op.domain, op.name) != nullptr || functions.contains(op))
      continue;
    if (court_.context.kernels->Has(op.domain, op.name)) continue;  // a host's
    trial.fate = Trial::Fate::kUnknown;
    trial.why = fmt::format("no sample gets to {}, which nobody can run", op.text());
    return;
  }
}

void Judge::AddWhyNotSpelledOut(const Graph& after, Trial& trial) {
  const auto has_own = [&] {
    for (size_t i = 0; i < after.num_ops(); ++i) {
      const std::string rule = "computes " + after.op_name(OpId(i)).text();
      if (after.num_nodes(OpId(i)) > 0 && court_.semantics->rules().FindRule(rule) != nullptr)
        return true;
    }
    return false;
  };
  if (court_.semantics == nullptr || asked_semantics_ || !has_own()) return;
  asked_semantics_ = true;
  Graph copy = after;
  const std::string why = WhyNothingFired(copy, *court_.semantics, {}, court_.context);
  if (!why.empty()) trial.why += "; " + why;
}

// What the rule is not for is no fault of it.
void Judge::Dismiss(const Graph& graph, const Task& task, CodeId assumed, Trial& trial) const {
  if (IsRefusedBefore(graph, task)) {
    trial.fate = Trial::Fate::kInvalid;
    trial.why = "the rule set refuses the graph before the rule has its turn";
    return;
  }
  const auto excluded = [&](const SizedTypes& types) {
    return IsExcludedAtRunTime(graph, task, trial, types);
  };
  if (!assumed.valid() && std::ranges::any_of(trial.types, excluded)) {
    trial.fate = Trial::Fate::kInvalid;
    trial.why = "sizes that were open are ones that a condition excludes";
  }
}

Result<Model> Judge::Lowered(const Graph& graph, bool in_units) const {
  Graph lowered = graph;
  if (court_.semantics != nullptr)
    QR_RETURN_IF_ERROR(Run(lowered, *court_.semantics, {}, court_.context).status());
  const Signatures& signatures = court_.program.rules().signatures;
  if (court_.any_type) {
    CastSmallIntegers(lowered, signatures);
    Facts facts(lowered, signatures, KernelRegistry::Builtin(), court_.context.inference);
    CastForDequantizers(lowered, signatures, facts);
  }
  if (!in_units) return ModelOf(lowered);
  if (!AddReadingInUnits(lowered, signatures))
    return Status(StatusCode::kUnsupported,
                  "what stands in bodies, or has a scale of run time, is not read in units");
  return ModelOf(lowered);
}

// Whether rules of an earlier phase than that of the task's would have ended the run. Where no phase has these there is
// none before them.
bool Judge::IsRefusedBefore(const Graph& graph, const Task& task) const {
  const RuleSet& rules = court_.program.rules();
  RunOptions options;
  options.set = task.set;
  bool has_turn = false;
  for (const Phase& phase : rules.phases) {
    const bool turn = std::any_of(phase.rules.begin(), phase.rules.end(), [&](const auto& name) {
      return std::find(task.rules.begin(), task.rules.end(), name) != task.rules.end();
    });
    has_turn |= turn;
    if (turn) break;
    for (const std::string& name : phase.rules) {
      if (rules.FindRule(name)->refuse) options.only_rules.push_back(name);
    }
  }
  if (!has_turn || task.rules.empty() || options.only_rules.empty()) return false;
  Graph copy = graph;
  return Run(copy, court_.program, options, court_.context).status().code() == StatusCode::kRefused;
}

// Whether the sizes that were open are, at run time, ones that a condition of a rule that fired excludes: it said
// `not sure(...)`, and takes what nobody knows for what fits.
bool Judge::IsExcludedAtRunTime(const Graph& graph, const Task& task, const Trial& trial,
                                const SizedTypes& types) const {
  Graph closed = graph;
  return CloseSizes(closed, types) &&
         std::ranges::any_of(trial.fired, [&](const std::string& name) {
           const CompiledRule& rule =
               *court_.program.FindRule(*court_.program.rules().FindRule(name));
           const std::vector<Guard> guards = GuardsOf(court_.program, rule);
           return StoppedBy(closed, court_.program, rule, guards, task, court_.context).fewest > 0;
         });
}

}  // namespace qrewrite
