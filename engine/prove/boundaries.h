// Boundaries: numbers of a constant, or of an attribute, with which a condition that compares it just holds, or just does not.
#pragma once

#include <string>
#include <vector>

#include "engine/prove/guards.h"

namespace qrewrite {

struct Boundary {
  ValueId constant;  // invalid: it is this attribute
  NodeId node;
  std::string attribute;
  bool whole = false;           // an integer
  double old = 0;               // what the attribute is
  std::vector<double> numbers;  // as many as it has elements
  double tolerance = 0;         // a condition asks that it is near them: within this part of them
  bool of_definition = false;   // a definition compares it, not the rule itself
};

// Of the comparisons in the conditions of `rule` and its cases, on the matches of its pattern in `graph`:
// of a constant or an attribute with something that can be computed there; in the definitions that are asked there, too.
std::vector<Boundary> BoundariesOf(const Graph& graph, const Program& program,
                                   const CompiledRule& rule, const std::vector<Guard>& guards,
                                   const Task& task, const RunContext& context);

// The constant or attribute becomes these numbers. `all_equal`: so do all constants, and attributes of one number, that equal
// it: the scale of a dequantizer and that of its quantizer. False: the type holds no such numbers.
bool Put(const Boundary& boundary, const std::vector<double>& values, bool all_equal, Graph& graph);

}  // namespace qrewrite
