// Text of unknown origin for a terminal (diagnostics.cc, beside Printable).
#pragma once

#include <string>
#include <string_view>

namespace qrewrite {

// A text of several lines: control characters, what turns the direction of writing, and bytes that
// are no UTF-8 are escaped. Line breaks and tabs stay.
std::string ForTerminal(std::string_view text);

}  // namespace qrewrite
