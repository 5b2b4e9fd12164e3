#include "tools/cli/settings.h"

#include <algorithm>

#include <fmt/format.h>

#include "engine/base/diagnostics.h"

namespace qrewrite::cli {

Result<Settings> ParseSettings(const std::vector<std::string>& texts) {
  Settings settings;
  for (const std::string& text : texts) {
    const size_t equals = text.find('=');
    if (equals == std::string::npos || equals == 0) {
      return Status(StatusCode::kUsage,
                    fmt::format("--set takes NAME=VALUE in one word, not `{}`", Printable(text)));
    }
    const auto [it, added] = settings.emplace(text.substr(0, equals), text.substr(equals + 1));
    if (!added) {
      return Status(StatusCode::kUsage,
                    fmt::format("--set {} is given twice", Printable(it->first)));
    }
  }
  return settings;
}

Status CheckSettings(const std::vector<Rules>& sets, const Settings& settings) {
  for (const auto& setting : settings) {
    bool known = false;
    std::vector<std::string> names;
    std::string owners;
    for (const Rules& rules : sets) {
      known |= rules.HasParam(setting.first);
      owners += fmt::format("{}`{}`", owners.empty() ? "" : ", ", rules.name());
      for (const ParamInfo& param : rules.params()) names.push_back(param.name);
    }
    if (known) continue;
    const std::string hint = DidYouMean(setting.first, names);
    return {StatusCode::kUsage,
            fmt::format("{} {} no parameter `{}`{}", owners, sets.size() == 1 ? "has" : "have",
                        Printable(setting.first), hint.empty() ? "" : "; " + hint)};
  }
  return {};
}

Status CheckSkipped(const std::vector<Rules>& sets, const std::vector<std::string>& skipped) {
  for (const std::string& name : skipped) {
    const auto has = [&](const Rules& rules) { return rules.HasRule(name); };
    if (std::any_of(sets.begin(), sets.end(), has)) continue;
    std::vector<std::string> names;
    std::string owners;
    for (const Rules& rules : sets) {
      owners += fmt::format("{}`{}`", owners.empty() ? "" : ", ", rules.name());
      for (const RuleInfo& rule : rules.rules()) names.push_back(rule.name);
    }
    const std::string hint = DidYouMean(name, names);
    return {StatusCode::kUsage,
            fmt::format("{} {} no rule `{}`{}", owners, sets.size() == 1 ? "has" : "have",
                        Printable(name), hint.empty() ? "" : "; " + hint)};
  }
  return {};
}

}  // namespace qrewrite::cli
