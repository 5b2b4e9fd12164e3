// DiffPage() and RunPage(): the data of a page and what shows it.
#include <fmt/format.h>

#include "engine/api/rules_impl.h"
#include "engine/diff/compare.h"
#include "engine/diff/spelling.h"
#include "engine/page/page.h"
#include "engine/page/page_data.h"
#include "qrewrite/diff.h"
#include "qrewrite/version.h"

namespace qrewrite {
namespace {

using Json = nlohmann::ordered_json;

// What is said of a model as a whole.
Json ModelJson(const Model& model, const std::string& title) {
  const ModelStats stats = model.Stats();
  const auto list = [](const std::vector<ModelValue>& values) {
    Json json = Json::array();
    for (const ModelValue& v : values) {
      std::string type =
          v.dtype == 0 ? "?" : std::string(Info(static_cast<DType>(v.dtype)).text_name);
      if (v.has_shape) {
        type += "[";
        for (size_t i = 0; i < v.dims.size(); ++i) {
          type += (i == 0 ? "" : ", ") + (v.dims[i] < 0 ? "?" : std::to_string(v.dims[i]));
        }
        type += "]";
      }
      json.push_back(Json::array({v.name, type}));
    }
    return json;
  };
  return {{"title", title},   {"nodes", stats.nodes},           {"bytes", stats.initializer_bytes},
          {"ops", stats.ops}, {"inputs", list(model.Inputs())}, {"outputs", list(model.Outputs())}};
}

// All of a page but its steps.
Status AddModels(const Model& before, const Model& after, const PageOptions& options,
                 StringTable& strings, Json& data) {
  QR_ASSIGN_OR_RETURN(const GraphMatching matching, MatchModels(before, after, options.names));
  data["before"] = ModelJson(before, options.before);
  data["after"] = ModelJson(after, options.after);
  data["model"] = Json::array();
  for (const FieldChange& c : CompareFacts(before, after)) {
    data["model"].push_back(
        Json::array({strings.Of(c.what), strings.Of(c.before), strings.Of(c.after)}));
  }
  return GraphData(matching.a(), matching.b(), matching, options.names, strings).AddTo(data);
}

std::string Finish(Json data, const StringTable& strings) {
  data["strings"] = strings.Json();
  const std::string title = fmt::format("{} → {}", data["before"]["title"].get<std::string>(),
                                        data["after"]["title"].get<std::string>());
  return HtmlPage({.title = title,
                   .styles = {"base.css", "run.css"},
                   .scripts = {"dom.js", "model.js", "details.js", "piece.js", "overview.js",
                               "steps.js", "changes.js", "search.js", "main.js"},
                   .body = "<noscript>This page needs JavaScript.</noscript>\n",
                   .data = &data});
}

Json NodesJson(const std::vector<RecordedNode>& nodes, StringTable& strings) {
  const auto names = [&](const std::vector<std::string>& list) {
    Json json = Json::array();
    for (const std::string& name : list) json.push_back(strings.Of(name));
    return json;
  };
  Json json = Json::array();
  for (const RecordedNode& n : nodes) {
    json.push_back(
        Json::array({strings.Of(n.op), strings.Of(n.name), names(n.inputs), names(n.outputs)}));
  }
  return json;
}

Json StepJson(const RecordedStep& step, StringTable& strings) {
  Json constants = Json::array();
  for (const std::string& name : step.constants) constants.push_back(strings.Of(name));
  Json names = Json::array();
  for (const BindingText& b : step.bindings) {
    names.push_back(Json::array({strings.Of(b.name), strings.Of(b.text)}));
  }
  return {{"rule", step.rule},
          {"phase", strings.Of(step.phase)},
          {"number", step.number},
          {"matched", NodesJson(step.matched, strings)},
          {"created", NodesJson(step.created, strings)},
          {"made", NodesJson(step.made, strings)},
          {"nearBefore", NodesJson(step.near_before, strings)},
          {"nearAfter", NodesJson(step.near_after, strings)},
          {"constants", constants},
          {"names", std::move(names)},
          {"before", step.before},
          {"after", step.after}};
}

std::string DocOf(const RecordedRule& rule, const std::vector<Rules>& sets) {
  for (const Rules& rules : sets) {
    if (const Rule* found = FindRule(*rules.impl().set, rule.set, rule.name)) return found->doc;
  }
  return "";
}

}  // namespace

Result<std::string> DiffPage(const Model& before, const Model& after, const PageOptions& options) {
  StringTable strings;
  Json data = {{"kind", "diff"}, {"version", std::string(Version())}};
  QR_ASSIGN_OR_RETURN(const auto alike, SpellAlike(before, after));
  QR_RETURN_IF_ERROR(AddModels(alike ? alike->first : before, alike ? alike->second : after,
                               options, strings, data));
  for (const char* key : {"rules", "steps", "warnings"}) data[key] = Json::array();
  return Finish(std::move(data), strings);
}

Result<std::string> RunPage(const Model& before, const Model& after, const RunRecorder& run,
                            const Report& report, const std::vector<Rules>& rules,
                            const PageOptions& options) {
  StringTable strings;
  Json data = {{"kind", "run"}, {"version", std::string(Version())}, {"rewrites", report.rewrites}};
  QR_RETURN_IF_ERROR(AddModels(before, after, options, strings, data));
  data["rules"] = Json::array();
  for (const RecordedRule& rule : run.impl().rules) {
    data["rules"].push_back({{"set", strings.Of(rule.set)},
                             {"name", strings.Of(rule.name)},
                             {"file", rule.file.substr(rule.file.rfind('/') + 1)},
                             {"line", rule.line},
                             {"count", rule.count},
                             {"doc", DocOf(rule, rules)},
                             {"source", RuleSource(rule.file, rule.line)}});
  }
  data["beside"] = Json::array();  // what else changed the model
  const std::pair<int64_t, const char*> others[] = {
      {report.folded, "nodes folded"}, {report.removed, "unused removed"}, {report.edits, "edits"}};
  for (const auto& [count, what] : others) {
    if (count > 0) data["beside"].push_back(Json::array({count, what}));
  }
  data["unseen"] = run.impl().number - static_cast<int64_t>(run.impl().steps.size());
  data["steps"] = Json::array();
  for (const RecordedStep& step : run.impl().steps) {
    data["steps"].push_back(StepJson(step, strings));
  }
  data["warnings"] = Json::array();
  for (const RewriteWarning& warning : report.warnings) data["warnings"].push_back(warning.Text());
  return Finish(std::move(data), strings);
}

}  // namespace qrewrite
