#include "family.h"
#include "onnx_writer.h"

namespace scaling {
namespace {

const std::vector<int64_t> kSquare = {4, 4};
const std::vector<int64_t> kImage = {1, 2, 4, 4};

std::string Quantize(Graph& g, const std::string& x, int dtype = kUint8) {
  return g.Node("QuantizeLinear", {x, g.Scalar(0.5F), g.Byte(dtype, 0)});
}

std::string Dequantize(Graph& g, const std::string& q, int dtype = kUint8) {
  return g.Node("DequantizeLinear", {q, g.Scalar(0.5F), g.Byte(dtype, 0)});
}

std::string Same(int64_t n, const char* op) {
  Graph g;
  std::string x = g.Input(kFloat, kSquare);
  for (int64_t i = 0; i < n; ++i) x = g.Node(op, {x});
  g.Output(x, kFloat, kSquare);
  return Model(g, 17);
}

// Their shapes follow from what a rule puts in their place, one after the other.
std::string GroupNorms(int64_t n) {
  Graph g;
  const std::vector<int64_t> shape = {1, 4, 2, 2};
  const std::string scale = g.Floats({2}, {0.5F, 2.0F}), bias = g.Floats({2}, {0.0F, 1.0F});
  std::string x = g.Input(kFloat, shape);
  for (int64_t i = 0; i < n; ++i) {
    x = g.Node("GroupNormalization", {x, scale, bias}, {{"num_groups", 2}});
  }
  g.Output(x, kFloat, shape);
  return Model(g, 18);
}

// n operators that only move elements, or pick some; the shape stays.
std::string Moved(Graph& g, std::string x, int64_t n) {
  const std::string shape = g.Ints(kSquare);
  for (int64_t i = 0; i < n; ++i) {
    switch (i % 3) {
      case 0: x = g.Node("Transpose", {x}, {{"perm", std::vector<int64_t>{1, 0}}}); break;
      case 1: x = g.Node("Reshape", {x, shape}); break;
      default: x = g.Node("Flatten", {x}); break;
    }
  }
  return x;
}

std::string MovedBetween(int64_t n, bool quantized, bool dequantized) {
  Graph g;
  std::string x = g.Input(quantized || !dequantized ? kFloat : kUint8, kSquare);
  if (quantized) x = Quantize(g, x);
  x = Moved(g, x, n);
  if (dequantized) x = Dequantize(g, x);
  g.Output(x, quantized && !dequantized ? kUint8 : kFloat, kSquare);
  return Model(g, 17);
}

// A quantizer in front, MaxPools (the names of new values could grow), a dequantizer behind.
std::string Pooled(int64_t n) {
  Graph g;
  std::string x = Quantize(g, g.Input(kFloat, kImage));
  for (int64_t i = 0; i < n; ++i) {
    x = g.Node("MaxPool", {x}, {{"kernel_shape", std::vector<int64_t>{1, 1}}});
  }
  g.Output(Dequantize(g, x), kFloat, kImage);
  return Model(g, 17);
}

// Every Transpose has a reader that dequantizes.
std::string DequantizedSteps(int64_t n) {
  Graph g;
  std::string q = Quantize(g, g.Input(kFloat, kSquare));
  std::vector<std::string> parts;
  for (int64_t i = 0; i < n; ++i) {
    q = g.Node("Transpose", {q}, {{"perm", std::vector<int64_t>{1, 0}}});
    parts.push_back(Dequantize(g, q));
  }
  g.Output(g.Node("Sum", parts), kFloat, kSquare);
  return Model(g, 17);
}

// Behind every Transpose of a row an integer output, which is moved once more.
std::string OutputsAlongMoves(int64_t n) {
  Graph g;
  std::string q = Quantize(g, g.Input(kFloat, kSquare));
  for (int64_t i = 0; i < n; ++i) {
    q = g.Node("Transpose", {q}, {{"perm", std::vector<int64_t>{1, 0}}});
    g.Output(g.Node("Flatten", {q}), kUint8, kSquare);
  }
  return Model(g, 17);
}

// Every step quantizes, and whether that saturates depends on all steps before.
std::string Ranges(int64_t n, bool sums) {
  Graph g;
  const std::string start = g.Node("Relu", {g.Input(kFloat, kSquare)});
  std::string x = start;
  for (int64_t i = 0; i < n; ++i) {
    x = sums ? g.Node("Add", {x, start}) : g.Node("Transpose", {x});
    x = Dequantize(g, Quantize(g, x));
  }
  g.Output(x, kFloat, kSquare);
  return Model(g, 17);
}

// A pair in front and behind, sums of what it bounds between them.
std::string Sums(int64_t n) {
  Graph g;
  const std::string start = g.Node("Relu", {g.Input(kFloat, kSquare)});
  std::string x = start;
  for (int64_t i = 0; i < n; ++i) x = g.Node("Add", {x, start});
  g.Output(Dequantize(g, Quantize(g, x)), kFloat, kSquare);
  return Model(g, 17);
}

// n times `step` on integers between a pair.
std::string IntegersBetween(int64_t n,
                            const std::function<std::string(Graph&, std::string)>& step) {
  Graph g;
  std::string x = Quantize(g, g.Input(kFloat, kSquare));
  for (int64_t i = 0; i < n; ++i) x = step(g, x);
  g.Output(Dequantize(g, x), kFloat, kSquare);
  return Model(g, 17);
}

std::string Squeezed(Graph& g, const std::string& x) {
  const std::string first = g.Ints({0});
  return g.Node("Squeeze", {g.Node("Unsqueeze", {x, first}), first});
}

std::string Clipped(Graph& g, const std::string& x) {
  return g.Node("Clip", {x, g.Byte(kUint8, 3), g.Byte(kUint8, 200)});
}

// What bounds a value lies far above the pair that asks for it.
std::string Bounded(int64_t n) {
  Graph g;
  std::string x = g.Input(kFloat, kSquare);
  const std::string low = g.Scalar(0), high = g.Scalar(7.5F);
  for (int64_t i = 0; i < n; ++i) {
    x = g.Node("Clip", {g.Node("Relu", {x}), low, high});
    if (i % 8 == 7) x = Dequantize(g, Quantize(g, x));
  }
  g.Output(Dequantize(g, Quantize(g, x)), kFloat, kSquare);
  return Model(g, 17);
}

std::string PairDiamonds(int64_t n) {
  Graph g;
  std::string x = g.Input(kFloat, kSquare);
  for (int64_t i = 0; i < n; ++i) {
    const std::string y = Dequantize(g, Quantize(g, x));
    x = g.Node("Add", {y, g.Node("Relu", {Dequantize(g, Quantize(g, y))})});
  }
  g.Output(x, kFloat, kSquare);
  return Model(g, 17);
}

std::string ReadersBehindIdentities(int64_t n) {
  Graph g;
  std::string x = g.Input(kFloat, kSquare);
  for (int64_t i = 0; i < n; ++i) x = g.Node("Identity", {x});
  std::vector<std::string> parts;
  for (int64_t i = 0; i < n; ++i) {
    parts.push_back(g.Node("Mul", {x, g.Scalar(static_cast<float>(i) + 0.5F)}));
  }
  g.Output(g.Node("Sum", parts), kFloat, kSquare);
  return Model(g, 17);
}

std::string Casts(int64_t n) {
  Graph g;
  std::string x = g.Input(kFloat, kSquare);
  for (int64_t i = 0; i < n; ++i) {
    x = g.Node("Cast", {g.Node("Cast", {x}, {{"to", kFloat16}})}, {{"to", kFloat}});
  }
  g.Output(x, kFloat, kSquare);
  return Model(g, 17);
}

std::string Pairs(int64_t n) {
  Graph g;
  std::string x = g.Input(kFloat, kSquare);
  for (int64_t i = 0; i < n; ++i) x = g.Node("Relu", {Dequantize(g, Quantize(g, x))});
  g.Output(x, kFloat, kSquare);
  return Model(g, 17);
}

// What a firing frees is read again far behind it.
std::string Skips(int64_t n) {
  Graph g;
  std::string x = g.Input(kFloat, kSquare);
  std::vector<std::string> steps;
  for (int64_t i = 0; i < n; ++i) {
    steps.push_back(x);
    x = g.Node("Relu", {g.Node("Identity", {x})});
  }
  while (!steps.empty()) {
    x = g.Node("Mul", {x, steps.back()});
    steps.pop_back();
  }
  g.Output(x, kFloat, kSquare);
  return Model(g, 17);
}

// Integers that move between their quantizers, which meet one another when they have moved.
std::string MovesBetweenPairs(int64_t n) {
  Graph g;
  std::string x = g.Input(kFloat, kSquare);
  for (int64_t i = 0; i < n; ++i) x = Dequantize(g, Moved(g, Quantize(g, x), 3));
  g.Output(x, kFloat, kSquare);
  return Model(g, 17);
}

// Each joins what was joined so far with one more; `read`: a Relu reads each of them, too, as in a DenseNet.
std::string Concats(int64_t n, bool read) {
  Graph g;
  const std::string x = g.Input(kFloat, {1, 4});
  std::string y = x;
  for (int64_t i = 0; i < n; ++i) {
    const std::string next = read ? g.Node("ReduceSum", {g.Node("Relu", {y})}) : x;
    y = g.Node("Concat", {y, next}, {{"axis", 1}});
  }
  g.Output(y, kFloat, {1, read ? 4 + n : 4 + 4 * n});
  return Model(g, 17);
}

// Pads, a pair behind each: of one scale, or each of its own.
std::string PadsWithPairs(int64_t n, bool rescaled) {
  Graph g;
  const std::string pads = g.Ints({0, 1, 0, 0}), zero = g.Scalar(0), z = g.Byte(kInt8, 0);
  std::string x = g.Input(kFloat, {1, 4});
  for (int64_t i = 0; i < n; ++i) {
    const std::string s = g.Scalar(rescaled ? 0.5F + static_cast<float>(i) / 65536 : 0.5F);
    x = g.Node("Pad", {x, pads, zero});
    x = g.Node("DequantizeLinear", {g.Node("QuantizeLinear", {x, s, z}), s, z});
  }
  g.Output(x, kFloat, {1, 4 + n});
  return Model(g, 17);
}

}  // namespace

std::vector<Family> Chains() {
  return {
      {"relu-chain", "n times Relu", 100000, [](int64_t n) { return Same(n, "Relu"); }, {}},
      {"identity-chain",
       "n times Identity",
       100000,
       [](int64_t n) { return Same(n, "Identity"); },
       {}},
      {"group-norms", "n GroupNormalizations", 100000, GroupNorms, {}},
      {"pair-chain", "n times Relu(DQ(Q(x))), all of one scale", 100000, Pairs, {}},
      {"moves",
       "n layout operators, nothing quantized",
       100000,
       [](int64_t n) { return MovedBetween(n, false, false); },
       {}},
      {"moves-pair",
       "n layout operators between Q and DQ",
       100000,
       [](int64_t n) { return MovedBetween(n, true, true); },
       {}},
      {"moves-sink",
       "n layout operators behind a Q, an integer output",
       100000,
       [](int64_t n) { return MovedBetween(n, true, false); },
       {}},
      {"moves-source",
       "n layout operators in front of a DQ, an integer input",
       100000,
       [](int64_t n) { return MovedBetween(n, false, true); },
       {}},
      {"moves-outputs",
       "n layout operators behind a Q, an integer output behind each",
       20000,
       OutputsAlongMoves,
       {}},
      {"pools-pair", "n MaxPools between Q and DQ", 100000, Pooled, {}},
      {"steps-dequantized", "n Transposes, a DQ behind each", 100000, DequantizedSteps, {}},
      {"ranges",
       "n pairs and Transposes, of unknown upper bound",
       100000,
       [](int64_t n) { return Ranges(n, false); },
       {}},
      {"ranges-of-sums",
       "n pairs and sums, each bounded by those before",
       100000,
       [](int64_t n) { return Ranges(n, true); },
       {}},
      {"sums", "n sums in front of a pair", 100000, Sums, {}},
      {"squeezes-pair",
       "n times Unsqueeze and Squeeze between Q and DQ",
       100000,
       [](int64_t n) { return IntegersBetween(n, Squeezed); },
       {}},
      {"clips-pair",
       "n times Clip between Q and DQ",
       100000,
       [](int64_t n) { return IntegersBetween(n, Clipped); },
       {}},
      {"bounded", "n times Relu and Clip, a pair behind every eighth", 100000, Bounded, {}},
      {"pair-diamonds", "n times Add(y, Relu(DQ(Q(y)))) with y a DQ", 100000, PairDiamonds, {}},
      {"readers-behind-identities",
       "n Identities, n readers of the last",
       100000,
       ReadersBehindIdentities,
       {}},
      {"skips", "n values, each read by the next and by one far behind", 100000, Skips, {}},
      {"moves-between-pairs", "n times moved between Q and DQ", 100000, MovesBetweenPairs, {}},
      {"casts", "n times to float16 and back", 100000, Casts, {}},
      {"concats", "n times Concat(y, x)", 20000, [](int64_t n) { return Concats(n, false); }, {}},
      {"concats-read",
       "n times Concat(y, ReduceSum(Relu(y)))",
       20000,
       [](int64_t n) { return Concats(n, true); },
       {}},
      {"pads-pairs",
       "n Pads, a pair behind each",
       20000,
       [](int64_t n) { return PadsWithPairs(n, false); },
       {}},
      {"pads-rescaled",
       "the same, each of another scale",
       20000,
       [](int64_t n) { return PadsWithPairs(n, true); },
       {}},
  };
}

}  // namespace scaling
