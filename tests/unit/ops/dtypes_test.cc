#include "engine/ops/dtypes.h"

#include <algorithm>
#include <string>

#include <doctest/doctest.h>

namespace qrewrite {
namespace {

using enum DType;

// Output types of one node. An input of type kUndefined is of unknown type; `absent` marks inputs
// that are left out.
struct Case {
  const char* domain;
  const char* op;
  int opset;
  std::vector<DType> inputs;
  Attributes attributes;
  std::vector<DType> outputs;
  std::vector<size_t> absent = {};
};

std::vector<DType> Infer(const Case& c) {
  Graph graph;
  std::vector<ValueId> inputs, outputs;
  std::vector<DType> types;  // by value id
  for (size_t i = 0; i < c.inputs.size(); ++i) {
    const bool absent = std::ranges::find(c.absent, i) != c.absent.end();
    inputs.push_back(absent ? ValueId() : graph.AddValue(graph.main(), "x" + std::to_string(i)));
    if (!absent) types.resize(inputs.back().index + 1, kUndefined);
    if (!absent) types[inputs.back().index] = c.inputs[i];
  }
  for (size_t i = 0; i < c.outputs.size(); ++i) {
    outputs.push_back(graph.AddValue(graph.main(), "y" + std::to_string(i)));
  }
  const NodeId node = graph.AddNode(graph.main(), graph.InternOp(c.domain, c.op), inputs, outputs,
                                    c.attributes, "n");
  const Signature* signature = Signatures::Builtin().Find(c.domain, c.op, c.opset);
  REQUIRE(signature != nullptr);
  return InferOutputDTypes(graph, node, *signature, [&](ValueId v) { return types[v.index]; });
}

void Check(const std::vector<Case>& cases) {
  for (const Case& c : cases) {
    CAPTURE(c.op);
    CAPTURE(c.opset);
    const std::vector<DType> dtypes = Infer(c);
    REQUIRE(dtypes.size() == c.outputs.size());
    for (size_t i = 0; i < dtypes.size(); ++i) {
      CAPTURE(i);
      CHECK(Info(dtypes[i]).name == Info(c.outputs[i]).name);
    }
  }
}

Attributes Int(const char* name, DType dtype) { return {{name, static_cast<int64_t>(dtype)}}; }

TEST_CASE("InferOutputDTypes: type variables") {
  Check({
      {"", "Relu", 13, {kFloat16}, {}, {kFloat16}},
      {"", "Relu", 13, {kUndefined}, {}, {kUndefined}},
      {"", "Add", 13, {kUndefined, kInt64}, {}, {kInt64}},
      {"", "Add", 13, {kFloat, kInt64}, {}, {kUndefined}},  // contradiction
      {"", "Shape", 13, {kUndefined}, {}, {kInt64}},        // the only type
      {"", "Equal", 13, {kFloat, kFloat}, {}, {kBool}},
      {"", "Where", 13, {kBool, kInt8, kInt8}, {}, {kInt8}},
      {"", "CastLike", 15, {kFloat, kInt8}, {}, {kInt8}},
      {"", "Concat", 13, {kUndefined, kInt32, kInt32}, {}, {kInt32}},
      {"", "Split", 13, {kFloat}, {}, {kFloat, kFloat, kFloat}},
      {"", "TopK", 13, {kFloat, kInt64}, {}, {kFloat, kInt64}},
      {"", "Conv", 11, {kInt8, kInt8, kInt32}, {}, {kUndefined}},  // ill-typed on purpose
      {"", "Conv", 11, {kInt8, kInt8}, {}, {kUndefined}},
      {"", "Loop", 13, {kInt64, kBool, kFloat}, {}, {kUndefined}},
      {"", "SequenceAt", 11, {kUndefined, kInt64}, {}, {kUndefined}},
      {"", "SequenceConstruct", 11, {kFloat}, {}, {kUndefined}},
      {"", "DynamicQuantizeLinear", 11, {kFloat}, {}, {kUint8, kFloat, kUint8}},
      {"", "MatMulInteger", 10, {kUint8, kInt8}, {}, {kInt32}},
      {"", "Relu", 13, {kFloat}, {}, {kFloat, kUndefined}},  // an output too many
      {"com.microsoft", "QLinearAdd", 1, {kUint8, kFloat, kUint8, kUint8, kFloat}, {}, {kUint8}},
      {"com.microsoft", "QLinearConcat", 1, {kFloat, kInt8, kInt8, kFloat, kInt8}, {}, {kInt8}},
      {"com.microsoft", "MatMulNBits", 1, {kFloat16, kUint8, kFloat16}, {}, {kFloat16}},
  });
}

TEST_CASE("InferOutputDTypes: quantization") {
  Check({
      {"", "QuantizeLinear", 13, {kFloat, kFloat, kInt8}, {}, {kInt8}},
      {"", "QuantizeLinear", 13, {kFloat, kFloat, kUndefined}, {}, {kUndefined}},
      {"", "QuantizeLinear", 13, {kFloat, kFloat}, {}, {kUint8}},
      {"", "QuantizeLinear", 13, {kFloat, kFloat, kInt8}, {}, {kUint8}, {2}},
      {"", "QuantizeLinear", 21, {kFloat, kFloat}, Int("output_dtype", kInt4), {kInt4}},
      {"", "QuantizeLinear", 21, {kFloat, kFloat}, Int("output_dtype", kUndefined), {kUint8}},
      {"", "QuantizeLinear", 21, {kFloat, kFloat, kInt16}, {}, {kInt16}},
      {"", "QuantizeLinear", 13, {kFloat, kFloat, kInt16}, {}, {kUndefined}},  // not before 21
      {"", "DequantizeLinear", 10, {kInt8, kFloat}, {}, {kFloat}},
      {"", "DequantizeLinear", 21, {kInt8, kFloat16}, {}, {kFloat16}},
      {"", "DequantizeLinear", 23, {kInt8, kFloat16}, {}, {kFloat16}},
      {"", "DequantizeLinear", 23, {kInt8, kFloat16}, Int("output_dtype", kFloat), {kFloat}},
      {"com.microsoft", "QuantizeLinear", 1, {kFloat, kFloat}, {}, {kUint8}},
      {"com.microsoft", "QuantizeLinear", 1, {kFloat, kFloat, kUint16}, {}, {kUint16}},
      {"com.microsoft", "DequantizeLinear", 1, {kInt8, kFloat16}, {}, {kFloat16}},
      {"com.microsoft", "QGemm", 1, std::vector(6, kInt8), {}, {kFloat}},
      {"com.microsoft", "QGemm", 1, std::vector(9, kInt8), {}, {kInt8}},
  });
}

TEST_CASE("InferOutputDTypes: attributes") {
  const AttrValue reference = AttrReference{"to", AttrKind::kInt};
  Check({
      {"", "Cast", 13, {kFloat}, Int("to", kInt8), {kInt8}},
      {"", "Cast", 13, {kFloat}, {{"to", int64_t{99}}}, {kUndefined}},
      {"", "Cast", 13, {kFloat}, {{"to", int64_t{-1}}}, {kUndefined}},
      {"", "Cast", 13, {kFloat}, {{"to", reference}}, {kUndefined}},
      {"", "Cast", 13, {kFloat}, Int("to", kInt4), {kUndefined}},  // int4 came with 21
      {"", "Cast", 1, {kFloat}, {{"to", std::string("INT64")}}, {kInt64}},
      {"", "EyeLike", 9, {kInt64}, {}, {kInt64}},
      {"", "EyeLike", 9, {kInt64}, Int("dtype", kDouble), {kDouble}},
      {"", "ConstantOfShape", 9, {kInt64}, {}, {kFloat}},
      {"", "ConstantOfShape", 9, {kInt64}, {{"value", Tensor::Int64s({0})}}, {kInt64}},
      {"", "Constant", 13, {}, {{"value", Tensor::FloatScalar(1)}}, {kFloat}},
      {"", "Constant", 13, {}, {{"value_ints", std::vector<int64_t>{1}}}, {kInt64}},
      {"", "Constant", 13, {}, {{"value_string", std::string("a")}}, {kString}},
      {"", "Constant", 13, {}, {{"value", reference}}, {kUndefined}},
      {"", "Constant", 13, {}, {}, {kUndefined}},
      {"", "RandomNormal", 1, {}, {}, {kFloat}},
      {"", "RandomUniform", 1, {}, Int("dtype", kDouble), {kDouble}},
      {"", "RandomNormalLike", 1, {kFloat16}, {}, {kFloat16}},
      {"", "Multinomial", 7, {kFloat}, {}, {kInt32}},
      {"", "LayerNormalization", 17, {kFloat16, kFloat16}, {}, {kFloat16, kFloat, kFloat}},
  });
}

TEST_CASE("ParseDTypeExpr") {
  Signature s;
  s.inputs = {{.name = "x"}, {.name = "y"}};
  const auto terms = ParseDTypeExpr("dtype(y) ?? attr to ?? dtype(attr value) ?? UINT8", s);
  REQUIRE(terms.has_value());
  REQUIRE(terms->size() == 4);
  CHECK((*terms)[0].input == 1);
  CHECK((*terms)[1].attribute == "to");
  CHECK((*terms)[3].dtype == DType::kUint8);
  CHECK((*ParseDTypeExpr("dtype(z)", s))[0].input == -1);
  for (const char* const text : {"", "x", "dtype(x", "INT8 if signed == 1 else UINT8", "FLOAT ?? ",
                                 "dtype(x + y)", "attr", "float"}) {
    CAPTURE(text);
    CHECK(!ParseDTypeExpr(text, s));
  }
}

}  // namespace
}  // namespace qrewrite
