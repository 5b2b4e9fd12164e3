#include "engine/rule/yaml_text.h"

#include <algorithm>

#include <boost/container/small_vector.hpp>

namespace qrewrite {
namespace {

bool IsSpace(char c) { return c == ' ' || (c >= '\t' && c <= '\r' && c != '\v' && c != '\f'); }

size_t SkipSpace(std::string_view text, size_t at) {
  while (at < text.size() && IsSpace(text[at])) ++at;
  return at;
}

// Plain and block scalars: apart from white space the file holds the very bytes of the text, in
// order, for indentation, folding and chomping change white space only. So lines and runs of other
// bytes are paired as they stand, and runs of white space from their ends: the indentation that a
// text keeps is the last part of the one in the file.
bool FollowVerbatim(std::string_view file, size_t at, std::string_view value, Origins& where) {
  // The indentation of a block scalar's first line.
  if (!value.empty() && !IsSpace(value[0])) at = SkipSpace(file, at);
  // A run a line.
  where.ReserveRuns(1 + static_cast<size_t>(std::count(value.begin(), value.end(), '\n')));
  boost::container::small_vector<uint32_t, 64> spaces;  // where a run of them came from
  for (size_t i = 0; i < value.size();) {
    if (!IsSpace(value[i])) {
      const std::string_view line = value.substr(i, value.find('\n', i) - i);
      if (file.substr(at).starts_with(line)) {  // it was not folded
        where.AddRun(static_cast<uint32_t>(at), line.size());
        i += line.size();
        at += line.size();
        continue;
      }
      if (at >= file.size() || file[at] != value[i]) return false;
      where.push_back(static_cast<uint32_t>(at++));
      ++i;
      continue;
    }
    const size_t stop = SkipSpace(value, i);
    const size_t end = SkipSpace(file, at);
    if (end == at && stop < value.size()) return false;
    size_t from = end;
    spaces.resize(stop - i);
    for (size_t k = stop; k-- > i;) {
      // A newline of the text belongs to one of the file; blanks before it do not.
      while (value[k] == '\n' && from > at && file[from - 1] != '\n') --from;
      if (from > at) --from;
      spaces[k - i] = static_cast<uint32_t>(std::min(from, file.size()));
    }
    for (const uint32_t byte : spaces) where.push_back(byte);
    i = stop;
    at = end;
  }
  where.push_back(value.empty() ? static_cast<uint32_t>(std::min(at, file.size()))
                                : where.back() + 1);
  return true;
}

// The first byte behind the header of a block scalar: `|2-  # comment`.
size_t SkipBlockHeader(std::string_view file, size_t at) {
  const size_t newline = file.find('\n', at);
  return newline == std::string_view::npos ? file.size() : newline + 1;
}

// Reads a quoted scalar itself, as YAML says, and keeps book of where each byte came from.
class QuotedReader {
 public:
  QuotedReader(std::string_view file, size_t begin)
      : file_(file), at_(begin + 1), quote_(file[begin]) {}

  bool Read() {
    while (at_ < file_.size()) {
      const char c = file_[at_];
      if (c == quote_) {
        if (quote_ == '"' || at_ + 1 >= file_.size() || file_[at_ + 1] != '\'') return true;
        Put("'", at_);
        at_ += 2;
      } else if (c == '\\' && quote_ == '"') {
        if (!ReadEscape()) return false;
      } else if (const size_t end = VerbatimEnd(); end > at_) {
        text_ += file_.substr(at_, end - at_);
        where_.AddRun(static_cast<uint32_t>(at_), end - at_);
        at_ = end;
      } else {
        ReadSpace();
      }
    }
    return false;
  }

  const std::string& text() const { return text_; }
  Origins& where() { return where_; }
  size_t end() const { return at_; }  // of the closing quote

 private:
  void Put(std::string_view bytes, size_t from) {
    text_ += bytes;
    where_.AddSame(static_cast<uint32_t>(from), bytes.size());
  }

