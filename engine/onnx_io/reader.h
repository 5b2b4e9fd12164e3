// Reader: an ONNX model's bytes to a Graph and the slices that a Graph does not hold.
//
// Malformed input is an error that names the node or tensor. Nodes may be in any order.
#pragma once

#include "engine/graph/graph.h"
#include "engine/onnx_io/source.h"
#include "engine/onnx_io/tensors.h"
#include "qrewrite/status.h"

namespace qrewrite {

// Subgraphs nested deeper than this are refused.
inline constexpr int kMaxSubgraphDepth = 100;

// Fills `graph` and `source` from a ModelProto. `tensors.owner` keeps `bytes` alive.
// REQUIRES: both are empty.
Status ReadModel(std::string_view bytes, const TensorSource& tensors, Graph& graph,
                 ModelSource& source);

}  // namespace qrewrite
