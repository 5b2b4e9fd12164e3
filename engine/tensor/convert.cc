// Tensors to host numbers and back.
#include <algorithm>
#include <array>
#include <cmath>

#include <fmt/format.h>

#include "engine/tensor/buffer.h"

namespace qrewrite {
namespace {

Status NotNumeric(DType dtype) {
  return Status(StatusCode::kUnsupported,
                fmt::format("{} is not a numeric type", Info(dtype).name));
}

// A byte for each element of a type below 16 bits, raw patterns.
std::vector<uint8_t> Patterns(const Tensor& t) {
  std::vector<uint8_t> out(static_cast<size_t>(t.size()));
  const int bits = Info(t.dtype()).bits;
  if (bits < 8) {
    UnpackBits(t.bytes(), bits, out);
  } else if (!out.empty()) {
    std::memcpy(out.data(), t.bytes().data(), out.size());
  }
  return out;
}

template <class Out, class In>
std::vector<Out> Widen(const Tensor& t) {
  const std::span<const In> in = t.as<In>();
  return std::vector<Out>(in.begin(), in.end());
}

// Values of all patterns of a type of at most 8 bits.
template <class Out>
std::array<Out, 256> PatternTable(DType dtype) {
  std::array<Out, 256> table{};
  const DTypeInfo& info = Info(dtype);
  for (uint32_t i = 0; i < (1u << info.bits); ++i) {
    if (info.kind == DTypeKind::kFloat) {
      table[i] = static_cast<Out>(DecodeFloat(dtype, i));
    } else if (info.kind == DTypeKind::kInt) {
      const int shift = 32 - info.bits;
      table[i] = static_cast<Out>(static_cast<int32_t>(i << shift) >> shift);
    } else if (info.kind == DTypeKind::kBool) {
      table[i] = static_cast<Out>(i != 0);
    } else {
      table[i] = static_cast<Out>(i);
    }
  }
  return table;
}

template <class Out>
std::vector<Out> DecodeNarrow(const Tensor& t) {
  const auto table = PatternTable<Out>(t.dtype());
  const std::vector<uint8_t> patterns = Patterns(t);
  std::vector<Out> out(patterns.size());
  for (size_t i = 0; i < out.size(); ++i) out[i] = table[patterns[i]];
  return out;
}

// Common to both directions of decoding: the integer types.
template <class Out>
std::vector<Out> DecodeInteger(const Tensor& t) {
  switch (t.dtype()) {
    case DType::kUint8: return Widen<Out, uint8_t>(t);
    case DType::kInt8: return Widen<Out, int8_t>(t);
    case DType::kUint16: return Widen<Out, uint16_t>(t);
    case DType::kInt16: return Widen<Out, int16_t>(t);
    case DType::kUint32: return Widen<Out, uint32_t>(t);
    case DType::kInt32: return Widen<Out, int32_t>(t);
    case DType::kUint64: return Widen<Out, uint64_t>(t);
    case DType::kInt64: return Widen<Out, int64_t>(t);
    default: return DecodeNarrow<Out>(t);
  }
}

Status DoesNotFit(const auto& value, DType dtype) {
  return Status(StatusCode::kUnsupported,
                fmt::format("{} is not a value of type {}", value, Info(dtype).name));
}

// Writes integers that were checked to fit.
template <class T>
void Store(TensorBuffer& buffer, std::span<const int64_t> values) {
  const std::span<T> out = buffer.as<T>();
  for (size_t i = 0; i < values.size(); ++i) out[i] = static_cast<T>(values[i]);
}

void StorePatterns(TensorBuffer& buffer, std::span<const uint8_t> patterns) {
  const int bits = Info(buffer.dtype()).bits;
  if (bits < 8) {
    PackBits(patterns, bits, buffer.bytes());
  } else if (!patterns.empty()) {
    std::memcpy(buffer.bytes().data(), patterns.data(), patterns.size());
  }
}

void StoreIntegers(TensorBuffer& buffer, std::span<const int64_t> values) {
  switch (Info(buffer.dtype()).bits) {
    case 64: return Store<int64_t>(buffer, values);
    case 32: return Store<int32_t>(buffer, values);
    case 16: return Store<int16_t>(buffer, values);
    case 8: return Store<int8_t>(buffer, values);
    default: break;
  }
  const int mask = (1 << Info(buffer.dtype()).bits) - 1;
  std::vector<uint8_t> patterns(values.size());
  for (size_t i = 0; i < values.size(); ++i) patterns[i] = static_cast<uint8_t>(values[i] & mask);
  StorePatterns(buffer, patterns);
}

void StoreFloats(TensorBuffer& buffer, std::span<const double> values) {
  const DType dtype = buffer.dtype();
  const int bits = Info(dtype).bits;
  if (bits == 64) {
    std::ranges::copy(values, buffer.as<double>().begin());
  } else if (bits == 32) {
    const std::span<float> out = buffer.as<float>();
    for (size_t i = 0; i < values.size(); ++i) out[i] = static_cast<float>(values[i]);
  } else if (bits == 16) {
    const std::span<uint16_t> out = buffer.as<uint16_t>();
    for (size_t i = 0; i < values.size(); ++i) {
      out[i] = static_cast<uint16_t>(EncodeFloat(dtype, values[i]));
    }
  } else {
    std::vector<uint8_t> patterns(values.size());
    for (size_t i = 0; i < values.size(); ++i) {
      patterns[i] = static_cast<uint8_t>(EncodeFloat(dtype, values[i], /*saturate=*/false));
    }
    StorePatterns(buffer, patterns);
  }
}

}  // namespace

void UnpackBits(std::span<const std::byte> packed, int bits, std::span<uint8_t> out) {
  const auto* in = reinterpret_cast<const uint8_t*>(packed.data());
  if (bits == 4) {
    const size_t pairs = out.size() / 2;
    for (size_t i = 0; i < pairs; ++i) {
      out[2 * i] = in[i] & 0xf;
      out[2 * i + 1] = in[i] >> 4;
    }
    if (out.size() % 2 != 0) out.back() = in[pairs] & 0xf;
    return;
  }
  const uint32_t mask = (1u << bits) - 1;
  for (size_t i = 0; i < out.size(); ++i) {
    const size_t at = i * static_cast<size_t>(bits);
    uint32_t window = in[at / 8];
    if (at % 8 + static_cast<size_t>(bits) > 8)
      window |= static_cast<uint32_t>(in[at / 8 + 1]) << 8;
    out[i] = static_cast<uint8_t>((window >> (at % 8)) & mask);
  }
}

void PackBits(std::span<const uint8_t> values, int bits, std::span<std::byte> out) {
  std::ranges::fill(out, std::byte{0});
  for (size_t i = 0; i < values.size(); ++i) {
    const size_t at = i * static_cast<size_t>(bits);
    const uint32_t window = static_cast<uint32_t>(values[i]) << (at % 8);
    out[at / 8] |= static_cast<std::byte>(window);
    if (window > 0xff) out[at / 8 + 1] |= static_cast<std::byte>(window >> 8);
  }
}

Result<std::vector<double>> ToDoubles(const Tensor& tensor) {
  QR_ASSIGN_OR_RETURN(const Tensor t, tensor.Materialize());
  switch (Info(t.dtype()).kind) {
    case DTypeKind::kNone:
    case DTypeKind::kString:
    case DTypeKind::kComplex: return NotNumeric(t.dtype());
    default: break;
  }
  switch (t.dtype()) {
    case DType::kFloat: return Widen<double, float>(t);
    case DType::kDouble: return Widen<double, double>(t);
    case DType::kFloat16:
    case DType::kBfloat16: {
      const std::span<const uint16_t> in = t.as<uint16_t>();
      std::vector<double> out(in.size());
      for (size_t i = 0; i < in.size(); ++i) out[i] = DecodeFloat(t.dtype(), in[i]);
      return out;
    }
    default: return DecodeInteger<double>(t);
  }
}

Result<std::vector<int64_t>> ToInt64s(const Tensor& tensor) {
  QR_ASSIGN_OR_RETURN(const Tensor t, tensor.Materialize());
  if (!IsInteger(t.dtype()) && t.dtype() != DType::kBool) {
    return Status(StatusCode::kUnsupported,
                  fmt::format("{} is not an integer type", Info(t.dtype()).name));
  }
  std::vector<int64_t> out = DecodeInteger<int64_t>(t);
  if (t.dtype() == DType::kUint64) {
    for (const int64_t v : out) {
      if (v < 0) {
        return Status(StatusCode::kUnsupported,
                      fmt::format("{} is beyond the range of INT64", static_cast<uint64_t>(v)));
      }
    }
  }
  return out;
}

Result<Tensor> FromInt64s(DType dtype, Dims dims, std::span<const int64_t> values) {
  QR_CHECK(Count(dims) == static_cast<int64_t>(values.size()));
  if (IsFloat(dtype)) {
    const std::vector<double> doubles(values.begin(), values.end());
    return FromDoubles(dtype, std::move(dims), doubles);
  }
  const bool is_bool = dtype == DType::kBool;
  if (!is_bool && !IsInteger(dtype)) return NotNumeric(dtype);
  const int64_t lo = is_bool ? 0 : IntMin(dtype);
  const int64_t hi = is_bool ? 1 : IntMax(dtype);
  for (const int64_t v : values) {
    if (v < lo || v > hi) return DoesNotFit(v, dtype);
  }
  QR_ASSIGN_OR_RETURN(TensorBuffer buffer, TensorBuffer::Make(dtype, std::move(dims)));
  StoreIntegers(buffer, values);
  return std::move(buffer).Finish();
}

Result<Tensor> FromDoubles(DType dtype, Dims dims, std::span<const double> values) {
  QR_CHECK(Count(dims) == static_cast<int64_t>(values.size()));
  if (IsFloat(dtype)) {
    QR_ASSIGN_OR_RETURN(TensorBuffer buffer, TensorBuffer::Make(dtype, std::move(dims)));
    StoreFloats(buffer, values);
    return std::move(buffer).Finish();
  }
  std::vector<int64_t> integers(values.size());
  for (size_t i = 0; i < values.size(); ++i) {
    const double v = values[i];
    // Written so that NaN fails; the upper end of uint64 has no int64 and fails as well.
    if (!(v >= -0x1p63 && v < 0x1p63) || v != std::nearbyint(v)) return DoesNotFit(v, dtype);
    integers[i] = static_cast<int64_t>(v);
  }
  return FromInt64s(dtype, std::move(dims), integers);
}

}  // namespace qrewrite
