// Files beside the model, made of the rows that rules recorded.
#include <algorithm>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "engine/driver/run.h"

namespace qrewrite {
namespace {

using Json = nlohmann::ordered_json;

// Position in the interface of the graph: inputs, then outputs, then everything else.
size_t Position(const Graph& graph, ValueId v) {
  const Body& main = graph.body(graph.main());
  const auto at = std::find(main.inputs.begin(), main.inputs.end(), v);
  if (at != main.inputs.end()) return static_cast<size_t>(at - main.inputs.begin());
  for (size_t i = 0; i < main.outputs.size(); ++i) {
    if (graph.output(graph.main(), i) == v) return main.inputs.size() + i;
  }
  return main.inputs.size() + main.outputs.size() + v.index;
}

Result<Json> ToJson(const Val& val) {
  if (val.absent()) return Json(nullptr);
  if (const bool* b = val.get_if<bool>()) return Json(*b);
  if (val.is<std::string>()) return Json(val.get<std::string>());
  if (val.is<DType>()) return Json(std::string(Info(val.get<DType>()).text_name));
  const auto* n = val.get_if<Num>();
  if (n == nullptr) return Status(StatusCode::kInvalidRules, fmt::format("{} has no JSON form", Describe(val)));
  Json array = Json::array();
  if (IsFloat(n->t.dtype())) {
    QR_ASSIGN_OR_RETURN(const std::vector<double> values, ToDoubles(n->t));
    for (const double v : values) array.push_back(v);
  } else {
    QR_ASSIGN_OR_RETURN(const std::vector<int64_t> values, ToInt64s(n->t));
    for (const int64_t v : values) array.push_back(v);
  }
  return array.size() == 1 ? array[0] : array;
}

// "{sidecar}/x.json" with parameters in place of the braces.
Result<std::string> Expand(std::string_view text, const Params& params) {
  std::string out;
  while (!text.empty()) {
    const size_t open = text.find('{');
    out += text.substr(0, open);
    if (open == std::string_view::npos) break;
    const size_t close = text.find('}', open);
    const std::string_view name = text.substr(open + 1, close - open - 1);
    const auto it = params.find(name);
    if (close == std::string_view::npos || it == params.end() || !it->second.is<std::string>()) {
      return Status(StatusCode::kInvalidRules, fmt::format("write: no parameter `{}` for a file name", name));
    }
    out += it->second.get<std::string>();
    text.remove_prefix(close + 1);
  }
  return out;
}

}  // namespace

Result<std::vector<SidecarFile>> RuleRun::MakeFiles() {
  std::vector<SidecarFile> files;
  for (const WriteSpec& spec : rules_.writes) {
    QR_ASSIGN_OR_RETURN(const bool wanted, When(spec.when, spec.place));
    if (!wanted || spec.json.empty()) continue;
    QR_ASSIGN_OR_RETURN(const std::string path, Expand(spec.file, params_));
    Json root = Json::object();
    for (const std::string& table : spec.json) {
      std::vector<const RecordRow*> rows;
      for (const RecordRow& row : rewriter_.records()) {
        if (row.table == table) rows.push_back(&row);
      }
      std::stable_sort(rows.begin(), rows.end(), [&](const RecordRow* a, const RecordRow* b) {
        return Position(graph_, a->of) < Position(graph_, b->of);
      });
      root[table] = Json::array();
      for (const RecordRow* row : rows) {
        Json object = Json::object();
        object["name"] = graph_.name(row->of);
        for (const auto& [column, value] : row->columns) {
          QR_ASSIGN_OR_RETURN(object[column], ToJson(value));
        }
        root[table].push_back(std::move(object));
      }
    }
    files.push_back({path, root.dump(2) + "\n"});
  }
  return files;
}

}  // namespace qrewrite
