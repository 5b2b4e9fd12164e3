#include "engine/driver/rule_tests.h"

#include <algorithm>
#include <cstdint>
#include <span>
#include <string_view>

#include <fmt/format.h>

#include "engine/base/diagnostics.h"
#include "engine/base/lines.h"
#include "engine/expr/parser.h"
#include "engine/rewrite/edit.h"
#include "engine/rule/literal.h"
#include "engine/text/graph_text.h"

namespace qrewrite {
namespace {

std::vector<std::string_view> Lines(std::string_view text) {
  std::vector<std::string_view> lines;
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    lines.push_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines;
}

std::string Show(const Graph& graph) { return PrintGraph(graph, graph.main()); }

// A graph is checked after as many rewrites as it has hundreds of nodes, so that it does not take rewrites times nodes.
constexpr size_t kNodesForEach = 100;
constexpr std::string_view kNothingFired = "nothing fired";

// One test, from its texts to a message about what went wrong.
class TestRun {
 public:
  TestRun(const Program& program, const Rule* rule, const RuleTest& test, const RunContext& context,
          CodeId assumed = {})
      : program_(program),
        rules_(program.rules()),
        rule_(rule),
        test_(test),
        context_(context),
        assumed_(assumed) {}

  // "" if the test passed.
  std::string Message() {
    BuildOptions build;
    for (const auto& [domain, version] : test_.opset) build.opset[domain] = version;
    if (const Status s = BuildGraph(test_.given, rules_.signatures, build, graph_); !s.ok()) {
      return "`given` is no graph:\n" + s.message() + "\n";
    }
    graph_.ClearDirty();  // building counts as changing
    given_ = Show(graph_);
    const Result<RunResult> result = Run(graph_, program_, Options(), context_);
    fired_ = result.ok() && !(result->report.rules.empty() && result->report.warnings.empty());
    if (!test_.error.empty()) return CompareError(result.status());
    if (!result.ok()) {
      return fmt::format("the run failed:\n{}\n  given:\n{}", result.status().message(),
                         Indented(given_, 4));
    }
    if (!test_.warning.empty()) return CompareWarning(result->report);
    // One of several graphs is for an author to write, not for --accept.
    if (test_.or_else.empty()) {
      constexpr int64_t kMostElements = 4096;  // it is to be written into the file
      got_ = graph_.changed() ? PrintGraph(graph_, graph_.main(), {.max_elements = kMostElements})
                              : "unchanged";
    }
    return test_.unchanged ? CompareUnchanged(result->report) : CompareExpected();
  }

  // What the graph became, if the test compares that.
  const std::string& got() const { return got_; }

 private:
  RunOptions Options() const {
    RunOptions options;
    options.verify = true;
    options.verify_every = std::max<int64_t>(1, graph_.num_nodes() / kNodesForEach);
    options.assumed = assumed_;
    // Without a condition that ends them rewrites go on for ever, and are checked each time.
    constexpr int64_t kMostWithoutCondition = 300;
    if (assumed_.valid()) options.max_rewrites = kMostWithoutCondition;
    for (const auto& [name, value] : test_.set) options.set[name] = LiteralText(value);
    options.only_rules = test_.rules;
    if (test_.rules.empty() && !test_.whole_set && rule_ != nullptr) {
      options.only_rules = {rule_->name};
    }
    return options;
  }

  std::string CompareError(const Status& status) {
    if (status.ok()) {
      return fmt::format(
          "{}an error with `{}` was expected, but the run succeeded\n  given:\n{}  got:\n{}",
          Nothing(), test_.error, Indented(given_, 4), Indented(Show(graph_), 4));
    }
    const std::string message = status.message();
    if (message.find(test_.error) != std::string::npos) return "";
    return fmt::format("an error with `{}` was expected, not\n{}\n", test_.error, message);
  }

  std::string CompareWarning(const RunReport& report) {
    for (const Finding& finding : report.warnings) {
      if (finding.text.find(test_.warning) != std::string::npos) return "";
    }
    return fmt::format("{}a warning with `{}` was expected, not\n{}  given:\n{}", Nothing(),
                       test_.warning, Warnings(report), Indented(given_, 4));
  }

  static std::string Warnings(const RunReport& report) {
    constexpr size_t kShown = 5;
    if (report.warnings.empty()) return "    none\n";
    std::string text;
    for (size_t i = 0; i < std::min(report.warnings.size(), kShown); ++i)
      text += fmt::format("    {}\n", report.warnings[i].text);
    const size_t more = report.warnings.size() - std::min(report.warnings.size(), kShown);
    return more == 0 ? text : fmt::format("{}    and {} more\n", text, more);
  }

