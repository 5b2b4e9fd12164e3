#include "engine/fold/chunks.h"

#include <bit>
#include <cmath>
#include <limits>
#include <string_view>

#include <Eigen/Core>

#include "engine/fold/types.h"

namespace qrewrite::fold {

bool IsNumeric(DType dtype) { return IsInteger(dtype) || IsFloat(dtype) || dtype == DType::kBool; }

namespace {

template <class To, class From>
void Convert(std::span<const From> in, int64_t begin, std::span<To> out) {
  const From* x = in.data() + begin;
  for (size_t i = 0; i < out.size(); ++i) out[i] = static_cast<To>(x[i]);
}

template <class To>
void ConvertHalf(const Tensor& t, int64_t begin, std::span<To> out) {
  const uint16_t* x = t.as<uint16_t>().data() + begin;
  if (t.dtype() == DType::kBfloat16) {
    for (size_t i = 0; i < out.size(); ++i) {
      out[i] = static_cast<To>(std::bit_cast<float>(static_cast<uint32_t>(x[i]) << 16));
    }
  } else {
    for (size_t i = 0; i < out.size(); ++i) {
      out[i] = static_cast<To>(static_cast<float>(Eigen::numext::bit_cast<Eigen::half>(x[i])));
    }
  }
}

// Value of a pattern of a type of at most 8 bits.
template <class To>
To PatternValue(DType dtype, uint32_t pattern) {
  const DTypeInfo& info = Info(dtype);
  if (info.kind == DTypeKind::kFloat) {
    return static_cast<To>(std::is_floating_point_v<To> ? DecodeFloat(dtype, pattern) : 0);
  }
  if (info.kind == DTypeKind::kBool) return static_cast<To>(pattern != 0);
  if (info.kind == DTypeKind::kUint) return static_cast<To>(pattern);
  const int shift = 32 - info.bits;
  return static_cast<To>(static_cast<int32_t>(pattern << shift) >> shift);
}

}  // namespace

template <class To>
ChunkReader<To>::ChunkReader(Tensor tensor) : tensor_(std::move(tensor)) {
  const DType dtype = tensor_.dtype();
  QR_CHECK(IsNumeric(dtype) && !tensor_.is_lazy());
  if (Info(dtype).bits > 8 || dtype == DType::kInt8 || dtype == DType::kUint8) return;
  table_.resize(size_t{1} << Info(dtype).bits);
  for (uint32_t i = 0; i < (1u << Info(dtype).bits); ++i) table_[i] = PatternValue<To>(dtype, i);
}

template <class To>
void ChunkReader<To>::Read(int64_t begin, std::span<To> out) const {
  switch (tensor_.dtype()) {
    case DType::kFloat: return Convert(tensor_.as<float>(), begin, out);
    case DType::kDouble: return Convert(tensor_.as<double>(), begin, out);
    case DType::kFloat16:
    case DType::kBfloat16: return ConvertHalf(tensor_, begin, out);
    case DType::kInt8: return Convert(tensor_.as<int8_t>(), begin, out);
    case DType::kUint8: return Convert(tensor_.as<uint8_t>(), begin, out);
    case DType::kInt16: return Convert(tensor_.as<int16_t>(), begin, out);
    case DType::kUint16: return Convert(tensor_.as<uint16_t>(), begin, out);
    case DType::kInt32: return Convert(tensor_.as<int32_t>(), begin, out);
    case DType::kUint32: return Convert(tensor_.as<uint32_t>(), begin, out);
    case DType::kInt64: return Convert(tensor_.as<int64_t>(), begin, out);
    case DType::kUint64: return Convert(tensor_.as<uint64_t>(), begin, out);
    default: break;
  }
  const int bits = Info(tensor_.dtype()).bits;
  const auto* bytes = reinterpret_cast<const uint8_t*>(tensor_.bytes().data());
  if (bits == 8) {
    for (size_t i = 0; i < out.size(); ++i) out[i] = table_[bytes[begin + static_cast<int64_t>(i)]];
    return;
  }
  std::array<uint8_t, kChunk> patterns;
  for (size_t done = 0; done < out.size(); done += kChunk) {
    const size_t n = std::min(out.size() - done, patterns.size());
    const int64_t at = begin + static_cast<int64_t>(done);
    UnpackBits(tensor_.bytes().subspan(static_cast<size_t>(at * bits / 8)), bits,
               std::span(patterns).first(n));
    for (size_t i = 0; i < n; ++i) out[done + i] = table_[patterns[i]];
  }
}

namespace {

template <class To, class From>
bool InRange(From value) {
  if constexpr (std::is_floating_point_v<From>) {
    // Powers of two, which every float type holds exactly; NaN fails.
    const From lo = static_cast<From>(std::numeric_limits<To>::min());
    const From hi = std::ldexp(From{1}, std::numeric_limits<To>::digits);
    const From whole = std::trunc(value);
    return whole >= lo && whole < hi;
  }
  return true;
}

template <class To, class From>
bool StoreIntegers(TensorBuffer& buffer, int64_t begin, std::span<const From> values) {
  To* out = buffer.as<To>().data() + begin;
  bool ok = true;
  for (size_t i = 0; i < values.size(); ++i) {
    const bool fits = InRange<To>(values[i]);
    ok = ok && fits;
    out[i] = fits ? static_cast<To>(values[i]) : To{0};
  }
  return ok;
}

uint32_t EncodeE8M0(float value, const WriteOptions& options) {
  const std::string_view mode = options.e8m0_rounding;
  const uint32_t nearest = EncodeFloat(DType::kFloat8E8M0, value, options.saturate);
  if (mode == "nearest" || !(value > 0) || std::isinf(value) || nearest == 0xff) return nearest;
  const float there = DecodeFloat(DType::kFloat8E8M0, nearest);
  if (mode == "up" && there < value) return nearest < 0xfe ? nearest + 1 : nearest;
  if (mode == "down" && there > value) return nearest > 0 ? nearest - 1 : nearest;
  return nearest;
}

}  // namespace

template <class From>
bool ChunkWriter<From>::Write(int64_t begin, std::span<const From> values) {
  switch (buffer_.dtype()) {
    case DType::kFloat: {
      float* out = buffer_.as<float>().data() + begin;
      for (size_t i = 0; i < values.size(); ++i) out[i] = static_cast<float>(values[i]);
      return true;
    }
    case DType::kDouble: {
      double* out = buffer_.as<double>().data() + begin;
      for (size_t i = 0; i < values.size(); ++i) out[i] = static_cast<double>(values[i]);
      return true;
    }
    case DType::kFloat16: {
      Eigen::half* out = buffer_.as<Eigen::half>().data() + begin;
      for (size_t i = 0; i < values.size(); ++i)
        out[i] = Eigen::half(static_cast<float>(values[i]));
      return true;
    }
    case DType::kBfloat16: {
      Eigen::bfloat16* out = buffer_.as<Eigen::bfloat16>().data() + begin;
      for (size_t i = 0; i < values.size(); ++i) {
        out[i] = Eigen::bfloat16(static_cast<float>(values[i]));
      }
      return true;
    }
    case DType::kBool: {
      uint8_t* out = buffer_.as<uint8_t>().data() + begin;
      for (size_t i = 0; i < values.size(); ++i) out[i] = values[i] != 0 ? 1 : 0;
      return true;
    }
    default: break;
  }
  if (IsInteger(buffer_.dtype())) return WriteInteger(begin, values);
  WriteNarrow(begin, values);
  return true;
}

template <class From>
bool ChunkWriter<From>::WriteInteger(int64_t begin, std::span<const From> values) {
  switch (buffer_.dtype()) {
    case DType::kInt8: return StoreIntegers<int8_t>(buffer_, begin, values);
    case DType::kUint8: return StoreIntegers<uint8_t>(buffer_, begin, values);
    case DType::kInt16: return StoreIntegers<int16_t>(buffer_, begin, values);
    case DType::kUint16: return StoreIntegers<uint16_t>(buffer_, begin, values);
    case DType::kInt32: return StoreIntegers<int32_t>(buffer_, begin, values);
    case DType::kUint32: return StoreIntegers<uint32_t>(buffer_, begin, values);
    case DType::kInt64: return StoreIntegers<int64_t>(buffer_, begin, values);
    case DType::kUint64: return StoreIntegers<uint64_t>(buffer_, begin, values);
    default: break;
  }
  const DType dtype = buffer_.dtype();
  const uint32_t mask = (1u << Info(dtype).bits) - 1;
  std::vector<uint8_t> patterns(values.size());
  bool ok = true;
  for (size_t i = 0; i < values.size(); ++i) {
    if constexpr (std::is_floating_point_v<From>) {
      const From whole = std::trunc(values[i]);
      const bool fits =
          whole >= static_cast<From>(IntMin(dtype)) && whole <= static_cast<From>(IntMax(dtype));
      ok = ok && fits;
      patterns[i] = fits ? static_cast<uint8_t>(static_cast<int>(whole) & mask) : 0;
    } else {
      patterns[i] = static_cast<uint8_t>(static_cast<uint64_t>(values[i]) & mask);
    }
  }
  WritePatterns(begin, patterns);
  return ok;
}

template <class From>
void ChunkWriter<From>::WriteNarrow(int64_t begin, std::span<const From> values) {
  const DType dtype = buffer_.dtype();
  std::vector<uint8_t> patterns(values.size());
  for (size_t i = 0; i < values.size(); ++i) {
    const auto value = static_cast<float>(values[i]);
    patterns[i] = static_cast<uint8_t>(dtype == DType::kFloat8E8M0
                                           ? EncodeE8M0(value, options_)
                                           : EncodeFloat(dtype, value, options_.saturate));
  }
  WritePatterns(begin, patterns);
}

template <class From>
void ChunkWriter<From>::WritePatterns(int64_t begin, std::span<const uint8_t> patterns) {
  const int bits = Info(buffer_.dtype()).bits;
  const std::span<std::byte> out = buffer_.bytes().subspan(static_cast<size_t>(begin * bits / 8));
  if (bits == 8) {
    std::memcpy(out.data(), patterns.data(), patterns.size());
  } else {
    PackBits(patterns, bits, out.first(PackedBytes(buffer_.dtype(), patterns.size())));
  }
}

template class ChunkReader<float>;
template class ChunkReader<double>;
template class ChunkReader<int64_t>;
template class ChunkReader<uint64_t>;
template class ChunkWriter<float>;
template class ChunkWriter<double>;
template class ChunkWriter<int64_t>;
template class ChunkWriter<uint64_t>;

}  // namespace qrewrite::fold
