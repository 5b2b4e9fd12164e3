// Dice: random numbers that are the same on every machine, which the distributions of the standard
// library are not.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numbers>
#include <random>
#include <vector>

namespace qrewrite {

class Dice {
 public:
  explicit Dice(uint64_t seed) : engine_(seed) {}

  double Uniform() { return static_cast<double>(engine_() >> 11) * 0x1p-53; }  // [0, 1)
  double Uniform(double low, double high) { return low + (high - low) * Uniform(); }
  double Normal() {  // Box and Muller
    const double radius = std::sqrt(-2 * std::log(1 - Uniform()));
    return radius * std::cos(2 * std::numbers::pi * Uniform());
  }
  // Both ends included. REQUIRES: low <= high.
  int64_t Integer(int64_t low, int64_t high) {
    const uint64_t count = static_cast<uint64_t>(high) - static_cast<uint64_t>(low) + 1;
    const uint64_t offset = count == 0 ? engine_() : engine_() % count;
    return static_cast<int64_t>(static_cast<uint64_t>(low) + offset);
  }
  // True once in `times`.
  bool Once(int64_t times) { return Integer(1, times) == 1; }
  // An index below `count`. REQUIRES: count > 0.
  size_t Below(size_t count) {
    return static_cast<size_t>(Integer(0, static_cast<int64_t>(count) - 1));
  }
  template <class T>
  const T& Of(const std::vector<T>& items) {  // REQUIRES: not empty
    return items[Below(items.size())];
  }

 private:
  std::mt19937_64 engine_;
};

}  // namespace qrewrite
