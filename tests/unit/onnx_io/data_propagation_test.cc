// Shapes that are computed from sizes, as inference sees them from node to node.
#include "engine/onnx_io/data_propagation.h"

#include <map>
#include <string>
#include <vector>

#include "engine/graph/type_text.h"
#include "engine/onnx_io/inference.h"
#include "tests/unit/onnx_io/model_maker.h"

namespace qrewrite {
namespace {

// The type of `y`, the last output of the main graph, where the types of inputs and constants alone are given.
std::string TypeOfY(const onnx::ModelProto& model) {
  const auto file = Parse(model);
  const Graph& g = file->graph();
  const auto inference = MakeOnnxInference();
  std::map<uint32_t, TypeInfo> types;
  const auto constant = [&](ValueId v) { return g.constant(v); };
  const auto type = [&](ValueId v) {
    if (const auto known = types.find(v.index); known != types.end()) return known->second;
    if (const Tensor* t = g.constant(v)) {
      TypeInfo info{.dtype = t->dtype(), .has_rank = true};
      for (const int64_t d : t->dims()) info.dims.emplace_back(d);
      return info;
    }
    return g.producer(v).valid() ? TypeInfo() : g.declared(v);
  };
  for (const NodeId n : g.body(g.main()).nodes) {
    const std::vector<TypeInfo> found = inference->Infer(g, n, {type, constant});
    for (size_t i = 0; i < found.size(); ++i) types[g.output(n, i).index] = found[i];
  }
  return TypeText(g, type(g.output(g.main(), 0)));
}

struct Case {
  int64_t opset;
  std::string body, type;
};

TEST_CASE("Data propagation: from sizes to shapes") {
  const std::string inputs = "float[N,4] x, float[1,4] w, float v";
  const std::string constants =
      "int64 zero = {0}, int64 one = {1}, int64[1] zeros = {0}, int64[1] ones = {1}, int64[1] twos "
      "= {2}, "
      "int64[1] all = {-1}, int64[1] far = {4294967296}, int64[1] end = {9223372036854775807}, "
      "int32[1] big = {1000000}";
  for (const Case& c : std::vector<Case>{
           {17, "s = Shape(x) y = Expand(w, s)", "float[N, 4]"},
           {17, "s = Shape(x) y = ConstantOfShape(s)", "float[N, 4]"},
           {17, "s = Shape(x) y = Reshape(v, s)", "float[N, 4]"},
           {17, "s = Shape<start = 1>(x) y = ConstantOfShape(s)", "float[4]"},
           {17,
            "s = Shape(x) n = Gather(s, zero) u = Unsqueeze(n, zeros) c = Concat<axis = 0>(twos, "
            "u, u) y = ConstantOfShape(c)",
            "float[2, N, N]"},
           {17, "s = Shape(x) n = Gather(s, zeros) c = Concat<axis = 0>(n, all) y = Reshape(x, c)",
            "float[N, 4]"},
           {17,
            "s = Shape(x) n = Gather(s, zeros) c = Concat<axis = 0>(n, twos, twos) y = Reshape(x, "
            "c)",
            "float[N, 2, 2]"},
           {17, "s = Shape(x) a = Add(s, twos) y = ConstantOfShape(a)", "float[?, 6]"},
           {17,
            "s = Shape(x) i = Cast<to = 6>(s) m = Mul(i, big) j = Mul(m, big) k = Cast<to = 7>(j) "
            "y = ConstantOfShape(k)",
            "float[?, ?]"},
           // Parts, forwards and backwards; a size that says where.
           {17, "s = Shape(x) t = Slice(s, ones, end, zeros) y = ConstantOfShape(t)", "float[4]"},
           {17, "s = Shape(x) t = Slice(s, all, far, zeros, all) y = ConstantOfShape(t)", "float"},
           {17, "s = Shape(x) t = Slice(s, zeros, twos, zeros, far) y = ConstantOfShape(t)",
            "float[N]"},
           {17,
            "s = Shape(x) n = Gather(s, zeros) t = Slice(s, n, twos, zeros) y = ConstantOfShape(t)",
            "float[..]"},
           {17, "s = Shape(x) t = Gather(s, far) y = ConstantOfShape(t)", "float[?]"},
           // Versions whose schemas do not say it.
           {11, "s = Shape(x) y = Expand(w, s)", "float[N, 4]"},
           {11,
            "s = Shape(x) n = Gather(s, zero) u = Unsqueeze<axes = [0]>(n) c = Concat<axis = 0>(u, "
            "twos) y = ConstantOfShape(c)",
            "float[N, 2]"},
           {9, "s = Shape(x) t = Slice<starts = [1], ends = [2]>(s) y = ConstantOfShape(t)",
            "float[?]"},
           // No vectors, or not of integers.
           {17, "s = Shape(x) t = Unsqueeze(s, zeros) r = Reshape(t, all) y = ConstantOfShape(r)",
            "float[?, ?]"},
           {17, "s = Shape(x) f = Cast<to = 1>(s) i = Cast<to = 7>(f) y = ConstantOfShape(i)",
            "float[?, ?]"},
           // Counting.
           {17, "s = Shape(x) n = Gather(s, zero) y = Range(zero, n, one)", "int64[N]"},
           {11, "s = Shape(x) n = Gather(s, zero) y = Range(zero, n, one)", "int64[N]"},
           {17, "s = Shape(x) n = Gather(s, one) y = Range(zero, n, one)", "int64[4]"},
           {17, "s = Shape(x) n = Gather(s, zero) y = Range(one, n, one)", "int64[?]"},
           {17, "s = Shape(x) n = Gather(s, zero) t = Add(one, one) y = Range(zero, n, t)",
            "int64[?]"},
       }) {
    CAPTURE(c.body);
    onnx::ModelProto model = ModelOf("<ir_version: 8, opset_import: [\"\" : 17]>\ng (" + inputs +
                                     ") => (y) <" + constants + "> { " + c.body + " }");
    model.mutable_opset_import(0)->set_version(c.opset);
    CHECK(TypeOfY(model) == c.type);
  }
}

TEST_CASE("Data propagation: sums of sums are given up before they are many") {
  std::string body = "s = Shape(x) a0 = Add(s, s)";
  for (int i = 1; i <= 60; ++i) {
    const std::string last = "a" + std::to_string(i - 1);
    body += " a" + std::to_string(i) + " = Add(" + last + ", " + last + ")";
  }
  for (const auto& [last, type] : std::vector<std::pair<std::string, std::string>>{
           {"a20", "float[?, 8388608]"}, {"a60", "float[?, ?]"}}) {
    CHECK(TypeOfY(GraphModel("g (float[N,4] x) => (y) { " + body + " y = ConstantOfShape(" + last +
                             ") }")) == type);
  }
}

}  // namespace
}  // namespace qrewrite
