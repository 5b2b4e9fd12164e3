// Units: the two readings of a graph in which a rule chooses scales (`rescaled`).
//
// The scale of a DequantizeLinear is the unit of the integers behind it. A graph can be read as it is, or in
// units: every such scale is 1, so that what follows computes with the integers themselves. What a
// QuantizeLinear makes are the same integers in both.
#pragma once

#include <string>

#include "engine/graph/graph.h"
#include "engine/ops/signature.h"

namespace qrewrite {

// What the second reading of an output is called.
std::string InUnits(std::string_view output);
// Whether an output is a second reading.
bool IsInUnits(std::string_view output);

// `v` as an output of the main graph, of this name. False: there is such a name.
bool AddNamedOutput(Graph& graph, ValueId v, const std::string& wish);

// Adds the second reading of each output as an output of its own. False: there is none (nodes have
// bodies, or a scale is no constant), and the graph is of no use any more.
bool AddReadingInUnits(Graph& graph, const Signatures& signatures);

}  // namespace qrewrite
