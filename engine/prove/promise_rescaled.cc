// Promises about numbers in units that the rule chose.
#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "engine/api/constant.h"
#include "engine/prove/promise.h"
#include "engine/prove/series.h"
#include "engine/prove/steps.h"
#include "engine/prove/units.h"

namespace qrewrite {
namespace {

// The numbers of an output, as it is and in units; empty: there are none.
std::optional<std::vector<double>> Reading(const Tensors& outputs, const std::string& name) {
  const auto found = outputs.find(name);
  if (found == outputs.end()) return std::nullopt;
  const Result<Tensor> tensor = FromPlain(found->second);
  if (!tensor.ok()) return std::nullopt;
  const Result<std::vector<double>> values = ToDoubles(*tensor);
  return values.ok() ? std::optional(*values) : std::nullopt;
}

constexpr double kFewSteps = 3;        // as quantizers of few bits have; said of so
constexpr ptrdiff_t kLeastOnGrid = 4;  // many numbers other than 0
constexpr size_t kLeastBetween = 8;    // where those at the ends count for nothing

// Without those at the ends, which may be cut off.
std::vector<double> Between(const std::vector<double>& numbers) {
  if (numbers.empty()) return {};
  const auto [low, high] = std::ranges::minmax(numbers);
  std::vector<double> between;
  for (const double v : numbers) {
    if (v > low && v < high && v != 0) between.push_back(v);
  }
  return between;
}

bool AreOn(double step, const std::vector<double>& numbers) {
  return std::ranges::all_of(numbers, [step](double v) {
    return !std::isfinite(v) || std::fabs(v / step - std::rint(v / step)) <= kNearStep;
  });
}

// The largest of `scales` that both sides are whole multiples of, many of it, or several numbers of a few of it: what
// one small number cannot tell. 0: there is none.
double CommonStep(const std::vector<double>& a, const std::vector<double>& b,
                  const std::set<double>& scales) {
  if (scales.empty()) return 0;
  double largest = 0;
  for (const double v : a) largest = std::isfinite(v) ? std::max(largest, std::fabs(v)) : largest;
  const auto apart = std::ranges::count_if(a, [](double v) { return v != 0; });
  const double least = apart >= kLeastOnGrid ? kFewSteps : kLeastSteps;
  const std::vector<double> inner_a = Between(a), inner_b = Between(b);
  const bool many = inner_a.size() >= kLeastBetween && inner_b.size() >= kLeastBetween;
  for (auto at = scales.rbegin(); at != scales.rend(); ++at) {
    const double step = *at;
    if (largest > kLargestExact * step) break;  // below the last digits of a FLOAT
    const bool on = AreOn(step, a) && AreOn(step, b);
    if (largest >= least * step && (on || (many && AreOn(step, inner_a) && AreOn(step, inner_b))))
      return step;
  }
  return 0;
}

// Of whole numbers, and of such times a step: rounded once more, which `drift` gathers. Of others: but for the
// last digits. `learned`: a step that all samples are on; 0: there is none.
bool AreClose(const std::vector<double>& a, const std::vector<double>& b,
              const std::set<double>& scales, double learned, Drift& drift) {
  constexpr double kRelative = 1e-4;
  if (a.size() != b.size()) return false;
  double largest = 0;
  for (const double v : a) largest = std::isfinite(v) ? std::max(largest, std::fabs(v)) : largest;
  // Integers that a float holds exactly; larger whole numbers are sums of floats.
  const bool integers = AreWhole(a) && AreWhole(b) && largest <= kLargestExact;
  const double common = std::max(CommonStep(a, b, scales), learned);
  const double step = integers ? std::max(common, 1.0) : std::max(StepOf(a), common);
  const double most = integers ? step : std::max(kRelative * largest, step * (1 + kRelative));
  for (size_t i = 0; i < a.size(); ++i) {
    if (std::isfinite(a[i]) && !(std::fabs(a[i] - b[i]) <= most)) return false;
  }
  if (step > 0) drift.Add(a, b, step);
  return true;
}

}  // namespace

// Numbers at the ends may be cut off.
void Drift::Add(const std::vector<double>& a, const std::vector<double>& b, double step) {
  double low = std::numeric_limits<double>::infinity(), high = -low;
  for (const double v : a) {
    if (std::isfinite(v)) low = std::min(low, v), high = std::max(high, v);
  }
  for (size_t i = 0; i < a.size(); ++i) {
    if (!std::isfinite(a[i]) || a[i] == low || a[i] == high) continue;
    count_ += 1;
    steps_ += (b[i] - a[i]) / step;
  }
}

// Rounding goes either way, or one way for a part of the numbers.
bool Drift::IsOneWay() const {
  constexpr double kLeast = 8, kMost = 0.75;
  return count_ >= kLeast && std::fabs(steps_) > kMost * count_;
}

// A sample of few numbers does not tell the constant that they are multiples of, several do.
void Comparison::LearnRescaled(const std::vector<Tensors>& before,
                               const std::vector<Tensors>& after) {
  const std::map<std::string, Series> sides[] = {SeriesOf(before), SeriesOf(after)};
  const auto all = [&](size_t side, const std::string& name) {
    std::vector<double> numbers;
    const auto series = sides[side].find(name);
    if (series == sides[side].end()) return numbers;
    for (const std::vector<double>& values : series->second.samples)
      numbers.insert(numbers.end(), values.begin(), values.end());
    return numbers;
  };
  for (const auto& [name, series] : sides[0]) {
    if (IsInUnits(name)) continue;
    for (size_t i = 0; i < 4; ++i) {
      const std::vector<double> x = all(0, i / 2 == 0 ? name : InUnits(name)),
                                y = all(1, i % 2 == 0 ? name : InUnits(name));
      rescaled_[name].steps[i] = CommonStep(x, y, promise_.scales);
    }
  }
}

bool Comparison::AddRescaled(const std::string& name, const Tensors& before, const Tensors& after) {
  const ConstTensor& a = before.at(name);
  const ConstTensor& b = after.at(name);
  if (a.dims != b.dims) {
    return Fail(fmt::format("`{}` has shape [{}] before and [{}] after", name,
                            fmt::join(a.dims, ", "), fmt::join(b.dims, ", ")));
  }
  Rescaled& r = rescaled_[name];
  const std::optional<std::vector<double>> of_before[] = {Reading(before, name),
                                                          Reading(before, InUnits(name))};
  const std::optional<std::vector<double>> of_after[] = {Reading(after, name),
                                                         Reading(after, InUnits(name))};
  if (!of_before[0] || !of_after[0]) return true;
  bool any = false;
  for (size_t i = 0; i < 4; ++i) {
    const auto &x = of_before[i / 2], &y = of_after[i % 2];
    r.possible[i] =
        r.possible[i] && x && y && AreClose(*x, *y, promise_.scales, r.steps[i], r.drift[i]);
    any |= r.possible[i];
  }
  const bool other_type =
      promise_.retyped.contains(name) ||
      IsFloat(static_cast<DType>(a.dtype)) != IsFloat(static_cast<DType>(b.dtype));
  if (other_type) {
    r.dims.push_back(a.dims);
    r.before.push_back(*of_before[0]);
    r.after.push_back(*of_after[0]);
  }
  if (any || other_type) return true;
  if (of_before[0]->empty()) return Fail(fmt::format("`{}` is empty", name));
  size_t at = 0;
  while (at + 1 < of_before[0]->size() && (*of_before[0])[at] == (*of_after[0])[at]) ++at;
  return Fail(At(name, at, (*of_before[0])[at], (*of_after[0])[at]) + ", in no units the same");
}

namespace {

// Whether all `y` are `x` times a factor plus an offset, those with one `key` with the same. Integers may have
// been rounded the other way on a tie.
class Lines {
 public:
  void Add(size_t key, double x, double y) { points_[key].emplace_back(x, y); }
  bool Fit() const {
    return std::ranges::all_of(points_, [](const auto& entry) { return FitsOne(entry.second); });
  }

