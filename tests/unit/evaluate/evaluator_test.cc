// The evaluators on small models: what they give, that they agree, and what they say when they cannot.
#include "qrewrite/evaluator.h"

#include <cmath>
#include <cstring>
#include <stdexcept>

#include "engine/api/model_impl.h"
#include "engine/evaluate/interpreter.h"
#include "tests/unit/api/api_support.h"

namespace qrewrite {
namespace {

constexpr int kFloat = 1, kInt8 = 3, kInt64 = 7, kBool = 9;

template <class T>
ConstTensor TensorOf(int dtype, std::vector<int64_t> dims, const std::vector<T>& values) {
  const auto bytes = std::as_bytes(std::span(values));
  return {dtype, std::move(dims), std::vector<std::byte>(bytes.begin(), bytes.end())};
}
ConstTensor Floats(const std::vector<float>& values) {
  return TensorOf<float>(kFloat, {static_cast<int64_t>(values.size())}, values);
}

template <class T>
std::vector<T> ValuesOf(const ConstTensor& tensor) {
  std::vector<T> values(tensor.bytes.size() / sizeof(T));
  if (!values.empty()) std::memcpy(values.data(), tensor.bytes.data(), tensor.bytes.size());
  return values;
}

std::unique_ptr<Evaluator> Ort() {
  Result<std::unique_ptr<Evaluator>> evaluator = OnnxRuntime();
  REQUIRE_MESSAGE(evaluator.ok(), evaluator.status().message());
  return *std::move(evaluator);
}

Tensors RunOn(Evaluator& evaluator, const std::string& graph, const Tensors& inputs,
              const std::vector<std::string>& observe = {}) {
  const Model model = ModelOf(graph);
  Result<std::unique_ptr<Session>> session = evaluator.Load(model, observe);
  REQUIRE_MESSAGE(session.ok(), session.status().message());
  Result<Tensors> outputs = (*session)->Run(inputs);
  REQUIRE_MESSAGE(outputs.ok(), outputs.status().message());
  return *outputs;
}

std::string ErrorOf(Evaluator& evaluator, const std::string& graph, const Tensors& inputs,
                    const std::vector<std::string>& observe = {}) {
  const Model model = ModelOf(graph);
  Result<std::unique_ptr<Session>> session = evaluator.Load(model, observe);
  if (!session.ok()) return session.status().message();
  return (*session)->Run(inputs).status().message();
}

constexpr const char* kTwoSteps = R"(g (float[N] x) => (float[N] y) <float[1] two = {2.0}> {
  a = Mul(x, two)  y = Neg(a)
})";

TEST_CASE("Evaluators: the built-in kernels run operators of the host, as they were given them") {
  FunctionRegistry functions;
  const auto times = [](float by) {
    return [by](const OperatorCall& call) -> Result<std::vector<ConstTensor>> {
      return std::vector<ConstTensor>{Floats({by * ValuesOf<float>(call.inputs.at(0)).at(0)})};
    };
  };
  REQUIRE(functions.AddOperator("acme", "Scaled", times(2)).ok());
  REQUIRE(functions.AddOperator("", "Neg", times(3)).ok());
  const std::unique_ptr<Evaluator> evaluator = BuiltinKernels(&functions);
  REQUIRE(functions.AddOperator("acme", "Scaled", times(100)).ok());
  const char* const text =
      "g (float[1] x) => (float[1] y) { a = acme.Scaled(x)  b = Neg(a)  y = Abs(b) }";
  const Tensors inputs = {{"x", Floats({-1})}};
  CHECK(ValuesOf<float>(RunOn(*evaluator, text, inputs).at("y")) == std::vector<float>{6});
  CHECK(ErrorOf(*BuiltinKernels(), text, inputs).find("no built-in kernel") != std::string::npos);
}

TEST_CASE("Evaluators give outputs and observed values, inputs and constants among them") {
  for (const bool ort : {true, false}) {
    const std::unique_ptr<Evaluator> evaluator = ort ? Ort() : BuiltinKernels();
    const Tensors values =
        RunOn(*evaluator, kTwoSteps, {{"x", Floats({1, -3})}}, {"a", "x", "two", "y"});
    CHECK(values.size() == 4);
    CHECK(ValuesOf<float>(values.at("y")) == std::vector<float>{-2, 6});
    CHECK(ValuesOf<float>(values.at("a")) == std::vector<float>{2, -6});
    CHECK(ValuesOf<float>(values.at("x")) == std::vector<float>{1, -3});
    CHECK(ValuesOf<float>(values.at("two")) == std::vector<float>{2});
    CHECK(values.at("a").dims == std::vector<int64_t>{2});
  }
}

