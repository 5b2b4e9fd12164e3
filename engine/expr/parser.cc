#include "engine/expr/parser.h"

#include <algorithm>

#include <fmt/format.h>

#include "engine/expr/names.h"
#include "engine/expr/parser_impl.h"

namespace qrewrite {
namespace {

const Token kLineEnd;  // what Peek answers at the end of a line

}  // namespace

Parser::Parser(const Snippet& text, DiagnosticSink& sink, Mode mode, TreeBudget* budget)
    : text_(text), sink_(sink), mode_(mode), budget_(budget) {
  if (text.text.size() <= kMaxTextBytes) {
    tokens_ = Lex(text.text);
    return;
  }
  sink.Error(
      text.PlaceOf(0, 1), "QR0109",
      fmt::format("a text of {} bytes; at most {} are read", text.text.size(), kMaxTextBytes));
  tokens_ = Lex("");
}

// --- lookahead

const Token& Parser::LineEnd() { return kLineEnd; }

bool Parser::AtSeparator() const {
  return AtEnd() || At(";") || (nested_ > 0 && brackets_.empty() && At("}"));
}

Place Parser::Here() const {
  if (!AtEnd()) return PlaceOf(Peek());
  const size_t behind = pos_ > 0 ? tokens_[pos_ - 1].end : 0;
  Place place = text_.PlaceOf(behind, behind);
  if (pos_ > 0) {
    // The byte behind the last one, in the file's own terms: a snippet skips indentation there.
    const Place last = text_.PlaceOf(behind - 1, behind);
    place.begin = place.end = last.end;
  }
  return place;
}

// --- whole texts

BodyText Parser::WholeBody() {
  BodyText body;
  lines_ = true;
  Statements(body);
  body.place = text_.PlaceOf(0, text_.text.size());
  return body;
}

ExprPtr Parser::WholeExpr() {
  if (TooLong()) return nullptr;
  if (AtEnd()) {
    Fail(Here(), "QR0217", "an expression is missing: the text is empty");
    return nullptr;
  }
  ExprPtr expr = ParseExpr();
  if (expr && !AtEnd()) FailTrailing();
  return failed_ ? nullptr : std::move(expr);
}

CaseLine Parser::WholeCase() {
  CaseLine line;
  case_ = true;
  if (TooLong()) return line;
  if (AtEnd()) {
    Fail(Here(), "QR0217", "a case is missing: the text is empty");
  } else if (ParseCase(line) && !AtEnd()) {
    FailTrailing();
  }
  return line;
}

DefinitionHead Parser::WholeHead() {
  DefinitionHead head;
  if (TooLong()) return head;
  if (AtEnd()) {
    Fail(Here(), "QR0217", "the head of a definition is missing: the text is empty");
  } else if (ParseHead(head) && !AtEnd()) {
    FailTrailing();
  }
  return head;
}

BodyText ParseBody(const Snippet& text, DiagnosticSink& sink, TreeBudget* budget) {
  return Parser(text, sink, Parser::Mode::kRules, budget).WholeBody();
}
BodyText ParseGraphText(const Snippet& text, DiagnosticSink& sink, TreeBudget* budget) {
  return Parser(text, sink, Parser::Mode::kGraph, budget).WholeBody();
}
ExprPtr ParseExpr(const Snippet& text, DiagnosticSink& sink, TreeBudget* budget) {
  return Parser(text, sink, Parser::Mode::kRules, budget).WholeExpr();
}
CaseLine ParseCaseLine(const Snippet& text, DiagnosticSink& sink, TreeBudget* budget) {
  return Parser(text, sink, Parser::Mode::kRules, budget).WholeCase();
}
DefinitionHead ParseDefinitionHead(const Snippet& text, DiagnosticSink& sink) {
  return Parser(text, sink, Parser::Mode::kRules).WholeHead();
}

}  // namespace qrewrite
