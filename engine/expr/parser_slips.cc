// What an author probably meant, told by the tokens around the one that cannot stand there: habits
// of other languages and slips of the pen. Hints alone; where the error stands is decided before.
#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "engine/expr/functions.h"
#include "engine/expr/names.h"
#include "engine/expr/parser_impl.h"
#include "engine/tensor/dtype.h"

namespace qrewrite {
namespace {

struct Habit {
  std::string_view word, hint;
};
// Words of other languages between two operands, or in front of one.
constexpr std::array<Habit, 19> kWordsInExpressions = {{
    {"AND", "write `and`"},
    {"OR", "write `or`"},
    {"NOT", "write `not`"},
    {"between", "write `a <= x and x <= b`"},
    {"contains", "`a in list` asks for a member, `name(x) =~ 'a'` searches a text"},
    {"div", "integers are divided by `//`"},
    {"eq", "a comparison is written `==`"},
    {"equals", "a comparison is written `==`"},
    {"for", "conditions hold for all members of a list: `shape(x) > 0`, `dtype(xs) == FLOAT`"},
    {"ge", "greater or equal is written `>=`"},
    {"gt", "greater is written `>`"},
    {"le", "less or equal is written `<=`"},
    {"like", "a text is searched with `=~ 'regex'`"},
    {"lt", "less is written `<`"},
    {"matches", "a text is searched with `=~ 'regex'`"},
    {"mod", "the remainder is `%`"},
    {"ne", "not equal is written `!=`"},
    {"then", "a choice is written `a if c else b`; a result of a case follows `=>`"},
    {"xor", "of two conditions: `(a or b) and not (a and b)`"},
}};

// Names of element types elsewhere; those of graph texts are known to the parser.
constexpr std::array<std::string_view, 8> kForeignTypes = {"float32", "float64", "fp16", "fp32",
                                                           "f16",     "f32",     "half", "long"};

bool IsNumber(const Token& token) {
  return token.kind == TokenKind::kInt || token.kind == TokenKind::kFloat;
}

bool IsCapital(const Token& token) {
  return token.kind == TokenKind::kName && token.text[0] >= 'A' && token.text[0] <= 'Z';
}

}  // namespace

// `-a` and `-b` on lines of their own, as items of a YAML list without the space: one text to YAML.
bool Parser::DashesWithoutSpace() const {
  if (lines_ || text_.source == nullptr || !text_.text.starts_with('-')) return false;
  const Place all = text_.PlaceOf(0, text_.text.size());
  const std::string_view file = text_.source->text();
  const size_t newline = file.find('\n', all.begin);
  if (newline == file.npos || newline > all.end) return false;
  const size_t next = file.find_first_not_of(" \n", newline);
  return next < all.end && file[next] == '-';
}

bool Parser::ResultAhead() const {
  return std::any_of(tokens_.begin() + pos_, tokens_.end(),
                     [](const Token& token) { return token.mark == "=>"; });
}

std::string Parser::SlipHint(std::string_view what) const {
  if (DashesWithoutSpace()) return "an item of a list begins with `- `: a dash and a space";
  const std::string hint = mode_ == Mode::kGraph ? SlipInGraph(what) : SlipInRule(what);
  if (!hint.empty() || lines_) return hint;
  return SlipInExpression(what);
}

Parser::Around Parser::LookAround() const {
  static const Token kNone;
  return {.found = Peek(),
          .before = tokens_[pos_ > 0 ? pos_ - 1 : 0],
          .earlier = pos_ > 1 ? tokens_[pos_ - 2] : kNone,
          .opener = brackets_.empty() ? kNone : tokens_[brackets_.back()]};
}

// In rules: patterns, replacements, expressions.
std::string Parser::SlipInRule(std::string_view what) const {
  const Around at = LookAround();
  // `rank(x) == #2`: the end of the text, as the parser sees it.
  const bool comment = AtEnd() && at.before.end < at.found.begin && what == "a value" &&
                       text_.text.substr(at.before.end, at.found.begin - at.before.end).find('#') !=
                           std::string::npos;
  if (comment) return "`#` begins a comment";
  if (case_ && what.empty() && brackets_.empty()) {
    if (At(",")) return "several statements stand in a mapping: {when: ..., replace: [...]}";
    const bool result = At("=") || At("->") || At("[") || IsNumber(at.found) ||
                        at.found.text == "then" || at.found.kind == TokenKind::kString;
    if (result && !ResultAhead()) return "a result follows `=>`";
  }
  // `Op<axis>=1`: what is wrong is behind the attributes, whatever stands around.
  if (what == "`(` behind the attributes") {
    return at.before.mark == ">" && !AtEnd()
               ? "bind the attribute, `<axis>`, and compare it under `where:`"
               : "";
  }
  for (const std::string& hint :
       {SlipInOperand(what, at), SlipInBrackets(at), SlipInStatement(what, at)}) {
    if (!hint.empty()) return hint;
  }
  return "";
}

// Where a value, an operator or the word between two of them stands.
std::string Parser::SlipInOperand(std::string_view what, const Around& at) const {
  const auto& [found, before, earlier, opener] = at;
  if (what == "the name of an operator" && At("(")) {
    return "an operator stands in front of its inputs: `Relu(x)`";
  }
  if (what == "a value" && (found.text == "and" || found.text == "or")) {
    return fmt::format("`{}` stands between two conditions", found.text);
  }
  if (IsNumber(before) && found.kind == TokenKind::kName && !found.space_before) {
    return "numbers have no suffix: a literal takes the type of what it stands beside";
  }
  if (std::ranges::find(kForeignTypes, before.text) != kForeignTypes.end() && CanBeginExpr(found)) {
    return fmt::format("a constant of a type is made by `cast({}, FLOAT)`", found.text);
  }
  if (before.mark == "*" && earlier.kind == TokenKind::kName && (At(")") || At(","))) {
    return fmt::format("a list of inputs is `{}...`", earlier.text);
  }
  if (before.mark == "." && earlier.kind == TokenKind::kName && At(".")) {
    return fmt::format("a list of inputs is `{}...`", earlier.text);
  }
  if (At("+")) return "a number has no `+` in front, and there is no `++`";
  if (what == "`else`") {
    return lines_ ? "conditions stand under the key `where:`"
                  : "a choice is written `a if c else b`";
  }
  return "";
}

// Inside of (inputs), <attributes> and [lists].
std::string Parser::SlipInBrackets(const Around& at) const {
  const auto& [found, before, earlier, opener] = at;
  if (opener.mark == "(" && before.kind == TokenKind::kName && At(":")) {
    return DTypeFromTextName(Peek(1).text)
               ? fmt::format("types are asked for under `where:`: `dtype({}) == ...`", before.text)
               : "an input of a labelled node is replaced by `n(x -> Op(x))`; attributes stand in "
                 "<>";
  }
  if (opener.mark == "(" && At("=>")) {
    return "an input of a labelled node is replaced by `->`: `n(x -> Op(x))`";
  }
  if (opener.mark == "<" && At("==")) return "an attribute is written with one `=`";
  if (opener.mark == "[" && At(":")) return "a slice has no step: `x[a:b]`";
  if (opener.mark == "[" && At(";")) return "a list has commas: `[a, b]`";
  return "";
}

// In a statement as a whole: its outputs, what stands apart from what.
std::string Parser::SlipInStatement(std::string_view what, const Around& at) const {
  const auto& [found, before, earlier, opener] = at;
  if (what == "the name of an output" && IsNumber(found)) return "a name begins with a letter";
  if (what == "the name of an output" && At("=") && before.mark == ",") {
    return "no comma stands behind the last output";
  }
  if (what == "`=`" && AtEnd() && IsDeletion(before.text)) {
    return "nothing is deleted: `y = x` lets the readers of `y` read `x`";
  }
  if (lines_ && At(":") && before.kind == TokenKind::kName && IsCapital(Peek(1))) {
    return fmt::format("a label stands directly in front of its operator: `{}:{}(...)`",
                       before.text, Peek(1).text);
  }
  if (lines_ && IsCapital(before) && found.kind == TokenKind::kName && what.empty()) {
    return fmt::format("inputs stand in parentheses: `{}({})`", before.text, found.text);
  }
  // `y = Relu(x) and z = ...`
  if (lines_ && At("=") && earlier.text == "or") {
    return "one of several operators is `Relu|Abs(x)`; other patterns are rules of their own";
  }
  if (lines_ && At("=") && earlier.text == "and") {
    return "statements stand on lines of their own, or apart by `;`";
  }
  return "";
}

std::string Parser::SlipInExpression(std::string_view what) const {
  const Token& found = Peek();
  const Token& before = tokens_[pos_ > 0 ? pos_ - 1 : 0];
  const bool in_list = !brackets_.empty() && tokens_[brackets_.back()].mark == "[";
  if (At("=") && At("<", 1) && Glued(1)) return "less or equal is written `<=`";
  if (At(":") && At("=", 1)) return "a comparison is written `==`; names are given under `let:`";
  if (At(":") && what.empty() && before.kind == TokenKind::kName && before.text == "else") {
    return "a choice is written `a if c else b`";
  }
  if (At("->") && !found.space_before && FindFunction(Peek(1).text) != nullptr) {
    return fmt::format("functions stand in front: `{}({})`", Peek(1).text, before.text);
  }
  if (At("{")) {
    if (before.text == "in" || IsNumber(Peek(1))) return "a list is written `[a, b]`";
    return "names stand alone: `x`; a parameter is `params.x`";
  }
  if (At(";")) return "conditions are joined by `and`, or are items of a list";
  if (At("/") && before.text == "=~") return "a regular expression is a text: `name(x) =~ 'conv'`";
  if (At("~")) return "a text is searched with `=~`: `name(x) =~ 'conv'`";
  const bool name_ends = before.kind == TokenKind::kName && Peek(1).kind == TokenKind::kEnd;
  if (At("?") && !lines_ && (name_ends || At("and", 1) || At("or", 1))) {
    return fmt::format("whether it is there: `present({})`", before.text);
  }
  if (At("?") && At(".", 1)) return "what is absent passes through: leave out the `?`";
  if (in_list && (At("?") || found.text == "_")) {
    return "ask for the sizes that matter: `shape(x)[1] == 2`";
  }
  if (what == "a value" && found.text == "if") return "a condition stands alone, without `if`";
  if (found.kind == TokenKind::kString && before.kind == TokenKind::kName && !found.space_before) {
    return "strings are written '...', without a prefix";
  }
  if (before.text == "return") return "a condition is an expression: leave out `return`";
  if (before.text == "raise" || before.text == "throw") return "write `fail('reason')`";
  if (before.text == "assert") return "a condition is an expression: leave out `assert`";
  for (const Habit& habit : kWordsInExpressions) {
    if (found.kind == TokenKind::kName && found.text == habit.word) return std::string(habit.hint);
    if (before.kind == TokenKind::kName && before.text == habit.word) {
      return std::string(habit.hint);
    }
  }
  if (before.kind == TokenKind::kName && FindFunction(before.text) != nullptr && what.empty() &&
      (found.kind == TokenKind::kName || IsNumber(found))) {
    return fmt::format("arguments stand in parentheses: `{}({})`", before.text, found.text);
  }
  // `rank(x) == 2 uses(x) == 1`: two conditions side by side.
  if (what.empty() && found.kind == TokenKind::kName && (At("(", 1) || found.newline_before) &&
      (before.mark == ")" || IsNumber(before) || before.kind == TokenKind::kName)) {
    return "conditions are joined by `and`, or are items of a list";
  }
  return "";
}

std::string Parser::SlipInGraph(std::string_view what) const {
  const Token& found = Peek();
  const Token& before = tokens_[pos_ > 0 ? pos_ - 1 : 0];
  const Token none;
  const Token& opener = brackets_.empty() ? none : tokens_[brackets_.back()];
  if (opener.mark == "(" && At(":") && before.kind == TokenKind::kName) {
    return fmt::format("an input is declared on a line of its own: `{}: float[2]`", before.text);
  }
  if (opener.mark == "[" && (At("*") || At("+") || At("-") || At("/"))) {
    return "a size is a number, a symbol as `N`, or `?`";
  }
  if (what == "`=`" && DTypeFromTextName(found.text) &&
      (before.text == "zeros" || before.text == "ones" || before.text == "random")) {
    return fmt::format("a constant has a name: `w = {} {}[2]`", before.text, found.text);
  }
  return "";
}

}  // namespace qrewrite
