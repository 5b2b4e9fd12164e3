#include "engine/base/file_kind.h"

#include <doctest/doctest.h>

#include <string>

namespace qrewrite {

TEST_CASE("KindOfFile") {
  const struct {
    std::string bytes, what;
  } rows[] = {
      {"version https://git-lfs.github.com/spec/v1\noid sha256:aa\n",
       "a Git LFS pointer, not the file itself"},
      {"PK\x03\x04rest", "a ZIP archive, as PyTorch writes it"},
      {std::string("\x1c\0\0\0TFL3", 8), "a TensorFlow Lite model"},
      {std::string("\x1c\0\0\0ORTM", 8), "a model in ONNX Runtime's own format"},
      {"\x08\x08\x12\x04test:", "an ONNX model"},
      {"# ours\nqrewrite: 1\n", "a rule file"},
      {"{\"qrewrite\": 1}", "a rule file"},
      {"<html>", "a web page"},
      {"", ""},
      {"\x08", ""},
      {"# only a comment", ""},
      {"rules: []\n", ""},
  };
  for (const auto& row : rows) {
    CAPTURE(row.bytes);
    CHECK(KindOfFile(row.bytes).what == row.what);
    CHECK(KindOfFile(row.bytes).hint.empty() == row.what.empty());
  }
}

}  // namespace qrewrite
