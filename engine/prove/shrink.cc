// The smallest graph that shows something: changes are left out, then what is left is made smaller.
#include "engine/prove/rule_proof.h"
#include "engine/text/graph_text.h"

namespace qrewrite {
namespace {

constexpr int kShrinkSteps = 400;

}  // namespace

Graph RuleProof::Broken(const Seed& seed, const std::vector<uint64_t>& changes, const Task& task,
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

Graph RuleProof::Shrink(const Seed& seed, std::vector<uint64_t> changes,
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

}  // namespace qrewrite