 private:
  using Points = std::vector<std::pair<double, double>>;
  struct Sums {
    double n = 0, x = 0, y = 0, xx = 0, xy = 0, yy = 0;
  };

  static bool FitsOne(const Points& points) {
    constexpr double kLeast = 1 - 1e-4;  // of the squared correlation
    Sums s;
    for (const auto& [x, y] : points)
      s.n += 1, s.x += x, s.y += y, s.xx += x * x, s.xy += x * y, s.yy += y * y;
    const double x = s.n * s.xx - s.x * s.x, y = s.n * s.yy - s.y * s.y,
                 xy = s.n * s.xy - s.x * s.y;
    const bool constant = !(x > 1e-9 * s.n * s.xx) && !(y > 1e-9 * s.n * s.yy);
    if (constant || xy * xy >= kLeast * x * y) return true;
    if (!(x > 0) || !(y > 0)) return false;
    const double factor = xy / x, offset = (s.y - factor * s.x) / s.n;
    return IsRoundedLine(points, factor, offset);
  }

  // Of integers in a range that tells something.
  static bool IsRoundedLine(const Points& points, double factor, double offset) {
    constexpr double kLeastRange = 16, kMost = 1.01;
    double low_x = points.front().first, high_x = low_x, low_y = points.front().second,
           high_y = low_y;
    bool whole_x = true, whole_y = true;
    for (const auto& [x, y] : points) {
      low_x = std::min(low_x, x), high_x = std::max(high_x, x);
      low_y = std::min(low_y, y), high_y = std::max(high_y, y);
      whole_x = whole_x && x == std::rint(x), whole_y = whole_y && y == std::rint(y);
    }
    // The side that is integers may be off by one.
    const double of_x = whole_x && high_x - low_x >= kLeastRange ? std::fabs(factor) : 0;
    const double of_y = whole_y && high_y - low_y >= kLeastRange ? 1 : 0;
    const double most = kMost * std::max(of_x, of_y);
    return std::ranges::all_of(points, [&](const auto& point) {
      return std::fabs(point.second - (factor * point.first + offset)) <= most;
    });
  }

  std::map<size_t, Points> points_;
};

}  // namespace

bool Comparison::FinishRescaled() {
  for (auto& [name, r] : rescaled_) {
    const bool close = std::ranges::count(r.possible, true) > 0;
    for (size_t i = 0; i < 4; ++i) r.possible[i] = r.possible[i] && !r.drift[i].IsOneWay();
    if (std::ranges::count(r.possible, true) > 0) continue;
    if (r.before.empty() && close)
      return Fail(fmt::format("`{}` is off by a step, always the same way", name));
    if (r.before.empty()) continue;
    const size_t rank = r.dims.front().size();
    bool fits = false;
    for (size_t axis = 0; axis <= rank && !fits; ++axis) {
      Lines lines;
      for (size_t k = 0; k < r.before.size(); ++k) {
        for (size_t i = 0; i < r.before[k].size(); ++i)
          lines.Add(IndexAlong(r.dims[k], axis, i), r.before[k][i], r.after[k][i]);
      }
      fits = lines.Fit();
    }
    if (!fits) return Fail(fmt::format("`{}` is not the same times a factor plus an offset", name));
  }
  return true;
}

}  // namespace qrewrite
