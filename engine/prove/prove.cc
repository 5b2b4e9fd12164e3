// Prove(): graphs from tests and their variations, rule by rule.
#include "qrewrite/prove.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <optional>
#include <set>

#include <fmt/format.h>

#include "engine/api/rules_impl.h"
#include "engine/base/diagnostics.h"
#include "engine/base/lines.h"
#include "engine/driver/find_matches.h"
#include "engine/driver/rule_tests.h"
#include "engine/onnx_io/inference.h"
#include "engine/prove/guards.h"
#include "engine/prove/judge.h"
#include "engine/prove/variation.h"
#include "engine/rule/literal.h"
#include "engine/tensor/buffer.h"
#include "engine/text/graph_text.h"
#include "engine/verify/inputs.h"

namespace qrewrite {
namespace {

constexpr int kAttempts = 12;    // variations that are made for each valid one, at most
constexpr int kMostChanges = 4;  // of a variation
constexpr size_t kMostKeptChanges = 10, kMostFound = 300;
constexpr int kGuardTrials = 60;            // runs without a condition
constexpr int kPins = 6;                    // tests that a condition could have, to choose from
constexpr int64_t kMostComputed = 1 << 22;  // elements of a tensor,
constexpr int64_t kMostOfTests = 1 << 26;   // of the tests as somebody wrote them
constexpr int kShrinkSteps = 400;
constexpr double kKeepsNumbersDb = 60;  // rules that promise less are about calibrated data
constexpr int64_t kOldestOpset = 7, kNewestOpset = 26;

// A graph that somebody wrote, and what is to be run on it.
struct Seed {
  const Rule* owner = nullptr;  // of the test; null: a test of the file
  bool fires = false;           // the test expects a change
  Graph graph;
  Task task;
};

std::vector<Seed> SeedsOf(const RuleSet& rules) {
  std::vector<Seed> seeds;
  const SourceText* own = rules.sources.empty() ? nullptr : rules.sources.front().get();
  const auto add = [&](const Rule* rule, const RuleTest& test) {
    BuildOptions build;
    for (const auto& [domain, version] : test.opset) build.opset[domain] = version;
    Seed seed{.owner = rule,
              .fires = test.expect.has_value(),
              .graph = {},
              .task = {.rules = test.rules, .set = {}}};
    if (!BuildGraph(test.given, rules.signatures, build, seed.graph).ok()) return;
    for (const auto& [name, value] : test.set) seed.task.set[name] = LiteralText(value);
    if (seed.task.rules.empty() && rule != nullptr && !test.whole_set)
      seed.task.rules = {rule->name};
    seeds.push_back(std::move(seed));
  };
  for (const Rule& rule : rules.rules) {
    if (own != nullptr && rule.place.source != own) continue;
    for (const RuleTest& test : rule.tests) add(&rule, test);
  }
  for (const RuleTest& test : rules.tests) add(nullptr, test);
  return seeds;
}

// Operators that a pattern names.
void AddOps(const Program& program, const Pattern& pattern, std::set<int>& seen,
            std::set<OpName>& ops);

void AddOps(const Program& program, const PatArg& arg, std::set<int>& seen, std::set<OpName>& ops) {
  for (const PatArg& member : arg.group) AddOps(program, member, seen, ops);
  if (arg.call == nullptr) return;
  for (const OpPattern& p : arg.call->ops.patterns) {
    if (!p.wildcard && !arg.call->ops.negated) ops.insert(p.op);
  }
  for (const PatArg& inner : arg.call->args) AddOps(program, inner, seen, ops);
  if (arg.call->definition < 0 || !seen.insert(arg.call->definition).second) return;
  for (const CompiledCase& c : program.definition(arg.call->definition).cases)
    AddOps(program, c.pattern, seen, ops);
}

void AddOps(const Program& program, const Pattern& pattern, std::set<int>& seen,
            std::set<OpName>& ops) {
  for (const PatStmt& stmt : pattern.stmts) AddOps(program, stmt.value, seen, ops);
}

// The graph as a test of the rule, to be pasted below `tests:`.
std::string TestText(const Graph& graph, const Task& task, const std::string& name,
                     const std::string& expect = "unchanged") {
  std::string text = fmt::format("- name: {}\n", name);
  const auto opset = graph.opset().find("");
  if (opset != graph.opset().end() && opset->second != 21)
    text += fmt::format("  opset: {}\n", opset->second);
  if (!task.set.empty()) {
    text += "  set: {";
    for (const auto& [key, value] : task.set)
      text += fmt::format("{}{}: {}", text.ends_with('{') ? "" : ", ", key, value);
    text += "}\n";
  }
  text += "  given: |\n";
  text += Indented(PrintGraph(graph, graph.main(), {.max_elements = 64}), 4);
  return text + "  expect: " + expect + "\n";
}

// The proof of one rule.
class RuleProof {
 public:
  RuleProof(const Court& court, const ProveOptions& options, const Rule& rule,
            std::vector<const Seed*> seeds)
      : court_(court),
        options_(options),
        rule_(rule),
        compiled_(*court.program.FindRule(rule)),
        seeds_(std::move(seeds)),
        judge_(court) {
    report_.name = rule.name;
    const SourceSpan span = rule.place.span();
    report_.file = span.file;
    report_.line = span.line;
    report_.equivalence = rule.equivalence;
    Learn();
    if (options.guards) guards_ = GuardsOf(court.program, compiled_);
    const ComputedElementsLimit limit(kMostOfTests);
    for (Guard& guard : guards_)
      guard.report.pinned = TestsNeed(court.program, rule, guard.code, court.context);
  }

