// Changes of a graph that no rule makes.
#include "engine/rewrite/edit.h"

#include <doctest/doctest.h>

#include "tests/support/graph_maker.h"

using namespace qrewrite;

TEST_CASE("Edit: what nothing reads goes, and who loses a reader is told") {
  GraphMaker m;
  const ValueId x = m.Input("x"), c = m.Constant("c"), kept = m.Constant("kept");
  const ValueId a = m.Node("Relu", {x}, "a"), b = m.Node("Add", {a, c}, "b");
  const ValueId dead = m.Node("Mul", {b, kept}, "dead"), y = m.Node("Add", {a, kept}, "y");
  m.Output(y);
  std::vector<ValueId> released;
  std::vector<NodeId> nodes = {m.Producer(dead), m.Producer(y)};
  RemoveDead(m.graph, nodes, &released);
  CHECK_FALSE(m.graph.alive(dead));
  CHECK_FALSE(m.graph.alive(b));
  CHECK(m.graph.constant(c) == nullptr);
  CHECK(m.graph.constant(kept) != nullptr);
  CHECK(m.Producer(y).valid());
  CHECK(released == std::vector{a});  // a constant is not told: nobody makes it
}

TEST_CASE("Edit: what callers may override stays when its last reader goes") {
  for (const int64_t ir_version : {3, 8}) {
    CAPTURE(ir_version);
    GraphMaker m;
    m.graph.ir_version = ir_version;
    const ValueId x = m.Input("x"), shape = m.Constant("shape");
    m.graph.AddInput(m.graph.main(), shape);
    m.Output(m.Node("Relu", {x}, "y"));
    m.Node("Reshape", {x, shape}, "dead");
    CHECK(RemoveDeadNodes(m.graph) == 1);
    CHECK(m.graph.alive(shape) == (ir_version >= 4));
  }
}

TEST_CASE("Edit: RemoveUnused counts nodes and constants, and leaves the interface alone") {
  GraphMaker m;
  m.graph.ir_version = 8;
  const ValueId x = m.Input("x");
  m.Output(m.Node("Relu", {x}, "y"));
  CHECK(RemoveUnused(m.graph) == 0);
  m.Constant("c");
  const ValueId default_value = m.Constant("d");
  m.graph.AddInput(m.graph.main(), default_value);
  m.Node("Neg", {m.Node("Abs", {x, m.Constant("e")}, "a")}, "b");
  CHECK(RemoveUnused(m.graph) == 4);
  CHECK(m.graph.constant(default_value) != nullptr);
  m.graph.ir_version = 3;  // there it is no input of the callers
  CHECK(RemoveUnused(m.graph) == 1);
}

TEST_CASE("Edit: an output of a subgraph that becomes a constant says its type") {
  GraphMaker m;
  const ValueId x = m.Input("x");
  ValueId inner, given;
  m.Subgraph([&] {
    m.Output(inner = m.Node("Shape", {x}, "inner"));
    m.Output(given = m.Node("Shape", {x}, "given"));
  });
  const ValueId plain = m.Node("Shape", {x}, "plain");
  m.Output(plain);
  m.graph.SetDeclared(given, {.dtype = DType::kFloat});
  for (const ValueId v : {inner, given, plain}) MakeConstant(m.graph, v, Tensor::Int64s({1, 2}));
  CHECK(m.graph.declared(inner).dtype == DType::kInt64);
  CHECK(m.graph.declared(inner).has_rank);
  CHECK(m.graph.declared(inner).dims.size() == 1);
  CHECK(m.graph.declared(given).dtype == DType::kFloat);
  CHECK(m.graph.declared(plain).dtype == DType::kUndefined);
  CHECK_FALSE(m.Producer(inner).valid());
}

TEST_CASE("Edit: inputs with an initial value become constants from IR 4 on") {
  GraphMaker m;
  m.Input("x");
  const ValueId twin = m.Constant("w"), alone = m.Constant("c");
  m.graph.AddInput(m.graph.main(), twin);
  m.graph.ir_version = 3;
  CHECK(FreezeInputs(m.graph) == 0);
  CHECK(m.graph.IsInput(twin));
  m.graph.ir_version = 4;
  CHECK(FreezeInputs(m.graph) == 1);
  CHECK_FALSE(m.graph.IsInput(twin));
  CHECK(m.graph.constant(twin) != nullptr);
  CHECK(m.graph.constant(alone) != nullptr);
  CHECK(m.graph.inputs().size() == 1);
}

TEST_CASE("Edit: IR 3 is left without twins of initializers") {
  GraphMaker m;
  const ValueId twin = m.Constant("w");
  m.graph.AddInput(m.graph.main(), twin);
  m.graph.ir_version = 0;  // not stated
  LeaveIr3(m.graph);
  CHECK(m.graph.ir_version == 0);
  m.graph.ir_version = 3;
  LeaveIr3(m.graph);
  CHECK(m.graph.ir_version == 4);
  CHECK_FALSE(m.graph.IsInput(twin));
  m.graph.AddInput(m.graph.main(), twin);
  LeaveIr3(m.graph);  // it means something else now
  CHECK(m.graph.IsInput(twin));
}

