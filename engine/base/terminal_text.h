// Text of unknown origin for a terminal (diagnostics.cc, beside Printable).
#pragma once

#include <string>
#include <string_view>

namespace qrewrite {

// A text of several lines: control characters, what turns the direction of writing, and bytes that
// are no UTF-8 are escaped. Line breaks and tabs stay.
std::string ForTerminal(std::string_view text);

// The same on one line, cut beyond so many bytes: what somebody says. Quotes stay, as in a name they would not.
std::string Said(std::string_view text, size_t max_length);

}  // namespace qrewrite
