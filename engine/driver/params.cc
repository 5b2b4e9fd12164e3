#include <charconv>
#include <cstdlib>

#include <fmt/format.h>
#include <re2/re2.h>

#include "engine/base/diagnostics.h"
#include "engine/driver/driver.h"

namespace qrewrite {
namespace {

std::string Text(const Literal& literal) {
  if (const auto* s = std::get_if<std::string>(&literal)) return *s;
  if (const auto* i = std::get_if<int64_t>(&literal)) return std::to_string(*i);
  if (const auto* b = std::get_if<bool>(&literal)) return *b ? "true" : "false";
  if (const auto* d = std::get_if<double>(&literal)) return fmt::format("{}", *d);
  return "";
}

std::optional<int64_t> ParseInt(std::string_view text) {
  int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::optional<int64_t> ParseBytes(std::string_view text) {
  static constexpr std::pair<std::string_view, int64_t> kUnits[] = {
      {"KiB", 1 << 10}, {"MiB", 1 << 20}, {"GiB", 1 << 30}, {"B", 1}};
  for (const auto& [unit, factor] : kUnits) {
    if (!text.ends_with(unit)) continue;
    const auto number = ParseInt(text.substr(0, text.size() - unit.size()));
    int64_t bytes = 0;
    if (!number || __builtin_mul_overflow(*number, factor, &bytes)) return std::nullopt;
    return bytes;
  }
  return ParseInt(text);
}

// The type a parameter has: stated, or that of its default.
ParamType TypeOf(const Param& param) {
  if (param.type != ParamType::kAny) return param.type;
  if (std::holds_alternative<bool>(param.default_value)) return ParamType::kBool;
  if (std::holds_alternative<int64_t>(param.default_value)) return ParamType::kInt;
  if (std::holds_alternative<double>(param.default_value)) return ParamType::kFloat;
  return ParamType::kString;
}

Result<Literal> Parse(const Param& param, const std::string& text) {
  const auto wrong = [&](std::string_view wanted) {
    return Status(StatusCode::kUsage, fmt::format("parameter `{}`: `{}` is no {}", param.name,
                                                  Printable(text), wanted));
  };
  switch (TypeOf(param)) {
    case ParamType::kBool:
      if (text == "true" || text == "1") return Literal(true);
      if (text == "false" || text == "0") return Literal(false);
      return wrong("true or false");
    case ParamType::kInt: {
      const auto value = ParseInt(text);
      return value ? Result<Literal>(Literal(*value)) : wrong("integer");
    }
    case ParamType::kBytes: {
      const auto value = ParseBytes(text);
      return value ? Result<Literal>(Literal(*value)) : wrong("size (64MiB)");
    }
    case ParamType::kFloat: {
      char* end = nullptr;
      const double value = std::strtod(text.c_str(), &end);
      return end != text.c_str() && *end == 0 ? Result<Literal>(Literal(value)) : wrong("number");
    }
    case ParamType::kRegex: {
      const re2::RE2 regex(text, re2::RE2::Quiet);
      return regex.ok() ? Result<Literal>(Literal(text))
                        : wrong("regular expression: " + regex.error());
    }
    default: return Literal(text);
  }
}

}  // namespace

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
    QR_ASSIGN_OR_RETURN(const Literal value, Parse(*param, text));
    bool allowed = param->one_of.empty();
    std::string choices;
    for (const Literal& choice : param->one_of) {
      allowed |= Text(choice) == Text(value);
      choices += (choices.empty() ? "" : ", ") + Text(choice);
    }
    if (!allowed) {
      return Status(StatusCode::kUsage, fmt::format("parameter `{}`: `{}` is none of {}", name,
                                                    Printable(text), choices));
    }
    params[name] = FromLiteral(value);
  }
  return params;
}

}  // namespace qrewrite
