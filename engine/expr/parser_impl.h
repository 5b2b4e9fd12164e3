// Parser: the recursive descent behind engine/expr/parser.h. One object parses one text.
//
//   parser.cc        entry points, lookahead, recovery at line ends
//   parser_errors.cc what is reported
//   parser_slips.cc  what was probably meant: hints for typical slips
//   parser_stmt.cc   bodies, statements, cases, heads of definitions
//   parser_expr.cc   operators, from `if else` down to atoms
//   parser_call.cc   calls: label, head, quantifier, attributes, arguments
//   parser_graph.cc  what only graph texts have: declarations, typed literals, nested bodies
//
// Grammar (`name` is an identifier that is no word, or a quoted string where a graph text has
// names)
//
//   body     = stmt { NEWLINE stmt }          stmt = out { "," out } "=" arg
//   out      = ( NAME | "_" ) [ "..." | "?" ]
//   arg      = [ NAME "=" | NAME "->" ] ( group | expr ) [ "?" ] [ "..." ]
//   group    = "(" arg { "," arg } ")"        only before "..."
//   call     = [ NAME ":" ] head [ "?" | "*" | "+" ] [ attrs ] "(" [ arg { "," arg } ] ")"
//   head     = [ "!" ] ref { "|" ref }        ref  = NAME { "." NAME } | "@" NAME | "$" NAME
//   attrs    = "<" [ attr { "," attr } ] ">"  attr = "**" NAME | NAME [ "=" coalesce ] [ "?" ]
//   expr     = or [ "if" or "else" expr ]     or   = and { "or" and }      and = not { "and" not }
//   not      = "not" not | coalesce [ compare coalesce ]    compare = == != < <= > >= in =~
//   coalesce = sum [ "??" coalesce ]          sum  = term { ("+"|"-") term }
//   term     = unary { ("*"|"/"|"//"|"%") unary }
//   unary    = "-" unary | post [ "**" unary ]
//   post     = atom { "." NAME | "[" [expr] [ ":" [expr] ] { "," ... } "]" }
//   atom     = NUMBER [ "~" N "ulp" ] | 'STRING' | NAME | DTYPE | call | "@" NAME | "(" expr ")"
//            | "[" [ expr { "," expr } ] "]"
//   case     = [ stmt | out { "," out } ] [ "when" expr ] [ "=>" ( arg | stmt ) ]
//
// In graph texts also
//
//   stmt     = NAME ":" type | "return" NAME { "," NAME }
//   type     = ( DTYPE-TEXT | "?" ) [ "[" [ dim { "," dim } ] "]" ]     dim = N | NAME | "?"
//   atom     = [ fill ] DTYPE-TEXT [ "[" N { "," N } "]" ] [ values ]
//   fill     = "zeros" | "ones" | "random" [ "(" N ")" ]
//   attr     = NAME "=" ( [ inputs "=>" ] "{" body "}" | "..." )
//   inputs   = "(" [ NAME [ ":" type ] { "," NAME [ ":" type ] } ] ")"
#pragma once

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include <boost/container/small_vector.hpp>

#include "engine/base/diagnostics.h"
#include "engine/base/source.h"
#include "engine/expr/ast.h"
#include "engine/expr/lexer.h"
#include "engine/expr/parser.h"

namespace qrewrite {

inline constexpr std::string_view kAttributesHint =
    "attributes stand in <>, before the inputs: `Op<axis=1>(x)`";

// "did you mean `float`?" for a word that is near the name of an element type, else empty.
std::string NearestType(std::string_view name);

class Parser {
 public:
  enum class Mode { kRules, kGraph };
  Parser(const Snippet& text, DiagnosticSink& sink, Mode mode, TreeBudget* budget = nullptr);

  BodyText WholeBody();
  ExprPtr WholeExpr();
  CaseLine WholeCase();
  DefinitionHead WholeHead();

 private:
  // Bounds on recursion: of the parser, and of walks over the tree (operators of one statement make
  // deep trees although they do not nest).
  static constexpr int kMaxDepth = 200;
  static constexpr int kMaxLinks = 250;
  class Deeper;   // one level of nesting while it lives
  class Bracket;  // an open bracket while it lives: newlines are blanks inside

