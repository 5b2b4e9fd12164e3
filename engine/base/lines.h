// Texts of several lines.
#pragma once

#include <algorithm>
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

}  // namespace qrewrite
