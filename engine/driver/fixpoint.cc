// The fixed point of a phase: sweeps over the nodes that a rule can begin at, producers first, until
// one fires nothing. Within a sweep what a firing made or uncovered is visited at once, and what it
// may have freed behind the sweep at the end of it, so cascades drain in one go; the full sweep that
// fires nothing is what correctness rests on.
#include <algorithm>
#include <iterator>

#include <fmt/format.h>

#include "engine/base/diagnostics.h"
#include "engine/driver/host_fault.h"
#include "engine/driver/run.h"
#include "engine/graph/node_text.h"
#include "engine/graph/order.h"
#include "engine/graph/verify.h"
#include "engine/rewrite/edit.h"

namespace qrewrite {
namespace {

constexpr size_t kRecent = 64;  // firings that a loop error looks back on
constexpr size_t kFewReaders = 4;
// Steps that all searches of one rule may take in one sweep. Most patterns take a handful at a node.
constexpr uint64_t kStepsOfRule = 10'000'000, kStepsPerNode = 1000;

}  // namespace

bool FitsOpset(const Graph& graph, const Rule& rule) {
  const int64_t opset = graph.OpsetOf(graph.main(), "");
  return opset >= rule.opset_min && opset <= rule.opset_max &&
         OtherOpset(graph, rule.opsets).empty();
}

bool RuleRun::RuleApplies(const Rule& rule) const {
  const std::vector<std::string>& skipped = options_.skip_rules;
  if (std::find(skipped.begin(), skipped.end(), rule.name) != skipped.end()) return false;
  return FitsOpset(graph_, rule);
}

Status RuleRun::FindOrder() {
  if (ordered_) return {};
  QR_ASSIGN_OR_RETURN(order_, NodesInOrder(graph_));
  ordered_ = true;
  return {};
}

// Rules that find something and change nothing look at what the others leave.
Status RuleRun::FixedPoint(const Phase& phase) {
  std::vector<const CompiledRule*> rewriting, finding;
  for (const CompiledRule* rule : RulesOf(phase)) {
    if (!RuleApplies(*rule->rule)) continue;
    (Rewrites(*rule->rule) ? rewriting : finding).push_back(rule);
  }
  QR_RETURN_IF_ERROR(FixedPointOf(phase, std::move(rewriting)));
  return FixedPointOf(phase, std::move(finding));
}

Status RuleRun::FixedPointOf(const Phase& phase, std::vector<const CompiledRule*> rules) {
  if (rules.empty() || watch_.stopped()) return {};
  CandidateIndex candidates(graph_, program_, std::move(rules));
  int64_t alive = 0;
  bool entered = false;  // is there a node that a rule can begin at?
  for (size_t op = 0; op < graph_.num_ops(); ++op) {
    const size_t count = graph_.num_nodes(OpId(op));
    alive += static_cast<int64_t>(count);
    entered |= count > 0 && candidates.Begins(OpId(op));
  }
  if (!entered) return {};
  // What nobody reads would count as a reader.
  if (const int64_t dead = RemoveDeadNodes(graph_); dead > 0) {
    report_.removed += dead;
    rewriter_.ForgetIndexes();
  }
  phase_rewrites_ = 0;
  budget_ = options_.max_rewrites > 0 ? options_.max_rewrites : 1000 + 20 * alive;
  int64_t fired = 1;
  while (fired > 0 && !watch_.stopped()) {
    fired = 0;
    steps_.clear();
    step_budget_ = kStepsOfRule + kStepsPerNode * static_cast<uint64_t>(alive);
    facts_.ForgetUnknown();
    in_.ForgetAllFacts();
    QR_RETURN_IF_ERROR(FindOrder());
    QR_RETURN_IF_ERROR(watch_.Sweep(/*ends=*/false, order_.size(), 0));
    if (watch_.stopped()) break;
    QR_RETURN_IF_ERROR(Sweep(phase, candidates, &fired));
    QR_RETURN_IF_ERROR(watch_.Sweep(/*ends=*/true, order_.size(), fired));
  }
  return {};
}

// Every node once, producers first, and what firings made or freed; then, until nothing is left, those
// behind the sweep that a firing may have freed: a rule that propagates against the direction of the
// data drains in one sweep, too.
Status RuleRun::Sweep(const Phase& phase, CandidateIndex& candidates, int64_t* fired) {
  rewriter_.SetOrder(order_);
  again_.clear();
  sweep_ = {.nodes = graph_.num_nodes()};
  candidates.BeginSweep();
  for (const NodeId n : order_) {
    QR_RETURN_IF_ERROR(watch_.Visit(sweep_.begun++, order_.size()));
    if (watch_.stopped()) return {};
    candidates.Pass(n);
    if (!graph_.alive(n) || !candidates.Begins(graph_.op(n))) continue;
    QR_RETURN_IF_ERROR(Visit(phase, candidates, n, fired));
  }
  while (!again_.empty() && !watch_.stopped()) {
    std::vector<NodeId> round = std::move(again_);
    again_.clear();
    std::sort(round.begin(), round.end(), [this](NodeId a, NodeId b) {
      return std::pair(rewriter_.rank(a), a) < std::pair(rewriter_.rank(b), b);
    });
    round.erase(std::unique(round.begin(), round.end()), round.end());
    for (const NodeId n : round) {
      if (graph_.alive(n)) QR_RETURN_IF_ERROR(Visit(phase, candidates, n, fired));
    }
  }
  return {};
}

// `start`, and then what firings made or freed there, depth first.
Status RuleRun::Visit(const Phase& phase, CandidateIndex& candidates, NodeId start,
                      int64_t* fired) {
  std::vector<NodeId>& todo = todo_;
  todo.assign(1, start);
  while (!todo.empty() && !watch_.stopped()) {
    const NodeId n = todo.back();
    todo.pop_back();
    if (!graph_.alive(n)) continue;
    ++report_.visits;
    for (const CompiledRule* candidate : candidates.At(n)) {
      const CompiledRule& rule = *candidate;
      from_hosts_.clear();
      const Firing& firing = Try(phase, rule, n);
      report_.steps += firing.steps;
      if (!firing.exhausted.empty()) return TooManySteps(*rule.rule, n, firing.exhausted);
      QR_RETURN_IF_ERROR(HostFault(in_, *rule.rule, n));
      if (watch_.stopped()) return {};
      if ((steps_[&rule] += firing.steps) > step_budget_) {
        return TooManySteps(*rule.rule, n,
                            fmt::format("its searches take too many steps in all (limit {}, by the "
                                        "size of the model)",
                                        step_budget_));
      }
      if (firing.mistyped) QR_RETURN_IF_ERROR(NoteMistyped(rule, n));
      if (!firing.fired) continue;
      if (!firing.changed) {
        QR_RETURN_IF_ERROR(NoteFinding(rule, firing, n));
        continue;
      }
      candidates.GraphChanged();
      for (const NodeId made : firing.created) {
        if (made_of_.size() <= made.index) made_of_.resize(made.index + 1);
        made_of_[made.index] = n;
      }
      QR_RETURN_IF_ERROR(CountFiring(phase, rule, firing, n));
      ++*fired;
      Follow(candidates, n, firing, todo);
      break;
    }
  }
  return {};
}

bool RuleRun::IsAhead(NodeId n) const {
  return n.index < sweep_.nodes && rewriter_.rank(n) >= sweep_.begun;
}

// What is worth another visit after a firing at `n`. Popped from `todo` in this order: new nodes
// (producers first), the node itself, readers of what lost readers. Who makes what new nodes read, or
// what lost readers, lies behind the sweep. A reader that the sweep comes by is left to it: far ahead
// it would ask for all between, which the next firing makes untrue.
void RuleRun::Follow(CandidateIndex& candidates, NodeId n, const Firing& firing,
                     std::vector<NodeId>& todo) {
  const auto behind = [&](ValueId v) {
    const NodeId p = v.valid() ? graph_.producer(v) : NodeId();
    if (p.valid() && candidates.Begins(graph_.op(p)) && rewriter_.rank(p) <= rewriter_.rank(n)) {
      again_.push_back(p);
    }
  };
  for (const ValueId v : firing.released) {
    if (!graph_.alive(v)) continue;
    behind(v);
    if (graph_.num_uses(v) > kFewReaders) continue;  // the next sweep comes by them
    for (const UseId u : graph_.uses(v)) {
      const User user = graph_.user(u);
      if (!user.is_output() && !IsAhead(user.node)) todo.push_back(user.node);
    }
  }
  todo.push_back(n);
  todo.insert(todo.end(), firing.created.rbegin(), firing.created.rend());
  for (const NodeId made : firing.created) {
    for (size_t i = 0; i < graph_.num_inputs(made); ++i) behind(graph_.input(made, i));
  }
}

Status RuleRun::TooManySteps(const Rule& rule, NodeId node, const std::string& why) const {
  QR_RETURN_IF_ERROR(HostFault(in_, rule, node));
  return {StatusCode::kLimit,
          fmt::format("rule `{}` at {}: {}", rule.name, NodeText(graph_, node), why)};
}

Status RuleRun::CountFiring(const Phase& phase, const CompiledRule& rule, const Firing& firing,
                            NodeId node) {
  const auto [it, added] = setup_.book.rows.try_emplace(rule.rule, report_.rules.size());
  if (added) {
    report_.rules.push_back({.set = rules_.name, .rule = rule.rule->name, .counters = {}});
    RuleCount& fresh = report_.rules.back();
    for (const std::string& name : rule.rule->CounterNames()) fresh.counters.emplace_back(name, 0);
  }
  RuleCount& count = report_.rules[it->second];
  ++count.fired;
  for (size_t i = 0; i < count.counters.size(); ++i) {
    count.counters[i].second += notes_.counted.empty() || notes_.counted[i];
  }
  ++report_.rewrites;
  ordered_ = false;
  std::erase_if(mistyped_, [&](const auto& m) { return m.rule == rule.rule && m.node == node; });
  QR_RETURN_IF_ERROR(watch_.Fired(rules_, *rule.rule, firing));
  std::move(notes_.rows.begin(), notes_.rows.end(), std::back_inserter(records_));
  std::string said = std::move(notes_.said);
  notes_ = {};
  const ValueId where = firing.redefined.empty() ? ValueId() : firing.redefined[0];
  if (recent_.size() < kRecent) recent_.emplace_back();
  recent_[next_recent_++ % kRecent] = {rule.rule, where};
  if (rule.rule->warn) QR_RETURN_IF_ERROR(RefuseOrWarn(rule, std::move(said), node));
  if (options_.verify && report_.rewrites % options_.verify_every == 0) {
    if (const Status status = Verify(graph_, setup_.carried); !status.ok()) {
      return Status(
          StatusCode::kInvalidModel,
          fmt::format("after rule `{}` at `{}`: {}", rule.rule->name,
                      where.valid() ? Printable(graph_.name(where)) : "", status.message()));
    }
  }
  return ++phase_rewrites_ > budget_ ? LoopError(phase) : Status();
}

Status RuleRun::LoopError(const Phase& phase) const {
  std::map<std::string, std::pair<int, std::string>> rules;
  for (const auto& [rule, value] : recent_) {
    auto& [count, where] = rules[rule->name];
    ++count;
    where = value.valid() ? Printable(graph_.name(value)) : "";
  }
  std::string text;
  for (const auto& [rule, seen] : rules) {
    text += fmt::format("{}`{}` ({} of the last {}, lastly at `{}`)", text.empty() ? "" : ", ",
                        rule, seen.first, recent_.size(), seen.second);
  }
  return {StatusCode::kLimit,
          fmt::format("phase `{}` does not come to an end: {} rewrites; rules in the loop: {}; if "
                      "none is, --max-rewrites raises the limit of {}",
                      phase.name, phase_rewrites_, text, budget_)};
}

}  // namespace qrewrite
