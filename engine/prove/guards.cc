#include "engine/prove/guards.h"

#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "engine/base/lines.h"
#include "engine/base/message.h"
#include "engine/driver/find_matches.h"
#include "engine/driver/rule_tests.h"
#include "engine/expr/parser.h"
#include "engine/prove/seeds.h"
#include "engine/text/graph_text.h"

namespace qrewrite {
namespace {

constexpr size_t kMostMatches = 20;

// A condition and the parts that `and` makes of it.
void AddParts(const Program& program, CodeId id, bool of_case, std::vector<Guard>& guards) {
  const Code& code = program.code(id);
  if (code.op == CodeOp::kAnd) {
    AddParts(program, program.kid(code, 0), of_case, guards);
    AddParts(program, program.kid(code, 1), of_case, guards);
    return;
  }
  if (code.expr == nullptr) return;
  Guard guard{.code = id, .of_case = of_case, .report = {}};
  guard.report.text = Print(*code.expr);
  guard.report.line = code.expr->place.span().line;
  guards.push_back(std::move(guard));
}

void AddCases(const Program& program, const std::vector<CompiledCase>& cases,
              std::vector<Guard>& guards) {
  for (const CompiledCase& c : cases) {
    for (const PatWhere& where : c.pattern.where)
      AddParts(program, where.code, /*of_case=*/true, guards);
    AddCases(program, c.cases, guards);
  }
}

}  // namespace

std::vector<Guard> GuardsOf(const Program& program, const CompiledRule& rule) {
  std::vector<Guard> guards;
  for (const PatWhere& where : rule.pattern.where)
    if (!where.part) AddParts(program, where.code, /*of_case=*/false, guards);
  AddCases(program, rule.cases, guards);
  return guards;
}

std::vector<Guard> GuardsOf(const Program& program, const CompiledDefinition& definition) {
  std::vector<Guard> guards;
  AddCases(program, definition.cases, guards);
  return guards;
}

std::vector<GuardedDefinition> GuardedDefinitions(const Program& program,
                                                  const RunContext& context) {
  const RuleSet& set = program.rules();
  std::map<int, std::set<std::string>> asked;
  for (const Rule& rule : set.rules) {
    if (rule.place.source != set.sources.front().get()) continue;
    for (const int number : DefinitionsOf(program, *program.FindRule(rule)))
      asked[number].insert(rule.name);
  }
  std::vector<GuardedDefinition> definitions;
  for (auto& [number, rules] : asked) {
    std::vector<Guard> guards = GuardsOf(program, program.definition(number));
    for (Guard& guard : guards)
      guard.report.pinned = TestsNeed(program, rules, guard.code, context);
    if (!guards.empty()) definitions.push_back({number, std::move(rules), std::move(guards)});
  }
  return definitions;
}

InTheWay StoppedBy(const Graph& graph, const Program& program, const CompiledRule& rule,
                   const std::vector<Guard>& guards, const Task& task, const RunContext& context) {
  InTheWay result;
  size_t matches = 0;
  const MatchQuery query{.set = task.set, .rules = {rule.rule->name}, .conditions = false};
  const auto look = [&](const FoundMatch& found) {
    if (&found.rule != &rule) return true;
    std::vector<size_t> stopping;
    for (size_t i = 0; i < guards.size(); ++i) {
      if (guards[i].of_case) continue;
      const Val truth = found.in.Condition(guards[i].code, found.frame);
      const bool* holds = truth.get_if<bool>();
      if (holds == nullptr || !*holds) stopping.push_back(i);
    }
    const auto count = static_cast<int>(stopping.size());
    if (result.fewest < 0 || count < result.fewest) result.fewest = count;
    std::vector<size_t>& alone = result.alone;
    if (count == 1 && std::find(alone.begin(), alone.end(), stopping[0]) == alone.end())
      alone.push_back(stopping[0]);
    return ++matches < kMostMatches;
  };
  // An error, as of a graph outside of the rules' opsets, means that there is no match.
  (void)FindMatches(graph, program, query, context, look);
  return result;
}

std::string ResultOn(const Graph& graph, const Program& program, const Task& task,
                     const RunContext& context, CodeId assumed) {
  Graph changed = graph;
  changed.ClearDirty();  // varying counts as changing
  const Result<RunResult> result = Run(changed, program, task.Options(assumed), context);
  if (!result.ok()) return fmt::format("{{error: {}}}", YamlQuoted(Message(result.status())));
  if (!result->report.warnings.empty())
    return fmt::format("{{warning: {}}}", YamlQuoted(result->report.warnings.front().text));
  if (!changed.changed()) return "unchanged";
  return "|\n" + Indented(PrintGraph(changed, changed.main(), {.max_elements = kMostPrinted}), 4);
}

}  // namespace qrewrite
