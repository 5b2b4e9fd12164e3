// What is promised of a graph: by the rules that fired on it, and by the types that it computes with.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "engine/prove/court.h"
#include "engine/prove/promise.h"

namespace qrewrite {

// The weakest promise of these rules; `exact` of none.
Promise WeakestOf(const RuleSet& rules, const std::vector<std::string>& fired);

// What rules that fired on the graph promise of its numbers: the weakest of them, as far as its types allow.
// `other_steps`: Task::other_steps.
Promise PromiseOf(const Court& court, const std::vector<std::string>& fired, const Graph& graph,
                  bool other_steps);

// What a runtime that computes in its own order must keep of a promise.
Promise Loosened(const Promise& promise, const Graph& graph);

// What a promise about units is said of: outputs of another type, numbers that may be steps.
void AddUnits(const Graph& before, const Graph& after, Promise& promise);

// Why numbers that kept `promise` were not held to that of the weakest rule.
Excuse ExcuseOf(const Promise& promise, const Promise& weakest);

// The largest number that the graph computes with; nullopt: the kernels do not run it.
std::optional<double> LargestNumber(const Court& court, const Graph& graph);

// Outputs that are the same whatever the data is (a layer of zeros) are measured as those of a graph without data are.
// `values`: what the model makes. False: there are none, or the promise is none about decibels of any data.
bool MeasureUnreached(const Court& court, const Model& model, const std::vector<Tensors>& values,
                      Promise& promise);

}  // namespace qrewrite
