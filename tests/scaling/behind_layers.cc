// What stands between a layer, or an input, and its quantizer, and quantizers at every step of it.
#include "family.h"
#include "onnx_writer.h"

namespace scaling {
namespace {

const std::vector<int64_t> kImage = {1, 2, 4, 4};

enum class Form { kPair, kScaled };  // Q and DQ; Clip(Round(Mul))
enum class Place { kEnd, kEach, kBeside };
enum class Steps { kPools, kMoves, kRelus, kMixed };

std::string Quantize(Graph& g, const std::string& x, Form form) {
  if (form == Form::kPair) {
    const std::string s = g.Scalar(0.25F), z = g.Byte(kInt8, 0);
    return g.Node("DequantizeLinear", {g.Node("QuantizeLinear", {x, s, z}), s, z});
  }
  const std::string rounded = g.Node("Round", {g.Node("Mul", {x, g.Scalar(4)})});
  return g.Node("Clip", {rounded, g.Scalar(-128), g.Scalar(127)});
}

std::string Step(Graph& g, const std::string& x, Steps steps, int64_t i) {
  const bool pool = steps == Steps::kPools || (steps == Steps::kMixed && i % 4 == 2);
  if (pool) return g.Node("MaxPool", {x}, {{"kernel_shape", std::vector<int64_t>{1, 1}}});
  if (steps == Steps::kRelus || (steps == Steps::kMixed && i % 2 == 1)) return g.Node("Relu", {x});
  return g.Node("Transpose", {x}, {{"perm", std::vector<int64_t>{0, 1, 3, 2}}});
}

// A convolution of a quantized value and a bias that is added, n steps behind it.
std::string BehindLayer(int64_t n, Form form, Place place, Steps steps) {
  Graph g;
  const std::string w = form == Form::kPair
                            ? g.Node("DequantizeLinear", {g.Raw(kInt8, {2, 2, 1, 1}, "abcd"),
                                                          g.Scalar(0.5F), g.Byte(kInt8, 0)})
                            : g.Floats({2, 2, 1, 1}, {1, 2, 3, 4});
  std::string x = g.Node("Conv", {Quantize(g, g.Input(kFloat, kImage), form), w});
  x = g.Node("Add", {x, g.Floats({2, 1, 1}, {8, 16})});
  for (int64_t i = 0; i < n; ++i) {
    x = Step(g, x, steps, i);
    if (place == Place::kEach) g.Output(Quantize(g, x, form), kFloat, kImage);
    if (place == Place::kBeside) g.Output(Quantize(g, g.Node("Relu", {x}), form), kFloat, kImage);
  }
  g.Output(Quantize(g, x, form), kFloat, kImage);
  return Model(g, 17);
}

// A quantized input, n steps behind it, and at each of them a pair with a scale of its own.
std::string Rescaled(int64_t n, Steps steps) {
  Graph g;
  std::string x = Quantize(g, g.Input(kFloat, kImage), Form::kPair);
  for (int64_t i = 0; i < n; ++i) {
    x = Step(g, x, steps, i);
    const std::string s = g.Scalar(0.5F + static_cast<float>(i) / 65536), z = g.Byte(kInt8, 0);
    g.Output(g.Node("DequantizeLinear", {g.Node("QuantizeLinear", {x, s, z}), s, z}), kFloat,
             kImage);
  }
  return Model(g, 17);
}

}  // namespace

std::vector<Family> BehindLayers() {
  std::vector<Family> families;
  const auto rescaled = [&](const char* name, const char* about, Steps steps) {
    families.push_back({name,
                        std::string("n ") + about + ", a pair of another scale at each",
                        100000,
                        [=](int64_t n) { return Rescaled(n, steps); },
                        {}});
  };
  rescaled("rescaled-pools", "MaxPools", Steps::kPools);
  rescaled("rescaled-moves", "Transposes", Steps::kMoves);
  rescaled("rescaled-relus", "Relus", Steps::kRelus);
  const auto add = [&](const char* name, const char* about, Steps steps) {
    for (const Form form : {Form::kPair, Form::kScaled}) {
      const std::string of = std::string(name) + (form == Form::kPair ? "-pair" : "-scaled");
      const auto row = [&](const char* ending, const char* where, Place place) {
        families.push_back({of + ending,
                            std::string("n ") + about + " behind a layer, " + where,
                            100000,
                            [=](int64_t n) { return BehindLayer(n, form, place, steps); },
                            {}});
      };
      row("", "a quantizer at the end", Place::kEnd);
      row("-each", "a quantizer at each", Place::kEach);
      row("-beside", "Relu and a quantizer at each", Place::kBeside);
    }
  };
  add("layer-pools", "MaxPools", Steps::kPools);
  add("layer-moves", "Transposes", Steps::kMoves);
  add("layer-mixed", "Transposes, Relus and MaxPools", Steps::kMixed);
  return families;
}

}  // namespace scaling
