// What keeps a graph from being a model: one that was made at random, or the result of a rule.
#pragma once

#include <string>

#include "engine/prove/court.h"

namespace qrewrite {

// Makes a varied graph whole: nothing that nobody reads, types of the outputs. "" or why it is no valid model.
std::string Prepare(const Court& court, Graph& graph);
// The same with another Court::any_type.
std::string Prepare(const Court& court, Graph& graph, bool any_type);

// What operators of the rule set's own read in a test.
void LearnOperands(const Court& court, const Graph& graph, OwnOperands& known);

// What is wrong with a result: types, shapes, attributes; where types do not count, shapes alone. "": nothing.
std::string ResultFault(const Court& court, const Graph& graph);

// What is wrong with the result, and was not with the graph.
std::string NewFault(const Court& court, const Model& before, const Model& after);

// Whether it is that a value is larger than what is tried: no fault of a rule that needs one in between.
bool IsTooLarge(const std::string& fault);

// Whether what decides about a body is known to be no single number. A branch that is not taken hides it from who
// runs the graph.
bool HasManyConditions(const Graph& graph, NodeId n, const Signature& s, Facts& facts);

}  // namespace qrewrite
