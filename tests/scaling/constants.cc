#include "family.h"
#include "onnx_writer.h"

namespace scaling {
namespace {

const std::vector<int64_t> kSquare = {4, 4};

// n sums, each with a constant of `value(i)`.
template <class ValueOf>
std::string Added(int64_t n, const ValueOf& value) {
  Graph g;
  std::string x = g.Input(kFloat, kSquare);
  for (int64_t i = 0; i < n; ++i) {
    x = g.Node("Add", {x, g.Floats(kSquare, std::vector<float>(16, value(i)))});
  }
  g.Output(x, kFloat, kSquare);
  return Model(g, 17);
}

// n dequantizers of int8 weights, equal or not, each with parameters of its own tensors.
std::string Weights(int64_t n, bool equal) {
  Graph g;
  std::string x = g.Input(kFloat, kSquare);
  for (int64_t i = 0; i < n; ++i) {
    std::string bytes(16, 3);
    const float scale = equal ? 0.5F : 0.5F + static_cast<float>(i) / 1048576;
    if (!equal) bytes[static_cast<size_t>(i % 16)] = static_cast<char>(i / 16);
    const std::string w = g.Node("DequantizeLinear",
                                 {g.Raw(kInt8, kSquare, bytes), g.Scalar(scale), g.Byte(kInt8, 0)});
    x = g.Node("MatMul", {x, w});
  }
  g.Output(x, kFloat, kSquare);
  return Model(g, 17);
}

// n operators on constants alone, each on the one before.
std::string Folded(int64_t n, const char* op) {
  Graph g;
  std::string c = g.Floats(kSquare, std::vector<float>(16, 0.25F));
  const std::string w = g.Floats(kSquare, std::vector<float>(16, 0.25F));
  for (int64_t i = 0; i < n; ++i) c = g.Node(op, {c, w});
  g.Output(g.Node("Add", {g.Input(kFloat, kSquare), c}), kFloat, kSquare);
  return Model(g, 17);
}

// n values computed from constants, all different, all read.
std::string FoldedApart(int64_t n) {
  Graph g;
  std::string x = g.Input(kFloat, kSquare);
  const std::string two = g.Scalar(2);
  for (int64_t i = 0; i < n; ++i) {
    const std::string c = g.Floats(kSquare, std::vector<float>(16, static_cast<float>(i)));
    x = g.Node("Add", {x, g.Node("Mul", {c, two})});
  }
  g.Output(x, kFloat, kSquare);
  return Model(g, 17);
}

}  // namespace

std::vector<Family> Constants() {
  return {
      {"constants-equal",
       "n equal constants",
       100000,
       [](int64_t n) { return Added(n, [](int64_t) { return 0.5F; }); },
       {}},
      {"constants-different",
       "n different constants",
       100000,
       [](int64_t n) { return Added(n, [](int64_t i) { return static_cast<float>(i); }); },
       {}},
      {"weights-equal",
       "n equal dequantized weights",
       100000,
       [](int64_t n) { return Weights(n, true); },
       {}},
      {"weights-different",
       "n different dequantized weights",
       100000,
       [](int64_t n) { return Weights(n, false); },
       {}},
      {"folded-sums",
       "n sums of constants, in a row",
       100000,
       [](int64_t n) { return Folded(n, "Add"); },
       {}},
      {"folded-products",
       "n products of constant matrices, in a row",
       100000,
       [](int64_t n) { return Folded(n, "MatMul"); },
       {}},
      {"folded-apart", "n products of constants, side by side", 100000, FoldedApart, {}},
  };
}

}  // namespace scaling
