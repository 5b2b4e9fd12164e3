// Flow: which quantized values an operator of a model in QDQ form reads.
#pragma once

#include <vector>

#include "engine/debug/named_graph.h"
#include "engine/debug/quantized_values.h"

namespace qrewrite {

struct Operands {
  std::vector<size_t> activations, weights;  // indices of QuantizedValues
  NodeId node;                               // the last one with an operand that is quantized
  // Those around which there are quantizers: with such an operand, and the one that makes the value. The last one first.
  std::vector<NodeId> nodes;
};

// For each activation: the operands between it and the quantized values above.
std::vector<Operands> OperandsOf(const NamedGraph& form, const QuantizedValues& values);

// The same where weights alone are quantized, for values that are compared as floats: `Operands::activations` are indices
// of these.
std::vector<Operands> OperandsOfFloats(const NamedGraph& form, const QuantizedValues& values,
                                       const std::vector<ValueId>& floats);

}  // namespace qrewrite
