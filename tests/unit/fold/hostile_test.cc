// What no sound model has, and what a damaged one or a varied one may: kernels refuse it before they count on it.
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "engine/fold/kernel.h"

namespace qrewrite {
namespace {

Tensor Filled(DType dtype, Dims dims, double value = 1) {
  const std::vector<double> values(static_cast<size_t>(Count(dims)), value);
  return *FromDoubles(dtype, std::move(dims), values);
}
Tensor Floats(Dims dims, double value = 1) { return Filled(DType::kFloat, std::move(dims), value); }
Tensor Bytes(Dims dims) { return Filled(DType::kUint8, std::move(dims)); }

Outputs Run(std::string_view op, const std::vector<Tensor>& inputs, const Attributes& attributes,
            std::string_view domain = "") {
  return Fold(KernelRegistry::Evaluation(), {domain, op, 13, inputs, attributes});
}

std::string ReasonOf(const Outputs& outputs) {
  return outputs.ok() ? "" : outputs.status().diagnostics()[0].message;
}

constexpr int64_t kHuge = int64_t{1} << 62;

TEST_CASE("Pooling: a window of more elements than can be counted") {
  const Attributes window{{"kernel_shape", std::vector<int64_t>(3, int64_t{1} << 31)}};
  CHECK(ReasonOf(Run("MaxPool", {Floats({1, 1, 1, 1, 1})}, window)) ==
        "MaxPool with windows that are too large");
}

TEST_CASE("Convolutions: groups whose product with the channels is beyond 64 bits") {
  const Attributes groups{{"group", kHuge}};
  CHECK(ReasonOf(Run("Conv", {Floats({1, 4, 3, 3}), Floats({4, 4, 1, 1})}, groups))
            .starts_with("Conv of [1, 4, 3, 3] with weights [4, 4, 1, 1] in 4611686018427387904"));
  CHECK(
      ReasonOf(Run("ConvTranspose", {Floats({1, 0, 3, 3}), Floats({0, 4, 1, 1})}, groups))
          .starts_with("ConvTranspose of [1, 0, 3, 3] with weights [0, 4, 1, 1] in 461168601842"));
}

TEST_CASE("QLinear operators: a zero point of the result that is no integer") {
  const Tensor one = Floats({}), zero = Bytes({});
  CHECK(ReasonOf(Run("QLinearConv",
                     {Bytes({1, 1, 3, 3}), one, zero, Bytes({1, 1, 1, 1}), one, zero, one, one},
                     {})) == "a zero point of FLOAT []");
  CHECK(ReasonOf(Run("QGemm",
                     {Bytes({2, 2}), one, zero, Bytes({2, 2}), one, zero, Tensor(), one, one}, {},
                     "com.microsoft")) == "a zero point of FLOAT []");
}

TEST_CASE("QGemm: zero points without scales, a bias that is wider than the product") {
  const Tensor one = Floats({}), zero = Bytes({});
  const auto gemm = [&](const Tensor& zeros, const Tensor& bias) {
    return Run("QGemm", {Bytes({1, 1}), one, zero, Bytes({1, 1}), one, zeros, bias, one, zero}, {},
               "com.microsoft");
  };
  CHECK(gemm(zero, Filled(DType::kInt32, {1}, 1)).ok());
  CHECK(ReasonOf(gemm(Bytes({2}), Tensor())) == "QGemm with 1 scales and 2 zero points");
  CHECK(ReasonOf(gemm(zero, Filled(DType::kInt32, {2}, 1))) == "QGemm adds [2] to [1, 1]");
  const Tensor rows = Floats({1, 1});
  CHECK(ReasonOf(Run("QGemm", {Bytes({1, 1}), rows, zero, Bytes({1, 1}), one, zero}, {},
                     "com.microsoft")) == "QGemm with a scale of two axes");
}

TEST_CASE("MatMulInteger: a zero point that takes sums beyond 32 bits") {
  const Tensor lowest = Filled(DType::kInt32, {}, -0x1p31);
  CHECK(ReasonOf(Run("MatMulInteger", {Bytes({2, 2}), Bytes({2, 3}), lowest}, {})) ==
        "MatMulInteger with a zero point of type INT32");
}

TEST_CASE("Products of integers: parameters that belong to no row or column") {
  const Tensor row = Bytes({2}), matrix = Bytes({2, 3}), one = Bytes({1});
  const Tensor no_zero;
  for (const Dims& dims : {Dims{2, 3}, Dims{2, 1}, Dims{1, 2}, Dims{1, 1, 3}, Dims{2}}) {
    CHECK(!Run("MatMulInteger", {row, matrix, no_zero, Bytes(dims)}, {}).ok());
  }
  CHECK(Run("MatMulInteger", {row, matrix, no_zero, Bytes({1, 3})}, {}).ok());
  CHECK(!Run("MatMulInteger", {matrix, Bytes({3}), no_zero, Bytes({3, 1})}, {}).ok());
  const Tensor scale = Floats({1}), twice = Floats({2});
  const auto product = [&](const Tensor& s, const Tensor& z) {
    return Run("QLinearMatMul", {row, scale, one, matrix, s, z, scale, one}, {});
  };
  CHECK(product(scale, one).ok());
  CHECK(product(Floats({3}), Bytes({3})).ok());
  CHECK(ReasonOf(product(twice, one)) ==
        "QLinearMatMul of 3 channels with 2 scales and 1 zero points");
}

TEST_CASE("Gemm: sums of nothing, as many as cannot be counted") {
  const int64_t many = int64_t{1} << 39;
  CHECK(ReasonOf(Run("Gemm", {Floats({many, 0}), Floats({0, many})}, {})) ==
        "the result would have the shape [549755813888, 549755813888], which is too large");
  const Attributes turned{{"transA", int64_t{1}}};
  CHECK(Run("Gemm", {Floats({3, 2}), Floats({3, 4})}, turned).ok());
}

TEST_CASE("Einsum: more axes than the stack would take, and more products than there is time for") {
  const auto einsum = [](const char* equation, const std::vector<Tensor>& inputs) {
    return Run("Einsum", inputs, {{"equation", std::string(equation)}});
  };
  Dims ones(200000, 1);
  ones.back() = 3;
  const Outputs sum = einsum("...->", {Floats(ones, 2)});
  REQUIRE(sum.ok());
  CHECK(*ToDoubles(sum->front()) == std::vector<double>{6});
  CHECK(einsum("...", {Floats(ones, 2)})->front().dims() == ones);
  const Tensor row = Floats({1 << 12});
  CHECK(ReasonOf(einsum("i,j,k->", {row, row, row})) == "the sum of products is too large");
  CHECK(ReasonOf(einsum("i,j->ij", {row})) == "an equation of 2 terms for 1 inputs");
  CHECK(ReasonOf(einsum("i.->i", {row})) == "the term `i.` for [4096]");
  CHECK(ReasonOf(einsum("", {})) == "Einsum has no input 0");
  const int64_t many = int64_t{1} << 15;
  CHECK(einsum("ijk", {Floats({many, many, 0})})->front().size() == 0);
  // Sums of nothing, whose other loops had 2^36 steps and would run for minutes.
  const std::vector<Tensor> rows = {row, row, row, Floats({0})};
  CHECK(*ToDoubles(einsum("i,j,k,l->", rows)->front()) == std::vector<double>{0});
}

TEST_CASE("Reductions and products of nothing, whose other sizes are beyond any memory and time") {
  const int64_t many = int64_t{1} << 35;
  const Attributes last{{"axes", std::vector<int64_t>{0, 2}}};
  const std::vector<Tensor> nothing = {Floats({many, 0})};
  CHECK(*ToDoubles(Run("ReduceL1", nothing, {})->front()) == std::vector<double>{0});
  CHECK(Run("ReduceL1", {Floats({many, 0, 5})}, last)->front().dims() == Dims{1, 0, 1});
  CHECK(*ToDoubles(Run("ReduceL1", {Floats({many, 3, 0})}, last)->front()) ==
        std::vector<double>(3, 0));
  const int64_t batch = int64_t{1} << 31;
  CHECK(Run("MatMul", {Floats({batch, 0, 2}), Floats({2, 0})}, {})->front().dims() ==
        Dims{batch, 0, 0});
}

TEST_CASE("Windows: as many channels as there is no room to gather, sizes that cannot be counted") {
  const int64_t many = int64_t{1} << 20;
  const Outputs sums = Run("Conv", {Floats({1, many, 1, 8}, 1), Floats({1, many, 1, 7}, 1)}, {});
  REQUIRE(sums.ok());
  CHECK(*ToDoubles(sums->front()) == std::vector<double>(2, 7.0 * static_cast<double>(many)));
  const Attributes wide{{"kernel_shape", std::vector<int64_t>{1, 1}},
                        {"pads", std::vector<int64_t>(4, many)}};
  CHECK(ReasonOf(Run("MaxPool", {Floats({1, 1, 1, 1})}, wide)).ends_with("which is too large"));
  const Outputs pairs = Run("Conv", {Floats({many, 0, 1, 1}), Floats({many, 0, 1, 1})}, {});
  CHECK(ReasonOf(pairs).ends_with("which is too large"));
  uint64_t work = 1000;  // is looked at before windows are made
  const std::vector<Tensor> inputs = {Floats({1, 4, 9, 9}), Floats({4, 4, 3, 3})};
  CHECK(Fold(KernelRegistry::Builtin(), {"", "Conv", 11, inputs, {}}, {.work = &work})
            .status()
            .code() == StatusCode::kLimit);
  CHECK(ReasonOf(Run("LRN", {Floats({1, 2, 1})}, {{"size", int64_t{-1}}})) ==
        "LRN over too many channels");
}

TEST_CASE("Recurrent operators: no inputs, no units, more steps than there is memory") {
  const auto rnn = [](int64_t steps, int64_t inputs, int64_t units) {
    return Run("RNN",
               {Floats({steps, 3, inputs}), Floats({1, units, inputs}), Floats({1, units, units})},
               {});
  };
  REQUIRE(rnn(2, 0, 2).ok());
  CHECK(*ToDoubles((*rnn(2, 0, 2))[0]) == std::vector<double>(12, 0));
  CHECK(rnn(2, 2, 0).ok());
  CHECK(ReasonOf(rnn(int64_t{1} << 36, 0, 1)).ends_with("which is too large"));
  CHECK(Run("LSTM", {Floats({2, 3, 0}), Floats({1, 0, 0}), Floats({1, 0, 0})}, {}).ok());
}

TEST_CASE("Resize: what is too large on the way, and beside no elements") {
  const auto resize = [](Dims dims, const std::vector<float>& scales) {
    const Tensor s =
        Tensor::Of<float>(DType::kFloat, {static_cast<int64_t>(scales.size())}, scales);
    return Run("Resize", {Floats(std::move(dims)), Tensor(), s}, {});
  };
  const Outputs nothing = resize({1, 1}, {0.5F, 9e8F});
  REQUIRE(nothing.ok());
  CHECK((*nothing)[0].dims() == Dims{0, 900'000'000});
  CHECK(ReasonOf(resize({1, 30'000}, {6e7F, 1e-4F})).ends_with("which is too large"));
}

}  // namespace
}  // namespace qrewrite
