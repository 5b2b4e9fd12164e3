// SourceText: a text with a name, and places in it. A place is a byte offset; lines and columns are
// computed when a diagnostic is made.
//
// Rule texts live inside YAML scalars: a piece of a file that is parsed on its own keeps a map from
// its bytes to the bytes of the file, so that an error in an expression points into the file.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "qrewrite/diagnostic.h"

namespace qrewrite {

class SourceText {
 public:
  SourceText(std::string name, std::string text);

  const std::string& name() const { return name_; }
  std::string_view text() const { return text_; }

  // The place [begin, end) as line and column; a range over several lines ends with the first.
  SourceSpan Span(size_t begin, size_t end) const;

  // Offset of the first byte of line `line` (from 1), or of the end of the text.
  size_t LineStart(int line) const;

 private:
  std::string name_;
  std::string text_;
  std::vector<size_t> line_starts_;
};

using SourcePtr = std::shared_ptr<const SourceText>;

// A byte range of a source; the span type that all syntax trees carry.
struct Place {
  const SourceText* source = nullptr;  // kept alive by the owner of the tree
  uint32_t begin = 0;
  uint32_t end = 0;

  SourceSpan span() const { return source ? source->Span(begin, end) : SourceSpan{}; }
};

// A scalar of a file as its reader decoded it, with the way back to the file.
struct Snippet {
  std::string text;             // decoded: indentation removed, escapes resolved
  std::vector<uint32_t> where;  // text[i] came from source byte where[i]; size() == text.size() + 1
  const SourceText* source = nullptr;

  Place PlaceOf(size_t begin, size_t end) const;
};

// A snippet that is a whole text of its own (tests, command line).
Snippet WholeText(const SourceText& source);

}  // namespace qrewrite
