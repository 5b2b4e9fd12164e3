// NumPy's .npy format: one array. Used by npz.cc alone.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "engine/tensor/tensor.h"
#include "qrewrite/status.h"

namespace qrewrite {

// Errors are reasons without a file name: "its header is cut off", "its data does not fit its shape".
// `owner` keeps `bytes` alive: the tensor lies in them where it is row-major.
Result<Tensor> ParseNpy(std::string_view bytes, std::shared_ptr<const void> owner);
Result<std::string> MakeNpy(const Tensor& tensor);

}  // namespace qrewrite