  ProvenRule Run() {
    using Clock = std::chrono::steady_clock;
    const Clock::time_point end =
        Clock::now() + std::chrono::microseconds(static_cast<int64_t>(options_.seconds * 1e6));
    std::erase_if(seeds_, [&](const Seed* seed) { return !IsCalibrated(*seed); });
    for (const Seed* seed : seeds_) {
      if (Graph graph; Make(*seed, {}, graph)) TryOne(*seed, {}, graph);
    }
    const uint64_t base = HashBytes(std::as_bytes(std::span(rule_.name)), options_.seed);
    const int64_t attempts = int64_t{kAttempts} * options_.graphs;
    for (int64_t i = 0; i < attempts && report_.graphs < options_.graphs && !seeds_.empty(); ++i) {
      if (options_.seconds > 0 && Clock::now() > end) break;
      if (report_.outcome == ProvenRule::Outcome::kRefuted) break;
      Dice dice(HashMix(base, static_cast<uint64_t>(i)));
      TryChanged(dice);
    }
    Finish();
    return std::move(report_);
  }

 private:
  void Learn() {
    for (const Seed* seed : seeds_) words_.Learn(seed->graph);
    std::set<int> seen;
    std::set<OpName> ops;
    AddOps(court_.program, compiled_.pattern, seen, ops);
    for (const OpName& op : ops) {
      if (std::find(words_.ops.begin(), words_.ops.end(), op) == words_.ops.end())
        words_.ops.push_back(op);
    }
    const RuleSet& set = court_.program.rules();
    words_.first_opset = std::max({kOldestOpset, rule_.opset_min, set.opset_min});
    words_.last_opset =
        std::max(words_.first_opset, std::min({kNewestOpset, rule_.opset_max, set.opset_max}));
    const Promise promise = Promise::Of(rule_.equivalence);
    words_.keeps_numbers =
        promise.kind == Promise::Kind::kApprox && promise.limit < kKeepsNumbersDb;
  }

  // A promise about calibrated data means nothing where the numbers of a test, which it was written
  // with, do not keep it.
  bool IsCalibrated(const Seed& seed) {
    Graph graph;
    if (!words_.keeps_numbers || !seed.fires || !Make(seed, {}, graph)) return true;
    const Trial trial = judge_.Try(graph, TaskFor(seed));
    if (trial.fate != Trial::Fate::kBroken) return true;
    report_.why = "its quantizers are not made for numbers of any size: " + trial.why;
    return false;
  }

  // The seed with these changes. False: it is no valid model.
  bool Make(const Seed& seed, const std::vector<uint64_t>& changes, Graph& graph) {
    graph = seed.graph;
    for (const uint64_t change : changes) {
      Dice dice(change);
      Vary(graph, words_, court_.program.rules().signatures, dice);
    }
    return judge_.Prepare(graph).empty();
  }

  bool Fired(const Trial& trial) const {
    return std::find(trial.fired.begin(), trial.fired.end(), rule_.name) != trial.fired.end();
  }

