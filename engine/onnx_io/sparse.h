// Sparse tensors: a SparseTensorProto is carried, not looked into; what it says must make sense.
#pragma once

#include <string_view>

#include "engine/onnx_io/tensors.h"
#include "qrewrite/status.h"

namespace qrewrite {

// kInvalidModel: values, indices or shape are malformed, contradict each other, or lie in a data file,
// which a model that is written elsewhere would lose. The order of the indices does not matter.
// Messages name the values, or `what` if those have no name. Linear in the file's bytes.
Status CheckSparse(std::string_view message, const TensorSource& source, std::string_view what);

}  // namespace qrewrite
