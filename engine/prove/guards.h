// Conditions of a rule, each of which can be left out.
#pragma once

#include <string>
#include <vector>

#include "engine/driver/driver.h"
#include "engine/prove/judge.h"
#include "qrewrite/prove.h"

namespace qrewrite {

struct Guard {
  CodeId code;
  bool of_case = false;  // of a `when:`; else of the rule's `where:`
  ProvenCondition report;
  int tried = 0;  // runs without it
  int pins = 0;   // tests found that it could have
};

// Of the rule and its cases, in the order of the file; `a and b` are two.
std::vector<Guard> GuardsOf(const Program& program, const CompiledRule& rule);

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
