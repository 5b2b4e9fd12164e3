#include "engine/expr/names.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

#include "engine/base/real.h"
#include "engine/tensor/dtype.h"

namespace qrewrite {
namespace {

constexpr std::array<std::string_view, 10> kWords = {"if", "else", "and",  "or",    "not",
                                                     "in", "when", "true", "false", "absent"};
constexpr std::array<std::string_view, 4> kYamlBooleans = {"on", "off", "yes", "no"};
constexpr size_t kLongestWord = std::ranges::max(kWords, {}, &std::string_view::size).size();
static_assert(std::ranges::max(kYamlBooleans, {}, &std::string_view::size).size() <= kLongestWord);

bool IsNameStart(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }

template <class Float>
std::string Shortest(Float value) {
  std::array<char, 64> buffer{};
  const auto end = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value);
  std::string text(buffer.data(), end.ptr);
  // 1e+38 and 1e-06 are written 1e38 and 1e-6.
  if (const size_t e = text.find('e'); e != std::string::npos) {
    size_t digits = e + 1;
    if (text[digits] == '+') text.erase(digits, 1);
    if (text[digits] == '-') ++digits;
    while (text[digits] == '0' && digits + 1 < text.size()) text.erase(digits, 1);
  }
  if (text.find_first_of(".enai") == std::string::npos)
    text += ".0";  // 1 -> 1.0; not inf, nan, 1e5
  return text;
}

}  // namespace

bool IsWord(std::string_view text) {
  return std::find(kWords.begin(), kWords.end(), text) != kWords.end();
}

bool IsDeletion(std::string_view text) {
  constexpr std::array<std::string_view, 5> kDeletions = {"delete", "remove", "erase", "drop",
                                                          "del"};
  return std::find(kDeletions.begin(), kDeletions.end(), text) != kDeletions.end();
}

bool IsIdentifier(std::string_view text) {
  if (text.empty() || !IsNameStart(text[0])) return false;
  return std::all_of(text.begin(), text.end(),
                     [](char c) { return IsNameStart(c) || (c >= '0' && c <= '9'); });
}

bool IsReserved(std::string_view text) {
  if (text == "_" || DTypeFromName(text)) return true;
  if (text.size() > kLongestWord || text.empty() || text[0] < 'a') return false;
  return IsWord(text) || std::ranges::find(kYamlBooleans, text) != kYamlBooleans.end();
}

bool IsNumberWord(std::string_view text) { return text == "inf" || text == "nan"; }

bool IsPlainName(std::string_view text) {
  return IsIdentifier(text) && !IsReserved(text) && !IsNumberWord(text);
}

bool IsDashedName(std::string_view text) {
  if (text.empty()) return false;
  for (const char c : text) {
    const bool ok = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                    c == '_' || c == '-' || c == '.';
    if (!ok) return false;
  }
  return text[0] != '-' && text[0] != '.';
}

std::string QuoteString(std::string_view text) {
  std::string out = "'";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '\'' || c == '\\') {
      out += '\\';
      out += c;
    } else if (c == '\n') {
      out += "\\n";
    } else if (c == '\t') {
      out += "\\t";
    } else if (c == '\r') {
      out += "\\r";
    } else if (byte < 0x20 || byte == 0x7f) {
      out += fmt::format("\\x{:02x}", byte);
    } else {
      out += c;
    }
  }
  return out + "'";
}

std::string NameText(std::string_view name) {
  return IsPlainName(name) ? std::string(name) : QuoteString(name);
}

std::string OpNameText(std::string_view name) {
  size_t start = 0;
  for (;;) {
    const size_t dot = name.find('.', start);
    const std::string_view part = name.substr(start, dot == name.npos ? name.npos : dot - start);
    // Behind a dot any identifier is a name; the first part must not be a word.
    if (!(start == 0 ? IsPlainName(part) : IsIdentifier(part))) return QuoteString(name);
    if (dot == name.npos) return std::string(name);
    start = dot + 1;
  }
}

std::string FloatText(double value) {
  if (std::isnan(value)) return "nan";
  return Shortest(value);
}

std::string FloatText(float value) {
  if (std::isnan(value)) return "nan";
  const std::string text = Shortest(value);
  // The reader goes through double: where that rounds twice, more digits are needed.
  if (static_cast<float>(RealOf(text)) == value) return text;
  return FloatText(static_cast<double>(value));
}

}  // namespace qrewrite
