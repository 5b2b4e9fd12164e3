// Tensors of the engine as constants of the public API and back.
#pragma once

#include "engine/tensor/tensor.h"
#include "qrewrite/constant.h"

namespace qrewrite {

struct Constant::Impl {
  Tensor tensor;
};

// REQUIRES: tensor.valid().
Constant ToConstant(Tensor tensor);
// Bytes that lie in memory, aligned, are not copied. An invalid tensor has dtype 0. kUnsupported:
// strings.
Result<ConstTensor> ToPlain(const Tensor& tensor);
// What a host returns is checked: it is data, not a promise. Bytes without an owner are copied.
Result<Tensor> FromPlain(ConstTensor plain);

}  // namespace qrewrite