  // --- lookahead. Inside a statement and outside brackets a line end reads as kEnd.
  const Token& Peek(size_t k = 0) const {
    const size_t index = std::min(pos_ + k, tokens_.size() - 1);
    return lines_ && brackets_.empty() ? PeekInBody(index) : tokens_[index];
  }
  // The statement's own first token begins no other line.
  const Token& PeekInBody(size_t index) const {
    const bool elsewhere = tokens_[pos_].newline_before && pos_ != stmt_begin_;
    return elsewhere || index >= tokens_[pos_].next_line ? LineEnd() : tokens_[index];
  }
  static const Token& LineEnd();
  bool At(Mark mark, size_t k = 0) const { return Peek(k).mark == mark; }
  bool AtWord(std::string_view word, size_t k = 0) const {
    const Token& token = Peek(k);
    return token.kind == TokenKind::kName && token.text[0] == word[0] && token.text == word;
  }
  bool AtName(size_t k = 0) const {  // an identifier or, in graph texts, a string
    const Token& token = Peek(k);
    return (token.plain_name && !InfinityAhead(k)) || token.kind == TokenKind::kString ||
           (token.kind == TokenKind::kName && token.text == "_");
  }
  bool AtEnd(size_t k = 0) const { return Peek(k).kind == TokenKind::kEnd; }
  bool AtSeparator() const;  // line end, `;`, end of text or of the nested body
  bool TakeIf(Mark mark) {
    const bool at = At(mark);
    pos_ += at ? 1 : 0;
    return at;
  }
  bool TakeWordIf(std::string_view word) {
    const bool at = AtWord(word);
    pos_ += at ? 1 : 0;
    return at;
  }
  const Token& Take() {
    const Token& token = tokens_[pos_];
    if (pos_ + 1 < tokens_.size()) ++pos_;
    return token;
  }
  bool Glued(size_t k = 0) const { return !Peek(k).space_before; }  // no space before the token
  Place PlaceFrom(uint32_t first_token) const {                     // up to the last token taken
    const uint32_t last = pos_ > first_token ? pos_ - 1 : first_token;
    return text_.PlaceOf(tokens_[first_token].begin, tokens_[last].end);
  }
  Place PlaceOf(const Token& token) const { return text_.PlaceOf(token.begin, token.end); }
  Place Here() const;  // the next token; at a line end the place behind the last one

  // --- errors. The first of a statement is reported, then everything unwinds.
  Diagnostic& Report(const Place& place, std::string_view code, std::string message,
                     std::string hint = "");
  bool Fail(const Place& place, std::string_view code, std::string message, std::string hint = "");
  bool FailExpected(std::string_view what);  // here, with the found token and a hint
  bool FailInList(std::string_view closer);  // neither `,` nor `closer`
  bool FailWithoutOutputs(uint32_t first);   // `Relu(x)` where `y = Relu(x)` belongs
  bool FailCaseWord();                       // `if`, `else` where a case begins
  bool FailTrailing();                       // a complete thing, and more text behind it
  bool FailWildcard();                       // `acme.*(x)`
  bool FailWord(const Token& token);         // a word or type where a name belongs
  std::string HintFor(const Token& found) const;
  // What was probably meant here; `what` was expected, "": nothing more. "" if nothing is known.
  std::string SlipHint(std::string_view what) const;
  struct Around {  // the token that cannot stand here, and those before it; kEnd: there is none
    const Token& found;
    const Token& before;
    const Token& earlier;
    const Token& opener;  // the innermost bracket that is open
  };
  Around LookAround() const;
  std::string SlipInRule(std::string_view what) const;
  std::string SlipInOperand(std::string_view what, const Around& at) const;
  std::string SlipInBrackets(const Around& at) const;
  std::string SlipInStatement(std::string_view what, const Around& at) const;
  std::string SlipInExpression(std::string_view what) const;
  std::string SlipInGraph(std::string_view what) const;
  bool DashesWithoutSpace() const;
  bool ResultAhead() const;  // `=>` further on
  std::string CutHint() const;
  bool CommaBefore(const Token& token) const;  // of YAML, between it and the text in front of it
  std::string Found(const Token& token) const;
  bool CanBeginExpr(const Token& token) const;
  size_t Column(const Token& token) const;
  bool LooksLikeStatement(size_t token) const;
  bool LinkAdded();
  bool TooLong() const { return text_.text.size() > kMaxTextBytes; }  // reported when it was read

  // --- statements
  void Statements(BodyText& body);
  void Recover();
  bool Statement(BodyText& body);
  bool ParseStmt(Stmt& stmt);
  bool ParseOuts(OutArgs& outs);
  bool OutsAhead() const;  // `a, b? =`
  bool ParseCase(CaseLine& line);
  bool ParseHead(DefinitionHead& head);

