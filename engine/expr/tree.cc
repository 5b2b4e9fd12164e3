// Comparing and copying of trees.
#include <algorithm>
#include <bit>

#include "engine/expr/parser.h"

namespace qrewrite {
namespace {

bool Same(const ExprPtr& a, const ExprPtr& b) {
  if (!a || !b) return !a && !b;
  return SameTree(*a, *b);
}

bool Same(const Ref& a, const Ref& b) { return a.kind == b.kind && a.name == b.name; }

bool Same(const AttrArg& a, const AttrArg& b) {
  return a.rest == b.rest && a.name == b.name && a.optional == b.optional && Same(a.value, b.value);
}

bool Same(const Arg& a, const Arg& b) {
  return a.label_kind == b.label_kind && a.label == b.label && a.optional == b.optional &&
         a.repeated == b.repeated && Same(a.value, b.value);
}

bool Same(const Subscript& a, const Subscript& b) {
  return a.slice == b.slice && Same(a.start, b.start) && Same(a.stop, b.stop);
}

bool Same(const OutArg& a, const OutArg& b) {
  return a.name == b.name && a.optional == b.optional && a.repeated == b.repeated;
}

bool Same(const TypeDecl& a, const TypeDecl& b) {
  return a.name == b.name && a.dtype == b.dtype && a.has_shape == b.has_shape && a.dims == b.dims;
}

bool Same(const Stmt& a, const Stmt& b);

template <class T>
bool Same(const std::vector<T>& a, const std::vector<T>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](const T& x, const T& y) { return Same(x, y); });
}

bool Same(const Stmt& a, const Stmt& b) { return Same(a.outs, b.outs) && Same(a.value, b.value); }

ExprPtr CloneOf(const ExprPtr& expr) { return expr ? Clone(*expr) : nullptr; }

AttrArg CloneOf(const AttrArg& attr) {
  return {attr.rest, attr.name, CloneOf(attr.value), attr.optional, attr.place};
}

Arg CloneOf(const Arg& arg) {
  return {arg.label_kind, arg.label, CloneOf(arg.value), arg.optional, arg.repeated, arg.place};
}

Subscript CloneOf(const Subscript& subscript) {
  return {subscript.slice, CloneOf(subscript.start), CloneOf(subscript.stop)};
}

Stmt CloneOf(const Stmt& stmt) { return {stmt.outs, CloneOf(stmt.value), stmt.place}; }

template <class T>
std::vector<T> CloneOf(const std::vector<T>& list) {
  std::vector<T> copy;
  copy.reserve(list.size());
  for (const T& item : list) copy.push_back(CloneOf(item));
  return copy;
}

std::unique_ptr<BodyText> CloneOf(const BodyText& body) {
  auto copy = std::make_unique<BodyText>();
  copy->stmts = CloneOf(body.stmts);
  copy->place = body.place;
  copy->decls = body.decls;
  copy->inputs = body.inputs;
  copy->has_inputs = body.has_inputs;
  copy->returns = body.returns;
  copy->has_return = body.has_return;
  return copy;
}

}  // namespace

bool SameTree(const Expr& a, const Expr& b) {
  if (a.kind != b.kind || !a.body != !b.body) return false;
  return a.int_value == b.int_value &&
         std::bit_cast<uint64_t>(a.float_value) == std::bit_cast<uint64_t>(b.float_value) &&
         a.ulps == b.ulps && a.text == b.text && a.dtype == b.dtype && Same(a.items, b.items) &&
         a.label == b.label && a.negated == b.negated && Same(a.refs, b.refs) &&
         a.quantifier == b.quantifier && Same(a.attrs, b.attrs) && a.empty_attrs == b.empty_attrs &&
         Same(a.args, b.args) && a.binary == b.binary && a.unary == b.unary &&
         Same(a.subscripts, b.subscripts) && a.dims == b.dims && a.has_dims == b.has_dims &&
         (!a.body || SameTree(*a.body, *b.body));
}

bool SameTree(const BodyText& a, const BodyText& b) {
  return Same(a.stmts, b.stmts) && Same(a.decls, b.decls) && Same(a.inputs, b.inputs) &&
         a.has_inputs == b.has_inputs && Same(a.returns, b.returns) && a.has_return == b.has_return;
}

ExprPtr Clone(const Expr& expr) {
  auto copy = std::make_unique<Expr>();
  copy->kind = expr.kind;
  copy->place = expr.place;
  copy->int_value = expr.int_value;
  copy->float_value = expr.float_value;
  copy->ulps = expr.ulps;
  copy->text = expr.text;
  copy->dtype = expr.dtype;
  copy->items = CloneOf(expr.items);
  copy->label = expr.label;
  copy->negated = expr.negated;
  copy->refs = expr.refs;
  copy->quantifier = expr.quantifier;
  copy->attrs = CloneOf(expr.attrs);
  copy->empty_attrs = expr.empty_attrs;
  copy->args = CloneOf(expr.args);
  copy->binary = expr.binary;
  copy->unary = expr.unary;
  copy->subscripts = CloneOf(expr.subscripts);
  copy->dims = expr.dims;
  copy->has_dims = expr.has_dims;
  if (expr.body) copy->body = CloneOf(*expr.body);
  return copy;
}

}  // namespace qrewrite
