// Lines of text for people.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>

namespace qrewrite {

// Every line of `text` behind so many spaces; each ends with a newline.
inline std::string Indented(std::string_view text, size_t by) {
  std::string out;
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    out.append(by, ' ').append(text.substr(0, end)).append("\n");
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return out;
}

// The words of `text` on one line, with one blank between them.
inline std::string InOneLine(std::string_view text) {
  std::string line;
  for (const char c : text) {
    const bool blank = c == ' ' || c == '\n' || c == '\t' || c == '\r';
    if (!blank) {
      line += c;
    } else if (!line.empty() && line.back() != ' ') {
      line += ' ';
    }
  }
  if (line.ends_with(' ')) line.pop_back();
  return line;
}

// "1 input", "2 inputs".
inline std::string Plural(int64_t count, std::string_view thing) {
  return std::to_string(count).append(" ").append(thing).append(count == 1 ? "" : "s");
}

}  // namespace qrewrite
