// Whether a node makes integers of numbers, or numbers of integers, as its signature says.
#pragma once

#include "engine/graph/graph.h"
#include "engine/ops/signature.h"

namespace qrewrite {

enum class QuantizerRole { kNone, kQuantizer, kDequantizer };
// By what its first input may be: floats, or integers alone. kNone too where nothing is known of the operator.
QuantizerRole RoleOf(const Graph& graph, NodeId n, const Signatures& signatures);

}  // namespace qrewrite
