// The type of a tensor, as that of the value that holds it.
#pragma once

#include "engine/graph/type.h"
#include "engine/tensor/tensor.h"

namespace qrewrite {

inline TypeInfo TypeOfTensor(const Tensor& t) {
  TypeInfo type{.dtype = t.dtype(), .has_rank = true};
  for (const int64_t dim : t.dims()) type.dims.emplace_back(dim);
  return type;
}

}  // namespace qrewrite
