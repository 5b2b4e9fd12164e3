#include "tests/unit/api/api_support.h"

namespace qrewrite {
namespace {

TEST_CASE("Model: saves the bytes that were read if nothing changed") {
  const TempFolder folder;
  const std::string bytes = ProtoOf(kChain).SerializeAsString();
  WriteFile(folder / "in.onnx", bytes);
  Result<Model> model = Model::Load(folder / "in.onnx");
  REQUIRE(model.ok());
  CHECK_FALSE(model->changed());
  REQUIRE(model->Save(folder / "out.onnx").ok());
  CHECK(ReadFile(folder / "out.onnx") == bytes);
  CHECK(*model->Serialize() == bytes);
}

TEST_CASE("Model: what cannot be read") {
  const TempFolder folder;
  const auto missing = Model::Load(folder / "no.onnx");
  CHECK(missing.status().code() == StatusCode::kIo);
  CHECK(Contains(missing.status().message(), "no.onnx"));
  CHECK(Model::Load(folder / "").status().code() == StatusCode::kIo);
  CHECK(Model::Parse("no model").status().code() == StatusCode::kInvalidModel);
}

TEST_CASE("Model: what cannot be written leaves nothing behind") {
  const TempFolder folder;
  Model model = ModelOf(kChain);
  CHECK(model.Save(folder / "none/out.onnx").code() == StatusCode::kIo);
  const SaveOptions into_file{.side_files = {{"/dev/null/side.json", "{}"}}};
  CHECK(model.Save(folder / "out.onnx", into_file).code() == StatusCode::kIo);
  CHECK(folder.files() == 0);
}

TEST_CASE("Model: side files appear with the model, missing folders are made") {
  const TempFolder folder;
  Model model = ModelOf(kChain);
  REQUIRE(model.Save(folder / "out.onnx", {.side_files = {{folder / "a/b/side.json", "{}"}}}).ok());
  CHECK(ReadFile(folder / "a/b/side.json") == "{}");
  REQUIRE(WriteSideFiles({{folder / "c.txt", "c"}}).ok());
  CHECK(ReadFile(folder / "c.txt") == "c");
  const Status status = WriteSideFiles({{folder / "d.txt", "d"}, {"/dev/null/e.txt", "e"}});
  CHECK(status.code() == StatusCode::kIo);
  CHECK_FALSE(std::filesystem::exists(folder / "d.txt"));
}

TEST_CASE("Model: statistics") {
  const Model model = ModelOf(R"(g (float[2] x) => (float[2] y) <float[2] w = {1, 2}> {
    a = Add(x, w)  b = Add(a, w)  y = Relu(b)
  })");
  const ModelStats stats = model.Stats();
  CHECK(stats.nodes == 3);
  CHECK(stats.ops.at("Add") == 2);
  CHECK(stats.opset.at("") == 17);
  CHECK(stats.initializers == 1);
  CHECK(stats.initializer_bytes == 8);
  CHECK(stats.inputs == 1);
  CHECK(stats.outputs == 1);
  CHECK(stats.ir_version == 8);
  CHECK_FALSE(stats.external_data);
}

TEST_CASE("Model: text, whole and in part") {
  const Model model = ModelOf(kChain);
  const std::string whole = *model.Text();
  CHECK(Contains(whole, "opset ai.onnx 17"));
  CHECK(Contains(whole, "x: float[N]"));
  CHECK(Contains(whole, "d = Neg(c)"));

  const std::string part = *model.Text({.node = "^[bc]$"});
  CHECK(Contains(part, "b = Relu(a)"));
  CHECK(Contains(part, "c = Relu(b)"));
  CHECK_FALSE(Contains(part, "Neg"));

  const std::string near = *model.Text({.around = "d", .distance = 1});
  CHECK(Contains(near, "c = Relu(b)"));
  CHECK(Contains(near, "e = Sigmoid(d)"));
  CHECK_FALSE(Contains(near, "b = Relu(a)"));

  CHECK(model.Text({.node = "("}).status().code() == StatusCode::kUsage);
  CHECK(model.Text({.node = "nothing"}).status().code() == StatusCode::kUsage);
  CHECK(Contains(model.Text({.around = "z"}).status().message(), "`z`"));
}

TEST_CASE("Model: through ModelProto and back") {
  const onnx::ModelProto proto = ProtoOf(kChain);
  Result<Model> model = FromProto(proto);
  REQUIRE(model.ok());
  onnx::ModelProto back;
  REQUIRE(ToProto(*model, &back).ok());
  CHECK(back.SerializeAsString() == proto.SerializeAsString());
}

}  // namespace
}  // namespace qrewrite