  std::string CompareUnchanged(const RunReport& report) {
    // A rule that only warns changes nothing when it fires either.
    if (rule_ != nullptr && rule_->warn && !report.warnings.empty()) {
      return fmt::format("no warning was expected, not\n{}  given:\n{}", Warnings(report),
                         Indented(given_, 4));
    }
    if (!graph_.changed()) return "";
    // An opset upgrade raises the import and may leave every node as it is.
    if (graph_.opset() != test_.opset && Show(graph_) == given_) return "";
    // Phases that write shapes or names did it, no rule.
    if (!fired_ && IsAsGiven()) return "";
    return fmt::format("the graph was to stay as it is\n  given and got:\n{}",
                       Indented(DiffLines(given_, Show(graph_)), 4));
  }

  bool IsAsGiven() const {
    BuildOptions build;
    build.opset = graph_.opset();
    Graph given;
    return BuildGraph(test_.given, rules_.signatures, build, given).ok() &&
           SameGraph(given, graph_, rules_.signatures, nullptr);
  }

  std::string CompareExpected() {
    // What the run raised the imports to is what the expected graph is read at.
    BuildOptions build;
    build.opset = graph_.opset();
    Graph expected;
    std::string difference;
    // Each of several that would do; the first is the one that is told of.
    for (size_t i = 0; i <= test_.or_else.size(); ++i) {
      const BodyText& text = i == 0 ? *test_.expect : test_.or_else[i - 1];
      Graph other;
      Graph& graph = i == 0 ? expected : other;
      if (const Status s = BuildGraph(text, rules_.signatures, build, graph); !s.ok()) {
        return fmt::format("`expect` is no graph at the opset of the result:\n{}\n  got:\n{}",
                           s.message(), Indented(Show(graph_), 4));
      }
      if (SameGraph(graph, graph_, rules_.signatures, i == 0 ? &difference : nullptr)) return "";
    }
    if (!test_.or_else.empty()) difference += "\n  and none of the others of `one_of`";
    return fmt::format("{}{}\n  given:\n{}  expected (-) and got (+):\n{}", Nothing(), difference,
                       Indented(given_, 4), Indented(DiffLines(Show(expected), Show(graph_)), 4));
  }

  // A line about a run without any firing: who came nearest, and what stopped it.
  std::string Nothing() {
    if (fired_) return "";
    const std::string why = WhyNothingFired(graph_, program_, Options(), context_);
    return fmt::format("{}{}{}\n", kNothingFired, why.empty() ? "" : ": ", why);
  }

