#include <doctest/doctest.h>

#include <map>
#include <string>

#include "engine/match/facts.h"
#include "tests/support/rule_run.h"

using namespace qrewrite;
using qrewrite::testing::MakeGraph;

namespace {

struct Fixture {
  RuleSet rules;
  Graph graph;
  std::unique_ptr<ShapeInference> inference = MakeOnnxInference();
  std::unique_ptr<Facts> facts;

  void Load(const std::string& text, int64_t opset = 21) {
    graph = MakeGraph(text, rules, opset);
    facts = std::make_unique<Facts>(graph, rules.signatures, KernelRegistry::Builtin(),
                                    inference.get());
  }
  ValueId Value(std::string_view name) const {
    for (size_t v = 0; v < graph.num_values(); ++v) {
      if (graph.alive(ValueId(v)) && graph.name(ValueId(v)) == name) return ValueId(v);
    }
    FAIL("no such value");
    return {};
  }
  float Scalar(std::string_view name) {
    const Tensor* t = facts->Constant(Value(name));
    REQUIRE(t != nullptr);
    return t->as<float>()[0];
  }
};

}  // namespace

TEST_CASE_FIXTURE(Fixture, "Constants follow a value that is redefined, and its readers") {
  Load(
      "x: float\na = Add(1.0, 2.0)\nb = Neg(a)\nc = Neg(b)\ny = Add(x, c)\nn = Neg(5.0)\nreturn y, "
      "n");
  CHECK(Scalar("c") == 3);
  const ValueId a = Value("a"), n = Value("n");
  const NodeId neg = graph.producer(n);
  graph.SetOutput(graph.main(), 1, a);
  graph.SetProducer(a, neg, 0);  // a = Neg(5)
  facts->Redefined(a);
  CHECK(Scalar("c") == -5);
  CHECK(facts->Constant(Value("y")) == nullptr);
}

TEST_CASE_FIXTURE(Fixture, "Constants follow a node that reads another value") {
  Load(
      "x: float\na = Add(1.0, 2.0)\ne = Add(4.0, 4.0)\nb = Neg(a)\nc = Neg(b)\ny = Add(x, c)\n"
      "return y, e");
  CHECK(Scalar("c") == 3);
  const NodeId b = graph.producer(Value("b"));
  graph.SetInput(b, 0, Value("e"));
  facts->Reread(b);
  CHECK(Scalar("c") == 8);
  graph.SetInput(b, 0, Value("x"));
  facts->Reread(b);
  CHECK(facts->Constant(Value("c")) == nullptr);
}

TEST_CASE_FIXTURE(Fixture, "What is cut off is computed anew when its ids are used again") {
  Load("x: float\na = Add(1.0, 2.0)\ny = Add(x, a)");
  const Graph::Mark mark = graph.mark();
  const auto add = [&](std::string_view op) {
    const std::vector<ValueId> inputs = {Value("a")}, outputs = {graph.AddValue(graph.main(), "t")};
    graph.AddNode(graph.main(), graph.InternOp("", op), inputs, outputs, {}, "");
  };
  add("Neg");
  CHECK(Scalar("t") == -3);
  graph.Undo(mark);
  facts->Truncate(mark.values);
  add("Identity");
  CHECK(Scalar("t") == 3);
}

TEST_CASE_FIXTURE(Fixture, "Types follow a value that has another one, and its readers") {
  Load(
      "x: float[4]\nw: float[4]\na = Relu(x)\nb = Add(a, a)\nc: bool\ng = If<then_branch={ t = "
      "Neg(b) }, "
      "else_branch={ e = Abs(b) }>(c)\nn = Neg(w)\nreturn g, n");
  std::vector<std::string> forgotten;
  facts->SetForgotten([&](ValueId v) { forgotten.emplace_back(graph.name(v)); });
  const auto dtype = [&](std::string_view name) { return facts->Type(Value(name)).dtype; };
  CHECK(dtype("g") == DType::kFloat);
  CHECK(dtype("n") == DType::kFloat);
  const auto retype = [&](DType to) {
    TypeInfo type = graph.declared(Value("x"));
    type.dtype = to;
    graph.SetDeclared(Value("x"), type);
    for (const char* name : {"a", "b", "g"}) graph.SetDeclared(Value(name), TypeInfo());
    forgotten.clear();
    facts->Retyped(Value("x"));
  };
  retype(DType::kInt8);
  CHECK(std::ranges::count(forgotten, "a") == 1);
  CHECK(std::ranges::count(forgotten, "b") == 1);
  CHECK(std::ranges::count(forgotten, "g") == 1);
  CHECK(std::ranges::count(forgotten, "n") == 0);
  CHECK(facts->dtype(Value("b")) == DType::kInt8);
  CHECK(dtype("g") == DType::kInt8);
  // What nobody asked is not gone through.
  retype(DType::kInt16);
  retype(DType::kInt32);
  CHECK(forgotten == std::vector<std::string>{"x"});
  CHECK(dtype("g") == DType::kInt32);
  // Behind what was not known, and is asked anew by each sweep, too.
  retype(DType::kUndefined);
  CHECK(dtype("b") == DType::kUndefined);
  facts->ForgetUnknown();
  retype(DType::kInt64);
  CHECK(facts->dtype(Value("g")) == DType::kInt64);
}

