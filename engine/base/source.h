// SourceText: a text with a name, and places in it. A place is a byte offset; lines and columns are
// computed when a diagnostic is made.
//
// Rule texts live inside YAML scalars: a piece of a file that is parsed on its own keeps a map from
// its bytes to the bytes of the file, so that an error in an expression points into the file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include <boost/container/small_vector.hpp>

#include "qrewrite/diagnostic.h"

namespace qrewrite {

class SourceText {
 public:
  SourceText(std::string name, std::string text);

  const std::string& name() const { return name_; }
  std::string_view text() const { return text_; }

  // The place [begin, end) as line and column; a range over several lines ends with the first.
  // `longest`: of a longer line the text is left out.
  SourceSpan Span(size_t begin, size_t end, size_t longest = SIZE_MAX) const;

  // Offset of the first byte of line `line` (from 1), or of the end of the text.
  size_t LineStart(int line) const;

 private:
  struct Lines {
    std::vector<size_t> starts;
    std::vector<int> code_points;  // before each block of kBlock bytes: a line may have megabytes
  };
  // Made when somebody first asks for a line: most rule files are loaded without a word about them. Threads may ask.
  const Lines& lines() const;
  int CodePoints(size_t begin, size_t end) const;

  std::string name_;
  std::string text_;
  mutable std::once_flag counted_;
  mutable Lines lines_;
};

using SourcePtr = std::shared_ptr<const SourceText>;

// A byte range of a source; the span type that all syntax trees carry.
struct Place {
  const SourceText* source = nullptr;  // kept alive by the owner of the tree
  uint32_t begin = 0;
  uint32_t end = 0;

  SourceSpan span() const { return source ? source->Span(begin, end) : SourceSpan{}; }
};

// Which byte of a source each byte of a text came from. Most of a text stands in its file as it is,
// so runs are kept: a rule set of a megabyte has some ten thousand.
class Origins {
 public:
  Origins() = default;
  Origins(std::initializer_list<uint32_t> bytes) {
    for (const uint32_t byte : bytes) push_back(byte);
  }

  size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  // REQUIRES i < size()
  uint32_t operator[](size_t i) const { return runs_[RunOf(i)].At(i); }
  // Does each byte of [begin, end) come from the one behind that of the byte before? Then `first` is
  // where the first came from. REQUIRES begin < end <= size()
  bool Straight(size_t begin, size_t end, uint32_t& first) const {
    const size_t run = RunOf(begin);
    if (runs_[run].same || (run + 1 < runs_.size() && runs_[run + 1].index < end)) return false;
    first = runs_[run].At(begin);
    return true;
  }
  uint32_t front() const { return (*this)[0]; }
  uint32_t back() const { return (*this)[size_ - 1]; }

  void ReserveRuns(size_t count) { runs_.reserve(count); }
  void push_back(uint32_t byte) { AddRun(byte, 1); }
  void AddRun(uint32_t first, size_t count);  // first, first + 1, ...
  void AddSame(uint32_t byte, size_t count);  // what one escape stands for
  void Append(const Origins& other);
  void PrependSame(uint32_t byte, size_t count);

 private:
  struct Run {
    uint32_t index;  // of its first byte in the text
    uint32_t byte;   // of that in the source
    bool same;       // the others came from there, too; else each from the next one
    uint32_t At(size_t i) const { return byte + (same ? 0 : static_cast<uint32_t>(i) - index); }
  };
  // Most texts have a few lines, and so a few runs.
  size_t RunOf(size_t i) const {
    constexpr size_t kFew = 16;
    size_t run = runs_.size() > kFew ? RunAmongMany(i) : runs_.size() - 1;
    while (runs_[run].index > i) --run;
    return run;
  }
  size_t RunAmongMany(size_t i) const;

  boost::container::small_vector<Run, 1> runs_;
  size_t size_ = 0;
};

// A scalar of a file as its reader decoded it, with the way back to the file.
struct Snippet {
  std::string text;  // decoded: indentation removed, escapes resolved
  Origins where;     // of each byte of the text and, behind the last, of its end
  const SourceText* source = nullptr;

  // [begin, end) of the text, in the file. An empty range is the place in front of a byte.
  Place PlaceOf(size_t begin, size_t end) const {
    uint32_t first = 0;
    return begin < end && end < where.size() && where.Straight(begin, end, first)
               ? Place{source, first, first + static_cast<uint32_t>(end - begin)}
               : PlaceAcross(begin, end);
  }

 private:
  Place PlaceAcross(size_t begin, size_t end) const;  // also of a range that is not in the text
};

// `text` behind `prefix`, whose bytes stand where the text begins.
Snippet Prefixed(std::string_view prefix, Snippet text);
// A snippet that is a whole text of its own (tests, command line).
Snippet WholeText(const SourceText& source);

}  // namespace qrewrite
