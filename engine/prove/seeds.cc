#include "engine/prove/seeds.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "engine/base/diagnostics.h"
#include "engine/base/lines.h"
#include "engine/driver/find_matches.h"
#include "engine/expr/parser.h"
#include "engine/rule/check.h"
#include "engine/rule/literal.h"
#include "engine/text/graph_text.h"

namespace qrewrite {

namespace {

// Nothing can be run whose element type nobody knows. False: all are known.
bool GiveTypes(Graph& graph) {
  bool any = false;
  for (const ValueId v : graph.inputs()) {
    TypeInfo type = graph.declared(v);
    if (type.dtype != DType::kUndefined || !type.is_tensor) continue;
    type.dtype = DType::kFloat;
    graph.SetDeclared(v, type);
    any = true;
  }
  return any;
}

}  // namespace

std::vector<Seed> SeedsOf(const RuleSet& rules) {
  std::vector<Seed> seeds;
  const SourceText* own = rules.sources.empty() ? nullptr : rules.sources.front().get();
  const auto add = [&](const Rule* rule, const RuleTest& test) {
    BuildOptions build;
    for (const auto& [domain, version] : test.opset) build.opset[domain] = version;
    Seed seed{.owner = rule,
              .fires = test.expect.has_value(),
              .graph = {},
              .task = {.rules = test.rules, .set = {}}};
    if (!BuildGraph(test.given, rules.signatures, build, seed.graph).ok()) return;
    for (const auto& [name, value] : test.set) seed.task.set[name] = LiteralText(value);
    if (seed.task.rules.empty() && rule != nullptr && !test.whole_set)
      seed.task.rules = {rule->name};
    Seed typed = seed;
    seeds.push_back(std::move(seed));
    if (GiveTypes(typed.graph)) seeds.push_back(std::move(typed));
  };
  for (const Rule& rule : rules.rules) {
    if (own != nullptr && rule.place.source != own) continue;
    for (const RuleTest& test : rule.tests) add(&rule, test);
  }
  for (const RuleTest& test : rules.tests) add(nullptr, test);
  return seeds;
}

bool HasOwnOperators(const Graph& graph) {
  for (size_t i = 0; i < graph.num_nodes(); ++i) {
    const NodeId n(i);
    if (graph.alive(n) && IsPrivateDomain(graph.op_name(graph.op(n)).domain)) return true;
  }
  return false;
}

std::vector<std::set<std::string>> MatchedRules(const Program& program,
                                                const std::vector<Seed>& seeds,
                                                const RunContext& context) {
  std::vector<std::set<std::string>> matched(seeds.size());
  for (size_t i = 0; i < seeds.size(); ++i) {
    const MatchQuery query{.set = seeds[i].task.set, .rules = {}, .conditions = false};
    (void)FindMatches(seeds[i].graph, program, query, context, [&](const FoundMatch& found) {
      matched[i].insert(found.rule.rule->name);
      return true;
    });
  }
  return matched;
}

std::vector<const Seed*> SeedsFor(const Rule& rule, const std::vector<Seed>& seeds,
                                  const std::vector<std::set<std::string>>& matched) {
  std::vector<const Seed*> fitting;
  for (size_t i = 0; i < seeds.size(); ++i) {
    const std::vector<std::string>& listed = seeds[i].task.rules;
    const bool own = seeds[i].owner == &rule ||
                     std::find(listed.begin(), listed.end(), rule.name) != listed.end();
    if (own) fitting.insert(fitting.begin(), &seeds[i]);
    if (!own && matched[i].contains(rule.name)) fitting.push_back(&seeds[i]);
  }
  return fitting;
}

namespace {

void AddOps(const Program& program, const Pattern& pattern, std::set<int>& seen,
            std::set<OpName>& ops);

void AddOps(const Program& program, const PatArg& arg, std::set<int>& seen, std::set<OpName>& ops) {
  for (const PatArg& member : arg.members()) AddOps(program, member, seen, ops);
  if (arg.call == nullptr) return;
  for (const OpPattern& p : arg.call->ops.patterns) {
    if (!p.wildcard && !arg.call->ops.negated) ops.insert(p.op);
  }
  for (const PatArg& inner : arg.call->args) AddOps(program, inner, seen, ops);
  if (arg.call->definition < 0 || !seen.insert(arg.call->definition).second) return;
  for (const CompiledCase& c : program.definition(arg.call->definition).cases)
    AddOps(program, c.pattern, seen, ops);
}

void AddOps(const Program& program, const Pattern& pattern, std::set<int>& seen,
            std::set<OpName>& ops) {
  for (const PatStmt& stmt : pattern.stmts) AddOps(program, stmt.value, seen, ops);
}

}  // namespace

std::set<OpName> OpsOf(const Program& program, const Pattern& pattern) {
  std::set<int> seen;
  std::set<OpName> ops;
  AddOps(program, pattern, seen, ops);
  return ops;
}

std::string YamlQuoted(const std::string& text) {
  std::string quoted = "'";
  for (const char c : text) quoted += c == '\'' ? "''" : std::string(1, c);
  return quoted + "'";
}

std::string TestText(const Graph& graph, const Task& task, const std::string& rule,
                     const std::string& name, const std::string& expect) {
  std::string text = fmt::format("- name: {}\n", name);
  for (const ValueId v : graph.inputs()) {
    if (graph.Overridable(v))
      text += fmt::format("  # `{}` is an input, too: the caller may give another one\n",
                          Printable(graph.name(v)));
  }
  const auto opset = graph.opset().find("");
  if (opset != graph.opset().end() && opset->second != 21)
    text += fmt::format("  opset: {}\n", opset->second);
  if (!task.rules.empty() && task.rules != std::vector{rule})
    text += fmt::format("  rules: [{}]\n", fmt::join(task.rules, ", "));
  if (!task.set.empty()) {
    text += "  set: {";
    for (const auto& [key, value] : task.set)
      text += fmt::format("{}{}: {}", text.ends_with('{') ? "" : ", ", key, value);
    text += "}\n";
  }
  text += "  given: |\n";
  text += Indented(PrintGraph(graph, graph.main(), {.max_elements = kMostPrinted}), 4);
  return text + "  expect: " + expect + "\n";
}

std::string TextOfTest(const RuleSet& rules, const RuleTest& test, const std::string& rule) {
  BuildOptions build;
  for (const auto& [domain, version] : test.opset) build.opset[domain] = version;
  Graph graph;
  if (!BuildGraph(test.given, rules.signatures, build, graph).ok()) return "";
  Task task{.rules = test.rules, .set = {}};
  for (const auto& [name, value] : test.set) task.set[name] = LiteralText(value);
  const std::string expect =
      test.expect             ? "|\n" + Indented(Print(*test.expect), 4)
      : !test.error.empty()   ? fmt::format("{{error: {}}}", YamlQuoted(test.error))
      : !test.warning.empty() ? fmt::format("{{warning: {}}}", YamlQuoted(test.warning))
                              : "unchanged";
  std::string text = TestText(graph, task, rule, test.name, expect);
  while (text.ends_with("\n\n")) text.pop_back();
  return text;
}

}  // namespace qrewrite
