// Signal to noise of sums of squares.
#pragma once

#include <cmath>
#include <limits>

namespace qrewrite {

// 10 log10(signal / noise), which is 20 log10 of the ratio of the norms. Infinite without noise; of
// noise without a signal, minus infinity.
inline double Decibels(double signal, double noise) {
  if (noise == 0) return std::numeric_limits<double>::infinity();
  if (signal == 0) return -std::numeric_limits<double>::infinity();
  return 10 * std::log10(signal / noise);
}

}  // namespace qrewrite
