#include "engine/rule/literal.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <set>

#include <fmt/format.h>
#include <re2/re2.h>

#include "engine/base/diagnostics.h"

namespace qrewrite {
namespace {

std::optional<int64_t> ParseInt(std::string_view text) {
  int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::optional<double> ParseFloat(std::string_view text) {
  if (text.starts_with('+')) text.remove_prefix(1);
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return std::isfinite(value) ? std::optional(value) : std::nullopt;  // it reads `nan` and `inf`
}

// What stands between the commas, without blanks at its ends.
std::vector<std::string> Members(std::string_view text) {
  std::vector<std::string> members;
  while (!text.empty()) {
    const size_t comma = std::min(text.find(','), text.size());
    std::string_view member = text.substr(0, comma);
    while (member.starts_with(' ')) member.remove_prefix(1);
    while (member.ends_with(' ')) member.remove_suffix(1);
    members.emplace_back(member);
    text.remove_prefix(std::min(comma + 1, text.size()));
  }
  return members;
}

// `parse` reads a member; `wrong`: what it is told that it cannot.
template <class T>
Result<Literal> ParseList(std::string_view text, std::optional<T> (*parse)(std::string_view),
                          Status wrong) {
  std::vector<T> values;
  for (const std::string& member : Members(text)) {
    const std::optional<T> value = parse(member);
    if (!value) return wrong;
    values.push_back(*value);
  }
  return Literal(std::move(values));
}

}  // namespace

std::string LiteralText(const Literal& value) {
  if (const auto* s = std::get_if<std::string>(&value)) return *s;
  if (const auto* i = std::get_if<int64_t>(&value)) return std::to_string(*i);
  if (const auto* b = std::get_if<bool>(&value)) return *b ? "true" : "false";
  if (const auto* d = std::get_if<double>(&value)) return fmt::format("{}", *d);
  if (const auto* v = std::get_if<std::vector<int64_t>>(&value))
    return fmt::format("{}", fmt::join(*v, ","));
  if (const auto* v = std::get_if<std::vector<double>>(&value))
    return fmt::format("{}", fmt::join(*v, ","));
  if (const auto* v = std::get_if<std::vector<std::string>>(&value))
    return fmt::format("{}", fmt::join(*v, ","));
  return "";
}

ParamType TypeOf(const Literal& value) {
  if (std::holds_alternative<bool>(value)) return ParamType::kBool;
  if (std::holds_alternative<int64_t>(value)) return ParamType::kInt;
  if (std::holds_alternative<double>(value)) return ParamType::kFloat;
  if (std::holds_alternative<std::string>(value)) return ParamType::kString;
  if (std::holds_alternative<std::vector<std::string>>(value)) return ParamType::kStrings;
  if (std::holds_alternative<std::vector<double>>(value)) return ParamType::kFloats;
  const auto* const ints = std::get_if<std::vector<int64_t>>(&value);
  return ints == nullptr || ints->empty() ? ParamType::kAny : ParamType::kInts;
}

bool FitsType(ParamType type, const Literal& value) {
  switch (type) {
    case ParamType::kAny: return true;
    case ParamType::kBool: return std::holds_alternative<bool>(value);
    case ParamType::kInt: return std::holds_alternative<int64_t>(value);
    case ParamType::kFloat:
      return std::holds_alternative<double>(value) || std::holds_alternative<int64_t>(value);
    case ParamType::kBytes: {
      const auto* text = std::get_if<std::string>(&value);
      return std::holds_alternative<int64_t>(value) || (text && ParseSize(*text));
    }
    case ParamType::kInts: return std::holds_alternative<std::vector<int64_t>>(value);
    case ParamType::kFloats:
      return std::holds_alternative<std::vector<double>>(value) ||
             std::holds_alternative<std::vector<int64_t>>(value);
    case ParamType::kStrings:
      return std::holds_alternative<std::vector<std::string>>(value) ||
             value == Literal(std::vector<int64_t>());
    default: return std::holds_alternative<std::string>(value);
  }
}

bool FitsChoices(ParamType type, const Literal& value) {
  switch (type) {
    case ParamType::kInts: return FitsType(ParamType::kInt, value);
    case ParamType::kFloats: return FitsType(ParamType::kFloat, value);
    case ParamType::kStrings: return FitsType(ParamType::kString, value);
    default: return FitsType(type, value);
  }
}

bool IsAllowed(const Param& param, const Literal& value) {
  if (param.one_of.empty()) return true;
  std::set<std::string> choices;
  for (const Literal& choice : param.one_of) choices.insert(LiteralText(choice));
  const auto among = [&](const Literal& one) { return choices.contains(LiteralText(one)); };
  const auto all = [&](const auto& list) {
    return std::ranges::all_of(list, [&](const auto& member) { return among(Literal(member)); });
  };
  if (const auto* ints = std::get_if<std::vector<int64_t>>(&value)) return all(*ints);
  if (const auto* floats = std::get_if<std::vector<double>>(&value)) return all(*floats);
  const auto* texts = std::get_if<std::vector<std::string>>(&value);
  return texts == nullptr ? among(value) : all(*texts);
}

Result<Literal> ParseLiteral(ParamType type, std::string_view text) {
  const auto wrong = [&](std::string_view wanted) {
    return Status(StatusCode::kUsage, fmt::format("`{}` is no {}", Printable(text), wanted));
  };
  switch (type) {
    case ParamType::kBool:
      if (text == "true" || text == "1") return Literal(true);
      if (text == "false" || text == "0") return Literal(false);
      return wrong("true or false");
    case ParamType::kInt: {
      const auto value = ParseInt(text);
      return value ? Result<Literal>(Literal(*value)) : wrong("integer");
    }
    case ParamType::kBytes: {
      const auto value = ParseSize(text);
      const auto bytes = value ? value : ParseInt(text);
      return bytes && *bytes >= 0 ? Result<Literal>(Literal(*bytes)) : wrong("size (64MiB)");
    }
    case ParamType::kFloat: {
      const auto value = ParseFloat(text);
      return value ? Result<Literal>(Literal(*value)) : wrong("number");
    }
    case ParamType::kRegex: {
      const re2::RE2 regex(std::string(text), re2::RE2::Quiet);
      return regex.ok() ? Result<Literal>(Literal(std::string(text)))
                        : wrong("regular expression: " + regex.error());
    }
    case ParamType::kInts:
      return ParseList<int64_t>(text, ParseInt, wrong("list of integers, as 1,2"));
    case ParamType::kFloats:
      return ParseList<double>(text, ParseFloat, wrong("list of numbers, as 0.5,2"));
    case ParamType::kStrings: return Literal(Members(text));
    case ParamType::kAny:
      if (text == "true" || text == "false") return Literal(text == "true");
      if (const auto value = ParseInt(text)) return Literal(*value);
      if (text.find_first_not_of("0123456789+-.eE") == std::string_view::npos) {
        if (const auto value = ParseFloat(text)) return Literal(*value);
      }
      return Literal(std::string(text));
    default: return Literal(std::string(text));
  }
}

std::optional<int64_t> ParseSize(std::string_view text) {
  int64_t value = 0;
  const auto read = std::from_chars(text.data(), text.data() + text.size(), value);
  if (read.ec != std::errc() || value < 0) return std::nullopt;
  std::string_view unit = text.substr(read.ptr - text.data());
  while (unit.starts_with(' ')) unit.remove_prefix(1);
  static constexpr std::pair<std::string_view, int64_t> kUnits[] = {
      {"B", 1},      {"KiB", 1 << 10},  {"MiB", 1 << 20},     {"GiB", 1 << 30},
      {"kB", 1'000}, {"MB", 1'000'000}, {"GB", 1'000'000'000}};
  for (const auto& [name, factor] : kUnits) {
    if (unit != name) continue;
    if (value > std::numeric_limits<int64_t>::max() / factor) return std::nullopt;
    return value * factor;
  }
  return std::nullopt;
}

}  // namespace qrewrite