TEST_CASE("A session runs again, and on inputs of another size") {
  for (const bool ort : {true, false}) {
    const std::unique_ptr<Evaluator> evaluator = ort ? Ort() : BuiltinKernels();
    const Model model = ModelOf(kTwoSteps);
    Result<std::unique_ptr<Session>> session = evaluator->Load(model);
    REQUIRE(session.ok());
    for (const std::vector<float>& x : {std::vector<float>{1}, {2, 3, 4}, {5}}) {
      const Result<Tensors> values = (*session)->Run({{"x", Floats(x)}});
      REQUIRE(values.ok());
      CHECK(ValuesOf<float>(values->at("y"))[0] == -2 * x[0]);
    }
  }
}

TEST_CASE("Evaluators say what is wrong with a request") {
  struct {
    Tensors inputs;
    std::vector<std::string> observe;
    const char* message;
  } const cases[] = {
      {{}, {}, "input `x` has no value"},
      {{{"x", TensorOf<int8_t>(kInt8, {2}, {1, 2})}}, {}, "input `x` has type float, not int8"},
      {{{"x", TensorOf<float>(kFloat, {1, 1}, {1})}}, {}, "input `x` has shape [?], not [1, 1]"},
      {{{"x", Floats({1})}, {"z", Floats({1})}}, {}, "the model has no input `z`"},
      {{{"x", Floats({1})}}, {"nothing"}, "the model has no value `nothing`"},
  };
  for (const auto& [inputs, observe, message] : cases) {
    for (const bool ort : {true, false}) {
      const std::unique_ptr<Evaluator> evaluator = ort ? Ort() : BuiltinKernels();
      CHECK(Contains(ErrorOf(*evaluator, kTwoSteps, inputs, observe), message));
    }
  }
}

TEST_CASE("An operator without a kernel is named with its node") {
  const std::string message = ErrorOf(*BuiltinKernels(), R"(g (float[N] x) => (float[N] y) {
    a = Neg(x)  y = Bernoulli(a)
  })",
                                      {{"x", Floats({1})}});
  CHECK(Contains(message, "Bernoulli `y`: there is no built-in kernel for this operator"));
}

TEST_CASE("What ONNX Runtime refuses is its error") {
  const std::string message =
      ErrorOf(*Ort(), "g (float[N] x) => (float[N] y) { y = Fantasy(x) }", {{"x", Floats({1})}});
  CHECK(Contains(message, "ONNX Runtime: "));
  CHECK(Contains(message, "Fantasy"));
}

TEST_CASE("A library that is none is an error that names it") {
  const TempFolder folder;
  const std::string path = folder / "libonnxruntime.so";
  WriteFile(path, "no library");
  Result<std::unique_ptr<Evaluator>> evaluator = OnnxRuntime({.library = path});
  CHECK(evaluator.status().code() == StatusCode::kIo);
  CHECK(Contains(evaluator.status().message(), path));
  CHECK(Contains(OnnxRuntime({.library = "libm.so.6"}).status().message(), "OrtGetApiBase"));
  const TempFolder empty;
  CHECK(Contains(OnnxRuntime({.library = empty / ""}).status().message(), "no ONNX Runtime in"));
}

// --- the interpreter's own

