#include "engine/onnx_io/inference.h"

#include <chrono>
#include <map>
#include <vector>

#include <fmt/format.h>

#include "tests/unit/onnx_io/model_maker.h"

namespace qrewrite {
namespace {

std::string Show(const Graph& g, const TypeInfo& type) {
  std::string out(Info(type.dtype).text_name);
  if (type.dtype == DType::kUndefined) out = "?";
  if (!type.is_tensor) return "no tensor";
  if (!type.has_rank) return out;
  out += '[';
  for (const Dim d : type.dims) {
    if (out.back() != '[') out += ',';
    out += d.known() ? std::to_string(d.size()) : d.symbolic() ? g.symbol_name(d) : "?";
  }
  return out + ']';
}

// Types of the outputs of the first node of the main graph, by declared types and constants.
std::string Infer(const Graph& g, ShapeInference& inference) {
  const auto type = [&](ValueId v) {
    if (const Tensor* t = g.constant(v)) {
      TypeInfo info{.dtype = t->dtype(), .has_rank = true};
      for (const int64_t d : t->dims()) info.dims.emplace_back(d);
      return info;
    }
    return g.declared(v);
  };
  const auto constant = [&](ValueId v) { return g.constant(v); };
  std::string out;
  for (const TypeInfo& t : inference.Infer(g, g.body(g.main()).nodes.back(), {type, constant})) {
    out += (out.empty() ? "" : " ") + Show(g, t);
  }
  return out;
}

struct Case {
  const char* graph;
  const char* types;
};

TEST_CASE("Inference: types of one node") {
  const auto inference = MakeOnnxInference();
  for (const Case& c : std::vector<Case>{
           {"g (float[N, C] x) => (y) { y = Relu(x) }", "float[N,C]"},
           {"g (float[N, 3, 8, 8] x, float[4, 3, 3, 3] w) => (y) "
            "{ y = Conv<pads = [1, 1, 1, 1], strides = [2, 2]>(x, w) }",
            "float[N,4,4,4]"},
           {"g (float[N, 2] x, float[N, 1] z) => (y) { y = Add(x, z) }", "float[N,2]"},
           {"g (float[N, 2] x) => (y) <int64[2] s = {0, -1}> { y = Reshape(x, s) }", "float[N,2]"},
           {"g (float[4, 6] x) => (y) <int64[2] s = {3, -1}> { y = Reshape(x, s) }", "float[3,8]"},
           {"g (float[N, 2, 3] x) => (y) <int64[2] s = {-1, 6}> { y = Reshape(x, s) }",
            "float[N,6]"},
           {"g (float[N, 2, M] x) => (y) <int64[3] s = {0, 2, -1}> { y = Reshape(x, s) }",
            "float[N,2,M]"},
           {"g (float[N, M, 6] x) => (y) <int64[4] s = {0, -1, 2, 3}> { y = Reshape(x, s) }",
            "float[N,M,2,3]"},
           {"g (float[N, 2, 3] x) => (y) <int64[2] s = {-1, 3}> { y = Reshape(x, s) }",
            "float[?,3]"},
           {"g (float[N, M] x) => (y) <int64[2] s = {-1, 1}> { y = Reshape(x, s) }", "float[?,1]"},
           {"g (float[4, 6] x) => (y, z) { y, z = TopK(x, x) }", "float[?,?] int64[?,?]"},
           {"g (float[4, 6] x) => (y) { y = Cast<to = 3>(x) }", "int8[4,6]"},
           {"g (float[2, 3] x, int64[1, 1] i) => (y) { y = GatherND(x, i) }", "float[1,3]"},
           {"g (float[2, 3] x, int64[1, 1] i) => (y) { y = GatherND<batch_dims = -900000>(x, i) }",
            "?"},
           {"g (float[4, 6] x) => (a, b) { a, b = Split<axis = 1>(x) }", "float[4,3] float[4,3]"},
           {"g (float[4, 6] x) => (a) { a, \"\" = Split<axis = 1>(x) }", "float[4,3] float[4,3]"},
           {"g () => (y) { y = Constant<value = float[2] {1.0, 2.0}>() }", "float[2]"},
           {"g (float[4] x) => (y) { y = Clip(x, \"\", \"\") }", "float[4]"},
           {"g (float[2, 3] x, float[4, 5] z) => (y) { y = MatMul(x, z) }", "?"},
           {"g (float[2, 3] x, float[4, 5] z) => (y) { y = Add(x, z) }", "?"},
           {"g (float x) => (y) { y = Relu(x, x) }", "?"},
           {"g (float x) => (y) { y = NoSuchOp(x) }", "?"},
           {"g (float x) => (y) { y = com.microsoft.Gelu(x) }", "?[]"},
           {"g (x) => (y) { y = Relu(x) }", "?"},
           {"g (float[2] x) => (y) { y = SequenceConstruct(x) }", "no tensor"},
           {"g (bool c, float[N] x) => (y) { y = If (c) "
            "<then_branch = a () => (float[2, N] o) { o = F(x) }, "
            " else_branch = b () => (float[2, 7] p) { p = F(x) }> }",
            "float[2,?]"},
           {"g (int8[1, 1, 3, 3] x, int8[1, 1, 3, 3] w) => (y) { y = Conv(x, w) }",
            "int8[1,1,1,1]"},
       }) {
    const auto file = Parse(GraphModel(c.graph));
    CAPTURE(c.graph);
    CHECK(Infer(file->graph(), *inference) == c.types);
  }
}

TEST_CASE("Inference: the opset decides, in each body") {
  const auto inference = MakeOnnxInference();
  onnx::ModelProto model = GraphModel("g (float[4, 6] x) => (y) { y = Softmax(x) }");
  CHECK(Infer(Parse(model)->graph(), *inference) == "float[4,6]");
  model.mutable_opset_import(0)->set_version(0);
  CHECK(Infer(Parse(model)->graph(), *inference) == "?");
  model.mutable_opset_import(0)->set_version(int64_t{1} << 40);
  CHECK(Infer(Parse(model)->graph(), *inference) == "float[4,6]");
}

TEST_CASE("Inference: a part of what has a named size has not that size, whatever the opset") {
  const auto inference = MakeOnnxInference();
  onnx::ModelProto model = GraphModel(
      "g (float[N, 6] x) => (y) <int64[2] a = {1, 2}, int64[2] b = {1, 5}> { y = Slice(x, a, b) }");
  for (const int64_t opset : {10, 11, 13}) {
    CAPTURE(opset);
    model.mutable_opset_import(0)->set_version(opset);
    CHECK(Infer(Parse(model)->graph(), *inference) == "float[?,3]");
  }
}

TEST_CASE("Inference: what the library knows under another version, or another name") {
  const auto inference = MakeOnnxInference();
  struct Row {
    int64_t opset;
    std::string inputs, node, types;
  };
  const std::string q = "uint8[N,3,4,4] x, float s, uint8 z, uint8[1,4] y";
  const std::string f = "float[N,6] x, float[6] s, float[6,2] w";
  for (const Row& row : std::vector<Row>{
           {12, "float[N,6] x, int64[3] k", "Reshape(x, k)", "float[?,?,?]"},
           {12, "float[N,6] x", "GreaterOrEqual(x, x)", "bool[N,6]"},
           {11, "float[N,3,5] x",
            "AveragePool<kernel_shape = [2], strides = [3], pads = [0, 1], ceil_mode = 1>(x)",
            "float[N,3,2]"},
           {12, "float[N,3,5] x",
            "MaxPool<kernel_shape = [2], strides = [2], pads = [1, 1], ceil_mode = 1>(x)",
            "float[N,3,3]"},
           {18, "float[N,3,6] x", "LpPool<kernel_shape = [2], strides = [3], ceil_mode = 1>(x)",
            "float[N,3,2]"},
           {9, "float[N,6] x, bool[6] c", "Compress<axis = 1>(x, c)", "float[N,?]"},
           {9, "float[N,3,2,2] x", "MeanVarianceNormalization(x)", "?[N,3,2,2]"},
           {21, "float[N,4,2] x, float[4] s", "GroupNormalization<num_groups = 2>(x, s, s)",
            "?[N,4,2]"},
           {11, f, "LayerNormalization(x, s)", "float[N,6]"},
           {9, f, "ThresholdedRelu(x)", "float[N,6]"},
           {13, f, "com.microsoft.Gelu(x)", "?[N,6]"},
           {13, f, "com.microsoft.FusedMatMul(x, w)", "?[N,2]"},
           {13, f, "com.microsoft.FusedMatMul<transB = 0>(x, w)", "?[N,2]"},
           {13, f, "com.microsoft.FusedMatMul<transA = 1>(x, w)", "?"},
           {13, "float[N,3,4,4] x, float[5,3,3,3] w, float[5] b, float[N,5,2,2] z",
            "com.microsoft.FusedConv(x, w, b, z)", "?[N,5,2,2]"},
           {13, q, "com.microsoft.QLinearAdd(x, s, z, y, s, z, s, z)", "?[N,3,4,4]"},
           {13, q, "com.microsoft.QLinearConcat<axis = 1>(s, z, x, s, z, x, s, z)", "?[N,6,4,4]"},
           {13, q, "com.microsoft.QLinearAveragePool<kernel_shape = [2, 2]>(x, s, z, s, z)",
            "?[N,3,3,3]"},
           {13, q,
            "com.microsoft.QLinearAveragePool<kernel_shape = [2, 2], channels_last = 1>(x, s, z, "
            "s, z)",
            "?"},
           {13, "uint8[N,6] x, float s, uint8 z, uint8[6,2] w",
            "com.microsoft.QGemm(x, s, z, w, s, z)", "?[N,2]"},
       }) {
    CAPTURE(row.node);
    const auto file = Parse(ModelOf(fmt::format(
        R"(<ir_version: 8, opset_import: ["": {}, "com.microsoft": 1]> g ({}) => (r) {{ r = {} }})",
        row.opset, row.inputs, row.node)));
    CHECK(Infer(file->graph(), *inference) == row.types);
  }
}

TEST_CASE("Inference: a reference to an attribute of the caller is not guessed") {
  const auto file = Parse(ModelOf(R"(
    <ir_version: 8, opset_import: ["" : 17, "local" : 1]>
    g (float[N] x) => (float[N] y) { y = local.f<t = 1>(x) }
    <domain: "local", opset_import: ["" : 17]>
    f <t> (p) => (q) { q = Cast<to : int = @t>(p) }
  )"));
  const Graph& g = file->graph();
  const auto type = [](ValueId) { return TypeInfo{.dtype = DType::kFloat}; };
  const auto constant = [](ValueId) -> const Tensor* { return nullptr; };
  const auto types = MakeOnnxInference()->Infer(g, NodeOf(g, "q"), {type, constant});
  CHECK(types == std::vector<TypeInfo>(1));
}

TEST_CASE("Inference: an object serves several models") {
  const auto inference = MakeOnnxInference();
  const auto a = Parse(GraphModel("g (float[2] x) => (y) { y = Relu(x) }"));
  const auto b = Parse(GraphModel("g (float[2] x) => (y) { y = Shape(x) }"));
  CHECK(Infer(a->graph(), *inference) == "float[2]");
  CHECK(Infer(b->graph(), *inference) == "int64[1]");
  CHECK(Infer(a->graph(), *inference) == "float[2]");
}

TEST_CASE("Inference: an answer is for the same attributes, inputs and outputs only") {
  const auto inference = MakeOnnxInference();
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"(float[2,3] x) => (y) { y = Flatten<axis=0>(x) }", "float[1,6]"},
      {"(float[2,3] x) => (y) { y = Flatten<axis=2>(x) }", "float[6,1]"},
      {"(float[2,4] x) => (y) { y = Flatten<axis=2>(x) }", "float[8,1]"},
      {"(float16[2,4] x) => (y) { y = Flatten<axis=2>(x) }", "float16[8,1]"},
      {"(float[N,3] x) => (y) { y = Relu(x) }", "float[N,3]"},
      {"(float[2,3] x) => (y) <int64[2] s = {3, 2}> { y = Reshape(x, s) }", "float[3,2]"},
      {"(float[2,3] x) => (y) <int64[2] s = {6, 1}> { y = Reshape(x, s) }", "float[6,1]"},
  };
  for (int repeat = 0; repeat < 2; ++repeat) {
    for (const auto& [graph, expected] : cases) {
      CAPTURE(graph);
      CHECK(Infer(Parse(GraphModel("g " + graph))->graph(), *inference) == expected);
    }
  }
}

// Not a test of time, which depends on the machine: it prints what a node costs.
TEST_CASE("Inference: cost of a Conv" * doctest::skip()) {
  const auto inference = MakeOnnxInference();
  const auto file = Parse(GraphModel(
      "g (float[N, 3, 8, 8] x, float[4, 3, 3, 3] w) => (y) "
      "{ y = Conv<pads = [1, 1, 1, 1], strides = [2, 2], kernel_shape = [3, 3]>(x, w) }"));
  const Graph& g = file->graph();
  const auto type = [&](ValueId v) { return g.declared(v); };
  const auto constant = [](ValueId) -> const Tensor* { return nullptr; };
  const NodeId node = NodeOf(g, "y");
  constexpr int kTimes = 200000;
  inference->Infer(g, node, {type, constant});
  const auto start = std::chrono::steady_clock::now();
  for (int i = 0; i < kTimes; ++i) inference->Infer(g, node, {type, constant});
  const std::chrono::duration<double, std::micro> spent = std::chrono::steady_clock::now() - start;
  const double each = spent.count() / kTimes;
  MESSAGE(each << " us for a Conv");
}

}  // namespace
}  // namespace qrewrite
