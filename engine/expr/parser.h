// Parsing of the rule language. All functions report into the sink (codes QR02xx) and return what
// they understood; a caller that needs a whole tree checks the sink. They never throw, never crash
// on any input, and bound recursion, that of walks over the trees as well: too deep nesting and too
// many operators in one statement are errors.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "engine/base/diagnostics.h"
#include "engine/base/source.h"
#include "engine/expr/ast.h"

namespace qrewrite {

// How many nodes trees may still have, all that are read from one rule set together. A tree takes
// some hundred times the memory of its text.
struct TreeBudget {
  static constexpr int64_t kNodes = 2'000'000;
  int64_t left = kNodes;
};
inline constexpr size_t kMaxTextBytes = size_t{1} << 20;  // of one text

// Statements, one a line (a line may continue inside brackets); `#` starts a comment. Statements
// may be separated by `;` too.
BodyText ParseBody(const Snippet& text, DiagnosticSink& sink, TreeBudget* budget = nullptr);
// The same with type declarations and typed literals: `given:`, `expect:`, what `show` prints.
BodyText ParseGraphText(const Snippet& text, DiagnosticSink& sink, TreeBudget* budget = nullptr);
// Null on error.
ExprPtr ParseExpr(const Snippet& text, DiagnosticSink& sink, TreeBudget* budget = nullptr);
CaseLine ParseCaseLine(const Snippet& text, DiagnosticSink& sink, TreeBudget* budget = nullptr);
DefinitionHead ParseDefinitionHead(const Snippet& text, DiagnosticSink& sink);

// The source form of a tree, with few parentheses; parsing it gives an equal tree.
std::string Print(const Expr& expr);
std::string Print(const Arg& arg);
std::string Print(const Stmt& stmt);
std::string Print(const CaseLine& line);
std::string Print(const BodyText& body);  // a line a declaration and statement

// Equal but for places.
bool SameTree(const Expr& a, const Expr& b);
bool SameTree(const BodyText& a, const BodyText& b);

ExprPtr Clone(const Expr& expr);

}  // namespace qrewrite