  // A seed with some changes, or a graph that showed something with one or two more.
  void TryChanged(Dice& dice) {
    const bool further = !found_.empty() && !dice.Once(3);
    const Found* from = further ? &found_[dice.Below(found_.size())] : nullptr;
    const Seed& seed = further ? *from->seed : *seeds_[dice.Below(seeds_.size())];
    std::vector<uint64_t> changes = further ? from->changes : std::vector<uint64_t>();
    const size_t known = changes.size();
    changes.resize(known + static_cast<size_t>(dice.Integer(1, further ? 2 : kMostChanges)));
    Graph graph = further ? from->graph : seed.graph;
    for (size_t i = known; i < changes.size(); ++i) {
      changes[i] = static_cast<uint64_t>(dice.Integer(0, INT64_MAX));
      Dice change(changes[i]);
      Vary(graph, words_, court_.program.rules().signatures, change);
    }
    if (judge_.Prepare(graph).empty()) TryOne(seed, changes, graph);
  }

  // The rule fired, or one condition kept it from that: what is near shows more.
  void Keep(const Seed& seed, const std::vector<uint64_t>& changes, const Graph& graph) {
    if (changes.size() > kMostKeptChanges || !kinds_.insert(KindOf(graph)).second) return;
    if (found_.size() < kMostFound)
      found_.push_back({&seed, changes, graph});
    else
      found_[static_cast<size_t>(report_.graphs) % kMostFound] = {&seed, changes, graph};
  }

  void TryOne(const Seed& seed, const std::vector<uint64_t>& changes, const Graph& graph) {
    const Task task = TaskFor(seed);
    const Trial trial = judge_.Try(graph, task);
    if (trial.fate == Trial::Fate::kInvalid) return;
    ++report_.graphs;
    switch (trial.fate) {
      case Trial::Fate::kInvalid: break;
      case Trial::Fate::kQuiet: Watch(seed, changes, graph, task); break;
      case Trial::Fate::kHeld:
        report_.fired += Fired(trial);
        if (Fired(trial)) CountHeld(trial);
        if (Fired(trial)) Keep(seed, changes, graph);
        WatchCases(seed, changes, graph, task);
        break;
      case Trial::Fate::kUnknown:
        report_.fired += Fired(trial);
        if (Fired(trial) && report_.why.empty()) report_.why = trial.why;
        break;
      case Trial::Fate::kBroken:
        ++report_.fired, ++report_.compared;
        if (report_.outcome != ProvenRule::Outcome::kRefuted) Refute(seed, changes, task);
        break;
    }
  }

  // Rules that need others, as tests list them, are run with these.
  Task TaskFor(const Seed& seed) const {
    Task task = seed.task;
    const auto& rules = task.rules;
    const bool listed = std::find(rules.begin(), rules.end(), rule_.name) != rules.end();
    if (!rules.empty() && !listed) task.rules = {rule_.name};
    return task;
  }

  void CountHeld(const Trial& trial) {
    const bool decibels = Promise::Of(rule_.equivalence).kind == Promise::Kind::kApprox;
    if (report_.compared++ == 0)
      report_.margin = trial.margin;
    else
      report_.margin = decibels ? std::min(report_.margin, trial.margin)
                                : std::max(report_.margin, trial.margin);
  }

  void Refute(const Seed& seed, const std::vector<uint64_t>& changes, const Task& task) {
    std::string why;
    const Graph small = Broken(seed, changes, task, {}, &why);
    report_.outcome = ProvenRule::Outcome::kRefuted;
    report_.why = why;
    report_.counterexample = TestText(small, task, "a counterexample");
  }

  // A graph on which nothing fired: which condition alone was in the way, and rightly so?
  void Watch(const Seed& seed, const std::vector<uint64_t>& changes, const Graph& graph,
             const Task& task) {
    if (guards_.empty()) return;
    const std::vector<size_t> alone =
        AloneInTheWay(graph, court_.program, compiled_, guards_, task, court_.context);
    if (!alone.empty()) Keep(seed, changes, graph);
    for (const size_t i : alone) {
      ++guards_[i].report.alone;
      LeaveOut(guards_[i], seed, changes, graph, task);
      Pin(guards_[i], seed, changes, task);
    }
  }

  // A graph on which the rule fired: what if another case had been taken?
  void WatchCases(const Seed& seed, const std::vector<uint64_t>& changes, const Graph& graph,
                  const Task& task) {
    for (Guard& guard : guards_) {
      if (!guard.of_case) continue;
      LeaveOut(guard, seed, changes, graph, task);
      Pin(guard, seed, changes, task);
    }
  }