TEST_CASE_FIXTURE(Fixture,
                  "An element type that a type variable does not allow is one all the same") {
  Load("x: float[4]\nq = QuantizeLinear(x, 0.5, int16 0)", /*opset=*/13);
  CHECK(facts->dtype(Value("q")) == DType::kInt16);
}

TEST_CASE_FIXTURE(Fixture, "Claims count, but not as evidence") {
  Load("x: float[N, 3]\nt = Relu(x)\ny = Neg(t)");
  TypeInfo claim{.dtype = DType::kFloat, .has_rank = true, .dims = {Dim(4), Dim(3)}};
  graph.SetDeclared(Value("t"), claim);
  CHECK(facts->Type(Value("y")) == claim);
  CHECK(facts->InferredType(Value("y")) == graph.declared(Value("x")));
}

TEST_CASE_FIXTURE(Fixture, "Shapes that do not broadcast contradict the operator") {
  Load(
      "a: float[2]\nb: float[3]\nc: float[N]\ny = Add(a, b)\nz = Add(a, c)\nw = Add(Relu(b), "
      "b)\nreturn y, z, w");
  CHECK(facts->Contradicts(graph.producer(Value("y"))));
  CHECK_FALSE(facts->Contradicts(graph.producer(Value("z"))));
  // A wrong claim makes no contradiction.
  const ValueId relu = graph.input(graph.producer(Value("w")), 0);
  graph.SetDeclared(relu, {.dtype = DType::kFloat, .has_rank = true, .dims = {Dim(7)}});
  CHECK_FALSE(facts->Contradicts(graph.producer(Value("w"))));
}

TEST_CASE_FIXTURE(Fixture, "A domain that is not imported has its newest operators") {
  Load("x: float[4]\ny = Relu(x)");
  const Signature* newest = rules.signatures.Newest("com.microsoft", "Gelu");
  REQUIRE(newest != nullptr);
  const std::vector<ValueId> inputs = {Value("x")}, outputs = {graph.AddValue(graph.main(), "g")};
  const NodeId n =
      graph.AddNode(graph.main(), graph.InternOp("com.microsoft", "Gelu"), inputs, outputs, {}, "");
  CHECK(facts->SignatureOf(n) == newest);
}

TEST_CASE_FIXTURE(Fixture, "Folding ends where its share of work does") {
  Load(
      "x: float[8, 8]\nc = Expand(0.5, [8, 8])\nd = MatMul(c, c)\ne = MatMul(d, c)\n"
      "f = Neg(c)\ny = Add(Add(x, e), f)");
  facts->SetConstantsConfig(nullptr, 1 << 20, /*max_work=*/2 * 8 * 8 * 8);
  CHECK(facts->Constant(Value("d")) != nullptr);
  CHECK(facts->Constant(Value("e")) == nullptr);  // a second product is too much
  CHECK(facts->Constant(Value("f")) != nullptr);  // but what takes little is done
  CHECK(facts->over_budget() == 1);
}

TEST_CASE_FIXTURE(Fixture,
                  "An answer of inference is remembered by types, not where it read a constant") {
  Load(
      "x: float[2, 6]\nw: float[2, 3, 2]\n"
      "a = Reshape(x, [3, 4])\nb = Reshape(x, [4, 3])\n"
      "c = Relu(x)\nd = Relu(w)\ne = Relu(c)\n"
      "f = Transpose<perm=[1, 0]>(x)\ng = Transpose<perm=[0, 1]>(x)\n"
      "h = Cast<to=INT8>(x)\ni = Cast<to=INT32>(x)\nreturn a, b, d, e, f, g, h, i");
  const auto shape = [&](std::string_view name) {
    std::vector<int64_t> sizes;
    for (const Dim dim : facts->Type(Value(name)).dims) sizes.push_back(dim.size());
    return sizes;
  };
  using Sizes = std::vector<int64_t>;
  CHECK(shape("a") == Sizes{3, 4});
  CHECK(shape("b") == Sizes{4, 3});
  CHECK(shape("d") == Sizes{2, 3, 2});
  CHECK(shape("e") == Sizes{2, 6});
  CHECK(shape("f") == Sizes{6, 2});
  CHECK(shape("g") == Sizes{2, 6});
  CHECK(facts->Type(Value("h")).dtype == DType::kInt8);
  CHECK(facts->Type(Value("i")).dtype == DType::kInt32);
}

TEST_CASE_FIXTURE(Fixture, "What is computed has the shape that it has") {
  // ONNX Runtime takes vectors of one element, onnx's inference does not.
  Load("x: float[N]\nr = Range(int64 0, int64[1] [3], int64 1)\ny = Gather(x, r)\nreturn y, r");
  const TypeInfo& type = facts->Type(Value("r"));
  REQUIRE(type.has_rank);
  REQUIRE(type.dims.size() == 1);
  CHECK(type.dims[0] == Dim(3));
  CHECK(facts->Type(Value("y")).dims.size() == 1);
}

TEST_CASE_FIXTURE(Fixture,
                  "An input is not taken for an output where the same operator is asked again") {
  Load("s: int64[1]\nx: float[4]\na, b = Split(x)\ny = Split(x, s)\nreturn a, b, y", 13);
  facts->Type(Value("s"));  // the first type there is
  CHECK(facts->Type(Value("a")).dims == std::vector<Dim>{Dim(2)});
  CHECK(facts->Type(Value("y")).dtype == DType::kFloat);
  CHECK_FALSE(facts->Type(Value("y")).known_shape());
}
