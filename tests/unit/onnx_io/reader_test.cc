// What reading makes of a model, and what it says about a malformed one.
#include "engine/onnx_io/reader.h"

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "tests/unit/onnx_io/model_maker.h"

namespace qrewrite {
namespace {

TEST_CASE("Reader: nodes, values, constants, types") {
  const auto file = Parse(GraphModel(R"(
    g (float[N, 3] x) => (float[N, 2] y) <float[3, 2] w = {1, 2, 3, 4, 5, 6}, float[N, 2] t> {
      [mm] t = MatMul(x, w)
      y = LeakyRelu<alpha = 0.5>(t)
    })"));
  const Graph& g = file->graph();
  CHECK_FALSE(g.changed());
  CHECK(g.ir_version == 8);
  CHECK(g.opset().at("") == 17);
  CHECK(g.body(g.main()).name == "g");
  const NodeId mm = NodeOf(g, "t"), relu = NodeOf(g, "y");
  CHECK(g.name(mm) == "mm");
  CHECK(g.op_name(g.op(mm)).text() == "MatMul");
  CHECK(g.input(mm, 0) == g.body(g.main()).inputs[0]);
  CHECK(g.constant(g.input(mm, 1))->dims() == Dims{3, 2});
  CHECK(g.attributes(relu).Float("alpha", 0) == 0.5f);
  CHECK(g.output(g.main(), 0) == ValueNamed(g, "y"));
  const TypeInfo& type = g.declared(ValueNamed(g, "t"));
  CHECK(type.dtype == DType::kFloat);
  REQUIRE(type.dims.size() == 2);
  CHECK(g.symbol_name(type.dims[0]) == "N");
  CHECK(type.dims[1] == Dim(2));
  CHECK(type == g.declared(ValueNamed(g, "y")));
}

TEST_CASE("Reader: a size that is called ? is not known, and no other one's equal") {
  onnx::ModelProto model =
      GraphModel("g (float[A, B, C, D] x) => (float[A, B, C, D] y) { y = Relu(x) }");
  auto& shape = *model.mutable_graph()->mutable_input(0)->mutable_type()->mutable_tensor_type();
  const char* names[] = {"N", "?", "None", "-1"};
  for (int i = 0; i < 4; ++i) shape.mutable_shape()->mutable_dim(i)->set_dim_param(names[i]);
  const auto file = Parse(model);
  const TypeInfo& type = file->graph().declared(ValueNamed(file->graph(), "x"));
  REQUIRE(type.dims.size() == 4);
  CHECK(type.dims[0].symbolic());
  for (int i = 1; i < 4; ++i) CHECK(type.dims[i] == Dim());
}

TEST_CASE("Reader: absent inputs, initializers that are inputs, nodes in any order") {
  onnx::ModelProto model = GraphModel(R"(
    g (float[N] x, float[1] w) => (float[N] y) <float[1] w = {2}> {
      y = Clip(t, "", w)
      t = Mul(x, w)
    })");
  const auto file = Parse(model);
  const Graph& g = file->graph();
  const NodeId clip = NodeOf(g, "y");
  CHECK(g.num_inputs(clip) == 3);
  CHECK_FALSE(g.input(clip, 1).valid());
  CHECK(g.producer(g.input(clip, 0)) == NodeOf(g, "t"));
  CHECK(g.Overridable(ValueNamed(g, "w")));
  CHECK(g.num_uses(ValueNamed(g, "w")) == 2);
}

TEST_CASE("Reader: subgraphs capture outer values, shadow them, and see later ones") {
  const auto file = Parse(GraphModel(R"(
    g (bool c, float[N] x, float[N] s) => (float[N] y) {
      y = If (c) <
        then_branch = a () => (float[N] o) <float[1] s = {1}> { t = Neg(late)  u = Add(s, t)  o = Add(u, x) },
        else_branch = b () => (float[N] p) { p = Add(s, x) }
      >
      late = Abs(x)
    })"));
  const Graph& g = file->graph();
  const NodeId node = NodeOf(g, "y");
  const std::vector<BodyId> bodies = g.SubgraphsOf(node);
  REQUIRE(bodies.size() == 2);
  for (const BodyId b : bodies) {
    CHECK(g.body(b).owner == node);
    CHECK(g.body(b).parent == g.main());
  }
  const BodyId then_body = *std::get_if<BodyId>(g.attributes(node).Find("then_branch"));
  const ValueId x = g.body(g.main()).inputs[1], s = g.body(g.main()).inputs[2];
  const NodeId add = g.producer(g.output(then_body, 0));
  CHECK(g.input(add, 1) == x);
  const ValueId own = g.input(g.producer(g.input(add, 0)), 0);
  CHECK(own != s);
  CHECK(g.body_of(own) == then_body);
  CHECK(g.num_uses(s) == 1);  // of the else branch
  CHECK(g.num_uses(x) == 3);
  CHECK(g.num_uses(ValueNamed(g, "late")) == 1);
}

TEST_CASE("Reader: an inner graph may make what its outer graph makes later, or there and then") {
  CHECK(Fault(GraphModel(R"(
    g (bool c, float[N] x) => (float[N] z) {
      y = If (c) <
        then_branch = a () => (float[N] y) { late = Neg(x)  y = Abs(late) },
        else_branch = b () => (float[N] p) { p = Add(late, x) }
      >
      late = Abs(x)
      z = Add(y, late)
    })")) == "");
}

TEST_CASE("Reader: outputs have ids in the order of the nodes, whatever that order is") {
  for (const char* nodes : {"a = Relu(x) b = Neg(a) c = Abs(b) d = Neg(c)",
                            "a = Relu(x) b = Neg(d) c = Abs(a) d = Neg(c)",
                            "a = Relu(d) b = Neg(a) c = Abs(b) d = Neg(x)"}) {
    CAPTURE(nodes);
    const auto file = Parse(GraphModel(std::string("g (float x) => (float b) {") + nodes + "}"));
    const Graph& g = file->graph();
    const ValueId a = ValueNamed(g, "a");
    CHECK(ValueNamed(g, "b").index == a.index + 1);
    CHECK(ValueNamed(g, "c").index == a.index + 2);
    CHECK(ValueNamed(g, "d").index == a.index + 3);
  }
}

TEST_CASE("Reader: equal attributes and small tensors are shared, and change alone") {
  const auto file = Parse(GraphModel(
      "g (float[8,8] x) => (float y) <float s = {2}, float t = {2}> "
      "{ a = LeakyRelu<alpha=0.5>(x) b = LeakyRelu<alpha=0.5>(a) c = Mul(b, s) y = Mul(c, t) }"));
  Graph& g = file->graph();
  const NodeId a = NodeOf(g, "a"), b = NodeOf(g, "b");
  CHECK(g.attributes(a).IsSameAs(g.attributes(b)));
  g.SetAttribute(b, "alpha", 0.25f);
  CHECK(g.attributes(a).Float("alpha", 0) == 0.5f);
  CHECK(g.constant(ValueNamed(g, "s"))->bytes().data() ==
        g.constant(ValueNamed(g, "t"))->bytes().data());
  const onnx::ModelProto written = Written(*file);
  CHECK(written.graph().node(0).attribute(0).f() == 0.5f);
  CHECK(written.graph().node(1).attribute(0).f() == 0.25f);
}

TEST_CASE("Reader: functions have imports and parameters of their own") {
  const auto file = Parse(ModelOf(R"(
    <ir_version: 8, opset_import: ["" : 17, "local" : 1]>
    g (float[N] x) => (float[N] y) { y = local.f<a = 0.5>(x) }
    <domain: "local", opset_import: ["" : 16]>
    f <a> (p) => (q) { q = LeakyRelu<alpha : float = @a>(p) }
  )"));
  const Graph& g = file->graph();
  REQUIRE(g.num_bodies() == 2);
  const Body& f = g.body(BodyId(size_t{1}));
  CHECK(f.kind == BodyKind::kFunction);
  CHECK(f.function.text() == "local.f");
  CHECK(g.OpsetOf(BodyId(size_t{1}), "") == 16);
  CHECK(f.inputs.size() == 1);
  const auto* alpha = g.attributes(NodeOf(g, "q")).Find("alpha");
  REQUIRE(alpha != nullptr);
  CHECK(std::get<AttrReference>(*alpha) == AttrReference{"a", AttrKind::kFloat});
}

TEST_CASE("Reader: attributes of every kind") {
  onnx::ModelProto model = GraphModel(R"(
    g (float[N] x) => (float[N] y) {
      y = Custom<f = 1.5, i = -3, s = "text", fs = [1.0, 2.0], is = [4, 5], ss = ["a", "b"],
                 t = float[2] {1.0, 2.0}>(x)
    })");
  auto* node = model.mutable_graph()->mutable_node(0);
  auto* tp = node->add_attribute();
  tp->set_name("tp");
  tp->set_type(onnx::AttributeProto::TYPE_PROTO);
  tp->mutable_tp()->mutable_tensor_type()->set_elem_type(1);
  auto* untyped = node->add_attribute();  // as in models of IR version 1
  untyped->set_name("untyped");
  untyped->set_i(7);
  auto* empty = node->add_attribute();
  empty->set_name("empty");
  empty->set_type(onnx::AttributeProto::INTS);
  const auto file = Parse(model);
  const Attributes& a = file->graph().attributes(NodeOf(file->graph(), "y"));
  CHECK(a.size() == 10);
  CHECK(a.Float("f", 0) == 1.5f);
  CHECK(a.Int("i", 0) == -3);
  CHECK(a.String("s", "") == "text");
  CHECK(*a.Floats("fs") == std::vector<float>{1, 2});
  CHECK(*a.Ints("is") == std::vector<int64_t>{4, 5});
  CHECK(std::get<std::vector<std::string>>(*a.Find("ss")) == std::vector<std::string>{"a", "b"});
  CHECK(a.TensorValue("t")->dims() == Dims{2});
  CHECK(std::get<AttrOpaque>(*a.Find("tp")).kind == AttrKind::kTypeProto);
  CHECK(a.Int("untyped", 0) == 7);
  CHECK(a.Ints("empty")->empty());
}

TEST_CASE("Reader: ai.onnx is the default domain; early models have no imports") {
  onnx::ModelProto model = GraphModel("g (float[N] x) => (float[N] y) { y = Relu(x) }");
  model.mutable_opset_import(0)->set_domain("ai.onnx");
  model.mutable_graph()->mutable_node(0)->set_domain("ai.onnx");
  const auto file = Parse(model);
  CHECK(file->graph().opset() == std::map<std::string, int64_t>{{"", 17}});
  CHECK(file->graph().FindOp("", "Relu").valid());
  model.clear_opset_import();
  model.set_ir_version(2);
  CHECK(Parse(model)->graph().opset().at("") == 1);
}

// "sp": one value, 1.5, at `place`; a place has one index, or as many as there are dims.
void SetSparse(onnx::SparseTensorProto& sparse, const std::vector<int64_t>& dims,
               const std::vector<int64_t>& place) {
  sparse.mutable_dims()->Assign(dims.begin(), dims.end());
  onnx::TensorProto& values = *sparse.mutable_values();
  values.set_name("sp");
  values.set_data_type(onnx::TensorProto::FLOAT);
  values.add_dims(1);
  values.add_float_data(1.5f);
  onnx::TensorProto& indices = *sparse.mutable_indices();
  indices.set_data_type(onnx::TensorProto::INT64);
  indices.add_dims(1);
  if (place.size() > 1) indices.add_dims(static_cast<int64_t>(place.size()));
  indices.mutable_int64_data()->Assign(place.begin(), place.end());
}

TEST_CASE("Reader: values that are no tensors, sparse and newer tensors are carried") {
  onnx::ModelProto model = GraphModel("g (float[N] x) => (float[N] y) { y = F(x, sp, new, seq) }");
  auto* seq = model.mutable_graph()->add_input();
  seq->set_name("seq");
  seq->mutable_type()->mutable_sequence_type()->mutable_elem_type()->mutable_tensor_type();
  SetSparse(*model.mutable_graph()->add_sparse_initializer(), {5}, {3});
  AddTensor(model, "new", 99, {1}, "?");
  const auto file = Parse(model);
  const Graph& g = file->graph();
  CHECK_FALSE(g.declared(ValueNamed(g, "seq")).is_tensor);
  for (const char* name : {"sp", "new"}) {
    CHECK(g.num_uses(ValueNamed(g, name)) == 1);
    CHECK(g.constant(ValueNamed(g, name)) == nullptr);
  }
}

TEST_CASE("Reader: sparse tensors make sense") {
  using Ints = std::vector<int64_t>;
  const auto fault = [](const Ints& dims, const Ints& place,
                        const std::function<void(onnx::SparseTensorProto&)>& change = nullptr) {
    onnx::ModelProto model = GraphModel("g (float[N] x) => (float[N] y) { y = F(x, sp) }");
    onnx::SparseTensorProto& sparse = *model.mutable_graph()->add_sparse_initializer();
    SetSparse(sparse, dims, place);
    if (change) change(sparse);
    const std::string of_initializer = Fault(model);
    auto* attribute = model.mutable_graph()->mutable_node(0)->add_attribute();
    attribute->set_name("s");
    attribute->set_type(onnx::AttributeProto::SPARSE_TENSOR);
    attribute->mutable_sparse_tensor()->Swap(&sparse);
    model.mutable_graph()->clear_sparse_initializer();
    model.mutable_graph()->mutable_node(0)->mutable_input()->RemoveLast();
    // It names the attribute where the values have no name.
    CHECK((Fault(model) == of_initializer || Contains(Fault(model), "attribute `s` of")));
    return of_initializer;
  };
  CHECK(fault({5}, {4}) == "");
  CHECK(fault({2, 3}, {5}) == "");
  CHECK(fault({2, 3}, {1, 2}) == "");
  CHECK(fault({int64_t{1} << 40, 3}, {int64_t{1} << 40}) == "");
  CHECK(fault({2, 3}, {6}) ==
        "error: tensor `sp` has the index 6, which is outside of its shape [2, 3]");
  CHECK(fault({2, 3}, {0, 3}) ==
        "error: tensor `sp` has the index 3, which is outside of its shape [2, 3]");
  CHECK(fault({5}, {-1}) ==
        "error: tensor `sp` has the index -1, which is outside of its shape [5]");
  CHECK(fault({}, {1}) == "error: tensor `sp` has the index 1, which is outside of its shape []");
  CHECK(fault({5}, {1, 1}) == "error: tensor `sp` has 1 values, but indices of the shape [1, 2]");
  CHECK(Contains(fault({-5}, {1}), "`sp` has the shape [-5]"));
  CHECK(Contains(fault({5}, {1}, [](auto& s) { s.mutable_values()->add_float_data(2); }),
                 "needs 1 entries of data, but there are 2"));
  CHECK(Contains(fault({5}, {1}, [](auto& s) { s.clear_values(); }), "element type 0"));
  CHECK(Contains(fault({5}, {1}, [](auto& s) { s.clear_indices(); }), "the indices of"));
  CHECK(Contains(fault({5}, {1},
                       [](auto& s) {
                         s.mutable_indices()->set_data_type(onnx::TensorProto::FLOAT);
                         s.mutable_indices()->clear_int64_data();
                         s.mutable_indices()->add_float_data(1);
                       }),
                 "indices of a wrong type"));
}

// The n-fold nested If of this model is the only node of its body.
onnx::ModelProto NestedModel(int depth) {
  onnx::ModelProto model = GraphModel("g (bool c) => (bool y) { y = Identity(c) }");
  onnx::GraphProto* graph = model.mutable_graph();
  for (int i = 0; i < depth; ++i) {
    onnx::NodeProto* node = graph->mutable_node(0);
    node->set_op_type("If");
    node->clear_attribute();
    for (const char* name : {"else_branch", "then_branch"}) {
      auto* attribute = node->add_attribute();
      attribute->set_name(name);
      attribute->set_type(onnx::AttributeProto::GRAPH);
      graph = attribute->mutable_g();
    }
    auto* inner = graph->add_node();
    inner->set_op_type("Identity");
    inner->add_input("c");
    inner->add_output("y" + std::to_string(i));
    graph->add_output()->set_name("y" + std::to_string(i));
  }
  return model;
}

TEST_CASE("Reader: nesting has a limit") {
  CHECK(Fault(NestedModel(kMaxSubgraphDepth)) == "");
  CHECK(Contains(Fault(NestedModel(kMaxSubgraphDepth + 1)), "nested more than 100 levels"));
}

TEST_CASE("Reader: a graph that contradicts itself is refused, naming the culprit") {
  struct Case {
    const char* graph;
    const char* message;
  };
  for (const Case& c : std::vector<Case>{
           {"g (float[N] x) => (float[N] y) { [n] y = Relu(nowhere) }",
            "node `n` (Relu) reads `nowhere`, which nothing produces"},
           {"g (float[N] x) => (float[N] y) { y = Relu(nowhere) }",
            "node 0 (Relu) that makes `y` reads `nowhere`"},
           {"g (float[N] x) => (float[N] z) { y = Relu(x) }",
            "output `z` of graph `g` is produced by nothing"},
           {"g (float[N] x) => (float[N] y) { y = Relu(x) y = Abs(x) }",
            "`y` has more than one producer"},
           {"g (float[N] x) => (float[N] y) { x = Relu(x) y = Abs(x) }",
            "`x` has more than one producer"},
           {"g (float[N] x) => (float[N] y) <float[1] y = {1}> { y = Abs(x) }",
            "`y` has more than one producer"},
           {"g (float[N] x, float[N] x) => (float[N] y) { y = Abs(x) }", "two inputs `x`"},
           {"g (float[N] x) => (float[N] y) { [a] y = Add(x, t) [b] t = Abs(y) }",
            "the graph has a cycle"},
           {"g (float[N] x) => (float[N] y) { [a] y = Add(x, y) }", "the graph has a cycle"},
           {"g (float[N] x) => (float[N] y) { [n] y = F<a = 1, a = 2>(x) }",
            "node `n` (F) has two attributes `a`"},
           {"g (bool c) => (float[N] y) { [n] y = If (c) <then_branch = t () => (float[N] o) "
            "{ o = Relu(y) }> }",
            "the graph has a cycle"},
           {"g (bool c, float[N] x) => (float[N] y) { [n] y = If (c) <then_branch = t () => "
            "(float[N] "
            "o) { x = Relu(x) o = Neg(x) }, else_branch = e () => (float[N] p) { p = Relu(x) }> }",
            "a node of the graph `t` makes `x`, a name that a graph around it has already"},
           {"g (bool c, float[N] x) => (float[N] y) { v = Abs(x) [n] y = If (c) <then_branch = t "
            "() "
            "=> (float[N] o) { o = If (c) <then_branch = u () => (float[N] q) { v = Relu(x) q = "
            "Neg(v) }, else_branch = w () => (float[N] r) { r = Neg(v) }> }, else_branch = e () => "
            "(float[N] p) { p = Relu(v) }> }",
            "a node of the graph `u` makes `v`"},
           {"g (bool c, float[N] x) => (float[N] y) { [n] y = If (c) <then_branch = t () => "
            "(float[N] "
            "o) { o = Relu(x) }> }",
            "If `n` has no `else_branch`, which it must have"},
           {"g (float[N] x) => (float[N] y) { y = Loop(, , x) }", "has no `body`"},
       }) {
    const std::string fault = Fault(GraphModel(c.graph));
    CAPTURE(c.graph);
    CHECK_MESSAGE(Contains(fault, c.message), fault);
  }
}

TEST_CASE("Reader: an attribute holds what it is declared as") {
  const auto fault = [](auto change) {
    onnx::ModelProto model = GraphModel("g (float[N] x) => (float[N] y) { [n] y = F<a = 1>(x) }");
    change(*model.mutable_graph()->mutable_node(0)->mutable_attribute(0));
    return Fault(model);
  };
  using onnx::AttributeProto;
  CHECK(Contains(fault([](AttributeProto& a) { a.set_type(AttributeProto::FLOAT); }),
                 "attribute `a` of node `n` (F) is declared as FLOAT and holds INT"));
  CHECK(Contains(fault([](AttributeProto& a) { a.set_type(AttributeProto::INTS); }),
                 "is declared as INTS and holds INT"));
  // The 0 of some writers leaves no trace, and some write what they do not use.
  CHECK(fault([](AttributeProto& a) { a.clear_i(), a.set_type(AttributeProto::FLOAT); }) == "");
  CHECK(fault([](AttributeProto& a) { a.set_f(2); }) == "");
}

TEST_CASE("Reader: functions that contradict each other are refused") {
  const auto fault = [](const std::string& call, const std::string& functions) {
    const std::string error =
        Fault(ModelOf("<ir_version: 8, opset_import: [\"\" : 17, \"me\" : 1]>\n"
                      "g (float[2] x) => (float[2] y) { " +
                      call + " }\n" + functions));
    return error.substr(std::min(error.size(), std::string("error: ").size()));
  };
  const std::string head = "<domain: \"me\", opset_import: [\"\" : 17, \"me\" : 1]>\n";
  const std::string f = head + "F (a) => (b) { b = Relu(a) }\n";
  CHECK(fault("y = me.F(x)", f) == "");
  CHECK(fault("y = me.F(x)", f + f) == "the model has two functions `me.F`");
  CHECK(fault("y = me.F(x, x)", f) ==
        "me.F `y` calls the function `me.F` with 2 inputs, which has 1");
  CHECK(fault("y, z = me.F(x)", f) ==
        "me.F `y` calls the function `me.F` with 2 outputs, which has 1");
  CHECK(fault("y = me.F(x)", head + "F (a) => (b) { b = me.F(a) }") ==
        "functions may not call themselves: `me.F` -> `me.F`");
  // G leads into the loop, H is called by it, and neither is in it.
  CHECK(fault("y = me.G(x)", head + "G (a) => (b) { b = me.P(a) }\n" + head +
                                 "P (a) => (b) { b = me.Q(a) }\n" + head +
                                 "Q (a) => (b) { c = me.H(a)\nb = me.P(c) }\n" + head +
                                 "H (a) => (b) { b = Relu(a) }") ==
        "functions may not call themselves: `me.P` -> `me.Q` -> `me.P`");
  // Twice in a row is no loop.
  CHECK(fault("y = me.G(x)", f + head + "G (a) => (b) { c = me.F(a)\nb = me.F(c) }") == "");
}

TEST_CASE("Reader: names in messages are escaped") {
  onnx::ModelProto model = GraphModel("g (float[N] x) => (float[N] y) { y = Relu(x) }");
  model.mutable_graph()->mutable_node(0)->set_input(0, "\x1b[31mred\n");
  const std::string fault = Fault(model);
  CHECK(Contains(fault, "\\x1b[31mred\\n"));
  CHECK_FALSE(Contains(fault, "\x1b"));
}

TEST_CASE("Reader: things that are no model") {
  const std::string good =
      GraphModel("g (float[N] x) => (float[N] y) { y = Relu(x) }").SerializeAsString();
  CHECK(Contains(Fault(std::string()), "empty"));
  CHECK(Contains(Fault("this is not protobuf"), "no ONNX model"));
  CHECK(Contains(Fault(good.substr(0, good.size() / 2)), "cut off"));
  onnx::ModelProto no_graph;
  no_graph.set_ir_version(8);
  CHECK(Contains(Fault(no_graph), "no graph"));
  CHECK(Contains(Fault(good + good), "two graphs"));
  onnx::ModelProto no_op = ModelOf("<ir_version: 8> g (float[N] x) => (float[N] x) {}");
  no_op.mutable_graph()->add_node()->add_output("z");
  CHECK(Contains(Fault(no_op), "has no operator"));
}

TEST_CASE("Reader: files that cannot be read") {
  TempFolder folder;
  const auto missing = ModelFile::Read(folder / "none.onnx");
  REQUIRE_FALSE(missing.ok());
  CHECK(missing.status().code() == StatusCode::kIo);
  CHECK(Contains(missing.status().message(), "none.onnx"));
  const auto directory = ModelFile::Read(folder.path());
  REQUIRE_FALSE(directory.ok());
  CHECK(Contains(directory.status().message(), "folder"));
  WriteFile(folder / "bad.onnx", "nonsense");
  const auto bad = ModelFile::Read(folder / "bad.onnx");
  REQUIRE_FALSE(bad.ok());
  CHECK(bad.status().code() == StatusCode::kInvalidModel);
  CHECK(Contains(bad.status().message(), "bad.onnx: error:"));
}

}  // namespace
}  // namespace qrewrite
