// What operators before opset 7 refuse, and where they are known; tests/fold_oracle has their numbers.
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "engine/fold/kernel.h"

namespace qrewrite {
namespace {

Tensor Ones(Dims dims) {
  const std::vector<double> ones(static_cast<size_t>(Count(dims)), 1);
  return *FromDoubles(DType::kFloat, std::move(dims), ones);
}

Outputs Old(std::string_view op, const std::vector<Tensor>& inputs, const Attributes& attributes,
            int since = 6) {
  return Fold(KernelRegistry::Evaluation(), {"", op, since, inputs, attributes});
}

TEST_CASE("Legacy: rules do not fold what older opsets have") {
  for (const std::string_view op : {"Add", "Gemm", "PRelu", "Equal", "Cast", "Tile", "Selu"}) {
    CHECK(KernelRegistry::Builtin().Find("", op, 1) == nullptr);
    CHECK(KernelRegistry::Evaluation().Find("", op, 1) != nullptr);
  }
}

TEST_CASE("Legacy: newer versions broadcast as they did") {
  const Outputs sum = Old("Sum", {Ones({2, 3}), Ones({3})}, {}, 8);
  REQUIRE(sum.ok());
  CHECK((*sum)[0].dims() == Dims{2, 3});
}

TEST_CASE("Legacy: what is refused says why") {
  const int64_t yes = 1;
  struct Row {
    std::string op;
    std::vector<Tensor> inputs;
    Attributes attributes;
    StatusCode code;
    std::string reason;
  };
  const Row rows[] = {
      {"Add",
       {Ones({2, 3}), Ones({3})},
       {},
       StatusCode::kInvalidModel,
       "Add of [2, 3] and [3] without broadcast"},
      {"Add",
       {Ones({3}), Ones({2, 3})},
       {{"broadcast", yes}},
       StatusCode::kInvalidModel,
       "Add of [3] and [2, 3] with broadcast"},
      {"Add",
       {Ones({2, 3}), Ones({2})},
       {{"broadcast", yes}},
       StatusCode::kInvalidModel,
       "Add of [2, 3] and [2] from axis 1 on"},
      {"Add",
       {Ones({2, 3}), Ones({2, 3})},
       {{"alpha", yes}},
       StatusCode::kUnsupported,
       "Add (version 6) has no attribute alpha"},
      {"Sum", {Ones({2, 3}), Ones({3})}, {}, StatusCode::kInvalidModel, "Sum of [2, 3] and [3]"},
      {"Dropout", {Ones({2})}, {}, StatusCode::kUnsupported, "Dropout in training is not computed"},
      {"And", {Ones({2}), Ones({2})}, {}, StatusCode::kUnsupported, "And (version 6) of FLOAT"},
  };
  for (const Row& row : rows) {
    const Outputs outputs = Old(row.op, row.inputs, row.attributes);
    REQUIRE(!outputs.ok());
    CHECK(outputs.status().code() == row.code);
    CHECK(outputs.status().message() == "error: " + row.reason);
  }
}

}  // namespace
}  // namespace qrewrite
