#include "engine/onnx_io/spelled_tensors.h"

#include <utility>

#include <onnx/onnx_pb.h>

#include "engine/onnx_io/wire.h"

namespace qrewrite {
namespace {

constexpr size_t kSlots = 4096;
constexpr size_t kLongest = 512;  // of a message: longer ones repeat seldom

}  // namespace

// False: it has not one name, or is damaged.
bool SpelledTensors::Split(std::string_view message, Spelling* spelling, std::string_view* name) {
  std::string_view field;  // with the name
  WireReader fields(message);
  while (const WireField* f = fields.Next()) {
    if (f->number != onnx::TensorProto::kNameFieldNumber) continue;
    if (!field.empty() || f->type != WireType::kBytes) return false;
    field = f->whole;
    *name = f->bytes;
  }
  if (field.empty() || !fields.ok()) return false;
  const auto begin = static_cast<size_t>(field.data() - message.data());
  *spelling = {message.substr(0, begin), message.substr(begin + field.size())};
  return true;
}

Result<ParsedTensor> SpelledTensors::Parse(std::string_view message, const TensorSource& source,
                                           std::string_view what) {
  Spelling spelling;
  std::string_view name;
  if (message.size() > kLongest || !Split(message, &spelling, &name)) {
    return ParseTensor(message, source, what);
  }
  if (known_.empty()) known_.resize(kSlots);
  // The data lies behind the name; in front of it are type and shape.
  const auto data = std::as_bytes(std::span(spelling.after));
  Known& known = known_[HashBytes(data, spelling.before.size()) % kSlots];
  if (known.tensor.valid() && known.spelling == spelling) {
    return ParsedTensor{.name = name, .tensor = known.tensor};
  }
  Result<ParsedTensor> parsed = ParseTensor(message, source, what);
  // Where external data lies is no content.
  if (parsed.ok() && !parsed->external) known = {spelling, parsed->tensor};
  return parsed;
}

}  // namespace qrewrite
