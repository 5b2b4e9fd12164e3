// AsSpan: a vector whose iterators do not say that they are contiguous (Boost's) as a span.
#pragma once

#include <span>

namespace qrewrite {

template <class Vector>
auto AsSpan(const Vector& vector) {
  return std::span<const typename Vector::value_type>(vector.data(), vector.size());
}

}  // namespace qrewrite
