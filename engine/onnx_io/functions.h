// Local functions as a whole: what can only be judged when all of them have been read.
#pragma once

#include "qrewrite/status.h"

#include "engine/graph/graph.h"

namespace qrewrite {

// kInvalidModel, naming the culprit: two functions of one name, a call with more inputs or outputs
// than the function has, functions that call themselves (which ONNX forbids).
Status CheckFunctions(const Graph& graph);

}  // namespace qrewrite
