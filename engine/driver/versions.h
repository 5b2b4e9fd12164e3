// Whether what a model says of versions can be: looked at before it is rewritten, run or compared by running.
#pragma once

#include <string_view>

#include "engine/graph/graph.h"
#include "qrewrite/status.h"

namespace qrewrite {

// Errors (kInvalidModel): an opset of ai.onnx below 1, an IR version below 0, an operator of ai.onnx where that is
// not imported. `subject`: the model in the words of the message.
Status CheckVersions(const Graph& graph, std::string_view subject = "the model");

}  // namespace qrewrite
