#include "engine/verify/compare.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include <fmt/format.h>

#include "engine/evaluate/decibels.h"
#include "engine/tensor/ulp.h"

namespace qrewrite {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// Elements of an output are looked at in parts of about so many: numbers in double precision take more memory than the
// output itself.
constexpr int64_t kPart = int64_t{1} << 16;

// How many elements a part has: whole rows.
int64_t PartOf(const Tensor& tensor) {
  const int64_t width = tensor.rank() == 0 ? 1 : std::max<int64_t>(tensor.dims().back(), 1);
  const bool packed = Info(tensor.dtype()).bits % 8 != 0;  // several in a byte
  return packed ? std::max<int64_t>(tensor.size(), 1) : std::max<int64_t>(kPart / width, 1) * width;
}

// Elements [begin, begin + count) as numbers.
Result<std::vector<double>> Numbers(const Tensor& tensor, int64_t begin, int64_t count) {
  if (begin == 0 && count == tensor.size()) return ToDoubles(tensor);
  const auto width = static_cast<size_t>(Info(tensor.dtype()).bits / 8);
  return ToDoubles(Tensor::View(tensor.dtype(), {count}, std::make_shared<const Tensor>(tensor),
                                tensor.bytes().subspan(static_cast<size_t>(begin) * width,
                                                       static_cast<size_t>(count) * width)));
}

// How far integers of 64 bits are apart, which doubles do not hold, by element; none for other types.
std::vector<double> WholeDifferences(const Tensor& a, const Tensor& b, int64_t begin,
                                     int64_t count) {
  if (a.dtype() != b.dtype() || (a.dtype() != DType::kInt64 && a.dtype() != DType::kUint64)) {
    return {};
  }
  std::vector<double> differences(static_cast<size_t>(count));
  for (size_t i = 0; i < differences.size(); ++i) {
    const size_t at = (static_cast<size_t>(begin) + i) * sizeof(uint64_t);
    uint64_t x = 0, y = 0;
    std::memcpy(&x, a.bytes().data() + at, sizeof x);
    std::memcpy(&y, b.bytes().data() + at, sizeof y);
    const bool less =
        a.dtype() == DType::kInt64 ? static_cast<int64_t>(x) < static_cast<int64_t>(y) : x < y;
    differences[i] = static_cast<double>(less ? y - x : x - y);
  }
  return differences;
}

bool SameNumber(double a, double b) { return a == b || (std::isnan(a) && std::isnan(b)); }

}  // namespace

Status OutputSums::Add(int sample, const Tensor& a, const Tensor& b, double scale,
                       const Tolerance& tolerance) {
  result_.dtype_a = static_cast<int>(a.dtype());
  result_.dtype_b = static_cast<int>(b.dtype());
  ++samples_;
  if (a.dims() != b.dims()) {
    is_worst_ = shapes_.empty();  // no number differs more
    if (is_worst_) {
      shapes_ =
          fmt::format("shapes [{}] and [{}]", fmt::join(a.dims(), ", "), fmt::join(b.dims(), ", "));
      result_.worst_sample = sample;
    }
    worst_ = kInfinity;
    worst_is_outside_ = true;
    return {};
  }
  for (const Tensor* tensor : {&a, &b}) {
    if (tensor->is_string()) return ToDoubles(*tensor).status();
  }
  const bool same_type = a.dtype() == b.dtype() && IsFloat(a.dtype()) && scale == 1;
  const DType ulp_type = same_type ? a.dtype() : DType::kUndefined;
  whole_ = !IsFloat(a.dtype()) && !IsFloat(b.dtype());
  is_worst_ = false;
  const int64_t width = a.rank() == 0 ? 1 : a.dims().back();
  const int64_t part = std::max(PartOf(a), PartOf(b));
  for (int64_t begin = 0; begin < a.size(); begin += part) {
    const int64_t count = std::min(part, a.size() - begin);
    QR_ASSIGN_OR_RETURN(std::vector<double> x, Numbers(a, begin, count));
    QR_ASSIGN_OR_RETURN(const std::vector<double> y, Numbers(b, begin, count));
    std::vector<double> whole;
    if (scale == 1) whole = WholeDifferences(a, b, begin, count);
    for (size_t i = 0; i < x.size(); ++i) {
      x[i] *= scale;
      AddElement(sample, begin + static_cast<int64_t>(i), x[i], y[i],
                 whole.empty() ? std::fabs(x[i] - y[i]) : whole[i], ulp_type, tolerance);
    }
    AddRows(width, x, y);
  }
  if (is_worst_) worst_dims_ = a.dims();
  AddToConstancy(a.dims(), HashBytes(a.bytes()));
  return {};
}

void OutputSums::AddToConstancy(const Dims& dims, uint64_t hash) {
  const auto [first, is_new] = first_of_shape_.emplace(dims, hash);
  repeated_ += !is_new;
  changed_ += !is_new && first->second != hash;
}