  // A test that a condition without one could have: the shortest of a few.
  void Pin(Guard& guard, const Seed& seed, const std::vector<uint64_t>& changes, const Task& task) {
    if (guard.report.pinned || guard.pins >= kPins) return;
    const auto tells = [&](const Graph& graph) {
      return ResultOn(graph, court_.program, task, court_.context) !=
             ResultOn(graph, court_.program, task, court_.context, guard.code);
    };
    Graph graph;
    if (!Make(seed, changes, graph) || !tells(graph)) return;
    ++guard.pins;
    graph = Shrink(seed, changes, tells);
    const std::string expect = ResultOn(graph, court_.program, task, court_.context);
    std::string text = TestText(graph, task, "pins `" + guard.report.text + "`", expect);
    std::string& best = guard.report.pin;
    if (best.empty() || text.size() < best.size()) best = std::move(text);
  }

  void LeaveOut(Guard& guard, const Seed& seed, const std::vector<uint64_t>& changes,
                const Graph& graph, const Task& task) {
    using Outcome = ProvenCondition::Outcome;
    if (guard.report.outcome == Outcome::kNeeded || guard.tried >= kGuardTrials) return;
    ++guard.tried;
    const Trial trial = judge_.Try(graph, task, guard.code);
    // Held, or nothing fires without it either.
    const bool idle = trial.fate == Trial::Fate::kHeld || trial.fate == Trial::Fate::kQuiet;
    if (idle && (trial.fate == Trial::Fate::kHeld || !guard.of_case))
      guard.report.outcome = Outcome::kNotNeeded;
    if (trial.fate != Trial::Fate::kBroken) return;
    const Graph small = Broken(seed, changes, task, guard.code, nullptr);
    guard.report.outcome = Outcome::kNeeded;
    guard.report.counterexample = TestText(small, task, "needs `" + guard.report.text + "`");
  }

  // The smallest graph that is found which still breaks the promise.
  Graph Broken(const Seed& seed, const std::vector<uint64_t>& changes, const Task& task,
               CodeId assumed, std::string* why) {
    return Shrink(seed, changes, [&](const Graph& graph) {
      const Trial trial = judge_.Try(graph, task, assumed);
      if (trial.fate != Trial::Fate::kBroken) return false;
      // A graph that the rule as it stands fires on shows nothing about a condition.
      if (assumed.valid() && judge_.Try(graph, task).fate != Trial::Fate::kQuiet) return false;
      if (why != nullptr) *why = trial.why;
      return true;
    });
  }

  // The smallest graph that is found of which `shows` still holds.
  Graph Shrink(const Seed& seed, std::vector<uint64_t> changes,
               FunctionRef<bool(const Graph&)> shows) {
    Graph best;
    Make(seed, changes, best);
    shows(best);
    for (size_t i = changes.size(); i-- > 0;) {
      std::vector<uint64_t> fewer = changes;
      fewer.erase(fewer.begin() + static_cast<ptrdiff_t>(i));
      Graph graph;
      if (!Make(seed, fewer, graph) || !shows(graph)) continue;
      changes = std::move(fewer);
      best = std::move(graph);
    }
    const Signatures& signatures = court_.program.rules().signatures;
    int steps = 0;
    for (size_t step = 0; steps < kShrinkSteps; ++steps) {
      Graph graph = best;
      if (!Simplify(graph, signatures, step)) break;
      const bool same = PrintGraph(graph, graph.main()) == PrintGraph(best, best.main());
      if (same || !judge_.Prepare(graph).empty() || !shows(graph)) {
        ++step;
        continue;
      }
      best = std::move(graph);  // what comes next is at the same place
    }
    return best;
  }

  void Finish() {
    using Outcome = ProvenRule::Outcome;
    if (report_.outcome != Outcome::kRefuted) {
      report_.outcome = report_.compared > 0                        ? Outcome::kHeld
                        : report_.fired > 0 || !report_.why.empty() ? Outcome::kUnknown
                                                                    : Outcome::kSilent;
    }
    if (report_.outcome == Outcome::kHeld) report_.why.clear();
    for (Guard& guard : guards_) report_.conditions.push_back(std::move(guard.report));
  }

