// The float kinds of 16 bit and less: one table and one algorithm for all of them.
#include <array>
#include <bit>
#include <cmath>
#include <limits>

#include "engine/tensor/tensor.h"

namespace qrewrite {
namespace {

enum class Specials {
  kIeee,       // the top exponent holds infinity and NaN
  kOnlyNaN,    // all ones is NaN, no infinity
  kUnsigned0,  // "fnuz": the pattern of -0 is NaN, no infinity
  kNone,       // every pattern is a number
};

struct Format {
  int exponent_bits;
  int mantissa_bits;
  int bias;
  Specials specials;

  int bits() const { return 1 + exponent_bits + mantissa_bits; }
  uint32_t sign_mask() const { return 1u << (bits() - 1); }
  uint32_t max_finite() const {
    const uint32_t all = sign_mask() - 1;
    if (specials == Specials::kIeee) return all - (1u << mantissa_bits);
    return specials == Specials::kOnlyNaN ? all - 1 : all;
  }
  uint32_t infinity() const { return max_finite() + 1; }  // kIeee only
};

const Format& FormatOf(DType dtype) {
  static constexpr Format kHalf{5, 10, 15, Specials::kIeee};
  static constexpr Format kBrain{8, 7, 127, Specials::kIeee};
  static constexpr Format kE4M3FN{4, 3, 7, Specials::kOnlyNaN};
  static constexpr Format kE4M3FNUZ{4, 3, 8, Specials::kUnsigned0};
  static constexpr Format kE5M2{5, 2, 15, Specials::kIeee};
  static constexpr Format kE5M2FNUZ{5, 2, 16, Specials::kUnsigned0};
  static constexpr Format kE2M1{2, 1, 1, Specials::kNone};
  static constexpr Format kE2M3{2, 3, 1, Specials::kNone};
  static constexpr Format kE3M2{3, 2, 3, Specials::kNone};
  switch (dtype) {
    case DType::kFloat16: return kHalf;
    case DType::kBfloat16: return kBrain;
    case DType::kFloat8E4M3FN: return kE4M3FN;
    case DType::kFloat8E4M3FNUZ: return kE4M3FNUZ;
    case DType::kFloat8E5M2: return kE5M2;
    case DType::kFloat8E5M2FNUZ: return kE5M2FNUZ;
    case DType::kFloat4E2M1: return kE2M1;
    case DType::kFloat6E2M3: return kE2M3;
    case DType::kFloat6E3M2: return kE3M2;
    default: CheckFailed(__FILE__, __LINE__, "a narrow float type", Info(dtype).name);
  }
}

bool IsNaN(const Format& f, uint32_t bits) {
  const uint32_t magnitude = bits & (f.sign_mask() - 1);
  switch (f.specials) {
    case Specials::kIeee: return magnitude > f.infinity();
    case Specials::kOnlyNaN: return magnitude == f.sign_mask() - 1;
    case Specials::kUnsigned0: return bits == f.sign_mask();
    case Specials::kNone: return false;
  }
  return false;
}

uint32_t EncodeNaN(const Format& f, uint32_t sign) {
  switch (f.specials) {
    case Specials::kIeee:  // quiet: float16 and bfloat16 set the top mantissa bit, float8 all
      return sign | f.infinity() |
             (f.bits() == 16 ? 1u << (f.mantissa_bits - 1) : (1u << f.mantissa_bits) - 1);
    case Specials::kOnlyNaN: return sign | (f.sign_mask() - 1);
    case Specials::kUnsigned0:
    case Specials::kNone: return f.sign_mask();  // there is none: -0, as ml_dtypes has it
  }
  return 0;
}

uint32_t EncodeOverflow(const Format& f, uint32_t sign, bool saturate) {
  if (f.specials == Specials::kNone) return sign | f.max_finite();
  if (f.bits() == 8 && saturate) return sign | f.max_finite();
  return f.specials == Specials::kIeee ? sign | f.infinity() : EncodeNaN(f, sign);
}

// The magnitude in units of the last place, rounded half to even; it carries into the exponent by
// itself. `a` is finite and not negative.
uint64_t EncodeMagnitude(const Format& f, double a) {
  if (a == 0) return 0;
  const int exponent = static_cast<int>(std::bit_cast<uint64_t>(a) >> 52) - 1023;
  const int lowest = 1 - f.bias;
  const int used = exponent < lowest ? lowest : exponent;
  // A power of two well inside the range of double; below 2^52 adding it rounds half to even.
  const double scale =
      std::bit_cast<double>(static_cast<uint64_t>(1023 + f.mantissa_bits - used) << 52);
  const auto units = static_cast<uint64_t>((a * scale + 0x1p52) - 0x1p52);
  const auto steps = static_cast<uint64_t>(used - lowest);
  return units + (steps << f.mantissa_bits);
}

// An exponent alone, no sign: nearest power of two, ties up.
uint32_t EncodeE8M0(double value, bool saturate) {
  constexpr uint32_t kNaN = 0xff;
  if (std::isnan(value) || value < 0) return kNaN;
  if (value == 0) return saturate ? 0 : kNaN;
  int exponent = 0;
  if (std::isinf(value)) return saturate ? 0xfe : kNaN;
  const double mantissa = std::frexp(value, &exponent);  // in [0.5, 1)
  const int code = exponent - 1 + (mantissa >= 0.75 ? 1 : 0) + 127;
  if (code < 0) return saturate ? 0 : kNaN;
  if (code > 0xfe) return saturate ? 0xfe : kNaN;
  return static_cast<uint32_t>(code);
}

}  // namespace

float DecodeFloat(DType dtype, uint32_t bits) {
  if (dtype == DType::kBfloat16) return std::bit_cast<float>(bits << 16);
  if (dtype == DType::kFloat8E8M0) {
    return bits == 0xff ? std::numeric_limits<float>::quiet_NaN()
                        : std::ldexp(1.0f, static_cast<int>(bits) - 127);
  }
  const Format& f = FormatOf(dtype);
  const bool negative = (bits & f.sign_mask()) != 0;
  if (IsNaN(f, bits)) {
    return std::copysign(std::numeric_limits<float>::quiet_NaN(), negative ? -1.0f : 1.0f);
  }
  const uint32_t magnitude = bits & (f.sign_mask() - 1);
  const uint32_t exponent = magnitude >> f.mantissa_bits;
  const uint32_t fraction = magnitude & ((1u << f.mantissa_bits) - 1);
  float value = 0;
  if (f.specials == Specials::kIeee && magnitude == f.infinity()) {
    value = std::numeric_limits<float>::infinity();
  } else if (exponent == 0) {
    value = std::ldexp(static_cast<float>(fraction), 1 - f.bias - f.mantissa_bits);
  } else {
    value = std::ldexp(static_cast<float>(fraction | (1u << f.mantissa_bits)),
                       static_cast<int>(exponent) - f.bias - f.mantissa_bits);
  }
  return negative ? -value : value;
}

uint32_t EncodeFloat(DType dtype, double value, bool saturate) {
  if (dtype == DType::kFloat8E8M0) return EncodeE8M0(value, saturate);
  const Format& f = FormatOf(dtype);
  const uint32_t sign = std::signbit(value) ? f.sign_mask() : 0;
  if (std::isnan(value)) return EncodeNaN(f, sign);
  if (std::isinf(value)) return EncodeOverflow(f, sign, saturate);
  const uint64_t magnitude = EncodeMagnitude(f, std::fabs(value));
  if (magnitude > f.max_finite()) return EncodeOverflow(f, sign, saturate);
  if (magnitude == 0 && f.specials == Specials::kUnsigned0) return 0;
  return sign | static_cast<uint32_t>(magnitude);
}

}  // namespace qrewrite