TEST_CASE("Branches and loops run, with what they capture") {
  const char* const branch = R"(g (float[2] x, bool c) => (float[2] y) {
    two = Add(x, x)
    t = If(c) <then_branch = a () => (float[2] o) { o = Neg(two) },
               else_branch = b () => (float[2] p) { p = Abs(two) }>
    y = Identity(t)
  })";
  const char* const loop = R"(g (float[2] x, int64 n) => (float[2] y, float[k, 2] all)
      <bool go = {1}> {
    y, all = Loop(n, go, x) <body = b (int64 i, bool c, float[2] s)
        => (bool c2, float[2] t, float[2] each) {
      c2 = Identity(c)  t = Add(s, x)  each = Neg(t)
    }>
  })";
  for (const bool ort : {true, false}) {
    const std::unique_ptr<Evaluator> evaluator = ort ? Ort() : BuiltinKernels();
    for (const bool c : {true, false}) {
      const Tensors values = RunOn(
          *evaluator, branch,
          {{"x", Floats({1, 2})}, {"c", TensorOf<uint8_t>(kBool, {}, {static_cast<uint8_t>(c)})}});
      CHECK(ValuesOf<float>(values.at("y")) ==
            (c ? std::vector<float>{-2, -4} : std::vector<float>{2, 4}));
    }
    const Tensors values =
        RunOn(*evaluator, loop, {{"x", Floats({1, 2})}, {"n", TensorOf<int64_t>(kInt64, {}, {3})}});
    CHECK(ValuesOf<float>(values.at("y")) == std::vector<float>{4, 8});
    CHECK(values.at("all").dims == std::vector<int64_t>{3, 2});
    CHECK(ValuesOf<float>(values.at("all")) == std::vector<float>{-2, -4, -3, -6, -4, -8});
  }
}

TEST_CASE("A function's own attributes have defaults, which a call may leave out") {
  onnx::ModelProto proto;
  REQUIRE(onnx::OnnxParser::Parse(proto, R"(<ir_version: 9, opset_import: ["": 17, "local": 1]>
    g (float[2] x) => (float[2] y, float[2] z) { y = local.Leaky(x)  z = local.Leaky<slope = 4.0>(x) }
    <domain: "local", opset_import: ["": 17]>
    Leaky <slope: float = 0.5> (a) => (b) { b = LeakyRelu<alpha: float = @slope>(a) })")
              .IsOK());
  for (const bool ort : {true, false}) {
    const std::unique_ptr<Evaluator> evaluator = ort ? Ort() : BuiltinKernels();
    const Result<Model> model = FromProto(proto);
    REQUIRE_MESSAGE(model.ok(), model.status().message());
    Result<std::unique_ptr<Session>> session = evaluator->Load(*model);
    REQUIRE_MESSAGE(session.ok(), session.status().message());
    const Result<Tensors> values = (*session)->Run({{"x", Floats({-2, 1})}});
    REQUIRE_MESSAGE(values.ok(), values.status().message());
    CHECK(ValuesOf<float>(values->at("y")) == std::vector<float>{-1, 1});
    CHECK(ValuesOf<float>(values->at("z")) == std::vector<float>{-8, 1});
  }
}

TEST_CASE("A number given for an initial value counts for one run alone, also where that fails") {
  const Model model = ModelOf(
      "g (float[2] x, float[N] w) => (float[2] y) <float[2] w = {1, 2}> "
      "{ y = Add(x, w) }");
  Result<std::unique_ptr<Session>> session = BuiltinKernels()->Load(model);
  REQUIRE_MESSAGE(session.ok(), session.status().message());
  CHECK(!(*session)->Run({{"x", Floats({1, 1})}, {"w", Floats({1, 2, 3})}}).ok());
  const Result<Tensors> values = (*session)->Run({{"x", Floats({1, 1})}});
  REQUIRE_MESSAGE(values.ok(), values.status().message());
  CHECK(ValuesOf<float>(values->at("y")) == std::vector<float>{2, 3});
}

TEST_CASE("Scans run: states, axes, directions, what they capture") {
  // Two states, two scanned inputs (one from its end, along its last axis), three collected outputs.
  const char* const scan = R"(g (float[2] s, float[1] count, float[3, 2] x, float[2, 3] z)
      => (float[2] last, float[1] counted, float[3, 2] sums, float[2, 3] wide, float[3, 2] back) {
    outer = Neg(s)
    last, counted, sums, wide, back = Scan(s, count, x, z) <num_scan_inputs = 2,
        scan_input_axes = [0, -1], scan_input_directions = [0, 1],
        scan_output_axes = [0, 1, 0], scan_output_directions = [0, 0, 1],
        body = b (float[2] t, float[1] c, float[2] u, float[2] v)
            => (float[2] t2, float[1] c2, float[2] sum, float[2] w, float[2] last_w) {
          uv = Mul(u, v)  t2 = Add(t, uv)  c2 = Add(c, c)  sum = Identity(t2)
          w = Sub(outer, v)  last_w = Sub(u, v)
        }>
  })";
  const Tensors inputs = {{"s", Floats({1, 2})},
                          {"count", Floats({3})},
                          {"x", TensorOf<float>(kFloat, {3, 2}, {1, 2, 3, 4, 5, 6})},
                          {"z", TensorOf<float>(kFloat, {2, 3}, {7, 8, 9, 10, 11, 12})}};
  const std::unique_ptr<Evaluator> ort = Ort(), kernels = BuiltinKernels();
  const Tensors expected = RunOn(*ort, scan, inputs), values = RunOn(*kernels, scan, inputs);
  REQUIRE(expected.size() == 5);
  for (const auto& [name, tensor] : expected) {
    INFO(name);
    CHECK(values.at(name).dims == tensor.dims);
    CHECK(ValuesOf<float>(values.at(name)) == ValuesOf<float>(tensor));
  }
  CHECK(ValuesOf<float>(values.at("counted")) == std::vector<float>{24});
}

