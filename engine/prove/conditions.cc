// What the conditions of a rule are good for: each is left out where it alone stands in the way.
#include "engine/prove/rule_proof.h"

namespace qrewrite {
namespace {

constexpr int kGuardTrials = 60;  // runs without a condition
constexpr int kPins = 6;          // tests that a condition could have, to choose from

}  // namespace

// A graph on which nothing fired: which condition alone was in the way, and rightly so?
void RuleProof::Watch(const Seed& seed, const std::vector<uint64_t>& changes, const Graph& graph,
                      const Task& task, const std::vector<size_t>& alone) {
  for (const size_t i : alone) {
    ++guards_[i].report.alone;
    LeaveOut(guards_[i], seed, changes, graph, task);
    Pin(guards_[i], seed, changes, graph, task);
  }
}

// A graph on which the rule fired: what if another case had been taken?
void RuleProof::WatchCases(const Seed& seed, const std::vector<uint64_t>& changes,
                           const Graph& graph, const Task& task) {
  for (Guard& guard : guards_) {
    if (!guard.of_case) continue;
    LeaveOut(guard, seed, changes, graph, task);
    Pin(guard, seed, changes, graph, task);
  }
}

void RuleProof::PinAsked(const Seed& seed, const std::vector<uint64_t>& changes, const Graph& graph,
                         const Task& task) {
  for (Guard* const guard : asked_) Pin(*guard, seed, changes, graph, task);
}

// A test that a condition without one could have: the shortest of a few.
void RuleProof::Pin(Guard& guard, const Seed& seed, const std::vector<uint64_t>& changes,
                    const Graph& graph, const Task& task) {
  if (guard.report.pinned || guard.pins >= kPins) return;
  const auto tells = [&](const Graph& other) {
    return ResultOn(other, court_.program, task, court_.context) !=
           ResultOn(other, court_.program, task, court_.context, guard.code);
  };
  if (!tells(graph)) return;
  ++guard.pins;
  const Graph small = Shrink(seed, changes, graph, tells);
  const std::string expect = ResultOn(small, court_.program, task, court_.context);
  std::string text = TestText(small, task, rule_.name, "pins `" + guard.report.text + "`", expect);
  std::string& best = guard.report.pin;
  if (best.empty() || text.size() < best.size()) best = std::move(text);
}

void RuleProof::LeaveOut(Guard& guard, const Seed& seed, const std::vector<uint64_t>& changes,
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
  std::string why;
  const Graph small = Broken(seed, changes, graph, task, guard.code, why);
  if (why.empty()) return;  // it does not show again
  guard.report.outcome = Outcome::kNeeded;
  guard.report.counterexample =
      TestText(small, task, rule_.name, "needs `" + guard.report.text + "`");
}

}  // namespace qrewrite
