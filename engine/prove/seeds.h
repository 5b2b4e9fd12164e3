// Seeds: the graphs that a proof begins with: those of the tests of a file.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "engine/driver/driver.h"
#include "engine/prove/judge.h"
#include "engine/rule/ast.h"

namespace qrewrite {

// A graph, and what is to be run on it.
struct Seed {
  const Rule* owner = nullptr;  // of the test; null: a test of the file, or no test
  bool fires = false;           // the test expects a change
  Graph graph;
  Task task;
};

// Those of the tests of the file, without what it includes.
std::vector<Seed> SeedsOf(const RuleSet& rules);

// Whether there are operators in it that rule sets have for themselves (`qr.`).
bool HasOwnOperators(const Graph& graph);

// By seed: rules whose patterns are in its graph, whatever their conditions say.
std::vector<std::set<std::string>> MatchedRules(const Program& program,
                                                const std::vector<Seed>& seeds,
                                                const RunContext& context);

// Tests that show the rule something: its own, those that list it, and others in which its pattern is.
std::vector<const Seed*> SeedsFor(const Rule& rule, const std::vector<Seed>& seeds,
                                  const std::vector<std::set<std::string>>& matched);

// Operators that a pattern names, in its sub-patterns as well.
std::set<OpName> OpsOf(const Program& program, const Pattern& pattern);

// What the rule compares and computes with, in the definitions that it asks as well; each once.
struct RuleConstants {
  std::vector<double> numbers;
  std::vector<std::string> texts;
  std::vector<DType> dtypes;
  std::set<OpName> ops;  // of patterns of these definitions
  std::set<int> params;  // of the rule set, by number
};
RuleConstants ConstantsOf(const Program& program, const CompiledRule& rule);

// Numbers of the definitions that the rule asks, or that those ask.
std::set<int> DefinitionsOf(const Program& program, const CompiledRule& rule);

std::string YamlQuoted(const std::string& text);

constexpr int64_t kMostPrinted = 4096;  // elements of a constant in a test that is printed

// A graph as a test, to be pasted below the `tests:` of `rule`.
std::string TestText(const Graph& graph, const Task& task, const std::string& rule,
                     const std::string& name, const std::string& expect = "unchanged");
// A test as it stands there.
std::string TextOfTest(const RuleSet& rules, const RuleTest& test, const std::string& rule);

}  // namespace qrewrite
