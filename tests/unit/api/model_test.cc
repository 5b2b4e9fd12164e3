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
  REQUIRE(model.Save(folder / "a/out.onnx", {.side_files = {{"b.txt", "b", true}}}).ok());
  CHECK(ReadFile(folder / "a/b.txt") == "b");
  REQUIRE(model.SaveSideFiles({.side_files = {{folder / "c.txt", "c"}}}).ok());
  CHECK(ReadFile(folder / "c.txt") == "c");
  const Status status =
      model.SaveSideFiles({.side_files = {{folder / "d.txt", "d"}, {"/dev/null/e.txt", "e"}}});
  CHECK(status.code() == StatusCode::kIo);
  CHECK_FALSE(std::filesystem::exists(folder / "d.txt"));
}

TEST_CASE("Model: no file of a run replaces another one, or one that was read") {
  const TempFolder folder;
  WriteFile(folder / "in.onnx", ProtoOf(kChain).SerializeAsString());
  const Model model = *Model::Load(folder / "in.onnx");
  const auto save = [&](const std::string& side, const std::string& report) {
    return model
        .Save(folder / "out.onnx",
              {.side_files = {{folder / side, "side"}},
               .report = [&](const std::vector<std::string>&) -> Result<std::vector<SideFile>> {
                 return std::vector<SideFile>{{folder / report, "report"}};
               }})
        .code();
  };
  CHECK(save("in.onnx", "r") == StatusCode::kUsage);
  CHECK(save("s", "in.onnx") == StatusCode::kUsage);
  CHECK(save("out.onnx", "r") == StatusCode::kUsage);
  CHECK(save("s", "out.onnx") == StatusCode::kUsage);
  CHECK(save("s", "s") == StatusCode::kUsage);
  CHECK(folder.files() == 1);
  CHECK(save("s", "r") == StatusCode::kOk);
  CHECK(folder.files() == 4);
}

TEST_CASE("Model: a hook sees all paths before anything appears, and may stop it") {
  const TempFolder folder;
  const Model model = ModelOf(kChain);
  std::vector<std::string> seen;
  SaveOptions options{.side_files = {{folder / "side", "side"}}};
  options.before_commit = [&](const std::vector<std::string>& paths) {
    seen = paths;
    CHECK(folder.files() == 0);
    return Status(StatusCode::kRefused, "no");
  };
  CHECK(model.Save(folder / "out.onnx", options).code() == StatusCode::kRefused);
  CHECK(seen == std::vector<std::string>{folder / "out.onnx", folder / "side"});
  CHECK(folder.files() == 0);
}

TEST_CASE("Model: model and data from memory and to memory, without copies") {
  onnx::ModelProto proto = ProtoOf(
      "g (float[2] x) => (float[2] y) <float[2] w = {1, 2}> {"
      " y = Add(x, w) }");
  const Model inside = *FromProto(proto);
  std::string data;
  const auto write = [&](std::string_view chunk) {
    data += chunk;
    return Status();
  };
  const std::string bytes = *inside.Serialize("w.bin", 1, write);
  CHECK(data.size() == 8);
  CHECK(Contains(bytes, "w.bin"));
  CHECK(inside.Serialize("", 1, write).status().code() == StatusCode::kUsage);
  CHECK(Model::Parse(Bytes{bytes, nullptr}).status().code() == StatusCode::kInvalidModel);
  const ParseOptions options{.external_data = [&](const std::string& location) {
    return location == "w.bin" ? std::optional(Bytes{data, nullptr}) : std::nullopt;
  }};
  const Model outside = *Model::Parse(Bytes{bytes, nullptr}, options);
  CHECK(outside.Stats().external_data);
  onnx::ModelProto back;
  REQUIRE(ToProto(outside, &back).ok());
  CHECK(back.graph().initializer(0).raw_data() == data);
  CHECK(Model::Parse(Bytes::Own(bytes), options).ok());
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
