// How changes of a graph show in the file.
#include "engine/onnx_io/writer.h"

#include <sys/stat.h>

#include <vector>

#include "tests/unit/onnx_io/model_maker.h"

namespace qrewrite {
namespace {

std::vector<std::string> NamesOf(const auto& list) {
  std::vector<std::string> names;
  for (const auto& item : list) names.push_back(item.name());
  return names;
}

TypeInfo Type(DType dtype, std::vector<Dim> dims) {
  return {.dtype = dtype, .has_rank = true, .dims = std::move(dims)};
}

onnx::ModelProto Simple() {
  onnx::ModelProto model = GraphModel(R"(
    g (float[N, 2] x) => (float[N, 2] y) <float[2] w = {1, 2}, float[N, 2] t> {
      [a] t = Add(x, w)
      [b] y = LeakyRelu<alpha = 0.5>(t)
    })");
  model.mutable_graph()->mutable_node(1)->set_doc_string("kept");
  model.mutable_graph()->mutable_node(1)->mutable_attribute(0)->set_doc_string("kept too");
  model.mutable_graph()->mutable_initializer(0)->set_doc_string("weights");
  return model;
}

TEST_CASE("Writer: a new node") {
  const auto file = Parse(Simple());
  Graph& g = file->graph();
  const ValueId t = ValueNamed(g, "t"), fresh = g.AddValue(g.main(), "fresh");
  const ValueId k = g.AddConstant(g.main(), "k", Tensor::FloatScalar(2));
  const ValueId inputs[] = {t, ValueId(), k, ValueId()}, outputs[] = {fresh};
  g.AddNode(g.main(), g.InternOp("com.acme", "Op"), inputs, outputs,
            {{"f", 1.5f},
             {"is", std::vector<int64_t>{1, -1}},
             {"s", std::string("v")},
             {"t", Tensor::Int64s({7})}},
            "new");
  g.SetInput(NodeOf(g, "y"), 0, fresh);
  g.opset()["com.acme"] = 2;
  const onnx::ModelProto out = Written(*file);
  REQUIRE(out.graph().node_size() == 3);
  const onnx::NodeProto& node = out.graph().node(1);
  CHECK(node.name() == "new");
  CHECK(node.op_type() == "Op");
  CHECK(node.domain() == "com.acme");
  REQUIRE(node.input_size() == 3);
  CHECK(node.input(0) == "t");
  CHECK(node.input(1) == "");
  CHECK(node.input(2) == "k");
  REQUIRE(node.attribute_size() == 4);
  CHECK(node.attribute(0).f() == 1.5f);
  CHECK(node.attribute(0).type() == onnx::AttributeProto::FLOAT);
  CHECK(node.attribute(1).ints(1) == -1);
  CHECK(node.attribute(2).s() == "v");
  CHECK(node.attribute(3).t().raw_data() == std::string("\7\0\0\0\0\0\0\0", 8));
  CHECK(NamesOf(out.graph().initializer()) == std::vector<std::string>{"w", "k"});
  CHECK(out.opset_import(1).domain() == "com.acme");
  CHECK(out.opset_import(1).version() == 2);
}

TEST_CASE("Writer: a changed node keeps what the graph does not hold") {
  const auto file = Parse(Simple());
  Graph& g = file->graph();
  const NodeId relu = NodeOf(g, "y");
  g.SetInput(relu, 0, ValueNamed(g, "x"));
  g.SetAttribute(relu, "beta", int64_t{1});
  onnx::NodeProto node = Written(*file).graph().node(0);
  CHECK(node.input(0) == "x");
  CHECK(node.doc_string() == "kept");
  REQUIRE(node.attribute_size() == 2);
  CHECK(node.attribute(0).doc_string() == "kept too");
  g.SetAttribute(relu, "alpha", 0.25f);
  node = Written(*file).graph().node(0);
  CHECK(node.attribute(0).f() == 0.25f);
  CHECK(node.attribute(0).doc_string() == "kept too");
  g.EraseAttribute(relu, "alpha");
  CHECK(Written(*file).graph().node(0).attribute_size() == 1);
}

TEST_CASE("Writer: renamed values are renamed everywhere") {
  onnx::ModelProto model = Simple();
  auto* annotation = model.mutable_graph()->add_quantization_annotation();
  annotation->set_tensor_name("t");
  const auto file = Parse(model);
  Graph& g = file->graph();
  for (const char* name : {"x", "w", "t", "y"})
    g.Rename(ValueNamed(g, name), std::string(name) + "2");
  const onnx::ModelProto out = Written(*file);
  const onnx::GraphProto& graph = out.graph();
  CHECK(graph.input(0).name() == "x2");
  CHECK(graph.output(0).name() == "y2");
  CHECK(graph.initializer(0).name() == "w2");
  CHECK(graph.initializer(0).doc_string() == "weights");
  CHECK(graph.value_info(0).name() == "t2");
  CHECK(graph.node(0).input(1) == "w2");
  CHECK(graph.node(1).input(0) == "t2");
  CHECK(graph.quantization_annotation(0).tensor_name() == "t2");
  CHECK(graph.input(0).type().SerializeAsString() ==
        model.graph().input(0).type().SerializeAsString());
}

TEST_CASE("Writer: changed types") {
  onnx::ModelProto model = Simple();
  auto* type = model.mutable_graph()->mutable_input(0)->mutable_type();
  type->set_denotation("IMAGE");
  type->mutable_tensor_type()->mutable_shape()->mutable_dim(1)->set_denotation("CHANNEL");
  const auto file = Parse(model);
  Graph& g = file->graph();
  const Dim m = g.SymbolDim("M");
  g.SetDeclared(ValueNamed(g, "x"), Type(DType::kInt8, {m, Dim()}));
  g.SetDeclared(ValueNamed(g, "t"), TypeInfo());  // not known any more
  g.SetDeclared(ValueNamed(g, "y"), TypeInfo{.dtype = DType::kInt8});
  g.MarkChanged();
  const onnx::ModelProto out = Written(*file);
  const onnx::TypeProto& x = out.graph().input(0).type();
  CHECK(x.denotation() == "IMAGE");
  CHECK(x.tensor_type().elem_type() == onnx::TensorProto::INT8);
  CHECK(x.tensor_type().shape().dim(0).dim_param() == "M");
  CHECK(x.tensor_type().shape().dim(1).value_case() == 0);
  CHECK(x.tensor_type().shape().dim(1).denotation() == "CHANNEL");
  CHECK(out.graph().value_info_size() == 0);
  CHECK(out.graph().output(0).type().tensor_type().elem_type() == onnx::TensorProto::INT8);
  CHECK_FALSE(out.graph().output(0).type().tensor_type().has_shape());
}

TEST_CASE("Writer: types of new values are stated if they are known") {
  const auto file = Parse(Simple());
  Graph& g = file->graph();
  const ValueId u = g.AddValue(g.main(), "u");
  const ValueId inputs[] = {ValueNamed(g, "t")}, outputs[] = {u};
  g.AddNode(g.main(), g.InternOp("", "Neg"), inputs, outputs, {}, "");
  g.SetInput(NodeOf(g, "y"), 0, u);
  CHECK(NamesOf(Written(*file).graph().value_info()) == std::vector<std::string>{"t"});
  g.SetDeclared(u, Type(DType::kFloat, {Dim(3)}));
  const onnx::ModelProto out = Written(*file);
  CHECK(NamesOf(out.graph().value_info()) == std::vector<std::string>{"t", "u"});
  CHECK(out.graph().value_info(1).type().tensor_type().shape().dim(0).dim_value() == 3);
  CHECK_FALSE(out.graph().node(1).has_name());
}

TEST_CASE("Writer: before IR 10 the main graph states types of values of functions") {
  onnx::ModelProto model = Simple();
  model.set_ir_version(9);
  model.add_opset_import()->set_domain("acme");
  model.mutable_opset_import(1)->set_version(1);
  onnx::FunctionProto* f = model.add_functions();
  f->set_domain("acme");
  f->set_name("F");
  f->add_input("a");
  f->add_output("c");
  for (const auto& [from, to] : {std::pair("a", "b"), std::pair("b", "c")}) {
    onnx::NodeProto* node = f->add_node();
    node->set_op_type("Neg");
    node->add_input(from);
    node->add_output(to);
  }
  *f->add_opset_import() = model.opset_import(0);
  for (const char* name : {"acme::F/b", "acme::F/zz", "acme::G/b", "nothing", "acme::F/c"}) {
    onnx::ValueInfoProto* info = model.mutable_graph()->add_value_info();
    *info = model.graph().input(0);
    info->set_name(name);
  }
  const auto file = Parse(model);
  Graph& g = file->graph();
  g.MarkChanged();
  const std::vector<std::string> all = {"t", "acme::F/b", "acme::F/c"};
  CHECK(NamesOf(Written(*file).graph().value_info()) == all);
  g.Rename(ValueNamed(g, "b"), "b2");
  const std::vector<std::string> renamed = {"t", "acme::F/c"};
  CHECK(NamesOf(Written(*file).graph().value_info()) == renamed);
  g.SetDeclared(ValueNamed(g, "x"), Type(DType::kInt8, {Dim(3)}));
  CHECK(NamesOf(Written(*file).graph().value_info()) == std::vector<std::string>{"t"});
}

TEST_CASE("Writer: what is gone leaves no trace") {
  onnx::ModelProto model = GraphModel(R"(
    g (float[N] x, float[1] w) => (float[N] y) <float[1] w = {1}, float[N] t> {
      t = Add(x, w)
      y = Relu(t)
    })");
  auto* annotation = model.mutable_graph()->add_quantization_annotation();
  annotation->set_tensor_name("t");
  const auto file = Parse(model);
  Graph& g = file->graph();
  const NodeId add = NodeOf(g, "t");
  g.SetInput(NodeOf(g, "y"), 0, ValueNamed(g, "x"));
  g.RemoveNode(add);
  g.RemoveConstant(ValueNamed(g, "w"));
  const onnx::GraphProto out = Written(*file).graph();
  CHECK(out.node_size() == 1);
  CHECK(out.initializer_size() == 0);
  CHECK(NamesOf(out.input()) == std::vector<std::string>{"x"});
  CHECK(out.value_info_size() == 0);
  CHECK(out.quantization_annotation_size() == 0);
}

TEST_CASE("Writer: a node output becomes a constant, and a constant a node output") {
  const auto file = Parse(Simple());
  Graph& g = file->graph();
  const ValueId t = ValueNamed(g, "t"), x = ValueNamed(g, "x");
  const NodeId add = NodeOf(g, "t");
  g.DropProducer(t);
  g.RemoveNode(add);
  g.SetConstant(t, Tensor::FloatScalar(1));
  const onnx::GraphProto out = Written(*file).graph();
  CHECK(NamesOf(out.initializer()) == std::vector<std::string>{"w", "t"});
  CHECK(out.node_size() == 1);
  CHECK(g.IsInput(x));
}

TEST_CASE("Writer: new and lazy tensors") {
  const auto file = Parse(Simple());
  Graph& g = file->graph();
  int computed = 0;
  const Tensor lazy = Tensor::Lazy(DType::kInt16, {2}, 42, [&]() -> Result<Tensor> {
    ++computed;
    const int16_t values[] = {1, -1};
    return Tensor::Of<int16_t>(DType::kInt16, {2}, values);
  });
  g.SetConstant(ValueNamed(g, "w"), lazy);
  const onnx::TensorProto w = Written(*file).graph().initializer(0);
  CHECK(computed == 1);
  CHECK(w.raw_data() == "\x01" + std::string(1, '\0') + "\xff\xff");
  CHECK(w.float_data_size() == 0);
  CHECK(w.data_type() == onnx::TensorProto::INT16);
  CHECK(w.doc_string() == "weights");
}

TEST_CASE("Writer: a tensor that cannot be computed is an error and leaves nothing behind") {
  TempFolder folder;
  const auto file = Parse(Simple());
  Graph& g = file->graph();
  g.SetConstant(ValueNamed(g, "w"), Tensor::Lazy(DType::kInt16, {2}, 42, []() -> Result<Tensor> {
                  return Status(StatusCode::kUnsupported, "no such number");
                }));
  const Status status = file->Write(folder / "o.onnx");
  CHECK(Contains(status.message(), "no such number"));
  CHECK(folder.Files().empty());
}

TEST_CASE("Writer: constants of a function are nodes of it") {
  const auto file = Parse(ModelOf(R"(
    <ir_version: 8, opset_import: ["" : 17, "local" : 1]>
    g (float[N] x) => (float[N] y) { y = local.f(x) }
    <domain: "local", opset_import: ["" : 17]> f (p) => (q) { q = Relu(p) }
  )"));
  Graph& g = file->graph();
  const ValueId k = g.AddConstant(BodyId(size_t{1}), "k", Tensor::FloatScalar(2));
  g.SetInput(NodeOf(g, "q"), 0, k);
  const onnx::FunctionProto f = Written(*file).functions(0);
  REQUIRE(f.node_size() == 2);
  CHECK(f.node(0).op_type() == "Constant");
  CHECK(f.node(0).output(0) == "k");
  CHECK(f.node(0).attribute(0).t().raw_data().size() == 4);
  CHECK(f.node(1).input(0) == "k");
}

TEST_CASE("Writer: the interface and the imports") {
  onnx::ModelProto model = Simple();
  model.mutable_opset_import(0)->set_domain("ai.onnx");
  auto* import = model.add_opset_import();
  import->set_domain("com.acme");
  import->set_version(1);
  const auto file = Parse(model);
  Graph& g = file->graph();
  g.opset()[""] = 18;
  g.opset().erase("com.acme");
  g.opset()["z"] = 3;
  g.ir_version = 9;
  const ValueId extra = g.AddValue(g.main(), "extra");
  g.SetDeclared(extra, Type(DType::kInt8, {Dim(4)}));
  g.AddInput(g.main(), extra);
  g.AddOutput(g.main(), ValueNamed(g, "t"));
  const onnx::ModelProto out = Written(*file);
  CHECK(out.ir_version() == 9);
  REQUIRE(out.opset_import_size() == 2);
  CHECK(out.opset_import(0).domain() == "ai.onnx");
  CHECK(out.opset_import(0).version() == 18);
  CHECK(out.opset_import(1).domain() == "z");
  CHECK(NamesOf(out.graph().input()) == std::vector<std::string>{"x", "extra"});
  CHECK(NamesOf(out.graph().output()) == std::vector<std::string>{"y", "t"});
  CHECK(out.graph().output(1).type().tensor_type().elem_type() == onnx::TensorProto::FLOAT);
}

TEST_CASE("Writer: output over input, and over a special file") {
  TempFolder folder;
  WriteFile(folder / "m.onnx", Simple().SerializeAsString());
  auto file = *ModelFile::Read(folder / "m.onnx");
  file->graph().SetName(NodeOf(file->graph(), "y"), "renamed");
  REQUIRE(file->Write(folder / "m.onnx").ok());
  CHECK(folder.Files() == std::vector<std::string>{"m.onnx"});
  onnx::ModelProto out;
  REQUIRE(out.ParseFromString(ReadFile(folder / "m.onnx")));
  CHECK(out.graph().node(1).name() == "renamed");
  CHECK(out.graph().initializer(0).SerializeAsString() ==
        Simple().graph().initializer(0).SerializeAsString());
  CHECK(file->Write("/dev/null").ok());
}

TEST_CASE("Writer: targets that cannot be written") {
  TempFolder folder;
  const auto file = Parse(Simple());
  for (const std::string& path :
       {folder.path(), folder / "none/o.onnx", folder / "", std::string()}) {
    const Status status = file->Write(path);
    CHECK(status.code() == StatusCode::kIo);
  }
  CHECK(folder.Files().empty());
}

TEST_CASE("Writer: a cycle is an error that names it") {
  const auto file = Parse(Simple());
  Graph& g = file->graph();
  g.SetInput(NodeOf(g, "t"), 0, ValueNamed(g, "y"));
  const auto bytes = file->Serialize();
  REQUIRE_FALSE(bytes.ok());
  CHECK(Contains(bytes.status().message(), "cycle"));
  CHECK(Contains(bytes.status().message(), "Add `a`"));
}

}  // namespace
}  // namespace qrewrite
