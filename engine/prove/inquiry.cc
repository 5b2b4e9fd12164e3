#include "engine/prove/inquiry.h"

#include <algorithm>
#include <cmath>
#include <map>

#include <fmt/format.h>

#include "engine/base/diagnostics.h"
#include "engine/base/message.h"
#include "engine/graph/find.h"
#include "engine/graph/verify.h"
#include "engine/prove/changed_values.h"
#include "engine/prove/guards.h"
#include "engine/prove/promised.h"
#include "engine/prove/seven_bits.h"
#include "engine/prove/variation.h"

namespace qrewrite {
namespace {

// Whether there is an input of which nobody knows how many axes it has.
bool HasOpenRank(const Graph& graph) {
  return std::ranges::any_of(graph.inputs(), [&](ValueId v) {
    return graph.constant(v) == nullptr && !graph.declared(v).has_rank;
  });
}

}  // namespace

int64_t Inquiry::Apply(Graph& graph, Trial& trial) {
  const Result<RunResult> result =
      Run(graph, court_.program, task_.Options(assumed_), court_.context);
  if (!result.ok()) {
    const StatusCode code = result.status().code();
    // What a function of the host cannot take ends the run, unless the graph is none that runs.
    const bool broken = code == StatusCode::kLimit || (code == StatusCode::kCallback &&
                                                       LargestNumber(court_, given_).has_value());
    trial.Set(broken ? Trial::Fate::kBroken : Trial::Fate::kQuiet, Message(result.status()));
    return 0;
  }
  for (const RuleCount& count : result->report.rules) {
    if (count.fired > 0) trial.fired.push_back(count.rule);
  }
  trial.fate = Trial::Fate::kQuiet;
  if (trial.fired.empty()) return 0;
  return result->report.rewrites;
}

bool Inquiry::Hold(const Graph& changed, Promise promise, Trial& trial) {
  const bool rescaled = promise.kind == Promise::Kind::kRescaled;
  if (promise.kind == Promise::Kind::kNone || (rescaled && !HaveSameInputs(given_, changed))) {
    trial.Set(Trial::Fate::kUnknown, rescaled ? "its inputs are in other units"
                                              : "the rule promises nothing (`equivalence:`)");
    return false;
  }
  if (rescaled) AddUnits(given_, changed, promise);
  read_ = ReadByRule(given_, changed);
  const Result<Model> a = Lowered(court_, given_, rescaled);
  const Result<Model> b = Lowered(court_, changed, rescaled);
  if (!a.ok() || !b.ok()) {
    trial.Set(Trial::Fate::kUnknown, Message(a.ok() ? b.status() : a.status()));
    return false;
  }
  const Pair pair{*a, *b};
  CompareAtSizes(pair, promise, trial.of_data && !ChangesConstantsAlone(given_, changed), trial);
  JudgeOwnOperators(pair, trial);
  bool turned = false;
  if (trial.fate == Trial::Fate::kHeld && !trial.of_data && HasOpenRank(given_)) {
    Trial other = trial;
    other.types.clear();
    Compare(pair, promise, {.turned = true}, other);
    turned = other.fate == Trial::Fate::kBroken;
    if (turned) trial = other;
  }
  if (trial.fate == Trial::Fate::kBroken) AcquitWhereMade(changed, promise, turned, trial);
  return turned;
}

Trial Inquiry::Try() {
  Trial trial;
  Graph changed = given_;
  const int64_t rewrites = Apply(changed, trial);
  if (rewrites == 0) return trial;
  trial.kind = KindOf(given_);
  if (const Status status = Verify(changed); !status.ok()) {
    trial.Set(Trial::Fate::kBroken, "the result is no valid graph: " + Message(status));
    return trial;
  }
  const Promise promise = PromiseOf(court_, trial.fired, given_, task_.other_steps);
  trial.of_data = promise.kind == Promise::Kind::kApprox && promise.limit < kAnySizeDb;
  const bool turned = Hold(changed, promise, trial);
  if (trial.fate == Trial::Fate::kBroken) AcquitEachTime(rewrites, turned, trial);
  const Promise weakest = WeakestOf(court_.program.rules(), trial.fired);
  trial.promised = weakest.kind, trial.limit = weakest.limit;
  if (trial.excuse == Excuse::kNone) trial.excuse = ExcuseOf(promise, weakest);
  if (trial.excuse == Excuse::kNone && std::isnan(trial.margin)) trial.excuse = Excuse::kByOne;
  if (trial.fate == Trial::Fate::kBroken) Dismiss(trial);
  // The kernels cut off nothing.
  const bool by_runtime = trial.fate == Trial::Fate::kBroken && trial.by_runtime;
  if (by_runtime && IsOfCutOffSums())
    trial.Set(Trial::Fate::kUnknown, "the runtime cuts off sums of 8 bits on this machine");
  return trial;
}

void Inquiry::JudgeOwnOperators(const Pair& pair, Trial& trial) {
  const Graph& given = GraphOf(pair.before);
  const Graph& graph = GraphOf(pair.after);
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
    trial.Set(Trial::Fate::kUnknown,
              fmt::format("no sample gets to {}, which nobody can run", op.text()));
    return;
  }
}

