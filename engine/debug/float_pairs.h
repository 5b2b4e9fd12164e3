// Models in which no activation is quantized: what is compared all the same.
#pragma once

#include <string>
#include <unordered_map>
#include <vector>

#include "engine/debug/matching.h"
#include "engine/debug/measurement.h"
#include "engine/debug/named_graph.h"
#include "engine/debug/quantized_values.h"

namespace qrewrite {

// Adds what has one name in both models (a rewrite's result, for example), and what operators make with the same weight,
// if each is the only reader. In topological order of `form`.
void AddFloatPairs(const NamedGraph& float_graph, const NamedGraph& form,
                   const QuantizedValues& values, const Matching& matching,
                   std::vector<Pair>& pairs);

// Of nodes of `form` that read a weight, by id, which nobody else reads: what the float model makes with it.
std::unordered_map<uint32_t, std::string> MadeWithWeights(const NamedGraph& float_graph,
                                                          const NamedGraph& form,
                                                          const QuantizedValues& values,
                                                          const Matching& matching);

}  // namespace qrewrite
