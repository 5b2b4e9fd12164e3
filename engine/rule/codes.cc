#include "engine/rule/codes.h"

#include <fmt/format.h>

namespace qrewrite {
namespace {

constexpr ErrorCode kCodes[] = {
#define QR_CODE(name, number, meaning) {number, meaning},
#define QR_FOREIGN_CODE(number, meaning) {number, meaning},
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

}  // namespace

std::span<const ErrorCode> ErrorCodes() { return kCodes; }

std::string ErrorCodesMarkdown() {
  std::string out =
      "# Errors of rule files\n\n"
      "What `qrewrite lint` and `qrewrite test` report, each code with a file that is wrong, what "
      "is "
      "said of it, and the lines that mend it.\n"
      "QR01xx: the form of the file. QR02xx: the language. QR03xx: graph texts. QR04xx: the "
      "meaning. "
      "QR05xx: warnings of `lint`.\n\n"
      "| code | meaning |\n|---|---|\n";
  for (const ErrorCode& c : kCodes) {
    out += fmt::format("| [{}](#qr{}) | {} |\n", c.code, c.code.substr(2), Cell(c.meaning));
  }
  return out;
}

}  // namespace qrewrite
