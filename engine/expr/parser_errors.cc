#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "engine/expr/names.h"
#include "engine/expr/parser_impl.h"

namespace qrewrite {
namespace {

struct Slip {
  std::string_view found, hint;
};
// Hints for a token that cannot stand where it was found.
constexpr std::array<Slip, 17> kSlips = {{
    {"=", "a comparison is written `==`"},
    {"=>", "greater or equal is written `>=`"},
    {"->", "a result follows `=>`; `q -> f` stands among the inputs of a label"},
    {"?", "a choice is written `a if c else b`"},
    {"!", "negation is written `not`"},
    {"|", "alternatives stand in front of one list of inputs: `A|B(x)`"},
    {"not", "write `not (a in b)`"},
    {"else", "a choice is written `a if c else b`"},
    {"when", "conditions of a rule stand under `where:`; `when c => ...` is a line of `cases:`"},
    {"where", "conditions stand under the key `where:`"},
    {"is", "equality is written `==`; `present(x)` asks whether x is there"},
    {"%", "names stand alone: `x`"},
    {"$", "names stand alone: `x`; `$name(...)` calls a definition"},
    {"*", "`_...` stands for any inputs, `xs...` for a list of them"},
    {":", "attributes stand in <>, before the inputs: `Op<axis=1>(x)`"},
    {"lambda", "a condition is an expression over the names of the match"},
    {"...", "`_...` stands for any inputs, `xs...` for a list of them"},
}};
constexpr std::string_view kCutByComma = "in {} and [] of YAML a comma ends a text: quote the text";

bool IsBracket(const Token& token, std::string_view set) {
  return token.kind == TokenKind::kPunct && token.text.size() == 1 &&
         set.find(token.text[0]) != set.npos;
}

}  // namespace

Diagnostic& Parser::Report(const Place& place, std::string_view code, std::string message,
                           std::string hint) {
  failed_ = true;
  Diagnostic& diagnostic = sink_.Error(place, code, std::move(message));
  diagnostic.hint = std::move(hint);
  return diagnostic;
}

bool Parser::Fail(const Place& place, std::string_view code, std::string message,
                  std::string hint) {
  if (!failed_) Report(place, code, std::move(message), std::move(hint));
  return false;
}

std::string Parser::Found(const Token& token) const {
  if (token.kind == TokenKind::kEnd) {
    return &token == &tokens_.back() || !lines_ ? "the end of the text" : "the end of the line";
  }
  return fmt::format("`{}`", Printable(token.text, 40));
}

std::string Parser::HintFor(const Token& found) const {
  for (const Slip& slip : kSlips) {
    if (found.text == slip.found && found.kind != TokenKind::kString) return std::string(slip.hint);
  }
  if (found.text == "{" && mode_ == Mode::kRules) {
    return "bodies in braces belong to graph texts";
  }
  return "";
}

// Where YAML ended a plain scalar although the text seems to go on.
std::string Parser::CutHint() const {
  if (text_.source == nullptr || text_.text.empty()) return "";
  const std::string_view file = text_.source->text();
  const size_t end = text_.PlaceOf(text_.text.size() - 1, text_.text.size()).end;
  const size_t next = std::min(file.find_first_not_of(' ', end), file.size());
  if (next == file.size()) return "";
  if (file[next] == ',') return std::string(kCutByComma);
  if (file[next] == '#' && next > end) return "` #` begins a comment of YAML: quote the text";
  return "";
}

// A list of YAML, cut at a comma that was meant to be one of the language.
bool Parser::CommaBefore(const Token& token) const {
  if (text_.source == nullptr || !token.newline_before) return false;
  const std::string_view file = text_.source->text();
  const size_t at = PlaceOf(token).begin;
  const size_t before = at == 0 ? file.npos : file.find_last_not_of(' ', at - 1);
  return before != file.npos && file[before] == ',';
}

bool Parser::FailWildcard() {
  return Fail(Here(), "QR0204", "`*` is no operator",
              "a wildcard stands under `sets:` (`all: [\"acme.*\"]`), here `@all`");
}

bool Parser::FailExpected(std::string_view what) {
  if (failed_) return false;
  const Token& found = Peek();
  if (found.kind == TokenKind::kBad) {
    const std::string cut = found.end == text_.text.size() ? CutHint() : "";
    return Fail(PlaceOf(found), found.fault->code,
                fmt::format("{} {}", found.fault->message, Found(found)),
                cut.empty() ? std::string(found.fault->hint) : cut);
  }
  if (found.kind == TokenKind::kEnd && !brackets_.empty()) return FailInList("");
  if (mode_ == Mode::kRules && found.text == "*" && At("(", 1)) return FailWildcard();
  std::string hint = SlipHint(what);
  if (!hint.empty()) {
    return Fail(Here(), "QR0204", fmt::format("expected {}, found {}", what, Found(found)),
                std::move(hint));
  }
  hint = HintFor(found);
  if (found.text == "." && Peek(1).kind == TokenKind::kInt) {
    hint = fmt::format("write 0.{}", Peek(1).text);
  } else if (mode_ == Mode::kRules && found.text == "?") {
    hint = "`_` is any value, `x?` one that may be absent";
  } else if (what == "the name of an output" && (found.text == "(" || found.text == "[")) {
    hint = "outputs stand without brackets: `a, b = Split(x)`";
  } else if (what == "`=`" && mode_ == Mode::kGraph && pos_ > 0 && found.text == "[" &&
             DTypeFromTextName(tokens_[pos_ - 1].text)) {
    hint = "an input is declared `x: float[2]`, a constant `w = float[2] 1`";
  } else if (what == "`=`" && hint.empty()) {
    hint = "a statement is `y = Op(x)`";
  } else if (what.starts_with("a size") && found.text == "-") {
    hint = "a size that is open: `?`, or a symbol as `N`";
  } else if (what == "the name of an output" && found.text == "/" && mode_ == Mode::kGraph) {
    hint = "a name with other characters is written in single quotes";
  } else if (what == "a value" && found.text == "/" && mode_ == Mode::kRules) {
    hint = "names are the rule's own; one of the model is asked for: `where: name(x) == '/a/b'`";
  } else if (what == "a value" && found.text == "," && !brackets_.empty() &&
             tokens_[brackets_.back()].text == "(") {
    hint = "an input that is left out is `absent`";
  } else if (what == "`(`" && found.text == ")" && pos_ > 1 && tokens_[pos_ - 2].text == "|") {
    hint = "alternatives stand in front of one list of inputs: `A|B(x)`";
  }
  return Fail(Here(), "QR0204", fmt::format("expected {}, found {}", what, Found(found)),
              std::move(hint));
}

bool Parser::FailInList(std::string_view closer) {
  if (failed_) return false;
  const Token& opener = tokens_[brackets_.back()];
  const Token& found = Peek();
  if (found.kind == TokenKind::kBad) return FailExpected("");
  if (found.kind == TokenKind::kEnd || found.text == ";" ||
      (found.newline_before && LooksLikeStatement(pos_))) {
    return Fail(PlaceOf(opener), "QR0205", fmt::format("unclosed {}", Found(opener)),
                found.kind == TokenKind::kEnd ? CutHint() : SlipHint("`]`"));
  }
  if (closer == ">" && found.text == "(") {
    return Fail(PlaceOf(opener), "QR0205", fmt::format("unclosed {}", Found(opener)),
                "`>` closes the attributes: `Op<axis=1>(x)`");
  }
  if (IsBracket(found, ")]}") && found.text != closer) {
    return Fail(PlaceOf(found), "QR0206",
                fmt::format("{} does not close {}", Found(found), Found(opener)));
  }
  if (closer != ">" && CanBeginExpr(found)) {
    const Token& before = tokens_[pos_ - 1];
    if (mode_ == Mode::kRules && DTypeFromTextName(before.text)) {
      return Fail(PlaceOf(before), "QR0219",
                  fmt::format("{} in front of a value: typed literals belong to graph texts",
                              Found(before)),
                  "a plain literal matches every type; `cast(0, UINT8)` makes one");
    }
    const bool number = before.kind == TokenKind::kInt || before.kind == TokenKind::kFloat;
    std::string slip = SlipHint("`,`");
    if (number && found.kind == TokenKind::kName && !found.space_before) {
      const bool sizes = opener.text == "[" && found.text.front() == 'x' && found.text.size() > 1;
      return Fail(PlaceOf(found), "QR0204", fmt::format("unexpected {}", Found(found)),
                  sizes ? "sizes are separated by commas: `float[1, 4]`"
                        : "numbers have no suffix: a literal takes the type of what it stands "
                          "beside");
    }
    return Fail(PlaceOf(found), "QR0207", fmt::format("missing comma before {}", Found(found)),
                CommaBefore(found) ? std::string(kCutByComma) : std::move(slip));
  }
  if (std::string slip = SlipHint("`,`"); !slip.empty()) {
    return Fail(PlaceOf(found), "QR0204",
                fmt::format("expected `,` or `{}`, found {}", closer, Found(found)),
                std::move(slip));
  }
  return Fail(
      PlaceOf(found), "QR0204", fmt::format("expected `,` or `{}`, found {}", closer, Found(found)),
      closer == "]" && found.text == "="    ? std::string(kAttributesHint)
      : closer == ">" && found.text == "if" ? "a choice stands in brackets: `<k=(1 if c else 2)>`"
                                            : HintFor(found));
}

bool Parser::FailTrailing() {
  if (failed_) return false;
  const Token& found = Peek();
  if (found.kind == TokenKind::kBad) return FailExpected("");
  if (std::string slip = SlipHint(""); !slip.empty()) {
    return Fail(PlaceOf(found), At("=") ? "QR0213" : "QR0208",
                fmt::format("unexpected {}", Found(found)), std::move(slip));
  }
  if (At("=")) {
    if (mode_ == Mode::kGraph) {
      return Fail(PlaceOf(found), "QR0213", "unexpected `=`",
                  "a constant is written `w = float[2] [1, 2]`");
    }
    // `Op(x)<axis=1>` reads as a comparison.
    const bool attribute = pos_ >= 3 && tokens_[pos_ - 2].text == "<" &&
                           tokens_[pos_ - 3].text == ")" && !tokens_[pos_ - 2].space_before;
    return Fail(PlaceOf(found), "QR0213", "unexpected `=`",
                attribute ? std::string(kAttributesHint) : HintFor(found));
  }
  if (IsBracket(found, ")]}")) {
    return Fail(PlaceOf(found), "QR0206", fmt::format("{} closes nothing", Found(found)));
  }
  const Token& before = tokens_[pos_ > 0 ? pos_ - 1 : 0];
  if (mode_ == Mode::kRules && DTypeFromTextName(before.text) && CanBeginExpr(found)) {
    return Fail(
        PlaceOf(before), "QR0219",
        fmt::format("{} in front of a value: typed literals belong to graph texts", Found(before)),
        "`cast(0, UINT8)` makes one");
  }
  std::string hint = HintFor(found);
  if (At("{") && mode_ == Mode::kRules && (!found.space_before || before.text == ")")) {
    hint = kAttributesHint;
  }
  if (At(",")) {
    hint = lines_ ? "statements stand on lines of their own, or apart by `;`"
                  : "a list is written [a, b]";
  }
  if (lines_ && mode_ == Mode::kRules && (At("=>") || At("->"))) {
    hint = "what is put there stands under `replace:`";
  }
  if (At(":") && At(":", 1)) hint = "a domain ends with a dot: `com.microsoft.Gelu`";
  if (At("(") && pos_ > 1 && tokens_[pos_ - 2].text == ".") {
    hint = "functions stand in front: `len(xs)`; `name(x) =~ '^a'` searches a text";
  }
  if (pos_ > 1 && tokens_[pos_ - 2].text == "//") hint = "comments begin with ` #`";
  if (before.text == "lambda") hint = "a condition is an expression over the names of the match";
  if (hint.empty() && lines_ && (At("=", 1) || At(",", 1)) && found.kind == TokenKind::kName) {
    hint =
        "a statement ends with its line or with `;` (YAML joins lines unless they stand behind "
        "`|`)";
  }
  if (hint.empty() && found.kind == TokenKind::kName && found.text.size() > 2) {
    hint = DidYouMean(found.text,
                      std::array<std::string_view, 6>{"if", "else", "and", "or", "when", "where"});
  }
  return Fail(PlaceOf(found), "QR0208", fmt::format("unexpected {}", Found(found)),
              std::move(hint));
}

bool Parser::FailWord(const Token& token) {
  const std::string graph_hint = fmt::format("quote it: '{}'", token.text);
  if (IsWord(token.text)) {
    return Fail(PlaceOf(token), "QR0209",
                fmt::format("{} is a word of the language and no name", Found(token)),
                mode_ == Mode::kGraph  ? graph_hint
                : token.text == "when" ? "replacements with conditions stand under `cases:`: "
                                         "`- when c => y = ...`"
                                       : HintFor(token));
  }
  if (IsNumberWord(token.text)) {
    return Fail(PlaceOf(token), "QR0209", fmt::format("{} is a number and no name", Found(token)),
                mode_ == Mode::kGraph ? graph_hint : "");
  }
  if (DTypeFromName(token.text)) {
    return Fail(PlaceOf(token), "QR0209",
                fmt::format("{} is an element type and no name", Found(token)),
                mode_ == Mode::kGraph ? graph_hint : "");
  }
  return Fail(PlaceOf(token), "QR0210",
              fmt::format("{} is no name: many YAML readers take it for a boolean", Found(token)),
              mode_ == Mode::kGraph ? graph_hint : "choose another name, or true and false");
}

bool Parser::CanBeginExpr(const Token& token) const {
  switch (token.kind) {
    case TokenKind::kInt:
    case TokenKind::kFloat:
    case TokenKind::kString: return true;
    case TokenKind::kName:
      return !IsWord(token.text) || token.text == "true" || token.text == "false" ||
             token.text == "absent";
    case TokenKind::kPunct:
      return token.text == "(" || token.text == "[" || token.text == "$" || token.text == "@";
    default: return false;
  }
}

size_t Parser::Column(const Token& token) const {
  const size_t newline =
      token.begin == 0 ? std::string::npos : text_.text.rfind('\n', token.begin - 1);
  return newline == std::string::npos ? token.begin : token.begin - newline - 1;
}

// Does a statement begin here? Asked of the first token of a line, when a bracket may be unclosed:
// a continuation line (`axis=1, ...`) stands further right.
bool Parser::LooksLikeStatement(size_t token) const {
  if (!lines_ || Column(tokens_[token]) > Column(tokens_[stmt_begin_])) return false;
  size_t i = token;
  while (i + 1 < tokens_.size()) {
    if (tokens_[i].kind != TokenKind::kName && tokens_[i].kind != TokenKind::kString) return false;
    const auto next = [&](Mark mark) { return tokens_[i + 1].mark == mark; };
    if (i == token && mode_ == Mode::kGraph && (next(":") || tokens_[i].text == "return")) {
      return true;
    }
    if (next("?") || next("...")) ++i;
    if (i + 1 < tokens_.size() && next("=")) return true;
    if (i + 1 >= tokens_.size() || !next(",")) return false;
    i += 2;
  }
  return false;
}

bool Parser::Deeper::ok() const {
  if (parser_.depth_ <= kMaxDepth) return true;
  return parser_.Fail(parser_.Here(), "QR0215", "nested too deeply");
}

bool Parser::LinkAdded() {
  if (++links_ <= kMaxLinks) return true;
  return Fail(Here(), "QR0215", "too many operators in one statement");
}

}  // namespace qrewrite