  const Court& court_;
  const ProveOptions& options_;
  const Rule& rule_;
  const CompiledRule& compiled_;
  std::vector<const Seed*> seeds_;
  Judge judge_;
  Vocabulary words_;
  std::vector<Guard> guards_;
  struct Found {
    const Seed* seed;
    std::vector<uint64_t> changes;
    Graph graph;
  };
  std::vector<Found> found_;  // graphs that showed something,
  std::set<uint64_t> kinds_;  // each of another kind
  ProvenRule report_;
};

// Tests that show the rule something: its own, those that list it, and others in which its pattern is.
std::vector<const Seed*> SeedsFor(const Rule& rule, const std::vector<Seed>& seeds,
                                  const std::vector<std::set<std::string>>& matched) {
  std::vector<const Seed*> fitting;
  for (size_t i = 0; i < seeds.size(); ++i) {
    const std::vector<std::string>& listed = seeds[i].task.rules;
    const bool own = seeds[i].owner == &rule ||
                     std::find(listed.begin(), listed.end(), rule.name) != listed.end();
    if (own) fitting.insert(fitting.begin(), &seeds[i]);
    if (!own && matched[i].contains(rule.name)) fitting.push_back(&seeds[i]);
  }
  return fitting;
}

// A runtime does much when it gets its first model: here, not in each process that is made for one.
void Warm(Evaluator& runtime) {
  Graph graph;
  const ValueId x = graph.AddValue(graph.main(), "x"), y = graph.AddValue(graph.main(), "y");
  graph.SetDeclared(x, {.dtype = DType::kFloat, .has_rank = true});
  graph.SetDeclared(y, {.dtype = DType::kFloat, .has_rank = true});
  graph.AddInput(graph.main(), x);
  graph.AddNode(graph.main(), graph.InternOp("", "Identity"), std::vector{x}, std::vector{y}, {},
                "");
  graph.AddOutput(graph.main(), y);
  graph.opset()[""] = 13;
  if (const Result<Model> model = ModelOf(graph); model.ok()) (void)runtime.Load(*model);
}

Status CheckNames(const RuleSet& set, const std::vector<std::string>& names) {
  for (const std::string& name : names) {
    if (set.FindRule(name) != nullptr) continue;
    std::vector<std::string> known;
    for (const Rule& rule : set.rules) known.push_back(rule.name);
    const std::string hint = DidYouMean(name, known);
    return {StatusCode::kUsage, fmt::format("there is no rule `{}`{}{}", Printable(name),
                                            hint.empty() ? "" : "; ", hint)};
  }
  return {};
}

}  // namespace

Result<ProveReport> Prove(const Rules& rules, const ProveOptions& options) {
  const RuleSet& set = *rules.impl().set;
  QR_RETURN_IF_ERROR(CheckNames(set, options.rules));
  if (options.graphs < 1) return Status(StatusCode::kUsage, "at least one graph is needed");
  QR_ASSIGN_OR_RETURN(const Rules roles, LoadInputRoles());
  const std::unique_ptr<ShapeInference> inference = MakeOnnxInference();
  const RunContext context{.kernels = &rules.impl().kernels,
                           .functions = &rules.impl().functions,
                           .inference = inference.get()};
  const std::unique_ptr<Evaluator> kernels = BuiltinKernels();
  const std::shared_ptr<const Program> semantics =
      set.semantics == nullptr ? nullptr : Compile(set.semantics);
  const Court court{.program = *rules.impl().program,
                    .semantics = semantics.get(),
                    .context = context,
                    .roles = roles,
                    .kernels = *kernels,
                    .runtime = options.runtime,
                    .seed = options.seed};
  const ComputedElementsLimit limit(kMostComputed);
  const std::vector<Seed> seeds = SeedsOf(set);
  std::vector<std::set<std::string>> matched(seeds.size());
  for (size_t i = 0; i < seeds.size(); ++i) {
    const MatchQuery query{.set = seeds[i].task.set, .rules = {}, .conditions = false};
    (void)FindMatches(seeds[i].graph, court.program, query, context, [&](const FoundMatch& found) {
      matched[i].insert(found.rule.rule->name);
      return true;
    });
  }
  ProveReport report{.set = set.name, .seed = options.seed, .evaluators = kernels->Name()};
  if (options.runtime != nullptr) Warm(*options.runtime);
  if (options.runtime != nullptr) report.evaluators += " and " + options.runtime->Name();
  for (const Rule& rule : set.rules) {
    const bool named =
        std::find(options.rules.begin(), options.rules.end(), rule.name) != options.rules.end();
    const bool own = rule.place.source == set.sources.front().get();
    if (options.rules.empty() ? !own : !named) continue;
    report.rules.push_back(RuleProof(court, options, rule, SeedsFor(rule, seeds, matched)).Run());
    report.refuted += report.rules.back().outcome == ProvenRule::Outcome::kRefuted;
  }
  return report;
}

}  // namespace qrewrite
