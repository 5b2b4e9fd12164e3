// Shape inference by the onnx library's operator schemas.
#pragma once

#include <memory>

#include "engine/graph/inference.h"

namespace qrewrite {

// Works on the tables of a Graph directly; no ModelProto is built. Schemas are made when an operator is
// first asked about (schemas.h). An operator of a version newer than the library is inferred by its
// newest known schema. One object serves one thread at a time.
std::unique_ptr<ShapeInference> MakeOnnxInference();

}  // namespace qrewrite
