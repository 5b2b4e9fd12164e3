#include "engine/verify/interface_units.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

namespace qrewrite {
namespace {

// Calls `each` with the index of an element and its scale and zero point.
template <class Each>
Status ForEach(const Dims& dims, const Unit& unit, Each each) {
  const size_t places = std::max(unit.scale.size(), unit.zero_point.size());
  const auto fits = [&](const std::vector<double>& list) {
    return list.size() == 1 ||
           (list.size() == places && dims.size() > 1 && dims[1] == static_cast<int64_t>(places));
  };
  if (!fits(unit.scale) || !fits(unit.zero_point)) {
    return {StatusCode::kUsage,
            fmt::format("a unit of {} scales and {} zero points for [{}]", unit.scale.size(),
                        unit.zero_point.size(), fmt::join(dims, ", "))};
  }
  size_t count = 1, inner = 1;
  for (size_t d = 0; d < dims.size(); ++d) {
    count *= static_cast<size_t>(dims[d]);
    if (d > 1) inner *= static_cast<size_t>(dims[d]);
  }
  for (size_t i = 0; i < count; ++i) {
    const size_t place = places == 1 ? 0 : i / inner % places;
    each(i, unit.scale[unit.scale.size() == 1 ? 0 : place],
         unit.zero_point[unit.zero_point.size() == 1 ? 0 : place]);
  }
  return {};
}

}  // namespace

Result<Tensor> ToIntegers(const Tensor& numbers, const Unit& unit, DType dtype) {
  const double lo = std::max(unit.lo, static_cast<double>(IntMin(dtype)));
  const double hi = std::min(unit.hi, static_cast<double>(IntMax(dtype)));
  const bool single = numbers.dtype() == DType::kFloat;
  QR_ASSIGN_OR_RETURN(std::vector<double> values, ToDoubles(numbers));
  QR_RETURN_IF_ERROR(ForEach(numbers.dims(), unit, [&](size_t i, double scale, double zero_point) {
    // Runtimes divide floats as floats: half-way between two integers a bit decides.
    const double quotient =
        single ? static_cast<float>(values[i]) / static_cast<float>(scale) : values[i] / scale;
    const double q = std::nearbyint(quotient) + zero_point;
    values[i] = std::isnan(q) ? std::clamp(zero_point, lo, hi) : std::clamp(q, lo, hi);
  }));
  return FromDoubles(dtype, numbers.dims(), values);
}

Result<Tensor> FromIntegers(const Tensor& integers, const Unit& unit) {
  QR_ASSIGN_OR_RETURN(std::vector<double> values, ToDoubles(integers));
  QR_RETURN_IF_ERROR(ForEach(integers.dims(), unit, [&](size_t i, double scale, double zero_point) {
    values[i] = (values[i] - zero_point) * scale;
  }));
  return FromDoubles(DType::kDouble, integers.dims(), values);
}

std::string Text(const Unit& unit) {
  const auto text = [](const std::vector<double>& list) {
    return list.size() == 1 ? fmt::format("{:.7g}", list.front())
                            : fmt::format("{:.7g} .. {:.7g}", list.front(), list.back());
  };
  return fmt::format("steps of {} from {}", text(unit.scale), text(unit.zero_point));
}

}  // namespace qrewrite
