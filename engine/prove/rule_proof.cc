#include "engine/prove/rule_proof.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "engine/prove/graph_faults.h"
#include "engine/prove/numbers.h"
#include "engine/tensor/buffer.h"

namespace qrewrite {
namespace {

constexpr int kAttempts = 12;    // graphs that are made for each valid one, at most
constexpr int kMostChanges = 4;  // of a variation
constexpr size_t kMostKeptChanges = 10, kMostFound = 300, kMostNear = 40, kMostInstances = 200;
// Of a rule that its own test refutes: a graph that shows the fault is told rather than the test.
constexpr int64_t kMostOfFailing = 3000;
constexpr size_t kMostStandIns = 12;  // graphs of the pattern that stand for tests
constexpr size_t kSomeThings = 200;   // that a graph has: from these one is chosen
constexpr double kBarely = 3;         // decibels that other numbers of the same data may take away
constexpr int64_t kOldestOpset = 7, kNewestOpset = 26;

struct Versions {
  int64_t first, last;
};

// The versions of ai.onnx that a rule meets. A rule of an upgrade (`to_opset: N`) has its turn below N, where the phases
// before it have raised the model to theirs: older graphs have operators that these would have changed.
Versions VersionsOf(const RuleSet& set, const Rule& rule) {
  Versions its{std::max({kOldestOpset, rule.opset_min, set.opset_min}),
               std::min({kNewestOpset, rule.opset_max, set.opset_max})};
  int64_t raised_to = 0;
  for (const Phase& phase : set.phases) {
    const bool states = phase.to_opset && phase.to_opset->kind == Expr::Kind::kInt;
    if (std::ranges::find(phase.rules, rule.name) != phase.rules.end()) {
      its.first = std::max(its.first, raised_to);
      if (states) its.last = std::min(its.last, phase.to_opset->int_value);
      break;
    }
    if (states) raised_to = std::max(raised_to, phase.to_opset->int_value);
  }
  return {its.first, std::max(its.first, its.last)};
}

}  // namespace

RuleProof::RuleProof(const Court& court, const ProveOptions& options, Teller& teller,
                     const Rule& rule, std::vector<const Seed*> seeds, const Examples& examples,
                     std::vector<Guard*> asked)
    : court_(court),
      options_(options),
      teller_(teller),
      rule_(rule),
      compiled_(*court.program.FindRule(rule)),
      seeds_(std::move(seeds)),
      examples_(examples),
      judge_(court),
      guards_(GuardsOf(court.program, compiled_)),
      asked_(std::move(asked)) {
  report_.name = rule.name;
  const SourceSpan span = rule.place.span();
  report_.file = span.file;
  report_.line = span.line;
  report_.equivalence = rule.equivalence;
  Learn();
}

void RuleProof::Learn() {
  for (const Seed* seed : seeds_) words_.Learn(seed->graph);
  words_.LearnValues(examples_.words());
  const std::set<OpName> of_pattern = OpsOf(court_.program, compiled_.pattern);
  words_.of_pattern.assign(of_pattern.begin(), of_pattern.end());
  for (const OpName& op : of_pattern) {
    if (std::find(words_.ops.begin(), words_.ops.end(), op) == words_.ops.end())
      words_.ops.push_back(op);
  }
  RuleConstants constants = ConstantsOf(court_.program, compiled_);
  words_.limits = std::move(constants.numbers);
  words_.texts = std::move(constants.texts);
  words_.dtypes = std::move(constants.dtypes);
  words_.asked.assign(constants.ops.begin(), constants.ops.end());
  const RuleSet& set = court_.program.rules();
  for (const int number : constants.params)
    asked_params_.push_back(&set.params[static_cast<size_t>(number)]);
  if (court_.semantics != nullptr) {
    for (const Rule& rule : court_.semantics->rules().rules)
      words_.computed.merge(OpsOf(*court_.semantics, court_.semantics->FindRule(rule)->pattern));
  }
  const Versions versions = VersionsOf(set, rule_);
  words_.first_opset = versions.first;
  words_.last_opset = versions.last;
  const Promise promise = Promise::Of(rule_.equivalence);
  for (const int number : DefinitionsOf(court_.program, compiled_)) {
    const CompiledDefinition& definition = court_.program.definition(number);
    for (const CompiledCase& c : definition.cases) {
      if (c.has_match && c.layout != nullptr) asked_cases_.emplace_back(&c, definition.num_params);
    }
  }
  words_.untested = seeds_.empty();
  words_.keeps_whole = court_.any_type;
  words_.keeps_numbers = promise.kind == Promise::Kind::kApprox && promise.limit < kAnySizeDb;
}

bool RuleProof::GoesOn(bool begins) {
  interrupted_ = teller_.Ask(report_, begins);
  return interrupted_.ok() && !teller_.stopped();
}

bool RuleProof::Advance(int graphs, std::optional<Clock::time_point> end) {
  if (!GoesOn(/*begins=*/true)) return false;
  const int64_t most = report_.graphs + graphs;
  if (!begun_) {
    begun_ = true;
    if (options_.tests) AskTests();
    TrySeeds();
    if (!interrupted_.ok() || teller_.stopped()) return false;
  }
  // What only refuses or warns can break no promise; other graphs than its tests are for its conditions.
  const bool says = rule_.refuse.has_value() || (rule_.warn.has_value() && !Replaces());
  if (says && !AsksConditions()) return false;
  const uint64_t base = HashBytes(std::as_bytes(std::span(rule_.name)), options_.seed);
  for (int64_t i = 0; i < int64_t{kAttempts} * graphs && report_.graphs < most; ++i) {
    if (report_.outcome == ProvenRule::Outcome::kRefuted) return false;
    if (failed_ && report_.graphs >= kMostOfFailing) return false;
    if (end && Clock::now() > *end) return true;
    if (!GoesOn()) return false;
    Dice dice(HashMix(base, static_cast<uint64_t>(attempt_++)));
    if (attempt_ % 8 == 0 && TryTwoThings(dice)) continue;
    if (attempt_ % 2 == 0 && TryOneThing()) continue;
    if (attempt_ % 4 == 0 && TryTwoThings(dice)) continue;
    if (attempt_ % 4 == 1) TryBoundary(dice);
    if (words_.keeps_numbers && attempt_ % 8 == 7 && TryOtherStep(dice)) continue;
    if (attempt_ % 8 == 5 && TrySetting()) continue;
    const bool nothing_yet = report_.compared == 0;
    if (attempt_ % (nothing_yet ? 2 : 8) == (nothing_yet ? 1 : 3) && TryCaseInFront(dice)) continue;
    if (report_.graphs >= most) break;
    // Where nothing is known yet all comes of the pattern.
    const bool known = !seeds_.empty() || !instances_.empty();
    if (!known || dice.Once(report_.fired == 0 ? 2 : 6))
      TryInstance(dice);
    else
      TryChanged(dice);
  }
  return report_.outcome != ProvenRule::Outcome::kRefuted;
}

void RuleProof::TrySeeds() {
  if (AsksConditions()) {
    const ComputedElementsLimit limit(kMostOfTests);
    for (Guard& guard : guards_) {
      if (!GoesOn()) return;
      guard.report.pinned = TestsNeed(court_.program, rule_, guard.code, court_.context);
    }
  }
  LeaveOutUncalibrated();
  for (const Seed* seed : seeds_) {
    Graph graph;
    const int64_t graphs = report_.graphs;
    if (Make(*seed, {}, graph)) TryOne(*seed, {}, graph);
    const bool tried = report_.graphs > graphs;
    const std::vector<std::string>& listed = seed->task.rules;
    const bool own = seed->owner == &rule_ || std::ranges::count(listed, rule_.name) > 0;
    if (tried && own) {
      has_tests_ = true;
      AddSettings(*seed);
      stepped_.push_back(seed);
      things_.emplace_back(seed, CountThings(*seed));
    }
    if (!tried && !fault_.empty() && seed->owner == &rule_ && seed->fires && report_.why.empty())
      report_.why = "a test of it is no model: " + fault_;
  }
  // Where it has none of its own those of others stand for them.
  for (size_t i = 0; !has_tests_ && i < seeds_.size() && things_.size() < kMostStandIns; ++i) {
    Graph graph;
    if (!Make(*seeds_[i], {}, graph)) continue;
    stepped_.push_back(seeds_[i]);
    things_.emplace_back(seeds_[i], CountThings(*seeds_[i]));
  }
}

size_t RuleProof::CountThings(const Seed& seed) const {
  const Signatures& signatures = court_.program.rules().signatures;
  size_t from = 0, to = 1;  // the first one that is not there lies between
  while (HasThing(seed.graph, words_, signatures, to)) from = to, to *= 2;
  while (to - from > 1) {
    const size_t middle = from + (to - from) / 2;
    (HasThing(seed.graph, words_, signatures, middle) ? from : to) = middle;
  }
  return to;
}

// A promise about calibrated data says nothing of tests of other rules whose quantizers are made for none; nor of
// those that keep it barely, or only where the rule makes something: on other numbers they would not. In fewer numbers all
// that is lost may look like a factor (kSystematicDb).
void RuleProof::LeaveOutUncalibrated() {
  if (!words_.keeps_numbers) return;
  std::set<const Seed*> uncalibrated;
  for (const Seed* seed : seeds_) {
    Graph graph;
    const std::vector<std::string>& listed = seed->task.rules;
    const bool own = seed->owner == &rule_ || std::ranges::count(listed, rule_.name) > 0;
    if (own || !Make(*seed, {}, graph)) continue;
    const Trial trial = judge_.Try(graph, TaskFor(*seed));
    const bool barely = trial.fate == Trial::Fate::kHeld && trial.excuse == Excuse::kNone &&
                        trial.margin < std::max(trial.limit, kSystematicDb) + kBarely;
    if (trial.fate == Trial::Fate::kBroken || trial.by_numbers || barely) uncalibrated.insert(seed);
  }
  std::erase_if(seeds_, [&](const Seed* s) { return uncalibrated.contains(s); });
}

// The seed with these changes. False: it is no valid model.
bool RuleProof::Make(const Seed& seed, const std::vector<uint64_t>& changes, Graph& graph) {
  graph = seed.graph;
  for (const uint64_t change : changes)
    Vary(graph, words_, court_.program.rules().signatures, change);
  fault_ = Prepare(court_, graph);
  return fault_.empty();
}

bool RuleProof::Fired(const Trial& trial) const {
  return std::find(trial.fired.begin(), trial.fired.end(), rule_.name) != trial.fired.end();
}

// A graph made of the pattern alone. Its numbers are any: no quantizer was made for them.
void RuleProof::TryInstance(Dice& dice) {
  if (words_.keeps_numbers && !seeds_.empty()) return;
  Instance instance(court_.program, compiled_, words_, examples_, shown_, court_.context, dice);
  if (!instance.Make()) return NoteNoGraph(0, instance.why());
  if (const std::string fault = Prepare(court_, instance.graph()); !fault.empty())
    return NoteNoGraph(1, fault);
  const int64_t fired = report_.fired, graphs = report_.graphs;
  fault_.clear();
  TryMade(std::move(instance.graph()), {.rules = {rule_.name}, .set = SomeSettings(dice)});
  if (report_.fired > fired) {
    for (const CompiledCase* c : instance.cases()) ++shown_[c];
  }
  if (report_.graphs == graphs && !fault_.empty()) NoteNoGraph(2, fault_);
}

void RuleProof::NoteNoGraph(int stage, const std::string& why) {
  constexpr size_t kMostReasons = 200;  // some have sizes in them
  const std::pair<int, std::string> reason(stage, why);
  if (no_graphs_.size() < kMostReasons || no_graphs_.contains(reason)) ++no_graphs_[reason];
}

namespace {

// What a boundary is multiplied with: it itself, or a number just beside; nearly as far off as a condition tolerates.
double BesideBoundary(const Boundary& boundary, DType dtype, bool keeps_numbers, Dice& dice) {
  if (boundary.tolerance > 0 && (keeps_numbers || dice.Once(2)))
    return 1 + (dice.Once(2) ? 1 : -1) * dice.Uniform(0.9, 1) * boundary.tolerance;
  // Whether what is rounded at the end of a type is beyond it turns on the number: some that is near.
  const auto ends = [&](double x) { return EndsBeyond(dtype, x); };
  if (std::ranges::any_of(boundary.numbers, ends) && dice.Once(2)) return dice.Uniform(0.5, 1);
  constexpr double kFactors[] = {1, 1, 1, 1 - 1e-6, 1 + 1e-6, 0.99, 1.01};
  return kFactors[dice.Below(std::size(kFactors))];
}

}  // namespace

// A constant or attribute of a graph that showed something lies on the edge of a condition, or just beside. Where
// constants keep their numbers it is as near as the condition asks.
void RuleProof::TryBoundary(Dice& dice) {
  const std::vector<Found>& known = found_.empty() ? near_ : found_;
  if (known.empty()) return;
  const Found& from = SomeFound(known, dice);
  const Task task = TaskFor(*from.seed);
  Graph graph = from.graph;
  // Elsewhere than where the graph was first: with a negative zero point, say.
  if (!words_.keeps_numbers && dice.Once(2))
    Vary(graph, words_, court_.program.rules().signatures, OtherNumbers(dice.Integer(0, 1 << 30)));
  std::vector<Boundary> boundaries =
      BoundariesOf(graph, court_.program, compiled_, guards_, task, court_.context);
  if (words_.keeps_numbers)
    std::erase_if(boundaries, [](const Boundary& b) { return !(b.tolerance > 0); });
  if (boundaries.empty()) return;
  // Those of the rule itself are few beside those of the definitions that it asks.
  const auto inside = std::ranges::count(boundaries, true, &Boundary::of_definition);
  if (inside > 0 && std::cmp_less(inside, boundaries.size())) {
    const bool kept = dice.Once(2);
    std::erase_if(boundaries, [&](const Boundary& b) { return b.of_definition != kept; });
  }
  const Boundary& boundary = dice.Of(boundaries);
  const DType dtype =
      boundary.constant.valid() ? graph.constant(boundary.constant)->dtype() : DType::kUndefined;
  const double factor = BesideBoundary(boundary, dtype, words_.keeps_numbers, dice);
  const bool further = !words_.keeps_numbers && dice.Once(4);
  const auto more = static_cast<double>(further ? dice.Integer(-1, 1) : 0);
  std::vector<double> values = boundary.numbers;
  for (double& x : values) x = x * factor + more;
  if (!Put(boundary, values, dice.Once(2), graph) || !Prepare(court_, graph).empty()) return;
  if (words_.keeps_numbers)
    TryOtherSteps(std::move(graph), task);
  else
    TryMade(std::move(graph), task);
}

namespace {

// Constants that may hold steps: floats, but whole ones that are a number of bits, a bound, a zero point.
std::vector<std::pair<ValueId, Numbers>> StepsOf(const Graph& graph) {
  constexpr double kMostWhole = 2;
  std::vector<std::pair<ValueId, Numbers>> steps;
  for (size_t i = 0; i < graph.num_values(); ++i) {
    const ValueId v(i);
    const Tensor* const tensor = graph.alive(v) ? graph.constant(v) : nullptr;
    std::optional<Numbers> numbers = tensor != nullptr ? Numbers::Of(*tensor) : std::nullopt;
    if (!numbers || !IsFloat(numbers->dtype) || numbers->values.empty()) continue;
    const double first = std::fabs(numbers->values.front());
    if (first != std::rint(first) || first <= kMostWhole)
      steps.emplace_back(v, std::move(*numbers));
  }
  return steps;
}

}  // namespace

// Where constants keep their numbers: floats of one are twice as large, and half; alone, or all that equal it. Inputs are
// tried larger and smaller by twos, so that data fits such a step as it did. What is cut off, since a range is fixed, is cut
// off with one of the two alone. False: there is nothing to try.
bool RuleProof::TryOtherStep(Dice& dice) {
  if (found_.empty()) return false;
  const Found& from = SomeFound(found_, dice);
  const std::vector<std::pair<ValueId, Numbers>> steps = StepsOf(from.graph);
  if (steps.empty()) return false;
  const std::pair<ValueId, Numbers>& step = dice.Of(steps);
  const bool all_equal = dice.Once(2);
  const double factor = dice.Once(2) ? 2 : 0.5;
  const Task task = TaskFor(*from.seed);
  const auto make = [&](double by, Graph& graph) {
    graph = from.graph;
    std::vector<double> values = step.second.values;
    for (double& x : values) x *= by;
    return Put({.constant = step.first}, values, all_equal, graph) &&
           Prepare(court_, graph).empty();
  };
  Graph graph, other;
  if (make(factor, graph) && IsBrokenWithOtherSteps(graph, task) && make(1 / factor, other))
    TryOtherSteps(std::move(other), task);
  return true;
}

// Whether the promise of other steps is broken; graphs on which it is not count. They are no seeds: less is promised of them.
bool RuleProof::IsBrokenWithOtherSteps(const Graph& graph, Task task) {
  task.other_steps = true;
  // The same graph may have been tried, or will be, with what is promised of the steps of tests.
  constexpr uint64_t kOtherSteps = 1;
  if (!tried_.insert(HashMix(IdentityOf(graph, task), kOtherSteps)).second) return false;
  const Trial trial = judge_.Try(graph, task);
  if (trial.fate == Trial::Fate::kBroken) return true;
  if (trial.fate == Trial::Fate::kInvalid) return false;
  ++report_.graphs;
  report_.fired += Fired(trial);
  if (Fired(trial) && trial.fate == Trial::Fate::kHeld) CountHeld(trial);
  return false;
}

void RuleProof::TryOtherSteps(Graph graph, Task task) {
  if (!IsBrokenWithOtherSteps(graph, task)) return;
  task.other_steps = true;
  TryMade(std::move(graph), std::move(task));
}

// A graph that is a seed from now on, if it shows something.
void RuleProof::TryMade(Graph graph, Task task) {
  Seed seed{.graph = std::move(graph), .task = std::move(task)};
  instances_.push_back(std::move(seed));
  const Seed& kept = instances_.back();
  const int64_t compared = report_.compared;
  TryOne(kept, {}, kept.graph);
  const auto is_its = [&](const Found& f) { return f.seed == &kept; };
  if (instances_.size() > kMostInstances) {
    std::erase_if(found_, is_its);
    std::erase_if(near_, is_its);
  }
  const bool stays = std::ranges::any_of(found_, is_its) || std::ranges::any_of(near_, is_its);
  if (!stays) instances_.pop_back();
  // Where it has no tests of its own the first graphs that the rule fired on stand for them.
  if (!stays || has_tests_ || things_.size() >= kMostStandIns) return;
  if (std::ranges::none_of(found_, is_its) || report_.compared == compared) return;
  stepped_.push_back(&kept);
  things_.emplace_back(&kept, CountThings(kept));
}

// The tests of the rule with one thing changed, one thing after the other. False: there is no more.
bool RuleProof::TryOneThing() {
  const Signatures& signatures = court_.program.rules().signatures;
  while (!stepped_.empty()) {
    if (next_ >= stepped_.size()) next_ = 0, ++step_;
    const Seed& seed = *stepped_[next_];
    if (!HasThing(seed.graph, words_, signatures, step_)) {
      stepped_.erase(stepped_.begin() + static_cast<ptrdiff_t>(next_));
      continue;
    }
    ++next_;
    Graph graph = seed.graph;
    std::vector<uint64_t> changes = {OneThing(step_)};
    if (!Vary(graph, words_, signatures, changes[0])) return true;
    // What contradicts the shapes of a model fits those of a square one, mostly.
    bool valid = Prepare(court_, graph).empty();
    if (!valid) changes.push_back(kSquare), valid = Make(seed, changes, graph);
    if (valid) TryOne(seed, changes, graph);
    return true;
  }
  return false;
}

// Two of these things at once: an axis, and lengths that make another one look right, or that nobody knows; or one of them
// and other numbers. False:
// there are none.
bool RuleProof::TryTwoThings(Dice& dice) {
  if (things_.empty()) return false;
  const auto& [seed, count] = things_[dice.Below(things_.size())];
  uint64_t second = OneThing(dice.Below(dice.Once(2) ? kOpenThings : count));
  if (!words_.keeps_numbers && dice.Once(4)) second = OtherNumbers(dice.Integer(0, 1 << 30));
  const std::vector<uint64_t> changes = {OneThing(dice.Below(count)), second};
  Graph graph;
  if (changes[0] != changes[1] && Make(*seed, changes, graph)) TryOne(*seed, changes, graph);
  return true;
}

// A seed with some changes, or a graph that showed something with one or two more.
void RuleProof::TryChanged(Dice& dice) {
  const std::vector<Found>& known = found_.empty() ? near_ : found_;
  const bool further = !known.empty() && (seeds_.empty() || !dice.Once(3));
  if (!further && seeds_.empty()) return;
  const Found* from = further ? &SomeFound(known, dice) : nullptr;
  const Seed& seed = further ? *from->seed : *seeds_[dice.Below(seeds_.size())];
  std::vector<uint64_t> changes = further ? from->changes : std::vector<uint64_t>();
  const size_t before = changes.size();
  changes.resize(before + static_cast<size_t>(dice.Integer(1, further ? 2 : kMostChanges)));
  Graph graph = further ? from->graph : seed.graph;
  for (size_t i = before; i < changes.size(); ++i) {
    changes[i] = dice.Once(2) ? OneThing(dice.Below(kSomeThings))
                              : static_cast<uint64_t>(dice.Integer(0, INT64_MAX));
    Vary(graph, words_, court_.program.rules().signatures, changes[i]);
  }
  if (Prepare(court_, graph).empty()) TryOne(seed, changes, graph);
}

const RuleProof::Found& RuleProof::SomeFound(const std::vector<Found>& known, Dice& dice) const {
  const Found& one = known[dice.Below(known.size())];
  const Found& other = known[dice.Below(known.size())];
  return one.distinct >= other.distinct ? one : other;
}

// The rule fired, or one condition kept it from that: what is near shows more. Of one kind that of the most
// numbers stays.
void RuleProof::Keep(const Seed& seed, const std::vector<uint64_t>& changes, const Graph& graph,
                     size_t distinct) {
  if (changes.size() > kMostKeptChanges) return;
  Found found{&seed, changes, graph, KindOf(graph), distinct};
  if (!kinds_.insert(found.kind).second) {
    const auto same = std::ranges::find(found_, found.kind, &Found::kind);
    if (same != found_.end() && same->distinct < distinct) *same = std::move(found);
    return;
  }
  if (found_.size() < kMostFound)
    found_.push_back(std::move(found));
  else
    found_[static_cast<size_t>(report_.graphs) % kMostFound] = std::move(found);
}

void RuleProof::LookNear(const Seed& seed, const std::vector<uint64_t>& changes, const Graph& graph,
                         const Task& task) {
  const InTheWay stops = StoppedBy(graph, court_.program, compiled_, guards_, task, court_.context);
  met_ = met_ || stops.fewest >= 0;
  for (const size_t i : stops.alone) ++alone_[i];
  if (stops.fewest == 1) Keep(seed, changes, graph, 0);
  if (stops.fewest > 1 && found_.empty() && stops.fewest <= fewest_ &&
      changes.size() <= kMostKeptChanges) {
    if (stops.fewest < fewest_) near_.clear();
    fewest_ = stops.fewest;
    if (near_.size() < kMostNear) near_.push_back({&seed, changes, graph});
  }
  if (AsksConditions()) Watch(seed, changes, graph, task, stops.alone);
}

}  // namespace qrewrite
