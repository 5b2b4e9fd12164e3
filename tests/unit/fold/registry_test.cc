#include "engine/fold/kernel.h"

#include <limits>

#include <doctest/doctest.h>

namespace qrewrite {
namespace {

Outputs Call(std::string_view op, const std::vector<Tensor>& inputs,
             const Attributes& attributes = {}, uint64_t lazy_bytes = uint64_t{1} << 20,
             int since = 13, int outputs = 1) {
  return Fold(KernelRegistry::Builtin(), {"", op, since, inputs, attributes, outputs},
              {.lazy = lazy_bytes});
}

Tensor Floats(Dims dims, float start = 0) {
  std::vector<float> values(static_cast<size_t>(Count(dims)));
  for (size_t i = 0; i < values.size(); ++i) values[i] = start + static_cast<float>(i);
  return Tensor::Of<float>(DType::kFloat, std::move(dims), values);
}

TEST_CASE("KernelRegistry: versions and domains") {
  const KernelRegistry& builtin = KernelRegistry::Builtin();
  CHECK(builtin.Has("", "Add"));
  CHECK(builtin.Has("ai.onnx", "Add"));
  CHECK(builtin.Has("com.microsoft", "DequantizeLinear"));
  CHECK(!builtin.Has("com.microsoft", "Add"));
  CHECK(!builtin.Has("", "RandomNormal"));
  CHECK(builtin.Find("", "Add", 14) != nullptr);
  CHECK(builtin.Find("", "Add", 6) == nullptr);  // its broadcasting was another
  CHECK(builtin.All().front()->op == "Abs");
}

TEST_CASE("KernelRegistry: a later entry wins, for its versions") {
  KernelRegistry registry = KernelRegistry::Builtin();
  registry.Register({.domain = "ai.onnx", .op = "Add", .first = 14, .run = [](const FoldCall&) {
                       return Outputs(std::vector<Tensor>{Tensor::Int64Scalar(42)});
                     }});
  const std::vector<Tensor> inputs{Tensor::Int64Scalar(1), Tensor::Int64Scalar(2)};
  const Attributes none;
  const auto run = [&](int since) {
    return (*ToInt64s((*Fold(registry, {"", "Add", since, inputs, none}))[0]))[0];
  };
  CHECK(run(14) == 42);
  CHECK(run(13) == 3);
}

TEST_CASE("Fold: what cannot be computed says why") {
  struct Row {
    std::string op;
    std::vector<Tensor> inputs;
    std::string reason;
  };
  const Row rows[] = {
      {"ConvTranspose", {}, "ConvTranspose (version 13) is not computed on constants"},
      {"Add", {Tensor::Int64Scalar(1)}, "Add has no input 1"},
      {"Add", {Tensor::Int64Scalar(1), Tensor::FloatScalar(1)}, "Add of INT64 and FLOAT"},
      {"Add",
       {Tensor::Int64s({1, 2}), Tensor::Int64s({1, 2, 3})},
       "shapes [2] and [3] do not broadcast"},
      {"Div", {Tensor::Int64s({1}), Tensor::Int64s({0})}, "integer division by zero"},
      {"QuantizeLinear",
       {Tensor::FloatScalar(std::numeric_limits<float>::quiet_NaN()), Tensor::FloatScalar(1)},
       "NaN cannot be quantized"},
  };
  for (const Row& row : rows) {
    const Outputs outputs = Call(row.op, row.inputs);
    REQUIRE(!outputs.ok());
    CHECK(outputs.status().message() == "error: " + row.reason);
  }
}

TEST_CASE("Fold: large results are lazy, small ones and those that may fail are not") {
  const Tensor big = Floats({512, 1024});
  const Tensor sum = (*Call("Add", {big, big}))[0];
  CHECK(sum.is_lazy());
  CHECK(sum.dims() == Dims{512, 1024});
  CHECK((*sum.Materialize()).as<float>()[3] == 6);
  CHECK(sum.key() == (*Call("Add", {big, big}))[0].key());
  CHECK(sum.key() != (*Call("Mul", {big, big}))[0].key());
  CHECK(!(*Call("Add", {Floats({2}), Floats({2})}))[0].is_lazy());
  CHECK(!(*Call("ReduceSum", {big}))[0].is_lazy());

  // Integers may hold a 0 to divide by.
  const std::vector<int32_t> threes(512 * 1024, 3);
  const Tensor whole = Tensor::Of<int32_t>(DType::kInt32, {512, 1024}, threes);
  CHECK(!(*Call("Div", {whole, whole}))[0].is_lazy());
  CHECK((*Call("Add", {whole, whole}))[0].is_lazy());
}

TEST_CASE("Fold: strings count with what they take") {
  const Tensor strings = Tensor::Strings({2}, {std::string(1000, 'a'), "b"});
  const std::vector<Tensor> inputs = {strings, strings};
  const Attributes axis = {{"axis", int64_t{0}}};
  const FoldCall call{"", "Concat", 13, inputs, axis};
  const KernelRegistry& kernels = KernelRegistry::Builtin();
  CHECK(Fold(kernels, call, {.most = 4000}).ok());
  CHECK(!Fold(kernels, call, {.most = 1500}).ok());
}

TEST_CASE("Fold: what fails later fails at once") {
  const Tensor big = Floats({512, 1024});
  CHECK(!Call("Add", {big, Floats({3})}).ok());
  CHECK(!Call("Transpose", {big}, {{"perm", std::vector<int64_t>{0, 0}}}).ok());
  CHECK(!Call("Gather", {big, Tensor::Int64s({512})}).ok());
  CHECK(!Call("DequantizeLinear", {big, Tensor::FloatScalar(1)}).ok());
}

TEST_CASE("Fold: reshaping does not compute, copies nothing") {
  const Tensor big = Floats({512, 1024});
  const Tensor flat = (*Call("Reshape", {big, Tensor::Int64s({-1})}))[0];
  CHECK(flat.bytes().data() == big.bytes().data());
  const Tensor sum = (*Call("Add", {big, big}))[0];
  CHECK((*Call("Flatten", {sum}))[0].is_lazy());
  CHECK((*Call("Identity", {sum}))[0].key() == sum.key());
}

TEST_CASE("Fold: one piece of a lazy Split is computed alone") {
  const Tensor big = Floats({4, 512, 1024});
  const std::vector<Tensor> pieces = *Call("Split", {big}, {{"axis", int64_t{0}}}, 1 << 20, 13, 4);
  REQUIRE(pieces.size() == 4);
  CHECK(pieces[2].is_lazy());
  CHECK((*pieces[2].Materialize()).as<float>()[0] == 2 * 512 * 1024);
  CHECK(pieces[1].key() != pieces[2].key());
}

TEST_CASE("Fold: chains of lazy tensors are cut before they recompute without end") {
  Tensor x = Floats({512, 1024});
  for (int i = 0; i < 200; ++i) {
    x = (*Call("Add", {x, x}))[0];  // doubles: 2^200 computations if nothing were remembered
    CHECK(x.lazy_steps() <= 128);
  }
  CHECK((*x.Materialize()).as<float>()[1] == std::numeric_limits<float>::infinity());
}

TEST_CASE("Fold: empty tensors with absurd dimensions") {
  const int64_t huge = int64_t{1} << 40;
  const Tensor odd = Tensor::Own(DType::kFloat, {0, huge, huge}, {});
  CHECK(!Call("Flatten", {odd}).ok());
  CHECK(!Call("Transpose", {odd}).ok());
  CHECK(!Call("Add", {odd, odd}).ok());
}

TEST_CASE("Fold: what may be computed has a size") {
  const std::vector<Tensor> pair{Tensor::Int64s({1, 2, 3}), Tensor::Int64s({1, 2, 3})};
  const Attributes none;
  const auto fold = [&](std::string_view op, std::span<const Tensor> inputs, uint64_t most) {
    return Fold(KernelRegistry::Builtin(), {"", op, 13, inputs, none}, {.most = most});
  };
  CHECK(fold("Div", pair, 24).ok());
  CHECK(!fold("Div", pair, 23).ok());
  const std::vector<Tensor> range{Tensor::Int64Scalar(0), Tensor::Int64Scalar(1 << 30),
                                  Tensor::Int64Scalar(1)};
  CHECK((*fold("Range", range, 1))[0].is_lazy());  // costs nothing, so it is no matter of the limit
  CHECK(!fold("MatMul", pair, 7).ok());            // too much work to be done for each reader
}

TEST_CASE("Fold: work is counted before it is done") {
  const std::vector<Tensor> pair{Floats({8, 32}), Floats({32, 8})};
  const Attributes none;
  uint64_t work = 5000;
  const auto fold = [&] {
    return Fold(KernelRegistry::Builtin(), {"", "MatMul", 13, pair, none}, {.work = &work});
  };
  CHECK(fold().ok());
  CHECK(work == 5000 - 8 * 8 * 32 - (1 + (2 * 8 * 32 + 8 * 8) / 16));
  CHECK(fold().ok());
  CHECK(fold().status().code() == StatusCode::kLimit);
  CHECK(work < 8 * 8 * 32);
}

TEST_CASE("Fold: integers that leave their type") {
  const int64_t lowest = std::numeric_limits<int64_t>::min();
  CHECK(!Call("ReduceL2", {Tensor::Int64s({lowest, lowest})}).ok());
  CHECK(!Call("ReduceSumSquare", {Tensor::Int64s({lowest, lowest})}).ok());
  CHECK(*ToInt64s((*Call("ReduceL2", {Tensor::Int64s({3, 4})}))[0]) == std::vector<int64_t>{5});
  const int64_t highest = std::numeric_limits<int64_t>::max();
  CHECK(!Call("Pad", {Tensor::Int64s({1, 2}), Tensor::Int64s({lowest, highest})}).ok());
}

TEST_CASE("Fold: numbers of double are computed in double") {
  const Tensor one = *FromDoubles(DType::kDouble, {2}, std::vector<double>{1, 3});
  const Outputs mean = Call("Mean", {one, one, one});
  REQUIRE(mean.ok());
  CHECK(*ToDoubles((*mean)[0]) == std::vector<double>{1, 3});
}

TEST_CASE("Fold: strings are moved") {
  const Tensor words = Tensor::Strings({2, 2}, {"a", "b", "c", "d"});
  CHECK((*Call("Transpose", {words}))[0].strings() == std::vector<std::string>{"a", "c", "b", "d"});
  CHECK((*Call("Gather", {words, Tensor::Int64s({1})}))[0].strings() ==
        std::vector<std::string>{"c", "d"});
  CHECK((*Call("Concat", {words, words}, {{"axis", int64_t{0}}}))[0].dims() == Dims{4, 2});
  CHECK(*ToInt64s((*Call("Equal", {words, Tensor::Strings({}, {"c"})}))[0]) ==
        std::vector<int64_t>{0, 0, 1, 0});
  CHECK(!Call("Gather", {Tensor::Int64s({7, 8}), Tensor::Strings({1}, {"a"})}).ok());
  CHECK(!Call("Concat", {words, Tensor::Int64s({1})}, {{"axis", int64_t{0}}}).ok());
  CHECK(!Call("Add", {words, words}).ok());
  const Tensor second = Tensor::Of<uint8_t>(DType::kBool, {2}, std::vector<uint8_t>{0, 1});
  CHECK((*Call("Compress", {words, second}, {{"axis", int64_t{1}}}))[0].strings() ==
        std::vector<std::string>{"b", "d"});
  CHECK((*Call("ReverseSequence", {words, Tensor::Int64s({1, 2})}))[0].strings() ==
        std::vector<std::string>{"a", "d", "c", "b"});
  const Attributes along{{"axis", int64_t{1}}};
  const Tensor update = Tensor::Strings({2, 1}, {"x", "y"});
  const Outputs cache =
      Call("TensorScatter", {words, update, Tensor::Int64s({1, 0})}, along, UINT64_MAX, 24);
  CHECK((*cache)[0].strings() == std::vector<std::string>{"a", "x", "y", "d"});
  CHECK(!Call("Cast", {words}, {{"to", int64_t{1}}}).ok());
}

TEST_CASE("Fold: strings that are equal") {
  const Tensor words = Tensor::Strings({4}, {"b", "a", "", "b"});
  const Outputs unique = Call("Unique", {words}, {}, UINT64_MAX, 11, 4);
  CHECK((*unique)[0].strings() == std::vector<std::string>{"", "a", "b"});
  CHECK(*ToInt64s((*unique)[1]) == std::vector<int64_t>{2, 1, 0});
  CHECK(*ToInt64s((*unique)[2]) == std::vector<int64_t>{2, 1, 0, 2});
  CHECK(*ToInt64s((*unique)[3]) == std::vector<int64_t>{1, 1, 2});
}

}  // namespace
}  // namespace qrewrite
