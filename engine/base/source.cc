#include "engine/base/source.h"

#include <algorithm>
#include <cstring>

namespace qrewrite {
namespace {

constexpr size_t kBlock = 512;

// Most of a rule file is ASCII: eight bytes at once.
int CountCodePoints(std::string_view bytes) {
  size_t count = bytes.size();
  for (uint64_t word = 0; !bytes.empty();) {
    const std::string_view some = bytes.substr(0, sizeof word);
    bytes.remove_prefix(some.size());
    if (some.size() == sizeof word) {
      std::memcpy(&word, some.data(), sizeof word);
      if ((word & 0x8080808080808080) == 0) continue;
    }
    count -=
        static_cast<size_t>(std::ranges::count_if(some, [](char c) { return (c & 0xc0) == 0x80; }));
  }
  return static_cast<int>(count);
}

}  // namespace

SourceText::SourceText(std::string name, std::string text)
    : name_(std::move(name)), text_(std::move(text)) {}

const SourceText::Lines& SourceText::lines() const {
  std::call_once(counted_, [this] {
    lines_.starts.push_back(0);
    for (size_t at = 0; (at = text_.find('\n', at)) != std::string::npos;)
      lines_.starts.push_back(++at);
    int before = 0;
    for (size_t at = 0; at < text_.size(); at += kBlock) {
      lines_.code_points.push_back(before);
      before += CountCodePoints(text().substr(at, kBlock));
    }
  });
  return lines_;
}

int SourceText::CodePoints(size_t begin, size_t end) const {
  if (end - begin < 2 * kBlock) return CountCodePoints(text().substr(begin, end - begin));
  const auto before = [this](size_t at) {
    const size_t block = (at - 1) / kBlock;  // of a byte that is there
    return lines().code_points[block] +
           CountCodePoints(text().substr(block * kBlock, at - block * kBlock));
  };
  return before(end) - (begin == 0 ? 0 : before(begin));
}

size_t SourceText::LineStart(int line) const {
  const std::vector<size_t>& starts = lines().starts;
  if (line < 1) return 0;
  if (static_cast<size_t>(line) > starts.size()) return text_.size();
  return starts[line - 1];
}

SourceSpan SourceText::Span(size_t begin, size_t end, size_t longest) const {
  begin = std::min(begin, text_.size());
  end = std::clamp(end, begin, text_.size());
  const std::vector<size_t>& starts = lines().starts;
  const auto after = std::upper_bound(starts.begin(), starts.end(), begin);
  const size_t start = *(after - 1);
  size_t stop = after == starts.end() ? text_.size() : *after - 1;
  if (stop > start && text_[stop - 1] == '\r') --stop;
  const size_t from = std::min(begin, stop);
  const size_t to = std::clamp(end, from, stop);
  const int column = CodePoints(start, from) + 1;
  // Nobody reads a line of megabytes in a message.
  constexpr size_t kShown = size_t{64} << 10;
  return {.file = name_,
          .line = static_cast<int>(after - starts.begin()),
          .column = column,
          .end_column = std::max(column + 1, column + CodePoints(from, to)),
          .line_text = std::string(
              text().substr(start, stop - start > longest ? 0 : std::min(stop - start, kShown)))};
}

size_t Origins::RunAmongMany(size_t i) const {
  const auto behind = std::ranges::upper_bound(runs_, i, {}, &Run::index);
  return static_cast<size_t>(behind - runs_.begin()) - 1;
}

void Origins::AddRun(uint32_t first, size_t count) {
  if (count == 0) return;
  const bool longer = size_ > 0 && !runs_.back().same && runs_.back().At(size_) == first;
  if (!longer) runs_.push_back({static_cast<uint32_t>(size_), first, /*same=*/false});
  size_ += count;
}

void Origins::AddSame(uint32_t byte, size_t count) {
  if (count < 2) return AddRun(byte, count);
  runs_.push_back({static_cast<uint32_t>(size_), byte, /*same=*/true});
  size_ += count;
}

void Origins::Append(const Origins& other) {
  for (Run run : other.runs_) {
    run.index += static_cast<uint32_t>(size_);
    runs_.push_back(run);
  }
  size_ += other.size_;
}

void Origins::PrependSame(uint32_t byte, size_t count) {
  Origins all;
  all.AddSame(byte, count);
  all.Append(*this);
  *this = std::move(all);
}

Snippet Prefixed(std::string_view prefix, Snippet text) {
  text.text.insert(0, prefix);
  text.where.PrependSame(text.where.front(), prefix.size());
  return text;
}

Place Snippet::PlaceAcross(size_t begin, size_t end) const {
  if (where.empty()) return {source, 0, 0};
  begin = std::min(begin, where.size() - 1);
  end = std::clamp(end, begin, where.size() - 1);
  const uint32_t first = where[begin];
  return {source, first, end > begin ? std::max(where[end - 1] + 1, first) : first};
}

Snippet WholeText(const SourceText& source) {
  Snippet snippet{.text = std::string(source.text()), .source = &source};
  snippet.where.AddRun(0, source.text().size() + 1);
  return snippet;
}

}  // namespace qrewrite