TEST_CASE("A Scan that does not fit is an error that says why") {
  const std::string scan =
      R"(g (float[1] s, float[n, 1] x, float[m, 1] z) => (float[1] last, float[k, 1] all) {
    last, all = Scan(s, x, z) <num_scan_inputs = 2, MORE
        body = b (float[1] t, float[1] u, float[1] v) => (float[1] t2, float[1] w) {
          t2 = Add(t, u)  w = Add(t2, v)
        }>
  })";
  const auto fault = [&](const std::string& more, int64_t of_x, int64_t of_z) {
    std::string text = scan;
    text.replace(text.find("MORE"), 4, more);
    const auto ones = [](int64_t n) {
      return TensorOf<float>(kFloat, {n, 1}, std::vector<float>(static_cast<size_t>(n), 1));
    };
    return ErrorOf(*BuiltinKernels(), text,
                   {{"s", Floats({1})}, {"x", ones(of_x)}, {"z", ones(of_z)}});
  };
  CHECK(Contains(fault("", 2, 3), "Scan `last`: its inputs have 2 and 3 slices"));
  CHECK(Contains(fault("scan_input_axes = [0, 2],", 2, 2), "axis 2 of a tensor of rank 2"));
  CHECK(Contains(fault("scan_output_directions = [0, 1],", 2, 2),
                 "`scan_output_directions` has 2 numbers, not 1"));
  CHECK(Contains(fault("", 0, 0), "a Scan of nothing gives slices of every turn"));
}

TEST_CASE("A Loop that does not fit is an error that says why") {
  const auto fault = [](const std::string& outputs, const std::string& body, int64_t n) {
    const std::string text = "g (float[1] x, int64 n) => (float[1] z) <bool go = {1}> {\n" +
                             outputs + " = Loop(n, go) <body = b " + body + ">\n z = Neg(x) }";
    return ErrorOf(*BuiltinKernels(), text,
                   {{"x", Floats({1})}, {"n", TensorOf<int64_t>(kInt64, {}, {n})}});
  };
  const std::string fitting =
      "(int64 i, bool c) => (bool c2, int64 o) "
      "{ c2 = Identity(c) o = Identity(i) }";
  const std::string message = "its body does not fit its inputs and outputs";
  CHECK(fault("y", fitting, 3).empty());
  for (const int64_t n : {0, 3}) {  // without iterations, too
    CHECK(Contains(fault("y, more", fitting, n), message));
    CHECK(
        Contains(fault("y", "(int64 i) => (bool c2, int64 o) { c2 = Identity(go) o = Neg(i) }", n),
                 message));
  }
}

TEST_CASE("An output that a branch does not have is none of a Loop or Scan around it") {
  // `q` is the second output of an If whose branches have one.
  const std::string branches =
      R"( p, q = If(go) <then_branch = t () => (float[1] u) { u = Neg(x) },
                         else_branch = e () => (float[1] v) { v = Abs(x) }> )";
  const std::string begin =
      "g (float[1] x, float[3, 2] s) => (float[1] z) "
      "<bool go = {1}, int64 three = {3}> { z = Neg(x) ";
  const Tensors inputs = {{"x", Floats({1})},
                          {"s", TensorOf<float>(kFloat, {3, 2}, {1, 2, 3, 4, 5, 6})}};
  const std::string loop =
      "y = Loop(three, go) <body = b (int64 i, bool c) => (bool c2, float[1] q) {"
      " c2 = Identity(c) " +
      branches + "}> }";
  const std::string scan =
      "y = Scan(s) <num_scan_inputs = 1, body = b (float[2] r) => (float[1] q) {" + branches +
      "}> }";
  for (const std::string& text : {loop, scan}) {
    CHECK(Contains(ErrorOf(*BuiltinKernels(), begin + text, inputs),
                   "`y`: nothing makes an output of its body"));
  }
}

