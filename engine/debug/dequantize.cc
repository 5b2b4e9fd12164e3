#include "engine/debug/dequantize.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

namespace qrewrite {
namespace {

// Which scale an element has.
class Places {
 public:
  static Result<Places> Make(const Dims& q, const Dims& scale, int64_t count, int64_t axis,
                             int64_t block) {
    Places places;
    places.one_ = count == 1;
    if (places.one_) return places;
    const auto rank = static_cast<int64_t>(q.size());
    if (axis < 0) axis += rank;
    if (rank == 1) axis = 0;
    if (axis < 0 || axis >= rank)
      return Status(StatusCode::kUnsupported, "an axis that is not there");
    places.extent_ = q[static_cast<size_t>(axis)];
    for (size_t i = static_cast<size_t>(axis) + 1; i < q.size(); ++i) places.inner_ *= q[i];
    if (block > 0 && scale.size() == q.size()) {
      places.block_ = block;
      places.blocks_ = scale[static_cast<size_t>(axis)];
      places.blocked_ = true;
      if (places.blocks_ * block < places.extent_) count = -1;
    }
    const int64_t elements = Count(q);
    const int64_t wanted = places.blocked_
                               ? elements / std::max<int64_t>(places.extent_, 1) * places.blocks_
                               : places.extent_;
    if (count == wanted) return places;
    return Status(StatusCode::kUnsupported, "scales that do not fit the shape");
  }

  size_t operator()(int64_t i) const {
    if (one_) return 0;  // one scale: divisions would be most of the work
    if (!blocked_) return static_cast<size_t>(i / inner_ % extent_);
    const int64_t outer = i / (inner_ * extent_);
    const int64_t at = i / inner_ % extent_ / block_;
    return static_cast<size_t>((outer * blocks_ + at) * inner_ + i % inner_);
  }

 private:
  int64_t extent_ = 1, inner_ = 1, block_ = 1, blocks_ = 1;
  bool blocked_ = false, one_ = false;
};

// A difference as the type of the integers has it.
double Wrapped(double difference, DType dtype) {
  const double period = std::ldexp(1.0, Info(dtype).bits);
  const auto lo = static_cast<double>(IntMin(dtype));
  return difference - std::floor((difference - lo) / period) * period;
}

double RoundedTo(DType dtype, double value) {
  if (dtype == DType::kFloat) return static_cast<float>(value);
  if (dtype == DType::kDouble || !IsFloat(dtype)) return value;
  return DecodeFloat(dtype, EncodeFloat(dtype, value, false));
}

// The numbers of a scheme, a zero point for each scale.
struct Parameters {
  std::vector<double> scales, zeros;
  Places places;

  static Result<Parameters> Make(const Tensor& q, const Scheme& scheme) {
    Parameters p;
    QR_ASSIGN_OR_RETURN(p.scales, ToDoubles(scheme.scale));
    p.zeros.assign(1, 0.0);
    if (scheme.zero_point.valid()) {
      QR_ASSIGN_OR_RETURN(p.zeros, ToDoubles(scheme.zero_point));
    }
    if (p.zeros.size() == 1) p.zeros.resize(p.scales.size(), p.zeros[0]);
    if (p.zeros.size() != p.scales.size()) {
      return Status(StatusCode::kUnsupported, "not as many zero points as scales");
    }
    QR_ASSIGN_OR_RETURN(
        p.places, Places::Make(q.dims(), scheme.scale.dims(), static_cast<int64_t>(p.scales.size()),
                               scheme.axis, scheme.block));
    return p;
  }
};

}  // namespace

Result<std::vector<double>> Dequantize(const Tensor& q, const Scheme& scheme,
                                       const DequantizeOptions& options) {
  QR_ASSIGN_OR_RETURN(const Parameters p, Parameters::Make(q, scheme));
  QR_ASSIGN_OR_RETURN(std::vector<double> values, ToDoubles(q));
  const bool wrap = options.wrap && IsInteger(q.dtype());
  for (size_t i = 0; i < values.size(); ++i) {
    const size_t place = p.places(static_cast<int64_t>(i));
    double difference = values[i] - p.zeros[place];
    if (wrap) difference = Wrapped(difference, q.dtype());
    values[i] = difference * p.scales[place];
    if (options.round) values[i] = RoundedTo(scheme.scale.dtype(), values[i]);
  }
  return values;
}

Result<double> SaturatedPercent(const Tensor& q, const Scheme& scheme,
                                const std::vector<double>& real, double lo, double hi) {
  QR_ASSIGN_OR_RETURN(const Parameters p, Parameters::Make(q, scheme));
  size_t saturated = 0;
  for (size_t i = 0; i < real.size(); ++i) {
    const size_t place = p.places(static_cast<int64_t>(i));
    const double wanted = real[i] / p.scales[place] + p.zeros[place];
    saturated += wanted < lo - 0.5 || wanted > hi + 0.5;
  }
  return real.empty() ? 0.0
                      : 100.0 * static_cast<double>(saturated) / static_cast<double>(real.size());
}

}  // namespace qrewrite
