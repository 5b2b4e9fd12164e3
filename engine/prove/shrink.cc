// The smallest graph that shows something: changes are left out, then what is left is made smaller.
#include <chrono>
#include <utility>

#include "engine/prove/graph_faults.h"
#include "engine/prove/rule_proof.h"
#include "engine/text/graph_text.h"

namespace qrewrite {
namespace {

constexpr int kShrinkSteps = 2000;
constexpr std::chrono::seconds kShrinkTime{10};

// What tells graphs apart for a reader, and what the text leaves out.
std::string TextOf(const Graph& graph) {
  std::string text = PrintGraph(graph, graph.main(), {.max_elements = 64});
  for (const ValueId v : graph.inputs()) text += graph.Overridable(v) ? 'o' : 'i';
  for (const auto& [domain, version] : graph.opset()) text += std::to_string(version) + " ";
  return text;
}

}  // namespace

Graph RuleProof::Broken(const Seed& seed, const std::vector<uint64_t>& changes, const Graph& graph,
                        const Task& task, CodeId assumed, std::string& why) {
  // A graph on which the rule as it stands goes wrong as well shows nothing about a condition; where it did not fire
  // (the condition is none of a case) it shall not do so on the smaller one either.
  const Trial::Fate stands = assumed.valid() ? judge_.Try(graph, task).fate : Trial::Fate::kQuiet;
  if (stands != Trial::Fate::kQuiet && stands != Trial::Fate::kHeld) return graph;
  return Shrink(seed, changes, graph, [&](const Graph& other) {
    const Trial trial = judge_.Try(other, task, assumed);
    if (trial.fate != Trial::Fate::kBroken) return false;
    if (assumed.valid() && judge_.Try(other, task).fate != stands) return false;
    why = trial.why;
    return true;
  });
}

// What it takes to see the fault: the rule alone, with the parameters that it needs.
Task RuleProof::Least(const Task& task, const Graph& graph) {
  Task least = task;
  const auto shows = [&](const Task& other) {
    const Trial trial = judge_.Try(graph, other);
    return trial.fate == Trial::Fate::kBroken && Fired(trial);
  };
  Task alone = task;
  alone.rules = {rule_.name};
  if (task.rules != alone.rules && shows(alone)) least = alone;
  for (const auto& [name, value] : task.set) {
    Task fewer = least;
    fewer.set.erase(name);
    if (shows(fewer)) least = fewer;
  }
  return least;
}

Graph RuleProof::Shrink(const Seed& seed, std::vector<uint64_t> changes, const Graph& graph,
                        FunctionRef<bool(const Graph&)> shows) {
  const Clock::time_point end = Clock::now() + kShrinkTime;
  Graph best = graph;
  shows(best);
  for (size_t i = changes.size(); i-- > 0;) {
    std::vector<uint64_t> fewer = changes;
    fewer.erase(fewer.begin() + static_cast<ptrdiff_t>(i));
    Graph other;
    if (!Make(seed, fewer, other) || !shows(other)) continue;
    changes = std::move(fewer);
    best = std::move(other);
  }
  const Signatures& signatures = court_.program.rules().signatures;
  std::string text = TextOf(best);
  bool was_smaller = false;
  size_t step = 0;
  for (int steps = 0; steps < kShrinkSteps && Clock::now() < end; ++steps) {
    Graph smaller = best;
    if (!Simplify(smaller, signatures, step)) {
      // What is gone now may have kept something else from going.
      if (!std::exchange(was_smaller, false)) break;
      step = 0;
      continue;
    }
    const bool valid = Prepare(court_, smaller).empty();
    std::string other = valid ? TextOf(smaller) : text;
    if (other == text || !shows(smaller)) {
      ++step;
      continue;
    }
    best = std::move(smaller);  // what comes next is at the same place
    text = std::move(other);
    was_smaller = true;
  }
  return best;
}

}  // namespace qrewrite
