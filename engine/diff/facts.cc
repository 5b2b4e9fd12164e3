// What models say of themselves beside their graphs.
#include <map>
#include <unordered_set>

#include <fmt/format.h>

#include "engine/api/model_impl.h"
#include "engine/base/diagnostics.h"
#include "engine/diff/compare.h"
#include "engine/onnx_io/notes.h"
#include "engine/onnx_io/remarks.h"

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

// Whether the graph, or one in it, has a value of that name.
using NameSet = std::unordered_set<std::string_view>;
NameSet NamesOf(const Graph& graph) {
  NameSet names;
  for (size_t i = 0; i < graph.num_values(); ++i) {
    if (graph.alive(ValueId(i))) names.insert(graph.name(ValueId(i)));
  }
  return names;
}

// What is said of nodes and values that both models have, and what the files bring beside their
// graphs. The first few of a kind by name, the others as a number.
void CompareRemarks(const Model& a, const Model& b, std::vector<FieldChange>& changes) {
  constexpr size_t kNamed = 3;
  const Remarks left = RemarksOf(a.impl().file->source_bytes());
  const Remarks right = RemarksOf(b.impl().file->source_bytes());
  if (left == right) return;
  const NameSet in_a = NamesOf(std::as_const(*a.impl().file).graph());
  const NameSet in_b = NamesOf(std::as_const(*b.impl().file).graph());
  std::map<std::string, std::vector<FieldChange>> kinds;
  const auto note = [&](const Remarks::key_type& key, std::string_view before,
                        std::string_view after) {
    const auto& [kind, owner] = key;
    // A node that is gone took its doc string along; that it is gone is told already.
    const bool both = in_a.contains(owner) && in_b.contains(owner);
    if (kind.find(" of ") != kind.npos && !both) return;
    std::string what = owner.empty() ? kind : fmt::format("{} `{}`", kind, Printable(owner));
    kinds[kind].push_back({std::move(what), std::string(before), std::string(after)});
  };
  for (const auto& [key, text] : left) {
    const auto other = right.find(key);
    if (other == right.end())
      note(key, text, "");
    else if (other->second != text)
      note(key, text, other->second);
  }
  for (const auto& [key, text] : right) {
    if (!left.contains(key)) note(key, "", text);
  }
  for (auto& [kind, all] : kinds) {
    for (size_t i = 0; i < std::min(all.size(), kNamed); ++i) changes.push_back(std::move(all[i]));
    if (all.size() > kNamed) {
      changes.push_back({fmt::format("{}: others", kind), "",
                         fmt::format("{} more differ", all.size() - kNamed)});
    }
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
  CompareRemarks(a, b, changes);
  return changes;
}

}  // namespace qrewrite
