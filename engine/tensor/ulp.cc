#include "engine/tensor/ulp.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>

#include "engine/tensor/tensor.h"

namespace qrewrite {
namespace {

// The patterns of a float type in the order of their numbers, both zeros at 0.
template <class Pattern>
int64_t Ordered(Pattern pattern) {
  constexpr Pattern kSign = Pattern{1} << (8 * sizeof(Pattern) - 1);
  const auto magnitude = static_cast<int64_t>(pattern & static_cast<Pattern>(kSign - 1));
  return (pattern & kSign) != 0 ? -magnitude : magnitude;
}

double Between(int64_t a, int64_t b) {
  const uint64_t low = static_cast<uint64_t>(std::min(a, b)),
                 high = static_cast<uint64_t>(std::max(a, b));
  return static_cast<double>(high - low);
}

}  // namespace

double UlpDistance(DType dtype, double a, double b) {
  if (std::isnan(a) || std::isnan(b)) return std::nan("");
  switch (dtype) {
    case DType::kDouble:
      return Between(Ordered(std::bit_cast<uint64_t>(a)), Ordered(std::bit_cast<uint64_t>(b)));
    case DType::kFloat:
      return Between(Ordered(std::bit_cast<uint32_t>(static_cast<float>(a))),
                     Ordered(std::bit_cast<uint32_t>(static_cast<float>(b))));
    case DType::kFloat16:
    case DType::kBfloat16:
      return Between(Ordered(static_cast<uint16_t>(EncodeFloat(dtype, a))),
                     Ordered(static_cast<uint16_t>(EncodeFloat(dtype, b))));
    case DType::kFloat8E4M3FN:
    case DType::kFloat8E4M3FNUZ:
    case DType::kFloat8E5M2:
    case DType::kFloat8E5M2FNUZ:
      return Between(Ordered(static_cast<uint8_t>(EncodeFloat(dtype, a))),
                     Ordered(static_cast<uint8_t>(EncodeFloat(dtype, b))));
    default: return std::nan("");
  }
}

}  // namespace qrewrite
