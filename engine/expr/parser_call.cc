#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "engine/expr/names.h"
#include "engine/expr/parser_impl.h"

namespace qrewrite {

constexpr size_t kMany = 100;  // arguments; no memory for more before they are read

// `n:Conv(...)`; no space on either side of the colon.
bool Parser::LabelAhead() const {
  return labels_ && AtName() && At(":", 1) && Glued(1) && Glued(2) && !AtEnd(2);
}

bool Parser::CallTailAhead(size_t k) const {
  if (At("(", k) || At("|", k)) return true;
  if (!Glued(k)) return false;
  if (At("<", k)) return true;
  if (!At("?", k) && !At("*", k) && !At("+", k)) return false;
  return Glued(k + 1) && (At("<", k + 1) || At("(", k + 1));
}

bool Parser::CallAhead() const {
  if (At("$") || LabelAhead()) return true;
  if (At("!")) return At("@", 1) || Peek(1).kind == TokenKind::kName;
  if (At("@")) return AtName(1) && CallTailAhead(2);
  if (!AtName()) return false;
  if (Peek().kind == TokenKind::kString) return Glued(1) && (At("(", 1) || At("<", 1));
  size_t k = 1;
  while (At(".", k) && Peek(k + 1).kind == TokenKind::kName) k += 2;
  return CallTailAhead(k);
}

ExprPtr Parser::ParseCall() {
  const Deeper deeper(*this);
  if (!deeper.ok()) return nullptr;
  const uint32_t first = pos_;
  ExprPtr expr = NewExpr(Expr::Kind::kCall);
  Call& call = expr->mutable_call();
  if (LabelAhead()) {
    if (!ParseName(call.label, "a label")) return nullptr;
    Take();  // `:`
  }
  if (!ParseRefs(call) || !ParseQuantifier(call)) return nullptr;
  if (At("<") && Glued() && !ParseAttrs(call)) return nullptr;
  if (!At("(")) {
    if (call.refs.front().kind == Ref::Kind::kDefinition && call.attrs.empty()) {
      Fail(Here(), "QR0204", fmt::format("expected `(`, found {}", Found(Peek())),
           call.refs.front().name == "params" && At(".")
               ? fmt::format("without `$`: `params.{}`", Peek(1).text)
               : fmt::format("a definition is called: `${0}(...)`; a parameter is `params.{0}`",
                             call.refs.front().name));
    }
    FailExpected(call.attrs.empty() ? "`(`" : "`(` behind the attributes");
    return nullptr;
  }
  if (!ParseArgs(call.args)) return nullptr;
  return Done(std::move(expr), first);
}

bool Parser::ParseRefs(Call& call) {
  if (At("!")) {
    const std::string_view name = Peek(1).text;
    if (!At("@", 1) && !At(".", 2) && !At("|", 2) && !name.empty() && name[0] >= 'a') {
      return Fail(Here(), "QR0204", "unexpected `!`", "negation is written `not`");
    }
    Take();
    call.negated = true;
  }
  do {
    if (!ParseRef(call.refs.emplace_back())) return false;
  } while (TakeIf("|"));
  return true;
}

bool Parser::ParseRef(Ref& ref) {
  const uint32_t first = pos_;
  if (At("@") || At("$")) {
    ref.kind = At("@") ? Ref::Kind::kSet : Ref::Kind::kDefinition;
    Take();
    if (!ParseName(ref.name, ref.kind == Ref::Kind::kSet ? "the name of a set"
                                                         : "the name of a definition")) {
      return false;
    }
  } else {
    if (At(":") && pos_ > 0 && Glued()) {
      return Fail(Here(), "QR0204", "expected the name of an operator, found `:`",
                  "a domain ends with a dot: `acme.Op`; a label with one colon: `n:Op`");
    }
    if (!ParseName(ref.name, "the name of an operator")) return false;
    while (At(".") && Peek(1).kind == TokenKind::kName) {
      Take();
      ref.name += '.';
      ref.name += Take().text;
    }
    if (At(".") && (At("*", 1) || At("**", 1))) return FailWildcard();
  }
  ref.place = PlaceFrom(first);
  return true;
}

bool Parser::ParseQuantifier(Call& call) {
  const bool quantifier = At("?") || At("*") || At("+");
  if (!quantifier || !Glued() || !Glued(1) || !(At("<", 1) || At("(", 1))) return true;
  const Ref& ref = call.refs.front();
  if (!At("?") && call.refs.size() == 1 && ref.kind == Ref::Kind::kName && call.label.empty() &&
      ref.name.find('.') == std::string::npos && ref.name[0] >= 'a') {
    return Fail(Here(), "QR0220",
                fmt::format("`{}{}(` reads as a repeated operator", ref.name, Peek().text),
                fmt::format("arithmetic has a space: `{} {} (`", ref.name, Peek().text));
  }
  call.quantifier = At("?")   ? Quantifier::kOptional
                    : At("*") ? Quantifier::kStar
                              : Quantifier::kPlus;
  Take();
  return true;
}

bool Parser::ParseAttrs(Call& call) {
  Bracket bracket(*this);
  const bool name = Peek().kind == TokenKind::kName || Peek().kind == TokenKind::kString;
  const bool attr =
      At("**") || At(">") || (name && (At("=", 1) || At(",", 1) || At("?", 1) || At(">", 1)));
  const Ref& ref = call.refs.front();
  if (!attr && call.refs.size() == 1 && ref.kind == Ref::Kind::kName && call.label.empty() &&
      ref.name.find('.') == std::string::npos && ref.name[0] >= 'a') {
    return Fail(PlaceOf(tokens_[brackets_.back()]), "QR0211",
                "`<` directly behind a name opens attributes",
                "a comparison has a space before it: `a < b`");
  }
  while (!At(">")) {
    if (!ParseAttr(call.attrs.emplace_back())) return false;
    if (!TakeIf(",") && !At(">")) return FailInList(">");
  }
  call.empty_attrs = call.attrs.empty();
  bracket.Close();
  return true;
}

bool Parser::ParseAttr(AttrArg& attr) {
  const uint32_t first = pos_;
  attr.rest = TakeIf("**");
  if (attr.rest) {
    if (!ParseName(attr.name, "the name of the other attributes")) return false;
  } else if (Peek().kind == TokenKind::kName) {
    attr.name = Take().text;  // any word may name an attribute
  } else if (At("*")) {
    return Fail(Here(), "QR0204", "expected an attribute, found `*`",
                "all attributes not mentioned are `**a`");
  } else if (!ParseName(attr.name, "an attribute")) {
    return false;
  }
  if (!attr.rest && TakeIf("=")) {
    const bool outer = std::exchange(literals_, true);
    attr.value = ParseCoalesce();
    literals_ = outer;
    if (!attr.value) return false;
  }
  attr.optional = !attr.rest && TakeIf("?");
  attr.place = PlaceFrom(first);
  return true;
}

bool Parser::ParseArgs(CallArgs& args) {
  Bracket bracket(*this);
  const bool outer = std::exchange(literals_, false);
  if (!At(")")) args.reserve(1 + std::min<size_t>(tokens_[brackets_.back()].commas, kMany));
  while (!At(")")) {
    if (!ParseArg(args.emplace_back(), /*labels=*/true)) return false;
    if (!TakeIf(",") && !At(")")) return FailInList(")");
  }
  literals_ = outer;
  bracket.Close();
  return true;
}

// Is the parenthesis here closed by one that dots follow?
bool Parser::GroupAhead() const {
  if (!At("(")) return false;
  const uint32_t close = tokens_[pos_].match;
  if (close == 0) return false;
  const auto dots = [&](size_t i) { return i < tokens_.size() && tokens_[i].mark == "..."; };
  return dots(close + 1) || (tokens_[close + 1].mark == "?" && dots(close + 2));
}

bool Parser::ParseArg(Arg& arg, bool labels) {
  const Deeper deeper(*this);
  if (!deeper.ok()) return false;
  const uint32_t first = pos_;
  if (labels && AtName() && (At("=", 1) || At("->", 1))) {
    arg.label_kind = At("=", 1) ? Arg::Label::kInput : Arg::Label::kArrow;
    if (!ParseName(arg.label, "an input")) return false;
    Take();
  }
  if (GroupAhead()) {
    const uint32_t open = pos_;
    ExprPtr group = NewExpr(Expr::Kind::kGroup);
    CallArgs& members = group->mutable_call().args;
    if (!ParseArgs(members)) return false;
    arg.value = Done(std::move(group), open);
    Arg* only = members.size() == 1 ? members.data() : nullptr;
    if (only && only->label_kind == Arg::Label::kNone && !only->optional && !only->repeated) {
      arg.value = ExprPtr(std::move(only->value));  // `(x)...` is `x...`
    }
  } else {
    arg.value = ParseExpr();
  }
  if (!arg.value) return false;
  arg.optional = TakeIf("?");
  arg.repeated = TakeIf("...");
  arg.place = PlaceFrom(first);
  return true;
}

}  // namespace qrewrite
