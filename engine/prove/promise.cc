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
#include "engine/prove/series.h"
#include "engine/prove/steps.h"
#include "engine/prove/units.h"
#include "engine/tensor/ulp.h"
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

std::string_view Name(Excuse excuse) {
  switch (excuse) {
    case Excuse::kNone: break;
    case Excuse::kOtherRule: return "another rule";
    case Excuse::kNarrowFloats: return "16 bits";
    case Excuse::kShapesAlone: return "shapes alone";
    case Excuse::kNoData: return "no data";
    case Excuse::kOtherSteps: return "another step";
    case Excuse::kWhereMade: return "where it is made";
    case Excuse::kEachFiring: return "each firing";
    case Excuse::kOtherRuntime: return "another runtime";
    case Excuse::kByOne: return "integers by 1";
  }
  return "";
}

bool Comparison::Fail(std::string why) {
  why_ = std::move(why);
  return false;
}

namespace {

bool IsWhole(const Series& series) { return std::ranges::all_of(series.samples, AreExact); }

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

namespace {

// Whether the samples of both sides have one shape, so that an index along an axis means something.
bool HaveShape(const Series& a, const Series& b) {
  return a.dims == b.dims && !a.dims.empty() &&
         std::ranges::all_of(a.dims, [&](const Dims& dims) { return dims == a.dims.front(); });
}

// The steps that the floats of each index along an axis are, from the least of them on, as a dequantizer makes them that
// has a scale, and a zero point between integers, for each column; such that are no number of the graph, and of columns
// that show none, are `other`.
std::vector<double> StepsAlong(const Series& a, const Series& b, size_t axis,
                               const std::set<double>& scales, double other) {
  constexpr size_t kLeastNumbers =
      16;  // of both sides: of fewer some are on a coarser grid by chance
  constexpr double kNear = 1e-4;
  std::vector<std::vector<double>> numbers(static_cast<size_t>(a.dims.front()[axis]));
  for (const Series* side : {&a, &b}) {
    for (size_t k = 0; k < side->samples.size(); ++k) {
      const std::vector<double>& values = side->samples[k];
      for (size_t i = 0; i < values.size(); ++i) {
        if (std::isfinite(values[i]))
          numbers[IndexAlong(side->dims[k], axis, i)].push_back(values[i]);
      }
    }
  }
  std::vector<double> steps;
  for (std::vector<double>& of_one : numbers) {
    steps.push_back(other);
    if (of_one.size() < kLeastNumbers) continue;
    const double least = std::ranges::min(of_one);
    for (double& v : of_one) v -= least;
    const double grid = GridOf(std::move(of_one));
    const auto near = scales.lower_bound(grid * (1 - kNear));
    if (grid > 0 && near != scales.end() && *near <= grid * (1 + kNear)) steps.back() = grid;
  }
  return steps;
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
    const double step = grid > 0 ? grid : WidestStep(std::move(all));
    steps_[name] = {0, {step}};
    if (b == sides[1].end()) continue;
    LearnStepsAlong(name, a, b->second, step);
    LearnWholeSteps(name, a, b->second);
  }
}

// Where one step is not what the promise says, one for each index of an axis may be.
void Comparison::LearnStepsAlong(const std::string& name, const Series& a, const Series& b,
                                 double step) {
  if (!HaveShape(a, b)) return;
  const size_t rank = a.dims.front().size();
  double least = MostSteps(a, b, rank, {step});
  for (size_t axis = 0; axis < rank && !(least <= promise_.limit); ++axis) {
    std::vector<double> steps = StepsAlong(a, b, axis, promise_.scales, step);
    const double most = MostSteps(a, b, axis, steps);
    if (most >= least) continue;
    least = most;
    steps_[name] = {axis, std::move(steps)};
  }
}

void Comparison::LearnWholeSteps(const std::string& name, const Series& a, const Series& b) {
  if (!promise_.any_type || a.dims != b.dims || !IsWhole(a) || !IsWhole(b)) return;
  double least = std::numeric_limits<double>::infinity();
  for (size_t axis = a.dims.front().size() + 1; axis-- > 0;) {
    std::vector<double> steps = Divisors(a, b, axis, promise_.whole_scales);
    const double most = MostSteps(a, b, axis, steps);
    if (most >= least) continue;
    least = most;
    whole_steps_[name] = {axis, std::move(steps)};
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

Comparison::Ruler Comparison::RulerOf(const std::string& name, const Tensor& before, bool whole,
                                      const std::vector<double>& numbers) const {
  Ruler ruler{before.dtype(), before.dims(), IsFloat(before.dtype()) && !whole};
  if (promise_.kind != Promise::Kind::kLsb) return ruler;
  const auto learned = steps_.find(name), divisors = whole_steps_.find(name);
  if (whole && IsFloat(before.dtype()) && divisors != whole_steps_.end())
    ruler.steps = divisors->second;
  else if (!ruler.is_float)
    ruler.steps = {0, {1}};
  else if (learned != steps_.end())
    ruler.steps = learned->second;
  else
    ruler.steps = {0, {WidestStep(numbers)}};
  return ruler;
}

double Comparison::Ruler::StepAt(size_t i) const {
  return steps.of[steps.of.size() == 1 ? 0 : IndexAlong(dims, steps.axis, i)];
}

// How far apart two numbers are that differ, where the promise is about each of them; nullopt: it is not.
std::optional<double> Comparison::DistanceOf(const Ruler& ruler, size_t i, double a,
                                             double b) const {
  constexpr double kEndless = std::numeric_limits<double>::infinity();
  switch (promise_.kind) {
    case Promise::Kind::kExact: return kEndless;
    case Promise::Kind::kUlp:
      return ruler.is_float ? UlpDistance(ruler.dtype, a, b) : std::fabs(a - b);
    case Promise::Kind::kLsb: {
      const double step = ruler.StepAt(i);
      return step > 0 ? std::fabs(a - b) / step : kEndless;
    }
    default: return std::nullopt;
  }
}

bool Comparison::IsWithin(const Ruler& ruler, double distance) const {
  if (promise_.kind == Promise::Kind::kUlp)
    return distance <= (ruler.is_float ? promise_.limit : 1);
  return promise_.kind == Promise::Kind::kLsb && distance <= promise_.limit * (1 + 1e-4);
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
  const bool exact = AreExact(*x) && AreExact(*y);
  const bool whole = promise_.kind == Promise::Kind::kLsb && promise_.any_type && exact;
  const Ruler ruler = RulerOf(name, before, whole, *x);
  const bool noise_alone =
      promise_.kind == Promise::Kind::kApprox && promise_.limit > 0 && promise_.limit < kAnySizeDb;
  // A number alone has one size (trial_inputs.h), which may be too small for its quantizer.
  if (noise_alone && ruler.is_float && before.rank() > 0)
    systematic_[name].Add(before.dims(), *x, *y);
  if (noise_alone) shifts_[name].Add(*x, *y);
  Sums& sums = sums_[name];
  sums.whole = sums.whole && (IsInteger(before.dtype()) || promise_.any_type) && exact;
  const auto unreached = promise_.least_of.find(name);
  const double least = unreached == promise_.least_of.end() ? promise_.least : unreached->second;
  for (size_t i = 0; i < x->size(); ++i) {
    const double a = (*x)[i], b = (*y)[i];
    if (!std::isfinite(a)) continue;  // the promise is about finite numbers
    if (!std::isfinite(b)) return Fail(At(name, i, a, b));
    sums.Add(a, b, least, promise_.unseen);
    if (a == b) continue;
    const std::optional<double> distance = DistanceOf(ruler, i, a, b);
    if (!distance) continue;
    if (!IsWithin(ruler, *distance)) return Fail(At(name, i, a, b));
    margin_ = std::max(margin_, *distance);
  }
  return true;
}

void Comparison::Sums::Add(double a, double b, double least, double unseen) {
  const double difference = std::fabs(a - b);
  signal += std::max(a * a, least * least);
  if (difference > unseen) noise += difference * difference;
  most = std::max(most, difference);
}

bool Comparison::Finish() {
  if (promise_.kind == Promise::Kind::kRescaled) return FinishRescaled();
  return promise_.kind != Promise::Kind::kApprox || FinishApprox();
}

bool Comparison::FinishApprox() {
  double limit = promise_.limit, systematic_limit = std::max(limit, kSystematicDb);
  if (promise_.other_steps) {
    limit = std::min(limit, std::max(limit - kLessNoiseWithOtherSteps, kLeastNoiseDb));
    systematic_limit -= kLessWithOtherSteps;
  }
  margin_ = std::numeric_limits<double>::infinity();
  bool by_one = false;
  for (const auto& [name, s] : sums_) {
    const double db = Decibels(s.signal, s.noise);
    const bool one = promise_.limit < kAnySizeDb && db < limit && s.whole && s.most <= 1;
    by_one |= one;
    if (one) continue;
    margin_ = std::min(margin_, db);
    if (db < limit) return Fail(fmt::format("`{}`: {:.1f} dB", name, db));
  }
  for (const auto& [name, systematic] : systematic_) {
    const double db = systematic.Decibels();
    if (db < systematic_limit)
      return Fail(
          fmt::format("`{}`: elements differ by a factor or an offset, {:.1f} dB", name, db));
  }
  for (const auto& [name, shift] : shifts_) {
    if (const double steps = shift.Steps(); steps != 0)
      return Fail(fmt::format("`{}`: all numbers are off by {:.1f} steps", name, steps));
  }
  if (by_one) margin_ = std::nan("");
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
