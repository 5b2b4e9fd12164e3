// The type of a tensor, as that of the value that holds it.
#pragma once

#include <algorithm>

#include "engine/graph/type.h"
#include "engine/tensor/tensor.h"

namespace qrewrite {

inline TypeInfo TypeOfTensor(const Tensor& t) {
  TypeInfo type{.dtype = t.dtype(), .has_rank = true};
  for (const int64_t dim : t.dims()) type.dims.emplace_back(dim);
  return type;
}

// Whether what is known of a value cannot be so if it is this tensor.
inline bool Disagree(const Tensor& t, const TypeInfo& known) {
  if (!known.is_tensor) return true;
  if (known.dtype != DType::kUndefined && known.dtype != t.dtype()) return true;
  if (!known.has_rank) return false;
  const auto fits = [](const Dim& dim, int64_t size) { return !dim.known() || dim.size() == size; };
  return !std::ranges::equal(known.dims, t.dims(), fits);
}

}  // namespace qrewrite
