// The report as JSON: the keys of winml's debug command, and what more is known.
#include <algorithm>
#include <cmath>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "engine/debug/validate.h"

namespace qrewrite {
namespace {

using Json = nlohmann::ordered_json;

Json Number(const std::optional<double>& value) {
  return value && std::isfinite(*value) ? Json(*value) : Json(nullptr);
}
Json TextOrNull(const std::string& text) { return text.empty() ? Json(nullptr) : Json(text); }

Json SummaryOf(const std::vector<std::optional<double>>& all) {
  std::vector<double> values;
  for (const auto& v : all) {
    if (v && std::isfinite(*v)) values.push_back(*v);
  }
  Json json{{"count", values.size()},
            {"mean", nullptr},
            {"std", nullptr},
            {"min", nullptr},
            {"max", nullptr}};
  if (values.empty()) return json;
  const auto n = static_cast<double>(values.size());
  double mean = 0, squares = 0;
  for (const double v : values) mean += v / n;
  for (const double v : values) squares += (v - mean) * (v - mean) / n;
  json["mean"] = mean;
  json["std"] = std::sqrt(squares);
  json["min"] = *std::min_element(values.begin(), values.end());
  json["max"] = *std::max_element(values.begin(), values.end());
  return json;
}

// A value of each row, for a summary.
template <class Row, class Get>
std::vector<std::optional<double>> Column(const std::vector<Row>& rows, Get get) {
  std::vector<std::optional<double>> column;
  for (const Row& row : rows) column.push_back(get(row));
  return column;
}

void AddChannels(Json& json, const std::string& prefix, const Sqnr& sqnr) {
  if (!sqnr.min_channel) return;
  json[prefix + "min_channel_sqnr_db"] = Number(sqnr.min_channel);
  json[prefix + "p10_channel_sqnr_db"] = Number(sqnr.p10_channel);
  json[prefix + "worst_channel"] = sqnr.worst_channel;
}

Json ToJson(const DebugActivation& a, bool isolated) {
  Json json{{"tensor_name", a.name},
            {"local_sqnr_db", Number(a.local.db)},
            {"cumulative_sqnr_db", Number(a.cumulative.db)},
            {"status", Name(a.status())},
            {"class", TextOrNull(a.kind)},
            {"absorbed", TextOrNull(a.absorbed)},
            {"absorbed_left_out", a.left_out},
            {"drop_db", Number(a.drop_db)},
            {"saturation_pct", Number(a.saturation_percent)},
            {"op_type", TextOrNull(a.op)},
            {"node", TextOrNull(a.node)},
            {"quantized_node", TextOrNull(a.quantized_node)},
            {"read_behind", TextOrNull(a.read ? a.read->op : "")},
            {"quantized_name", TextOrNull(a.quantized)},
            {"match_method", TextOrNull(a.matched_by)},
            {"weights", a.weights}};
  if (isolated) {
    json["op_sqnr_db"] = Number(a.isolated.db);
    json["op_status"] = Name(a.isolated.status);
    AddChannels(json, "op_", a.isolated);
  }
  AddChannels(json, "local_", a.local);
  AddChannels(json, "cumulative_", a.cumulative);
  return json;
}

Json ToJson(const DebugWeight& w) {
  Json json{{"weight_name", w.name},
            {"weight_sqnr_db", Number(w.sqnr.db)},
            {"status", Name(w.sqnr.status)},
            {"min_channel_sqnr_db", Number(w.sqnr.min_channel)},
            {"median_channel_sqnr_db", Number(w.sqnr.median_channel)},
            {"zeroed_channels", w.sqnr.zeroed_channels},
            {"type", w.type},
            {"folded", w.folded},
            {"quantized_name", w.quantized},
            {"match_method", TextOrNull(w.matched_by)}};
  if (w.sqnr.worst_channel >= 0) json["worst_channel"] = w.sqnr.worst_channel;
  if (w.sqnr.min_block) json["min_block_sqnr_db"] = Number(w.sqnr.min_block);
  return json;
}

Json ToJson(const DebugSuggestion& s) {
  return {{"tensor_name", s.name},
          {"nodes", s.nodes},
          {"quantized_nodes", s.quantized_nodes},
          {"gained_db", Number(s.gained.db)},
          {"lossless", s.gained.lossless}};
}

void AddSuggestions(const DebugReport& report, Json& json) {
  if (report.suggestions.empty()) return;
  std::vector<std::string> nodes;
  std::vector<std::string> quantized;
  json["suggestions"] = Json::array();
  for (const DebugSuggestion& s : report.suggestions) {
    json["suggestions"].push_back(ToJson(s));
    nodes.insert(nodes.end(), s.nodes.begin(), s.nodes.end());
    quantized.insert(quantized.end(), s.quantized_nodes.begin(), s.quantized_nodes.end());
  }
  json["nodes_to_exclude"] = nodes;
  json["strip_qdq"] = "nodes=" + NodePattern(quantized);
  json["gained_db"] = Number(report.all_gained.db);
  json["lossless"] = report.all_gained.lossless;
}

}  // namespace

std::string DebugReport::Matched() const {
  if (compared_by_name == 0)
    return fmt::format("{} of {} quantized values matched", matched, quantized_values);
  return fmt::format("nothing is quantized, {} value{} compared by name", compared_by_name,
                     compared_by_name == 1 ? " is" : "s are");
}

std::string DebugReport::Json() const {
  nlohmann::ordered_json json{{"activations", nlohmann::ordered_json::array()},
                              {"weights", nlohmann::ordered_json::array()},
                              {"model_outputs", nlohmann::ordered_json::array()}};
  for (const DebugActivation& a : activations) json["activations"].push_back(ToJson(a, isolated));
  for (const DebugWeight& w : weights) json["weights"].push_back(ToJson(w));
  for (const DebugOutput& o : outputs) {
    json["model_outputs"].push_back({{"output_name", o.name},
                                     {"cumulative_sqnr_db", Number(o.cumulative.db)},
                                     {"status", Name(o.cumulative.status)}});
  }
  json["summary"] = {
      {"local", SummaryOf(Column(activations, [](const auto& a) { return a.local.db; }))},
      {"cumulative", SummaryOf(Column(activations, [](const auto& a) { return a.cumulative.db; }))},
      {"weight", SummaryOf(Column(weights, [](const auto& w) { return w.sqnr.db; }))}};
  AddSuggestions(*this, json);
  json["unmatched"] = nlohmann::ordered_json::array();
  for (const DebugActivation& a : activations) {
    if (a.matched_by.empty()) json["unmatched"].push_back(a.name);
  }
  json["run"] = {
      {"evaluator", evaluator},
      {"samples", num_samples},
      {"inputs", samples},
      {"compat", compat_ort ? nlohmann::ordered_json("ort") : nlohmann::ordered_json(nullptr)},
      {"matched", matched},
      {"quantized_values", quantized_values},
      {"compared_by_name", compared_by_name},
      {"form_rules", form_rules},
      {"notes", notes}};
  using Handler = nlohmann::ordered_json::error_handler_t;
  return json.dump(2, ' ', false, Handler::replace) + "\n";
}

}  // namespace qrewrite