void Inquiry::AddWhyNotSpelledOut(const Graph& after, Trial& trial) {
  const auto has_own = [&] {
    for (size_t i = 0; i < after.num_ops(); ++i) {
      const std::string rule = "computes " + after.op_name(OpId(i)).text();
      if (after.num_nodes(OpId(i)) > 0 && court_.semantics->rules().FindRule(rule) != nullptr)
        return true;
    }
    return false;
  };
  if (court_.semantics == nullptr || memory_.asked_semantics || !has_own()) return;
  memory_.asked_semantics = true;
  Graph copy = after;
  const std::string why = WhyNothingFired(copy, *court_.semantics, {}, court_.context);
  if (!why.empty()) trial.why += "; " + why;
}

void Inquiry::Dismiss(Trial& trial) {
  if (IsRefusedBefore()) {
    trial.Set(Trial::Fate::kInvalid, "the rule set refuses the graph before the rule has its turn");
    return;
  }
  const auto excluded = [&](const SizedTypes& types) { return IsExcludedAtRunTime(trial, types); };
  if (!assumed_.valid() && std::ranges::any_of(trial.types, excluded))
    trial.Set(Trial::Fate::kInvalid, "sizes that were open are ones that a condition excludes");
}

// Whether rules of an earlier phase than that of the task's would have ended the run. Where no phase has these there is
// none before them.
bool Inquiry::IsRefusedBefore() const {
  const RuleSet& rules = court_.program.rules();
  RunOptions options;
  options.set = task_.set;
  bool has_turn = false;
  for (const Phase& phase : rules.phases) {
    const bool turn = std::any_of(phase.rules.begin(), phase.rules.end(), [&](const auto& name) {
      return std::find(task_.rules.begin(), task_.rules.end(), name) != task_.rules.end();
    });
    has_turn |= turn;
    if (turn) break;
    for (const std::string& name : phase.rules) {
      if (rules.FindRule(name)->refuse) options.only_rules.push_back(name);
    }
  }
  if (!has_turn || task_.rules.empty() || options.only_rules.empty()) return false;
  Graph copy = given_;
  return Run(copy, court_.program, options, court_.context).status().code() == StatusCode::kRefused;
}

// Whether the sizes that were open are, at run time, ones that a condition of a rule that fired excludes: it said
// `not sure(...)`, and takes what nobody knows for what fits.
bool Inquiry::IsExcludedAtRunTime(const Trial& trial, const SizedTypes& types) const {
  Graph closed = given_;
  return CloseSizes(closed, types) &&
         std::ranges::any_of(trial.fired, [&](const std::string& name) {
           const CompiledRule& rule =
               *court_.program.FindRule(*court_.program.rules().FindRule(name));
           const std::vector<Guard> guards = GuardsOf(court_.program, rule);
           return StoppedBy(closed, court_.program, rule, guards, task_, court_.context).fewest > 0;
         });
}

bool Inquiry::IsOfCutOffSums() const {
  if (!court_.cuts_off_sums || court_.of_seven_bits) return false;
  Graph narrow = given_;
  const bool constants = NarrowConstants(narrow);
  if (!constants && !HasInputOfEightBits(given_)) return false;
  Court court = court_;
  court.of_seven_bits = true;
  Memory memory;
  return Inquiry(court, memory, narrow, task_, assumed_).Try().fate != Trial::Fate::kBroken;
}

}  // namespace qrewrite