  // The end of what stays as it is, white space within a line included.
  size_t VerbatimEnd() const {
    const std::string_view ends = quote_ == '"' ? "\"\\\n" : "'\n";
    size_t end = std::min(file_.find_first_of(ends, at_), file_.size());
    if (end == file_.size() || file_[end] != '\n') return end;
    while (end > at_ && IsSpace(file_[end - 1])) --end;
    return end;
  }

  // A line end and the white space around it become a space, an empty line a line end.
  void ReadSpace() {
    const size_t end = SkipSpace(file_, at_);
    const size_t lines = std::count(file_.begin() + at_, file_.begin() + end, '\n');
    Put(lines == 1 ? " " : std::string(lines - 1, '\n'), file_.find('\n', at_));
    at_ = end;
  }

  bool ReadEscape() {
    static constexpr std::string_view kNames = "0abt\tnvfre \"/\\";
    static constexpr std::string_view kValues("\0\a\b\t\t\n\v\f\r\x1b \"/\\", 14);
    if (at_ + 1 >= file_.size()) return false;
    const char c = file_[at_ + 1];
    const size_t begin = at_;
    at_ += 2;
    if (c == '\n' || c == '\r') {
      at_ = SkipSpace(file_, at_);
      return true;
    }
    if (const size_t name = kNames.find(c); name != std::string_view::npos) {
      Put(kValues.substr(name, 1), begin);
      return true;
    }
    const size_t digits = c == 'x' ? 2 : c == 'u' ? 4 : c == 'U' ? 8 : 0;
    if (digits == 0 || at_ + digits > file_.size()) return false;
    const uint32_t point = static_cast<uint32_t>(
        std::stoul("0" + std::string(file_.substr(at_, digits)), nullptr, 16));
    at_ += digits;
    PutCodePoint(point, begin);
    return true;
  }

  void PutCodePoint(uint32_t p, size_t from) {
    std::string bytes;
    const auto tail = [&](int shift) { bytes += static_cast<char>(0x80 | ((p >> shift) & 0x3f)); };
    if (p < 0x80) {
      bytes += static_cast<char>(p);
    } else if (p < 0x800) {
      bytes += static_cast<char>(0xc0 | (p >> 6));
      tail(0);
    } else if (p < 0x10000) {
      bytes += static_cast<char>(0xe0 | (p >> 12));
      tail(6), tail(0);
    } else {
      bytes += static_cast<char>(0xf0 | (p >> 18));
      tail(12), tail(6), tail(0);
    }
    Put(bytes, from);
  }

  std::string_view file_;
  size_t at_;
  char quote_;
  std::string text_;
  Origins where_;
};

uint32_t EndOf(const Origins& where, std::string_view text, uint32_t begin) {
  // The place of a text ends with its last visible byte.
  for (size_t i = text.size(); i > 0; --i) {
    if (!IsSpace(text[i - 1])) return where[i - 1] + 1;
  }
  return begin + 1;
}

}  // namespace

DocNode LocateScalar(const SourceText& source, size_t begin, std::string value) {
  using Style = DocNode::Style;
  const std::string_view file = source.text();
  const char first = begin < file.size() ? file[begin] : '\0';
  DocNode node;
  node.text.source = &source;
  Origins& where = node.text.where;
  const auto start = static_cast<uint32_t>(std::min(begin, file.size()));
  bool exact = false;
  if (first == '"' || first == '\'') {
    node.style = Style::kQuoted;
    QuotedReader reader(file, begin);
    exact = reader.Read() && reader.text() == value;
    where = std::move(reader.where());
    where.push_back(static_cast<uint32_t>(reader.end()));
    node.place = {&source, start, static_cast<uint32_t>(std::min(reader.end() + 1, file.size()))};
  } else {
    const bool block = first == '|' || first == '>';
    node.style = block ? Style::kBlock : Style::kPlain;
    exact = FollowVerbatim(file, block ? SkipBlockHeader(file, begin) : begin, value, where);
    const uint32_t end = exact && !block ? EndOf(where, value, start) : start + 1;
    node.place = {&source, start, end};
  }
  if (!exact) {
    where = {};
    where.AddSame(start, value.size() + 1);
  }
  node.text.text = std::move(value);
  return node;
}

}  // namespace qrewrite
