// The report of a proof as a table for people and as JSON for machines.
#include <algorithm>
#include <cmath>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "engine/base/lines.h"
#include "qrewrite/prove.h"

namespace qrewrite {
namespace {

using Json = nlohmann::ordered_json;

std::string Margin(const ProvenRule& rule) {
  if (rule.compared == 0 || std::isnan(rule.margin)) return "";
  if (rule.equivalence.starts_with("ulp(")) return fmt::format("{} ulp", rule.margin);
  if (rule.equivalence.starts_with("lsb(")) return fmt::format("{:.3g} lsb", rule.margin);
  if (!rule.equivalence.starts_with("approx(")) return "";
  return std::isinf(rule.margin) ? "identical" : fmt::format("{:.1f} dB", rule.margin);
}

// Graphs on which it was held to less than it promises; "" for none.
std::string Excused(const ProvenRule& rule) {
  int64_t graphs = 0;
  for (const auto& [why, count] : rule.excused) graphs += count;
  return graphs > 0 ? std::to_string(graphs) : "";
}

int64_t Count(const ProvenRule& rule, ProvenCondition::Outcome outcome) {
  return std::ranges::count(rule.conditions, outcome, &ProvenCondition::outcome);
}

std::string Line(const ProvenRule& rule, size_t width) {
  return fmt::format("{:<{}}  {:<8} {:>6} {:>6} {:>9} {:>8}  {:<13} {:<10} {}\n", rule.name, width,
                     Name(rule.outcome), rule.graphs, rule.fired, rule.compared, Excused(rule),
                     rule.equivalence, Margin(rule),
                     rule.conditions.empty()
                         ? ""
                         : fmt::format("{} of {}", Count(rule, ProvenCondition::Outcome::kNeeded),
                                       rule.conditions.size()));
}

std::string WhyText(const ProvenRule& rule) {
  std::string text;
  for (const auto& [why, count] : rule.excused)
    text += fmt::format("{}:{}: rule `{}`: {} of {} are excused: {}\n", rule.file, rule.line,
                        rule.name, count, rule.compared, why);
  for (const ProvenCondition& c : rule.conditions) {
    text += fmt::format("{}:{}: `{}`: {}{}\n", rule.file, c.line, c.text, Name(c.outcome),
                        c.pinned        ? ""
                        : c.pin.empty() ? "; no test of the rule needs it"
                                        : "; no test of the rule needs it; this one would");
    text += Indented(c.counterexample, 6);
    text += Indented(c.pin, 6);
  }
  return text;
}

std::string WhyText(const ProvenDefinition& definition) {
  std::string text;
  for (const ProvenCondition& c : definition.conditions) {
    if (c.pinned) continue;
    text += fmt::format("{}:{}: `{}` of `${}`: no test needs it{}\n", definition.file, c.line,
                        c.text, definition.name, c.pin.empty() ? "" : "; this one would");
    text += Indented(c.pin, 6);
  }
  return text;
}

Json ConditionJson(const ProvenCondition& c) {
  return {{"text", c.text},   {"line", c.line},     {"outcome", Name(c.outcome)},
          {"alone", c.alone}, {"pinned", c.pinned}, {"counterexample", c.counterexample},
          {"pin", c.pin}};
}

}  // namespace

std::string_view Name(ProvenCondition::Outcome outcome) {
  switch (outcome) {
    case ProvenCondition::Outcome::kNeeded: return "needed";
    case ProvenCondition::Outcome::kNotNeeded: return "not needed";
    case ProvenCondition::Outcome::kUntested: return "untested";
  }
  return "";
}

std::string_view Name(ProvenRule::Outcome outcome) {
  switch (outcome) {
    case ProvenRule::Outcome::kHeld: return "held";
    case ProvenRule::Outcome::kRefuted: return "refuted";
    case ProvenRule::Outcome::kUnknown: return "unknown";
    case ProvenRule::Outcome::kSilent: return "silent";
  }
  return "";
}

std::string ProveReport::Text(bool why) const {
  size_t width = 4;
  for (const ProvenRule& rule : rules) width = std::max(width, rule.name.size());
  std::string text = fmt::format("{:<{}}  {:<8} {:>6} {:>6} {:>9} {:>8}  {:<13} {:<10} {}\n",
                                 "rule", width, "outcome", "graphs", "fired", "compared", "excused",
                                 "promise", "worst", "needed conditions");
  for (const ProvenRule& rule : rules) text += Line(rule, width);
  for (const ProvenRule& rule : rules) {
    const bool silent = rule.outcome == ProvenRule::Outcome::kSilent;
    if (rule.outcome == ProvenRule::Outcome::kUnknown || (silent && !rule.why.empty()))
      text += fmt::format("{}:{}: rule `{}` is not proven: {}\n", rule.file, rule.line, rule.name,
                          rule.why);
    if (rule.disputed > 0)
      text += fmt::format("{}:{}: rule `{}`: on {} of {} graphs {}\n", rule.file, rule.line,
                          rule.name, rule.disputed, rule.fired, rule.dispute);
    if (why) text += Indented(rule.disputed_graph, 6);
    if (why) text += WhyText(rule);
  }
  for (const ProvenDefinition& definition : definitions) text += why ? WhyText(definition) : "";
  for (const ProvenRule& rule : rules) {
    if (rule.outcome != ProvenRule::Outcome::kRefuted) continue;
    const std::string what = rule.failed_test.empty()
                                 ? fmt::format("does not keep its promise, {}", rule.equivalence)
                                 : fmt::format("is not what its test `{}` says", rule.failed_test);
    text += fmt::format("\n{}:{}: rule `{}` {}: {}\n{}", rule.file, rule.line, rule.name, what,
                        rule.why, Indented(rule.counterexample, 6));
  }
  const auto count = [&](ProvenRule::Outcome o) {
    return std::ranges::count(rules, o, &ProvenRule::outcome);
  };
  text +=
      fmt::format("{} held, {} refuted, {} unknown, {} silent; seed {}, {}\n",
                  count(ProvenRule::Outcome::kHeld), refuted, count(ProvenRule::Outcome::kUnknown),
                  count(ProvenRule::Outcome::kSilent), seed, evaluators);
  return text;
}

std::string ProveReport::Json() const {
  qrewrite::Json json = {{"set", set},
                         {"seed", seed},
                         {"evaluators", evaluators},
                         {"refuted", refuted},
                         {"rules", qrewrite::Json::array()}};
  for (const ProvenRule& rule : rules) {
    qrewrite::Json conditions = qrewrite::Json::array();
    for (const ProvenCondition& c : rule.conditions) conditions.push_back(ConditionJson(c));
    json["rules"].push_back(
        {{"rule", rule.name},
         {"file", rule.file},
         {"line", rule.line},
         {"equivalence", rule.equivalence},
         {"outcome", Name(rule.outcome)},
         {"graphs", rule.graphs},
         {"fired", rule.fired},
         {"compared", rule.compared},
         {"excused", rule.excused},
         {"margin", std::isfinite(rule.margin) ? qrewrite::Json(rule.margin) : nullptr},
         {"why", rule.why},
         {"disputed", rule.disputed},
         {"dispute", rule.dispute},
         {"disputed_graph", rule.disputed_graph},
         {"counterexample", rule.counterexample},
         {"failed_test", rule.failed_test},
         {"conditions", std::move(conditions)}});
  }
  json["definitions"] = qrewrite::Json::array();
  for (const ProvenDefinition& definition : definitions) {
    qrewrite::Json conditions = qrewrite::Json::array();
    for (const ProvenCondition& c : definition.conditions)
      conditions.push_back(
          {{"text", c.text}, {"line", c.line}, {"pinned", c.pinned}, {"pin", c.pin}});
    json["definitions"].push_back({{"definition", definition.name},
                                   {"file", definition.file},
                                   {"line", definition.line},
                                   {"conditions", std::move(conditions)}});
  }
  return json.dump(2) + "\n";
}

}  // namespace qrewrite
