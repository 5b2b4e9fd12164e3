#include <fmt/format.h>

#include "engine/base/diagnostics.h"
#include "engine/base/message.h"
#include "engine/driver/driver.h"
#include "engine/rule/literal.h"

namespace qrewrite {

Result<Params> BindParams(const RuleSet& rules, const std::map<std::string, std::string>& set) {
  Params params;
  for (const Param& param : rules.params) params[param.name] = FromLiteral(param.default_value);
  for (const auto& [name, text] : set) {
    const Param* param = rules.FindParam(name);
    if (param == nullptr) {
      std::vector<std::string> names;
      for (const Param& p : rules.params) names.push_back(p.name);
      const std::string hint = DidYouMean(name, names);
      return Status(StatusCode::kUsage,
                    fmt::format("rule set `{}` has no parameter `{}`{}", rules.name,
                                Printable(name), hint.empty() ? "" : "; " + hint));
    }
    const Result<Literal> parsed = ParseLiteral(param->type, text);
    if (!parsed.ok()) {
      return Status(StatusCode::kUsage,
                    fmt::format("parameter `{}`: {}", param->name, Message(parsed.status())));
    }
    const Literal& value = *parsed;
    if (!IsAllowed(*param, value)) {
      std::string choices;
      for (const Literal& choice : param->one_of)
        choices += (choices.empty() ? "" : ", ") + LiteralText(choice);
      // Of a list, the first member that is not.
      std::string culprit = text;
      if (const auto* list = std::get_if<std::vector<std::string>>(&value)) {
        for (const std::string& member : *list) {
          if (IsAllowed(*param, std::vector<std::string>{member})) continue;
          culprit = member;
          break;
        }
      }
      return Status(StatusCode::kUsage, fmt::format("parameter `{}`: `{}` is none of {}", name,
                                                    Printable(culprit), choices));
    }
    params[name] = FromLiteral(value);
  }
  return params;
}

}  // namespace qrewrite
