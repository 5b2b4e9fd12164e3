// DType: the element types of ONNX tensors, with ONNX's own numbers, and the one table of their
// facts.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace qrewrite {

enum class DType : uint8_t {
  kUndefined = 0,
  kFloat = 1,
  kUint8 = 2,
  kInt8 = 3,
  kUint16 = 4,
  kInt16 = 5,
  kInt32 = 6,
  kInt64 = 7,
  kString = 8,
  kBool = 9,
  kFloat16 = 10,
  kDouble = 11,
  kUint32 = 12,
  kUint64 = 13,
  kComplex64 = 14,
  kComplex128 = 15,
  kBfloat16 = 16,
  kFloat8E4M3FN = 17,
  kFloat8E4M3FNUZ = 18,
  kFloat8E5M2 = 19,
  kFloat8E5M2FNUZ = 20,
  kUint4 = 21,
  kInt4 = 22,
  kFloat4E2M1 = 23,
  kFloat8E8M0 = 24,
  kUint2 = 25,
  kInt2 = 26,
  kFloat6E2M3 = 27,
  kFloat6E3M2 = 28,
};
inline constexpr int kNumDTypes = 29;

enum class DTypeKind : uint8_t { kNone, kInt, kUint, kFloat, kBool, kString, kComplex };

struct DTypeInfo {
  std::string_view name;       // as rules spell it: "FLOAT", "INT8"
  std::string_view text_name;  // as graph text spells it: "float", "int8"
  DTypeKind kind = DTypeKind::kNone;
  int bits = 0;  // of one element; 0 for strings
};

const DTypeInfo& Info(DType dtype);  // REQUIRES: dtype is one of the enumerators
bool IsKnownDType(int onnx_number);

std::optional<DType> DTypeFromName(std::string_view name);      // "FLOAT"
std::optional<DType> DTypeFromTextName(std::string_view name);  // "float"

bool IsInteger(DType dtype);  // signed or unsigned; bool is none
bool IsFloat(DType dtype);    // every float kind, 4 bit to 64
// Range of an integer type: 0..255 for uint8. REQUIRES: IsInteger(dtype). UINT64's upper end is
// clamped to INT64_MAX.
int64_t IntMin(DType dtype);
int64_t IntMax(DType dtype);

// Bytes that `count` elements take as ONNX packs them in raw_data: types below 8 bit are packed
// without gaps between elements and padded at the end.
uint64_t PackedBytes(DType dtype, uint64_t count);

}  // namespace qrewrite
