#include <fmt/format.h>

#include <utility>

#include "engine/expr/names.h"
#include "engine/expr/parser_impl.h"

namespace qrewrite {

// --- bodies

void Parser::Statements(BodyText& body) {
  for (;;) {
    const bool at_close = nested_ > 0 && tokens_[pos_].mark == "}";
    if (tokens_[pos_].kind == TokenKind::kEnd || at_close) return;
    stmt_begin_ = pos_;
    if (TakeIf(";")) continue;
    failed_ = false;
    links_ = 0;
    if (Statement(body) && !AtSeparator()) FailTrailing();
    if (failed_) Recover();
  }
}

// To the next line that can be a statement: one at which all brackets are closed, or one that looks
// like a statement although some are open.
void Parser::Recover() {
  brackets_.clear();
  int open = 0, braces = 0;
  const uint32_t last = static_cast<uint32_t>(tokens_.size() - 1);
  uint32_t i = stmt_begin_;
  for (; i < last; ++i) {
    const Token& token = tokens_[i];
    const bool beyond = i >= pos_ && i > stmt_begin_;
    if (beyond && token.newline_before && (open + braces <= 0 || LooksLikeStatement(i))) break;
    if (beyond && token.mark == ";" && open + braces <= 0) break;
    if (beyond && token.mark == "}" && nested_ > 0 && braces <= 0) break;
    if (token.mark == "{") ++braces;
    if (token.mark == "}") --braces;
    if (token.mark == "(" || token.mark == "[") ++open;
    if (token.mark == ")" || token.mark == "]") --open;
  }
  pos_ = i;
}

bool Parser::Statement(BodyText& body) {
  if (mode_ == Mode::kGraph) {
    if (AtWord("return") && !At("=", 1) && !At(",", 1) && !At(":", 1) && !At("?", 1) &&
        !At("...", 1)) {
      return ParseReturn(body);
    }
    if ((Peek().kind == TokenKind::kName || AtName()) && At(":", 1)) {
      return ParseDecl(body.decls.emplace_back());
    }
  }
  if (body.has_return) {
    return Fail(Here(), "QR0221", "a statement behind `return`", "`return` is the last line");
  }
  Stmt stmt;
  if (!ParseStmt(stmt)) return false;
  body.stmts.push_back(std::move(stmt));
  return true;
}

bool Parser::ParseStmt(Stmt& stmt) {
  const uint32_t first = pos_;
  if (!ParseOuts(stmt.outs)) return false;
  if (At("==")) {
    return Fail(Here(), "QR0213", "a statement has one `=`", "write `=`");
  }
  if (At("<") && At("-", 1) && Glued(1)) {
    return Fail(Here(), "QR0204", "expected `=`, found `<-`", "write `=`");
  }
  const bool label = At(":") && Glued() && Glued(1) && !At("[", 2) && !AtEnd(2);
  if (At("(") || At("<") || At(".") || At("|") || label) return FailWithoutOutputs(first);
  if (At(":")) {
    return Fail(Here(), "QR0204", "expected `=`, found `:`",
                At("=", 1)
                    ? "write `=`"
                    : "declarations belong to graph texts; a type is asked for under `where:`: "
                      "`dtype(x) == FLOAT`");
  }
  if (!At("=") && mode_ == Mode::kRules && tokens_[first].text == "return") {
    return Fail(PlaceOf(tokens_[first]), "QR0204", "`return` belongs to graph texts",
                "a rule says what its outputs are: `y = ...`");
  }
  if (!TakeIf("=")) return FailExpected("`=`");
  if (!ParseArg(stmt.value, /*labels=*/false)) return false;
  stmt.place = PlaceFrom(first);
  return true;
}

// The statement begins with what makes its outputs, at token `first`.
bool Parser::FailWithoutOutputs(uint32_t first) {
  const Place place = PlaceFrom(first);
  std::string head;
  for (; !AtEnd() && !At("(") && !At("<"); Take()) head += Peek().text;
  head.insert(0, tokens_[first].text);
  return Fail(place, "QR0204", "a statement without outputs",
              fmt::format("it names what it makes: `y = {}(...)`", Printable(head, 40)));
}

bool Parser::FailCaseWord() {
  return Fail(Here(), "QR0209", fmt::format("{} begins no case", Found(Peek())),
              AtWord("else") ? "the last case is `=> result`" : "write `when condition => result`");
}

bool Parser::ParseOuts(OutArgs& outs) {
  outs.reserve(2);
  do {
    const uint32_t first = pos_;
    OutArg& out = outs.emplace_back();
    if (!ParseName(out.name, "the name of an output")) return false;
    if (TakeIf("...")) {
      out.repeated = true;
    } else if (TakeIf("?")) {
      out.optional = true;
    }
    out.place = PlaceFrom(first);
  } while (TakeIf(","));
  return true;
}

bool Parser::OutsAhead() const {
  for (size_t k = 0; AtName(k); ++k) {
    ++k;
    if (At("...", k) || At("?", k)) ++k;
    if (At("=", k)) return true;
    if (!At(",", k)) return false;
  }
  return false;
}

bool Parser::ParseName(std::string& name, std::string_view what) {
  if (AtName()) {
    const Token& token = Take();
    if (token.kind == TokenKind::kString) {
      name = StringValue(token);
    } else {
      name.assign(token.text);
    }
    return true;
  }
  if (Peek().kind == TokenKind::kName) return FailWord(Peek());
  return FailExpected(what);
}

// --- one-line cases and heads

bool Parser::ParseCase(CaseLine& line) {
  const uint32_t first = pos_;
  if (!AtWord("when") && !At("=>")) {
    Stmt stmt;
    if (AtWord("if") || AtWord("else")) return FailCaseWord();
    const TokenKind kind = Peek().kind;
    if (kind == TokenKind::kInt || kind == TokenKind::kFloat || kind == TokenKind::kString ||
        At("[") || At("(")) {
      return Fail(Here(), "QR0204", fmt::format("a case does not begin with {}", Found(Peek())),
                  "a result follows `=>`, a condition `when`");
    }
    if (!ParseOuts(stmt.outs)) return false;
    if (TakeIf("=")) {
      if (!ParseArg(stmt.value, /*labels=*/false)) return false;
    } else if (!AtEnd() && !AtWord("when") && !At("=>")) {
      // `rank(x) == 2 => ...`: functions begin with a small letter.
      if (At("(") && tokens_[first].text[0] >= 'a' && stmt.outs.size() == 1) {
        return Fail(PlaceFrom(first), "QR0204", "a condition without `when`",
                    "write `when condition => result`");
      }
      if (At("(") || At("<") || At(".") || At("|")) return FailWithoutOutputs(first);
      if (At("==")) return Fail(Here(), "QR0213", "a statement has one `=`", "write `=`");
      const std::string_view word = tokens_[first].text;
      if (word == "case" || word == "where" || word == "elif" || word == "cond") {
        return Fail(PlaceFrom(first), "QR0209", fmt::format("`{}` begins no case", word),
                    "write `when condition => result`");
      }
      return FailExpected("`=`, `when` or `=>`");
    }
    stmt.place = PlaceFrom(first);
    line.match = std::move(stmt);
  }
  if (TakeWordIf("when")) {
    line.when = ParseExpr();
    if (!line.when) return false;
  }
  if (TakeIf("=>")) {
    if (OutsAhead()) {
      Stmt stmt;
      if (!ParseStmt(stmt)) return false;
      line.replace = std::move(stmt);
    } else {
      Arg arg;
      if (!ParseArg(arg, /*labels=*/false)) return false;
      line.is = std::move(arg);
    }
  }
  line.place = PlaceFrom(first);
  return true;
}

bool Parser::ParseHead(DefinitionHead& head) {
  const uint32_t first = pos_;
  if (OutsAhead()) {
    if (!ParseOuts(head.outs)) return false;
    Take();  // `=`
  }
  if (At("$")) {
    return Fail(Here(), "QR0204", "expected the name of the definition, found `$`",
                "`$` is written where it is called");
  }
  if (!ParseName(head.name, "the name of the definition")) return false;
  if (!At("(")) {
    return Fail(Here(), "QR0204", fmt::format("expected `(`, found {}", Found(Peek())),
                fmt::format("a head has parentheses: `{}(v):`", head.name));
  }
  Bracket bracket(*this);
  while (!At(")")) {
    std::string param;
    if (head.variadic) {
      return Fail(Here(), "QR0204", "expected `)`: `...` stands on the last parameter");
    }
    if (!ParseName(param, "the name of a parameter")) return false;
    head.params.push_back(std::move(param));
    head.variadic = TakeIf("...");
    if (At("=") || At(":") || At("?")) {
      return Fail(Here(), "QR0204", fmt::format("expected `,` or `)`, found {}", Found(Peek())),
                  "parameters are names alone; `absent` leaves one out where it is called");
    }
    if (!TakeIf(",") && !At(")")) return FailInList(")");
  }
  bracket.Close();
  head.place = PlaceFrom(first);
  return true;
}

}  // namespace qrewrite
