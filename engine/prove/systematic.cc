#include "engine/prove/systematic.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "engine/evaluate/decibels.h"

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

}  // namespace qrewrite
