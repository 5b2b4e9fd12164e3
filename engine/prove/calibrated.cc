#include "engine/prove/calibrated.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

namespace qrewrite {
namespace {

// Of what changes; where a Relu is in front half of it lies at an end.
constexpr double kLeastBetween = 0.25;

// By element: whether samples differ in it. Where their shapes differ they do in all.
std::vector<bool> Changing(const Series& series) {
  const std::vector<double>& first = series.samples.front();
  const bool varied = std::ranges::any_of(
      series.dims, [&](const Dims& dims) { return dims != series.dims.front(); });
  std::vector<bool> changes(first.size(), varied);
  for (size_t i = 0; !varied && i < first.size(); ++i) {
    changes[i] = std::ranges::any_of(series.samples,
                                     [&](const auto& sample) { return sample[i] != first[i]; });
  }
  return changes;
}

}  // namespace

Spread SpreadOf(const Series& series) {
  Spread spread;
  std::set<double> numbers;
  for (const std::vector<double>& sample : series.samples) {
    for (const double v : sample) {
      if (std::isfinite(v)) numbers.insert(v);
    }
  }
  spread.distinct = numbers.size();
  if (numbers.empty()) return spread;
  spread.low = *numbers.begin(), spread.high = *numbers.rbegin();
  const std::vector<bool> changes = Changing(series);
  for (const std::vector<double>& sample : series.samples) {
    for (size_t i = 0; i < sample.size(); ++i) {
      if (i < changes.size() && !changes[i]) continue;
      ++spread.count;
      spread.at_low += sample[i] == spread.low;
      spread.at_high += sample[i] == spread.high;
    }
  }
  return spread;
}

bool IsSingle(const std::vector<Spread>& at_sizes) {
  return std::ranges::all_of(at_sizes,
                             [](const Spread& s) { return s.distinct < kSeveralNumbers; });
}

bool IsCutOff(const std::vector<Spread>& at_sizes) {
  double low = std::numeric_limits<double>::infinity(), high = -low;
  for (const Spread& s : at_sizes) {
    if (s.distinct > 0) low = std::min(low, s.low), high = std::max(high, s.high);
  }
  return low < high && std::ranges::all_of(at_sizes, [&](const Spread& s) {
           const size_t ends = (s.low == low ? s.at_low : 0) + (s.high == high ? s.at_high : 0);
           const auto between = static_cast<double>(s.count - std::min(ends, s.count));
           return between <= kLeastBetween * static_cast<double>(s.count);
         });
}

}  // namespace qrewrite