TEST_CASE("A local function runs with the attributes of its call") {
  onnx::ModelProto proto;
  const auto parsed = onnx::OnnxParser::Parse(proto, R"(
    <ir_version: 8, opset_import: ["" : 17, "local" : 1]>
    g (float[N] x) => (float[N] y) { a = local.Leak <slope = 0.5> (x)  y = local.Leak <slope = 2.0> (a) }
    <domain: "local", opset_import: ["" : 17]>
    Leak <slope> (v) => (w) { w = LeakyRelu <alpha: float = @slope> (v) })");
  REQUIRE_MESSAGE(parsed.IsOK(), parsed.ErrorMessage());
  Result<Model> model = FromProto(proto);
  REQUIRE(model.ok());
  for (const bool ort : {true, false}) {
    const std::unique_ptr<Evaluator> evaluator = ort ? Ort() : BuiltinKernels();
    Result<std::unique_ptr<Session>> session = evaluator->Load(*model);
    REQUIRE_MESSAGE(session.ok(), session.status().message());
    const Result<Tensors> values = (*session)->Run({{"x", Floats({-4, 3})}});
    REQUIRE_MESSAGE(values.ok(), values.status().message());
    CHECK(ValuesOf<float>(values->at("y")) == std::vector<float>{-4, 3});
  }
}

TEST_CASE("Functions that call each other too deep are an error of the built-in kernels") {
  constexpr int kDepth = 50'000;
  onnx::ModelProto proto;
  const auto parsed = onnx::OnnxParser::Parse(proto, R"(
    <ir_version: 8, opset_import: ["" : 17, "local" : 1]>
    g (float[N] x) => (float[N] y) { y = local.F0(x) }
    <domain: "local", opset_import: ["" : 17, "local" : 1]>
    F (v) => (w) { w = Relu(v) })");
  REQUIRE_MESSAGE(parsed.IsOK(), parsed.ErrorMessage());
  const onnx::FunctionProto last = proto.functions(0);
  proto.mutable_functions()->Reserve(kDepth);
  for (int i = 0; i < kDepth; ++i) {
    onnx::FunctionProto& function = i == 0 ? *proto.mutable_functions(0) : *proto.add_functions();
    function = last;
    function.set_name("F" + std::to_string(i));
    if (i + 1 == kDepth) break;
    function.mutable_node(0)->set_op_type("F" + std::to_string(i + 1));
    function.mutable_node(0)->set_domain("local");
  }
  Result<Model> model = FromProto(proto);
  REQUIRE_MESSAGE(model.ok(), model.status().message());
  Result<std::unique_ptr<Session>> session = BuiltinKernels()->Load(*model);
  REQUIRE_MESSAGE(session.ok(), session.status().message());
  const Status status = (*session)->Run({{"x", Floats({1})}}).status();
  CHECK(status.code() == StatusCode::kLimit);
  CHECK(status.message().find("too deep for the stack of this thread") != std::string::npos);
}

TEST_CASE("A loop that does not come to an end is an error of the built-in kernels") {
  const Model model = ModelOf(R"(g (float[2] x, int64 n) => (float[2] y) <bool c = {1}> {
      y = Loop(n, c, x) <body = b (int64 i, bool ci, float[2] a) => (bool co, float[2] d) {
        co = Identity(ci)
        d = Neg(a)
      }>
    })");
  GraphInterpreter interpreter = *GraphInterpreter::Make(std::as_const(*model.impl().file).graph(),
                                                         KernelRegistry::Evaluation(), 1000);
  const auto run = [&](int64_t n) {
    const float x[] = {1, 2};
    return interpreter
        .Run({{"x", Tensor::Of<float>(DType::kFloat, {2}, x)}, {"n", Tensor::Int64Scalar(n)}})
        .status();
  };
  CHECK(run(100).ok());
  CHECK(run(100).ok());  // each run has its own budget
  const Status status = run(INT64_MAX);
  CHECK(status.code() == StatusCode::kLimit);
  CHECK(status.message().find("more than 1000 nodes") != std::string::npos);
}

