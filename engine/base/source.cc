#include "engine/base/source.h"

#include <algorithm>

namespace qrewrite {
namespace {

int CodePoints(std::string_view bytes) {
  return static_cast<int>(
      std::count_if(bytes.begin(), bytes.end(), [](char c) { return (c & 0xc0) != 0x80; }));
}

}  // namespace

SourceText::SourceText(std::string name, std::string text)
    : name_(std::move(name)), text_(std::move(text)) {
  line_starts_.push_back(0);
  for (size_t at = 0; (at = text_.find('\n', at)) != std::string::npos;)
    line_starts_.push_back(++at);
}

size_t SourceText::LineStart(int line) const {
  if (line < 1) return 0;
  if (static_cast<size_t>(line) > line_starts_.size()) return text_.size();
  return line_starts_[line - 1];
}

SourceSpan SourceText::Span(size_t begin, size_t end) const {
  begin = std::min(begin, text_.size());
  end = std::clamp(end, begin, text_.size());
  const auto after = std::upper_bound(line_starts_.begin(), line_starts_.end(), begin);
  const size_t start = *(after - 1);
  size_t stop = after == line_starts_.end() ? text_.size() : *after - 1;
  if (stop > start && text_[stop - 1] == '\r') --stop;
  const std::string_view line = text().substr(start, stop - start);
  const size_t from = std::min(begin - start, line.size());
  const size_t to = std::clamp(end - start, from, line.size());
  const int column = CodePoints(line.substr(0, from)) + 1;
  // Nobody reads a line of megabytes in a message.
  constexpr size_t kShown = size_t{64} << 10;
  return {.file = name_,
          .line = static_cast<int>(after - line_starts_.begin()),
          .column = column,
          .end_column = std::max(column + 1, column + CodePoints(line.substr(from, to - from))),
          .line_text = std::string(line.substr(0, kShown))};
}

Place Snippet::PlaceOf(size_t begin, size_t end) const {
  if (where.empty()) return {source, 0, 0};
  begin = std::min(begin, where.size() - 1);
  end = std::clamp(end, begin, where.size() - 1);
  const uint32_t last = end > begin ? where[end - 1] + 1 : where[begin];
  return {source, where[begin], std::max(last, where[begin])};
}

Snippet WholeText(const SourceText& source) {
  Snippet snippet{.text = std::string(source.text()), .source = &source};
  for (size_t i = 0; i <= source.text().size(); ++i) {
    snippet.where.push_back(static_cast<uint32_t>(i));
  }
  return snippet;
}

}  // namespace qrewrite
