#include "engine/lsp/text.h"

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <limits>

#include <fmt/format.h>

namespace qrewrite::lsp {
namespace {

constexpr size_t kStep = 256;  // bytes between counted places

bool Continues(char c) { return (c & 0xc0) == 0x80; }
// Characters beyond the first 65536 are two units.
int Units(char first) { return static_cast<unsigned char>(first) >= 0xf0 ? 2 : 1; }

int Hex(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  const char lower = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return lower >= 'a' && lower <= 'f' ? lower - 'a' + 10 : -1;
}

std::string Decoded(std::string_view text) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    const bool escape =
        text[i] == '%' && i + 2 < text.size() && Hex(text[i + 1]) >= 0 && Hex(text[i + 2]) >= 0;
    out += escape ? static_cast<char>(Hex(text[i + 1]) * 16 + Hex(text[i + 2])) : text[i];
    if (escape) i += 2;
  }
  return out;
}

}  // namespace

Position PositionOf(const Json& json) {
  const auto coordinate = [&](const char* name) {
    const Json& value = json.at(name);
    if (!value.is_number_integer()) throw RequestError{kInvalidParams, "a position of no numbers"};
    constexpr int64_t kMost = std::numeric_limits<int>::max();
    return static_cast<int>(std::clamp(value.get<int64_t>(), int64_t{-1}, kMost));
  };
  return {coordinate("line"), coordinate("character")};
}
Range RangeOf(const Json& json) {
  return {PositionOf(json.at("start")), PositionOf(json.at("end"))};
}
Json ToJson(const Position& position) {
  return {{"line", position.line}, {"character", position.character}};
}
Json ToJson(const Range& range) {
  return {{"start", ToJson(range.start)}, {"end", ToJson(range.end)}};
}

Text::Text(std::string content) : content_(std::move(content)), starts_{0} {
  uint32_t units = 0;
  for (size_t i = 0; i < content_.size(); ++i) {
    if (i % kStep == 0) units_.push_back(units);
    if (!Continues(content_[i])) units += Units(content_[i]);
    if (content_[i] == '\n') starts_.push_back(i + 1);
  }
}

size_t Text::UnitsBefore(size_t offset) const {
  if (content_.empty()) return 0;
  const size_t step = std::min(offset / kStep, units_.size() - 1);
  size_t units = units_[step];
  for (size_t i = step * kStep; i < offset; ++i) {
    if (!Continues(content_[i])) units += Units(content_[i]);
  }
  return units;
}

size_t Text::ByteOfUnit(size_t unit, size_t from) const {
  const auto after = std::upper_bound(units_.begin(), units_.end(), unit);
  const size_t step = after == units_.begin() ? 0 : static_cast<size_t>(after - units_.begin()) - 1;
  size_t at = std::max(from, step * kStep);
  size_t units = UnitsBefore(at);
  while (at < content_.size() && (units < unit || Continues(content_[at]))) {
    if (!Continues(content_[at])) units += Units(content_[at]);
    ++at;
  }
  return at;
}

std::string_view Text::Line(int line) const {
  if (line < 0 || line >= lines()) return {};
  const size_t end = line + 1 < lines() ? starts_[line + 1] - 1 : content_.size();
  std::string_view text(content_.data() + starts_[line], end - starts_[line]);
  if (text.ends_with('\r')) text.remove_suffix(1);
  return text;
}

size_t Text::Offset(const Position& position) const {
  if (position.line < 0) return 0;
  if (position.line >= lines()) return content_.size();
  const size_t begin = starts_[position.line], end = begin + Line(position.line).size();
  if (position.character <= 0) return begin;
  const size_t unit = UnitsBefore(begin) + static_cast<size_t>(position.character);
  return std::min(ByteOfUnit(unit, begin), end);
}

Position Text::At(size_t offset) const {
  offset = std::min(offset, content_.size());
  const auto after = std::upper_bound(starts_.begin(), starts_.end(), offset);
  const int line = static_cast<int>(after - starts_.begin()) - 1;
  const size_t begin = starts_[line];
  const size_t end = std::min(offset, begin + Line(line).size());
  return {line, static_cast<int>(UnitsBefore(end) - UnitsBefore(begin))};
}

Range Text::At(const SourceSpan& span) const {
  if (span.line < 1) return {};
  const int line_number = std::min(span.line, lines()) - 1;
  const std::string_view line = Line(line_number);
  Range range{{line_number, 0}, {line_number, 0}};
  int column = 0;
  for (const char c : line) {
    if (Continues(c)) continue;
    if (++column >= span.end_column) break;
    if (column < span.column) range.start.character += Units(c);
    if (column < span.end_column) range.end.character += Units(c);
  }
  range.end.character = std::max(range.end.character, range.start.character);
  return range;
}

std::string PathOfUri(std::string_view uri) {
  constexpr std::string_view kScheme = "file://";
  if (!uri.starts_with(kScheme)) return std::string(uri);
  uri.remove_prefix(kScheme.size());
  uri.remove_prefix(std::min(uri.find('/'), uri.size()));  // a host
  return std::filesystem::path(Decoded(uri)).lexically_normal().generic_string();
}

std::string UriOfPath(std::string_view path) {
  if (!path.starts_with('/')) return std::string(path);
  std::string uri = "file://";
  for (const char c : path) {
    const bool plain = std::isalnum(static_cast<unsigned char>(c)) ||
                       std::string_view("/-._~").find(c) != std::string_view::npos;
    uri += plain ? std::string(1, c) : fmt::format("%{:02X}", static_cast<unsigned char>(c));
  }
  return uri;
}

}  // namespace qrewrite::lsp
