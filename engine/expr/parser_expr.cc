#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <limits>
#include <optional>
#include <utility>

#include "engine/base/real.h"
#include "engine/expr/names.h"
#include "engine/expr/parser_impl.h"

namespace qrewrite {
namespace {

struct Operator {
  Mark mark;
  BinaryOp op;
};
constexpr std::array<Operator, 7> kComparisons = {{{"==", BinaryOp::kEq},
                                                   {"!=", BinaryOp::kNe},
                                                   {"<", BinaryOp::kLt},
                                                   {"<=", BinaryOp::kLe},
                                                   {">", BinaryOp::kGt},
                                                   {">=", BinaryOp::kGe},
                                                   {"=~", BinaryOp::kMatches}}};
constexpr std::array<Operator, 2> kSums = {{{"+", BinaryOp::kAdd}, {"-", BinaryOp::kSub}}};
constexpr std::array<Operator, 4> kTerms = {{{"*", BinaryOp::kMul},
                                             {"/", BinaryOp::kDiv},
                                             {"//", BinaryOp::kFloorDiv},
                                             {"%", BinaryOp::kMod}}};

template <size_t N>
std::optional<BinaryOp> FindOp(const std::array<Operator, N>& table, const Token& token) {
  for (const Operator& entry : table) {
    if (entry.mark == token.mark) return entry.op;
  }
  return std::nullopt;
}

}  // namespace

ExprPtr Parser::NewExpr(Expr::Kind kind) {
  auto expr = std::make_unique<Expr>();
  expr->kind = kind;
  if (budget_ != nullptr && --budget_->left < 0) {
    Fail(Here(), "QR0109",
         fmt::format("the texts of a rule set have more than {} parts", TreeBudget::kNodes));
  }
  return expr;
}

ExprPtr Parser::Done(ExprPtr expr, uint32_t first_token) const {
  if (failed_) return nullptr;
  expr->place = PlaceFrom(first_token);
  return expr;
}

ExprPtr Parser::Binary(BinaryOp op, ExprPtr left, ExprPtr right) {
  if (!left || !right || !LinkAdded()) return nullptr;
  ExprPtr expr = NewExpr(Expr::Kind::kBinary);
  expr->binary = op;
  expr->place = {left->place.source, left->place.begin, right->place.end};
  expr->items.reserve(2);
  expr->items.push_back(std::move(left));
  expr->items.push_back(std::move(right));
  return expr;
}

bool Parser::ArgumentEnds(uint32_t token) const {
  const Token& next = tokens_[token];
  if (next.newline_before) return lines_ && brackets_.empty();  // so does the statement
  return next.mark == "," || next.mark == ")" || next.mark == "..." || next.kind == TokenKind::kEnd;
}

bool Parser::LoneNameAhead() const {
  const Token& token = tokens_[pos_];
  const bool name = (token.plain_name && !InfinityAhead(0)) ||
                    (token.kind == TokenKind::kName && token.text == "_");
  if (!name || token.newline_before || mode_ != Mode::kRules) return false;
  return ArgumentEnds(pos_ + 1);  // kEnd is the last one
}

bool Parser::LoneCallAhead() const {
  const Token& head = tokens_[pos_];
  if (!head.plain_name || head.newline_before || mode_ != Mode::kRules) return false;
  uint32_t open = pos_ + 1;
  if (tokens_[open].mark == "<") {
    if (tokens_[open].space_before) return false;
    constexpr uint32_t kFew = 16;  // tokens of attributes; more take the way through all operators
    const uint32_t limit = open + kFew;
    do {
      if (++open >= limit || tokens_[open].kind == TokenKind::kEnd) return false;
      if (tokens_[open].match != 0) open = tokens_[open].match;
    } while (tokens_[open].mark != ">");
    ++open;
  }
  if (tokens_[open].mark != "(" || tokens_[open].newline_before) return false;
  const uint32_t close = tokens_[open].match;
  return close != 0 && ArgumentEnds(close + 1);
}

ExprPtr Parser::ParseExpr() {
  if (LoneNameAhead()) return ParseLoneName();
  const Deeper deeper(*this);
  if (!deeper.ok()) return nullptr;
  if (LoneCallAhead()) {
    const Deeper operand(*this);  // as deep as on the way through the operators
    return ParseCall();
  }
  const uint32_t first = pos_;
  ExprPtr value = ParseOr();
  if (!value || !TakeWordIf("if")) return value;
  ExprPtr choice = NewExpr(Expr::Kind::kIf);
  ExprPtr condition = ParseOr();
  if (!condition) return nullptr;
  if (!TakeWordIf("else")) {
    FailExpected("`else`");
    return nullptr;
  }
  ExprPtr otherwise = ParseExpr();
  choice->items.push_back(std::move(value));
  choice->items.push_back(std::move(condition));
  choice->items.push_back(std::move(otherwise));
  return Done(std::move(choice), first);
}

ExprPtr Parser::ParseOr() {
  ExprPtr left = ParseAnd();
  while (left && TakeWordIf("or")) left = Binary(BinaryOp::kOr, std::move(left), ParseAnd());
  return left;
}

ExprPtr Parser::ParseAnd() {
  ExprPtr left = ParseNot();
  while (left && TakeWordIf("and")) left = Binary(BinaryOp::kAnd, std::move(left), ParseNot());
  return left;
}

ExprPtr Parser::ParseNot() {
  const uint32_t first = pos_;
  if (!TakeWordIf("not")) return ParseComparison();
  const Deeper deeper(*this);
  if (!deeper.ok()) return nullptr;
  ExprPtr expr = NewExpr(Expr::Kind::kUnary);
  expr->unary = UnaryOp::kNot;
  expr->items.push_back(ParseNot());
  return Done(std::move(expr), first);
}

ExprPtr Parser::ParseComparison() {
  const auto next_op = [&] {
    return AtWord("in") ? std::optional(BinaryOp::kIn) : FindOp(kComparisons, Peek());
  };
  ExprPtr left = ParseCoalesce();
  if (!left) return nullptr;
  const std::optional<BinaryOp> op = next_op();
  if (!op) return left;
  if (At("<") && (At("**", 1) || At(">", 1) || At("=", 2))) {
    if (At(">", 1) && !At("(", 2)) {
      Fail(Here(), "QR0204", "unexpected `<>`", "not equal is written `!=`");
    } else if (left->kind == Expr::Kind::kName || left->kind == Expr::Kind::kMember) {
      Fail(Here(), "QR0211", "a space before `<` makes it a comparison",
           "attributes open directly behind the name: `Conv<axis=1>(x)`");
    }
    if (failed_) return nullptr;
  }
  Take();
  ExprPtr expr = Binary(*op, std::move(left), ParseCoalesce());
  if (expr && next_op()) {
    // `Op(x)<axis>` reads as two comparisons.
    const bool attribute = expr->items[0]->kind == Expr::Kind::kCall && tokens_[pos_].text == ">" &&
                           op == BinaryOp::kLt && Glued();
    Fail(Here(), "QR0212", "comparisons do not chain",
         attribute              ? std::string(kAttributesHint)
         : DashesWithoutSpace() ? SlipHint("")
                                : "write `a < b and b < c`");
    return nullptr;
  }
  return expr;
}

ExprPtr Parser::ParseCoalesce() {
  const Deeper deeper(*this);
  if (!deeper.ok()) return nullptr;
  ExprPtr left = ParseSum();
  if (!left || !TakeIf("??")) return left;
  return Binary(BinaryOp::kCoalesce, std::move(left), ParseCoalesce());
}

ExprPtr Parser::ParseSum() {
  ExprPtr left = ParseTerm();
  while (left) {
    const std::optional<BinaryOp> op = FindOp(kSums, Peek());
    if (!op) break;
    Take();
    left = Binary(*op, std::move(left), ParseTerm());
  }
  return left;
}

ExprPtr Parser::ParseTerm() {
  ExprPtr left = ParseUnary();
  while (left) {
    const std::optional<BinaryOp> op = FindOp(kTerms, Peek());
    if (!op) break;
    Take();
    left = Binary(*op, std::move(left), ParseUnary());
  }
  return left;
}

bool Parser::InfinityAhead(size_t k) const {
  return (mode_ == Mode::kRules || literals_) && (AtWord("inf", k) || AtWord("nan", k));
}

bool Parser::NegativeNumberAhead() const {
  if (!At("-")) return false;
  const TokenKind kind = Peek(1).kind;
  if (kind != TokenKind::kInt && kind != TokenKind::kFloat && !InfinityAhead(1)) return false;
  return !At("**", 2) && !At(".", 2) && !At("[", 2);
}

ExprPtr Parser::ParseUnary() {
  const Deeper deeper(*this);
  if (!deeper.ok()) return nullptr;
  const uint32_t first = pos_;
  if (NegativeNumberAhead()) return ParseNumber(/*negative=*/true);
  if (TakeIf("-")) {
    ExprPtr expr = NewExpr(Expr::Kind::kUnary);
    expr->unary = UnaryOp::kNegate;
    expr->items.push_back(ParseUnary());
    return Done(std::move(expr), first);
  }
  ExprPtr base = ParsePost();
  if (!base || !TakeIf("**")) return base;
  return Binary(BinaryOp::kPow, std::move(base), ParseUnary());
}

ExprPtr Parser::ParsePost() {
  const uint32_t first = pos_;
  if (mode_ == Mode::kRules && At("[", 1) && DTypeFromTextName(Peek().text)) {
    const uint32_t close = tokens_[pos_ + 1].match;
    const Token& next = tokens_[std::min<size_t>(close + 1, tokens_.size() - 1)];
    if (close != 0 && !next.newline_before && CanBeginExpr(next)) {
      Fail(PlaceOf(Peek()), "QR0219",
           fmt::format("{} in front of a value: typed literals belong to graph texts",
                       Found(Peek())),
           fmt::format("a plain list matches every type: `[1, 2]`; to compute with, "
                       "`cast([1, 2], {})` makes one",
                       Info(*DTypeFromTextName(Peek().text)).name));
      return nullptr;
    }
  }
  ExprPtr expr = ParseAtom();
  while (expr && (At(".") || At("["))) {
    if (!LinkAdded()) return nullptr;
    ExprPtr post = NewExpr(At(".") ? Expr::Kind::kMember : Expr::Kind::kIndex);
    post->items.push_back(std::move(expr));
    if (TakeIf(".")) {
      if (Peek().kind != TokenKind::kName) {
        if (post->items[0]->kind == Expr::Kind::kInt) {
          Fail(Here(), "QR0204", "a number ends with `.`",
               fmt::format("write {}.0", post->items[0]->int_value));
        } else if (At("*") || At("**")) {
          FailWildcard();
        } else {
          FailExpected("a name behind `.`");
        }
        return nullptr;
      }
      post->text = Take().text;
    } else if (!ParseSubscripts(*post)) {
      return nullptr;
    }
    expr = Done(std::move(post), first);
  }
  return expr;
}

bool Parser::ParseSubscripts(Expr& index) {
  if (mode_ == Mode::kGraph) {
    return Fail(Here(), "QR0222", "a graph text has no subscripts");
  }
  Bracket bracket(*this);
  labels_ = false;
  do {
    Subscript subscript;
    if (!At(":") && !(subscript.start = ParseExpr())) return false;
    if (TakeIf(":")) {
      subscript.slice = true;
      if (!At(",") && !At("]") && !(subscript.stop = ParseExpr())) return false;
    }
    index.mutable_details().subscripts.push_back(std::move(subscript));
  } while (TakeIf(","));
  if (!At("]")) return FailInList("]");
  bracket.Close();
  return true;
}

ExprPtr Parser::ParseAtom() {
  const uint32_t first = pos_;
  const Token& token = Peek();
  if (mode_ == Mode::kGraph) {
    if (NestedBodyAhead()) return ParseNestedBody();
    if (TypedAhead()) return ParseTyped();
  }
  if (InfinityAhead(0)) return ParseNumber(/*negative=*/false);
  if (CallAhead()) return ParseCall();
  switch (token.kind) {
    case TokenKind::kInt:
    case TokenKind::kFloat: return ParseNumber(/*negative=*/false);
    case TokenKind::kString: {
      const bool name = mode_ == Mode::kGraph && !literals_;
      ExprPtr expr = NewExpr(name ? Expr::Kind::kName : Expr::Kind::kString);
      expr->text = StringValue(Take());
      return Done(std::move(expr), first);
    }
    case TokenKind::kName: return ParseNameAtom();
    default: break;
  }
  if (At("@")) {
    Take();
    ExprPtr expr = NewExpr(Expr::Kind::kSet);
    return ParseName(expr->text, "the name of a set") ? Done(std::move(expr), first) : nullptr;
  }
  if (At("(")) return ParseParenthesised();
  if (At("[")) return ParseList();
  FailExpected("a value");
  return nullptr;
}

ExprPtr Parser::ParseNumber(bool negative) {
  const uint32_t first = pos_;
  if (negative) Take();
  const Token& token = Take();
  const auto fail = [&] {
    Fail(PlaceFrom(first), "QR0216", fmt::format("`{}` is out of range", token.text));
    return nullptr;
  };
  const char* begin = token.text.data();
  const char* end = begin + token.text.size();
  ExprPtr expr = NewExpr(token.kind == TokenKind::kInt ? Expr::Kind::kInt : Expr::Kind::kFloat);
  if (token.kind == TokenKind::kInt) {
    uint64_t value = 0;
    const uint64_t limit = static_cast<uint64_t>(std::numeric_limits<int64_t>::max()) + negative;
    if (std::from_chars(begin, end, value).ec != std::errc{}) return fail();
    if (value > limit && (negative || mode_ == Mode::kRules)) return fail();
    if (value > limit) expr->text = token.text;
    expr->int_value = static_cast<int64_t>(negative ? ~value + 1 : value);
  } else if (token.kind == TokenKind::kName) {
    expr->float_value = token.text == "inf" ? HUGE_VAL : std::nan("");
  } else if (std::from_chars(begin, end, expr->float_value).ec != std::errc{}) {
    // Too large, or so small that the nearest double is 0 or denormal.
    expr->float_value = RealOf(std::string(token.text));
    if (std::isinf(expr->float_value)) return fail();
  }
  if (negative && expr->kind == Expr::Kind::kFloat) expr->float_value = -expr->float_value;
  if (TakeIf("~")) {
    const Token& count = Peek();
    int ulps = 0;
    if (count.kind == TokenKind::kInt) {
      std::from_chars(count.text.data(), count.text.data() + count.text.size(), ulps);
    }
    if (ulps <= 0 || !AtWord("ulp", 1)) {
      FailExpected("a tolerance like `4ulp`");
      return nullptr;
    }
    Take();
    Take();
    expr->ulps = ulps;
  }
  return Done(std::move(expr), first);
}

ExprPtr Parser::ParseNameAtom() {
  const uint32_t first = pos_;
  const Token& token = Peek();
  if (token.text == "true" || token.text == "false") {
    ExprPtr expr = NewExpr(Expr::Kind::kBool);
    expr->int_value = Take().text == "true";
    return Done(std::move(expr), first);
  }
  if (token.text == "absent") {
    if (At("(", 1)) {
      Fail(Here(), "QR0209", "`absent` is a value and no function", "write `not present(x)`");
      return nullptr;
    }
    Take();
    return Done(NewExpr(Expr::Kind::kAbsent), first);
  }
  if (const std::optional<DType> dtype = DTypeFromName(token.text)) {
    if (At("(", 1)) {
      Fail(Here(), "QR0209", fmt::format("{} is an element type and no function", Found(token)),
           fmt::format("write `cast(x, {})`", token.text));
      return nullptr;
    }
    Take();
    ExprPtr expr = NewExpr(Expr::Kind::kDType);
    expr->dtype = *dtype;
    return Done(std::move(expr), first);
  }
  if (!AtName()) {
    const bool alone = At(",", 1) || At(")", 1) || At("]", 1) || At("...", 1);
    if (IsWord(token.text) && !alone) {
      FailExpected("a value");
    } else {
      FailWord(token);
    }
    return nullptr;
  }
  if (mode_ == Mode::kGraph && At("[", 1)) {
    if (const std::string nearest = NearestType(token.text); !nearest.empty()) {
      Fail(Here(), "QR0218", fmt::format("unknown element type {}", Found(token)), nearest);
    } else {
      Fail(Here(), "QR0222", "a graph text has no subscripts",
           "an element is taken by Gather or Slice; a tensor is written `float[2] [1, 2]`");
    }
    return nullptr;
  }
  return ParseLoneName();
}

ExprPtr Parser::ParseLoneName() {
  const uint32_t first = pos_;
  ExprPtr expr = NewExpr(Expr::Kind::kName);
  expr->text = Take().text;
  return Done(std::move(expr), first);
}

ExprPtr Parser::ParseParenthesised() {
  Bracket bracket(*this);
  ExprPtr expr = ParseExpr();
  if (!expr) return nullptr;
  if (At(",")) {
    Fail(PlaceOf(tokens_[brackets_.back()]), "QR0214",
         "a list in parentheses is a group of inputs and is followed by `...`",
         "a list of values is written [a, b]");
    return nullptr;
  }
  if (!At(")")) {
    if (At("=")) {
      FailTrailing();
    } else {
      FailInList(")");
    }
    return nullptr;
  }
  bracket.Close();
  return expr;
}

ExprPtr Parser::ParseList() {
  const uint32_t first = pos_;
  Bracket bracket(*this);
  const bool outer = std::exchange(literals_, true);
  ExprPtr list = NewExpr(Expr::Kind::kList);
  while (!At("]")) {
    ExprPtr item = ParseExpr();
    if (!item) return nullptr;
    list->items.push_back(std::move(item));
    if (!TakeIf(",") && !At("]")) {
      FailInList("]");
      return nullptr;
    }
  }
  literals_ = outer;
  bracket.Close();
  return Done(std::move(list), first);
}

}  // namespace qrewrite