  const Program& program_;
  const RuleSet& rules_;
  const Rule* rule_;
  const RuleTest& test_;
  const RunContext& context_;
  const CodeId assumed_;
  Graph graph_;
  std::string given_, got_;
  bool fired_ = false;
};

}  // namespace

void ForEachTest(const RuleSet& rules, FunctionRef<void(const Rule* rule, const RuleTest&)> visit) {
  const SourceText* own = rules.sources.empty() ? nullptr : rules.sources.front().get();
  for (const Rule& rule : rules.rules) {
    if (own != nullptr && rule.place.source != own) continue;
    for (const RuleTest& test : rule.tests) visit(&rule, test);
  }
  for (const RuleTest& test : rules.tests) visit(nullptr, test);
}

std::vector<RuleTestOutcome> RunRuleTests(const Program& program, const RunContext& context,
                                          WantsTest wants) {
  std::vector<RuleTestOutcome> outcomes;
  ForEachTest(program.rules(), [&](const Rule* rule, const RuleTest& test) {
    const std::string name = rule != nullptr ? rule->name : "";
    if (!wants(name, test.name)) return;
    TestRun run(program, rule, test, context);
    RuleTestOutcome outcome{
        .rule = name, .test = test.name, .span = test.place.span(), .message = run.Message()};
    outcome.passed = outcome.message.empty();
    if (!outcome.passed) outcome.got = run.got();
    outcomes.push_back(std::move(outcome));
  });
  return outcomes;
}

namespace {

// A graph text with one of the outputs and what that is made of. nullopt: there is no such output, or it is no text.
std::optional<BodyText> TextOfOutput(const BodyText& text, const std::string& output,
                                     const Signatures& signatures, const BuildOptions& build) {
  constexpr int64_t kMostElements = 4096;
  const auto with_return = [&](const Graph& graph) -> std::optional<BodyText> {
    const SourceText source("graph",
                            PrintGraph(graph, graph.main(), {.max_elements = kMostElements}));
    DiagnosticSink sink;
    BodyText parsed = ParseGraphText(WholeText(source), sink);
    if (sink.has_errors()) return std::nullopt;
    parsed.has_return = true;
    parsed.returns.clear();
    parsed.returns.push_back({.name = output, .place = text.place});
    return parsed;
  };
  Graph graph, part;
  if (!BuildGraph(text, signatures, build, graph).ok()) return std::nullopt;
  const std::optional<BodyText> all = with_return(graph);
  if (!all || !BuildGraph(*all, signatures, build, part).ok()) return std::nullopt;
  RemoveDeadNodes(part);
  return with_return(part);
}

}  // namespace

std::optional<RuleTest> FailingPart(const Program& program, const Rule& rule, const RuleTest& test,
                                    const RunContext& context) {
  const Signatures& signatures = program.rules().signatures;
  BuildOptions build;
  for (const auto& [domain, version] : test.opset) build.opset[domain] = version;
  Graph given;
  const bool compares = test.unchanged || (test.expect && test.or_else.empty());
  if (!compares || !BuildGraph(test.given, signatures, build, given).ok()) return std::nullopt;
  const size_t outputs = given.body(given.main()).outputs.size();
  for (size_t i = 0; outputs > 1 && i < outputs; ++i) {
    const std::string output(given.name(given.output(given.main(), i)));
    std::optional<BodyText> before = TextOfOutput(test.given, output, signatures, build), after;
    if (test.expect) after = TextOfOutput(*test.expect, output, signatures, build);
    if (!before || (test.expect && !after)) continue;
    RuleTest part{.name = test.name,
                  .given = std::move(*before),
                  .unchanged = test.unchanged,
                  .expect = std::move(after),
                  .set = test.set,
                  .opset = test.opset,
                  .rules = test.rules,
                  .place = test.place};
    const std::string message = TestRun(program, &rule, part, context).Message();
    if (!message.empty() && !message.starts_with(kNothingFired)) return part;
  }
  return std::nullopt;
}

bool TestsNeed(const Program& program, const Rule& rule, CodeId assumed,
               const RunContext& context) {
  return std::any_of(rule.tests.begin(), rule.tests.end(), [&](const RuleTest& test) {
    return !TestRun(program, &rule, test, context, assumed).Message().empty();
  });
}

bool TestsNeed(const Program& program, const std::set<std::string>& rules, CodeId assumed,
               const RunContext& context) {
  const RuleSet& set = program.rules();
  const SourceText* const own = set.sources.empty() ? nullptr : set.sources.front().get();
  const auto fails = [&](const Rule* rule, const RuleTest& test) {
    const bool runs =
        std::ranges::any_of(test.rules, [&](const auto& name) { return rules.contains(name); }) ||
        (test.rules.empty() && (rule == nullptr || rules.contains(rule->name)));
    return runs && !TestRun(program, rule, test, context, assumed).Message().empty();
  };
  for (const Rule& rule : set.rules) {
    if (own != nullptr && rule.place.source != own) continue;
    if (std::ranges::any_of(rule.tests, [&](const RuleTest& test) { return fails(&rule, test); }))
      return true;
  }
  return std::ranges::any_of(set.tests, [&](const RuleTest& test) { return fails(nullptr, test); });
}

namespace {

// common[i][j]: how many lines a[i..] and b[j..] can share.
using Common = std::vector<std::vector<uint32_t>>;
Common LinesInCommon(std::span<const std::string_view> a, std::span<const std::string_view> b) {
  Common common(a.size() + 1, std::vector<uint32_t>(b.size() + 1));
  for (size_t i = a.size(); i-- > 0;) {
    for (size_t j = b.size(); j-- > 0;) {
      common[i][j] =
          a[i] == b[j] ? common[i + 1][j + 1] + 1 : std::max(common[i + 1][j], common[i][j + 1]);
    }
  }
  return common;
}

}  // namespace

std::string DiffLines(const std::string& before, const std::string& after) {
  // Beyond that all lines between the first and the last that differ count as others.
  constexpr size_t kMostPairs = 1'000'000;
  const std::vector<std::string_view> lines = Lines(before), others = Lines(after);
  std::span<const std::string_view> a = lines, b = others;
  std::string out, end;
  while (!a.empty() && !b.empty() && a.front() == b.front()) {
    out += fmt::format("  {}\n", a.front());
    a = a.subspan(1), b = b.subspan(1);
  }
  size_t same = 0;
  while (same < std::min(a.size(), b.size()) && a[a.size() - 1 - same] == b[b.size() - 1 - same])
    ++same;
  for (const std::string_view line : a.last(same)) end += fmt::format("  {}\n", line);
  a = a.first(a.size() - same), b = b.first(b.size() - same);
  const bool few = (a.size() + 1) * (b.size() + 1) <= kMostPairs;
  const Common common = few ? LinesInCommon(a, b) : Common();
  size_t i = 0, j = 0;
  while (i < a.size() || j < b.size()) {
    if (few && i < a.size() && j < b.size() && a[i] == b[j]) {
      out += fmt::format("  {}\n", a[i++]);
      ++j;
    } else if (i < a.size() && (j == b.size() || !few || common[i + 1][j] >= common[i][j + 1])) {
      out += fmt::format("- {}\n", a[i++]);
    } else {
      out += fmt::format("+ {}\n", b[j++]);
    }
  }
  return out + end;
}

}  // namespace qrewrite