  // --- names
  bool ParseName(std::string& name, std::string_view what);

  // --- expressions; null after a failure
  ExprPtr ParseExpr();
  ExprPtr ParseOr();
  ExprPtr ParseAnd();
  ExprPtr ParseNot();
  ExprPtr ParseComparison();
  ExprPtr ParseCoalesce();
  ExprPtr ParseSum();
  ExprPtr ParseTerm();
  ExprPtr ParseUnary();
  ExprPtr ParsePost();
  ExprPtr ParseAtom();
  ExprPtr ParseNumber(bool negative);
  ExprPtr ParseNameAtom();
  // A name or a call that is all of an argument: there is no operator to look for around it.
  bool LoneNameAhead() const;  // `x,` `x)` `x...`
  bool LoneCallAhead() const;  // `Op(x),` `Op<axis>(x))`
  bool ArgumentEnds(uint32_t token) const;
  ExprPtr ParseLoneName();
  ExprPtr ParseParenthesised();
  ExprPtr ParseList();
  bool ParseSubscripts(Expr& index);
  bool NegativeNumberAhead() const;  // `-1` is a literal unless `**`, `.` or `[` follows
  bool InfinityAhead(size_t k) const;
  ExprPtr Binary(BinaryOp op, ExprPtr left, ExprPtr right);

  // --- calls
  bool LabelAhead() const;
  bool CallAhead() const;
  bool CallTailAhead(size_t k) const;  // what follows a head: `|`, a quantifier, `<`, `(`
  ExprPtr ParseCall();
  bool ParseRefs(Call& call);
  bool ParseRef(Ref& ref);
  bool ParseQuantifier(Call& call);
  bool ParseAttrs(Call& call);
  bool ParseAttr(AttrArg& attr);
  bool ParseArgs(CallArgs& args);
  bool ParseArg(Arg& arg, bool labels);
  bool GroupAhead() const;

  // --- graph texts
  bool ParseDecl(TypeDecl& decl);
  bool ParseType(TypeDecl& decl);
  bool ParseDim(std::string& dim);
  bool ParseReturn(BodyText& body);
  bool TypedAhead() const;
  ExprPtr ParseTyped();
  bool ParseTypedDims(Expr& typed);
  ExprPtr ParseTypedValue();
  bool NestedBodyAhead() const;
  ExprPtr ParseNestedBody();
  bool ParseBodyInputs(BodyText& body);

  ExprPtr NewExpr(Expr::Kind kind);
  ExprPtr Done(ExprPtr expr, uint32_t first_token) const;

  const Snippet& text_;
  DiagnosticSink& sink_;
  Mode mode_;
  TreeBudget* budget_;
  std::vector<Token> tokens_;
  uint32_t pos_ = 0;
  uint32_t stmt_begin_ = 0;
  bool lines_ = false;                                     // line ends matter (bodies)
  int nested_ = 0;                                         // bodies in braces around this place
  boost::container::small_vector<uint32_t, 16> brackets_;  // open ones of this statement
  bool labels_ = true;     // false directly in a subscript, where `a:b` is a slice
  bool literals_ = false;  // graph texts: a string is a string here, else it is a name
  bool case_ = false;      // the text is one case
  int depth_ = 0;
  int links_ = 0;
  bool failed_ = false;
};

class Parser::Deeper {
 public:
  explicit Deeper(Parser& parser) : parser_(parser) { ++parser_.depth_; }
  ~Deeper() { --parser_.depth_; }
  Deeper(const Deeper&) = delete;
  bool ok() const;  // reports if this is too deep

 private:
  Parser& parser_;
};

class Parser::Bracket {
 public:
  explicit Bracket(Parser& parser) : parser_(parser), labels_(parser.labels_) {
    parser_.brackets_.push_back(parser_.pos_);
    parser_.Take();
    parser_.labels_ = true;
  }
  ~Bracket() { Restore(); }
  Bracket(const Bracket&) = delete;
  // Takes the closing bracket; from there on line ends matter again.
  void Close() {
    Restore();
    parser_.Take();
  }

 private:
  void Restore() {
    if (closed_) return;
    closed_ = true;
    parser_.brackets_.pop_back();
    parser_.labels_ = labels_;
  }
  Parser& parser_;
  bool labels_;
  bool closed_ = false;
};

}  // namespace qrewrite