TEST_CASE("Edit: names of some characters, each of its own") {
  GraphMaker m;
  const ValueId x = m.Input("x:0");
  const ValueId fits = m.Node("Relu", {x}, "a_b"), odd = m.Node("Relu", {fits}, "a/b");
  const ValueId empty = m.Node("Relu", {odd}, ""), foreign = m.Node("Relu", {empty}, "\xc3\xa9");
  // What is left of an input's name is nobody else's.
  const ValueId left = m.Node("Relu", {foreign}, "x0");
  const ValueId y = m.Node("Relu", {left}, "y.1");
  m.Output(y);
  m.graph.SetName(m.Producer(fits), "node");
  m.graph.SetName(m.Producer(odd), "node");
  m.graph.SetName(m.Producer(empty), "");
  const int64_t renamed = RenameAll(m.graph, "A-Za-z0-9_");
  const auto name = [&](ValueId v) { return std::string(m.graph.name(v)); };
  const auto node_name = [&](ValueId v) { return std::string(m.graph.name(m.Producer(v))); };
  CHECK(name(x) == "x:0");
  CHECK(name(y) == "y.1");
  CHECK(name(fits) == "a_b");
  CHECK(name(odd) == "a_b_1");
  CHECK(name(empty) == "value");
  CHECK(name(foreign) == "__");
  CHECK(name(left) == "x0_1");
  CHECK(node_name(fits) == "node");
  CHECK(node_name(odd) == "node_1");
  CHECK(node_name(empty) == "Relu");
  CHECK(node_name(foreign) == "n___");
  CHECK(node_name(y) == "n_y_1");
  CHECK(renamed == 4 + 4);
  CHECK(RenameAll(m.graph, "A-Za-z0-9_") == 0);
}

TEST_CASE("Edit: names without underscores, or of letters alone") {
  const auto renamed = [](std::string_view characters) {
    GraphMaker m;
    const ValueId x = m.Input("x");
    const ValueId a = m.Node("Relu", {x}, "a b"), b = m.Node("Relu", {a}, "a_b");
    const ValueId c = m.Node("Relu", {b}, "a/b"), none = m.Node("Relu", {c}, "::");
    m.Output(m.Node("Relu", {none}, "y"));
    RenameAll(m.graph, characters);
    std::string names;
    for (const ValueId v : {a, b, c, none}) names += std::string(m.graph.name(v)) + " ";
    return names;
  };
  CHECK(renamed("A-Za-z0-9") == "ab ab1 ab2 value ");
  CHECK(renamed("a-c") == "ab aba abb a ");
  CHECK(renamed("_") == "___ _____ ______ __ ");
}

TEST_CASE("Edit: exactly the domains in use are imported") {
  GraphMaker m;
  const ValueId x = m.Input("x"), y = m.graph.AddValue(m.graph.main(), "y");
  const std::vector<ValueId> inputs = {x}, outputs = {y};
  m.graph.AddNode(m.graph.main(), m.graph.InternOp("acme", "Gain"), inputs, outputs, {}, "n");
  m.Output(y);
  m.graph.opset() = {{"", 17}, {"unused", 3}};
  FixImports(m.graph, Signatures());
  CHECK(m.graph.opset() == std::map<std::string, int64_t>{{"", 17}, {"acme", 1}});
  m.graph.opset()["acme"] = 7;
  FixImports(m.graph, Signatures());
  CHECK(m.graph.opset()["acme"] == 7);
  RaiseOpset(m.graph, {m.graph.main()}, 21);
  CHECK(m.graph.opset()[""] == 21);
}

TEST_CASE("Edit: what was made raises the import of its domain to the version that is stated") {
  GraphMaker m;
  const ValueId x = m.Input("x"), y = m.graph.AddValue(m.graph.main(), "y");
  m.graph.AddNode(m.graph.main(), m.graph.InternOp("acme", "Gain"), std::vector{x}, std::vector{y},
                  {}, "n");
  m.Output(y);
  Signatures signatures;
  signatures.Add({.op = {"acme", "Gain"}, .since = 3, .from_rule_file = true});
  m.graph.opset() = {{"", 17}, {"acme", 1}};
  RaiseImports(m.graph, signatures, NodeId(size_t{1}));  // the node was there
  CHECK(m.graph.opset()["acme"] == 1);
  RaiseImports(m.graph, signatures, NodeId(size_t{0}));
  CHECK(m.graph.opset()["acme"] == 3);
  m.graph.opset()["acme"] = 7;
  RaiseImports(m.graph, signatures, NodeId(size_t{0}));
  CHECK(m.graph.opset()["acme"] == 7);
}
