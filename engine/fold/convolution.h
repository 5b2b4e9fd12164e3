// Convolution as a sum of products in double precision, which is exact for integers of up to 16 bits.
#pragma once

#include <span>
#include <vector>

#include "engine/fold/window.h"

namespace qrewrite::fold {

struct Convolution {
  int64_t batch, groups, in_channels, out_channels;  // channels of all groups
  int64_t in_size;                                   // spatial elements
  Window window;
  Dims dims;  // of the result

  // Of x [N, C, ...] and w [M, C / group, ...]. Errors: shapes that do not fit.
  static Result<Convolution> Plan(const FoldCall& call, const Tensor& x, const Tensor& w);
  // `in_order`: the last digits of a double are the same whatever zeros lie between the terms. Those of other
  // types are rounded away.
  std::vector<double> Compute(std::span<const double> x, std::span<const double> w,
                              bool in_order = false) const;
};

}  // namespace qrewrite::fold
