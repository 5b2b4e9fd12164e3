// Conversion between element types with the meaning of the operator Cast.
#pragma once

#include "engine/fold/chunks.h"
#include "engine/fold/support.h"

namespace qrewrite::fold {

// Errors: strings, complex numbers, a float that has no integer (NaN, out of range: undefined in
// ONNX, no_result.h).
Result<Tensor> CastTensor(const Tensor& tensor, DType to, const WriteOptions& options = {});

// Whether a cast between the types always has a result.
bool CastIsTotal(DType from, DType to);

}  // namespace qrewrite::fold
