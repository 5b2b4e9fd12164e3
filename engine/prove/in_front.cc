// What the definitions that a rule asks look for, in front of the values of a graph that the rule knows already: what is
// said of Min(Max(_, 0), 6), say, is asked where nobody's test has such.
#include "engine/prove/graph_faults.h"
#include "engine/prove/rule_proof.h"

namespace qrewrite {
namespace {

// Values of the main graph that nodes read.
std::vector<ValueId> ReadValues(const Graph& graph) {
  std::vector<ValueId> values;
  for (size_t i = 0; i < graph.num_values(); ++i) {
    const ValueId v(i);
    if (graph.alive(v) && graph.body_of(v) == graph.main() && graph.constant(v) == nullptr &&
        graph.num_uses(v) > 0 && !graph.IsOutput(v))
      values.push_back(v);
  }
  return values;
}

}  // namespace

// False: the rule asks nothing, or is said of data that quantizers were made for.
bool RuleProof::TryCaseInFront(Dice& dice) {
  if (asked_cases_.empty() || words_.keeps_numbers) return false;
  if (things_.empty() && report_.compared == 0 && dice.Once(2)) return TryCaseInFrontOfNew(dice);
  const bool of_found = !found_.empty() && (things_.empty() || dice.Once(2));
  if (!of_found && things_.empty()) return false;
  const Found* const found = of_found ? &SomeFound(found_, dice) : nullptr;
  const Seed& seed = of_found ? *found->seed : *things_[dice.Below(things_.size())].first;
  PutInFront(of_found ? found->graph : seed.graph, TaskFor(seed), dice);
  return true;
}

// As long as nothing could be compared, what the rule asks may be what is missing in front of a graph of its pattern.
bool RuleProof::TryCaseInFrontOfNew(Dice& dice) {
  Instance instance(court_.program, compiled_, words_, examples_, shown_, court_.context, dice);
  if (instance.Make() && Prepare(court_, instance.graph()).empty())
    PutInFront(instance.graph(), {.rules = {rule_.name}, .set = SomeSettings(dice)}, dice);
  return true;
}

void RuleProof::PutInFront(const Graph& graph, Task task, Dice& dice) {
  const std::vector<ValueId> values = ReadValues(graph);
  if (values.empty()) return;
  const auto& [c, num_params] = dice.Of(asked_cases_);
  Instance instance(court_.program, compiled_, words_, examples_, shown_, court_.context, dice);
  if (instance.PutInFront(graph, dice.Of(values), *c, num_params) &&
      Prepare(court_, instance.graph()).empty())
    TryMade(std::move(instance.graph()), std::move(task));
}

}  // namespace qrewrite
