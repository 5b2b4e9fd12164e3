#include "engine/onnx_io/notes.h"

#include "engine/onnx_io/wire.h"

namespace qrewrite {
namespace {

// Fields of onnx.ModelProto, GraphProto and StringStringEntryProto.
constexpr int kProducer = 2, kProducerVersion = 3, kDomain = 4, kModelVersion = 5, kDoc = 6,
              kGraph = 7, kMetadata = 14;
constexpr int kGraphName = 2, kGraphDoc = 10;
constexpr int kKey = 1, kValue = 2;

}  // namespace

std::vector<std::pair<std::string, std::string>> NotesOf(std::string_view model) {
  std::vector<std::pair<std::string, std::string>> notes;
  const auto add = [&](std::string what, std::string_view text) {
    if (!text.empty()) notes.emplace_back(std::move(what), text);
  };
  add("producer", FindBytes(model, kProducer));
  add("producer version", FindBytes(model, kProducerVersion));
  add("domain", FindBytes(model, kDomain));
  WireReader reader(model);
  while (const WireField* field = reader.Next()) {
    if (field->IsVarint(kModelVersion)) {
      add("model version", std::to_string(static_cast<int64_t>(field->value)));
    }
  }
  add("doc string", FindBytes(model, kDoc));
  const std::string_view graph = FindBytes(model, kGraph);
  add("graph", FindBytes(graph, kGraphName));
  add("graph doc string", FindBytes(graph, kGraphDoc));
  WireReader entries(model);
  while (const WireField* field = entries.Next()) {
    if (!field->IsBytes(kMetadata)) continue;
    add("metadata " + std::string(FindBytes(field->bytes, kKey)), FindBytes(field->bytes, kValue));
  }
  return notes;
}

}  // namespace qrewrite
