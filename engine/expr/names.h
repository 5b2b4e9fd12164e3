// How names, strings and numbers are spelled: what the lexer accepts, the printers write.
#pragma once

#include <string>
#include <string_view>

namespace qrewrite {

// `if else and or not in when true false absent`: words of the language, which name nothing.
bool IsWord(std::string_view text);
// `delete`, `remove`: what no rule says.
bool IsDeletion(std::string_view text);
// A letter or `_`, then letters, digits, `_`.
bool IsIdentifier(std::string_view text);
// Of an identifier: a word, an element type (`FLOAT`), one of `on off yes no` (which YAML readers
// take for booleans), or `_`.
bool IsReserved(std::string_view text);
// `inf`, `nan`: numbers of rules, and of tensors in graph texts.
bool IsNumberWord(std::string_view text);
// An identifier that a text may use as a name without quotes: neither reserved nor a number.
bool IsPlainName(std::string_view text);
// What rules, phases and rule sets are called: letters, digits, `_`, `-` and `.`, none of the last two in front.
bool IsDashedName(std::string_view text);

// `'it\'s'`. Backslash, quote and control characters are escaped; the lexer's inverse.
std::string QuoteString(std::string_view text);
// The name itself if it is plain, else quoted: 'a/b:0'.
std::string NameText(std::string_view name);
// The same for the name of an operator with its domain: com.microsoft.QGemm, 'aten::add'.
std::string OpNameText(std::string_view name);

// The shortest text that reads back as the same double; always recognisable as a float: 1.0, 1e-5,
// inf, nan.
std::string FloatText(double value);
// The shortest text that, read as a double and rounded to float, gives `value`.
std::string FloatText(float value);

}  // namespace qrewrite