// Of an element that is not equal; decibels are of all elements together.
bool OutputSums::IsOutside(double a, double difference, double ulp,
                           const Tolerance& tolerance) const {
  switch (tolerance.kind) {
    case Tolerance::Kind::kExact: return true;
    case Tolerance::Kind::kUlp: return !(ulp <= tolerance.limit);
    case Tolerance::Kind::kLsb: return !(difference <= tolerance.limit);
    case Tolerance::Kind::kClose: {
      const double relative = whole_ ? 0 : tolerance.rtol * std::fabs(a);
      return !(difference <= tolerance.atol + relative);
    }
    case Tolerance::Kind::kSqnr: return false;
  }
  return false;
}

void OutputSums::AddElement(int sample, int64_t index, double a, double b, double difference,
                            DType ulp_type, const Tolerance& tolerance) {
  OutputComparison& r = result_;
  ++r.elements;
  const bool finite = std::isfinite(a) && std::isfinite(b);
  const bool equal = finite ? difference == 0 : SameNumber(a, b);
  r.unequal += !equal;
  double ulp = 0;
  if (finite) {
    if (finite_ == 0) least_ = most_ = a;
    ++finite_;
    // How often the ends were met so far counts for nothing when there are further ones.
    if (a < least_) least_ = a, at_least_ = 0;
    if (a > most_) most_ = a, at_most_ = 0;
    at_least_ += a == least_;
    at_most_ += a == most_;
    signal_ += a * a;
    other_ += b * b;
    product_ += a * b;
    noise_ += difference * difference;
    r.max_abs = std::max(r.max_abs, difference);
    if (a != 0) r.max_rel = std::max(r.max_rel, difference / std::fabs(a));
    if (ulp_type != DType::kUndefined) {
      ulp = UlpDistance(ulp_type, a, b);
      if (!std::isnan(ulp)) r.max_ulp = std::max(r.max_ulp.value_or(0), ulp);
    }
  } else if (!equal) {
    difference = ulp = kInfinity;
    ++not_numbers_;
  } else {
    difference = 0;
  }
  const bool outside =
      !equal &&
      IsOutside(a, difference, ulp_type == DType::kUndefined ? kInfinity : ulp, tolerance);
  outside_ += outside;
  // What is beyond the tolerance is shown; a larger difference of larger numbers may be within it.
  if (outside > worst_is_outside_ || (outside == worst_is_outside_ && difference > worst_)) {
    worst_ = difference;
    worst_is_outside_ = outside;
    worst_at_ = index;
    r.worst_sample = sample;
    r.worst_a = a;
    r.worst_b = b;
    is_worst_ = true;
  }
}

void OutputSums::AddRows(int64_t width, std::span<const double> x, std::span<const double> y) {
  if (width < 2) return;
  for (size_t at = 0; at < x.size(); at += static_cast<size_t>(width)) {
    const auto first = x.subspan(at, static_cast<size_t>(width));
    const auto second = y.subspan(at, static_cast<size_t>(width));
    ++result_.rows;
    result_.same_argmax += std::ranges::max_element(first) - first.begin() ==
                           std::ranges::max_element(second) - second.begin();
  }
}

Status OutputSums::AddNoise(const Tensor& a, const Tensor& again) {
  if (a.dims() != again.dims()) return {};
  noise_known_ = true;
  const int64_t part = std::max(PartOf(a), PartOf(again));
  for (int64_t begin = 0; begin < a.size(); begin += part) {
    const int64_t count = std::min(part, a.size() - begin);
    QR_ASSIGN_OR_RETURN(const std::vector<double> x, Numbers(a, begin, count));
    QR_ASSIGN_OR_RETURN(const std::vector<double> y, Numbers(again, begin, count));
    for (size_t i = 0; i < x.size(); ++i) {
      if (!std::isfinite(x[i]) || !std::isfinite(y[i])) continue;
      noise_signal_ += x[i] * x[i];
      noise_noise_ += (x[i] - y[i]) * (x[i] - y[i]);
    }
  }
  return {};
}

// In which way the tolerance is exceeded; "" if it is not.
std::string OutputSums::Beyond(const Tolerance& tolerance) const {
  const OutputComparison& r = result_;
  if (!shapes_.empty()) return shapes_;
  if (not_numbers_ > 0) {
    return fmt::format("{} elements are numbers on one side alone", not_numbers_);
  }
  if (tolerance.kind == Tolerance::Kind::kSqnr) {
    const double db = Decibels(signal_, noise_);
    return db >= tolerance.limit ? "" : fmt::format("{:.1f} dB", db);
  }
  if (outside_ > 0) return fmt::format("{} of {} elements", outside_, r.elements);
  const double rate =
      static_cast<double>(r.unequal) / static_cast<double>(std::max<int64_t>(r.elements, 1));
  if (tolerance.kind == Tolerance::Kind::kLsb && rate > tolerance.rate) {
    return fmt::format("{:.3g} of the elements are not equal", rate);
  }
  return "";
}

