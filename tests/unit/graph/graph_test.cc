#include "engine/graph/graph.h"

#include <doctest/doctest.h>

#include "engine/graph/verify.h"
#include "tests/support/graph_maker.h"

namespace qrewrite {
namespace {

void CheckSound(const Graph& graph) {
  const Status status = Verify(graph);
  CHECK_MESSAGE(status.ok(), status.message());
}

TEST_CASE("Graph: operators are interned, ai.onnx is the empty domain") {
  Graph g;
  const OpId relu = g.InternOp("ai.onnx", "Relu");
  CHECK(g.InternOp("", "Relu") == relu);
  CHECK(g.FindOp("ai.onnx", "Relu") == relu);
  CHECK(g.InternOp("com.microsoft", "Relu") != relu);
  CHECK(!g.FindOp("", "Gelu").valid());
  CHECK(g.op_name(relu).text() == "Relu");
  CHECK(g.op_name(g.FindOp("com.microsoft", "Relu")).text() == "com.microsoft.Relu");
}

TEST_CASE("Graph: nodes and constants are counted") {
  GraphMaker m;
  Graph& g = m.graph;
  const ValueId x = m.Input("x");
  const ValueId v = g.AddConstant(g.main(), "v", Tensor::Int64s({1, 2, 3}));
  const ValueId s = g.AddConstant(g.main(), "s", Tensor::Strings({2}, {"ab", "cde"}));
  const ValueId y = m.Node("Add", {x, v}, "y");
  CHECK(g.num_alive_nodes() == 1);
  CHECK(g.num_constants() == 2);
  CHECK(g.constant_bytes() == 24 + 5);
  g.SetConstant(v, Tensor::Int64s({1}));
  CHECK(g.num_constants() == 2);
  CHECK(g.constant_bytes() == 8 + 5);
  g.RemoveConstant(s);
  CHECK(g.num_constants() == 1);
  const Graph::Mark mark = g.mark();
  g.AddConstant(g.main(), "w", Tensor::Int64s({1, 2}));
  m.Node("Relu", {x}, "z");
  CHECK(g.num_alive_nodes() == 2);
  CHECK(g.constant_bytes() == 8 + 16);
  g.Undo(mark);
  CHECK(g.num_alive_nodes() == 1);
  CHECK(g.num_constants() == 1);
  CHECK(g.constant_bytes() == 8);
  g.RemoveNode(m.Producer(y));
  CHECK(g.num_alive_nodes() == 0);
  CheckSound(g);
}

TEST_CASE("Graph: use lists know every operand slot in order") {
  GraphMaker m;
  const ValueId x = m.Input("x"), w = m.Constant("w");
  const ValueId a = m.Node("Add", {x, w}, "a");
  const ValueId b = m.Node("Mul", {w, w}, "b");
  m.Output(b);
  m.Output(w);
  CHECK(m.Readers(w) == "a:1 b:0 b:1 output:1");
  CHECK(m.graph.num_uses(w) == 4);
  CHECK(m.graph.IsOutput(w));
  CHECK(!m.graph.IsOutput(x));
  CHECK(!m.graph.HasReaders(m.Producer(a)));
  CheckSound(m.graph);
}

TEST_CASE("Graph: absent operands are no uses") {
  GraphMaker m;
  const ValueId x = m.Input("x");
  const ValueId y = m.Nodes("Clip", {x, ValueId(), x}, {"y"})[0];
  CHECK(m.Readers(x) == "y:0 y:2");
  CHECK(!m.graph.input(m.Producer(y), 1).valid());
  m.graph.SetInput(m.Producer(y), 1, x);
  m.graph.SetInput(m.Producer(y), 0, ValueId());
  CHECK(m.Readers(x) == "y:2 y:1");
  CheckSound(m.graph);
}

TEST_CASE("Graph: ReplaceUses moves every reader, outputs too") {
  GraphMaker m;
  const ValueId x = m.Input("x");
  const ValueId a = m.Node("Relu", {x}, "a"), b = m.Node("Relu", {x}, "b");
  m.Node("Add", {a, a}, "c");
  m.Output(a);
  m.graph.ReplaceUses(a, b);
  CHECK(m.graph.num_uses(a) == 0);
  CHECK(!m.graph.IsOutput(a));
  CHECK(m.Readers(b) == "c:0 c:1 output:0");
  CHECK(m.graph.output(m.graph.main(), 0) == b);
  m.graph.ReplaceUses(b, b);
  CHECK(m.graph.num_uses(b) == 3);
  CheckSound(m.graph);
}

TEST_CASE("Graph: a value is redefined and keeps its name and its readers") {
  GraphMaker m;
  const ValueId x = m.Input("x");
  const ValueId y = m.Node("Sigmoid", {x}, "y");
  const ValueId z = m.Node("Relu", {y}, "z");
  m.Output(z);
  m.Output(y);
  const NodeId before = m.Producer(y);
  const ValueId spare = m.Node("Tanh", {x}, "spare");
  const NodeId after = m.Producer(spare);
  m.graph.SetProducer(y, after, 0);
  CHECK(m.graph.producer(y) == after);
  CHECK(m.graph.name(y) == "y");
  CHECK(m.Readers(y) == "z:0 output:1");
  CHECK(!m.graph.alive(spare));
  CHECK(!m.graph.output(before, 0).valid());
  CHECK(!m.graph.HasReaders(before));
  m.graph.RemoveNode(before);
  CHECK(!m.graph.alive(before));
  CHECK(m.graph.alive(y));
  CHECK(m.graph.num_uses(x) == 1);
  CheckSound(m.graph);
}

TEST_CASE("Graph: outputs swap between nodes") {
  GraphMaker m;
  const ValueId x = m.Input("x");
  const std::vector<ValueId> v = m.Nodes("Split", {x}, {"a", "b"});
  m.Output(v[0]);
  m.Output(v[1]);
  const NodeId split = m.Producer(v[0]);
  m.graph.DropProducer(v[0]);
  CHECK(!Verify(m.graph).ok());  // an output that nothing computes
  m.graph.SetProducer(v[1], split, 0);
  m.graph.SetProducer(v[0], split, 1);
  CHECK(m.graph.output_index(v[0]) == 1);
  CHECK(m.graph.output_index(v[1]) == 0);
  CheckSound(m.graph);
}

TEST_CASE("Graph: inputs that are removed one by one, the others stay in order") {
  GraphMaker m;
  const BodyId main = m.graph.main();
  std::vector<ValueId> all;
  for (int i = 0; i < 9; ++i) {
    all.push_back(m.Constant("w" + std::to_string(i), 7));
    m.graph.AddInput(main, all.back());
  }
  std::vector<ValueId> left = all;
  for (const size_t gone : {8, 0, 4, 2, 6, 1}) {
    std::erase(left, all[gone]);
    m.graph.RemoveInput(main, all[gone]);
    m.graph.RemoveInput(main, all[gone]);  // which it is no more
    CHECK(m.graph.inputs() == left);
    CheckSound(m.graph);
  }
  m.graph.AddInput(main, all[1]);  // while others are about to be forgotten
  left.push_back(all[1]);
  CHECK(m.graph.inputs() == left);
  CheckSound(m.graph);
}

TEST_CASE("Graph: initializers come and go with their graph-input twins") {
  GraphMaker m;
  const ValueId w = m.Constant("w", 7);
  m.graph.AddInput(m.graph.main(), w);
  CHECK(m.graph.Overridable(w));
  CHECK(m.graph.constant(w) != nullptr);
  m.graph.RemoveConstant(w);
  CHECK(!m.graph.alive(w));
  CHECK(m.graph.inputs().empty());
  const ValueId v = m.graph.AddValue(m.graph.main(), "v");
  m.graph.SetConstant(v, Tensor::Int64Scalar(1));
  m.graph.SetConstant(v, Tensor::Int64Scalar(2));
  CHECK(ToInt64s(*m.graph.constant(v)).status().ok());
  CheckSound(m.graph);
}

TEST_CASE("Graph: a capture is a use; subgraphs go with their node") {
  GraphMaker m;
  const ValueId c = m.Input("c"), x = m.Input("x");
  const ValueId a = m.Node("Relu", {x}, "a");
  BodyId inner;
  const BodyId outer = m.Subgraph([&] {
    const ValueId t = m.Node("Neg", {a}, "t");
    inner = m.Subgraph([&] { m.Output(m.Node("Add", {t, a}, "u")); });
    m.Output(m.Node("If", {c}, "v", {{"then_branch", inner}}));
  });
  const ValueId y = m.Node("If", {c}, "y", {{"then_branch", outer}});
  m.Output(y);
  CHECK(m.Readers(a) == "t:0 u:1");
  CHECK(m.graph.body(outer).owner == m.Producer(y));
  CHECK(m.graph.SubgraphsOf(m.Producer(y)) == std::vector<BodyId>{outer});
  CHECK(m.graph.Encloses(m.graph.main(), inner));
  CHECK(!m.graph.Encloses(inner, outer));
  const NodeId u = m.graph.body(inner).nodes[0];
  CHECK(m.graph.AncestorIn(m.graph.main(), u) == m.Producer(y));
  CHECK(m.graph.AncestorIn(inner, u) == u);
  CHECK(!m.graph.AncestorIn(inner, m.Producer(a)).valid());
  CheckSound(m.graph);

  const ValueId flat = m.Node("Identity", {a}, "flat");
  m.graph.SetProducer(y, m.Producer(flat), 0);
  m.graph.RemoveNode(m.graph.body(m.graph.main()).nodes[1]);
  CHECK(!m.graph.body(outer).alive);
  CHECK(!m.graph.body(inner).alive);
  CHECK(m.graph.num_uses(c) == 0);
  CHECK(m.Readers(a) == "y:0");
  CheckSound(m.graph);
}

TEST_CASE("Graph: a subgraph moves with a copy of the attributes") {
  GraphMaker m;
  const ValueId c = m.Input("c"), x = m.Input("x");
  const BodyId branch = m.Subgraph([&] { m.Output(m.Node("Neg", {x}, "t")); });
  const ValueId y = m.Node("If", {c}, "y", {{"then_branch", branch}});
  m.Output(y);
  const NodeId before = m.Producer(y);
  const Attributes copy = m.graph.attributes(before);
  const ValueId fresh = m.Node("If", {c}, "fresh", copy);
  CHECK(!Verify(m.graph).ok());  // two nodes hold it
  m.graph.SetProducer(y, m.Producer(fresh), 0);
  m.graph.RemoveNode(before);
  CHECK(m.graph.body(branch).alive);
  CHECK(m.graph.body(branch).owner == m.Producer(y));
  CheckSound(m.graph);
}

TEST_CASE("Graph: a replaced subgraph attribute lets the old one go") {
  GraphMaker m;
  const ValueId c = m.Input("c"), x = m.Input("x");
  const auto branch = [&](const char* name) {
    return m.Subgraph([&] { m.Output(m.Node("Neg", {x}, name)); });
  };
  const BodyId first = branch("t"), second = branch("u");
  const ValueId y = m.Node("If", {c}, "y", {{"then_branch", first}});
  m.Output(y);
  m.graph.SetAttribute(m.Producer(y), "then_branch", second);
  CHECK(!m.graph.body(first).alive);
  CHECK(m.graph.num_uses(x) == 1);
  CheckSound(m.graph);
  m.graph.EraseAttribute(m.Producer(y), "then_branch");
  CHECK(!m.graph.body(second).alive);
  CHECK(!m.graph.HasSubgraphs(m.Producer(y)));
  CHECK(m.graph.num_uses(x) == 0);
  CheckSound(m.graph);
}

TEST_CASE("Graph: opset imports, of functions their own") {
  Graph g;
  g.opset()[""] = 17;
  const BodyId function = g.AddBody(BodyKind::kFunction, BodyId());
  g.mutable_body(function).opset[""] = 13;
  const BodyId inner = g.AddBody(BodyKind::kSubgraph, function);
  CHECK(g.OpsetOf(g.main(), "ai.onnx") == 17);
  CHECK(g.OpsetOf(inner, "") == 13);
  CHECK(g.OpsetOf(g.main(), "com.microsoft") == 0);
}

TEST_CASE("Graph: fresh names are unique and stay unique") {
  GraphMaker m;
  m.Input("x");
  m.Input("x_1");
  CHECK(m.graph.FreshName("y") == "y");
  CHECK(m.graph.FreshName("y") == "y_1");
  CHECK(m.graph.FreshName("x") == "x_2");
  CHECK(m.graph.FreshName("x_1") == "x_1_1");
  m.Input("z");
  CHECK(m.graph.FreshName("z") == "z_1");
  m.graph.Rename(m.graph.body(m.graph.main()).inputs[0], "renamed");
  CHECK(m.graph.FreshName("renamed") == "renamed_1");
  CHECK(m.graph.FreshName("x") == "x_3");  // a name that was taken is not given again
  CHECK(m.graph.FreshName("") == "value");
  m.Node("Relu", {ValueId()}, "a");
  CHECK(m.graph.FreshNodeName("n_a") == "n_a_1");
}

TEST_CASE("Graph: names stay in use when nothing has them any more") {
  GraphMaker m;
  m.Input("x");
  CHECK(m.graph.FreshName("y") == "y");
  const Graph::Mark mark = m.graph.mark();
  m.Node("Relu", {ValueId()}, "t");
  m.graph.Undo(mark);
  CHECK(m.graph.FreshName("t") == "t_1");
  CHECK(m.graph.FreshName("t") == "t_2");
  m.graph.Rename(m.graph.body(m.graph.main()).inputs[0], "z");
  CHECK(m.graph.FreshName("x") == "x_1");
}

TEST_CASE("Graph: adopted names count, with those that came later, until one changes") {
  for (const bool rename : {false, true}) {
    CAPTURE(rename);
    GraphMaker m;
    NameTable names;
    for (const char* name : {"a", "b", "c"}) {
      names.FindOrAdd(
          name, [&](uint32_t v) { return m.graph.name(ValueId(v)); },
          [&] { return m.Input(name).index; });
    }
    m.graph.AdoptNames(std::move(names));
    m.Input("later");
    if (rename) m.graph.Rename(ValueId(size_t{1}), "d");
    CHECK(m.graph.FreshName("later") == "later_1");
    CHECK(m.graph.FreshName("a") == "a_1");
    CHECK(m.graph.FreshName("b") == (rename ? "b" : "b_1"));
    CHECK(m.graph.FreshName("d") == (rename ? "d_1" : "d"));
  }
}

TEST_CASE("Graph: a name stays where it is, and copies of a graph do not share new ones") {
  GraphMaker m;
  const ValueId x = m.Input(std::string(100, 'x'));
  const std::string_view name = m.graph.name(x);
  Graph copy = m.graph;
  m.graph.Rename(x, "other");
  for (int i = 0; i < 10'000; ++i) {
    m.graph.FreshName("one");
    copy.FreshName("two");
  }
  CHECK(name == std::string(100, 'x'));
  CHECK(copy.name(x) == name);
  CHECK(m.graph.name(x) == "other");
  CHECK(m.graph.FreshName("one") == "one_10000");
  CHECK(copy.FreshName("one") == "one");
}

TEST_CASE("Graph: what is new about nodes and constants, until ClearDirty") {
  GraphMaker m;
  const ValueId c = m.Constant("c");
  const ValueId y = m.Node("Relu", {c}, "y");
  m.graph.ClearDirty();
  CHECK(!m.graph.has_new_tensor(c));
  CHECK(!m.graph.has_new_attributes(m.Producer(y)));
  m.graph.SetConstant(c, Tensor::Int64Scalar(2));
  CHECK(m.graph.has_new_tensor(c));
  m.graph.SetInput(m.Producer(y), 0, ValueId());
  CHECK(!m.graph.has_new_attributes(m.Producer(y)));
  m.graph.SetAttribute(m.Producer(y), "a", int64_t{1});
  CHECK(m.graph.has_new_attributes(m.Producer(y)));
}

TEST_CASE("Graph: declared types are interned; symbols are shared by name") {
  Graph g;
  const Dim n = g.SymbolDim("N");
  CHECK(g.SymbolDim("N") == n);
  CHECK(g.SymbolDim("M") != n);
  CHECK(g.symbol_name(n) == "N");
  CHECK(n.symbolic());
  CHECK(!n.known());
  CHECK(Dim(3).known());
  CHECK(!Dim().known());
  CHECK(!Dim(-7).symbolic());
  const ValueId a = g.AddValue(g.main(), "a"), b = g.AddValue(g.main(), "b");
  CHECK(!g.declared(a).has_rank);
  const TypeInfo type{.dtype = DType::kFloat, .has_rank = true, .dims = {n, Dim(3)}};
  g.SetDeclared(a, type);
  g.SetDeclared(b, type);
  CHECK(&g.declared(a) == &g.declared(b));
  CHECK(g.declared(a) == type);
  CHECK(g.InternType(TypeInfo()) == 0);
}

TEST_CASE("Graph: changes mark nodes for the writer") {
  GraphMaker m;
  const ValueId x = m.Input("x");
  const ValueId a = m.Node("Relu", {x}, "a"), b = m.Node("Relu", {a}, "b");
  m.Output(b);
  m.graph.ClearDirty();
  CHECK(!m.graph.changed());
  m.graph.Rename(a, "a2");
  CHECK(m.graph.dirty(m.Producer(a)));
  CHECK(m.graph.dirty(m.Producer(b)));
  m.graph.ClearDirty();
  m.graph.SetAttribute(m.Producer(b), "axis", int64_t{1});
  CHECK(!m.graph.dirty(m.Producer(a)));
  CHECK(m.graph.dirty(m.Producer(b)));
  m.graph.ClearDirty();
  m.graph.EraseAttribute(m.Producer(b), "absent");
  CHECK(!m.graph.changed());
}

}  // namespace
}  // namespace qrewrite
