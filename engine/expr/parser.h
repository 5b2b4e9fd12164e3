// Parsing of the rule language. All functions report into the sink (codes QR02xx) and return what
// they understood; a caller that needs a whole tree checks the sink. They never throw, never crash
// on any input, and bound recursion (nesting deeper than 200 is an error).
#pragma once

#include <string>
#include <string_view>

#include "engine/base/diagnostics.h"
#include "engine/base/source.h"
#include "engine/expr/ast.h"

namespace qrewrite {

// Statements, one a line (a line may continue inside brackets); `#` starts a comment. Statements
// may be separated by `;` too.
BodyText ParseBody(const Snippet& text, DiagnosticSink& sink);
// The same with type declarations and typed literals: `given:`, `expect:`, what `show` prints.
BodyText ParseGraphText(const Snippet& text, DiagnosticSink& sink);
ExprPtr ParseExpr(const Snippet& text, DiagnosticSink& sink);  // null on error
CaseLine ParseCaseLine(const Snippet& text, DiagnosticSink& sink);
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
