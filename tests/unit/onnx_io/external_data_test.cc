// Data files: which may be read, and where they are after writing.
#include <sys/stat.h>
#include <unistd.h>
#include <cstring>

#include <span>
#include <vector>

#include "tests/unit/onnx_io/model_maker.h"

namespace qrewrite {
namespace {

using External = WriteOptions::External;

// y = x + w with eight bytes of w at `offset` of `location`.
onnx::ModelProto ExternalModel(const std::string& location, uint64_t offset = 0) {
  onnx::ModelProto model = GraphModel("g (float[2] x) => (float[2] y) { y = Add(x, w) }");
  MakeExternal(AddTensor(model, "w", onnx::TensorProto::FLOAT, {2}, ""), location, offset, 8);
  return model;
}

std::string BytesOf(const Tensor& tensor) {
  const auto bytes = tensor.bytes();
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

// What w is in the model file at `path`.
std::string DataOf(const std::string& path) {
  const auto file = ModelFile::Read(path);
  REQUIRE_MESSAGE(file.ok(), file.status().message());
  return BytesOf(*(*file)->graph().constant(ValueNamed((*file)->graph(), "w")));
}

struct Case {
  const char* location;
  const char* message;
};

TEST_CASE("External data: files outside the folder are refused") {
  TempFolder folder;
  WriteFile(folder / "secret", "12345678");
  WriteFile(folder / "m/ok/w.bin", "12345678");
  REQUIRE(symlink("../secret", (folder / "m/link").c_str()) == 0);
  REQUIRE(symlink("..", (folder / "m/up").c_str()) == 0);
  REQUIRE(symlink("ok/w.bin", (folder / "m/inner").c_str()) == 0);
  REQUIRE(mkfifo((folder / "m/pipe").c_str(), 0600) == 0);
  WriteFile(folder / "other", "12345678");
  REQUIRE(link((folder / "other").c_str(), (folder / "m/hard").c_str()) == 0);
  for (const Case& c : std::vector<Case>{
           {"ok/w.bin", ""},
           {"./ok/w.bin", ""},
           {"inner", ""},
           {"../secret", "not inside the folder"},
           {"ok/../../secret", "not inside the folder"},
           {"/etc/passwd", "not inside the folder"},
           {"link", "leaves the folder"},
           {"up/secret", "leaves the folder"},
           {"missing", "No such file"},
           {"ok", "folder"},
           {"pipe", "not a regular file"},
           {"hard", "other names"},
           {"", "no file is named"},
       }) {
    WriteFile(folder / "m/model.onnx", ExternalModel(c.location).SerializeAsString());
    const auto file = ModelFile::Read(folder / "m/model.onnx");
    CAPTURE(c.location);
    REQUIRE(file.ok() == (*c.message == '\0'));
    if (file.ok()) {
      CHECK((*file)->has_external_data());
      CHECK(BytesOf(*(*file)->graph().constant(ValueNamed((*file)->graph(), "w"))) == "12345678");
    } else {
      CHECK_MESSAGE(Contains(file.status().message(), c.message), file.status().message());
      CHECK(Contains(file.status().message(), "tensor `w`"));
      CHECK(Contains(file.status().message(), "model.onnx: error:"));
    }
  }
}

TEST_CASE("External data: offset and length are checked") {
  TempFolder folder;
  WriteFile(folder / "w.bin", "0123456789");
  const auto fault = [&](const char* key, const char* value) {
    onnx::ModelProto model = ExternalModel("w.bin");
    for (auto& entry : *model.mutable_graph()->mutable_initializer(0)->mutable_external_data()) {
      if (entry.key() == key) entry.set_value(value);
    }
    const auto file = TryParse(model.SerializeAsString(), folder.path());
    return file.ok() ? "" : file.status().message();
  };
  CHECK(fault("offset", "2") == "");
  CHECK(Contains(fault("offset", "3"), "which has only 10"));
  CHECK(Contains(fault("offset", "18446744073709551615"), "which has only 10"));
  CHECK(Contains(fault("offset", "-1"), "not a number"));
  CHECK(Contains(fault("offset", "99999999999999999999"), "not a number"));
  CHECK(Contains(fault("length", "7"), "type and shape need 8"));
  CHECK(Contains(fault("length", "8x"), "not a number"));
}

TEST_CASE("External data: a model from memory has none unless a folder is given") {
  CHECK(Contains(Fault(ExternalModel("w.bin")), "without a folder"));
}

// Whoever makes a model must not choose names of files beside the output.
TEST_CASE("External data: in another folder the data of an unchanged model has a name of ours") {
  TempFolder folder;
  const std::string bytes = ExternalModel(".bashrc", 4).SerializeAsString();
  WriteFile(folder / "in/model.onnx", bytes);
  WriteFile(folder / "in/.bashrc", "....12345678");
  auto file = *ModelFile::Read(folder / "in/model.onnx");
  std::filesystem::create_directory(folder / "out");
  REQUIRE(file->Write(folder / "out/o.onnx", {.external_threshold = 1}).ok());
  CHECK(ReadFile(folder / "out/o.onnx.data") == "12345678");
  CHECK(DataOf(folder / "out/o.onnx") == "12345678");
  const std::string once = ReadFile(folder / "out/o.onnx");
  REQUIRE(file->Write(folder / "out/o.onnx", {.external_threshold = 1}).ok());  // again
  CHECK(ReadFile(folder / "out/o.onnx") == once);
  REQUIRE(file->Write(folder / "in/copy.onnx").ok());
  CHECK(ReadFile(folder / "in/copy.onnx") == bytes);
  CHECK(folder.Files() == std::vector<std::string>{"in/.bashrc", "in/copy.onnx", "in/model.onnx",
                                                   "out/o.onnx", "out/o.onnx.data"});
}

TEST_CASE("External data: data goes under a new name, and the old goes if nobody else uses it") {
  TempFolder folder;
  WriteFile(folder / "m.onnx", ExternalModel("w.bin").SerializeAsString());
  WriteFile(folder / "w.bin", "12345678");
  const auto change = [&](const std::string& path, std::string bytes) {
    auto file = *ModelFile::Read(path);
    Graph& g = file->graph();
    const auto data = std::as_bytes(std::span(bytes));
    g.SetConstant(ValueNamed(g, "w"), Tensor::Own(DType::kFloat, {2}, {data.begin(), data.end()}));
    g.MarkChanged();
    return file->Write(path, {.external_threshold = 1});
  };
  const auto files = [&] { return folder.Files(); };
  using Names = std::vector<std::string>;
  REQUIRE(change(folder / "m.onnx", "abcdefgh").ok());
  CHECK(files() == Names{"m.onnx", "m.onnx.data", "w.bin"});  // w.bin is not ours
  REQUIRE(change(folder / "m.onnx", "ABCDEFGH").ok());
  CHECK(files() == Names{"m.onnx", "m.onnx.2.data", "w.bin"});
  REQUIRE(change(folder / "m.onnx", "ABCDEFGH").ok());
  CHECK(files() == Names{"m.onnx", "m.onnx.2.data", "w.bin"});
  WriteFile(folder / "twin.onnx", ReadFile(folder / "m.onnx"));
  REQUIRE(change(folder / "m.onnx", "12341234").ok());
  CHECK(files() == Names{"m.onnx", "m.onnx.2.data", "m.onnx.data", "twin.onnx", "w.bin"});
  CHECK(DataOf(folder / "twin.onnx") == "ABCDEFGH");
  CHECK(DataOf(folder / "m.onnx") == "12341234");
}

TEST_CASE("External data: a file that is written to while it is read is an error") {
  TempFolder folder;
  WriteFile(folder / "m.onnx", ExternalModel("w.bin").SerializeAsString());
  WriteFile(folder / "w.bin", "12345678");
  auto file = *ModelFile::Read(folder / "m.onnx");
  std::filesystem::resize_file(folder / "w.bin", 7);
  const Status status = file->Write(folder / "o.onnx");
  CHECK(status.code() == StatusCode::kIo);
  CHECK(Contains(status.message(), "w.bin"));
  CHECK(folder.Files() == std::vector<std::string>{"m.onnx", "w.bin"});
}

TEST_CASE("External data: from memory and to memory") {
  const std::string data = "....12345678";
  const std::string bytes = ExternalModel("w.bin", 4).SerializeAsString();
  int asked = 0;
  const auto in_memory = [&](const std::string& location) -> std::optional<SharedBytes> {
    ++asked;
    return location == "w.bin" ? std::optional(SharedBytes{data, nullptr}) : std::nullopt;
  };
  auto file =
      *ModelFile::Parse({bytes, nullptr}, {.external_folder = "", .external_data = in_memory});
  CHECK(asked == 1);
  const Tensor w = *file->graph().constant(ValueNamed(file->graph(), "w"));
  CHECK(std::memcmp(w.bytes().data(), data.data() + 4, w.bytes().size()) == 0);
  std::string written;
  const MemoryData to{.location = "out.bin", .threshold = 1, .write = [&](std::string_view chunk) {
                        written += chunk;
                        return Status();
                      }};
  onnx::ModelProto out;
  REQUIRE(out.ParseFromString(*file->Serialize(&to)));
  CHECK(written == "12345678");
  CHECK(out.graph().initializer(0).external_data(0).value() == "out.bin");
  // Another location is a file, and there is no folder for it.
  CHECK_FALSE(ModelFile::Parse({ExternalModel("v.bin").SerializeAsString(), nullptr},
                               {.external_folder = "", .external_data = in_memory})
                  .ok());
}

TEST_CASE("External data: a changed model has a data file of its own") {
  TempFolder folder;
  WriteFile(folder / "model.onnx", ExternalModel("w.bin").SerializeAsString());
  WriteFile(folder / "w.bin", "12345678");
  auto file = *ModelFile::Read(folder / "model.onnx");
  file->graph().MarkChanged();
  REQUIRE(file->Write(folder / "o.onnx", {.external_threshold = 8}).ok());
  CHECK(ReadFile(folder / "o.onnx.data") == "12345678");
  const auto again = *ModelFile::Read(folder / "o.onnx");
  CHECK(again->has_external_data());
  // Small tensors go inside.
  REQUIRE(file->Write(folder / "small.onnx").ok());
  CHECK_FALSE((*ModelFile::Read(folder / "small.onnx"))->has_external_data());
  CHECK(folder.Files() ==
        std::vector<std::string>{"model.onnx", "o.onnx", "o.onnx.data", "small.onnx", "w.bin"});
  // Bytes alone have everything inside.
  onnx::ModelProto inside;
  REQUIRE(inside.ParseFromString(*file->Serialize()));
  CHECK(inside.graph().initializer(0).raw_data() == "12345678");
  CHECK(inside.graph().initializer(0).external_data_size() == 0);
  CHECK_FALSE(inside.graph().initializer(0).has_data_location());
}

TEST_CASE("External data: in place, and never over a data file of the input") {
  TempFolder folder;
  WriteFile(folder / "m.onnx", ExternalModel("m.onnx.data").SerializeAsString());
  WriteFile(folder / "m.onnx.data", "12345678");
  WriteFile(folder / "other.onnx", ExternalModel("m.onnx.data").SerializeAsString());
  auto file = *ModelFile::Read(folder / "m.onnx");
  file->graph().MarkChanged();
  CHECK(file->Write(folder / "m.onnx.data").code() == StatusCode::kUsage);
  // The same bytes: the file that is there does.
  REQUIRE(file->Write(folder / "m.onnx", {.external_threshold = 1}).ok());
  CHECK(DataOf(folder / "m.onnx") == "12345678");
  // `other` has its data in a file that is called as if it were that of `m`.
  auto other = *ModelFile::Read(folder / "other.onnx");
  other->graph().MarkChanged();
  WriteFile(folder / "m.onnx", ExternalModel("elsewhere").SerializeAsString());
  REQUIRE(other->Write(folder / "m.onnx", {.external_threshold = 1}).ok());
  CHECK(folder.Files() == std::vector<std::string>{"m.onnx", "m.onnx.data", "other.onnx"});
  CHECK(DataOf(folder / "other.onnx") == "12345678");
}

TEST_CASE("External data: asked for, refused, aligned") {
  TempFolder folder;
  onnx::ModelProto model = GraphModel("g (float[2] x) => (float[2] y) { y = F(x, a, b, c) }");
  AddTensor(model, "a", onnx::TensorProto::INT8, {3}, "abc");
  AddTensor(model, "b", onnx::TensorProto::INT8, {3}, "def");
  AddTensor(model, "c", onnx::TensorProto::INT8, {1 << 20}, std::string(1 << 20, 'c'));
  WriteFile(folder / "model.onnx", model.SerializeAsString());
  auto file = *ModelFile::Read(folder / "model.onnx");
  REQUIRE(file->Write(folder / "o.onnx", {.external = External::kAlways, .external_threshold = 3})
              .ok());
  const std::string data = ReadFile(folder / "o.onnx.data");
  CHECK(data.size() == 4096 + (1 << 20));
  CHECK(data.substr(0, 3) == "abc");
  CHECK(data.substr(64, 3) == "def");
  CHECK(data.substr(4096, 2) == "cc");
  auto out = *ModelFile::Read(folder / "o.onnx");
  CHECK(BytesOf(*out->graph().constant(ValueNamed(out->graph(), "b"))) == "def");
  REQUIRE(out->Write(folder / "n.onnx", {.external = External::kNever}).ok());
  onnx::ModelProto inside;
  REQUIRE(inside.ParseFromString(ReadFile(folder / "n.onnx")));
  CHECK(inside.SerializeAsString() == model.SerializeAsString());
}

TEST_CASE("External data: tensors of attributes come along") {
  TempFolder folder;
  onnx::ModelProto model = GraphModel(
      "g (float[2] x) => (float[2] y) { w = Constant<value = float[2] {1.0, 2.0}>() "
      "y = Add(x, w) }");
  auto* value = model.mutable_graph()->mutable_node(0)->mutable_attribute(0)->mutable_t();
  value->clear_float_data();
  MakeExternal(value, "w.bin", 0, 8);
  WriteFile(folder / "in/model.onnx", model.SerializeAsString());
  WriteFile(folder / "in/w.bin", "12345678");
  auto file = *ModelFile::Read(folder / "in/model.onnx");
  CHECK(file->has_external_data());
  file->graph().MarkChanged();
  std::filesystem::create_directory(folder / "out");
  REQUIRE(file->Write(folder / "out/o.onnx").ok());
  onnx::ModelProto out;
  REQUIRE(out.ParseFromString(ReadFile(folder / "out/o.onnx")));
  CHECK(out.graph().node(0).attribute(0).t().raw_data() == "12345678");
}

TEST_CASE("External data: more than 2 GB goes outside by itself") {
  TempFolder folder;
  auto file =
      Parse(GraphModel("g (float[N] x) => (float[N] y) <float[1] w = {1}> { y = F(x, w) }"));
  Graph& g = file->graph();
  int computed = 0;
  const Dims dims = {int64_t{1} << 31};
  const Status stop(StatusCode::kUnsupported, "not that much in a test");
  g.SetConstant(ValueNamed(g, "w"), Tensor::Lazy(DType::kInt8, dims, 1, [&]() -> Result<Tensor> {
                  ++computed;
                  return stop;
                }));
  const Status inside = file->Write(folder / "o.onnx", {.external = External::kNever});
  CHECK(inside.code() == StatusCode::kLimit);
  CHECK(file->Serialize().status().code() == StatusCode::kLimit);
  CHECK(computed == 0);
  const Status outside = file->Write(folder / "o.onnx");
  CHECK(computed == 1);
  CHECK(Contains(outside.message(), "not that much"));
  CHECK(folder.Files().empty());  // no temporary file is left
}

}  // namespace
}  // namespace qrewrite
