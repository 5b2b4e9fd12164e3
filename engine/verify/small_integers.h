// Integers of 8 bits in models whose types do not count (`types: unchecked`): a Conv of int8 is one of the
// numbers that these are. No runtime has it; with floats in their place it runs.
#pragma once

#include "engine/graph/graph.h"
#include "engine/graph/inference.h"
#include "engine/match/facts.h"
#include "engine/ops/signature.h"

namespace qrewrite {

// The integers of 8 bits that the main graph begins with, inputs and constants, become floats for all
// readers that could read floats.
void CastSmallIntegers(Graph& graph, const Signatures& signatures);

// What a dequantizer reads as floats, for operators of a rule set's own make integers so, becomes integers of
// the type of its zero point.
void CastForDequantizers(Graph& graph, const Signatures& signatures, Facts& facts);

// What a whole network of such integers needs to run: both of these, no claims about values inside, and outputs
// that have the types that the file says.
void ComputeWithFloats(Graph& graph, const Signatures& signatures, ShapeInference* inference);

}  // namespace qrewrite
