#include "qrewrite/explain.h"

#include <algorithm>
#include <memory>
#include <optional>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "engine/api/model_impl.h"
#include "engine/api/rules_impl.h"
#include "engine/base/lines.h"
#include "engine/driver/explain.h"
#include "engine/onnx_io/inference.h"

namespace qrewrite {
namespace {

using Json = nlohmann::ordered_json;

std::string PlaceText(const SourceSpan& span) {
  return span.column > 0 ? fmt::format("{}:{}:{}", span.file, span.line, span.column)
                         : fmt::format("{}:{}", span.file, span.line);
}

std::string Behind(const SourceSpan& span) {
  return span.file.empty() ? "" : fmt::format(" ({})", PlaceText(span));
}

const char* Word(Attempt::Outcome outcome) {
  switch (outcome) {
    case Attempt::Outcome::kStopped: return "stopped";
    case Attempt::Outcome::kRejected: return "rejected";
    case Attempt::Outcome::kApplies: return "applies";
    case Attempt::Outcome::kNotTried: return "not_tried";
  }
  return "";
}

const char* Word(ExplainedFiring::Role role) {
  switch (role) {
    case ExplainedFiring::Role::kTook: return "took";
    case ExplainedFiring::Role::kUsed: return "used";
    case ExplainedFiring::Role::kFreed: return "freed";
    case ExplainedFiring::Role::kMade: return "made";
  }
  return "";
}

// "stops after 2 of 3 operators".
std::string Verdict(const Attempt& a) {
  const std::string of = a.operators > 0
                             ? fmt::format("{} of {}", a.matched, Plural(a.operators, "operator"))
                             : Plural(a.matched, "operator");
  switch (a.outcome) {
    case Attempt::Outcome::kStopped: return "stops after " + of;
    case Attempt::Outcome::kRejected: return "matches, but its replacement is rejected";
    case Attempt::Outcome::kApplies: return "applies here";
    case Attempt::Outcome::kNotTried: return "is not tried";
  }
  return "";
}

std::string LinesText(const Attempt& a) {
  size_t text_width = 0, place_width = 0;
  for (const ExplainedLine& line : a.lines) {
    text_width = std::max(text_width, line.text.size());
    place_width = std::max(place_width, PlaceText(line.place).size());
  }
  std::string text;
  for (const ExplainedLine& line : a.lines) {
    std::string row =
        fmt::format("  {} {:<{}}  {:<{}}  {}", line.stopped ? '>' : ' ', line.text, text_width,
                    PlaceText(line.place), place_width, line.nodes.empty() ? "-" : "");
    for (size_t i = 0; i < line.nodes.size(); ++i) row += (i == 0 ? "" : "; ") + line.nodes[i];
    text += row + "\n";
  }
  return text;
}

std::string AttemptText(const Attempt& a) {
  std::string text = fmt::format("\n{}/{}{} {}", a.set, a.rule, Behind(a.place), Verdict(a));
  if (!a.anchor.empty() && a.outcome != Attempt::Outcome::kApplies) {
    text += fmt::format(", from {}", a.anchor);
  }
  if (a.before) text += fmt::format(", as the graph was before phase `{}`", a.phase);
  text += "\n" + LinesText(a);
  if (!a.reason.empty() && a.outcome != Attempt::Outcome::kApplies) {
    text += fmt::format("  {}{}\n", a.reason, Behind(a.at));
  }
  for (const ExplainedFact& fact : a.facts) {
    text += fmt::format("    {}{}\n", fact.text, Behind(fact.place));
  }
  for (const auto& [name, words] : a.names) text += fmt::format("  {} = {}\n", name, words);
  return text;
}

std::string FiringText(const ExplainedFiring& f) {
  const char* what = "";
  switch (f.role) {
    case ExplainedFiring::Role::kTook: what = "took it"; break;
    case ExplainedFiring::Role::kUsed: what = "matched it, and it is still there"; break;
    case ExplainedFiring::Role::kFreed: what = "left it unread"; break;
    case ExplainedFiring::Role::kMade: what = "made it"; break;
  }
  if (f.number == 0) {
    return fmt::format("\n{}/{}{} refuses it, or warns\n", f.set, f.rule, Behind(f.place));
  }
  return fmt::format("\nrewrite {}: {}/{}{} {}\n  before\n{}  after\n{}", f.number, f.set, f.rule,
                     Behind(f.place), what, Indented(f.before, 4), Indented(f.after, 4));
}

std::string TableText(const std::vector<RuleOutcome>& rules) {
  std::string text = "fired  tried  rule\n";
  for (const RuleOutcome& rule : rules) {
    text += fmt::format("{:>5}  {:>5}  {}/{}{}\n", rule.fired, rule.tried, rule.set, rule.rule,
                        Behind(rule.place));
    if (!rule.not_tried.empty()) text += fmt::format("{:>15}{}\n", "", rule.not_tried);
    for (const ExplainedStop& stop : rule.stops) {
      text += fmt::format("{:>15}{} x `{}`{}, {}: {}\n", "", stop.count, stop.text,
                          Behind(stop.place), stop.node, stop.reason);
    }
  }
  return text;
}

Json SpanJson(const SourceSpan& span) {
  Json json = Json::object();
  if (span.file.empty()) return json;
  json["file"] = span.file;
  json["line"] = span.line;
  if (span.column > 0) json["column"] = span.column;
  return json;
}

Json AttemptJson(const Attempt& a) {
  Json json = {{"set", a.set},
               {"rule", a.rule},
               {"phase", a.phase},
               {"place", SpanJson(a.place)},
               {"outcome", Word(a.outcome)},
               {"before", a.before},
               {"anchor", a.anchor},
               {"matched", a.matched},
               {"operators", a.operators},
               {"lines", Json::array()},
               {"names", Json::object()},
               {"reason", a.reason},
               {"at", SpanJson(a.at)},
               {"facts", Json::array()}};
  for (const ExplainedLine& line : a.lines) {
    json["lines"].push_back({{"text", line.text},
                             {"place", SpanJson(line.place)},
                             {"nodes", line.nodes},
                             {"stopped", line.stopped}});
  }
  for (const auto& [name, words] : a.names) json["names"][name] = words;
  for (const ExplainedFact& fact : a.facts) {
    json["facts"].push_back({{"text", fact.text}, {"place", SpanJson(fact.place)}});
  }
  return json;
}

Json RuleJson(const RuleOutcome& rule) {
  Json json = {{"set", rule.set},
               {"rule", rule.rule},
               {"phase", rule.phase},
               {"place", SpanJson(rule.place)},
               {"fired", rule.fired},
               {"tried", rule.tried},
               {"not_tried", rule.not_tried},
               {"stops", Json::array()}};
  for (const ExplainedStop& stop : rule.stops) {
    json["stops"].push_back({{"text", stop.text},
                             {"place", SpanJson(stop.place)},
                             {"count", stop.count},
                             {"matched", stop.matched},
                             {"operators", stop.operators},
                             {"node", stop.node},
                             {"reason", stop.reason}});
  }
  return json;
}

}  // namespace

std::string Explanation::Nearest() const {
  const RuleOutcome* rule = nullptr;
  const ExplainedStop* best = nullptr;
  for (const RuleOutcome& r : rules) {
    if (r.fired > 0) continue;
    for (const ExplainedStop& stop : r.stops) {
      if (best != nullptr && stop.depth <= best->depth) continue;
      rule = &r;
      best = &stop;
    }
  }
  if (best == nullptr) return "";
  return fmt::format("rule `{}` came nearest, at {}: {}{}", rule->rule, best->node, best->reason,
                     Behind(best->place));
}

std::string Explanation::Text() const {
  std::string text;
  if (at.empty()) {
    text = TableText(rules);
    text += Plural(rewrites, "rewrite") + "\n";
    if (!complete) text += "the model is large: not all rules were tried everywhere\n";
  } else {
    text = at + "\n";
    if (!outcome.empty()) text += outcome + "\n";
    for (const ExplainedFiring& firing : firings) text += FiringText(firing);
    for (const Attempt& attempt : attempts) text += AttemptText(attempt);
    if (attempts.empty() && firings.empty()) text += "\nno rule has anything to do with it\n";
    if (more_attempts > 0) {
      text += fmt::format("\n{} matched less of it\n", Plural(more_attempts, "more rule"));
    }
  }
  if (!error.empty()) text += fmt::format("\nthe run ends with an error: {}\n", error);
  return text;
}

std::string Explanation::Json() const {
  qrewrite::Json root = qrewrite::Json::object();
  root["rewrites"] = rewrites;
  if (!error.empty()) root["error"] = error;
  if (at.empty()) {
    root["complete"] = complete;
    root["nearest"] = Nearest();
    root["rules"] = qrewrite::Json::array();
    for (const RuleOutcome& rule : rules) root["rules"].push_back(RuleJson(rule));
  } else {
    root["at"] = at;
    root["outcome"] = outcome;
    root["firings"] = qrewrite::Json::array();
    for (const ExplainedFiring& f : firings) {
      root["firings"].push_back({{"number", f.number},
                                 {"set", f.set},
                                 {"rule", f.rule},
                                 {"place", SpanJson(f.place)},
                                 {"role", Word(f.role)},
                                 {"before", f.before},
                                 {"after", f.after}});
    }
    root["attempts"] = qrewrite::Json::array();
    for (const Attempt& a : attempts) root["attempts"].push_back(AttemptJson(a));
    root["more_attempts"] = more_attempts;
  }
  // Names of a model may be any bytes.
  return root.dump(2, ' ', /*ensure_ascii=*/true, qrewrite::Json::error_handler_t::replace) + "\n";
}

Result<Explanation> Explain(const Model& model, const Rules& rules, const ExplainOptions& options) {
  QR_ASSIGN_OR_RETURN(Model copy, model.Clone());
  const std::unique_ptr<ShapeInference> inference = MakeOnnxInference();
  const RunContext context{.kernels = &rules.impl().kernels,
                           .functions = &rules.impl().functions,
                           .inference = inference.get()};
  return ExplainRules(copy.impl().file->graph(), *rules.impl().program, options, context);
}

}  // namespace qrewrite
