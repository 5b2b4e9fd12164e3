// Integers made real: (q - zero point) * scale. The difference is that of the numbers, not of their type,
// the product is computed in float64.
#pragma once

#include <vector>

#include "engine/tensor/tensor.h"
#include "qrewrite/status.h"

namespace qrewrite {

// A scale and zero point for the tensor, for each index of `axis`, or for each block along it.
struct Scheme {
  Tensor scale, zero_point;  // zero_point may be invalid: 0
  int64_t axis = 1;
  int64_t block = 0;
};

struct DequantizeOptions {
  bool round = false;  // to the type of the scale, as the operator does it
  bool wrap = false;   // the difference in the type of the integers, as NumPy has it
};

// kUnsupported: shapes that do not fit.
Result<std::vector<double>> Dequantize(const Tensor& q, const Scheme& scheme,
                                       const DequantizeOptions& options = {});

// Which elements of `real` the type of `q` could not hold: in percent.
Result<double> SaturatedPercent(const Tensor& q, const Scheme& scheme,
                                const std::vector<double>& real, double lo, double hi);

}  // namespace qrewrite
