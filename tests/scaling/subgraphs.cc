#include "family.h"
#include "onnx_writer.h"

namespace scaling {
namespace {

const std::vector<int64_t> kRow = {1, 4};

std::string Prefix(const char* kind, int64_t i) { return kind + std::to_string(i) + "_"; }

// A body that reads `x` from outside.
Graph Body(const std::string& prefix, const std::string& x, const char* op, bool quantized) {
  Graph body(prefix);
  std::string y = x;
  if (quantized) {
    const std::string s = body.Scalar(0.5F), z = body.Byte(kUint8, 0);
    y = body.Node("DequantizeLinear", {body.Node("QuantizeLinear", {y, s, z}), s, z});
  }
  body.Output(body.Node(op, {y}), kFloat, kRow);
  return body;
}

std::string Branches(int64_t n, bool quantized) {
  Graph g;
  const std::string c = g.Input(kBool, {});
  std::string x = g.Input(kFloat, kRow);
  for (int64_t i = 0; i < n; ++i) {
    x = g.Node("If", {c},
               {{"then_branch", Body(Prefix("t", i), x, "Relu", quantized)},
                {"else_branch", Body(Prefix("e", i), x, "Neg", quantized)}});
  }
  g.Output(x, kFloat, kRow);
  return Model(g, 17);
}

// n bodies that all read one value of the main graph.
std::string Readers(int64_t n) {
  Graph g;
  const std::string c = g.Input(kBool, {});
  const std::string x = g.Node("Relu", {g.Input(kFloat, kRow)});
  std::vector<std::string> parts;
  for (int64_t i = 0; i < n; ++i) {
    parts.push_back(g.Node("If", {c},
                           {{"then_branch", Body(Prefix("t", i), x, "Relu", false)},
                            {"else_branch", Body(Prefix("e", i), x, "Neg", false)}}));
  }
  g.Output(g.Node("Sum", parts), kFloat, kRow);
  return Model(g, 17);
}

// If within If; each level has a few nodes of its own.
std::string Nested(int64_t n) {
  Graph g;
  const std::string c = g.Input(kBool, {});
  const std::string x = g.Input(kFloat, kRow);
  Graph inner = Body("i_", x, "Relu", true);
  for (int64_t i = 0; i < n; ++i) {
    Graph level(Prefix("n", i));
    const std::string y = level.Node(
        "If", {c}, {{"then_branch", inner}, {"else_branch", Body(Prefix("e", i), x, "Neg", true)}});
    level.Output(level.Node("Add", {y, level.Node("Relu", {x})}), kFloat, kRow);
    inner = level;
  }
  g.Output(g.Node("If", {c}, {{"then_branch", inner}, {"else_branch", Body("o_", x, "Neg", true)}}),
           kFloat, kRow);
  return Model(g, 17);
}

// One body with n nodes, each of which reads a value of its own from outside.
std::string Captures(int64_t n) {
  Graph g;
  const std::string c = g.Input(kBool, {});
  const std::string x = g.Input(kFloat, kRow);
  Graph body("t_");
  std::vector<std::string> parts;
  for (int64_t i = 0; i < n; ++i) {
    const std::string y = g.Node("Mul", {x, g.Scalar(static_cast<float>(i) + 0.5F)});
    parts.push_back(body.Node("Relu", {y}));
  }
  body.Output(body.Node("Sum", parts), kFloat, kRow);
  g.Output(g.Node("If", {c}, {{"then_branch", body}, {"else_branch", Body("e_", x, "Neg", false)}}),
           kFloat, kRow);
  return Model(g, 17);
}

// Loop: iteration, condition, a carried value; n steps in its body.
std::string LongLoop(int64_t n, bool quantized) {
  Graph g, body("b_");
  const std::string s = body.Scalar(0.5F), z = body.Byte(kUint8, 0);
  body.Input(kInt64, {});
  const std::string go = body.Input(kBool, {});
  std::string x = body.Input(kFloat, kRow);
  for (int64_t i = 0; i < n; ++i) {
    if (quantized) {
      x = body.Node("DequantizeLinear", {body.Node("QuantizeLinear", {x, s, z}), s, z});
    }
    x = body.Node("Relu", {x});
  }
  body.Output(body.Node("Identity", {go}), kBool, {});
  body.Output(x, kFloat, kRow);
  g.Output(
      g.Node("Loop",
             {g.Raw(kInt64, {}, std::string("\3\0\0\0\0\0\0\0", 8)), "", g.Input(kFloat, kRow)},
             {{"body", body}}),
      kFloat, kRow);
  return Model(g, 17);
}

// n local functions, each called once; `nested`: each calls the one before.
std::string Functions(int64_t n, bool nested) {
  Graph g;
  Message functions;
  std::string x = g.Input(kFloat, kRow);
  for (int64_t i = 0; i < n; ++i) {
    Graph body("f_");
    const std::string name = "F" + std::to_string(i);
    const std::string inner = nested && i > 0 ? "local.F" + std::to_string(i - 1) : "Neg";
    const std::string y = body.Node("Relu", {body.Node(inner, {"in"})});
    functions.Text(25, Function(body, name, {"in"}, {y}));
    if (!nested || i + 1 == n) x = g.Node("local." + name, {x});
  }
  g.Output(x, kFloat, kRow);
  return Model(g, 17, functions);
}

// A local function with n inputs and outputs, called once.
std::string WideFunction(int64_t n) {
  Graph g;
  Graph body("f_");
  const std::string x = g.Input(kFloat, kRow);
  std::vector<std::string> given, inputs, outputs;
  for (int64_t i = 0; i < n; ++i) {
    given.push_back(g.Node("Mul", {x, g.Scalar(static_cast<float>(i) + 0.5F)}));
    inputs.push_back("in" + std::to_string(i));
    outputs.push_back(body.Node("Relu", {inputs.back()}));
  }
  const Message functions = Message().Text(25, Function(body, "F", inputs, outputs));
  g.Output(g.Node("Sum", g.Nodes("local.F", given, {}, n)), kFloat, kRow);
  return Model(g, 17, functions);
}

}  // namespace

std::vector<Family> Subgraphs() {
  return {
      {"branches", "n times If in a row", 20000, [](int64_t n) { return Branches(n, false); }, {}},
      {"branches-quantized",
       "n times If in a row, a pair in each branch",
       20000,
       [](int64_t n) { return Branches(n, true); },
       {}},
      {"branches-of-one", "n times If side by side, all reading one value", 20000, Readers, {}},
      {"nested", "If within If, n deep", 24, Nested, {}},
      {"loop", "a Loop with n nodes", 100000, [](int64_t n) { return LongLoop(n, false); }, {}},
      {"loop-quantized",
       "a Loop with n pairs",
       100000,
       [](int64_t n) { return LongLoop(n, true); },
       {}},
      {"functions", "n local functions", 20000, [](int64_t n) { return Functions(n, false); }, {}},
      {"functions-nested",
       "n local functions, each calls the one before",
       20000,
       [](int64_t n) { return Functions(n, true); },
       {}},
      {"function-wide", "a local function with n inputs and outputs", 50000, WideFunction, {}},
      {"function-wide-verified", "the same, held against itself by the built-in kernels", 20000,
       WideFunction, [](int64_t) { return std::string("qrewrite: 1\nname: own\n"); }, Stops::kNever,
       [](const qrewrite::Model& model, const qrewrite::Rules&) {
         const auto kernels = qrewrite::BuiltinKernels();
         return qrewrite::Verify(model, model, *kernels, {.samples = 1}).status();
       }},
      {"captures", "a body that reads n values from outside", 50000, Captures, {}},
  };
}

}  // namespace scaling
