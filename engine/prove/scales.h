// Numbers of a graph that may be the steps of its outputs.
#pragma once

#include <cstdint>
#include <set>
#include <vector>

#include "engine/graph/graph.h"
#include "qrewrite/evaluator.h"

namespace qrewrite {

// Constants other than 0, without their signs, also those of Constant nodes.
std::set<double> ScalesOf(const Graph& graph);
// Those that are whole.
std::set<int64_t> WholeScales(const Graph& graph);

// Scales of run time: numbers other than 0 that come alone, of integers too where these count as floats, and what they
// make of constant scales.
void AddScales(const std::vector<Tensors>& samples, bool any_type, std::set<double>& scales);

}  // namespace qrewrite
