// Weights of seven bits: where a runtime cuts off sums of products of 8 bits (Court::cuts_off_sums) these show whether it
// was such a sum. Two products of 255 with such are within 16 bits.
#pragma once

#include <vector>

#include "engine/graph/graph.h"
#include "qrewrite/evaluator.h"

namespace qrewrite {

// Constants of INT8 are halved. False: there are none of eight bits.
bool NarrowConstants(Graph& graph);

bool HasInputOfEightBits(const Graph& graph);

// The same of inputs.
Status NarrowInputs(std::vector<Tensors>& inputs);

}  // namespace qrewrite
