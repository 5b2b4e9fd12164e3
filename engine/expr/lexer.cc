#include "engine/expr/lexer.h"

#include <algorithm>
#include <array>
#include <span>
#include <utility>

#include "engine/expr/names.h"

namespace qrewrite {
namespace {

bool IsDigit(char c) { return c >= '0' && c <= '9'; }
bool IsNameChar(char c) {
  static constexpr std::array<bool, 256> kYes = [] {
    std::array<bool, 256> yes{};
    for (int i = 0; i < 256; ++i) {
      const int letter = i | 0x20;
      yes[static_cast<size_t>(i)] =
          (letter >= 'a' && letter <= 'z') || i == '_' || (i >= '0' && i <= '9');
    }
    return yes;
  }();
  return kYes[static_cast<unsigned char>(c)];
}
int HexDigit(char c) {
  if (IsDigit(c)) return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

constexpr std::array<std::string_view, 11> kLongPuncts = {
    "...", "->", "=>", "==", "=~", "!=", "<=", ">=", "**", "//", "??"};
constexpr std::string_view kPuncts = "()[]{}<>=!+-*/%?.,:;@$|~";

constexpr std::array<bool, 256> SetOf(std::string_view chars) {
  std::array<bool, 256> set{};
  for (const char c : chars) set[static_cast<unsigned char>(c)] = true;
  return set;
}

// Bytes of the mark at the beginning of `text`; 0: there is none.
size_t PunctLength(std::string_view text) {
  static constexpr std::array<bool, 256> kFirst = SetOf(kPuncts);
  static constexpr std::array<bool, 256> kSecond = SetOf(".>=~*/?");
  const char first = text[0];
  if (!kFirst[static_cast<unsigned char>(first)]) return 0;
  const char second = text.size() > 1 ? text[1] : '\0';
  const auto begins = [&](std::string_view punct) {
    return punct[0] == first && punct[1] == second;
  };
  if (!kSecond[static_cast<unsigned char>(second)]) return 1;
  const auto* const longer = std::ranges::find_if(kLongPuncts, begins);
  return longer != kLongPuncts.end() && text.starts_with(*longer) ? longer->size() : 1;
}
static_assert(std::ranges::max(kLongPuncts, {}, &std::string_view::size).size() <=
              Mark::kMaxLength);

struct Slip {
  std::string_view text;
  LexFault fault;
};
constexpr Slip Unexpected(std::string_view text, std::string_view hint) {
  return {text, {"QR0201", "unexpected", hint}};
}
// What people type from other languages.
constexpr std::array<Slip, 21> kSlips = {
    Unexpected("&&", "write `and`"),
    Unexpected("||", "write `or`"),
    Unexpected("&", "write `and`"),
    Unexpected("^", "the power is `**`"),
    Unexpected("`", "strings are written '...'"),
    Unexpected("\\", "`\\n` is a new line only between double quotes of YAML"),
    // What word processors and web pages make of ASCII.
    Unexpected("\u2018", "strings are written '...', with plain quotes"),
    Unexpected("\u2019", "strings are written '...', with plain quotes"),
    Unexpected("\u201c", "strings are written '...', with plain quotes"),
    Unexpected("\u201d", "strings are written '...', with plain quotes"),
    Unexpected("\u00a0", "a no-break space: type a plain one"),
    Unexpected("\u2264", "write `<=`"),
    Unexpected("\u2265", "write `>=`"),
    Unexpected("\u2260", "write `!=`"),
    Unexpected("\u00d7", "write `*`"),
    Unexpected("\u2212", "write `-`"),
    Unexpected("\u2013", "write `-`"),
    Unexpected("\u2014", "write `-`"),
    Unexpected("\u2192", "write `->` or `=>`"),
    Unexpected("\u21d2", "write `=>`"),
    Unexpected("\u2026", "write `...`"),
};

// The other marks begin no slip.
bool MayBeSlip(char c) {
  static constexpr std::array<bool, 256> kFirst = [] {
    std::array<bool, 256> first{};
    for (const Slip& slip : kSlips) first[static_cast<unsigned char>(slip.text[0])] = true;
    return first;
  }();
  return kFirst[static_cast<unsigned char>(c)];
}

constexpr LexFault kUnexpected = {"QR0201", "unexpected", ""};
constexpr LexFault kWide = {"QR0201", "unexpected", "a full-width character: type a plain one"};
constexpr LexFault kForeignName = {"QR0201", "unexpected",
                                   "a name with other characters is written in single quotes"};
constexpr LexFault kNotDecimal = {"QR0201", "unexpected", "numbers are decimal, without `_`"};
constexpr LexFault kUnclosed = {"QR0202", "unclosed string",
                                "a string ends with `'` on the same line"};
constexpr LexFault kDoubleQuotes = {"QR0203", "double quotes", "strings are written '...'"};

// What East Asian keyboards make of ASCII: U+FF01 to U+FF5E.
bool FullWidth(std::string_view c) {
  return (c >= "\uff01" && c <= "\uff5e" && c.size() == 3) || c == "\u3000";
}

// What is neither white space nor begins a comment.
constexpr std::array<bool, 256> kInk = [] {
  std::array<bool, 256> ink = SetOf(" \t\r\n#");
  for (bool& yes : ink) yes = !yes;
  return ink;
}();

class Lexer {
 public:
  explicit Lexer(std::string_view text) : text_(text) {}

  std::vector<Token> Run() {
    tokens_.reserve(text_.size() / 2 + 2);
    for (;;) {
      SkipBlanks();
      const size_t begin = pos_;
      Token& token = tokens_.emplace_back();
      if (pos_ < text_.size()) Scan(token);
      token.begin = static_cast<uint32_t>(begin);
      token.end = static_cast<uint32_t>(pos_);
      token.text = text_.substr(begin, pos_ - begin);
      token.space_before = space_;
      token.newline_before = newline_;
      if (token.kind == TokenKind::kEnd) break;
      if (token.kind == TokenKind::kPunct) MatchBracket(token);
    }
    while (open_ != kNone) CloseOpen(0);
    auto next = static_cast<uint32_t>(tokens_.size());
    for (size_t i = tokens_.size(); i-- > 0;) {
      tokens_[i].next_line = next;
      if (tokens_[i].newline_before) next = static_cast<uint32_t>(i);
    }
    return std::move(tokens_);
  }

 private:
  char At(size_t i) const { return i < text_.size() ? text_[i] : '\0'; }

  void SkipBlanks() {
    space_ = newline_ = pos_ == 0;
    if (pos_ < text_.size() && kInk[static_cast<unsigned char>(text_[pos_])]) return;
    while (pos_ < text_.size()) {
      const char c = text_[pos_];
      if (c == '#') {
        while (pos_ < text_.size() && text_[pos_] != '\n') ++pos_;
      } else if (c == '\n') {
        newline_ = true;
        ++pos_;
      } else if (c == ' ' || c == '\t' || c == '\r') {
        ++pos_;
      } else {
        return;
      }
      space_ = true;
    }
  }

  void Scan(Token& token) {
    const char c = text_[pos_];
    if (IsDigit(c)) return ScanNumber(token);
    if (IsNameChar(c)) {
      token.kind = TokenKind::kName;
      size_t end = pos_ + 1;
      while (end < text_.size() && IsNameChar(text_[end])) ++end;
      token.plain_name = !IsReserved(text_.substr(pos_, end - pos_));
      pos_ = end;
      return;
    }
    if (c == '\'') return ScanString(token);
    if (c == '"') return ScanDoubleQuoted(token);
    for (const Slip& slip :
         MayBeSlip(c) ? std::span<const Slip>(kSlips) : std::span<const Slip>()) {
      if (slip.text[0] == c && text_.substr(pos_).starts_with(slip.text)) {
        return Bad(token, slip.text.size(), slip.fault);
      }
    }
    if (const size_t punct = PunctLength(text_.substr(pos_)); punct > 0) {
      token.kind = TokenKind::kPunct;
      token.mark = Mark(text_.substr(pos_, punct));
      pos_ += punct;
      return;
    }
    size_t length = 1;  // a whole code point
    while ((At(pos_ + length) & 0xc0) == 0x80) ++length;
    Bad(token, length,
        FullWidth(text_.substr(pos_, length)) ? kWide
        : (c & 0x80) != 0                     ? kForeignName
                                              : kUnexpected);
  }

  void Bad(Token& token, size_t length, const LexFault& fault) {
    token.kind = TokenKind::kBad;
    token.fault = &fault;
    pos_ += length;
  }

  void ScanNumber(Token& token) {
    token.kind = TokenKind::kInt;
    const size_t begin = pos_;
    while (IsDigit(At(pos_))) ++pos_;
    const bool based = text_[begin] == '0' && pos_ == begin + 1 && IsNameChar(At(pos_ + 1)) &&
                       (At(pos_) == 'x' || At(pos_) == 'b' || At(pos_) == 'o');
    if (based || (At(pos_) == '_' && IsDigit(At(pos_ + 1)))) {
      size_t length = 0;
      while (IsNameChar(At(begin + length))) ++length;
      pos_ = begin;
      return Bad(token, length, kNotDecimal);
    }
    if (At(pos_) == '.' && IsDigit(At(pos_ + 1))) {
      token.kind = TokenKind::kFloat;
      ++pos_;
      while (IsDigit(At(pos_))) ++pos_;
    }
    if (At(pos_) != 'e' && At(pos_) != 'E') return;
    size_t digits = pos_ + 1;
    if (At(digits) == '+' || At(digits) == '-') ++digits;
    if (!IsDigit(At(digits))) return;
    token.kind = TokenKind::kFloat;
    pos_ = digits;
    while (IsDigit(At(pos_))) ++pos_;
  }

  void ScanString(Token& token) {
    token.kind = TokenKind::kString;
    size_t i = pos_ + 1;
    while (i < text_.size() && text_[i] != '\'' && text_[i] != '\n') {
      i += text_[i] == '\\' && At(i + 1) != '\n' ? 2 : 1;
    }
    if (At(i) == '\'' && i < text_.size()) {
      pos_ = i + 1;
      return;
    }
    Bad(token, std::min(i, text_.size()) - pos_, kUnclosed);
  }

  void ScanDoubleQuoted(Token& token) {
    size_t i = pos_ + 1;
    while (i < text_.size() && text_[i] != '"' && text_[i] != '\n') ++i;
    if (At(i) == '"') ++i;
    Bad(token, i - pos_, kDoubleQuotes);
  }

  // Links an opening bracket to the one that closes it; wrong pairs are left to the parser.
  void MatchBracket(Token& token) {
    const auto index = static_cast<uint32_t>(tokens_.size() - 1);
    const auto close = [&](Mark opener) {
      if (open_ != kNone && tokens_[open_].mark == opener) CloseOpen(index);
    };
    switch (token.text[0]) {
      case '(':
      case '[':
      case '{': token.match = std::exchange(open_, index); break;
      case ')': close("("); break;
      case ']': close("["); break;
      case '}': close("{"); break;
      case ',':
        if (open_ != kNone) ++tokens_[open_].commas;
        break;
      default: break;
    }
  }
  // The innermost open bracket is closed by token `index`; 0: by none.
  void CloseOpen(uint32_t index) { open_ = std::exchange(tokens_[open_].match, index); }

  std::string_view text_;
  size_t pos_ = 0;
  bool space_ = false, newline_ = false;
  std::vector<Token> tokens_;
  // The innermost open bracket; its `match` is the one around it while it is open.
  static constexpr uint32_t kNone = UINT32_MAX;
  uint32_t open_ = kNone;
};

}  // namespace

std::vector<Token> Lex(std::string_view text) { return Lexer(text).Run(); }

std::string StringValue(const Token& token) {
  const std::string_view body = token.text.substr(1, token.text.size() - 2);
  std::string out;
  out.reserve(body.size());
  for (size_t i = 0; i < body.size(); ++i) {
    const char next = i + 1 < body.size() ? body[i + 1] : '\0';
    if (body[i] != '\\') {
      out += body[i];
    } else if (next == '\'' || next == '\\') {
      out += body[++i];
    } else if (next == 'n' || next == 'r' || next == 't') {
      out += next == 'n' ? '\n' : next == 'r' ? '\r' : '\t';
      ++i;
    } else if (next == 'x' && i + 3 < body.size() && HexDigit(body[i + 2]) >= 0 &&
               HexDigit(body[i + 3]) >= 0) {
      out += static_cast<char>(HexDigit(body[i + 2]) * 16 + HexDigit(body[i + 3]));
      i += 3;
    } else {
      out += '\\';
    }
  }
  return out;
}

}  // namespace qrewrite
