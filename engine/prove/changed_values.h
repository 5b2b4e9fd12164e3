// What became of a graph: which values rules made anew, who reads something else, and where.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <utility>

#include "engine/graph/graph.h"
#include "engine/ops/signature.h"

namespace qrewrite {

// What something reads: before, and after.
using Reading = std::pair<ValueId, ValueId>;

// All readings in which the two differ: where they agree, all that is behind them does. nullopt: some are in
// bodies, where they cannot be looked at, or nothing was read before.
std::optional<std::set<Reading>> ChangedReadings(const Graph& before, const Graph& after);

// The integers of a dequantizer in place of what it makes of them, if nothing else of it is another: its scale is the
// step, and each column may have one of its own.
Reading AtIntegers(const Graph& before, const Graph& after, Reading reading,
                   const Signatures& signatures);

// What nodes that the rule removed read of those that are still there, by name.
std::set<std::string> ReadByRule(const Graph& before, const Graph& after);

// Whether no value that the rule changed depends on an input: large inputs would hide what became of it.
bool ChangesConstantsAlone(const Graph& before, const Graph& after);

// Whether nodes read in a body what was made anew there.
bool IsReadInBody(const Graph& before, const Graph& after);

// Whether nothing that was made anew can be looked at: it is in bodies.
bool ChangedBodiesAlone(const Graph& before, const Graph& after);

// Whether the inputs have the types that they had.
bool HaveSameInputs(const Graph& before, const Graph& after);

// Outputs that were integers and are floats, or the other way round.
std::set<std::string> RetypedOutputs(const Graph& before, const Graph& after);

}  // namespace qrewrite
