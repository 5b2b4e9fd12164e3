// What the float model has folded into an operator and the quantized one has behind it: exporters put a
// BatchNormalization into the weights of the float model, training with quantizers in between cannot.
#pragma once

#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "engine/debug/named_graph.h"
#include "engine/debug/quantized_values.h"

namespace qrewrite {

using ActivationsOf = std::unordered_map<ValueId, std::vector<size_t>>;

// From `v` of the quantized model on, what nodes make that each read one value, quantized or not, and constants of which
// one is floats for channels: up to the one that operators of `wanted` read, which read none in between. `v` alone: there is
// no such way.
// `activations_of`: those of `values` by what is quantized.
std::vector<ValueId> UnfoldedBehind(const NamedGraph& quantized, const QuantizedValues& values,
                                    const ActivationsOf& activations_of, ValueId v,
                                    const std::set<std::string>& wanted);

}  // namespace qrewrite
