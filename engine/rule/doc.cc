#include "engine/rule/doc.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstring>
#include <limits>

#include <fmt/format.h>

#include "engine/base/real.h"
#include "engine/rule/codes.h"
#include "engine/rule/hints.h"

namespace qrewrite {
namespace {

bool IsOneOf(std::string_view text, std::initializer_list<std::string_view> words) {
  return std::find(words.begin(), words.end(), text) != words.end();
}

size_t SkipDigits(std::string_view text, size_t at) {
  while (at < text.size() && text[at] >= '0' && text[at] <= '9') ++at;
  return at;
}

// [-+]? ( \. [0-9]+ | [0-9]+ ( \. [0-9]* )? ) ( [eE] [-+]? [0-9]+ )?
bool LooksLikeFloat(std::string_view text) {
  size_t at = !text.empty() && (text[0] == '-' || text[0] == '+') ? 1 : 0;
  const size_t whole = SkipDigits(text, at);
  size_t digits = whole - at;
  at = whole;
  if (at < text.size() && text[at] == '.') {
    const size_t end = SkipDigits(text, at + 1);
    digits += end - at - 1;
    at = end;
  }
  if (digits == 0) return false;
  if (at < text.size() && (text[at] == 'e' || text[at] == 'E')) {
    ++at;
    if (at < text.size() && (text[at] == '-' || text[at] == '+')) ++at;
    const size_t end = SkipDigits(text, at);
    if (end == at) return false;
    at = end;
  }
  return at == text.size();
}

std::optional<int64_t> ParseBased(std::string_view text) {
  int base = 0;
  if (text.starts_with("0x")) base = 16;
  if (text.starts_with("0o")) base = 8;
  if (base == 0) return std::nullopt;
  int64_t value = 0;
  const char* end = text.data() + text.size();
  const auto result = std::from_chars(text.data() + 2, end, value, base);
  if (result.ec != std::errc() || result.ptr != end) return std::nullopt;
  return value;
}

std::optional<double> ParseSpecial(std::string_view text) {
  const double sign = text.starts_with('-') ? -1 : 1;
  if (text.starts_with('-') || text.starts_with('+')) text.remove_prefix(1);
  if (IsOneOf(text, {".inf", ".Inf", ".INF"}))
    return sign * std::numeric_limits<double>::infinity();
  if (IsOneOf(text, {".nan", ".NaN", ".NAN"})) return std::numeric_limits<double>::quiet_NaN();
  return std::nullopt;
}

// Number of bytes of the UTF-8 sequence at `at`, 0 if it is none.
size_t Utf8Length(std::string_view text, size_t at) {
  const auto byte = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char first = byte(at);
  if (first < 0x80) return 1;
  const size_t length = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
  if (first < 0xc2 || first > 0xf4 || at + length > text.size()) return 0;
  for (size_t i = 1; i < length; ++i) {
    if ((byte(at + i) & 0xc0) != 0x80) return 0;
  }
  const unsigned char second = byte(at + 1);
  // Overlong forms, surrogates, beyond U+10FFFF.
  if ((first == 0xe0 && second < 0xa0) || (first == 0xed && second > 0x9f) ||
      (first == 0xf0 && second < 0x90) || (first == 0xf4 && second > 0x8f)) {
    return 0;
  }
  return length;
}

}  // namespace

Scalar ResolveScalar(const DocNode& node) {
  using Kind = Scalar::Kind;
  if (node.style != DocNode::Style::kPlain) return {};
  const std::string_view text = node.text.text;
  if (IsOneOf(text, {"", "~", "null", "Null", "NULL"})) return {.kind = Kind::kNull};
  if (IsOneOf(text, {"true", "True", "TRUE"})) return {.kind = Kind::kBool, .bool_value = true};
  if (IsOneOf(text, {"false", "False", "FALSE"})) return {.kind = Kind::kBool};
  if (const auto value = ParseBased(text)) return {.kind = Kind::kInt, .int_value = *value};
  if (const auto value = ParseSpecial(text)) return {.kind = Kind::kFloat, .float_value = *value};
  if (!LooksLikeFloat(text)) return {};
  const std::string_view digits = text.starts_with('+') ? text.substr(1) : text;
  const char* end = digits.data() + digits.size();
  Scalar scalar{.kind = Kind::kInt};
  const auto as_int = std::from_chars(digits.data(), end, scalar.int_value);
  if (as_int.ec == std::errc() && as_int.ptr == end) return scalar;
  scalar = {.kind = Kind::kFloat};
  if (std::from_chars(digits.data(), end, scalar.float_value).ec ==
      std::errc::result_out_of_range) {
    scalar.float_value = RealOf(std::string(digits));
  }
  return scalar;
}

bool IsNull(const DocNode& node) {
  return node.is_scalar() && ResolveScalar(node).kind == Scalar::Kind::kNull;
}

const Snippet& JoinLines(const DocNode& node, Snippet& joined) {
  if (node.is_scalar()) return node.text;
  joined = {.source = node.place.source};
  for (const DocNode& line : node.items) {
    if (!joined.where.empty()) {
      // The newline stands where the line before ended.
      joined.text += '\n';
    }
    joined.text += line.text.text;
    joined.where.Append(line.text.where);
  }
  if (joined.where.empty()) joined.where.push_back(node.place.begin);
  return joined;
}

// How many bytes from the first on are ASCII and no NUL; eight at a time, so some at the end may be left.
static size_t PlainBytes(std::string_view text) {
  constexpr uint64_t kOnes = 0x0101010101010101u, kHighs = 0x8080808080808080u;
  size_t at = 0;
  for (uint64_t eight = 0; at + sizeof(eight) <= text.size(); at += sizeof(eight)) {
    std::memcpy(&eight, text.data() + at, sizeof(eight));
    if (((eight | (eight - kOnes)) & kHighs) != 0) break;  // a high bit, or a borrow out of a zero
  }
  return at;
}

bool CheckBytes(const SourceText& source, DiagnosticSink& sink) {
  const std::string_view text = source.text();
  if (text.size() > kMaxDocBytes) {
    sink.Error(
        {&source, 0, 0}, code::kTooLarge,
        fmt::format("a rule file of {} bytes; at most {} are read", text.size(), kMaxDocBytes));
    return false;
  }
  for (size_t at = 0; at < text.size();) {
    at += PlainBytes(text.substr(at));
    if (at == text.size()) break;
    const size_t length = Utf8Length(text, at);
    if (length == 0 || text[at] == '\0') {
      const auto place = static_cast<uint32_t>(at);
      sink.Error({&source, place, place + 1}, code::kSyntax,
                 length == 0 ? "this byte is no UTF-8" : "a NUL byte in a rule file")
          .hint = "save the file as UTF-8 text";
      return false;
    }
    at += length;
  }
  return true;
}

void CheckPlainScalar(const DocNode& node, DiagnosticSink& sink) {
  if (node.style != DocNode::Style::kPlain || Many(sink)) return;
  const std::string& text = node.text.text;
  std::string lower = text.size() <= 3 ? text : "";  // as long as the words below
  for (char& c : lower) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  if (IsOneOf(lower, {"on", "off", "yes", "no"})) {
    sink.Error(node.place, code::kAmbiguous,
               fmt::format("`{}` is a boolean to some YAML readers and a text to others", text))
        .hint = fmt::format("quote it: '{}'; a boolean is written true or false", text);
    return;
  }
  const size_t first = text.starts_with('-') || text.starts_with('+') ? 1 : 0;
  if (text.size() > first + 1 && text[first] == '0' && SkipDigits(text, first) == text.size()) {
    const size_t digit = std::min(text.find_first_not_of('0', first), text.size() - 1);
    sink.Error(node.place, code::kAmbiguous,
               fmt::format("`{}` is octal to some YAML readers and decimal to others", text))
        .hint =
        fmt::format("write {}{}, or quote a text", text.substr(0, first), text.substr(digit));
  }
}

bool KeySet::Add(const DocNode& key, DiagnosticSink& sink) {
  const auto [before, fresh] = keys_.Add(key.text.text, key.place);
  if (fresh) return true;
  // A second `name` begins another item: what follows belongs to it.
  if (Many(sink) || another_item_) return false;
  const std::string& text = key.text.text;
  another_item_ = text == "name";
  Diagnostic& d = sink.Error(key.place, code::kDuplicateKey,
                             fmt::format("the key `{}` stands here twice", Printable(text)));
  d.notes.push_back(FirstNote(*before));
  if (text == "name") d.hint = "each item of a list begins with `- `";
  if (text == "where" || text == "when")
    d.hint = "several conditions are a list, or joined by `and`";
  if (text == "match" || text == "replace")
    d.hint = "several statements stand behind `|`, one a line";
  return false;
}

}  // namespace qrewrite
