#include <algorithm>

#include "family.h"
#include "onnx_writer.h"

namespace scaling {
namespace {

const std::vector<int64_t> kRow = {1, 4};

std::vector<std::string> EachOf(Graph& g, const char* op, const std::vector<std::string>& values,
                                const std::vector<std::string>& further = {}) {
  std::vector<std::string> made;
  for (const std::string& value : values) {
    std::vector<std::string> inputs = {value};
    inputs.insert(inputs.end(), further.begin(), further.end());
    made.push_back(g.Node(op, inputs));
  }
  return made;
}

// n readers of one value that are not equal: each adds a constant of its own.
std::vector<std::string> Readers(Graph& g, const std::string& x, int64_t n) {
  std::vector<std::string> made;
  for (int64_t i = 0; i < n; ++i) {
    made.push_back(g.Node("Mul", {x, g.Scalar(static_cast<float>(i) + 0.5F)}));
  }
  return made;
}

std::string ManyReaders(int64_t n) {
  Graph g;
  g.Output(g.Node("Sum", Readers(g, g.Node("Relu", {g.Input(kFloat, kRow)}), n)), kFloat, kRow);
  return Model(g, 17);
}

std::string ReadersOfDequantizer(int64_t n, bool input) {
  Graph g;
  const std::string s = g.Scalar(0.5F), z = g.Byte(kInt8, 0);
  const std::string q =
      input ? g.Input(kInt8, kRow) : g.Node("QuantizeLinear", {g.Input(kFloat, kRow), s, z});
  const std::string x = g.Node("DequantizeLinear", {q, s, z});
  g.Output(g.Node("Sum", Readers(g, x, n)), kFloat, kRow);
  return Model(g, 17);
}

// The same with readers that no rule of Aidge knows.
std::string ForeignReaders(int64_t n) {
  Graph g;
  const std::string x =
      g.Node("DequantizeLinear", {g.Input(kInt8, kRow), g.Scalar(0.5F), g.Byte(kInt8, 0)});
  std::vector<std::string> made;
  for (int64_t i = 0; i < n; ++i) {
    made.push_back(g.Node("Pow", {x, g.Scalar(static_cast<float>(i) + 0.5F)}));
  }
  g.Output(g.Node("Sum", made), kFloat, kRow);
  return Model(g, 17);
}

std::string DequantizersOfOne(int64_t n) {
  Graph g;
  const std::string s = g.Scalar(0.5F), z = g.Byte(kInt8, 0);
  const std::string q = g.Node("QuantizeLinear", {g.Input(kFloat, kRow), s, z});
  std::vector<std::string> made;
  // Three at least: a sum of two is something else to some rule sets.
  for (int64_t i = 0; i < std::max<int64_t>(n, 3); ++i)
    made.push_back(g.Node("DequantizeLinear", {q, s, z}));
  g.Output(g.Node("Sum", made), kFloat, kRow);
  return Model(g, 17);
}

std::string Joined(int64_t n, bool quantized) {
  Graph g;
  const std::string s = g.Scalar(0.5F), z = g.Byte(kUint8, 0);
  std::vector<std::string> parts = Readers(g, g.Input(kFloat, kRow), n);
  if (quantized) parts = EachOf(g, "QuantizeLinear", parts, {s, z});
  std::string y = g.Node("Concat", parts, {{"axis", 1}});
  if (quantized) y = g.Node("DequantizeLinear", {y, s, z});
  g.Output(y, kFloat, {1, 4 * n});
  return Model(g, 17);
}

std::string QLinearJoined(int64_t n) {
  Graph g;
  const std::string s = g.Scalar(0.5F), z = g.Byte(kUint8, 0);
  std::vector<std::string> inputs = {s, z};
  for (const std::string& part : Readers(g, g.Input(kFloat, kRow), n)) {
    inputs.push_back(g.Node("QuantizeLinear", {part, s, z}));
    inputs.push_back(s);
    inputs.push_back(z);
  }
  const std::string y = g.Node("com.microsoft.QLinearConcat", inputs, {{"axis", 1}});
  g.Output(g.Node("DequantizeLinear", {y, s, z}), kFloat, {1, 4 * n});
  return Model(g, 17);
}

std::string Divided(int64_t n, bool quantized) {
  Graph g;
  const std::string s = g.Scalar(0.5F), z = g.Byte(kUint8, 0);
  std::string x = g.Input(kFloat, {1, 2 * n});
  if (quantized) x = g.Node("QuantizeLinear", {x, s, z});
  const std::string sizes = g.Ints(std::vector<int64_t>(static_cast<size_t>(n), 2));
  std::vector<std::string> parts = g.Nodes("Split", {x, sizes}, {{"axis", 1}}, n);
  if (quantized) parts = EachOf(g, "DequantizeLinear", parts, {s, z});
  g.Output(g.Node("Sum", parts), kFloat, {1, 2});
  return Model(g, 17);
}

// A pair with a scale of its own behind each part: of a dequantized value, or of a product.
std::string RescaledParts(int64_t n, bool product) {
  Graph g;
  const std::string s = g.Scalar(0.5F), z = g.Byte(kInt8, 0);
  std::string x = g.Input(kFloat, {1, product ? 2 : n});
  x = g.Node("DequantizeLinear", {g.Node("QuantizeLinear", {x, s, z}), s, z});
  if (product) {
    const std::string w = g.Raw(kInt8, {2, n}, std::string(static_cast<size_t>(2 * n), 'a'));
    x = g.Node("MatMul", {x, g.Node("DequantizeLinear", {w, s, z})});
  }
  const std::string sizes = g.Ints(std::vector<int64_t>(static_cast<size_t>(n), 1));
  std::vector<std::string> parts = g.Nodes("Split", {x, sizes}, {{"axis", 1}}, n);
  for (int64_t i = 0; i < n; ++i) {
    const std::string own = g.Scalar(0.5F + static_cast<float>(i) / 65536);
    std::string& part = parts[static_cast<size_t>(i)];
    part = g.Node("DequantizeLinear", {g.Node("QuantizeLinear", {part, own, z}), own, z});
  }
  g.Output(g.Node("Concat", parts, {{"axis", 1}}), kFloat, {1, n});
  return Model(g, 17);
}

std::string ManyInputs(int64_t n, bool quantized) {
  Graph g;
  const std::string s = g.Scalar(0.5F), z = g.Byte(kUint8, 0);
  for (int64_t i = 0; i < n; ++i) {
    std::string x = g.Input(kFloat, kRow);
    if (quantized) {
      x = g.Node("DequantizeLinear", {g.Node("QuantizeLinear", {x, s, z}), s, z});
    }
    g.Output(g.Node("Relu", {x}), kFloat, kRow);
  }
  return Model(g, 17);
}

std::string BrevitasInputs(int64_t n) {
  Graph g;
  const std::string s = g.Scalar(0.5F), low = g.Scalar(-128), high = g.Scalar(127);
  for (int64_t i = 0; i < n; ++i) {
    const std::string x = g.Input(kFloat, kRow);
    const std::string q = g.Node("Clip", {g.Node("Round", {g.Node("Div", {x, s})}), low, high});
    g.Output(g.Node("Mul", {g.Node("Transpose", {q}), s}), kFloat, {4, 1});
  }
  return Model(g, 13);
}

std::string Independent(int64_t n) {
  Graph g;
  const std::string x = g.Input(kFloat, kRow);
  for (const std::string& y : Readers(g, x, n)) g.Output(g.Node("Relu", {y}), kFloat, kRow);
  return Model(g, 17);
}

// A Sum or Concat of n dequantized inputs, each with a scale of its own.
std::string JoinedDequantizers(int64_t n, const char* op,
                               const std::vector<Attribute>& attributes) {
  Graph g;
  std::vector<std::string> parts;
  for (int64_t i = 0; i < n; ++i) {
    parts.push_back(
        g.Node("DequantizeLinear",
               {g.Input(kInt8, kRow), g.Scalar(static_cast<float>(i) + 0.5F), g.Byte(kInt8, 0)}));
  }
  g.Output(g.Node(op, parts, attributes), kFloat, {1, attributes.empty() ? 4 : 4 * n});
  return Model(g, 17);
}

// The same of a Sum, but a Relu reads each of them, too.
std::string SharedDequantizers(int64_t n) {
  Graph g;
  std::vector<std::string> parts;
  for (int64_t i = 0; i < n; ++i) {
    parts.push_back(
        g.Node("DequantizeLinear", {g.Input(kInt8, kRow), g.Scalar(0.5F), g.Byte(kInt8, 0)}));
    g.Output(g.Node("Relu", {parts.back()}), kFloat, kRow);
  }
  g.Output(g.Node("Sum", parts), kFloat, kRow);
  return Model(g, 17);
}

// n values listed in a sequence and taken out again one by one.
std::string Sequence(int64_t n) {
  Graph g;
  std::vector<std::string> parts;
  for (int64_t i = 0; i < n; ++i) parts.push_back(g.Input(kFloat, kRow));
  const std::string s = g.Node("SequenceConstruct", parts);
  for (int64_t i = 0; i < n; ++i) {
    const std::string at = g.Raw(kInt64, {}, {reinterpret_cast<const char*>(&i), sizeof(i)});
    g.Output(g.Node("Relu", {g.Node("SequenceAt", {s, at})}), kFloat, kRow);
  }
  return Model(g, 17);
}

// One value, n pairs behind it, each with a scale of its own.
std::string QuantizersOfOne(int64_t n) {
  Graph g;
  const std::string x = g.Node("Relu", {g.Input(kFloat, kRow)});
  std::vector<std::string> parts;
  for (int64_t i = 0; i < n; ++i) {
    const std::string s = g.Scalar(static_cast<float>(i) + 0.5F), z = g.Byte(kUint8, 0);
    parts.push_back(g.Node("DequantizeLinear", {g.Node("QuantizeLinear", {x, s, z}), s, z}));
  }
  g.Output(g.Node("Sum", parts), kFloat, kRow);
  return Model(g, 17);
}

// One quantized product, n quantizers behind it, each with a scale of its own.
std::string QuantizersOfProduct(int64_t n) {
  Graph g;
  const std::string s = g.Scalar(0.5F), z = g.Byte(kInt8, 0);
  const std::string x = g.Node("QuantizeLinear", {g.Input(kFloat, {1, 2}), s, z});
  const std::string w = g.Raw(kInt8, {2, 2}, std::string(4, 3));
  const std::string y = g.Node(
      "MatMul", {g.Node("DequantizeLinear", {x, s, z}), g.Node("DequantizeLinear", {w, s, z})});
  for (int64_t i = 0; i < n; ++i) {
    const std::string own = g.Scalar(static_cast<float>(i) + 0.5F);
    const std::string q = g.Node("QuantizeLinear", {y, own, z});
    g.Output(g.Node("DequantizeLinear", {q, own, z}), kFloat, {1, 2});
  }
  return Model(g, 17);
}

// The sizes of a Split as an attribute, its outputs behind layout operators.
std::string SplitAttribute(int64_t n) {
  Graph g;
  const std::string s = g.Scalar(0.5F), z = g.Byte(kUint8, 0);
  const std::string q = g.Node("QuantizeLinear", {g.Input(kFloat, {1, 2 * n}), s, z});
  std::vector<std::string> parts = g.Nodes(
      "Split", {q}, {{"axis", 1}, {"split", std::vector<int64_t>(static_cast<size_t>(n), 2)}}, n);
  parts = EachOf(g, "Transpose", parts);
  parts = EachOf(g, "DequantizeLinear", parts, {s, z});
  g.Output(g.Node("Sum", parts), kFloat, {2, 1});
  return Model(g, 12);
}

// Weights of n channels, each with its scale.
std::string Channels(int64_t n, bool integer) {
  Graph g;
  const auto size = static_cast<size_t>(n);
  const std::string s = g.Scalar(0.5F), z = g.Byte(kUint8, 0);
  const std::string w = g.Raw(kInt8, {n, 1, 1, 1}, std::string(size, 3));
  std::vector<float> values(size);
  for (size_t i = 0; i < size; ++i) values[i] = static_cast<float>(i) + 0.5F;
  const std::string scales = g.Floats({n}, values);
  const std::string zeros = g.Raw(kInt8, {n}, std::string(size, 0));
  const std::string q = g.Node("QuantizeLinear", {g.Input(kFloat, {1, 1, 4, 4}), s, z});
  std::string y;
  if (integer) {
    y = g.Node("DequantizeLinear",
               {g.Node("QLinearConv", {q, s, z, w, scales, zeros, s, z}), s, z});
  } else {
    y = g.Node("Conv", {g.Node("DequantizeLinear", {q, s, z}),
                        g.Node("DequantizeLinear", {w, scales, zeros}, {{"axis", 0}})});
  }
  g.Output(y, kFloat, {1, n, 4, 4});
  return Model(g, 17);
}

std::string ConcatsOfOne(int64_t n) {
  Graph g;
  const std::string x = g.Node("Relu", {g.Input(kFloat, {1, 4})});
  const std::string scale = g.Scalar(0.5F), zero = g.Byte(kUint8, 0);
  for (int64_t i = 0; i < n; ++i) {
    const std::string q = g.Node("QuantizeLinear", {x, scale, zero});
    const std::string joined = g.Node("Concat", {q, q}, {{"axis", 1}});
    g.Output(g.Node("DequantizeLinear", {joined, scale, zero}), kFloat, {1, 8});
  }
  return Model(g, 17);
}

// One network n times over: input and constants are shared, so that all copies are equal.
std::string Networks(int64_t n, bool integer) {
  Graph g;
  const std::string x = g.Input(kFloat, {1, 2, 4, 4});
  const std::string s = g.Scalar(0.5F), z = g.Byte(kUint8, 7), ws = g.Scalar(0.25F);
  const std::string w = g.Raw(kInt8, {2, 2, 1, 1}, std::string(4, 3)), wz = g.Byte(kInt8, 0);
  for (int64_t i = 0; i < n; ++i) {
    const std::string q = g.Node("QuantizeLinear", {x, s, z});
    std::string y;
    if (integer) {
      y = g.Node("QLinearConv", {q, s, z, w, ws, wz, s, z});
      y = g.Node("Transpose", {y}, {{"perm", std::vector<int64_t>{0, 2, 3, 1}}});
    } else {
      y = g.Node("Conv",
                 {g.Node("DequantizeLinear", {q, s, z}), g.Node("DequantizeLinear", {w, ws, wz})});
      y = g.Node("QuantizeLinear", {g.Node("Relu", {y}), s, z});
    }
    g.Output(g.Node("DequantizeLinear", {y, s, z}), kFloat, {});
  }
  return Model(g, 17);
}

}  // namespace

std::vector<Family> Wide() {
  return {
      {"readers", "n readers of one value", 100000, ManyReaders, {}},
      {"readers-of-pair",
       "n readers of one DQ behind a Q",
       100000,
       [](int64_t n) { return ReadersOfDequantizer(n, false); },
       {}},
      {"readers-of-dq",
       "n readers of one DQ of an input",
       100000,
       [](int64_t n) { return ReadersOfDequantizer(n, true); },
       {}},
      {"foreign-readers-of-dq",
       "n readers of one DQ that need the integers",
       100000,
       ForeignReaders,
       {}},
      {"dqs-of-q", "n DQs of one Q", 100000, DequantizersOfOne, {}},
      {"concat", "a Concat of n values", 100000, [](int64_t n) { return Joined(n, false); }, {}},
      {"concat-quantized",
       "a Concat of n quantized values",
       100000,
       [](int64_t n) { return Joined(n, true); },
       {}},
      {"qlinear-concat", "a QLinearConcat of n values", 100000, QLinearJoined, {}},
      {"split", "a Split with n outputs", 100000, [](int64_t n) { return Divided(n, false); }, {}},
      {"split-quantized",
       "a Split of integers with n outputs, a DQ behind each",
       100000,
       [](int64_t n) { return Divided(n, true); },
       {}},
      {"inputs",
       "n inputs and outputs",
       100000,
       [](int64_t n) { return ManyInputs(n, false); },
       {}},
      {"inputs-quantized",
       "n inputs and outputs, a pair behind each",
       100000,
       [](int64_t n) { return ManyInputs(n, true); },
       {}},
      {"inputs-spelled-out", "n inputs with Brevitas' quantizers", 100000, BrevitasInputs, {}},
      {"outputs", "n outputs of one input", 100000, Independent, {}},
      {"sum-of-dqs",
       "a Sum of n dequantized inputs",
       100000,
       [](int64_t n) { return JoinedDequantizers(n, "Sum", {}); },
       {}},
      {"sum-of-shared-dqs", "the same, each with another reader", 100000, SharedDequantizers, {}},
      {"concat-of-dqs",
       "a Concat of n dequantized inputs",
       100000,
       [](int64_t n) {
         return JoinedDequantizers(n, "Concat", {{"axis", 1}});
       },
       {}},
      {"sequence", "n values listed and taken out of the list", 100000, Sequence, {}},
      {"concats-of-one", "n Concats, each takes one value twice", 100000, ConcatsOfOne, {}},
      {"quantizers-of-one", "n pairs behind one value", 100000, QuantizersOfOne, {}},
      {"quantizers-of-product", "n pairs behind one product", 100000, QuantizersOfProduct, {}},
      {"networks-qlinear",
       "n times the same QLinearConv network",
       100000,
       [](int64_t n) { return Networks(n, true); },
       {}},
      {"networks-qdq",
       "n times the same QDQ network",
       100000,
       [](int64_t n) { return Networks(n, false); },
       {}},
      {"parts-rescaled",
       "a Split with n outputs, a pair of another scale behind each",
       100000,
       [](int64_t n) { return RescaledParts(n, false); },
       {}},
      {"parts-rescaled-product",
       "the same of a product",
       100000,
       [](int64_t n) { return RescaledParts(n, true); },
       {}},
      {"split-attribute", "a Split of integers by an attribute", 100000, SplitAttribute, {}},
      {"channels",
       "a convolution with n channels and scales, between Q and DQ",
       1000000,
       [](int64_t n) { return Channels(n, false); },
       {}},
      {"channels-qlinear",
       "a QLinearConv with n channels and scales",
       1000000,
       [](int64_t n) { return Channels(n, true); },
       {}},
  };
}

}  // namespace scaling
