// Why rules do not fire: each is tried once more, with a trace of how far the search comes.
#include <algorithm>

#include <fmt/format.h>

#include "engine/driver/run.h"
#include "engine/match/match_run.h"

namespace qrewrite {
namespace {

std::string Where(const Place& place) {
  if (place.source == nullptr) return "";
  const SourceSpan span = place.span();
  return fmt::format(" ({}:{}:{})", span.file, span.line, span.column);
}

// "Relu, acme.Op": what a rule can begin with.
std::string Names(const std::vector<OpPattern>& ops) {
  std::string names;
  for (const OpPattern& p : ops) names += (names.empty() ? "" : ", ") + p.op.text();
  return names;
}

}  // namespace

bool RuleRun::TryAt(const Rule& rule, NodeId node, NearMiss& best) {
  const CompiledRule& compiled = Compiled(rule);
  const auto anchors = AnchorOps(rules_, compiled.pattern);
  const OpName& op = graph_.op_name(graph_.op(node));
  const bool fits = !anchors || std::any_of(anchors->begin(), anchors->end(),
                                            [&](const OpPattern& p) { return p.Matches(op); });
  if (!fits) return false;
  MatchTrace trace = rewriter_.Explain(compiled, node);
  if (trace.depth > best.trace.depth) best = {&rule, node, std::move(trace)};
  return true;
}

std::string RuleRun::Nearest(NodeId node) {
  NearMiss best;
  for (const Rule& rule : rules_.rules) {
    if (rule.refuse || (rule.warn && !rule.replace) || !RuleApplies(rule)) continue;
    TryAt(rule, node, best);
  }
  if (best.rule == nullptr) return "";
  return fmt::format("rule `{}` came nearest: {}{}", best.rule->name, best.trace.reason,
                     Where(best.trace.place));
}

std::vector<const Rule*> RuleRun::RulesOfRun() const {
  std::vector<std::string> names = options_.only_rules;
  if (names.empty()) {
    for (const Phase& phase : rules_.phases) {
      names.insert(names.end(), phase.rules.begin(), phase.rules.end());
    }
  }
  std::vector<const Rule*> rules;
  for (const std::string& name : names) {
    const Rule* rule = rules_.FindRule(name);
    if (rule != nullptr && std::find(rules.begin(), rules.end(), rule) == rules.end()) {
      rules.push_back(rule);
    }
  }
  return rules;
}

std::string RuleRun::WhyNothing() {
  NearMiss best;
  const std::vector<const Rule*> rules = RulesOfRun();
  const Result<std::vector<NodeId>> order = Order();
  if (rules.empty() || !order.ok()) return "";
  bool begun = false;
  for (const Rule* rule : rules) {
    if (!RuleApplies(*rule)) {
      if (rules.size() > 1) continue;
      return fmt::format("rule `{}` is for ai.onnx opset {}, the model imports {}", rule->name,
                         rule->opset, MainOpset());
    }
    for (const NodeId n : *order) {
      if (graph_.alive(n)) begun |= TryAt(*rule, n, best);
    }
  }
  if (best.rule != nullptr) {
    return fmt::format("rule `{}` came nearest, at {}: {}{}", best.rule->name,
                       NodeText(graph_, best.node), best.trace.reason, Where(best.trace.place));
  }
  if (begun || rules.size() > 1) return "";
  const auto anchors = AnchorOps(rules_, Compiled(*rules.front()).pattern);
  return fmt::format("rule `{}` begins at {}, and the graph has none", rules.front()->name,
                     anchors ? Names(*anchors) : "a node");
}

std::string WhyNothingFired(Graph& graph, const RuleSet& rules, const RunOptions& options,
                            const RunContext& context) {
  Result<Params> params = BindParams(rules, options.set);
  if (!params.ok()) return "";
  RunReport report;
  return RuleRun(graph, rules, *std::move(params), options, context, report).WhyNothing();
}

}  // namespace qrewrite
