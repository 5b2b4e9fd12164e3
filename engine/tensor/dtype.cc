#include "engine/tensor/dtype.h"

#include <algorithm>
#include <array>
#include <limits>

#include "engine/base/check.h"

namespace qrewrite {
namespace {

using enum DTypeKind;

// Indexed by ONNX's number.
constexpr std::array<DTypeInfo, kNumDTypes> kTable = {{
    {"UNDEFINED", "undefined", kNone, 0},
    {"FLOAT", "float", kFloat, 32},
    {"UINT8", "uint8", kUint, 8},
    {"INT8", "int8", kInt, 8},
    {"UINT16", "uint16", kUint, 16},
    {"INT16", "int16", kInt, 16},
    {"INT32", "int32", kInt, 32},
    {"INT64", "int64", kInt, 64},
    {"STRING", "string", kString, 0},
    {"BOOL", "bool", kBool, 8},
    {"FLOAT16", "float16", kFloat, 16},
    {"DOUBLE", "double", kFloat, 64},
    {"UINT32", "uint32", kUint, 32},
    {"UINT64", "uint64", kUint, 64},
    {"COMPLEX64", "complex64", kComplex, 64},
    {"COMPLEX128", "complex128", kComplex, 128},
    {"BFLOAT16", "bfloat16", kFloat, 16},
    {"FLOAT8E4M3FN", "float8e4m3fn", kFloat, 8},
    {"FLOAT8E4M3FNUZ", "float8e4m3fnuz", kFloat, 8},
    {"FLOAT8E5M2", "float8e5m2", kFloat, 8},
    {"FLOAT8E5M2FNUZ", "float8e5m2fnuz", kFloat, 8},
    {"UINT4", "uint4", kUint, 4},
    {"INT4", "int4", kInt, 4},
    {"FLOAT4E2M1", "float4e2m1", kFloat, 4},
    {"FLOAT8E8M0", "float8e8m0", kFloat, 8},
    {"UINT2", "uint2", kUint, 2},
    {"INT2", "int2", kInt, 2},
    {"FLOAT6E2M3", "float6e2m3", kFloat, 6},
    {"FLOAT6E3M2", "float6e3m2", kFloat, 6},
}};

template <class Get>
constexpr size_t Longest(Get get) {
  size_t longest = 0;
  for (int i = 1; i < kNumDTypes; ++i) longest = std::max(longest, get(kTable[i]).size());
  return longest;
}

template <class Get>
std::optional<DType> FindName(std::string_view name, Get get) {
  constexpr size_t kLongest = Longest(Get{});
  if (name.size() > kLongest) return std::nullopt;
  for (int i = 1; i < kNumDTypes; ++i) {
    if (get(kTable[i]) == name) return static_cast<DType>(i);
  }
  return std::nullopt;
}

// The letters that names of element types begin with, as bits. Most words that are asked for begin otherwise.
template <class Get>
constexpr uint32_t Initials(Get get) {
  uint32_t bits = 0;
  for (int i = 1; i < kNumDTypes; ++i) bits |= uint32_t{1} << (get(kTable[i])[0] & 31);
  return bits;
}

bool Begins(std::string_view name, uint32_t initials, char first_letter) {
  if (name.empty() || (name[0] & ~31) != (first_letter & ~31)) return false;
  return ((initials >> (name[0] & 31)) & 1) != 0;
}

}  // namespace

const DTypeInfo& Info(DType dtype) {
  const auto index = static_cast<size_t>(dtype);
  QR_CHECK(index < kTable.size());
  return kTable[index];
}

bool IsKnownDType(int onnx_number) { return onnx_number > 0 && onnx_number < kNumDTypes; }

std::optional<DType> DTypeFromName(std::string_view name) {
  constexpr auto kName = [](const DTypeInfo& info) { return info.name; };
  constexpr uint32_t kInitials = Initials(kName);
  return Begins(name, kInitials, 'A') ? FindName(name, kName) : std::nullopt;
}

std::optional<DType> DTypeFromTextName(std::string_view name) {
  constexpr auto kName = [](const DTypeInfo& info) { return info.text_name; };
  constexpr uint32_t kInitials = Initials(kName);
  return Begins(name, kInitials, 'a') ? FindName(name, kName) : std::nullopt;
}

bool IsInteger(DType dtype) {
  const DTypeKind kind = Info(dtype).kind;
  return kind == kInt || kind == kUint;
}

bool IsFloat(DType dtype) { return Info(dtype).kind == kFloat; }

int64_t IntMin(DType dtype) {
  QR_CHECK(IsInteger(dtype));
  const DTypeInfo& info = Info(dtype);
  if (info.kind == kUint) return 0;
  return std::numeric_limits<int64_t>::min() >> (64 - info.bits);
}

int64_t IntMax(DType dtype) {
  QR_CHECK(IsInteger(dtype));
  const DTypeInfo& info = Info(dtype);
  const int value_bits = info.kind == kUint ? info.bits : info.bits - 1;
  if (value_bits >= 63) return std::numeric_limits<int64_t>::max();
  return (int64_t{1} << value_bits) - 1;
}

uint64_t PackedBytes(DType dtype, uint64_t count) {
  const auto bits = static_cast<uint64_t>(Info(dtype).bits);
  if (bits % 8 == 0) return count * (bits / 8);
  return count / 8 * bits + (count % 8 * bits + 7) / 8;
}

}  // namespace qrewrite
