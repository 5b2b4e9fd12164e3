#include "engine/base/file_kind.h"

#include <algorithm>

namespace qrewrite {
namespace {

struct Mark {
  size_t at;
  std::string_view bytes;
  FileKind kind;
};

constexpr Mark kMarks[] = {
    {0,
     "version https://git-lfs.github.com/spec/",
     {"a Git LFS pointer, not the file itself", "`git lfs pull` fetches it"}},
    {0,
     "PK\x03\x04",
     {"a ZIP archive, as PyTorch writes it", "export the model with torch.onnx.export"}},
    {0, "\x80\x02", {"a Python pickle", "export the model with torch.onnx.export"}},
    {4, "TFL3", {"a TensorFlow Lite model", "convert it with tf2onnx"}},
    {4, "ORTM", {"a model in ONNX Runtime's own format", "take the .onnx file it was made from"}},
    {0, "\x89HDF\r\n\x1a\n", {"an HDF5 file, as Keras writes it", "convert it with tf2onnx"}},
    {0, "\x1f\x8b", {"a gzip archive", "unpack it first"}},
    {0, "<!DOCTYPE", {"a web page", "the download was not the file itself"}},
    {0, "<html", {"a web page", "the download was not the file itself"}},
};

// The version of the IR, then the next field of a ModelProto: no text begins so.
bool IsOnnx(std::string_view bytes) {
  return bytes.size() > 3 && bytes[0] == 0x08 && bytes[1] > 0 && bytes[1] < 0x20 &&
         std::string_view("\x12\x1a\x22\x28\x32\x3a\x42").find(bytes[2]) != std::string_view::npos;
}

bool IsRuleFile(std::string_view bytes) {
  while (bytes.starts_with('#')) {
    bytes.remove_prefix(std::min(bytes.find('\n'), bytes.size() - 1) + 1);
  }
  return bytes.starts_with("qrewrite:") || bytes.starts_with("{\"qrewrite\"");
}

}  // namespace

FileKind KindOfFile(std::string_view bytes) {
  for (const Mark& mark : kMarks) {
    if (bytes.size() > mark.at && bytes.substr(mark.at).starts_with(mark.bytes)) return mark.kind;
  }
  if (IsOnnx(bytes)) {
    return {"an ONNX model", "the model stands by itself, rule files behind `--rules`", false,
            true};
  }
  if (IsRuleFile(bytes)) return {"a rule file", "rule files stand behind `--rules`", true};
  return {};
}

}  // namespace qrewrite
