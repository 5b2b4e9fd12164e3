#include "engine/debug/dequantize.h"

#include <doctest/doctest.h>

namespace qrewrite {
namespace {

template <class T>
Tensor Of(DType dtype, Dims dims, const std::vector<T>& values) {
  return Tensor::Of<T>(dtype, std::move(dims), std::span(values));
}
Tensor Floats(Dims dims, const std::vector<float>& values) {
  return Of<float>(DType::kFloat, std::move(dims), values);
}
using Values = std::vector<double>;

TEST_CASE("Dequantize: unsigned integers below their zero point are negative") {
  const Tensor q = Of<uint8_t>(DType::kUint8, {3}, {0, 128, 255});
  const Scheme scheme{.scale = Floats({}, {0.5f}),
                      .zero_point = Of<uint8_t>(DType::kUint8, {}, {128})};
  CHECK(*Dequantize(q, scheme) == Values{-64, 0, 63.5});
  // In their own type, as NumPy subtracts, 0 - 128 is 128.
  CHECK(*Dequantize(q, scheme, {.wrap = true}) == Values{64, 0, 63.5});
}

TEST_CASE("Dequantize: scales along an axis and in blocks") {
  const Tensor q = Of<int8_t>(DType::kInt8, {2, 4}, {1, 2, 3, 4, 5, 6, 7, 8});
  CHECK(*Dequantize(q, {.scale = Floats({2}, {1, 10}), .zero_point = {}, .axis = 0}) ==
        Values{1, 2, 3, 4, 50, 60, 70, 80});
  CHECK(*Dequantize(q, {.scale = Floats({4}, {1, 2, 3, 4}), .zero_point = {}, .axis = -1}) ==
        Values{1, 4, 9, 16, 5, 12, 21, 32});
  CHECK(*Dequantize(q, {.scale = Floats({2, 2}, {1, 10, 100, 1000}),
                        .zero_point = {},
                        .axis = 1,
                        .block = 2}) == Values{1, 2, 30, 40, 500, 600, 7000, 8000});
  CHECK(*Dequantize(
            q, {.scale = Floats({1, 4}, {1, 2, 3, 4}), .zero_point = {}, .axis = 0, .block = 2}) ==
        Values{1, 4, 9, 16, 5, 12, 21, 32});
}

TEST_CASE("Dequantize: four bits") {
  const Tensor q = *FromInt64s(DType::kUint4, {3}, std::vector<int64_t>{0, 8, 15});
  const Scheme scheme{.scale = Floats({1}, {2}),
                      .zero_point = *FromInt64s(DType::kUint4, {1}, std::vector<int64_t>{8})};
  CHECK(*Dequantize(q, scheme) == Values{-16, 0, 14});
}

TEST_CASE("Dequantize: products are those of float64, or rounded to the scale's type") {
  const Tensor q = Of<int8_t>(DType::kInt8, {1}, {3});
  const Scheme scheme{.scale = Floats({}, {0.1f}), .zero_point = {}};
  CHECK((*Dequantize(q, scheme))[0] == 3 * static_cast<double>(0.1f));
  CHECK((*Dequantize(q, scheme, {.round = true}))[0] == static_cast<double>(3 * 0.1f));
}

TEST_CASE("Dequantize: scales that do not fit are an error") {
  const Tensor q = Of<int8_t>(DType::kInt8, {2, 4}, {1, 2, 3, 4, 5, 6, 7, 8});
  for (const Scheme& scheme : {Scheme{.scale = Floats({3}, {1, 2, 3}), .zero_point = {}, .axis = 0},
                               Scheme{.scale = Floats({2}, {1, 2}), .zero_point = {}, .axis = 5},
                               Scheme{.scale = Floats({2}, {1, 2}),
                               .zero_point = Of<int8_t>(DType::kInt8, {3}, {1, 2, 3}),
                               .axis = 0}}) {
    CHECK_FALSE(Dequantize(q, scheme).ok());
  }
}

TEST_CASE("SaturatedPercent: what rounds to a number of the type is no saturation") {
  const Tensor q = Of<int8_t>(DType::kInt8, {4}, {-128, 0, 127, 127});
  const Scheme scheme{.scale = Floats({}, {1}), .zero_point = {}};
  CHECK(*SaturatedPercent(q, scheme, {-128.4, 0, 127.4, 200}, -128, 127) == 25);
}

}  // namespace
}  // namespace qrewrite
