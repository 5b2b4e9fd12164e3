// PrintGraph: what the options do, and graphs that no text makes.
#include <doctest/doctest.h>

#include "tests/unit/text/text_support.h"

namespace qrewrite {
namespace {

TEST_CASE("PrintGraph: constants in place, on a line, or left out") {
  Graph graph;
  CHECK_EQ(Build("x: float\nw = [1.0, 2, 3]\nv = [0.5]\nbig = zeros float[20]\n"
                 "mid = ones float[9]\ns = 0.25\n"
                 "t = Add(x, w)\nu = Add(t, v)\nu2 = Mul(u, v)\nz = Add(u2, big)\n"
                 "q = Mul(z, mid)\ny = Mul(q, s)",
                 graph),
           "");
  CHECK_EQ(PrintGraph(graph, graph.main()),
           "x: float\nt = Add(x, float[3] [1, 2, 3])\nv = float[1] [0.5]\nu = Add(t, v)\n"
           "u2 = Mul(u, v)\nbig = float[20] ...\nz = Add(u2, big)\n"
           "mid = float[9] [1, 1, 1, 1, 1, 1, 1, 1, 1]\nq = Mul(z, mid)\ny = Mul(q, 0.25)\n");
  CHECK_EQ(PrintGraph(graph, graph.main(), {.max_elements = 0}),
           "x: float\nw = float[3] ...\nt = Add(x, w)\nv = float[1] ...\nu = Add(t, v)\n"
           "u2 = Mul(u, v)\nbig = float[20] ...\nz = Add(u2, big)\nmid = float[9] ...\n"
           "q = Mul(z, mid)\ns = float ...\ny = Mul(q, s)\n");
}

TEST_CASE("PrintGraph: chosen nodes, with all they hold") {
  Graph graph;
  CHECK_EQ(Build("x: float\nc: bool\nt = Relu(x)\n"
                 "y = If<then_branch={ a = Add(t, 1) }, else_branch={ b = Neg(t) }>(c)",
                 graph),
           "");
  const NodeId relu = graph.body(graph.main()).nodes[0];
  const NodeId branch = graph.body(graph.main()).nodes[1];
  CHECK_EQ(PrintGraph(graph, graph.main(), {.only = {relu}}), "t = Relu(x)\n");
  CHECK_EQ(PrintGraph(graph, graph.main(), {.only = {branch}}),
           "y = If<else_branch={\n  b = Neg(t)\n}, then_branch={\n  a = Add(t, 1.0)\n}>(c)\n");
  const BodyId inner = graph.SubgraphsOf(branch)[0];
  CHECK_EQ(PrintGraph(graph, inner), "b = Neg(t)\n");
}

TEST_CASE("PrintGraph: declared types") {
  Graph graph;
  CHECK_EQ(Build("x: float[1, N]\nt: uint8[?, 'a b']\nt = my.F(x)\ny = my.G(t)", graph), "");
  CHECK_EQ(PrintGraph(graph, graph.main()), "x: float[1, N]\nt = my.F(x)\ny = my.G(t)\n");
  const std::string typed = "x: float[1, N]\nt: uint8[?, 'a b']\nt = my.F(x)\ny = my.G(t)\n";
  CHECK_EQ(PrintGraph(graph, graph.main(), {.types = true}), typed);
  CHECK_EQ(Rebuilt(typed, {.types = true}), typed);
}

TEST_CASE("PrintGraph: what only models have") {
  Graph graph;
  const ValueId x = graph.AddValue(graph.main(), "");
  graph.AddInput(graph.main(), x);
  const ValueId y = graph.AddValue(graph.main(), "y\n'");
  Attributes attributes;
  attributes.Set("opaque", AttrOpaque{AttrKind::kTypeProto, "bytes"});
  attributes.Set("ref", AttrReference{"alpha", AttrKind::kFloat});
  attributes.Set("to", int64_t{99});
  attributes.Set("odd name", std::string("\x01"));
  attributes.Set("t", Tensor::Own(DType::kComplex64, {1}, std::vector<std::byte>(8)));
  const std::vector<ValueId> inputs = {ValueId(), x, ValueId()};
  const std::vector<ValueId> outputs = {ValueId(), y};
  graph.AddNode(graph.main(), graph.InternOp("d", "F"), inputs, outputs, attributes, "");
  graph.AddNode(graph.main(), graph.InternOp("d", "Sink"), std::vector<ValueId>{y}, {}, {}, "");
  graph.AddOutput(graph.main(), y);
  const std::string text = PrintGraph(graph, graph.main());
  CHECK_EQ(text,
           "'%0': ?\n"
           "_, 'y\\n\\'' = d.F<'odd name'='\\x01', opaque=..., ref=alpha, t=complex64[1] ..., "
           "to=99>(absent, '%0')\n"
           "_ = d.Sink('y\\n\\'')\n"
           "return 'y\\n\\''\n");
}

TEST_CASE("PrintGraph: overridable initializers and graphs with a cycle") {
  Graph graph;
  const ValueId w = graph.AddConstant(graph.main(), "w", Tensor::FloatScalar(2));
  graph.AddInput(graph.main(), w);
  const ValueId a = graph.AddValue(graph.main(), "a"), b = graph.AddValue(graph.main(), "b");
  const OpId add = graph.InternOp("", "Add");
  graph.AddNode(graph.main(), add, std::vector<ValueId>{w, b}, std::vector<ValueId>{a}, {}, "");
  graph.AddNode(graph.main(), add, std::vector<ValueId>{a, a}, std::vector<ValueId>{b}, {}, "");
  CHECK_EQ(PrintGraph(graph, graph.main()), "w = float 2\na = Add(w, b)\nb = Add(a, a)\n");
}

}  // namespace
}  // namespace qrewrite
