// Lists, 1-D tensors and indexing.
#include <algorithm>

#include <fmt/format.h>

#include "engine/match/interpreter.h"

namespace qrewrite {

// Scalars as one 1-D tensor of the type they share.
Val Interpreter::Concat(const std::vector<Val>& items) {
  if (items.empty()) return Num{Tensor::Int64s({}), true};
  std::vector<Tensor> parts;
  Val common = Val::Int(0);
  bool weak = true;
  for (const Val& item : items) {
    const Val forced = Force(item);
    if (forced.stops()) return forced;
    const auto* n = forced.get_if<Num>();
    if (n == nullptr || n->t.size() != 1) return Failure{"a list of other things than numbers"};
    weak &= n->weak;
    parts.push_back(n->t.Reshaped({1}));
    // Adding 0 in turn finds the type that holds them all.
    common = Arithmetic(BinaryOp::kAdd, common,
                        Arithmetic(BinaryOp::kMul, Num{n->t.Reshaped({}), n->weak}, Val::Int(0)));
    if (common.stops()) return common;
  }
  const DType dtype = common.get<Num>().t.dtype();
  if (IsFloat(dtype)) {
    std::vector<double> values;
    for (const Tensor& t : parts) {
      const Result<std::vector<double>> v = ToDoubles(t);
      if (!v.ok()) return Failure{v.status().message()};
      values.push_back((*v)[0]);
    }
    Result<Tensor> t = FromDoubles(dtype, {static_cast<int64_t>(values.size())}, values);
    return t.ok() ? Val(Num{*t, weak}) : Val(Failure{t.status().message()});
  }
  std::vector<int64_t> values;
  for (const Tensor& t : parts) {
    const Result<std::vector<int64_t>> v = ToInt64s(t);
    if (!v.ok()) return Failure{v.status().message()};
    values.push_back((*v)[0]);
  }
  return Num{Tensor::Int64s(values), weak};
}

Val Interpreter::EvalList(const Expr& expr, Frame& frame) {
  std::vector<Val> items;
  bool numbers = true;
  for (const ExprPtr& item : expr.items) {
    items.push_back(Eval(*item, frame));
    if (items.back().stops()) return items.back();
    const auto* n = items.back().get_if<Num>();
    numbers &= n != nullptr && n->weak && n->t.rank() == 0;
  }
  return numbers ? Concat(items) : Val::ListOf(std::move(items));
}

Val Interpreter::EvalIndex(const Expr& expr, Frame& frame) {
  Val base = Eval(*expr.items[0], frame);
  if (base.stops() || base.absent()) return base;
  const auto* list = base.get_if<List>();
  if (list == nullptr) {
    base = Force(base);
    if (base.stops() || base.absent()) return base;
    if (!base.is<Num>()) return Failure{fmt::format("{} cannot be indexed", Describe(base))};
    return SliceTensor(base.get<Num>(), expr, frame);
  }
  if (expr.subscripts.size() != 1) return Failure{"a list has one index"};
  const Subscript& s = expr.subscripts[0];
  const int64_t n = static_cast<int64_t>((*list)->size());
  const auto bound = [&](const ExprPtr& e, int64_t open) -> Val {
    if (!e) return Val::Int(open);
    return Force(Eval(*e, frame));
  };
  const Val start = bound(s.start, 0), stop = bound(s.stop, n);
  for (const Val* v : {&start, &stop}) {
    if (v->stops() || v->absent()) return *v;
    if (!v->is<Num>() || v->get<Num>().t.size() != 1) return Failure{"an index is one integer"};
  }
  const Result<std::vector<int64_t>> from = ToInt64s(start.get<Num>().t);
  const Result<std::vector<int64_t>> to = ToInt64s(stop.get<Num>().t);
  if (!from.ok() || !to.ok()) return Failure{"an index is one integer"};
  int64_t a = (*from)[0], b = (*to)[0];
  if (a < 0) a += n;
  if (!s.slice) {
    if (a < 0 || a >= n) return Failure{fmt::format("index {} of a list of {}", (*from)[0], n)};
    return (**list)[a];
  }
  if (b < 0) b += n;
  a = std::clamp<int64_t>(a, 0, n);
  b = std::clamp<int64_t>(b, a, n);
  return Val::ListOf({(*list)->begin() + a, (*list)->begin() + b});
}

Val Interpreter::SliceTensor(const Num& base, const Expr& expr, Frame& frame) {
  Tensor t = base.t;
  const Attributes none;
  int64_t axis = 0;
  for (const Subscript& s : expr.subscripts) {
    if (axis >= t.rank()) return Failure{"too many indices"};
    const auto number = [&](const ExprPtr& e, int64_t open) -> Val {
      return e ? Force(Eval(*e, frame)) : Val::Int(open);
    };
    const Val start = number(s.start, 0), stop = number(s.stop, INT64_MAX);
    for (const Val* v : {&start, &stop}) {
      if (v->stops() || v->absent()) return *v;
      if (!v->is<Num>() || !IsInteger(v->get<Num>().t.dtype()) || v->get<Num>().t.size() != 1) {
        return Failure{"an index is one integer"};
      }
    }
    if (!s.start && !s.stop) {
      ++axis;
      continue;
    }
    const Result<std::vector<int64_t>> a = ToInt64s(start.get<Num>().t);
    const Result<std::vector<int64_t>> b = ToInt64s(stop.get<Num>().t);
    if (!a.ok() || !b.ok()) return Failure{"an index is one integer"};
    std::vector<Tensor> inputs;
    Attributes attributes;
    if (s.slice) {
      inputs = {t, Tensor::Int64s({(*a)[0]}), Tensor::Int64s({(*b)[0]}), Tensor::Int64s({axis})};
    } else {
      inputs = {t, Tensor::Int64Scalar((*a)[0])};
      attributes.Set("axis", axis);
    }
    const Outputs out = Fold(kernels_, {.domain = "",
                                        .op = s.slice ? "Slice" : "Gather",
                                        .since = 13,
                                        .inputs = inputs,
                                        .attributes = attributes});
    if (!out.ok()) return Failure{out.status().diagnostics()[0].message};
    t = (*out)[0];
    if (s.slice) ++axis;
  }
  return Num{t, base.weak};
}

}  // namespace qrewrite
