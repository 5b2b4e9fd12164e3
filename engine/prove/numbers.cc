#include "engine/prove/numbers.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>

namespace qrewrite {
namespace {

constexpr int64_t kMostElements = 1 << 16;

// A number of the type that shows something.
double Notable(DType dtype, Dice& dice) {
  if (dtype == DType::kBool) return static_cast<double>(dice.Integer(0, 1));
  if (IsInteger(dtype)) {
    const auto low = static_cast<double>(IntMin(dtype)), high = static_cast<double>(IntMax(dtype));
    const double of_any[] = {0, 1, -1, 2, 3, 127, 128, -128, 255};
    const double ends[] = {low, high, low + 1, high - 1};
    const bool wide = Info(dtype).bits >= 32;  // a size, an index: ends are far from anything
    if (wide && !dice.Once(4)) return static_cast<double>(dice.Integer(-3, 4));
    return dice.Once(wide ? 20 : 2) ? ends[dice.Below(4)] : of_any[dice.Below(std::size(of_any))];
  }
  const double floats[] = {0, -0.0, 1,       -1,   0.5, 2,   3,     -2,   0.25,     0.1,
                           6, 1e-3, 1.0 / 3, 1e-8, 1e6, 255, 127.5, -0.5, 1.0000001};
  return floats[dice.Below(std::size(floats))];
}

}  // namespace

std::optional<Numbers> Numbers::Of(const Tensor& tensor) {
  if (tensor.size() > kMostElements) return std::nullopt;
  Result<std::vector<double>> values = ToDoubles(tensor);
  if (!values.ok()) return std::nullopt;
  return Numbers{tensor.dtype(), tensor.dims(), *std::move(values)};
}

Tensor Numbers::ToTensor() const {
  if (dtype == DType::kBool) {
    std::vector<uint8_t> truths;
    for (const double v : values) truths.push_back(v != 0);
    return Tensor::Of<uint8_t>(dtype, dims, truths);
  }
  if (IsInteger(dtype)) {
    std::vector<int64_t> whole;
    const auto low = static_cast<double>(IntMin(dtype)), high = static_cast<double>(IntMax(dtype));
    for (const double v : values) {
      const double at = std::isnan(v) ? 0 : std::clamp(std::rint(v), low, high);
      whole.push_back(at >= 0x1p63 ? INT64_MAX : static_cast<int64_t>(at));
    }
    const Result<Tensor> made = FromInt64s(dtype, dims, whole);
    return made.ok() ? *made : Tensor();
  }
  if (!IsFloat(dtype)) return {};
  const Result<Tensor> made = FromDoubles(dtype, dims, values);
  return made.ok() ? *made : Tensor();
}

bool Numbers::AreWhole() const {
  return std::ranges::all_of(values, [](double v) { return v == std::trunc(v); });
}

void Numbers::MakeWhole() {
  for (double& v : values) v = std::rint(v);
}

bool Numbers::Disturb(Dice& dice) {
  if (values.empty()) return false;
  const size_t at = dice.Below(values.size());
  switch (dice.Integer(0, 6)) {
    case 0:
    case 1: std::fill(values.begin(), values.end(), Notable(dtype, dice)); break;
    case 2: values[at] = Notable(dtype, dice); break;
    case 3:
      values[at] = IsFloat(dtype) ? values[at] * (dice.Once(2) ? 1 + 1e-6 : 1.25)
                                  : values[at] + (dice.Once(2) ? 1 : -1);
      break;
    case 4: std::reverse(values.begin(), values.end()); break;
    case 5:
      for (double& v : values) v = IsFloat(dtype) ? dice.Normal() : Notable(dtype, dice);
      break;
    default:
      for (double& v : values) v = -v;
  }
  return true;
}

// What is no axis or size is a sum of products, a bias: as large as a thousand of them.
bool Numbers::Grow(Dice& dice) {
  constexpr double kLargestAxis = 4, kLargestSum = 0x1p24;
  const bool small =
      std::ranges::all_of(values, [](double v) { return std::fabs(v) <= kLargestAxis; });
  if (small && dice.Once(2)) return false;
  for (double& v : values)
    v = std::clamp(std::rint(v * std::exp2(dice.Uniform(0, 10))), -kLargestSum, kLargestSum);
  return true;
}

bool Numbers::Shake(uint64_t base, bool keep_whole) {
  const bool is_float = IsFloat(dtype);
  if (values.empty() || dtype == DType::kBool) return false;
  if (!is_float && Info(dtype).bits >= 32 && dtype != DType::kInt32) return false;
  Dice dice(HashBytes(std::as_bytes(std::span(values)), base + static_cast<uint64_t>(dtype)));
  if (dtype == DType::kInt32) return Grow(dice);
  const double low = is_float ? 0 : static_cast<double>(IntMin(dtype));
  const double high = is_float ? 0 : static_cast<double>(IntMax(dtype));
  const bool all_zero = std::ranges::all_of(values, [](double v) { return v == 0; });
  if (all_zero && (is_float || dice.Once(2))) return false;
  const bool whole = is_float && AreWhole() && (keep_whole || dice.Once(2));
  const bool narrow = dice.Once(2);  // products of few small numbers do not saturate
  for (double& v : values) {
    if (is_float && whole)
      v = v == 0 ? 0
                 : std::copysign(std::max(1.0, std::rint(std::fabs(v) * dice.Uniform(0.5, 3))), v);
    else if (is_float)
      v *= std::exp2(dice.Uniform(-1, 1));
    else
      v = static_cast<double>(
          dice.Integer(static_cast<int64_t>(narrow ? std::max(low, -9.0) : low),
                       static_cast<int64_t>(narrow ? std::min(high, 9.0) : high)));
  }
  return true;
}

void Numbers::Resize(const Dims& to, Dice& dice, bool may_grow) {
  const auto count = static_cast<size_t>(CheckedCount(to, kMostElements).value_or(0));
  const std::vector<double> before = std::exchange(values, {});
  const bool spread = before.size() == 1 && count > 1 && !dice.Once(3) && may_grow;
  dims = to;
  if (count == 0) dims = CheckedCount(to, kMostElements) ? to : Dims{0};
  for (size_t i = 0; i < count; ++i) {
    double value = before.empty() ? 1 : before[i % before.size()];
    if (spread)
      value = IsFloat(dtype) ? value * (1 + 0.5 * static_cast<double>(i))
                             : value + static_cast<double>(i);
    values.push_back(value);
  }
}

std::vector<DType> SimilarTypes(DType dtype) {
  using enum DType;
  switch (dtype) {
    case kFloat: return {kFloat16, kFloat16, kDouble, kBfloat16};
    case kFloat16:
    case kDouble:
    case kBfloat16: return {kFloat, kFloat16, kDouble};
    case kUint8: return {kInt8, kInt8, kUint16, kUint4, kInt32};
    case kInt8: return {kUint8, kUint8, kInt16, kInt4, kInt32};
    case kUint16:
    case kInt16:
    case kUint4:
    case kInt4: return {kInt8, kUint8, kInt16, kUint16, kInt4, kUint4};
    case kInt64: return {kInt32, kInt32, kFloat};
    case kInt32: return {kInt64, kInt8, kFloat, kUint8};
    default: return {dtype};
  }
}

DType SimilarType(DType dtype, Dice& dice) { return dice.Of(SimilarTypes(dtype)); }

double LargestFinite(DType dtype) {
  if (dtype == DType::kFloat16) return 65504;
  return dtype == DType::kFloat ? std::numeric_limits<float>::max() : 0;
}

bool EndsBeyond(DType dtype, double step) {
  constexpr double kSteps = 512;
  return std::fabs(step) * kSteps > LargestFinite(dtype) && LargestFinite(dtype) > 0;
}

}  // namespace qrewrite
