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

TEST_CASE("Model: who saves is told how far it is") {
  const TempFolder folder;
  Model model = ModelOf(kChain);
  for (const auto external : {SaveOptions::External::kNever, SaveOptions::External::kAlways}) {
    uint64_t last = 0, all = 0;
    bool grows = true;
    const SaveOptions options{.external = external,
                              .external_threshold = 1,
                              .progress = [&](uint64_t done, uint64_t total) {
                                grows &= done >= last;
                                last = done;
                                all = total;
                              }};
    REQUIRE(model.Save(folder / "out.onnx", options).ok());
    CHECK(grows);
    CHECK(last == all);
    CHECK(last >= ReadFile(folder / "out.onnx").size());
  }
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
  CHECK(folder.Files().empty());
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
  CHECK(folder.Files().size() == 1);
  CHECK(save("s", "r") == StatusCode::kOk);
  CHECK(folder.Files().size() == 4);
}

TEST_CASE("Model: a hook sees all paths before anything appears, and may stop it") {
  const TempFolder folder;
  const Model model = ModelOf(kChain);
  std::vector<std::string> seen;
  SaveOptions options{.side_files = {{folder / "side", "side"}}};
  options.before_commit = [&](const std::vector<std::string>& paths) {
    seen = paths;
    CHECK(folder.Files().empty());
    return Status(StatusCode::kRefused, "no");
  };
  CHECK(model.Save(folder / "out.onnx", options).code() == StatusCode::kRefused);
  CHECK(seen == std::vector<std::string>{folder / "out.onnx", folder / "side"});
  CHECK(folder.Files().empty());
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
  uint64_t told = 0;
  std::string pieces;
  const auto begin = [&](uint64_t size) {
    told = size;
    return Status();
  };
  const auto append = [&](std::string_view chunk) {
    pieces += chunk;
    return Status();
  };
  CHECK(inside.Serialize(begin, append).ok());
  CHECK(pieces == *inside.Serialize());
  CHECK(inside.Serialize(begin, append, 8).code() == StatusCode::kLimit);  // unchanged as it is
  CHECK(told == pieces.size());
  const Model changed =
      *Model::Parse(Bytes{bytes, nullptr}, {.external_data = [&](const std::string&) {
                      return std::optional(Bytes{data, nullptr});
                    }});
  CHECK(changed.Serialize(begin, append, told).ok());
  const Status beyond = changed.Serialize(begin, append, 8);
  CHECK(beyond.code() == StatusCode::kLimit);
  CHECK(Contains(beyond.message(), "and 8 are the limit"));
  const auto full = [](uint64_t) -> Status { throw std::bad_alloc(); };
  CHECK(inside.Serialize(full, append).code() == StatusCode::kCallback);
  for (const char* location :
       {"", "/w.bin", "../w.bin", "data/../../w.bin", ".", "data/.", "data/"}) {
    CHECK(inside.Serialize(location, 1, write).status().code() == StatusCode::kUsage);
  }
  CHECK(inside.Serialize("data/..w.bin", 1, append).ok());
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

TEST_CASE("Model: what callbacks throw is an error") {
  const onnx::ModelProto proto =
      ProtoOf("g (float[2] x) => (float[2] y) <float[2] w = {1, 2}> { y = Add(x, w) }");
  const Model model = *FromProto(proto);
  const auto bytes = model.Serialize(
      "w.bin", 1, [](std::string_view) -> Status { throw std::runtime_error("no room"); });
  CHECK(bytes.status().code() == StatusCode::kCallback);
  CHECK(Contains(bytes.status().message(),
                 "the writer of external data threw an exception: no room"));
  const std::string outside =
      *model.Serialize("w.bin", 1, [](std::string_view) { return Status(); });
  const ParseOptions parse{.external_data = [](const std::string&) -> std::optional<Bytes> {
    throw std::runtime_error("no such blob");
  }};
  const Status parsed = Model::Parse(Bytes{outside, nullptr}, parse).status();
  CHECK(parsed.code() == StatusCode::kCallback);
  CHECK(Contains(parsed.message(), "no such blob"));
  const TempFolder folder;
  const SaveOptions told{
      .before_commit = [](const std::vector<std::string>&) -> Status { throw 1; }};
  CHECK(model.Save(folder / "m.onnx", told).code() == StatusCode::kCallback);
  const SaveOptions reported{
      .report = [](const std::vector<std::string>&) -> Result<std::vector<SideFile>> { throw 1; }};
  CHECK(model.Save(folder / "m.onnx", reported).code() == StatusCode::kCallback);
  const SaveOptions counted{.progress = [](uint64_t, uint64_t) { throw 1; }};
  CHECK(model.Save(folder / "m.onnx", counted).code() == StatusCode::kCallback);
  CHECK(folder.Files().empty());
}

TEST_CASE("Model: a clone is a model of its own") {
  const Rules rules = RulesOf(kTidy);
  std::optional<Model> model = ModelOf(kChain);
  const std::string before = *model->Serialize();
  Model clone = *model->Clone();
  CHECK(*clone.Serialize() == before);
  REQUIRE(Rewrite(clone, rules).ok());
  CHECK(*model->Serialize() == before);
  CHECK_FALSE(model->changed());
  const std::string after = *clone.Serialize();
  // Of a model that was rewritten, and without the one that it was made of.
  REQUIRE(Rewrite(*model, rules).ok());
  Model later = *model->Clone();
  model.reset();
  CHECK(*later.Serialize() == after);
  CHECK(*clone.Serialize() == after);
  const Rules other = RulesOf(R"yaml(qrewrite: 1
name: other
rules: [{name: r, match: y = Neg(x), replace: "y = Abs(Floor(Ceil(x)))"}]
)yaml");
  REQUIRE(Rewrite(later, other).ok());
  REQUIRE(Rewrite(clone, other).ok());
  CHECK(*later.Serialize() == *clone.Serialize());
  CHECK(Contains(*later.Text(), "Abs("));
}

TEST_CASE(
    "Model: a clone of all fixtures writes what the model writes, before and after a rewrite") {
  const Rules rules = *Rules::Load(SourceFile("rules/optimize.yaml"));
  for (const auto& entry : std::filesystem::directory_iterator(SourceFile("fixtures/models"))) {
    if (entry.path().extension() != ".onnx") continue;
    CAPTURE(entry.path().string());
    Model model = *Model::Load(entry.path().string());
    Model clone = *model.Clone();
    CHECK(*clone.Serialize() == *model.Serialize());
    REQUIRE(Rewrite(model, rules).ok());
    const Model rewritten = *model.Clone();
    CHECK(*rewritten.Serialize() == *model.Serialize());
    REQUIRE(Rewrite(clone, rules).ok());
    CHECK(*clone.Serialize() == *model.Serialize());
  }
}

TEST_CASE("Model: a poisoned model has no clone") {
  const Rules rules = RulesOf(R"yaml(qrewrite: 1
name: r
rules:
  - {name: a, match: y = Neg(x), replace: y = Abs(x)}
  - {name: b, match: y = Sigmoid(x), refuse: not wanted}
)yaml");
  Model model = ModelOf(kChain);
  const Model kept = *model.Clone();
  CHECK(Rewrite(model, rules).status().code() == StatusCode::kRefused);
  CHECK(model.Clone().status().code() == StatusCode::kInvalidModel);
  CHECK(kept.Serialize().ok());
}

TEST_CASE("Model: constants are views that outlive the model") {
  std::vector<NamedConstant> constants;
  const std::byte* data = nullptr;
  {
    const Model model = ModelOf(R"(g (float[8] x) => (float[8] y)
      <float[8] w = {1, 2, 3, 4, 5, 6, 7, 8}, int64[1] s = {5}> { a = Add(x, w)  y = Reshape(a, s) })");
    constants = model.Constants();
    CHECK_FALSE(model.FindConstant("x").has_value());
    data = model.FindConstant("w")->Read()->bytes.data();
  }
  REQUIRE(constants.size() == 2);
  CHECK(constants[0].name == "w");
  CHECK(constants[0].value.dtype() == onnx::TensorProto::FLOAT);
  CHECK(constants[0].value.dims() == std::vector<int64_t>{8});
  CHECK(constants[0].value.byte_size() == 32);
  const ConstTensor w = *constants[0].value.Read();
  CHECK(w.bytes.data() == data);
  CHECK(w.bytes.size() == 32);
  CHECK(constants[1].value.ReadStrings().status().code() == StatusCode::kUnsupported);
}

TEST_CASE("Model: statistics count nodes, operators and weights") {
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
