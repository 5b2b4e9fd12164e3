#include "engine/prove/systematic.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "engine/evaluate/decibels.h"
#include "engine/prove/steps.h"

namespace qrewrite {

void Systematic::Add(const Dims& dims, const std::vector<double>& before,
                     const std::vector<double>& after) {
  if (elements_.empty()) dims_ = dims, elements_.resize(before.size());
  varied_ = varied_ || dims != dims_ || before.size() != elements_.size();
  if (varied_) return;
  for (size_t i = 0; i < before.size(); ++i) {
    const double x = before[i], d = after[i] - before[i];
    if (!std::isfinite(x) || !std::isfinite(d)) continue;
    Sums& s = elements_[i];
    s.n += 1, s.x += x, s.d += d, s.xx += x * x, s.xd += x * d, s.dd += d * d;
  }
}

double Systematic::Decibels() const {
  constexpr double kLeastSamples = 8, kDeviations = 4;
  double signal = 0, explained = 0, variance = 0;
  for (const Sums& s : elements_) {
    signal += s.xx;
    if (s.n < kLeastSamples) continue;
    const double spread = s.xx - s.x * s.x / s.n, common = s.xd - s.x * s.d / s.n;
    const double by_offset = s.d * s.d / s.n;
    const double by_factor = spread > 1e-9 * s.xx ? common * common / spread : 0;
    // Two numbers explain something of any noise: as much as two of the others.
    const double rest = std::max(s.dd - by_offset - by_factor, 0.0);
    const double by_chance = rest / (s.n - 2);
    explained += by_offset + by_factor - 2 * by_chance;
    variance += 4 * by_chance * by_chance;
  }
  // Now and then they explain more: of thousands of graphs some would be blamed for it.
  explained -= kDeviations * std::sqrt(variance);
  if (varied_ || !(explained > 0)) return std::numeric_limits<double>::infinity();
  return qrewrite::Decibels(signal, explained);
}

void Shift::Add(const std::vector<double>& before, const std::vector<double>& after) {
  for (size_t i = 0; i < before.size(); ++i) {
    if (!std::isfinite(before[i]) || !std::isfinite(after[i])) continue;
    before_.push_back(before[i]);
    after_.push_back(after[i]);
  }
}

double Shift::Steps() const {
  constexpr size_t kLeast = 8;  // numbers
  constexpr double kOff = 0.75, kRounding = 1 + 1e-3;
  if (before_.size() < kLeast || before_ == after_) return 0;
  const double step = std::max(GridOf(before_), GridOf(after_));
  if (!(step > 0)) return 0;
  const auto [low, high] = std::ranges::minmax(before_);
  const auto [low_after, high_after] = std::ranges::minmax(after_);
  double least = std::numeric_limits<double>::infinity(), most = -least, sum = 0;
  size_t count = 0;
  for (size_t i = 0; i < before_.size(); ++i) {
    if (before_[i] == low || before_[i] == high || after_[i] == low_after ||
        after_[i] == high_after)
      continue;
    const double steps = (after_[i] - before_[i]) / step;
    least = std::min(least, steps), most = std::max(most, steps);
    sum += steps, ++count;
  }
  if (count < kLeast || most - least > kRounding) return 0;
  const double mean = sum / static_cast<double>(count);
  return std::fabs(mean) > kOff ? mean : 0;
}

}  // namespace qrewrite