// Why equal numbers prove nothing; "" if they do.
std::string OutputSums::Vacuous() const {
  if (samples_ == 0) return "it is no tensor of numbers, and was not compared";
  if (result_.elements == 0) return "it has no elements";
  if (finite_ == 0) return "the first model gives no finite number";
  const bool one =
      least_ == most_ && (changed_ == 0 || !whole_);  // integers may differ beyond doubles
  if (varies_ && one && result_.elements > 1) return fmt::format("it is {} on all samples", least_);
  if (varies_ && repeated_ > 0 && changed_ == 0) return "it is the same on all samples";
  const bool integer = IsInteger(static_cast<DType>(result_.dtype_a));
  const double ends = static_cast<double>(at_least_ + at_most_) / static_cast<double>(finite_);
  if (integer && finite_ >= 1000 && ends > 0.99) return "it is saturated";
  return "";
}

bool OutputSums::IsMostlyAtEnds() const {
  constexpr int64_t kLeast = 8;  // of fewer two are the ends anyway
  return finite_ >= kLeast && least_ < most_ && at_least_ + at_most_ >= finite_ - finite_ / 4;
}

// Whether integers differ in places alone where approximations chose: an ArgMax of two numbers that are nearly equal.
// Of these decibels say nothing; 8 bits and fewer are data.
bool OutputSums::IsChoice(const Tolerance& tolerance) const {
  const auto dtype = static_cast<DType>(result_.dtype_a);
  const bool chosen = dtype == DType::kBool || (IsInteger(dtype) && Info(dtype).bits >= 32);
  return tolerance.kind == Tolerance::Kind::kSqnr && whole_ && chosen && shapes_.empty() &&
         result_.unequal <= result_.elements / 4;
}

// Whether all numbers are so small that Sigmoid and Softmax, which reach 1, do not resolve them: they add to 1 on the
// way, and what is left of a sum of single precision are steps of 2^-24. Of these decibels say nothing.
bool OutputSums::IsTiny(const Tolerance& tolerance) const {
  const double most = std::max(std::fabs(least_), std::fabs(most_));
  return tolerance.kind == Tolerance::Kind::kSqnr && !whole_ && shapes_.empty() &&
         not_numbers_ == 0 && most <= std::exp2(-20) && result_.max_abs <= std::exp2(-23);
}

OutputComparison OutputSums::Finish(const Tolerance& tolerance) const {
  OutputComparison r = result_;
  r.other_shape = !shapes_.empty();
  r.not_numbers = not_numbers_;
  // No number of decibels is as little as a number that is missing.
  r.sqnr_db = r.other_shape || not_numbers_ > 0 ? -kInfinity : Decibels(signal_, noise_);
  const double norms = std::sqrt(signal_) * std::sqrt(other_);
  r.cosine = norms > 0 ? product_ / norms : (signal_ == other_ ? 1 : 0);
  if (noise_known_) r.noise_db = Decibels(noise_signal_, noise_noise_);
  if (r.worst_sample >= 0 && !r.other_shape) {
    r.worst_index.assign(worst_dims_.size(), 0);
    int64_t rest = worst_at_;
    for (size_t d = worst_dims_.size(); d-- > 0;) {
      r.worst_index[d] = rest % std::max<int64_t>(worst_dims_[d], 1);
      rest /= std::max<int64_t>(worst_dims_[d], 1);
    }
  }
  r.why = Beyond(tolerance);
  // What one model differs from itself says nothing about two.
  const bool noise =
      r.noise_db && std::isfinite(*r.noise_db) && not_numbers_ == 0 && r.sqnr_db >= *r.noise_db;
  if (!r.why.empty() && noise) {
    r.verdict = Verdict::kInconclusive;
    r.why = fmt::format("no more than the first model differs from itself, optimised ({:.1f} dB)",
                        *r.noise_db);
  } else if (!r.why.empty() && IsChoice(tolerance)) {
    r.verdict = Verdict::kInconclusive;
    r.why = fmt::format("{} of {} integers differ, which approximations may have chosen", r.unequal,
                        r.elements);
  } else if (!r.why.empty() && IsTiny(tolerance)) {
    r.verdict = Verdict::kInconclusive;
    r.why = fmt::format("its numbers are {:.1e} at most, which Sigmoid and Softmax do not resolve",
                        std::max(std::fabs(least_), std::fabs(most_)));
  } else if (!r.why.empty()) {
    r.verdict = Verdict::kDiverged;
  } else if (r.why = Vacuous(); !r.why.empty()) {
    r.verdict = Verdict::kInconclusive;
  } else {
    r.verdict = r.unequal == 0 ? Verdict::kExact : Verdict::kWithin;
  }
  return r;
}

}  // namespace qrewrite
