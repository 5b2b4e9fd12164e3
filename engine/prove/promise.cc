#include "engine/prove/promise.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "engine/api/constant.h"
#include "engine/evaluate/decibels.h"
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

// The widest distance of neighbours among the numbers; 0: they are all equal.
double WidestStep(std::vector<double> values) {
  std::erase_if(values, [](double v) { return !std::isfinite(v); });
  std::sort(values.begin(), values.end());
  double widest = 0;
  for (size_t i = 1; i < values.size(); ++i) widest = std::max(widest, values[i] - values[i - 1]);
  return widest;
}

bool AreWhole(const std::vector<double>& values) {
  return std::ranges::all_of(values, [](double v) { return v == std::trunc(v); });
}

std::string At(const std::string& name, size_t i, double before, double after) {
  return fmt::format("`{}`: element {} is {} before and {} after", name, i, before, after);
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

bool Comparison::Add(const Tensors& before, const Tensors& after) {
  for (const auto& [name, a] : before) {
    const auto b = after.find(name);
    if (b == after.end()) return Fail(fmt::format("output `{}` is gone", name));
    const Result<Tensor> x = FromPlain(a), y = FromPlain(b->second);
    if (!x.ok() || !y.ok()) continue;  // strings
    if (!AddOutput(name, *x, *y)) return false;
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
  const bool lsb = promise_.kind == Promise::Kind::kLsb;
  const bool whole = lsb && promise_.any_type && AreWhole(*x) && AreWhole(*y);
  const bool is_float = IsFloat(before.dtype()) && !whole;
  const double step = !lsb ? 0 : is_float ? WidestStep(*x) : 1;
  Sums& sums = sums_[name];
  for (size_t i = 0; i < x->size(); ++i) {
    const double a = (*x)[i], b = (*y)[i];
    if (!std::isfinite(a)) continue;  // the promise is about finite numbers
    if (!std::isfinite(b)) return Fail(At(name, i, a, b));
    sums.signal += a * a;
    sums.noise += (a - b) * (a - b);
    if (a == b) continue;
    double distance = 0;
    switch (promise_.kind) {
      case Promise::Kind::kExact: return Fail(At(name, i, a, b));
      case Promise::Kind::kUlp:
        distance = is_float ? UlpDistance(before.dtype(), a, b) : std::fabs(a - b);
        if (!(distance <= (is_float ? promise_.limit : 1))) return Fail(At(name, i, a, b));
        break;
      case Promise::Kind::kLsb:
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
  if (promise_.kind != Promise::Kind::kApprox) return true;
  for (const auto& [name, s] : sums_) {
    const double db = Decibels(s.signal, s.noise);
    margin_ = any_margin_ ? std::min(margin_, db) : db;
    any_margin_ = true;
    if (db < promise_.limit) return Fail(fmt::format("`{}`: {:.1f} dB", name, db));
  }
  return true;
}

bool Keeps(Promise promise, const std::vector<Tensors>& before, const std::vector<Tensors>& after,
           std::string& why, double* margin) {
  Comparison comparison(promise);
  bool kept = true;
  for (size_t i = 0; i < before.size() && kept; ++i) kept = comparison.Add(before[i], after[i]);
  kept = kept && comparison.Finish();
  why = comparison.why();
  if (margin != nullptr) *margin = comparison.margin();
  return kept;
}

}  // namespace qrewrite
