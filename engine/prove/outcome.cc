// RuleProof: what becomes of a graph that is tried, and of the rule.
#include <algorithm>
#include <cmath>
#include <utility>

#include <fmt/format.h>

#include "engine/prove/rule_proof.h"

namespace qrewrite {
uint64_t RuleProof::IdentityOf(const Graph& graph, const Task& task) {
  const std::string text = TestText(graph, task, "", "", "");
  uint64_t identity = HashBytes(std::as_bytes(std::span(text)));
  // The text leaves out what large constants hold.
  for (size_t i = 0; i < graph.num_values(); ++i) {
    const ValueId v(i);
    const Tensor* const tensor = graph.alive(v) ? graph.constant(v) : nullptr;
    if (tensor != nullptr && tensor->size() > kMostPrinted)
      identity = HashMix(identity, tensor->key());
  }
  return identity;
}

void RuleProof::TryOne(const Seed& seed, const std::vector<uint64_t>& changes, const Graph& graph) {
  const Task task = TaskFor(seed);
  // What the whole set is given is what a user has, and that knows no operators of the set's own.
  if (task.rules.empty() && HasOwnOperators(graph) && !HasOwnOperators(seed.graph)) return;
  if (!tried_.insert(IdentityOf(graph, task)).second) return;
  const Trial trial = judge_.Try(graph, task);
  if (trial.fate == Trial::Fate::kInvalid) {
    fault_ = trial.why;
    return;
  }
  ++report_.graphs;
  if (AsksConditions()) PinAsked(seed, changes, graph, task);
  switch (trial.fate) {
    case Trial::Fate::kInvalid: break;
    case Trial::Fate::kQuiet: LookNear(seed, changes, graph, task); break;
    case Trial::Fate::kHeld:
      report_.fired += Fired(trial);
      if (Fired(trial)) CountHeld(trial);
      if (Fired(trial)) Keep(seed, changes, graph, trial.distinct);
      if (AsksConditions()) WatchCases(seed, changes, graph, task);
      break;
    case Trial::Fate::kUnknown:
      report_.fired += Fired(trial);
      if (Fired(trial)) Keep(seed, changes, graph, trial.distinct);
      if (Fired(trial) && trial.disputed && report_.disputed++ == 0) {
        report_.dispute = trial.why;
        report_.disputed_graph =
            TestText(graph, Least(task, graph), rule_.name, "where runtimes disagree");
      }
      if (Fired(trial) && report_.why.empty()) report_.why = trial.why;
      break;
    case Trial::Fate::kBroken:
      // Of another rule that fired as well, whose numbers were changed here.
      if (trial.of_data && !words_.keeps_numbers) break;
      if (!trial.fired.empty() && !Fired(trial)) break;
      // What does not show again is none of the rule's: a runtime read memory that it had not written.
      if (report_.outcome == ProvenRule::Outcome::kRefuted || Refute(seed, changes, graph, task))
        ++report_.fired, ++report_.compared;
      break;
  }
}

// Rules that need others, as tests list them, are run with these.
Task RuleProof::TaskFor(const Seed& seed) const {
  Task task = seed.task;
  const auto& rules = task.rules;
  const bool listed = std::find(rules.begin(), rules.end(), rule_.name) != rules.end();
  if (!rules.empty() && !listed) task.rules = {rule_.name};
  return task;
}

void RuleProof::CountHeld(const Trial& trial) {
  const Promise own = Promise::Of(rule_.equivalence);
  const bool decibels = own.kind == Promise::Kind::kApprox;
  ++report_.compared;
  const bool others = trial.promised != own.kind || trial.limit != own.limit;
  const Excuse excuse = others ? Excuse::kOtherRule : trial.excuse;
  if (excuse != Excuse::kNone) {
    ++report_.excused[std::string(Name(excuse))];
    return;
  }
  if (!std::exchange(has_margin_, true))
    report_.margin = trial.margin;
  else
    report_.margin =
        decibels ? std::min(report_.margin, trial.margin) : std::max(report_.margin, trial.margin);
}

bool RuleProof::Refute(const Seed& seed, const std::vector<uint64_t>& changes, const Graph& graph,
                       const Task& task) {
  std::string why;
  const Task least = Least(task, graph);
  const Graph small = Broken(seed, changes, graph, least, {}, why);
  if (why.empty()) return false;
  report_.outcome = ProvenRule::Outcome::kRefuted;
  report_.why = why;
  report_.counterexample = TestText(small, least, rule_.name, "a counterexample");
  return true;
}

// A rule that is not what its author says in its tests is none to rely on, whatever its promise.
void RuleProof::AskTests() {
  const auto own = [&](const std::string& rule, const std::string&) { return rule == rule_.name; };
  for (RuleTestOutcome& outcome : RunRuleTests(court_.program, court_.context, own)) {
    const bool is_its =
        std::ranges::find(rule_.tests, outcome.test, &RuleTest::name) != rule_.tests.end();
    if (outcome.passed || !is_its) continue;
    failed_ = std::move(outcome);
    return;
  }
}

void RuleProof::TellFailedTest() {
  const auto test = std::ranges::find(rule_.tests, failed_->test, &RuleTest::name);
  report_.outcome = ProvenRule::Outcome::kRefuted;
  report_.failed_test = failed_->test;
  // "the run failed:" says little.
  const std::string& message = failed_->message;
  size_t end = message.find('\n');
  if (end != std::string::npos && end > 0 && message[end - 1] == ':')
    end = message.find('\n', end + 1);
  report_.why = message.substr(0, end);
  std::ranges::replace(report_.why, '\n', ' ');
  const std::optional<RuleTest> part = FailingPart(court_.program, rule_, *test, court_.context);
  report_.counterexample = TextOfTest(court_.program.rules(), part ? *part : *test, rule_.name);
}

// Of those that came furthest the reason that most of them have.
std::string RuleProof::WhyNoGraph() const {
  std::string why;
  int stage = -1;
  int64_t most = 0;
  for (const auto& [reason, count] : no_graphs_) {
    if (reason.second.empty() || (reason.first == stage && count <= most)) continue;
    stage = reason.first, most = count, why = reason.second;
  }
  return why;
}

std::string RuleProof::WhyNever() const {
  constexpr std::string_view kRemedy = "; give it a test in which it fires";
  if (attempt_ == 0 && report_.graphs == 0) return "there was no time to try it";
  if (report_.graphs == 0) {
    const std::string why = WhyNoGraph();
    return fmt::format("no graph of its pattern could be made{}{}{}", why.empty() ? "" : ": ", why,
                       kRemedy);
  }
  const std::string tried = fmt::format("it fired on none of {} graphs", report_.graphs);
  if (!met_) return fmt::format("{}: its pattern is in none of them{}", tried, kRemedy);
  const auto most = std::ranges::max_element(
      alone_, [](const auto& a, const auto& b) { return a.second < b.second; });
  if (most == alone_.end()) {
    return fmt::format("{}: {}{}", tried,
                       fewest_ < kNoneStopped
                           ? fmt::format("at least {} conditions stop it on each", fewest_)
                       : compiled_.cases.empty()
                           ? "what it writes is what is there, or does not fit there"
                           : "no case of it is for them, or what that writes does not fit there",
                       kRemedy);
  }
  const ProvenCondition& condition = guards_[most->first].report;
  return fmt::format("{}: `{}` alone keeps it from that on {} of them{}", tried, condition.text,
                     most->second, kRemedy);
}

// Where next to nothing could be compared, those few graphs are such that what the rule makes does not
// show in any output: they tell nothing.
void RuleProof::Conclude() {
  using Outcome = ProvenRule::Outcome;
  constexpr int64_t kShown = 8;  // one in so many, of those where it fired
  if (report_.outcome == Outcome::kRefuted) return;
  report_.outcome = report_.fired == 0                           ? Outcome::kSilent
                    : report_.compared * kShown >= report_.fired ? Outcome::kHeld
                                                                 : Outcome::kUnknown;
  if (report_.outcome == Outcome::kHeld) report_.why.clear();
  // Nothing is known of a rule that could have broken its promise. Where its author's tests say that it does nothing it is
  // silent as they are.
  if (report_.fired == 0 && begun_ && Replaces() && !rule_.refuse && report_.why.empty()) {
    report_.why = WhyNever();
    if (rule_.tests.empty() && !has_tests_) report_.outcome = Outcome::kUnknown;
    return;
  }
  if (report_.outcome != Outcome::kUnknown || report_.compared == 0) return;
  report_.why = fmt::format("{} of {} graphs where it fired could be compared; of others: {}",
                            report_.compared, report_.fired, report_.why);
}

ProvenRule RuleProof::Finish() {
  using Outcome = ProvenRule::Outcome;
  Conclude();
  if (!begun_ && options_.tests) AskTests();
  if (failed_ && report_.outcome != Outcome::kRefuted) TellFailedTest();
  if (AsksConditions()) {
    for (Guard& guard : guards_) report_.conditions.push_back(std::move(guard.report));
  }
  return std::move(report_);
}

}  // namespace qrewrite
