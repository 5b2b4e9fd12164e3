#include <cmath>
#include <limits>

#include <doctest/doctest.h>
#include <Eigen/Core>

#include "engine/tensor/tensor.h"

namespace qrewrite {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

struct Row {
  DType dtype;
  double value;
  uint32_t bits;
  bool saturate = true;
};

TEST_CASE("narrow floats: encoding, edges from the formats' tables") {
  const Row rows[] = {
      {DType::kFloat16, 1.0, 0x3c00},
      {DType::kFloat16, 65504, 0x7bff},
      {DType::kFloat16, 65520, 0x7c00},  // the tie rounds up to infinity
      {DType::kFloat16, 65519.99, 0x7bff},
      {DType::kFloat16, 0x1p-24, 0x0001},
      {DType::kFloat16, 0x1p-25, 0x0000},
      {DType::kFloat16, -0.0, 0x8000},
      {DType::kFloat16, 1 + 0x1p-11 + 0x1p-40, 0x3c01},  // would tie if it went through float
      {DType::kBfloat16, 1.0, 0x3f80},
      {DType::kBfloat16, 1e39, 0x7f80},
      {DType::kFloat8E4M3FN, 448, 0x7e},
      {DType::kFloat8E4M3FN, 1e9, 0x7e},
      {DType::kFloat8E4M3FN, 1e9, 0x7f, false},
      {DType::kFloat8E4M3FN, -kInf, 0xff, false},
      {DType::kFloat8E4M3FN, kNaN, 0x7f},
      {DType::kFloat8E4M3FNUZ, 240, 0x7f},
      {DType::kFloat8E4M3FNUZ, -0.0, 0x00},
      {DType::kFloat8E4M3FNUZ, kNaN, 0x80},
      {DType::kFloat8E5M2, 57344, 0x7b},
      {DType::kFloat8E5M2, kInf, 0x7b},
      {DType::kFloat8E5M2, kInf, 0x7c, false},
      {DType::kFloat8E5M2FNUZ, 57344, 0x7f},
      {DType::kFloat4E2M1, 5, 0x6},
      {DType::kFloat4E2M1, 1e9, 0x7},
      {DType::kFloat4E2M1, -0.25, 0x8},
      {DType::kFloat6E2M3, 7.5, 0x1f},
      {DType::kFloat6E3M2, 28, 0x1f},
      {DType::kFloat8E8M0, 1.0, 127},
      {DType::kFloat8E8M0, 1.5, 128},
      {DType::kFloat8E8M0, 0, 0},
      {DType::kFloat8E8M0, kInf, 0xfe},
      {DType::kFloat8E8M0, kInf, 0xff, false},
      {DType::kFloat8E8M0, -1, 0xff},
  };
  for (const Row& row : rows) {
    CAPTURE(Info(row.dtype).name);
    CAPTURE(row.value);
    CHECK(EncodeFloat(row.dtype, row.value, row.saturate) == row.bits);
  }
}

TEST_CASE("narrow floats: every pattern survives a round trip") {
  for (const DType dtype :
       {DType::kFloat16, DType::kBfloat16, DType::kFloat8E4M3FN, DType::kFloat8E4M3FNUZ,
        DType::kFloat8E5M2, DType::kFloat8E5M2FNUZ, DType::kFloat8E8M0, DType::kFloat4E2M1,
        DType::kFloat6E2M3, DType::kFloat6E3M2}) {
    CAPTURE(Info(dtype).name);
    for (uint32_t bits = 0; bits < (1u << Info(dtype).bits); ++bits) {
      const float value = DecodeFloat(dtype, bits);
      const uint32_t again = EncodeFloat(dtype, value, /*saturate=*/false);
      if (std::isnan(value)) {
        CHECK(std::isnan(DecodeFloat(dtype, again)));
      } else if (again != bits) {
        FAIL(bits);
      }
    }
  }
}

TEST_CASE("narrow floats: agree with Eigen") {
  for (uint32_t i = 0; i < 0x10000; i += 7) {
    const float value = DecodeFloat(DType::kBfloat16, i) * 1.0001f;
    if (std::isnan(value)) continue;
    const auto half = Eigen::numext::bit_cast<uint16_t>(Eigen::half(value));
    const auto brain = Eigen::numext::bit_cast<uint16_t>(Eigen::bfloat16(value));
    if (EncodeFloat(DType::kFloat16, value) != half) FAIL(value);
    if (EncodeFloat(DType::kBfloat16, value) != brain) FAIL(value);
  }
}

}  // namespace
}  // namespace qrewrite
