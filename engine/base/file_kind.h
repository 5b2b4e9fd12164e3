// What a file is by its first bytes, where something else was expected: for messages only.
#pragma once

#include <string_view>

namespace qrewrite {

struct FileKind {
  std::string_view what;  // "a Git LFS pointer"; "" if nothing is known
  std::string_view hint;  // what to do about it
  bool rules = false;     // a rule file
  bool model = false;     // an ONNX model, or the beginning of one
};

FileKind KindOfFile(std::string_view bytes);

}  // namespace qrewrite
