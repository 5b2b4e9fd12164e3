// Places in a text as editors count them: lines from 0, columns in UTF-16 code units.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "engine/lsp/json_rpc.h"
#include "qrewrite/diagnostic.h"

namespace qrewrite::lsp {

struct Position {
  int line = 0;
  int character = 0;
  bool operator==(const Position&) const = default;
};
struct Range {
  Position start, end;
  bool operator==(const Range&) const = default;
};

// Throw RequestError, or what nlohmann_json throws, if the parts are missing or of another type.
Position PositionOf(const Json& json);
Range RangeOf(const Json& json);
Json ToJson(const Position& position);
Json ToJson(const Range& range);

// A byte range of a text.
struct Span {
  uint32_t begin = 0, end = 0;
  bool operator==(const Span&) const = default;
  // An editor's cursor behind the last letter is still at the word.
  bool Touches(size_t offset) const { return begin <= offset && offset <= end; }
};

// A text and where its lines begin. A place outside of it is the nearest one inside.
class Text {
 public:
  explicit Text(std::string content);

  const std::string& content() const { return content_; }
  size_t Offset(const Position& position) const;
  Position At(size_t offset) const;
  Range At(const Span& span) const { return {At(span.begin), At(span.end)}; }
  // A span of a diagnostic: line and columns in code points from 1. Line 0: the beginning.
  Range At(const SourceSpan& span) const;
  std::string_view Line(int line) const;  // from 0, without its end
  int lines() const { return static_cast<int>(starts_.size()); }

 private:
  size_t UnitsBefore(size_t offset) const;
  // The first byte at or behind `from` that so many units of the text stand in front of.
  size_t ByteOfUnit(size_t unit, size_t from) const;

  std::string content_;
  std::vector<size_t> starts_;
  // UTF-16 units in front of every so many bytes: a line may be the whole of a large JSON file.
  std::vector<uint32_t> units_;
};

// A path of a `file:` URI and back; any other URI is its own path. Paths are normalized.
std::string PathOfUri(std::string_view uri);
std::string UriOfPath(std::string_view path);

}  // namespace qrewrite::lsp
