#include <fmt/format.h>

#include <array>
#include <charconv>
#include <utility>

#include "engine/expr/names.h"
#include "engine/expr/parser_impl.h"

namespace qrewrite {
std::string NearestType(std::string_view name) {
  static constexpr std::array<std::pair<std::string_view, std::string_view>, 15> kShort = {{
      {"f16", "float16"},
      {"f32", "float"},
      {"f64", "double"},
      {"bf16", "bfloat16"},
      {"i4", "int4"},
      {"i8", "int8"},
      {"i16", "int16"},
      {"i32", "int32"},
      {"i64", "int64"},
      {"u4", "uint4"},
      {"u8", "uint8"},
      {"half", "float16"},
      {"tensor", "float"},
      {"int", "int64"},
      {"boolean", "bool"},
  }};
  for (const auto& [theirs, ours] : kShort) {
    if (theirs == name) return fmt::format("did you mean `{}`?", ours);
  }
  std::vector<std::string> names;
  for (int i = 1; i < kNumDTypes; ++i) {
    names.emplace_back(Info(static_cast<DType>(i)).text_name);
  }
  return DidYouMean(name, names);
}

// --- declarations and `return`

bool Parser::ParseDecl(TypeDecl& decl) {
  const uint32_t first = pos_;
  if (!ParseName(decl.name, "a name")) return false;
  Take();  // `:`
  if (!ParseType(decl)) return false;
  decl.place = PlaceFrom(first);
  return true;
}

bool Parser::ParseType(TypeDecl& decl) {
  if (!TakeIf("?")) {
    const Token& token = Peek();
    if (token.kind != TokenKind::kName) return FailExpected("an element type");
    const auto dtype = DTypeFromTextName(token.text);
    if (!dtype) {
      return Fail(PlaceOf(token), "QR0218", fmt::format("unknown element type {}", Found(token)),
                  NearestType(token.text));
    }
    decl.dtype = *dtype;
    Take();
  }
  if (At("(")) {
    return Fail(Here(), "QR0208", "unexpected `(`", "sizes stand in brackets: `float[1, N]`");
  }
  if (!At("[")) return true;
  Bracket bracket(*this);
  decl.has_shape = true;
  while (!At("]")) {
    if (!ParseDim(decl.dims.emplace_back())) return false;
    if (!TakeIf(",") && !At("]")) return FailInList("]");
  }
  bracket.Close();
  return true;
}

bool Parser::ParseDim(std::string& dim) {
  const Token& token = Peek();
  int64_t size = 0;
  if (token.kind == TokenKind::kInt) {
    const char* end = token.text.data() + token.text.size();
    if (std::from_chars(token.text.data(), end, size).ec != std::errc{}) {
      return Fail(PlaceOf(token), "QR0216", fmt::format("{} is out of range", Found(token)));
    }
    dim = std::to_string(size);
  } else if (token.kind == TokenKind::kName) {
    dim = token.text;
    if (!IsPlainName(dim)) dim = QuoteString(dim);
  } else if (token.kind == TokenKind::kString) {
    dim = NameText(StringValue(token));
  } else if (At("?")) {
    dim = "?";
  } else {
    return FailExpected("a size: a number, a symbol or `?`");
  }
  Take();
  return true;
}

bool Parser::ParseReturn(BodyText& body) {
  if (body.has_return) return Fail(Here(), "QR0221", "a second `return`");
  Take();
  body.has_return = true;
  if (AtSeparator()) return true;
  do {
    const uint32_t first = pos_;
    OutArg out;
    if (!ParseName(out.name, "the name of an output")) return false;
    out.place = PlaceFrom(first);
    body.returns.push_back(std::move(out));
  } while (TakeIf(","));
  return true;
}

// --- typed literals

bool Parser::TypedAhead() const {
  if (At("...")) return true;
  const auto type_at = [&](size_t k) {
    return Peek(k).kind == TokenKind::kName && DTypeFromTextName(Peek(k).text).has_value();
  };
  if (AtWord("zeros") || AtWord("ones")) return type_at(1);
  if (AtWord("random")) return type_at(1) || (At("(", 1) && At(")", 3) && type_at(4));
  if (!type_at(0)) return false;
  const Token& next = Peek(1);
  switch (next.kind) {
    case TokenKind::kInt:
    case TokenKind::kFloat:
    case TokenKind::kString: return true;
    case TokenKind::kName:
      return next.text == "true" || next.text == "false" || next.text == "inf" ||
             next.text == "nan";
    default: return At("[", 1) || At("-", 1) || At("...", 1);
  }
}

ExprPtr Parser::ParseTyped() {
  const uint32_t first = pos_;
  ExprPtr typed = NewExpr(Expr::Kind::kTyped);
  if (TakeIf("...")) {
    typed->text = "...";
    return Done(std::move(typed), first);
  }
  if (AtWord("zeros") || AtWord("ones") || AtWord("random")) {
    typed->text = Take().text;
    if (At("(")) {
      Take();
      ExprPtr seed = Peek().kind == TokenKind::kInt ? ParseNumber(false) : nullptr;
      if (!seed && !FailExpected("a seed")) return nullptr;
      typed->int_value = seed->int_value;
      Take();
    }
  }
  typed->dtype = *DTypeFromTextName(Take().text);
  // A bracket directly behind the type is the shape; with a space it is the values.
  if (At("[") && Glued() && !ParseTypedDims(*typed)) return nullptr;
  if (typed->text.empty()) {
    if (TakeIf("...")) {
      typed->text = "...";
    } else {
      ExprPtr value = ParseTypedValue();
      if (!value) return nullptr;
      typed->items.push_back(std::move(value));
    }
  }
  return Done(std::move(typed), first);
}

bool Parser::ParseTypedDims(Expr& typed) {
  Bracket bracket(*this);
  typed.mutable_details().has_dims = true;
  while (!At("]")) {
    if (Peek().kind != TokenKind::kInt) return FailExpected("a size");
    const ExprPtr size = ParseNumber(false);
    if (!size) return false;
    if (!size->text.empty()) {
      return Fail(size->place, "QR0216", fmt::format("`{}` is out of range", size->text));
    }
    typed.mutable_details().dims.push_back(size->int_value);
    if (!TakeIf(",") && !At("]")) return FailInList("]");
  }
  bracket.Close();
  return true;
}

ExprPtr Parser::ParseTypedValue() {
  const Token& token = Peek();
  const bool outer = std::exchange(literals_, true);
  ExprPtr value;
  if (At("[")) {
    value = ParseList();
  } else if (token.kind == TokenKind::kInt || token.kind == TokenKind::kFloat ||
             token.kind == TokenKind::kString || NegativeNumberAhead() || InfinityAhead(0) ||
             AtWord("true") || AtWord("false")) {
    value = ParseUnary();
  } else if (AtSeparator()) {
    Fail(Here(), "QR0204", fmt::format("expected the values of a tensor, found {}", Found(Peek())),
         "an input is declared with a colon: `x: float[2]`");
  } else {
    FailExpected("the values of a tensor");
  }
  literals_ = outer;
  return value;
}

// --- nested bodies

bool Parser::NestedBodyAhead() const {
  if (At("{")) return true;
  if (!At("(") || tokens_[pos_].match == 0) return false;
  const size_t behind = tokens_[pos_].match + 1;
  return behind + 1 < tokens_.size() && tokens_[behind].mark == "=>" &&
         tokens_[behind + 1].mark == "{";
}

ExprPtr Parser::ParseNestedBody() {
  const Deeper deeper(*this);
  if (!deeper.ok()) return nullptr;
  const uint32_t first = pos_;
  ExprPtr expr = NewExpr(Expr::Kind::kBody);
  BodyText& body = *(expr->mutable_details().body = std::make_unique<BodyText>());
  if (At("(") && !ParseBodyInputs(body)) return nullptr;
  Bracket bracket(*this);
  const uint32_t open = brackets_.back();
  // The statements inside live on lines of their own, whatever brackets are open around them.
  const auto outer_brackets = std::exchange(brackets_, {});
  const uint32_t outer_begin = std::exchange(stmt_begin_, pos_);
  const bool outer_lines = std::exchange(lines_, true);
  const bool outer_literals = std::exchange(literals_, false);
  const int outer_links = std::exchange(links_, 0);
  ++nested_;
  Statements(body);
  --nested_;
  brackets_ = outer_brackets;
  stmt_begin_ = outer_begin;
  lines_ = outer_lines;
  literals_ = outer_literals;
  links_ = outer_links;
  failed_ = false;  // reported; the statement around it goes on
  if (!At("}")) {
    Fail(PlaceOf(tokens_[open]), "QR0205", "unclosed `{`");
    return nullptr;
  }
  bracket.Close();
  body.place = PlaceFrom(first);
  return Done(std::move(expr), first);
}

bool Parser::ParseBodyInputs(BodyText& body) {
  Bracket bracket(*this);
  body.has_inputs = true;
  while (!At(")")) {
    const uint32_t first = pos_;
    TypeDecl& input = body.inputs.emplace_back();
    if (!ParseName(input.name, "the name of an input")) return false;
    if (TakeIf(":") && !ParseType(input)) return false;
    input.place = PlaceFrom(first);
    if (!TakeIf(",") && !At(")")) return FailInList(")");
  }
  bracket.Close();
  Take();  // `=>`
  return true;
}

}  // namespace qrewrite
