// Integers of 8 bits in models whose types do not count (`types: unchecked`): a Conv of int8 is one of the
// numbers that these are. No runtime has it; with floats in their place it runs.
#pragma once

#include "engine/graph/graph.h"
#include "engine/ops/signature.h"

namespace qrewrite {

// The integers of 8 bits that the main graph begins with, inputs and constants, become floats for all
// readers that could read floats.
void CastSmallIntegers(Graph& graph, const Signatures& signatures);

}  // namespace qrewrite
