#include "engine/tensor/dtype.h"

#include <doctest/doctest.h>

namespace qrewrite {
namespace {

TEST_CASE("DType: names go back to the type they came from") {
  for (int i = 1; i < kNumDTypes; ++i) {
    const auto dtype = static_cast<DType>(i);
    CHECK(DTypeFromName(Info(dtype).name) == dtype);
    CHECK(DTypeFromTextName(Info(dtype).text_name) == dtype);
    CHECK(IsKnownDType(i));
  }
  CHECK(!DTypeFromName("float"));
  CHECK(!DTypeFromTextName("FLOAT"));
  CHECK(!DTypeFromName("UNDEFINED"));
  CHECK(!IsKnownDType(0));
  CHECK(!IsKnownDType(kNumDTypes));
  CHECK(!IsKnownDType(-1));
}

TEST_CASE("DType: ranges of integers") {
  struct Row {
    DType dtype;
    int64_t lo, hi;
  };
  const Row rows[] = {
      {DType::kInt2, -2, 1},           {DType::kUint2, 0, 3},
      {DType::kInt4, -8, 7},           {DType::kUint4, 0, 15},
      {DType::kInt8, -128, 127},       {DType::kUint8, 0, 255},
      {DType::kInt16, -32768, 32767},  {DType::kUint16, 0, 65535},
      {DType::kUint32, 0, 4294967295}, {DType::kInt64, INT64_MIN, INT64_MAX},
      {DType::kUint64, 0, INT64_MAX},
  };
  for (const Row& row : rows) {
    CHECK(IntMin(row.dtype) == row.lo);
    CHECK(IntMax(row.dtype) == row.hi);
  }
  CHECK(!IsInteger(DType::kBool));
  CHECK(IsFloat(DType::kFloat4E2M1));
}

TEST_CASE("DType: bytes of packed elements") {
  CHECK(PackedBytes(DType::kFloat, 3) == 12);
  CHECK(PackedBytes(DType::kInt4, 0) == 0);
  CHECK(PackedBytes(DType::kInt4, 3) == 2);
  CHECK(PackedBytes(DType::kUint2, 5) == 2);
  CHECK(PackedBytes(DType::kFloat6E2M3, 4) == 3);
  CHECK(PackedBytes(DType::kFloat6E2M3, 5) == 4);
  CHECK(PackedBytes(DType::kString, 5) == 0);
}

}  // namespace
}  // namespace qrewrite
