#include "engine/rule/codes.h"

#include <fmt/format.h>

namespace qrewrite {
namespace {

constexpr ErrorCode kCodes[] = {
#define QR_CODE(name, number, meaning, wrong, right) {number, meaning, wrong, right},
#define QR_FOREIGN_CODE(number, meaning, wrong, right) {number, meaning, wrong, right},
#include "engine/rule/codes.inc"
#undef QR_CODE
#undef QR_FOREIGN_CODE
};

// Table cells cannot hold a bare `|`, not even in code.
std::string Cell(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '|') out += '\\';
    out += c;
  }
  return out;
}

std::string CodeCell(std::string_view text) {
  if (text.empty()) return "";
  // Code that holds backquotes needs two around it.
  return text.find('`') == std::string_view::npos ? fmt::format("`{}`", Cell(text))
                                                  : fmt::format("`` {} ``", Cell(text));
}

}  // namespace

std::span<const ErrorCode> ErrorCodes() { return kCodes; }

std::string ErrorCodesMarkdown() {
  std::string out =
      "# Errors of rule files\n\n"
      "Generated from engine/rule/codes.inc; a test holds it equal. QR01xx: the form of the file. "
      "QR02xx: the\n"
      "language. QR03xx: graph texts. QR04xx: the meaning. QR05xx: what `lint` warns of.\n\n"
      "| code | meaning | wrong | right |\n|---|---|---|---|\n";
  for (const ErrorCode& c : kCodes) {
    out += fmt::format("| {} | {} | {} | {} |\n", c.code, Cell(c.meaning), CodeCell(c.wrong),
                       CodeCell(c.right));
  }
  return out;
}

}  // namespace qrewrite
