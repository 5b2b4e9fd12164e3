// Signal to noise of sums of squares.
#pragma once

#include <cmath>
#include <limits>
#include <vector>

namespace qrewrite {

// 10 log10(signal / noise), which is 20 log10 of the ratio of the norms. Infinite without noise; of
// noise without a signal, minus infinity.
inline double Decibels(double signal, double noise) {
  if (noise == 0) return std::numeric_limits<double>::infinity();
  if (signal == 0) return -std::numeric_limits<double>::infinity();
  return 10 * std::log10(signal / noise);
}

// The energy of the difference over that of `wanted`, which is noise over signal. Infinite: other sizes, or a difference from
// zeros.
inline double NoiseShare(const std::vector<double>& wanted, const std::vector<double>& got) {
  if (wanted.size() != got.size()) return std::numeric_limits<double>::infinity();
  double signal = 0, noise = 0;
  for (size_t i = 0; i < wanted.size(); ++i) {
    signal += wanted[i] * wanted[i];
    noise += (got[i] - wanted[i]) * (got[i] - wanted[i]);
  }
  return noise == 0 ? 0 : noise / signal;
}

}  // namespace qrewrite
