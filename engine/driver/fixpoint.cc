// The fixed point of a phase: sweeps over the graph, producers first, until one fires nothing.
// Within a sweep what a firing made or uncovered is visited at once, so a cascade drains in one go;
// the full sweep at the end is what correctness rests on.
#include <algorithm>

#include <fmt/format.h>

#include "engine/base/diagnostics.h"
#include "engine/driver/run.h"
#include "engine/graph/verify.h"
#include "engine/rule/check.h"

namespace qrewrite {
namespace {

constexpr size_t kRecent = 64;  // firings that a loop error looks back on

std::string Describe(const Graph& graph, NodeId n) {
  const std::string_view name = graph.name(n);
  return fmt::format("{} {}", graph.op_name(graph.op(n)).text(),
                     name.empty() ? "without a name" : "`" + Printable(name) + "`");
}

}  // namespace

bool RuleRun::RuleApplies(const Rule& rule) const {
  const std::vector<std::string>& skipped = options_.skip_rules;
  if (std::find(skipped.begin(), skipped.end(), rule.name) != skipped.end()) return false;
  const int64_t opset = MainOpset();
  return opset >= rule.opset_min && opset <= rule.opset_max &&
         OtherOpset(graph_, rule.opsets).empty();
}

Result<std::vector<NodeId>> RuleRun::Order() {
  std::vector<NodeId> order;
  // A body's nodes; those of a subgraph come before the node that holds it.
  struct Open {
    std::vector<NodeId> nodes;
    size_t next = 0;
    bool entered = false;  // the subgraphs of nodes[next] are done
  };
  const auto walk = [&](BodyId root) -> Status {
    std::vector<Open> stack;
    QR_ASSIGN_OR_RETURN(std::vector<NodeId> nodes, TopologicalOrder(graph_, root));
    stack.push_back({std::move(nodes)});
    while (!stack.empty()) {
      Open& top = stack.back();
      if (top.next == top.nodes.size()) {
        stack.pop_back();
        continue;
      }
      const NodeId n = top.nodes[top.next];
      if (!top.entered && graph_.HasSubgraphs(n)) {
        top.entered = true;
        const std::vector<BodyId> bodies = graph_.SubgraphsOf(n);
        for (auto b = bodies.rbegin(); b != bodies.rend(); ++b) {
          QR_ASSIGN_OR_RETURN(std::vector<NodeId> inner, TopologicalOrder(graph_, *b));
          stack.push_back({std::move(inner)});
        }
        continue;
      }
      order.push_back(n);
      top.entered = false;
      ++top.next;
    }
    return {};
  };
  QR_RETURN_IF_ERROR(walk(graph_.main()));
  for (size_t b = 1; b < graph_.num_bodies(); ++b) {
    const Body& body = graph_.body(BodyId(b));
    if (body.alive && body.kind == BodyKind::kFunction) QR_RETURN_IF_ERROR(walk(BodyId(b)));
  }
  return order;
}

Status RuleRun::FixedPoint(const Phase& phase) {
  std::vector<const CompiledRule*> rules;
  for (const std::string& name : phase.rules) {
    const Rule* rule = rules_.FindRule(name);
    if (rule != nullptr && RuleApplies(*rule)) rules.push_back(&Compiled(*rule));
  }
  if (rules.empty()) return {};
  CandidateIndex candidates(graph_, program_, std::move(rules));
  int64_t alive = 0;
  for (size_t n = 0; n < graph_.num_nodes(); ++n) alive += graph_.alive(NodeId(n));
  phase_rewrites_ = 0;
  budget_ = options_.max_rewrites > 0 ? options_.max_rewrites : 1000 + 20 * alive;
  int64_t fired = 1;
  while (fired > 0) {
    fired = 0;
    facts_.ForgetUnknown();
    in_.ForgetAllFacts();
    QR_RETURN_IF_ERROR(Sweep(phase, candidates, /*follow=*/true, &fired));
  }
  return {};
}

Status RuleRun::Sweep(const Phase& phase, CandidateIndex& candidates, bool follow, int64_t* fired) {
  QR_ASSIGN_OR_RETURN(const std::vector<NodeId> order, Order());
  for (const NodeId n : order) {
    if (graph_.alive(n)) QR_RETURN_IF_ERROR(Visit(phase, candidates, n, follow, fired));
  }
  return {};
}

Status RuleRun::Visit(const Phase& phase, CandidateIndex& candidates, NodeId start, bool follow,
                      int64_t* fired) {
  std::vector<NodeId> todo = {start};
  while (!todo.empty()) {
    const NodeId n = todo.back();
    todo.pop_back();
    if (!graph_.alive(n)) continue;
    for (const CompiledRule* candidate : candidates.At(n)) {
      const CompiledRule& rule = *candidate;
      const Firing firing = rewriter_.Try(rule, n);
      if (!in_.exhausted().empty()) {
        return Status(StatusCode::kLimit, fmt::format("rule `{}` at {}: {}", rule.rule->name,
                                                      Describe(graph_, n), in_.exhausted()));
      }
      if (!firing.fired) continue;
      if (!firing.changed) {
        QR_RETURN_IF_ERROR(RefuseOrWarn(rule, n));
        continue;
      }
      for (const NodeId made : firing.created) {
        if (made_of_.size() <= made.index) made_of_.resize(made.index + 1);
        made_of_[made.index] = n;
      }
      QR_RETURN_IF_ERROR(CountFiring(phase, rule, firing, n));
      ++*fired;
      if (!follow) break;
      // Popped in this order: new nodes (producers first), the node itself, readers of what lost
      // readers.
      for (const ValueId v : firing.released) {
        if (!graph_.alive(v) || graph_.num_uses(v) > 4) continue;
        for (const UseId u : graph_.uses(v)) {
          if (!graph_.user(u).is_output()) todo.push_back(graph_.user(u).node);
        }
      }
      todo.push_back(n);
      todo.insert(todo.end(), firing.created.rbegin(), firing.created.rend());
      break;
    }
  }
  return {};
}

Status RuleRun::CountFiring(const Phase& phase, const CompiledRule& rule, const Firing& firing,
                            NodeId node) {
  const auto [it, added] = counts_.try_emplace(rule.rule, report_.rules.size());
  if (added) {
    report_.rules.push_back({.set = rules_.name, .rule = rule.rule->name, .counters = {}});
    RuleCount& fresh = report_.rules.back();
    for (const std::string& name : rule.rule->CounterNames()) fresh.counters.emplace_back(name, 0);
  }
  RuleCount& count = report_.rules[it->second];
  ++count.fired;
  for (size_t i = 0; i < count.counters.size(); ++i) {
    count.counters[i].second += firing.counted.empty() || firing.counted[i];
  }
  ++report_.rewrites;
  const std::string where =
      firing.redefined.empty() ? std::string() : Printable(graph_.name(firing.redefined[0]));
  if (recent_.size() < kRecent) recent_.emplace_back();
  recent_[next_recent_++ % kRecent] = {rule.rule->name, where};
  if (rule.rule->warn) QR_RETURN_IF_ERROR(RefuseOrWarn(rule, node));
  if (options_.verify) {
    if (const Status status = Verify(graph_); !status.ok()) {
      return Status(
          StatusCode::kInvalidModel,
          fmt::format("after rule `{}` at `{}`: {}", rule.rule->name, where, status.message()));
    }
  }
  return ++phase_rewrites_ > budget_ ? LoopError(phase) : Status();
}

Status RuleRun::LoopError(const Phase& phase) const {
  std::map<std::string, std::pair<int, std::string>> rules;
  for (const auto& [rule, value] : recent_) {
    auto& [count, where] = rules[rule];
    ++count;
    where = value;
  }
  std::string text;
  for (const auto& [rule, seen] : rules) {
    text += fmt::format("{}`{}` ({} of the last {}, lastly at `{}`)", text.empty() ? "" : ", ",
                        rule, seen.first, recent_.size(), seen.second);
  }
  return {StatusCode::kLimit,
          fmt::format("phase `{}` does not come to an end: {} rewrites; rules in the loop: {}",
                      phase.name, phase_rewrites_, text)};
}

NodeId RuleRun::Origin(NodeId node) const {
  while (node.index < made_of_.size() && made_of_[node.index].valid()) node = made_of_[node.index];
  return node;
}

Status RuleRun::RefuseOrWarn(const CompiledRule& rule, NodeId node) {
  if (!found_.insert({rule.rule, node}).second) return {};
  // A normal form of the rule set is told by the operator that the model had in its place.
  const bool internal = IsPrivateDomain(graph_.op_name(graph_.op(node)).domain);
  const NodeId origin = internal ? Origin(node) : node;
  Finding finding{.rule = rule.rule->name,
                  .text = rule.rule->refuse ? *rule.rule->refuse : rule.rule->warn.value_or(""),
                  .op = graph_.op_name(graph_.op(origin)).text(),
                  .node = std::string(graph_.name(origin)),
                  .output = {},
                  .notes = {}};
  for (size_t i = 0; i < graph_.num_outputs(node) && finding.output.empty(); ++i) {
    if (graph_.output(node, i).valid()) finding.output = graph_.name(graph_.output(node, i));
  }
  if (rule.rule->refuse) {
    if (std::string nearest = Nearest(node); !nearest.empty()) finding.notes.push_back(nearest);
  }
  if (!rule.rule->refuse || options_.allow_partial) {
    report_.warnings.push_back(std::move(finding));
    return {};
  }
  std::string what = finding.op + " ";
  what += finding.node.empty() ? fmt::format("(unnamed, output `{}`)", Printable(finding.output))
                               : "`" + Printable(finding.node) + "`";
  refusals_.push_back(
      {.severity = Severity::kError,
       .message = fmt::format("{}: {} (rule `{}`)", what, finding.text, finding.rule),
       .notes = std::move(finding.notes)});
  return {};
}

}  // namespace qrewrite
