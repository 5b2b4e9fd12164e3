// Conversion between element types with the meaning of the operator Cast.
#pragma once

#include <string_view>

#include "engine/fold/chunks.h"
#include "engine/fold/support.h"

namespace qrewrite::fold {

// Errors: strings, complex numbers, a float that has no integer (NaN, out of range: undefined in
// ONNX).
Result<Tensor> CastTensor(const Tensor& tensor, DType to, const WriteOptions& options = {});

// The words in which CastTensor() says the last of these, whoever puts more around them: the operator has no result then, and what a
// runtime makes of it nevertheless is its own affair.
inline constexpr std::string_view kOutOfRange = "is out of the range of";

// Whether a cast between the types always has a result.
bool CastIsTotal(DType from, DType to);

}  // namespace qrewrite::fold
