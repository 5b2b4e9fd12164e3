// Walks over the trees of a rule file.
#pragma once

#include "engine/base/function_ref.h"
#include "engine/rule/ast.h"

namespace qrewrite {

using ExprVisitor = FunctionRef<void(const Expr&)>;

// Every expression, outer ones first. A tree is as deep as the parser lets it be.
void WalkExpr(const Expr& expr, ExprVisitor visit);
void WalkArg(const Arg& arg, ExprVisitor visit);
void WalkBody(const BodyText& body, ExprVisitor visit);
void WalkCases(const std::vector<Case>& cases, ExprVisitor visit);
void WalkRule(const Rule& rule, ExprVisitor visit);  // not its tests

}  // namespace qrewrite
