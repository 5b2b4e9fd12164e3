// Unit: what the integers stand for that an input or an output of a rewritten model has in place of real numbers.
#pragma once

#include <limits>
#include <vector>

namespace qrewrite {

// number = (integer - zero_point) * scale, with one of each for all, or one for each place along axis 1. Numbers beyond
// `lo` and `hi`, which are integers, are those at the ends.
struct Unit {
  std::vector<double> scale = {1}, zero_point = {0};
  double lo = -std::numeric_limits<double>::infinity();
  double hi = std::numeric_limits<double>::infinity();
};

}  // namespace qrewrite
