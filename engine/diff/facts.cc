// What models say of themselves beside their graphs.
#include <map>

#include <fmt/format.h>

#include "engine/api/model_impl.h"
#include "engine/diff/compare.h"
#include "engine/onnx_io/notes.h"

namespace qrewrite {
namespace {

void AddChange(std::vector<FieldChange>& changes, std::string what, std::string before,
               std::string after) {
  if (before != after) {
    changes.push_back({std::move(what), std::move(before), std::move(after)});
  }
}

std::map<std::string, std::string> Imports(const Graph& graph) {
  std::map<std::string, std::string> imports;
  for (const auto& [domain, version] : graph.opset()) {
    imports["opset " + (domain.empty() ? "ai.onnx" : domain)] = std::to_string(version);
  }
  return imports;
}

std::map<std::string, std::string> Functions(const Graph& graph) {
  std::map<std::string, std::string> functions;
  for (size_t i = 0; i < graph.num_bodies(); ++i) {
    const Body& body = graph.body(BodyId(i));
    if (!body.alive || body.kind != BodyKind::kFunction) continue;
    std::string imports;
    for (const auto& [domain, version] : body.opset) {
      imports += fmt::format(", {} {}", domain.empty() ? "ai.onnx" : domain, version);
    }
    functions["function " + body.function.text()] = "defined" + imports;
  }
  return functions;
}

std::map<std::string, std::string> Notes(const Model& model) {
  std::map<std::string, std::string> notes;
  for (auto& [what, text] : NotesOf(model.impl().file->source_bytes())) {
    notes[std::move(what)] = std::move(text);
  }
  return notes;
}

void CompareMaps(const std::map<std::string, std::string>& a,
                 const std::map<std::string, std::string>& b, std::vector<FieldChange>& changes) {
  for (const auto& [what, text] : a) {
    const auto other = b.find(what);
    AddChange(changes, what, text, other == b.end() ? "" : other->second);
  }
  for (const auto& [what, text] : b) {
    if (!a.contains(what)) AddChange(changes, what, "", text);
  }
}

}  // namespace

Result<GraphMatching> MatchModels(const Model& a, const Model& b, bool names) {
  QR_RETURN_IF_ERROR(a.impl().Usable());
  QR_RETURN_IF_ERROR(b.impl().Usable());
  GraphMatching matching(std::as_const(*a.impl().file).graph(),
                         std::as_const(*b.impl().file).graph(), names);
  QR_RETURN_IF_ERROR(matching.Run());
  return matching;
}

std::vector<FieldChange> CompareFacts(const Model& a, const Model& b) {
  const Graph& left = std::as_const(*a.impl().file).graph();
  const Graph& right = std::as_const(*b.impl().file).graph();
  std::vector<FieldChange> changes;
  AddChange(changes, "IR version", std::to_string(left.ir_version),
            std::to_string(right.ir_version));
  CompareMaps(Imports(left), Imports(right), changes);
  CompareMaps(Notes(a), Notes(b), changes);
  CompareMaps(Functions(left), Functions(right), changes);
  return changes;
}

}  // namespace qrewrite
