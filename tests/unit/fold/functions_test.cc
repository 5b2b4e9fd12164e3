#include "engine/fold/functions.h"

#include <limits>

#include <doctest/doctest.h>

namespace qrewrite {
namespace {

constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();
constexpr float kInf = std::numeric_limits<float>::infinity();

Tensor Floats(const std::vector<float>& values) {
  return Tensor::Of<float>(DType::kFloat, {static_cast<int64_t>(values.size())}, values);
}

Tensor Ints(DType dtype, const std::vector<int64_t>& values) {
  return *FromInt64s(dtype, {static_cast<int64_t>(values.size())}, values);
}

std::vector<double> Values(const Result<Tensor>& t) {
  REQUIRE_MESSAGE(t.ok(), t.status().message());
  return *ToDoubles(*t);
}

TEST_CASE("Unpack: parts of bytes along the last axis") {
  const Tensor bytes = Ints(DType::kUint8, {0x21, 0xf3});
  CHECK(Values(Unpack(bytes, 4)) == std::vector<double>{1, 2, 3, 15});
  CHECK(Values(Unpack(bytes, 4, true)) == std::vector<double>{2, 1, 15, 3});
  CHECK(Values(Unpack(bytes, 2)) == std::vector<double>{1, 0, 2, 0, 3, 0, 3, 3});
  CHECK(Values(Unpack(bytes, 8)) == std::vector<double>{0x21, 0xf3});
  CHECK(Unpack(bytes.Reshaped({2, 1}), 4)->dims() == Dims{2, 2});
  CHECK(!Unpack(bytes, 3).ok());
  CHECK(!Unpack(Ints(DType::kInt8, {1}), 4).ok());
  CHECK(!Unpack(bytes.Reshaped({2, 1}).Reshaped({2}).Reshaped({1, 2}), 0).ok());
}

TEST_CASE("Stretch and Along: shapes for blocks and channels") {
  const Tensor s = Floats({1, 2, 3, 4}).Reshaped({2, 2});
  CHECK(Values(Stretch(s, 2, 1)) == std::vector<double>{1, 1, 2, 2, 3, 3, 4, 4});
  CHECK(Values(Stretch(s, 2, 0)) == std::vector<double>{1, 2, 1, 2, 3, 4, 3, 4});
  CHECK(Stretch(s, 0, 0)->dims() == Dims{0, 2});
  CHECK(!Stretch(s, -1, 0).ok());
  CHECK(!Stretch(s, 2, 2).ok());
  CHECK(!Stretch(s, int64_t{1} << 62, 0).ok());
  CHECK(Along(Floats({1, 2, 3}), 4, 1)->dims() == Dims{1, 3, 1, 1});
  CHECK(Along(Floats({1, 2, 3}), 2, -1)->dims() == Dims{1, 3});
  CHECK(Along(Tensor::FloatScalar(1), 2, 0)->dims() == Dims{1, 1});
  CHECK(!Along(s, 2, 0).ok());
  CHECK(!Along(Floats({1}), 2, 2).ok());
}

TEST_CASE("Stretch: large results are lazy") {
  const Tensor s = Floats(std::vector<float>(1000, 1.5f));
  const Tensor t = *Stretch(s, 1000, 0);
  CHECK(t.is_lazy());
  CHECK((*t.Materialize()).as<float>()[999999] == 1.5f);
  CHECK(t.key() == Stretch(s, 1000, 0)->key());
  CHECK(t.key() != Stretch(s, 1001, 0)->key());
}

TEST_CASE("RoundMode: halves go where the mode says") {
  const Tensor x = Floats({-2.5f, -1.5f, -0.5f, -0.2f, 0.2f, 0.5f, 1.5f, 1.7f, 2.5f});
  struct Row {
    std::string mode;
    std::vector<double> y;
  };
  const Row rows[] = {
      {"CEIL", {-2, -1, 0, 0, 1, 1, 2, 2, 3}},      {"FLOOR", {-3, -2, -1, -1, 0, 0, 1, 1, 2}},
      {"UP", {-3, -2, -1, -1, 1, 1, 2, 2, 3}},      {"DOWN", {-2, -1, 0, 0, 0, 0, 1, 1, 2}},
      {"HALF_UP", {-3, -2, -1, 0, 0, 1, 2, 2, 3}},  {"HALF_DOWN", {-2, -1, 0, 0, 0, 0, 1, 2, 2}},
      {"HALF_EVEN", {-2, -2, 0, 0, 0, 0, 2, 2, 2}},
  };
  for (const Row& row : rows) {
    CAPTURE(row.mode);
    CHECK(Values(RoundMode(x, row.mode)) == row.y);
  }
  CHECK(!RoundMode(x, "NEAREST").ok());
  CHECK(!RoundMode(x, "ROUND").ok());
  CHECK(!RoundMode(Tensor::Bool(true), "HALF_EVEN").ok());
  CHECK(Values(RoundMode(Ints(DType::kInt8, {3}), "HALF_EVEN")) == std::vector<double>{3});
  CHECK(Values(RoundMode(Tensor::DoubleScalar(0x1p52 + 1), "HALF_DOWN"))[0] == 0x1p52 + 1);
  CHECK(Values(RoundMode(*FromDoubles(DType::kFloat16, {1}, std::vector<double>{2.5}),
                         "HALF_EVEN"))[0] == 2);
}

TEST_CASE("CastExact: the same value or a reason that names it") {
  struct Row {
    Tensor x;
    DType to;
    std::string reason;  // empty: works
  };
  const Row rows[] = {
      {Ints(DType::kInt64, {1, 127}), DType::kInt8, ""},
      {Ints(DType::kInt64, {1, 128}), DType::kInt8, "128 is not a value of type INT8"},
      {Ints(DType::kInt64, {-1}), DType::kUint64, "-1 is not a value of type UINT64"},
      {Ints(DType::kInt64, {-1}), DType::kUint4, "-1 is not a value of type UINT4"},
      {Ints(DType::kInt64, {16777217}), DType::kFloat, "16777217 is not a value of type FLOAT"},
      {Ints(DType::kInt64, {INT64_MAX}), DType::kDouble,
       "9223372036854775807 is not a value of type DOUBLE"},
      {Ints(DType::kInt64, {16777216}), DType::kFloat, ""},
      {Ints(DType::kInt32, {2049}), DType::kFloat16, "2049 is not a value of type FLOAT16"},
      {Floats({1, -3}), DType::kInt8, ""},
      {Floats({1, 0.5f}), DType::kInt32, "0.5 is not a value of type INT32"},
      {Floats({300}), DType::kUint8, "300 is not a value of type UINT8"},
      {Floats({kNaN}), DType::kInt64, "nan is not a value of type INT64"},
      {Floats({0x1p63f}), DType::kInt64, "9.223372036854776e+18 is not a value of type INT64"},
      {Floats({0.1f}), DType::kFloat16, ""},
      {Floats({kInf, kNaN}), DType::kFloat16, ""},
      {Floats({1e6f}), DType::kFloat16, "1000000 is not a value of type FLOAT16"},
      {Floats({500}), DType::kFloat8E4M3FN, "500 is not a value of type FLOAT8E4M3FN"},
      {Floats({9}), DType::kFloat4E2M1, "9 is not a value of type FLOAT4E2M1"},
      {Tensor::DoubleScalar(0.1), DType::kFloat, ""},
      {Tensor::DoubleScalar(1e300), DType::kFloat, "1e+300 is not a value of type FLOAT"},
      {Tensor::Bool(true), DType::kInt8, ""},
      {Ints(DType::kInt8, {1, 0}), DType::kBool, ""},
      {Ints(DType::kInt8, {2}), DType::kBool, "2 is not a value of type BOOL"},
      {Floats({0.5f}), DType::kBool, "0.5 is not a value of type BOOL"},
      {Tensor::Strings({1}, {"1"}), DType::kInt8, "STRING has no values of type INT8"},
  };
  for (const Row& row : rows) {
    const Result<Tensor> y = CastExact(row.x, row.to);
    CAPTURE(row.reason);
    CHECK(y.ok() == row.reason.empty());
    if (!y.ok()) CHECK(y.status().message() == "error: " + row.reason);
    if (y.ok()) CHECK(y->dtype() == row.to);
  }
  CHECK(Values(CastExact(Floats({0.1f}), DType::kFloat16))[0] == doctest::Approx(0.0999756));
}

TEST_CASE("CastExact: stays lazy where it cannot fail, and where that was seen") {
  const std::vector<uint8_t> codes(2'000'000, 200);
  const Tensor x = Tensor::Of<uint8_t>(DType::kUint8, {2'000'000}, codes);
  CHECK(CastExact(x, DType::kFloat)->is_lazy());
  CHECK(CastExact(x, DType::kInt16)->is_lazy());
  CHECK(!CastExact(x, DType::kInt8).ok());
  const Tensor f = *CastExact(x, DType::kFloat);
  CHECK(CastExact(f, DType::kFloat16)->is_lazy());
}

TEST_CASE("Near, MinOf, MaxOf, All") {
  CHECK(*Near(Floats({1, 2}), Floats({1.0001f, 2}), 1e-3));
  CHECK(!*Near(Floats({1, 2}), Floats({1.01f, 2}), 1e-3));
  CHECK(*Near(Floats({0}), Floats({0}), 0));
  CHECK(*Near(Floats({kInf}), Floats({kInf}), 0));
  CHECK(!*Near(Floats({kInf}), Floats({1}), 1));
  CHECK(!*Near(Floats({kNaN}), Floats({kNaN}), 1));
  CHECK(*Near(Floats({2, 2}), Tensor::Int64Scalar(2), 0));
  CHECK(!Near(Floats({1, 2}), Floats({1, 2, 3}), 0).ok());
  CHECK(Values(MinOf(Ints(DType::kInt8, {3, -4})))[0] == -4);
  CHECK(MaxOf(Ints(DType::kInt8, {3, -4}))->dims().empty());
  CHECK(!MinOf(Floats({})).ok());
  CHECK(!MaxOf(Floats({kNaN, 1})).ok());
  CHECK(*All(Tensor::Bool(true)));
  CHECK(!*All(Ints(DType::kBool, {1, 0})));
  CHECK(!All(Floats({1})).ok());
}

}  // namespace
}  // namespace qrewrite
