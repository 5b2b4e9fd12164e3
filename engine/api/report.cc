// The report as text for people and as JSON for machines.
#include <algorithm>
#include <initializer_list>
#include <optional>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "engine/base/diagnostics.h"
#include "engine/base/lines.h"
#include "engine/driver/report.h"
#include "qrewrite/rewrite.h"
#include "qrewrite/version.h"

namespace qrewrite {
namespace {

using Json = nlohmann::ordered_json;

std::string SizeText(int64_t bytes) {
  constexpr const char* kUnits[] = {"B", "KiB", "MiB", "GiB"};
  double value = static_cast<double>(bytes);
  int unit = 0;
  for (; value >= 1024 && unit < 3; ++unit) value /= 1024;
  return unit == 0 ? fmt::format("{} B", bytes) : fmt::format("{:.1f} {}", value, kUnits[unit]);
}

// "pairs 5, activations 2"; counters at 0 are left out.
std::string Joined(const std::vector<std::pair<std::string, int64_t>>& counters) {
  std::string text;
  for (const auto& [name, count] : counters) {
    if (count > 0) text += fmt::format("{}{} {}", text.empty() ? "" : ", ", name, count);
  }
  return text;
}

// "pairs" if all firings count under one counter, else each with its number.
std::string Counters(const RuleReport& rule) {
  if (rule.counters.size() == 1 && rule.counters[0].second == rule.count)
    return rule.counters[0].first;
  return Joined(rule.counters);
}

// The counters that rules name, over all rules: "pairs 5, weights 3".
std::string Kinds(const std::vector<RuleReport>& rules) {
  std::vector<std::pair<std::string, int64_t>> kinds;
  for (const RuleReport& rule : rules) {
    for (const auto& [name, count] : rule.counters) {
      if (name == rule.rule || count == 0) continue;
      const auto same = [&n = name](const auto& kind) { return kind.first == n; };
      const auto kind = std::find_if(kinds.begin(), kinds.end(), same);
      if (kind == kinds.end()) {
        kinds.emplace_back(name, count);
      } else {
        kind->second += count;
      }
    }
  }
  return Joined(kinds);
}

// What integers with the unit `inner` stand for where the numbers are integers themselves, with the unit `outer`. Nothing
// where the two are of different numbers of places.
std::optional<Unit> Composed(const Unit& outer, const Unit& inner) {
  const std::initializer_list<const std::vector<double>*> lists = {&outer.scale, &outer.zero_point,
                                                                   &inner.scale, &inner.zero_point};
  size_t count = 1;
  for (const std::vector<double>* list : lists) count = std::max(count, list->size());
  const auto fits = [&](const auto* list) { return list->size() == 1 || list->size() == count; };
  if (!std::ranges::all_of(lists, fits)) return std::nullopt;
  const auto at = [](const std::vector<double>& list, size_t i) {
    return list[list.size() == 1 ? 0 : i];
  };
  Unit unit = inner;
  unit.scale.resize(count);
  unit.zero_point.resize(count);
  for (size_t i = 0; i < count; ++i) {
    const double step = at(inner.scale, i);
    unit.scale[i] = at(outer.scale, i) * step;
    unit.zero_point[i] = at(inner.zero_point, i) + at(outer.zero_point, i) / step;
  }
  return unit;
}

Json RulesJson(const std::vector<RuleReport>& rules) {
  Json rows = Json::array();
  for (const RuleReport& rule : rules) {
    Json counters = Json::object();
    for (const auto& [name, count] : rule.counters) counters[name] = count;
    rows.push_back({{"set", rule.set},
                    {"rule", rule.rule},
                    {"count", rule.count},
                    {"counters", std::move(counters)}});
  }
  return rows;
}

// The counters over all rules, by name.
Json CountsJson(const std::vector<RuleReport>& rules) {
  std::map<std::string, int64_t> counts;
  for (const RuleReport& rule : rules) {
    for (const auto& [name, count] : rule.counters) counts[name] += count;
  }
  Json sums = Json::object();
  for (const auto& [name, count] : counts) sums[name] = count;
  return sums;
}

Json WarningsJson(const std::vector<RewriteWarning>& warnings) {
  Json rows = Json::array();
  for (const RewriteWarning& w : warnings) {
    rows.push_back({{"set", w.set},
                    {"rule", w.rule},
                    {"text", w.text},
                    {"op", w.op},
                    {"node", w.node},
                    {"output", w.output},
                    {"notes", w.notes}});
  }
  return rows;
}

Json ProfileJson(const std::vector<RuleProfile>& profile, const std::vector<PhaseProfile>& phases) {
  Json costs = {{"rules", Json::array()}, {"phases", Json::array()}};
  for (const RuleProfile& rule : profile) {
    Json stops = Json::array();
    for (const RuleProfile::Stop& stop : rule.stops) {
      stops.push_back({{"text", stop.text},
                       {"file", stop.file},
                       {"line", stop.line},
                       {"column", stop.column},
                       {"count", stop.count}});
    }
    costs["rules"].push_back({{"set", rule.set},
                              {"rule", rule.rule},
                              {"phase", rule.phase},
                              {"seconds", rule.seconds},
                              {"tried", rule.tried},
                              {"fired", rule.fired},
                              {"steps", rule.steps},
                              {"stops", std::move(stops)}});
  }
  for (const PhaseProfile& phase : phases) {
    costs["phases"].push_back(
        {{"set", phase.set}, {"phase", phase.phase}, {"seconds", phase.seconds}});
  }
  return costs;
}

}  // namespace

std::string RewriteWarning::NodeText() const { return NodeOrOutputText(op, node, output); }

std::string RewriteWarning::Text() const {
  if (op.empty()) return text;  // of no node
  return fmt::format("{}: {} (rule `{}`)", NodeText(), text, rule);
}

int64_t Report::Count(const std::string& counter) const {
  int64_t count = 0;
  for (const RuleReport& rule : rules) {
    for (const auto& [name, value] : rule.counters) count += name == counter ? value : 0;
  }
  return count;
}

void Report::Add(const Report& later) {
  sets.insert(sets.end(), later.sets.begin(), later.sets.end());
  rules.insert(rules.end(), later.rules.begin(), later.rules.end());
  warnings.insert(warnings.end(), later.warnings.begin(), later.warnings.end());
  files.insert(files.end(), later.files.begin(), later.files.end());
  rewrites += later.rewrites;
  profile.insert(profile.end(), later.profile.begin(), later.profile.end());
  phases.insert(phases.end(), later.phases.begin(), later.phases.end());
  if (nearest.empty()) nearest = later.nearest;
  if (rewrites > 0) nearest.clear();
  folded += later.folded;
  removed += later.removed;
  edits += later.edits;
  kept = std::max(kept, later.kept);
  nodes_after = later.nodes_after;
  bytes_after = later.bytes_after;
  changed |= later.changed;
  stopped |= later.stopped;
  for (const auto& [name, inner] : later.units) {
    const auto [known, is_new] = units.try_emplace(name, inner);
    if (is_new) continue;
    const std::optional<Unit> unit = Composed(known->second, inner);
    if (unit) {
      known->second = *unit;
      continue;
    }
    units.erase(known);
    warnings.push_back(
        {.set = later.sets.empty() ? "" : later.sets.back(),
         .text = fmt::format("`{}`: what its integers stand for is not known: scales "
                             "and zero points of two rule sets differ in number",
                             Printable(name))});
  }
}

std::string Report::Text() const {
  std::string text;
  size_t count_width = 1, rule_width = 0;
  const auto label = [&](const RuleReport& rule) {
    return sets.size() > 1 ? rule.set + "/" + rule.rule : rule.rule;
  };
  for (const RuleReport& rule : rules) {
    count_width = std::max(count_width, std::to_string(rule.count).size());
    rule_width = std::max(rule_width, label(rule).size());
  }
  for (const RuleReport& rule : rules) {
    text += fmt::format("{:>{}}  {:<{}}", rule.count, count_width + 2, label(rule), rule_width);
    if (rule.counters.size() != 1 || rule.counters[0].first != rule.rule)
      text += "  " + Counters(rule);
    while (text.ends_with(' ')) text.pop_back();
    text += '\n';
  }
  if (const std::string kinds = Kinds(rules); !kinds.empty()) text += kinds + '\n';
  text += Plural(rewrites, "rewrite");
  if (folded > 0) text += fmt::format(", {} folded", Plural(folded, "node"));
  if (removed > 0) text += fmt::format(", {} unused removed", removed);
  if (edits > 0) text += fmt::format(", {}", Plural(edits, "edit"));
  if (kept > 0) text += fmt::format(", {} kept", Plural(kept, "node"));
  if (!warnings.empty())
    text += fmt::format(", {}", Plural(static_cast<int64_t>(warnings.size()), "warning"));
  if (stopped) text += ", stopped before the end";
  if (!changed) return text + ", nothing changed";
  text += fmt::format("; nodes {} -> {}", nodes_before, nodes_after);
  if (bytes_before + bytes_after == 0) return text;
  return text + fmt::format(", weights {} -> {}", SizeText(bytes_before), SizeText(bytes_after));
}

std::string Report::ProfileText() const {
  if (profile.empty() && phases.empty()) return "";
  constexpr size_t kMostStops = 3;
  std::string text = "      ms   tried  fired  rule\n";
  for (const RuleProfile& rule : profile) {
    text += fmt::format("{:>8.1f}  {:>6}  {:>5}  {}/{}\n", rule.seconds * 1e3, rule.tried,
                        rule.fired, rule.set, rule.rule);
    for (size_t i = 0; i < std::min(rule.stops.size(), kMostStops); ++i) {
      const RuleProfile::Stop& stop = rule.stops[i];
      text += fmt::format(
          "{:25}{} x `{}`{}\n", "", stop.count, stop.text,
          stop.file.empty() ? "" : fmt::format(" ({}:{}:{})", stop.file, stop.line, stop.column));
    }
  }
  text += "      ms  phase\n";
  for (const PhaseProfile& phase : phases) {
    text += fmt::format("{:>8.1f}  {}/{}\n", phase.seconds * 1e3, phase.set, phase.phase);
  }
  return text;
}

std::string Report::Json() const {
  qrewrite::Json root = qrewrite::Json::object();
  root["qrewrite"] = std::string(Version());
  root["changed"] = changed;
  if (stopped) root["stopped"] = true;
  if (!nearest.empty()) root["nearest"] = nearest;
  root["sets"] = sets;
  root["rewrites"] = rewrites;
  root["folded"] = folded;
  root["removed"] = removed;
  root["edits"] = edits;
  root["kept"] = kept;
  root["nodes"] = {{"before", nodes_before}, {"after", nodes_after}};
  root["bytes"] = {{"before", bytes_before}, {"after", bytes_after}};
  root["rules"] = RulesJson(rules);
  root["counts"] = CountsJson(rules);
  root["warnings"] = WarningsJson(warnings);
  if (!profile.empty() || !phases.empty()) root["profile"] = ProfileJson(profile, phases);
  root["files"] = qrewrite::Json::array();
  for (const SideFile& file : files) root["files"].push_back(file.path);
  // Names of a model may be any bytes.
  return root.dump(2, ' ', /*ensure_ascii=*/true, qrewrite::Json::error_handler_t::replace) + "\n";
}

}  // namespace qrewrite
