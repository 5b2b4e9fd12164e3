// The example in the comment of qrewrite/qrewrite.h is example.inc, and it works.
#define main ExampleMain
#include "tests/unit/api/example.inc"
#undef main

#include "tests/unit/api/api_support.h"

namespace qrewrite {
namespace {

// The lines of the comment that are code.
std::string ExampleOfHeader() {
  const std::string header = ReadFile(SourceFile("include/qrewrite/qrewrite.h"));
  std::string code;
  size_t at = header.find("//   #include");
  while (at != std::string::npos && header.compare(at, 3, "// ") == 0) {
    const size_t end = header.find('\n', at);
    std::string line = header.substr(at, end - at);
    if (!line.starts_with("//   ")) break;
    code += line.substr(5) + "\n";
    at = end + 1;
    if (header.compare(at, 3, "//\n") == 0) {  // a blank line
      code += "\n";
      at += 3;
    }
  }
  while (code.ends_with("\n\n")) code.pop_back();
  return code;
}

TEST_CASE("Example: the comment of the header is what is compiled here") {
  CHECK(ExampleOfHeader() == ReadFile(SourceFile("tests/unit/api/example.inc")));
}

TEST_CASE("Example: dequantizes a model") {
  const TempFolder folder;
  const std::string in = folder / "in.onnx", out = folder / "out.onnx";
  WriteFile(in, ProtoOf(R"(g (float[N, 2] x) => (float[N, 2] y)
      <float s = {0.5}, int8 z = {0}, int8[2, 2] w = {1, 2, 3, 4}> {
    f = DequantizeLinear(w, s, z)
    y = MatMul(x, f)
  })")
                    .SerializeAsString());
  std::string program = "example", from = in, to = out;
  char* argv[] = {program.data(), from.data(), to.data(), nullptr};
  CHECK(ExampleMain(3, argv) == 0);
  Result<Model> model = Model::Load(out);
  REQUIRE_MESSAGE(model.ok(), model.status().message());
  CHECK_FALSE(model->Stats().ops.contains("DequantizeLinear"));
  CHECK(ExampleMain(1, argv) == 2);
  std::string missing = folder / "no.onnx";
  argv[1] = missing.data();
  CHECK(ExampleMain(3, argv) == 1);
}

}  // namespace
}  // namespace qrewrite
