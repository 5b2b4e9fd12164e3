#include "engine/prove/steps.h"

#include <algorithm>
#include <cmath>
#include <set>

namespace qrewrite {

double WidestStep(std::vector<double> values) {
  constexpr double kLastDigits = 1e-6;
  std::erase_if(values, [](double v) { return !std::isfinite(v); });
  std::sort(values.begin(), values.end());
  double widest = 0;
  for (size_t i = 1; i < values.size(); ++i) widest = std::max(widest, values[i] - values[i - 1]);
  return widest > 0 || values.empty() ? widest : kLastDigits * std::fabs(values.front());
}

double StepOf(const std::vector<double>& numbers) {
  std::set<double> levels;
  for (const double v : numbers) {
    if (std::isfinite(v)) levels.insert(v);
  }
  if (levels.size() < 3) return 0;
  double step = 0;
  for (auto at = std::next(levels.begin()); at != levels.end(); ++at) {
    const double gap = *at - *std::prev(at);
    step = step == 0 ? gap : std::min(step, gap);
  }
  const bool grid = std::ranges::all_of(
      levels, [&](double v) { return std::fabs(v / step - std::rint(v / step)) <= kNearStep; });
  const double span = (*levels.rbegin() - *levels.begin()) / step;
  return grid && span >= kLeastSteps ? step : 0;
}

double GridOf(std::vector<double> numbers) {
  constexpr double kLastDigits = 1e-5;
  std::erase_if(numbers, [](double v) { return !std::isfinite(v); });
  double largest = 0;
  for (const double v : numbers) largest = std::max(largest, std::fabs(v));
  std::sort(numbers.begin(), numbers.end());
  std::vector<double> apart;
  for (const double v : numbers) {
    if (apart.empty() || v - apart.back() > kLastDigits * largest) apart.push_back(v);
  }
  return StepOf(apart);
}

bool AreWhole(const std::vector<double>& values) {
  return std::ranges::all_of(values, [](double v) { return v == std::trunc(v); });
}

bool AreExact(const std::vector<double>& values) {
  return AreWhole(values) &&
         std::ranges::all_of(values, [](double v) { return std::fabs(v) <= kLargestExact; });
}

}  // namespace qrewrite
