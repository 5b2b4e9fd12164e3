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

template <class List>
requires requires(const List& list) { list.begin(); }
bool Same(const List& a, const List& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](const auto& x, const auto& y) { return Same(x, y); });
}

bool Same(const Stmt& a, const Stmt& b) { return Same(a.outs, b.outs) && Same(a.value, b.value); }

bool Same(const Call& a, const Call& b) {
  return &a == &b || (a.label == b.label && a.negated == b.negated &&
                      a.empty_attrs == b.empty_attrs && a.quantifier == b.quantifier &&
                      Same(a.refs, b.refs) && Same(a.attrs, b.attrs) && Same(a.args, b.args));
}

bool Same(const Details& a, const Details& b) {
  if (&a == &b) return true;
  if (!a.body != !b.body || (a.body && !SameTree(*a.body, *b.body))) return false;
  return Same(a.subscripts, b.subscripts) && a.dims == b.dims && a.has_dims == b.has_dims;
}

ExprPtr CloneOf(const ExprPtr& expr) { return expr ? Clone(*expr) : nullptr; }

AttrArg CloneOf(const AttrArg& attr) {
  return {attr.rest, attr.optional, attr.name, CloneOf(attr.value), attr.place};
}

Arg CloneOf(const Arg& arg) {
  return {arg.label_kind, arg.optional, arg.repeated, arg.label, CloneOf(arg.value), arg.place};
}

Subscript CloneOf(const Subscript& subscript) {
  return {subscript.slice, CloneOf(subscript.start), CloneOf(subscript.stop)};
}

Stmt CloneOf(const Stmt& stmt) { return {stmt.outs, CloneOf(stmt.value), stmt.place}; }

template <class List>
requires requires(const List& list) { list.begin(); }
List CloneOf(const List& list) {
  List copy;
  copy.reserve(list.size());
  for (const auto& item : list) copy.push_back(CloneOf(item));
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

Call CloneOf(const Call& call) {
  return {call.label, call.negated,        call.empty_attrs,  call.quantifier,
          call.refs,  CloneOf(call.attrs), CloneOf(call.args)};
}

Details CloneOf(const Details& details) {
  return {CloneOf(details.subscripts), details.dims, details.has_dims,
          details.body ? CloneOf(*details.body) : nullptr};
}

}  // namespace

const Call& NoCall() {
  static const Call none;
  return none;
}

const Details& NoDetails() {
  static const Details none;
  return none;
}

bool SameTree(const Expr& a, const Expr& b) {
  if (a.kind != b.kind) return false;
  const bool same_number = a.kind == Expr::Kind::kFloat ? std::bit_cast<uint64_t>(a.float_value) ==
                                                              std::bit_cast<uint64_t>(b.float_value)
                                                        : a.int_value == b.int_value;
  return same_number && a.ulps == b.ulps && a.text == b.text && a.dtype == b.dtype &&
         a.binary == b.binary && a.unary == b.unary && Same(a.items, b.items) &&
         Same(a.call(), b.call()) && Same(a.details(), b.details());
}

bool SameTree(const BodyText& a, const BodyText& b) {
  return Same(a.stmts, b.stmts) && Same(a.decls, b.decls) && Same(a.inputs, b.inputs) &&
         a.has_inputs == b.has_inputs && Same(a.returns, b.returns) && a.has_return == b.has_return;
}

ExprPtr Clone(const Expr& expr) {
  auto copy = std::make_unique<Expr>();
  copy->kind = expr.kind;
  copy->dtype = expr.dtype;
  copy->binary = expr.binary;
  copy->unary = expr.unary;
  copy->ulps = expr.ulps;
  copy->place = expr.place;
  if (expr.kind == Expr::Kind::kFloat) {
    copy->float_value = expr.float_value;
  } else {
    copy->int_value = expr.int_value;
  }
  copy->text = expr.text;
  copy->items = CloneOf(expr.items);
  if (&expr.call() != &NoCall()) copy->mutable_call() = CloneOf(expr.call());
  if (&expr.details() != &NoDetails()) copy->mutable_details() = CloneOf(expr.details());
  return copy;
}

}  // namespace qrewrite
