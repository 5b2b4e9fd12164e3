// Quantization by hand; tests/fold_oracle holds the kernels to ONNX Runtime.
#include <algorithm>
#include <limits>

#include <doctest/doctest.h>

#include "engine/fold/kernel.h"

namespace qrewrite {
namespace {

Outputs Call(std::string_view op, const std::vector<Tensor>& inputs,
             const Attributes& attributes = {}, int since = 21, std::string_view domain = "") {
  return Fold(KernelRegistry::Builtin(), {domain, op, since, inputs, attributes});
}

Tensor Floats(Dims dims, const std::vector<float>& values) {
  return Tensor::Of<float>(DType::kFloat, std::move(dims), values);
}

TEST_CASE("DequantizeLinear: a short last block and a block beyond the axis") {
  const std::vector<int64_t> q{1, -2, 3, -4, 5, -6, 7, -8, 0, 1};
  const Tensor x = *FromInt64s(DType::kInt4, {2, 5}, q);
  const Tensor s = Floats({2, 2}, {1, 10, 100, 1000});
  const Tensor y =
      (*Call("DequantizeLinear", {x, s}, {{"axis", int64_t{1}}, {"block_size", int64_t{3}}}))[0];
  CHECK(*ToDoubles(y) == std::vector<double>{1, -2, 3, -40, 50, -600, 700, -800, 0, 1000});
  const Tensor wide = (*Call("DequantizeLinear", {x, Floats({2, 1}, {1, 2})},
                             {{"axis", int64_t{1}}, {"block_size", int64_t{128}}}))[0];
  CHECK(*ToDoubles(wide) == std::vector<double>{1, -2, 3, -4, 5, -12, 14, -16, 0, 2});
}

TEST_CASE("DequantizeLinear: int4 zero points packed like the data") {
  const Tensor x = *FromInt64s(DType::kUint4, {3}, std::vector<int64_t>{15, 0, 8});
  const Tensor z = *FromInt64s(DType::kUint4, {3}, std::vector<int64_t>{8, 1, 15});
  const Tensor y =
      (*Call("DequantizeLinear", {x, Floats({3}, {1, 1, 0.5f}), z}, {{"axis", int64_t{0}}}))[0];
  CHECK(*ToDoubles(y) == std::vector<double>{7, -1, -3.5});
}

TEST_CASE("DequantizeLinear: a large result in parts is the same as at once") {
  const int64_t rows = 300, columns = 4099;  // parts end within rows
  std::vector<int64_t> values;
  std::vector<float> scales;
  for (int64_t i = 0; i < rows * columns; ++i) values.push_back((i * 31) % 255 - 127);
  for (int64_t i = 0; i < rows; ++i) scales.push_back(0.25f + static_cast<float>(i));
  const Tensor x = *FromInt64s(DType::kInt8, {rows, columns}, values);
  for (const int64_t axis : {0, 1}) {
    const int64_t count = axis == 0 ? rows : columns;
    scales.resize(static_cast<size_t>(count), 0.5f);
    const Tensor y = (*Call("DequantizeLinear", {x, Floats({count}, scales)}, {{"axis", axis}}))[0];
    REQUIRE(y.is_lazy());
    std::vector<std::byte> parts;
    int calls = 0;
    const auto collect = [&](std::span<const std::byte> bytes) -> Status {
      ++calls;
      parts.insert(parts.end(), bytes.begin(), bytes.end());
      return {};
    };
    REQUIRE(y.WriteTo(collect).ok());
    CHECK(calls > 1);
    const Tensor whole = *y.Materialize();
    CHECK(std::ranges::equal(parts, whole.bytes()));
    CHECK(whole.as<float>()[1] == static_cast<float>(values[1]) * scales[axis == 0 ? 0 : 1]);
  }
}

TEST_CASE("DequantizeLinear: the axis of com.microsoft has no default") {
  const Tensor x = *FromInt64s(DType::kInt8, {1, 2}, std::vector<int64_t>{3, 4});
  const Tensor s = Floats({2}, {1, 10});
  CHECK(!Call("DequantizeLinear", {x, s}, {}, 1, "com.microsoft").ok());
  CHECK(*ToDoubles((*Call("DequantizeLinear", {x, s}, {{"axis", int64_t{1}}}, 1,
                          "com.microsoft"))[0]) == std::vector<double>{3, 40});
  CHECK(*ToDoubles((*Call("DequantizeLinear", {x, s}))[0]) == std::vector<double>{3, 40});
  CHECK(!Call("DequantizeLinear", {x, s}, {}, 10).ok());
}

TEST_CASE("QuantizeLinear: divide, round, then add the zero point") {
  const Tensor x = Floats({4}, {0.5f, 1.5f, 2.5f, -0.5f});
  const Tensor z = *FromInt64s(DType::kUint8, {}, std::vector<int64_t>{1});
  const Tensor y = (*Call("QuantizeLinear", {x, Tensor::FloatScalar(1), z}))[0];
  CHECK(*ToInt64s(y) == std::vector<int64_t>{1, 3, 3, 1});
}

TEST_CASE("QuantizeLinear: large and lazy, unless there is NaN") {
  std::vector<float> values(2'000'000, 2.0f);
  const Tensor scale = Tensor::FloatScalar(1);
  const Tensor q = (*Call("QuantizeLinear", {Floats({2'000'000}, values), scale}))[0];
  CHECK(q.is_lazy());
  const Tensor y = (*Call("DequantizeLinear", {q, scale}))[0];
  CHECK(y.lazy_steps() == 2);
  CHECK((*y.Materialize()).as<float>()[1'999'999] == 2.0f);
  values[1'999'999] = std::numeric_limits<float>::quiet_NaN();
  CHECK(!Call("QuantizeLinear", {Floats({2'000'000}, values), scale}).ok());
}

}  // namespace
}  // namespace qrewrite
