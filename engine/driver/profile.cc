// What rules cost, and whether they fired as often as they should.
#include <algorithm>
#include <chrono>

#include <fmt/format.h>

#include "engine/base/diagnostics.h"
#include "engine/base/lines.h"
#include "engine/driver/explain.h"
#include "engine/driver/run.h"

namespace qrewrite {

const Firing& RuleRun::Try(const Phase& phase, const CompiledRule& rule, NodeId node) {
  if (options_.profile) {
    TryOnClock(phase, rule, node);
  } else {
    rewriter_.Try(rule, node, firing_);
  }
  return firing_;
}

void RuleRun::TryOnClock(const Phase& phase, const CompiledRule& rule, NodeId node) {
  const auto began = std::chrono::steady_clock::now();
  const Firing& firing = firing_;
  rewriter_.Try(rule, node, firing_);
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - began;
  const auto [it, added] = costs_.try_emplace({rule.rule, &phase}, report_.profile.size());
  if (added) {
    report_.profile.push_back(
        {.set = rules_.name, .rule = rule.rule->name, .phase = phase.name, .stops = {}});
  }
  RuleCost& cost = report_.profile[it->second];
  cost.seconds += took.count();
  cost.steps += firing.steps;
  ++cost.tried;
  cost.fired += firing.fired;
  if (firing.fired || !firing.exhausted.empty() || watch_.stopped()) return;
  // Once more, off the clock, for what stopped it.
  const MatchTrace trace = rewriter_.Explain(rule, node, {});
  if (trace.depth < 0) return;
  const Place place = trace.rejected() ? ReplacementOf(*rule.rule) : trace.place;
  const SourceSpan span = place.span();
  const std::string text = trace.rejected() ? "the replacement" : TextAt(place);
  const auto same = std::ranges::find_if(cost.stops, [&](const RuleCost::Stop& s) {
    return s.line == span.line && s.column == span.column && s.text == text;
  });
  if (same != cost.stops.end()) {
    ++same->count;
  } else {
    cost.stops.push_back({text, span.file, span.line, span.column, 1});
  }
}

namespace {

// Whether a rule of the set, or of those that its phases use, has to fire.
bool Demands(const RuleSet& rules, const std::vector<std::string>& required) {
  return std::ranges::any_of(rules.rules,
                             [&](const Rule& rule) {
                               return !rule.expect_hits.empty() ||
                                      std::ranges::find(required, rule.name) != required.end();
                             }) ||
         std::ranges::any_of(rules.phases, [&](const Phase& phase) {
           return phase.use != nullptr && Demands(*phase.use, required);
         });
}

}  // namespace

int64_t RuleRun::Fired(const Rule& rule) const {
  const auto row = setup_.book.rows.find(&rule);
  const auto found = setup_.book.findings.find(&rule);
  return (row == setup_.book.rows.end() ? 0 : report_.rules[row->second].fired) +
         (found == setup_.book.findings.end() ? 0 : found->second);
}

Status RuleRun::CheckHits() {
  std::set<std::string_view> fired;
  for (const auto& [rule, row] : setup_.book.rows) {
    if (report_.rules[row].fired > 0) fired.insert(rule->name);
  }
  for (const auto& [rule, nodes] : setup_.book.findings) fired.insert(rule->name);
  std::set<const RuleSet*> seen;
  std::vector<Diagnostic> faults;
  FindMissedHits(fired, seen, faults);
  if (faults.empty()) return {};
  return {StatusCode::kRefused, std::move(faults)};
}

void RuleRun::FindMissedHits(const std::set<std::string_view>& hits, std::set<const RuleSet*>& seen,
                             std::vector<Diagnostic>& faults) {
  const std::vector<std::string>& required = options_.require_hits;
  if (!Demands(rules_, required) || !seen.insert(&rules_).second) return;
  for (const Rule& rule : rules_.rules) {
    const int64_t fired = Fired(rule);
    const bool listed = std::ranges::find(required, rule.name) != required.end();
    const bool skipped =
        std::ranges::find(options_.skip_rules, rule.name) != options_.skip_rules.end();
    const bool expected =
        !rule.expect_hits.empty() && setup_.book.had_turn.contains(&rule) && !skipped;
    const bool wrong = expected && (fired < rule.hits_min || fired > rule.hits_max);
    if (!wrong && !(listed && !hits.contains(rule.name))) continue;
    Diagnostic& fault = faults.emplace_back();
    fault.span = rule.place.span();
    fault.message = fmt::format("rule `{}` fired {}", rule.name, Plural(fired, "time"));
    fault.message += wrong ? fmt::format(", `expect_hits` is {}", rule.expect_hits)
                           : ", and at least one hit is required";
    if (const std::string nearest = fired == 0 ? NearestOf(rule) : ""; !nearest.empty()) {
      fault.notes.push_back(nearest);
    }
  }
  for (const Phase& phase : rules_.phases) {
    if (phase.use == nullptr) continue;
    RuleRun inner(graph_, *CodeOf(phase).use, ParamsOfUsed(*phase.use, params_), setup_, report_);
    inner.FindMissedHits(hits, seen, faults);
  }
}

}  // namespace qrewrite
