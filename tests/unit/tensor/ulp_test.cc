#include "engine/tensor/ulp.h"

#include <cmath>
#include <limits>

#include <doctest/doctest.h>

namespace qrewrite {

TEST_CASE("UlpDistance: numbers of the type, across zero too") {
  const double next = std::nextafter(1.0f, 2.0f);
  CHECK(UlpDistance(DType::kFloat, 1, next) == 1);
  CHECK(UlpDistance(DType::kFloat, next, 1) == 1);
  CHECK(UlpDistance(DType::kFloat, 0.0, -0.0) == 0);
  CHECK(UlpDistance(DType::kFloat, std::nextafter(0.0f, 1.0f), std::nextafter(0.0f, -1.0f)) == 2);
  CHECK(UlpDistance(DType::kDouble, 1, std::nextafter(1.0, 2.0)) == 1);
  CHECK(UlpDistance(DType::kDouble, 0, std::nextafter(0.0, -1.0)) == 1);
  CHECK(UlpDistance(DType::kFloat16, 1, 1 + 0x1p-10) == 1);
  CHECK(UlpDistance(DType::kFloat16, -0x1p-24, 0x1p-24) == 2);
  CHECK(UlpDistance(DType::kBfloat16, 1, 1 + 0x1p-7) == 1);
  CHECK(UlpDistance(DType::kFloat8E4M3FN, 1, 1.125) == 1);
  CHECK(UlpDistance(DType::kFloat8E5M2, -1, 1) == 2 * UlpDistance(DType::kFloat8E5M2, 0, 1));
}

TEST_CASE("UlpDistance: infinity is behind the largest number, NaN nowhere") {
  constexpr double kMost = std::numeric_limits<float>::max();
  CHECK(UlpDistance(DType::kFloat, kMost, std::numeric_limits<double>::infinity()) == 1);
  CHECK(std::isnan(UlpDistance(DType::kFloat, 1, std::nan(""))));
  CHECK(std::isnan(UlpDistance(DType::kInt32, 1, 2)));
}

}  // namespace qrewrite
