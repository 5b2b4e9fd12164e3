// Why rules do not fire: each is tried once more, with a trace of how far the search comes.
#include <algorithm>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "engine/driver/explain.h"
#include "engine/driver/run.h"
#include "engine/graph/neighbours.h"
#include "engine/graph/node_text.h"

namespace qrewrite {
namespace {

constexpr size_t kMaxExplained = 32;  // refusals of a run that are explained: it takes its time
constexpr int kReach = 6;             // a rule's anchor lies at most so many edges from the node
constexpr size_t kMaxAnchors = 64;

}  // namespace

std::vector<NodeId> NodesAround(const Graph& graph, NodeId node, int reach, size_t most) {
  std::vector<NodeId> found = {node};
  std::set<NodeId> seen = {node};
  size_t begin = 0;
  for (int step = 0; step < reach && found.size() < most; ++step) {
    const size_t end = found.size();
    for (; begin < end; ++begin) {
      for (const NodeId n : Neighbours(graph, found[begin])) {
        if (found.size() < most && seen.insert(n).second) found.push_back(n);
      }
    }
  }
  return found;
}

namespace {

// Whether a call of the pattern names the operator of `node`.
bool Mentions(const Graph& graph, const PatArg& arg, NodeId node) {
  for (const PatArg& member : arg.members()) {
    if (Mentions(graph, member, node)) return true;
  }
  if (arg.call == nullptr) return false;
  const PatCall& call = *arg.call;
  const bool named = call.definition < 0 && !call.ops.negated;
  if (named && call.ops.Accepts(graph.op_name(graph.op(node)))) return true;
  return std::any_of(call.args.begin(), call.args.end(),
                     [&](const PatArg& inner) { return Mentions(graph, inner, node); });
}

bool Mentions(const Graph& graph, const Pattern& pattern, NodeId node) {
  return std::any_of(pattern.stmts.begin(), pattern.stmts.end(),
                     [&](const PatStmt& stmt) { return Mentions(graph, stmt.value, node); });
}

std::string Where(const Place& place) {
  if (place.source == nullptr) return "";
  const SourceSpan span = place.span();
  return fmt::format(" ({}:{}:{})", span.file, span.line, span.column);
}

// "Relu, acme.Op": what a rule can begin with.
std::string Names(const OpPatterns& ops) {
  std::string names;
  for (const OpPattern& p : ops) names += (names.empty() ? "" : ", ") + p.op.text();
  return names;
}

}  // namespace

bool RuleRun::TryAt(const Rule& rule, Beginnings& begins, NodeId node, NearMiss& best,
                    NodeId watched) {
  if (!begins.At(node)) return false;
  const CompiledRule& compiled = Compiled(rule);
  MatchTrace trace = rewriter_.Explain(compiled, node, {.watched = watched});
  // A rule that neither came by the node nor names its operator has nothing to do with it.
  const bool concerned = !watched.valid() || trace.part == MatchTrace::Part::kMatched ||
                         Mentions(graph_, compiled.pattern, watched);
  if (concerned && trace.Beats(best.trace)) best = {&rule, node, std::move(trace)};
  return true;
}

RuleRun::Reason RuleRun::Nearest(NodeId node) {
  if (++explained_ > kMaxExplained) return {};
  const std::vector<NodeId> around = NodesAround(graph_, node, kReach, kMaxAnchors);
  NearMiss best;
  for (const Rule& rule : rules_.rules) {
    if (rule.refuse || (rule.warn && !rule.replace) || !RuleApplies(rule)) continue;
    Beginnings begins = BeginningsOf(rule);
    for (const NodeId anchor : around) {
      NearMiss tried;
      // One that fits by now had its turn before: it is not what is missing.
      if (!TryAt(rule, begins, anchor, tried, node) || tried.trace.applies()) continue;
      if (tried.rule != nullptr && tried.trace.Beats(best.trace)) best = std::move(tried);
    }
  }
  if (best.rule == nullptr) return {};
  return {fmt::format("rule `{}` came nearest: {}{}", best.rule->name, best.trace.reason,
                      Where(best.trace.place)),
          best.trace.place.source == nullptr ? best.rule->place : best.trace.place};
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

// A rule of an opset upgrade has no turn in a model that is new enough.
std::string RuleRun::NotRaised(const Rule& rule) {
  for (const Phase& phase : rules_.phases) {
    if (phase.kind != PhaseKind::kToOpset) continue;
    if (std::find(phase.rules.begin(), phase.rules.end(), rule.name) == phase.rules.end()) continue;
    const std::optional<int64_t> target = in_.Force(EvalPlain(CodeOf(phase).to_opset)).whole();
    if (!target || MainOpset() < *target) return "";
    return fmt::format(
        "rule `{}` belongs to phase `{}`, which raises to opset {}; the model imports {}",
        rule.name, phase.name, *target, MainOpset());
  }
  return "";
}

std::string RuleRun::WhyNothing() {
  NearMiss best;
  const std::vector<const Rule*> rules = RulesOfRun();
  if (rules.empty() || !FindOrder().ok()) return "";
  bool begun = false;
  for (const Rule* rule : rules) {
    if (!RuleApplies(*rule)) {
      if (rules.size() > 1) continue;
      if (const std::string fault = OtherOpset(graph_, rule->opsets); !fault.empty()) {
        return fmt::format("rule `{}` is for {}", rule->name, fault);
      }
      return fmt::format("rule `{}` is for ai.onnx opset {}, the model imports {}", rule->name,
                         rule->opset, MainOpset());
    }
    if (const std::string why = NotRaised(*rule); rules.size() == 1 && !why.empty()) return why;
    Beginnings begins = BeginningsOf(*rule);
    for (const NodeId n : order_) {
      if (graph_.alive(n)) begun |= TryAt(*rule, begins, n, best);
    }
  }
  if (best.rule != nullptr) {
    return fmt::format("rule `{}` came nearest, at {}: {}{}", best.rule->name,
                       NodeText(graph_, best.node), best.trace.reason, Where(best.trace.place));
  }
  if (begun || rules.size() > 1) return "";
  const auto anchors = AnchorOps(program_, Compiled(*rules.front()).pattern);
  return fmt::format("rule `{}` begins at {}, and the graph has none", rules.front()->name,
                     anchors ? Names(*anchors) : "a node");
}

std::string RuleRun::NearestOf(const Rule& rule) {
  NearMiss best;
  if (!RuleApplies(rule) || !FindOrder().ok()) return "";
  Beginnings begins = BeginningsOf(rule);
  for (const NodeId n : order_) {
    if (graph_.alive(n)) TryAt(rule, begins, n, best);
  }
  in_.BeginBudget();
  if (best.rule == nullptr || best.trace.applies()) return "";
  return fmt::format("it came nearest at {}: {}{}", NodeText(graph_, best.node), best.trace.reason,
                     Where(best.trace.place));
}

// A little work at the end of each phase of rules: most runs fire, and nobody asks.
void RuleRun::NoteNearest(const Phase& phase) {
  constexpr int64_t kMostTries = 20'000;
  constexpr uint64_t kMostSteps = 4'000'000;
  if (phase.kind != PhaseKind::kRules) return;
  NearMiss best;
  uint64_t steps = 0;
  for (const CompiledRule* compiled : RulesOf(phase)) {
    if (report_.nearest_tries >= kMostTries || steps > kMostSteps) break;
    const Rule* rule = compiled->rule;
    if (!RuleApplies(*rule) || !Rewrites(*rule)) continue;
    Beginnings begins = BeginningsOf(*rule);
    // Of most rules there is nothing in a model: its nodes are not looked through for each.
    if (!begins.Anywhere()) continue;
    if (!FindOrder().ok()) return;
    for (const NodeId n : order_) {
      if (report_.nearest_tries >= kMostTries || steps > kMostSteps) break;
      if (!graph_.alive(n) || !TryAt(*rule, begins, n, best)) continue;
      ++report_.nearest_tries;
      steps += in_.steps();
    }
  }
  in_.BeginBudget();
  if (best.rule == nullptr || best.trace.applies() || best.trace.depth <= report_.nearest_depth) {
    return;
  }
  report_.nearest_depth = best.trace.depth;
  // Who runs a shipped rule set does not want to know where it is installed.
  std::string where = Where(best.trace.place);
  if (const size_t slash = where.rfind('/'); slash != std::string::npos) {
    where = " (" + where.substr(slash + 1);
  }
  report_.nearest = fmt::format("rule `{}` came nearest, at {}: {}{}", best.rule->name,
                                NodeText(graph_, best.node), best.trace.reason, where);
}

std::string WhyNothingFired(Graph& graph, const Program& program, const RunOptions& options,
                            const RunContext& context) {
  Result<Params> params = BindParams(program.rules(), options.set);
  if (!params.ok()) return "";
  RunReport report;
  const Result<KeptNodes> kept = FindKept(graph, options.keep);
  if (!kept.ok()) return "";
  RunWatch watch(graph, nullptr, std::nullopt, report);
  RunBook book;
  const RunSetup setup{options, context, kept->nodes, watch, book};
  return RuleRun(graph, program, *std::move(params), setup, report).WhyNothing();
}

}  // namespace qrewrite
