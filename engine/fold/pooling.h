// Pooling that is not an operator of ai.onnx of its own.
#pragma once

#include "engine/fold/support.h"

namespace qrewrite::fold {

// AveragePool whose count_include_pad also counts what lies behind the padding, where ceil_mode lets
// windows reach: ONNX Runtime's QLinearAveragePool. Inputs, attributes and errors are AveragePool's.
Outputs AveragePoolBeyond(const FoldCall& call);

}  // namespace qrewrite::fold
