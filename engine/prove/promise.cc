#include "engine/prove/promise.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <numeric>
#include <set>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "engine/api/constant.h"
#include "engine/evaluate/decibels.h"
#include "engine/prove/steps.h"
#include "engine/prove/units.h"
#include "engine/verify/compare.h"

namespace qrewrite {
namespace {

std::optional<double> Argument(std::string_view text, std::string_view word) {
  if (!text.starts_with(word)) return std::nullopt;
  text.remove_prefix(word.size());
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() ? std::optional(value) : std::nullopt;
}

std::string At(const std::string& name, size_t i, double before, double after) {
  return fmt::format("`{}`: element {} is {} before and {} after", name, i, before, after);
}

// How integers differ, those of 64 bits too, which doubles do not hold; "" if they do not.
std::string UnequalIntegers(const std::string& name, const Tensor& before, const Tensor& after) {
  const Result<std::vector<int64_t>> x = ToInt64s(before), y = ToInt64s(after);
  if (!x.ok() || !y.ok() || *x == *y) return "";
  const auto at = static_cast<size_t>(std::ranges::mismatch(*x, *y).in1 - x->begin());
  return fmt::format("`{}`: element {} is {} before and {} after", name, at, (*x)[at], (*y)[at]);
}

}  // namespace

Promise Promise::Of(const std::string& equivalence) {
  if (equivalence == "exact") return {Kind::kExact, 0};
  if (equivalence == "rescaled") return {Kind::kRescaled, 0};
  if (const auto n = Argument(equivalence, "ulp(")) return {Kind::kUlp, *n};
  if (const auto n = Argument(equivalence, "lsb(")) return {Kind::kLsb, *n};
  if (const auto n = Argument(equivalence, "approx(")) return {Kind::kApprox, *n};
  return {};
}

bool Comparison::Fail(std::string why) {
  why_ = std::move(why);
  return false;
}

namespace {

// The numbers of one output, sample by sample.
struct Series {
  std::vector<Dims> dims;
  std::vector<std::vector<double>> samples;
};

std::map<std::string, Series> SeriesOf(const std::vector<Tensors>& samples) {
  std::map<std::string, Series> all;
  for (const Tensors& sample : samples) {
    for (const auto& [name, plain] : sample) {
      const Result<Tensor> tensor = FromPlain(plain);
      if (!tensor.ok()) continue;
      Result<std::vector<double>> values = ToDoubles(*tensor);
      if (!values.ok()) continue;
      Series& series = all[name];
      series.dims.push_back(tensor->dims());
      series.samples.push_back(*std::move(values));
    }
  }
  return all;
}

bool IsWhole(const Series& series) { return std::ranges::all_of(series.samples, AreExact); }

// The index along an axis of element `i`; axis == rank: 0.
size_t IndexAlong(const Dims& dims, size_t axis, size_t i) {
  if (axis >= dims.size()) return 0;
  size_t behind = 1;
  for (size_t k = axis + 1; k < dims.size(); ++k) behind *= static_cast<size_t>(dims[k]);
  return i / behind % static_cast<size_t>(dims[axis]);
}

// For each index along an axis the largest of `scales` that divides all its numbers, or 1.
std::vector<double> Divisors(const Series& a, const Series& b, size_t axis,
                             const std::set<int64_t>& scales) {
  std::vector<int64_t> divisors(1, 0);
  for (const Series* side : {&a, &b}) {
    for (size_t k = 0; k < side->samples.size(); ++k) {
      const std::vector<double>& values = side->samples[k];
      for (size_t i = 0; i < values.size(); ++i) {
        const size_t at = IndexAlong(side->dims[k], axis, i);
        if (at >= divisors.size()) divisors.resize(at + 1, 0);
        divisors[at] = std::gcd(divisors[at], static_cast<int64_t>(values[i]));
      }
    }
  }
  std::vector<double> steps;
  for (const int64_t divisor : divisors) {
    int64_t step = 1;
    for (const int64_t scale : scales) step = divisor % scale == 0 ? scale : step;
    steps.push_back(static_cast<double>(step));
  }
  return steps;
}

double MostSteps(const Series& a, const Series& b, size_t axis, const std::vector<double>& steps) {
  double most = 0;
  for (size_t k = 0; k < a.samples.size(); ++k) {
    for (size_t i = 0; i < a.samples[k].size(); ++i) {
      const double distance = std::fabs(a.samples[k][i] - b.samples[k][i]);
      most = std::max(most, distance / steps[IndexAlong(a.dims[k], axis, i)]);
    }
  }
  return most;
}

}  // namespace

void Comparison::LearnSteps(const std::vector<Tensors>& before, const std::vector<Tensors>& after) {
  if (promise_.kind == Promise::Kind::kRescaled) LearnRescaled(before, after);
  if (promise_.kind != Promise::Kind::kLsb) return;
  const std::map<std::string, Series> sides[] = {SeriesOf(before), SeriesOf(after)};
  for (const auto& [name, a] : sides[0]) {
    std::vector<double> all;
    for (const std::vector<double>& values : a.samples)
      all.insert(all.end(), values.begin(), values.end());
    const auto b = sides[1].find(name);
    std::vector<double> both = all;
    for (size_t k = 0; b != sides[1].end() && k < b->second.samples.size(); ++k)
      both.insert(both.end(), b->second.samples[k].begin(), b->second.samples[k].end());
    const double grid = GridOf(std::move(both));
    steps_[name] = grid > 0 ? grid : WidestStep(std::move(all));
    if (!promise_.any_type || b == sides[1].end() || a.dims != b->second.dims || !IsWhole(a) ||
        !IsWhole(b->second)) {
      continue;
    }
    double least = std::numeric_limits<double>::infinity();
    for (size_t axis = a.dims.front().size() + 1; axis-- > 0;) {
      std::vector<double> steps = Divisors(a, b->second, axis, promise_.whole_scales);
      const double most = MostSteps(a, b->second, axis, steps);
      if (most >= least) continue;
      least = most;
      whole_steps_[name] = {axis, std::move(steps)};
    }
  }
}

bool Comparison::Add(const Tensors& before, const Tensors& after) {
  for (const auto& [name, a] : before) {
    const auto b = after.find(name);
    if (b == after.end()) return Fail(fmt::format("output `{}` is gone", name));
    if (promise_.kind == Promise::Kind::kRescaled) {
      if (!IsInUnits(name) && !AddRescaled(name, before, after)) return false;
      continue;
    }
    const Result<Tensor> x = FromPlain(a), y = FromPlain(b->second);
    if (!x.ok() || !y.ok()) continue;  // strings
    if (!AddOutput(name, *x, *y)) return false;
  }
  return true;
}

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

bool Comparison::AddOutput(const std::string& name, const Tensor& before, const Tensor& after) {
  if (before.dims() != after.dims()) {
    return Fail(fmt::format("`{}` has shape [{}] before and [{}] after", name,
                            fmt::join(before.dims(), ", "), fmt::join(after.dims(), ", ")));
  }
  if (before.dtype() != after.dtype() && !promise_.any_type) {
    return Fail(fmt::format("`{}` is {} before and {} after", name, Info(before.dtype()).text_name,
                            Info(after.dtype()).text_name));
  }
  const Result<std::vector<double>> x = ToDoubles(before), y = ToDoubles(after);
  if (!x.ok() || !y.ok()) return true;
  if (promise_.kind == Promise::Kind::kExact && before.dtype() == after.dtype() &&
      IsInteger(before.dtype())) {
    if (std::string why = UnequalIntegers(name, before, after); !why.empty()) return Fail(why);
  }
  const bool lsb = promise_.kind == Promise::Kind::kLsb;
  const bool whole = lsb && promise_.any_type && AreExact(*x) && AreExact(*y);
  const bool is_float = IsFloat(before.dtype()) && !whole;
  const auto learned = steps_.find(name);
  const double of_floats = !lsb || !is_float         ? 0
                           : learned != steps_.end() ? learned->second
                                                     : WidestStep(*x);
  const auto divisors = whole_steps_.find(name);
  const bool has_divisors = whole && IsFloat(before.dtype()) && divisors != whole_steps_.end();
  const bool noise_alone =
      promise_.kind == Promise::Kind::kApprox && promise_.limit > 0 && promise_.limit < kAnySizeDb;
  // A number alone has one size (judge_inputs.cc), which may be too small for its quantizer.
  if (noise_alone && is_float && before.rank() > 0) systematic_[name].Add(before.dims(), *x, *y);
  Sums& sums = sums_[name];
  const bool integers = IsInteger(before.dtype()) || promise_.any_type;
  sums.whole = sums.whole && integers && AreExact(*x) && AreExact(*y);
  for (size_t i = 0; i < x->size(); ++i) {
    const double a = (*x)[i], b = (*y)[i];
    if (!std::isfinite(a)) continue;  // the promise is about finite numbers
    if (!std::isfinite(b)) return Fail(At(name, i, a, b));
    sums.signal += std::max(a * a, promise_.least * promise_.least);
    if (std::fabs(a - b) > promise_.unseen) sums.noise += (a - b) * (a - b);
    sums.most = std::max(sums.most, std::fabs(a - b));
    if (a == b) continue;
    double distance = 0, step = 1;
    switch (promise_.kind) {
      case Promise::Kind::kExact: return Fail(At(name, i, a, b));
      case Promise::Kind::kUlp:
        distance = is_float ? UlpDistance(before.dtype(), a, b) : std::fabs(a - b);
        if (!(distance <= (is_float ? promise_.limit : 1))) return Fail(At(name, i, a, b));
        break;
      case Promise::Kind::kLsb:
        step = has_divisors
                   ? divisors->second.steps[IndexAlong(before.dims(), divisors->second.axis, i)]
               : is_float ? of_floats
                          : 1;
        distance = step > 0 ? std::fabs(a - b) / step : std::numeric_limits<double>::infinity();
        if (!(distance <= promise_.limit * (1 + 1e-4))) return Fail(At(name, i, a, b));
        break;
      default: continue;
    }
    margin_ = std::max(margin_, distance);
  }
  return true;
}

bool Comparison::Finish() {
  if (promise_.kind == Promise::Kind::kRescaled) return FinishRescaled();
  return promise_.kind != Promise::Kind::kApprox || FinishApprox();
}

bool Comparison::FinishApprox() {
  for (const auto& [name, s] : sums_) {
    const double db = Decibels(s.signal, s.noise);
    if (promise_.limit < kAnySizeDb && db < promise_.limit && s.whole && s.most <= 1) continue;
    margin_ = any_margin_ ? std::min(margin_, db) : db;
    any_margin_ = true;
    if (db < promise_.limit) return Fail(fmt::format("`{}`: {:.1f} dB", name, db));
  }
  for (const auto& [name, systematic] : systematic_) {
    const double db = systematic.Decibels();
    if (db < std::max(promise_.limit, kSystematicDb))
      return Fail(
          fmt::format("`{}`: elements differ by a factor or an offset, {:.1f} dB", name, db));
  }
  return true;
}

bool Keeps(Promise promise, const std::vector<Tensors>& before, const std::vector<Tensors>& after,
           std::string& why, double* margin) {
  Comparison comparison(std::move(promise));
  comparison.LearnSteps(before, after);
  bool kept = true;
  for (size_t i = 0; i < before.size() && kept; ++i) kept = comparison.Add(before[i], after[i]);
  kept = kept && comparison.Finish();
  why = comparison.why();
  if (margin != nullptr) *margin = comparison.margin();
  return kept;
}

}  // namespace qrewrite
