// Explainer: rules tried once more, all over the graph or around one node.
#include <algorithm>
#include <tuple>

#include <fmt/format.h>

#include "engine/base/lines.h"
#include "engine/driver/beginnings.h"
#include "engine/driver/explain.h"
#include "engine/driver/run.h"
#include "engine/graph/node_text.h"

namespace qrewrite {
namespace {

constexpr int kReach = 16;  // a rule's anchor lies at most so many edges from the node
constexpr size_t kMaxAnchors = 256, kMaxStops = 3, kMaxText = 72;

bool Within(const Place& inner, const Place& outer) {
  return inner.source == outer.source && inner.source != nullptr && inner.begin >= outer.begin &&
         inner.end <= outer.end;
}

// Operators in a pattern; 0 if it has definitions or chains, which stand for any number.
bool CountOperators(const PatArg& arg, int64_t& count) {
  for (const PatArg& member : arg.members()) {
    if (!CountOperators(member, count)) return false;
  }
  if (arg.call == nullptr) return true;
  if (!arg.call->is_one_node() || arg.repeated) return false;
  ++count;
  return std::all_of(arg.call->args.begin(), arg.call->args.end(),
                     [&](const PatArg& inner) { return CountOperators(inner, count); });
}

int64_t CountOperators(const Pattern& pattern) {
  int64_t count = 0;
  for (const PatStmt& stmt : pattern.stmts) {
    if (!CountOperators(stmt.value, count)) return 0;
  }
  return count;
}

}  // namespace

std::string TextAt(const Place& place) {
  if (place.source == nullptr || place.end <= place.begin) return "";
  std::string text = InOneLine(place.source->text().substr(place.begin, place.end - place.begin));
  if (text.size() > kMaxText) text = text.substr(0, kMaxText - 3) + "...";
  return text;
}

Place ReplacementOf(const Rule& rule) {
  return rule.replace ? rule.replace->place : rule.cases.empty() ? rule.place : rule.cases[0].place;
}

// --- the table

void Explainer::Tabulate(RuleRun& run, const Phase& phase) {
  if (!run.FindOrder().ok()) return;
  for (const std::string& name : phase.rules) {
    const Rule* rule = run.rules_.FindRule(name);
    if (rule == nullptr || !Wanted(name)) continue;
    RuleOutcome row{.set = run.rules_.name,
                    .rule = name,
                    .phase = phase.name,
                    .place = rule->place.span(),
                    .fired = fired_[name],
                    .not_tried = WhyNotTried(run, phase, *rule)};
    if (row.not_tried.empty()) TabulateRule(run, *rule, row);
    told_.rules.push_back(std::move(row));
  }
}

void Explainer::TabulateRule(RuleRun& run, const Rule& rule, RuleOutcome& row) {
  const CompiledRule& compiled = run.Compiled(rule);
  Beginnings begins(graph_, run.program_, compiled);
  std::map<std::tuple<const SourceText*, uint32_t, uint32_t>, ExplainedStop> stops;
  for (const NodeId n : run.order_) {
    if (!graph_.alive(n) || !begins.At(n)) continue;
    if (++tries_ > options_.max_tries) {
      told_.complete = false;
      break;
    }
    ++row.tried;
    const MatchTrace trace = run.rewriter_.Explain(compiled, n, {});
    if (trace.depth < 0 || trace.applies()) continue;
    const Place place = trace.rejected() ? ReplacementOf(rule) : trace.place;
    ExplainedStop& stop = stops[{place.source, place.begin, place.end}];
    if (stop.count++ == 0 || trace.depth > stop.depth) {
      stop.text = trace.rejected() ? "the replacement" : TextAt(place);
      stop.place = place.span();
      stop.matched = static_cast<int64_t>(trace.matched);
      stop.operators = CountOperators(compiled.pattern);
      stop.depth = trace.depth;
      stop.node = NodeText(graph_, n);
      stop.reason = trace.reason;
    }
  }
  for (auto& [place, stop] : stops) row.stops.push_back(std::move(stop));
  std::stable_sort(row.stops.begin(), row.stops.end(),
                   [](const ExplainedStop& a, const ExplainedStop& b) {
                     return std::pair(a.depth, a.count) > std::pair(b.depth, b.count);
                   });
  if (row.stops.size() > kMaxStops) row.stops.resize(kMaxStops);
  if (row.tried > 0 || row.fired > 0) return;
  const auto anchors = AnchorOps(run.program_, compiled.pattern);
  row.not_tried = "the graph has no node";
  if (!anchors) return;
  std::vector<std::string> names;
  for (const OpPattern& p : *anchors) names.push_back(p.op.text());
  row.not_tried = fmt::format("it begins at {}, and the graph has none", fmt::join(names, ", "));
}

// --- one place

void Explainer::AttemptAll(RuleRun& run, const Phase& phase, bool before) {
  if (!run.FindOrder().ok()) return;
  for (const std::string& name : phase.rules) {
    const Rule* rule = run.rules_.FindRule(name);
    if (rule != nullptr && Wanted(name)) AttemptRule(run, phase, *rule, before);
  }
}

void Explainer::AttemptRule(RuleRun& run, const Phase& phase, const Rule& rule, bool before) {
  Candidate best{
      .attempt = {.outcome = Attempt::Outcome::kNotTried, .reason = WhyNotTried(run, phase, rule)},
      .trace = {}};
  const CompiledRule& compiled = run.Compiled(rule);
  NodeId anchor;
  bool there = false;
  Beginnings begins(graph_, run.program_, compiled);
  for (const NodeId subject : subjects_) {
    if (!best.attempt.reason.empty() || !graph_.alive(subject)) continue;
    there = true;
    for (const NodeId n : NodesAround(graph_, subject, kReach, kMaxAnchors)) {
      if (n != subject && !begins.At(n)) continue;
      MatchTrace trace = run.rewriter_.Explain(compiled, n, {.watched = subject, .details = true});
      // A match is told by what it rests on, not by where the search came by.
      if (trace.applies() && trace.part == MatchTrace::Part::kNone) continue;
      if (trace.part != MatchTrace::Part::kNone && trace.Beats(best.trace)) {
        best.trace = std::move(trace);
        anchor = n;
      }
    }
  }
  if (!there && best.attempt.reason.empty()) return;  // gone: what was before holds
  if (anchor.valid()) {
    best.attempt = ToAttempt(run, rule, anchor, best.trace);
  } else if (best.attempt.reason.empty()) {
    best.attempt.reason = "nothing of its pattern is there";
  }
  Attempt& a = best.attempt;
  a.set = run.rules_.name;
  a.rule = rule.name;
  a.phase = phase.name;
  a.place = rule.place.span();
  a.before = before;
  // Of all rules those that have something to do with the node.
  const bool concerned = best.trace.part == MatchTrace::Part::kMatched ||
                         (best.trace.part == MatchTrace::Part::kRefused && best.trace.matched > 0);
  if (concerned || !options_.rules.empty()) Keep(std::move(best));
}

Attempt Explainer::ToAttempt(RuleRun& run, const Rule& rule, NodeId anchor,
                             MatchTrace& trace) const {
  using Outcome = Attempt::Outcome;
  const CompiledRule& compiled = run.Compiled(rule);
  Attempt a;
  a.outcome = trace.applies()    ? Outcome::kApplies
              : trace.rejected() ? Outcome::kRejected
                                 : Outcome::kStopped;
  a.anchor = NodeText(graph_, anchor);
  a.matched = static_cast<int64_t>(trace.matched);
  a.operators = CountOperators(compiled.pattern);
  a.reason = trace.reason;
  a.at = trace.rejected() ? ReplacementOf(rule).span() : trace.place.span();
  std::vector<bool> told(trace.steps.size(), false);
  for (const PatStmt& stmt : compiled.pattern.stmts) {
    ExplainedLine line{.text = TextAt(stmt.stmt->place), .place = stmt.stmt->place.span()};
    line.stopped = a.outcome == Outcome::kStopped && Within(trace.place, stmt.stmt->place);
    for (size_t i = 0; i < trace.steps.size(); ++i) {
      if (!Within(trace.steps[i].call->place, stmt.stmt->place)) continue;
      line.nodes.push_back(NodeLine(graph_, trace.steps[i].node));
      told[i] = true;
    }
    a.lines.push_back(std::move(line));
  }
  // In definitions that the pattern calls.
  for (size_t i = 0; i < trace.steps.size(); ++i) {
    if (told[i]) continue;
    const Expr& call = *trace.steps[i].call;
    a.lines.push_back({.text = TextAt(call.place),
                       .place = call.place.span(),
                       .nodes = {NodeLine(graph_, trace.steps[i].node)}});
  }
  run.in_.BeginBudget();
  if (trace.names) a.names = run.in_.InWords(compiled.pattern, *trace.names);
  if (trace.condition.valid() && trace.frame) {
    for (const FactStep& step : run.in_.WhyNot(trace.condition, *trace.frame)) {
      // A condition that is a fact and no more is told once, with what it was asked about.
      const bool same = step.place.begin == trace.place.begin && step.place.end == trace.place.end;
      if (same && a.facts.empty() && step.place.source == trace.place.source) {
        a.reason = step.text;
      } else {
        a.facts.push_back({step.text, step.place.span()});
      }
    }
  }
  run.in_.BeginBudget();
  return a;
}

}  // namespace qrewrite
