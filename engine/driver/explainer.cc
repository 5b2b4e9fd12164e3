#include <algorithm>
#include <cctype>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "engine/base/diagnostics.h"
#include "engine/base/message.h"
#include "engine/driver/explain.h"
#include "engine/driver/run.h"
#include "engine/graph/node_text.h"

namespace qrewrite {
namespace {

constexpr size_t kMaxReaders = 8, kMaxHinted = 20'000;

// Exporters give long names, of which one types a part.
std::string Holding(const std::string& part, const std::vector<std::string>& names) {
  constexpr size_t kListed = 3;
  const auto same = [](char a, char b) {
    return std::tolower(static_cast<unsigned char>(a)) ==
           std::tolower(static_cast<unsigned char>(b));
  };
  std::vector<std::string> holding;
  for (const std::string& name : names) {
    if (std::search(name.begin(), name.end(), part.begin(), part.end(), same) == name.end())
      continue;
    if (std::ranges::find(holding, name) == holding.end()) holding.push_back(name);
    if (holding.size() > kListed) break;
  }
  if (holding.empty()) return "";
  const bool more = holding.size() > kListed;
  if (more) holding.pop_back();
  for (std::string& name : holding) name = "`" + Printable(name) + "`";
  return fmt::format("it is in {}{}", fmt::join(holding, ", "), more ? " and others" : "");
}

}  // namespace

// "y = Mul(r, half)".
std::string NodeLine(const Graph& graph, NodeId n) {
  const auto names = [&](size_t count, auto value) {
    std::vector<std::string> list;
    for (size_t i = 0; i < count; ++i) {
      const ValueId v = value(i);
      list.push_back(v.valid() ? Printable(std::string(graph.name(v)), 60) : "absent");
    }
    return list;
  };
  return fmt::format(
      "{} = {}({})",
      fmt::join(names(graph.num_outputs(n), [&](size_t i) { return graph.output(n, i); }), ", "),
      graph.op_name(graph.op(n)).text(),
      fmt::join(names(graph.num_inputs(n), [&](size_t i) { return graph.input(n, i); }), ", "));
}

Explainer::Explainer(const Graph& graph, const Program& program, const ExplainOptions& options,
                     Explanation& told)
    : graph_(graph), program_(program), options_(options), told_(told) {}

Status Explainer::FindSubject() {
  if (!Asks()) return {};
  NodeId by_name, by_output;
  std::vector<std::string> names;
  for (size_t i = 0; i < graph_.num_nodes(); ++i) {
    const NodeId n(i);
    if (!graph_.alive(n)) continue;
    if (!by_name.valid() && graph_.name(n) == options_.at) by_name = n;
    const bool makes =
        !by_output.valid() && AnyName(graph_, n, [&](auto name) { return name == options_.at; });
    if (makes) by_output = n;
    if (names.size() >= kMaxHinted) continue;
    if (!graph_.name(n).empty()) names.emplace_back(graph_.name(n));
    for (size_t k = 0; k < graph_.num_outputs(n); ++k) {
      if (graph_.output(n, k).valid()) names.emplace_back(graph_.name(graph_.output(n, k)));
    }
  }
  const NodeId node = by_name.valid() ? by_name : by_output;
  if (node.valid()) {
    is_node_ = true;
    subjects_ = {node};
    name_ = graph_.name(node);
    output_ = FirstOutput(graph_, node);
    told_.at = fmt::format("{}: {}", NodeText(graph_, node), NodeLine(graph_, node));
    return {};
  }
  for (size_t i = 0; i < graph_.num_values(); ++i) {
    const ValueId v(i);
    if (!graph_.alive(v) || graph_.name(v) != options_.at) continue;
    const bool constant = graph_.constant(v) != nullptr;
    told_.at = fmt::format("{} `{}`", constant ? "constant" : "input", Printable(options_.at));
    if (constant && graph_.Overridable(v)) told_.at += ", which the caller can override";
    for (const UseId u : graph_.uses(v)) {
      if (!graph_.user(u).is_output() && subjects_.size() < kMaxReaders) {
        subjects_.push_back(graph_.user(u).node);
      }
    }
    return {};
  }
  for (size_t i = 0; i < graph_.num_values() && names.size() < 2 * kMaxHinted; ++i) {
    const ValueId v(i);
    if (graph_.alive(v) && !graph_.producer(v).valid()) names.emplace_back(graph_.name(v));
  }
  std::string hint = DidYouMean(options_.at, names);
  if (hint.empty()) hint = Holding(options_.at, names);
  return {StatusCode::kUsage, fmt::format("no node and no value is named `{}`{}",
                                          Printable(options_.at), hint.empty() ? "" : "; " + hint)};
}

bool Explainer::Wanted(const std::string& rule) const {
  return options_.rules.empty() || std::ranges::find(options_.rules, rule) != options_.rules.end();
}

// --- what the run does

bool Explainer::WantsText(std::string_view) { return Asks() && is_node_; }

bool Explainer::IsSubject(const NodeView& node) const {
  if (!is_node_) return false;
  if (!name_.empty()) return node.name == name_;
  return std::ranges::find(node.outputs, output_) != node.outputs.end();
}

Observer::Answer Explainer::OnFiring(const FiringEvent& event) {
  ++fired_[std::string(event.rule)];
  told_.rewrites += event.number > 0;
  if (!is_node_) return Answer::kContinue;
  using Role = ExplainedFiring::Role;
  const auto is_subject = [&](const NodeView& node) { return IsSubject(node); };
  const bool matched = std::ranges::any_of(event.matched, is_subject);
  const bool made = std::ranges::any_of(event.created, is_subject);
  const bool went = gone_.empty() && !graph_.alive(subjects_[0]);
  if (!matched && !made && !went) return Answer::kContinue;
  ExplainedFiring firing{.number = event.number,
                         .set = std::string(event.set),
                         .rule = std::string(event.rule),
                         .place = {.file = std::string(event.file), .line = event.line},
                         .role = matched ? went ? Role::kTook : Role::kUsed
                                 : went  ? Role::kFreed
                                         : Role::kMade,
                         .before = std::string(event.before),
                         .after = std::string(event.after)};
  if (went) {
    gone_ = fmt::format("it is gone: {}rule `{}` {} (rewrite {})",
                        matched ? "" : "nobody reads it since ", event.rule,
                        matched ? "took it" : "fired", event.number);
  }
  told_.firings.push_back(std::move(firing));
  return Answer::kContinue;
}

void Explainer::PhaseBegins(RuleRun& run, const Phase& phase) {
  fired_.clear();
  if (phase.kind != PhaseKind::kRules && phase.kind != PhaseKind::kToOpset) return;
  for (const std::string& rule : phase.rules) seen_.emplace(run.rules_.name, rule);
  const bool upgrade = phase.kind == PhaseKind::kToOpset;
  if (!Asks() && !upgrade) return;
  // An upgrade is one sweep over the graph as it is; what it left would be judged at the new opset.
  const std::optional<int64_t> target =
      upgrade ? run.in_.Force(run.EvalPlain(run.CodeOf(phase).to_opset)).whole() : std::nullopt;
  const bool raises = target && run.MainOpset() < *target && *target <= NewestOpset();
  if (raises) run.rewriter_.ForgetIndexes(), run.graph_.BeginUpgrade(*target);
  if (Asks()) {
    AttemptAll(run, phase, /*before=*/true);
  } else {
    Tabulate(run, phase);
  }
  if (raises) run.graph_.EndUpgrade(), run.rewriter_.ForgetIndexes();
}

void Explainer::PhaseEnds(RuleRun& run, const Phase& phase) {
  if (phase.kind == PhaseKind::kRules) {
    if (Asks()) {
      AttemptAll(run, phase, /*before=*/false);
    } else {
      Tabulate(run, phase);
    }
  } else if (phase.kind == PhaseKind::kToOpset) {
    for (RuleOutcome& row : told_.rules) {
      if (row.phase == phase.name && row.set == run.rules_.name) row.fired = fired_[row.rule];
    }
  }
  if (is_node_ && gone_.empty() && !graph_.alive(subjects_[0])) {
    gone_ = fmt::format("it is gone: phase `{}` {} it", phase.name,
                        phase.kind == PhaseKind::kFold ? "computed" : "removed");
  }
}

void Explainer::PhaseSkipped(const RuleSet& rules, const Phase& phase, const std::string& why) {
  for (const std::string& name : phase.rules) {
    const Rule* rule = rules.FindRule(name);
    if (rule == nullptr || !Wanted(name)) continue;
    seen_.emplace(rules.name, name);
    if (!Asks()) {
      told_.rules.push_back({.set = rules.name,
                             .rule = name,
                             .phase = phase.name,
                             .place = rule->place.span(),
                             .not_tried = why});
    } else if (!options_.rules.empty()) {
      Keep({.attempt = {.set = rules.name,
                        .rule = name,
                        .phase = phase.name,
                        .place = rule->place.span(),
                        .outcome = Attempt::Outcome::kNotTried,
                        .reason = why},
            .trace = {}});
    }
  }
}

// "": the rule has its turn in this phase.
std::string Explainer::WhyNotTried(RuleRun& run, const Phase& phase, const Rule& rule) const {
  if (std::ranges::find(options_.skip_rules, rule.name) != options_.skip_rules.end()) {
    return "it is skipped (--skip-rule)";
  }
  if (!FitsOpset(graph_, rule)) {
    const std::string other = OtherOpset(graph_, rule.opsets);
    if (!other.empty()) return fmt::format("it is for {}", other);
    return fmt::format("it is for ai.onnx opset {}, the model imports {}", rule.opset,
                       run.MainOpset());
  }
  return phase.kind == PhaseKind::kToOpset ? run.NotRaised(rule) : "";
}

// Of one rule the latest word, unless that is that the node is gone.
void Explainer::Keep(Candidate candidate) {
  const auto [at, fresh] =
      kept_.try_emplace({candidate.attempt.set, candidate.attempt.rule}, candidates_.size());
  if (fresh) {
    candidates_.push_back(std::move(candidate));
    return;
  }
  Candidate& same = candidates_[at->second];
  if (same.attempt.phase == candidate.attempt.phase || candidate.trace.Beats(same.trace)) {
    same = std::move(candidate);
  }
}

void Explainer::Finish() {
  for (const Rule& rule : program_.rules().rules) {
    const std::pair key(program_.rules().name, rule.name);
    if (!Wanted(rule.name) || seen_.contains(key)) continue;
    const std::string why = told_.error.empty() ? "it is in no phase" : "the run ended before";
    if (!Asks()) {
      told_.rules.push_back({.set = key.first,
                             .rule = rule.name,
                             .phase = "",
                             .place = rule.place.span(),
                             .not_tried = why});
    } else if (!options_.rules.empty()) {
      Keep({.attempt = {.set = key.first,
                        .rule = rule.name,
                        .phase = "",
                        .place = rule.place.span(),
                        .outcome = Attempt::Outcome::kNotTried,
                        .reason = why},
            .trace = {}});
    }
  }
  if (!Asks()) return;
  if (is_node_) told_.outcome = gone_.empty() ? "it is there when all rules are through" : gone_;
  // What fired there is told as such.
  std::erase_if(candidates_, [&](const Candidate& c) {
    return c.trace.applies() && std::ranges::any_of(told_.firings, [&](const auto& f) {
             return f.set == c.attempt.set && f.rule == c.attempt.rule;
           });
  });
  if (options_.rules.empty()) {
    std::stable_sort(candidates_.begin(), candidates_.end(),
                     [](const Candidate& a, const Candidate& b) { return a.trace.Beats(b.trace); });
    const size_t most = options_.max_attempts;
    if (candidates_.size() > most) {
      told_.more_attempts = static_cast<int64_t>(candidates_.size() - most);
      candidates_.resize(most);
    }
  }
  for (Candidate& c : candidates_) {
    // At the begin of a phase that the node outlived its rules had yet to come.
    c.attempt.before &= !gone_.empty();
    told_.attempts.push_back(std::move(c.attempt));
  }
}

Result<Explanation> ExplainRules(Graph& graph, const Program& program,
                                 const ExplainOptions& options, const RunContext& context) {
  const RuleSet& rules = program.rules();
  QR_RETURN_IF_ERROR(CheckRuleNames(rules, options.rules));
  QR_RETURN_IF_ERROR(CheckRuleNames(rules, options.skip_rules));
  Explanation told;
  Explainer explainer(graph, program, options, told);
  QR_RETURN_IF_ERROR(explainer.FindSubject());
  const RunOptions run{.set = options.set,
                       .allow_partial = true,
                       .only_rules = {},
                       .skip_rules = options.skip_rules,
                       .keep = {.ops = options.keep_ops, .nodes = options.keep_nodes},
                       .observer = &explainer,
                       .stop_after = std::nullopt,
                       .explainer = &explainer};
  const Result<RunResult> result = Run(graph, program, run, context);
  if (!result.ok()) {
    const StatusCode code = result.status().code();
    if (code == StatusCode::kUsage || code == StatusCode::kUnsupported) return result.status();
    told.error = Message(result.status());
  }
  explainer.Finish();
  return told;
}

}  // namespace qrewrite
