// Whether there is data at all that the quantizers of a graph were made for. Promises in few decibels are about such; a
// graph that was made may have none: a sum with a Sigmoid, 0.5 at least, in front of four bits with a step of 0.01.
#pragma once

#include <cstddef>
#include <vector>

#include "engine/prove/series.h"

namespace qrewrite {

// Fewer, at any size of the data, are none that a quantizer was made for: one, or those below and above a step.
inline constexpr size_t kSeveralNumbers = 3;

// The numbers of an output at one size of the data.
struct Spread {
  size_t distinct = 0;             // numbers that differ
  double low = 0, high = 0;        // the ends of them, and
  size_t count = 0;                // how many elements change from sample to sample:
  size_t at_low = 0, at_high = 0;  // some of these lie at the ends
};
Spread SpreadOf(const Series& series);

// Of an output at all sizes that were tried: it is one number each time, or two.
bool IsSingle(const std::vector<Spread>& at_sizes);
// Or most of what changes lies at the ends of all of them each time: it is cut off.
bool IsCutOff(const std::vector<Spread>& at_sizes);

}  // namespace qrewrite
