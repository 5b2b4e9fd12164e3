#include "family.h"
#include "onnx_writer.h"

namespace scaling {
namespace {

const std::vector<int64_t> kImage = {1, 2, 4, 4};
const std::vector<int64_t> kRow = {1, 4};

// Weights as QDQ exporters write them: int8, a scale and a zero point of their own.
std::string Weight(Graph& g, const std::vector<int64_t>& dims, int64_t seed) {
  int64_t size = 1;
  for (const int64_t dim : dims) size *= dim;
  std::string bytes;
  for (int64_t i = 0; i < size; ++i) bytes.push_back(static_cast<char>(seed + i * 7));
  return g.Raw(kInt8, dims, bytes);
}

float Scale(int64_t i) { return 0.5F + static_cast<float>(i % 1000) / 4096; }

std::string QdqConvs(int64_t n) {
  Graph g;
  std::string x = g.Input(kFloat, kImage);
  for (int64_t i = 0; i < n; ++i) {
    const std::string s = g.Scalar(Scale(i)), z = g.Byte(kUint8, 0);
    const std::string a = g.Node("DequantizeLinear", {g.Node("QuantizeLinear", {x, s, z}), s, z});
    const std::string w = g.Node(
        "DequantizeLinear", {Weight(g, {2, 2, 1, 1}, i), g.Scalar(Scale(i + 1)), g.Byte(kInt8, 0)});
    x = g.Node("Relu", {g.Node("Conv", {a, w})});
  }
  g.Output(x, kFloat, kImage);
  return Model(g, 17);
}

std::string QLinearConvs(int64_t n) {
  Graph g;
  const std::string z = g.Byte(kUint8, 0), wz = g.Byte(kInt8, 0);
  std::string s = g.Scalar(0.5F);
  std::string q = g.Node("QuantizeLinear", {g.Input(kFloat, kImage), s, z});
  for (int64_t i = 0; i < n; ++i) {
    const std::string next = g.Scalar(Scale(i));
    q = g.Node("QLinearConv",
               {q, s, z, Weight(g, {2, 2, 1, 1}, i), g.Scalar(Scale(i + 1)), wz, next, z});
    s = next;
  }
  g.Output(g.Node("DequantizeLinear", {q, s, z}), kFloat, kImage);
  return Model(g, 17);
}

std::string QGemms(int64_t n) {
  Graph g;
  const std::string z = g.Byte(kUint8, 0), wz = g.Byte(kInt8, 0), s = g.Scalar(0.5F);
  std::string q = g.Node("QuantizeLinear", {g.Input(kFloat, kRow), s, z});
  const std::string none;
  for (int64_t i = 0; i < n; ++i) {
    q = g.Node("com.microsoft.QGemm",
               {q, s, z, Weight(g, {4, 4}, i), g.Scalar(Scale(i)), wz, none, s, z});
  }
  g.Output(g.Node("DequantizeLinear", {q, s, z}), kFloat, kRow);
  return Model(g, 17);
}

std::string DynamicMatMuls(int64_t n) {
  Graph g;
  std::string x = g.Input(kFloat, kRow);
  for (int64_t i = 0; i < n; ++i) {
    const std::vector<std::string> q = g.Nodes("DynamicQuantizeLinear", {x}, {}, 3);
    const std::string product =
        g.Node("MatMulInteger", {q[0], Weight(g, {4, 4}, i), q[2], g.Byte(kInt8, 0)});
    x = g.Node("Mul", {g.Node("Cast", {product}, {{"to", kFloat}}),
                       g.Node("Mul", {q[1], g.Scalar(Scale(i))})});
  }
  g.Output(x, kFloat, kRow);
  return Model(g, 17);
}

// n times Max(q, MaxPool(q)): two ways to each value, 2^n from end to end.
std::string Diamonds(int64_t n) {
  Graph g;
  const std::string s = g.Scalar(0.5F), z = g.Byte(kInt8, 0);
  std::string q = g.Node("QuantizeLinear", {g.Input(kFloat, kImage), s, z});
  for (int64_t i = 0; i < n; ++i) {
    q = g.Node("Max", {q, g.Node("MaxPool", {q}, {{"kernel_shape", std::vector<int64_t>{1, 1}}})});
  }
  g.Output(g.Node("DequantizeLinear", {q, s, z}), kFloat, kImage);
  return Model(g, 17);
}

// n MaxPools, three by three what YOLO calls SPPF: in a row, and all four values joined.
std::string Pyramids(int64_t n) {
  Graph g;
  const std::string s = g.Scalar(0.5F), z = g.Byte(kUint8, 0);
  std::string q = g.Node("QuantizeLinear", {g.Input(kFloat, kImage), s, z});
  constexpr int kRow = 3;
  for (int64_t i = 0; i < n; i += kRow) {
    std::vector<std::string> parts = {q};
    for (int k = 0; k < kRow; ++k) {
      parts.push_back(
          g.Node("MaxPool", {parts.back()}, {{"kernel_shape", std::vector<int64_t>{1, 1}}}));
    }
    q = g.Nodes("Split", {g.Node("Concat", parts, {{"axis", 1}}), g.Ints({2, 6})}, {{"axis", 1}},
                2)[0];
  }
  g.Output(g.Node("DequantizeLinear", {q, s, z}), kFloat, kImage);
  return Model(g, 17);
}

// n MaxPools in a row, each with a reader that has a scale of its own.
std::string ReadPools(int64_t n) {
  Graph g;
  const std::string z = g.Byte(kInt8, 0);
  std::string q = g.Node("QuantizeLinear", {g.Input(kFloat, kImage), g.Scalar(0.5F), z});
  for (int64_t i = 0; i < n; ++i) {
    q = g.Node("MaxPool", {q}, {{"kernel_shape", std::vector<int64_t>{1, 1}}});
    g.Output(g.Node("DequantizeLinear", {q, g.Scalar(Scale(i)), z}), kFloat, kImage);
  }
  return Model(g, 17);
}

// A quantizer as Brevitas spells it out, and what undoes it.
std::string Spelled(Graph& g, const std::string& x, float scale) {
  const std::string s = g.Scalar(scale), z = g.Scalar(0);
  const std::string q =
      g.Node("Clip", {g.Node("Round", {g.Node("Add", {g.Node("Div", {x, s}), z})}), g.Scalar(-128),
                      g.Scalar(127)});
  return g.Node("Mul", {g.Node("Sub", {q, z}), s});
}

std::string BrevitasLayouts(int64_t n, bool quantized_behind) {
  Graph g;
  std::string x = Spelled(g, g.Input(kFloat, kImage), 0.5F);
  const std::string shape = g.Ints(kImage);
  for (int64_t i = 0; i < n; ++i) {
    x = i % 2 == 0 ? g.Node("Transpose", {x}, {{"perm", std::vector<int64_t>{0, 1, 3, 2}}})
                   : g.Node("Reshape", {x, shape});
  }
  if (quantized_behind) x = Spelled(g, x, 0.25F);
  g.Output(x, kFloat, kImage);
  return Model(g, 13);
}

// A row of layouts, each with a reader that may undo the quantizer at its head. `spelled`: there is one; else a
// rounding aside.
std::string ReadLayouts(int64_t n, bool spelled) {
  Graph g;
  const std::string in = g.Input(kFloat, kImage), s = g.Scalar(0.5F), z = g.Scalar(3);
  const std::string rounded = g.Node("Round", {g.Node("Div", {in, s})});
  std::string x = in;
  if (spelled) {
    x = g.Node("Clip", {g.Node("Add", {rounded, z}), g.Scalar(-128), g.Scalar(127)});
  } else {
    g.Output(rounded, kFloat, kImage);
  }
  for (int64_t i = 0; i < n; ++i) {
    x = g.Node("Transpose", {x}, {{"perm", std::vector<int64_t>{0, 1, 3, 2}}});
    g.Output(g.Node("Mul", {g.Node("Sub", {x, z}), s}), kFloat, kImage);
  }
  return Model(g, 13);
}

std::string BrevitasConvs(int64_t n) {
  Graph g;
  std::string x = Spelled(g, g.Input(kFloat, kImage), 0.5F);
  for (int64_t i = 0; i < n; ++i) {
    const std::string w = Spelled(
        g, g.Floats({2, 2, 1, 1}, {Scale(i), Scale(i + 1), Scale(i + 2), Scale(i + 3)}), 0.0625F);
    const std::string y = g.Node("Conv", {x, w},
                                 {{"kernel_shape", std::vector<int64_t>{1, 1}},
                                  {"pads", std::vector<int64_t>{0, 0, 0, 0}},
                                  {"dilations", std::vector<int64_t>{1, 1}},
                                  {"strides", std::vector<int64_t>{1, 1}},
                                  {"group", 1}});
    x = Spelled(g, g.Node("Relu", {y}), Scale(i));
  }
  g.Output(x, kFloat, kImage);
  return Model(g, 13);
}

}  // namespace

std::vector<Family> Quantized() {
  return {
      {"qdq-convs", "n convolutions between Q and DQ", 100000, QdqConvs, {}},
      {"qlinear-convs", "n QLinearConvs", 100000, QLinearConvs, {}},
      {"qgemms", "n QGemms", 100000, QGemms, {}},
      {"dynamic-matmuls", "n MatMulIntegers with their quantizers", 100000, DynamicMatMuls, {}},
      {"diamonds", "n times Max(q, MaxPool(q))", 100000, Diamonds, {}},
      {"pyramids", "n MaxPools, joined by three", 100000, Pyramids, {}},
      {"read-pools",
       "n MaxPools in a row, each read with a scale of its own",
       100000,
       ReadPools,
       {}},
      {"brevitas-layouts",
       "n layout operators between spelled out quantizers",
       100000,
       [](int64_t n) { return BrevitasLayouts(n, true); },
       {}},
      {"brevitas-layouts-out",
       "n layout operators behind a spelled out quantizer",
       100000,
       [](int64_t n) { return BrevitasLayouts(n, false); },
       {}},
      {"read-layouts",
       "n layout operators in a row, each with a reader, beside a Round",
       100000,
       [](int64_t n) { return ReadLayouts(n, false); },
       {}},
      {"brevitas-read-layouts",
       "n layout operators in a row behind a spelled out quantizer, each with a reader",
       100000,
       [](int64_t n) { return ReadLayouts(n, true); },
       {}},
      {"brevitas-convs",
       "n convolutions between spelled out quantizers",
       100000,
       BrevitasConvs,
       {}},
  };
}

}  // namespace scaling
