#include "engine/prove/own_operands.h"

#include <doctest/doctest.h>

#include "engine/fold/kernel.h"
#include "engine/ops/signature.h"
#include "tests/unit/text/text_support.h"

namespace qrewrite {
namespace {

TEST_CASE("Operands of a rule set's own operators are floats or integers, as tests have them") {
  const Signatures& signatures = Signatures::Builtin();
  Graph graph;
  REQUIRE(Build("x: int8[4]\ny = qr.Gain(x, 0.5)\nz = Mul(y, 0.5)", graph).empty());
  Facts facts(graph, signatures, KernelRegistry::Builtin(), nullptr);
  OwnOperands own;
  own.Learn(graph, facts);
  const OpName gain{"qr", "Gain"};
  CHECK(own.Have(gain, 0, DType::kUint8));
  CHECK_FALSE(own.Have(gain, 0, DType::kFloat));
  CHECK(own.Have(gain, 1, DType::kFloat16));
  CHECK_FALSE(own.Have(gain, 1, DType::kInt8));
  CHECK_FALSE(own.Have(gain, 1, DType::kBool));
  // What nobody knows, or no test has, may be anything.
  CHECK(own.Have(gain, 1, DType::kUndefined));
  CHECK(own.Have(gain, 2, DType::kInt8));
  // ONNX's say of themselves what they read.
  CHECK(own.Have({"", "Mul"}, 1, DType::kInt8));
}

}  // namespace
}  // namespace qrewrite
