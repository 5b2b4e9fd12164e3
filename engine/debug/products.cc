#include "engine/debug/products.h"

namespace qrewrite {

std::optional<std::vector<double>> Scaled(std::vector<double> numbers, const Dims& dims,
                                          const Tensor& factor) {
  const Result<std::vector<double>> factors = ToDoubles(factor);
  const Dims& theirs = factor.dims();
  if (!factors.ok() || theirs.size() > dims.size()) return std::nullopt;
  const size_t offset = dims.size() - theirs.size();
  for (size_t k = 0; k < theirs.size(); ++k) {
    if (theirs[k] != 1 && theirs[k] != dims[offset + k]) return std::nullopt;
  }
  for (size_t i = 0; i < numbers.size(); ++i) {
    size_t rest = i, at = 0, stride = 1;
    for (size_t k = dims.size(); k-- > 0;) {  // the last axis first
      const auto size = static_cast<size_t>(dims[k]);
      if (k >= offset && theirs[k - offset] != 1) {
        at += rest % size * stride;
        stride *= size;
      }
      rest /= size;
    }
    numbers[i] *= (*factors)[at];
  }
  return numbers;
}

}  // namespace qrewrite
