// What is known to go wrong in runtimes, tried out.
#pragma once

#include "qrewrite/evaluator.h"

namespace qrewrite {

// Whether sums of products of unsigned and signed 8 bit numbers are what they should be. ONNX Runtime adds
// pairs of them in 16 bits, saturating, on processors without VNNI; what its quantized operators give
// there is nothing that a model can be blamed for. Errors: the probe does not run.
Result<bool> HasExactIntegerProducts(Evaluator& evaluator);

}  // namespace qrewrite
