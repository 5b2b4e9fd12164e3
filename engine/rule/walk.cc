#include "engine/rule/walk.h"

namespace qrewrite {

void WalkExpr(const Expr& expr, ExprVisitor visit) {
  visit(expr);
  for (const ExprPtr& item : expr.items) {
    if (item) WalkExpr(*item, visit);
  }
  if (expr.has_call()) {
    for (const AttrArg& attr : expr.call().attrs) {
      if (attr.value) WalkExpr(*attr.value, visit);
    }
    for (const Arg& arg : expr.call().args) WalkArg(arg, visit);
  }
  if (!expr.has_details()) return;
  for (const Subscript& subscript : expr.details().subscripts) {
    if (subscript.start) WalkExpr(*subscript.start, visit);
    if (subscript.stop) WalkExpr(*subscript.stop, visit);
  }
  if (expr.details().body) WalkBody(*expr.details().body, visit);
}

void WalkArg(const Arg& arg, ExprVisitor visit) {
  if (arg.value) WalkExpr(*arg.value, visit);
}

void WalkBody(const BodyText& body, ExprVisitor visit) {
  for (const Stmt& stmt : body.stmts) WalkArg(stmt.value, visit);
}

void WalkCases(const std::vector<Case>& cases, ExprVisitor visit) {
  for (const Case& c : cases) {
    if (c.match) WalkBody(*c.match, visit);
    for (const ExprPtr& when : c.when) WalkExpr(*when, visit);
    for (const Let& let : c.let) WalkExpr(*let.value, visit);
    if (c.outcome.is) WalkArg(*c.outcome.is, visit);
    if (c.outcome.replace) WalkBody(*c.outcome.replace, visit);
    WalkCases(c.outcome.cases, visit);
  }
}

void WalkRule(const Rule& rule, ExprVisitor visit) {
  WalkBody(rule.match, visit);
  for (const ExprPtr& where : rule.where) WalkExpr(*where, visit);
  for (const Let& let : rule.let) WalkExpr(*let.value, visit);
  if (rule.replace) WalkBody(*rule.replace, visit);
  WalkCases(rule.cases, visit);
  for (const auto& [name, value] : rule.retype) WalkExpr(*value, visit);
  for (const auto& [text, value] : rule.says) {
    if (value) WalkExpr(*value, visit);
  }
  for (const auto& [counter, when] : rule.counters) {
    if (when) WalkExpr(*when, visit);
  }
  for (const auto& [table, row] : rule.record) {
    for (const auto& [name, value] : row) WalkExpr(*value, visit);
  }
}

}  // namespace qrewrite
