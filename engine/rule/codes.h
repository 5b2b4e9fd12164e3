// The codes of faults in rule files: constants for those that this layer reports, and the whole
// table (with those of the layers below) that docs/errors.md begins with.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace qrewrite {

struct ErrorCode {
  std::string_view code;  // "QR0102"
  std::string_view meaning;
};

std::span<const ErrorCode> ErrorCodes();  // ordered by code
std::string ErrorCodesMarkdown();         // the head of docs/errors.md

namespace code {
#define QR_CODE(name, number, meaning) inline constexpr std::string_view name = number;
#define QR_FOREIGN_CODE(number, meaning)
#include "engine/rule/codes.inc"
#undef QR_CODE
#undef QR_FOREIGN_CODE
}  // namespace code

}  // namespace qrewrite