TEST_CASE("Integers are computed exactly, as ONNX Runtime computes them") {
  const char* const graph = R"(g (float[1, 2, 4, 4] x) => (uint8[1, 2, 3, 3] y)
      <float xs = {0.05}, uint8 xz = {120}, float[2] ws = {0.01, 0.02}, int8[2] wz = {0, 0},
       int8[2, 2, 2, 2] w = {1, -2, 3, -4, 5, -6, 7, -8, 9, -10, 11, -12, 13, -14, 15, -16},
       float ys = {0.03}, uint8 yz = {100}, int32[2] b = {50, -70}> {
    q = QuantizeLinear(x, xs, xz)
    y = QLinearConv(q, xs, xz, w, ws, wz, ys, yz, b)
  })";
  std::vector<float> x;
  for (int i = 0; i < 32; ++i) x.push_back(static_cast<float>(i * 7 % 13) * 0.3f - 1.5f);
  const Tensors inputs{{"x", TensorOf<float>(kFloat, {1, 2, 4, 4}, x)}};
  const std::unique_ptr<Evaluator> ort = Ort();
  const Tensors theirs = RunOn(*ort, graph, inputs, {"q"});
  const Tensors ours = RunOn(*BuiltinKernels(), graph, inputs, {"q"});
  for (const char* name : {"q", "y"}) {
    CHECK(ValuesOf<uint8_t>(ours.at(name)) == ValuesOf<uint8_t>(theirs.at(name)));
  }
}

// --- a host's

TEST_CASE("A host runs what it is given") {
  std::vector<std::string> wanted;
  const auto evaluator = HostEvaluator("toy", [&](std::string model, const auto& outputs) {
    wanted = outputs;
    CHECK(Model::Parse(model).ok());
    return Result<HostRun>([](const Tensors& inputs) {
      return Result<Tensors>(Tensors{{"y", inputs.at("x")}, {"a", inputs.at("x")}});
    });
  });
  CHECK(evaluator->Name() == "toy");
  const Tensors values = RunOn(*evaluator, kTwoSteps, {{"x", Floats({7})}}, {"a", "two"});
  CHECK(wanted == std::vector<std::string>{"y", "a"});
  CHECK(ValuesOf<float>(values.at("a")) == std::vector<float>{7});
  CHECK(ValuesOf<float>(values.at("two")) == std::vector<float>{2});
}

TEST_CASE("A host that throws or leaves values out is an error") {
  const auto throws = HostEvaluator("toy", [](std::string, const auto&) -> Result<HostRun> {
    throw std::runtime_error("no chip");
  });
  CHECK(Contains(ErrorOf(*throws, kTwoSteps, {}), "the runtime `toy` threw an exception: no chip"));
  const auto forgets = HostEvaluator("toy", [](std::string, const auto&) {
    return Result<HostRun>([](const Tensors&) { return Result<Tensors>(Tensors()); });
  });
  CHECK(Contains(ErrorOf(*forgets, kTwoSteps, {{"x", Floats({1})}}),
                 "the runtime `toy` gave no value `y`"));
}

// --- two of them

TEST_CASE("Two evaluators that disagree are told, by value; what agrees is not") {
  const Model model = ModelOf(kTwoSteps);
  const Tensors inputs{{"x", Floats({1, -3})}};
  const std::unique_ptr<Evaluator> ort = Ort(), ours = BuiltinKernels();
  Result<std::vector<Disagreement>> found = FindDisagreements(model, inputs, *ort, *ours, {"a"});
  REQUIRE_MESSAGE(found.ok(), found.status().message());
  CHECK(found->empty());
  const auto wrong = HostEvaluator("wrong", [](std::string, const auto&) {
    return Result<HostRun>([](const Tensors&) {
      return Result<Tensors>(Tensors{{"a", Floats({2, -6})}, {"y", Floats({-2, 5})}});
    });
  });
  found = FindDisagreements(model, inputs, *ours, *wrong, {"a"});
  REQUIRE_MESSAGE(found.ok(), found.status().message());
  REQUIRE(found->size() == 1);
  CHECK(found->front().value == "y");
  CHECK(found->front().sqnr_db == doctest::Approx(10 * std::log10(40.0)));
}

}  // namespace
}  // namespace qrewrite
