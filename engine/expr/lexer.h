// Lexer of the rule language and of graph texts: text -> tokens, all at once, so that the parser
// can look ahead freely. It reports nothing: what it cannot read becomes a token of kind kBad,
// which the parser reports when it gets there (one error a statement is enough).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace qrewrite {

enum class TokenKind : uint8_t { kEnd, kName, kInt, kFloat, kString, kPunct, kBad };

// Why a piece of text is no token.
struct LexFault {
  std::string_view code, message, hint;
};

// A mark such as `=>` as one number, so that the parser compares no texts: At("=>").
class Mark {
 public:
  static constexpr size_t kMaxLength = 3;

  constexpr Mark() = default;  // none
  // NOLINTNEXTLINE(google-explicit-constructor)
  consteval Mark(const char* text) : Mark(std::string_view(text)) {}
  // REQUIRES at most kMaxLength bytes.
  constexpr explicit Mark(std::string_view text) {
    for (size_t i = text.size(); i-- > 0;) code_ = code_ << 8 | static_cast<unsigned char>(text[i]);
  }
  friend constexpr bool operator==(Mark a, Mark b) = default;

 private:
  uint32_t code_ = 0;
};

struct Token {
  std::string_view text;        // as written; of the text that was lexed
  uint32_t begin = 0, end = 0;  // byte offsets in it
  uint32_t match = 0;           // ( [ {: index of the bracket that closes it; 0: none
  uint32_t commas = 0;          // ( [ {: directly inside of it, up to the one that closes it
  uint32_t next_line = 0;       // index of the first token behind this one that begins a line
  TokenKind kind = TokenKind::kEnd;
  bool space_before = false;        // white space, a comment or the start of the text
  bool newline_before = false;      // first of its line
  bool plain_name = false;          // kName: one that is not reserved
  Mark mark;                        // kPunct
  const LexFault* fault = nullptr;  // kBad
};

// The last token is kEnd. Tokens point into `text`.
std::vector<Token> Lex(std::string_view text);

// The value of a string token: \' \\ \n \r \t \xNN are resolved, any other backslash stays (so that
// regular expressions need no doubling).
std::string StringValue(const Token& token);

}  // namespace qrewrite
