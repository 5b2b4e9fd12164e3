// What comes out when nothing, or only the order of things, was changed.
#include <vector>

#include "tests/unit/onnx_io/model_maker.h"

namespace qrewrite {
namespace {

constexpr int kUnknown = 99;  // a field no version of ONNX has

void AddProperty(google::protobuf::RepeatedPtrField<onnx::StringStringEntryProto>* list,
                 const std::string& value) {
  auto* entry = list->Add();
  entry->set_key("key");
  entry->set_value(value);
}

// A model with something in every corner that a Graph does not hold.
onnx::ModelProto FullModel() {
  onnx::ModelProto model = ModelOf(R"(
    <ir_version: 99, opset_import: ["" : 999, "local" : 1], producer_name: "p", model_version: 3,
     doc_string: "model doc">
    main (float[N, 2] x, bool c) => (float[N, 2] y, float[N, 2] z)
        <float[2] w = {1, 2}, string[2] s = {"a", "b"}, float[N, 2] t> {
      [first] t = Add(x, w)
      [call] u = local.f(t, s)
      y = If (c) <
        then_branch = a () => (float[N, 2] o) <float[1] k = {3}> { p = Mul(u, k) o = Neg(p) },
        else_branch = b () => (float[N, 2] q) { q = Identity(x) }
      >
      [last] z = Identity(y)
    }
    <domain: "local", opset_import: ["" : 17], doc_string: "function doc">
    f (a, b) => (r) { q = Relu(a) r = Foo(q, b) }
  )");
  model.mutable_unknown_fields()->AddLengthDelimited(kUnknown, "model");
  AddProperty(model.mutable_metadata_props(), "model");
  model.add_training_info()->mutable_algorithm()->set_name("training");
  model.add_configuration()->set_name("device");
  onnx::GraphProto& graph = *model.mutable_graph();
  graph.set_doc_string("graph doc");
  graph.mutable_unknown_fields()->AddLengthDelimited(kUnknown, "graph");
  AddProperty(graph.mutable_metadata_props(), "graph");
  auto* annotation = graph.add_quantization_annotation();
  annotation->set_tensor_name("t");
  AddProperty(annotation->mutable_quant_parameter_tensor_names(), "w");
  AddProperty(annotation->mutable_quant_parameter_tensor_names(), "INT8");
  onnx::NodeProto& node = *graph.mutable_node(0);
  node.set_doc_string("node doc");
  node.set_overload("over");
  node.mutable_unknown_fields()->AddLengthDelimited(kUnknown, "node");
  AddProperty(node.mutable_metadata_props(), "node");
  node.add_device_configurations()->set_configuration_id("device");
  onnx::TensorProto& tensor = *graph.mutable_initializer(0);
  tensor.set_doc_string("tensor doc");
  tensor.mutable_unknown_fields()->AddLengthDelimited(kUnknown, "tensor");
  AddProperty(tensor.mutable_metadata_props(), "tensor");
  onnx::ValueInfoProto& input = *graph.mutable_input(0);
  input.set_doc_string("input doc");
  input.mutable_unknown_fields()->AddLengthDelimited(kUnknown, "input");
  input.mutable_type()->set_denotation("IMAGE");
  auto* shape = input.mutable_type()->mutable_tensor_type()->mutable_shape();
  shape->mutable_dim(0)->set_denotation("DATA_BATCH");
  graph.mutable_value_info(0)->set_doc_string("value doc");
  auto* sparse = graph.add_sparse_initializer();
  sparse->mutable_values()->set_name("sparse");
  sparse->mutable_values()->set_data_type(onnx::TensorProto::FLOAT);
  sparse->mutable_values()->add_dims(0);
  sparse->add_dims(5);
  AddTensor(model, "newer", 77, {2}, "?!");
  model.mutable_functions(0)->mutable_unknown_fields()->AddLengthDelimited(kUnknown, "function");
  return model;
}

TEST_CASE("Round trip: an unchanged model is the same bytes") {
  const std::string bytes = FullModel().SerializeAsString();
  auto file = TryParse(bytes);
  REQUIRE_MESSAGE(file.ok(), file.status().message());
  CHECK(*(*file)->Serialize() == bytes);
  TempFolder folder;
  REQUIRE((*file)->Write(folder / "o.onnx").ok());
  CHECK(ReadFile(folder / "o.onnx") == bytes);
}

TEST_CASE("Round trip: a model that counts as changed says the same") {
  const onnx::ModelProto model = FullModel();
  const auto file = Parse(model);
  file->graph().MarkChanged();
  CHECK(Written(*file).SerializeAsString() == model.SerializeAsString());
}

TEST_CASE("Round trip: so it does when every node is spelled anew") {
  onnx::ModelProto model = FullModel();
  const auto file = Parse(model);
  Graph& g = file->graph();
  for (size_t i = 0; i < g.num_nodes(); ++i) g.SetName(NodeId(i), "n" + std::to_string(i));
  onnx::ModelProto out = Written(*file);
  // Names differ, nothing else.
  std::vector<onnx::NodeProto*> nodes;
  for (onnx::ModelProto* m : {&model, &out}) {
    for (onnx::GraphProto* graph :
         {m->mutable_graph(),
          m->mutable_graph()->mutable_node(2)->mutable_attribute(0)->mutable_g(),
          m->mutable_graph()->mutable_node(2)->mutable_attribute(1)->mutable_g()}) {
      for (auto& node : *graph->mutable_node()) node.clear_name();
    }
    for (auto& node : *m->mutable_functions(0)->mutable_node()) node.clear_name();
  }
  CHECK(out.SerializeAsString() == model.SerializeAsString());
}

TEST_CASE("Round trip: initializers in other data fields stay as they are") {
  onnx::ModelProto model = GraphModel("g (float[N] x) => (float[N] y) { y = F(x, a, b) }");
  auto* a = AddTensor(model, "a", onnx::TensorProto::INT4, {3}, "");
  a->clear_raw_data();
  a->add_int32_data(0x21);
  a->add_int32_data(3);
  auto* b = AddTensor(model, "b", onnx::TensorProto::FLOAT16, {1}, "");
  b->clear_raw_data();
  b->add_int32_data(0x3c00);
  const auto file = Parse(model);
  file->graph().MarkChanged();
  CHECK(Written(*file).SerializeAsString() == model.SerializeAsString());
}

TEST_CASE("Round trip: nodes come in topological order, also inside of graphs") {
  const auto file = Parse(GraphModel(R"(
    g (bool c, float[N] x) => (float[N] y) {
      y = If (c) <then_branch = a () => (float[N] o) { o = Neg(p) p = Neg(late) },
                  else_branch = b () => (float[N] q) { q = Identity(x) }>
      late = Abs(x)
    })"));
  file->graph().MarkChanged();
  const onnx::ModelProto out = Written(*file);
  CHECK(out.graph().node(0).op_type() == "Abs");
  CHECK(out.graph().node(1).attribute(0).g().node(0).output(0) == "p");
}

TEST_CASE("Round trip: hygiene of what is written") {
  onnx::ModelProto model = GraphModel(R"(
    g (float[N] x) => (float[N] y) <float[N] nothing> {
      y = Clip(x, "", "")
    })");
  *model.add_opset_import() = model.opset_import(0);
  model.mutable_opset_import(1)->set_domain("ai.onnx");
  const auto file = Parse(model);
  CHECK(*file->Serialize() == model.SerializeAsString());
  file->graph().MarkChanged();
  const onnx::ModelProto out = Written(*file);
  CHECK(out.graph().node(0).input_size() == 1);
  CHECK(out.graph().value_info_size() == 0);
  CHECK(out.opset_import_size() == 1);
}

TEST_CASE("Round trip: absent outputs and the inputs of Loop are counted, so they stay") {
  const auto file = Parse(GraphModel(R"(
    g (int64 n) => (float[N] y) {
      y, "" = Loop (n, "") <body = b (int64 i, bool c) => (bool d, float[1] s, float[1] t)
          <float[1] k = {1}> { d = Identity(c) s = Neg(k) t = Abs(k) }>
    })"));
  file->graph().MarkChanged();
  const onnx::ModelProto out = Written(*file);
  CHECK(out.graph().node(0).input_size() == 2);
  CHECK(out.graph().node(0).output_size() == 2);
}

TEST_CASE("Round trip: damaged copies of a model never crash") {
  const std::string good = FullModel().SerializeAsString();
  uint64_t state = 1;
  const auto random = [&state](uint64_t below) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (state >> 33) % below;
  };
  int readable = 0;
  for (int round = 0; round < 4000; ++round) {
    std::string bytes = good;
    for (uint64_t i = random(4) + 1; i > 0; --i) {
      const size_t at = random(bytes.size());
      switch (random(4)) {
        case 0: bytes[at] = static_cast<char>(random(256)); break;
        case 1: bytes.erase(at, random(16) + 1); break;
        case 2: bytes.insert(at, bytes.substr(random(bytes.size()), random(32))); break;
        default: bytes[at] = static_cast<char>(bytes[at] ^ 1 << random(8));
      }
      if (bytes.empty()) break;
    }
    auto file = TryParse(bytes);
    if (!file.ok()) {
      CHECK(file.status().message().size() > 10);
      continue;
    }
    ++readable;
    CHECK(*(*file)->Serialize() == bytes);
    (*file)->graph().MarkChanged();
    const auto out = (*file)->Serialize();
    REQUIRE_MESSAGE(out.ok(), out.status().message());
    const auto again = TryParse(*out);
    CHECK_MESSAGE(again.ok(), again.status().message());
  }
  CHECK(readable > 100);
}

TEST_CASE("Round trip: every prefix of a model is refused, or a model") {
  const std::string good = FullModel().SerializeAsString();
  for (size_t size = 0; size < good.size(); ++size) {
    const auto file = TryParse(good.substr(0, size));
    if (!file.ok()) CHECK(file.status().code() == StatusCode::kInvalidModel);
  }
}

}  // namespace
}  // namespace qrewrite
