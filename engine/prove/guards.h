// Conditions of a rule, each of which can be left out.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "engine/driver/driver.h"
#include "engine/prove/judge.h"
#include "qrewrite/prove.h"

namespace qrewrite {

// Elements of a tensor that a test as somebody wrote it may compute.
inline constexpr int64_t kMostOfTests = 1 << 26;

struct Guard {
  CodeId code;
  bool of_case = false;  // of a `when:`; else of the rule's `where:`
  ProvenCondition report;
  int tried = 0;  // runs without it
  int pins = 0;   // tests found that it could have
};

// Of the rule and its cases, in the order of the file; `a and b` are two.
std::vector<Guard> GuardsOf(const Program& program, const CompiledRule& rule);
// Of the cases of a definition.
std::vector<Guard> GuardsOf(const Program& program, const CompiledDefinition& definition);

// A definition that rules ask, and its conditions.
struct GuardedDefinition {
  int number = -1;              // of Program::definition
  std::set<std::string> rules;  // of the file: those that ask it, or whose definitions do
  std::vector<Guard> guards;
};
// Those that rules of the file ask, with what its tests say of their conditions; in the order of the program.
std::vector<GuardedDefinition> GuardedDefinitions(const Program& program,
                                                  const RunContext& context);

// What keeps the matches of a rule's pattern in a graph from firing. At most kMostMatches of them are
// looked at.
struct InTheWay {
  int fewest =
      -1;  // conditions of `where:` that stop the match which comes nearest; -1: there is none
  std::vector<size_t> alone;  // guards, by index, that stop some match all by themselves
};
InTheWay StoppedBy(const Graph& graph, const Program& program, const CompiledRule& rule,
                   const std::vector<Guard>& guards, const Task& task, const RunContext& context);

// What a test that runs `task` on `graph` expects, as the YAML of `expect:`. `assumed`: a condition that
// counts as met.
std::string ResultOn(const Graph& graph, const Program& program, const Task& task,
                     const RunContext& context, CodeId assumed = {});

}  // namespace qrewrite
