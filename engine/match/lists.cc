// Lists, 1-D tensors and indexing.
#include <algorithm>

#include <fmt/format.h>

#include "engine/fold/element.h"
#include "engine/match/failure.h"
#include "engine/match/interpreter.h"
#include "engine/program/scalar.h"

namespace qrewrite {
namespace {

// Literals, at least one of them a float, as one weak tensor; nothing of other things.
std::optional<Val> WeakFloats(const std::vector<Val>& items) {
  std::vector<double> values;
  values.reserve(items.size());
  for (const Val& item : items) {
    const std::optional<double> d = ExactDouble(item);
    if (!d) return std::nullopt;
    values.push_back(*d);
  }
  Dims dims = {static_cast<int64_t>(values.size())};
  return Num{Tensor::Of<double>(DType::kDouble, std::move(dims), values), true};
}

}  // namespace

// Scalars as one 1-D tensor of the type they share.
Val Interpreter::Concat(const std::vector<Val>& items) {
  if (!Step(items.size())) return Failure{"too many steps"};
  std::vector<int64_t> integers;
  for (const Val& item : items) {
    if (const auto* i = item.get_if<int64_t>()) integers.push_back(*i);
  }
  if (integers.size() == items.size()) return Val::OfInts(integers);
  if (std::optional<Val> literals = WeakFloats(items)) return *std::move(literals);
  std::vector<Tensor> parts;
  Val common = Val::Int(0);
  bool weak = true;
  for (const Val& item : items) {
    const Val forced = Force(item);
    if (forced.stops()) return forced;
    if (!forced.is_number() || forced.size() != 1) {
      return Failure{"a list of other things than numbers"};
    }
    const Num n = forced.number();
    weak &= n.weak;
    parts.push_back(n.t.Reshaped({1}));
    // Adding 0 in turn finds the type that holds them all.
    common = Arithmetic(BinaryOp::kAdd, common,
                        Arithmetic(BinaryOp::kMul, Num{n.t.Reshaped({}), n.weak}, Val::Int(0)));
    if (common.stops()) return common;
  }
  const DType dtype = common.number().t.dtype();
  if (IsFloat(dtype)) {
    std::vector<double> values;
    for (const Tensor& t : parts) {
      const Result<std::vector<double>> v = ToDoubles(t);
      if (!v.ok()) return FailureOf(v.status());
      values.push_back((*v)[0]);
    }
    Result<Tensor> t = FromDoubles(dtype, {static_cast<int64_t>(values.size())}, values);
    return t.ok() ? Val(Num{*t, weak}) : Val(FailureOf(t.status()));
  }
  std::vector<int64_t> values;
  for (const Tensor& t : parts) {
    const Result<std::vector<int64_t>> v = ToInt64s(t);
    if (!v.ok()) return FailureOf(v.status());
    values.push_back((*v)[0]);
  }
  return Num{Tensor::Int64s(values), weak};
}

Val Interpreter::EvalList(const Code& code, Frame& frame) {
  std::vector<Val> items;
  items.reserve(code.num_kids);
  bool numbers = true;
  for (uint32_t i = 0; i < code.num_kids; ++i) {
    items.push_back(Eval(program_.kid(code, i), frame));
    const Val& item = items.back();
    if (EndsList(item)) return item;
    const auto* n = item.get_if<Num>();
    numbers &=
        item.is<int64_t>() || item.is<double>() || (n != nullptr && n->weak && n->t.rank() == 0);
  }
  return numbers ? Concat(items) : Val::ListOf(std::move(items));
}

// A bound of an index; `open` where none is written.
Val Interpreter::EvalSubscript(CodeId code, int64_t open, Frame& frame) {
  if (!code.valid()) return Val::Int(open);
  Val bound = Force(Eval(code, frame));
  if (bound.stops() || bound.absent()) return bound;
  const std::optional<int64_t> whole = bound.whole();
  return whole ? Val::Int(*whole) : Val(Failure{"an index is one integer"});
}

Val Interpreter::EvalIndex(const Code& code, Frame& frame) {
  const std::vector<SubscriptCode>& subscripts = program_.subscripts(code.index);
  Val base = Eval(program_.kid(code, 0), frame);
  if (base.stops() || base.absent()) return base;
  const auto* list = base.get_if<List>();
  const auto* ints = base.get_if<Ints>();
  if (list == nullptr && (ints == nullptr || subscripts.size() != 1)) {
    base = Force(base);
    if (base.stops() || base.absent()) return base;
    if (!base.is_number()) return Failure{fmt::format("{} cannot be indexed", Describe(base))};
    return SliceTensor(base.number(), subscripts, frame);
  }
  if (subscripts.size() != 1) return Failure{"a list has one index"};
  const SubscriptCode& s = subscripts[0];
  const int64_t n = list != nullptr ? static_cast<int64_t>((*list)->size()) : ints->n;
  const Val start = EvalSubscript(s.start, 0, frame);
  const Val stop = s.slice ? EvalSubscript(s.stop, n, frame) : Val::Int(n);
  for (const Val* v : {&start, &stop}) {
    if (v->stops() || v->absent()) return *v;
  }
  int64_t a = start.get<int64_t>(), b = stop.get<int64_t>();
  if (a < 0) a += n;
  if (!s.slice) {
    if (a < 0 || a >= n) {
      if (ints != nullptr) return SliceTensor(base.number(), subscripts, frame);  // its words
      return Failure{fmt::format("index {} of a list of {}", start.get<int64_t>(), n)};
    }
    return ints != nullptr ? Val::Int(ints->v[static_cast<size_t>(a)])
                           : (**list)[static_cast<size_t>(a)];
  }
  if (b < 0) b += n;
  a = std::clamp<int64_t>(a, 0, n);
  b = std::clamp<int64_t>(b, a, n);
  if (ints != nullptr) return Val::OfInts({ints->v.data() + a, static_cast<size_t>(b - a)});
  return Val::ListOf({(*list)->begin() + a, (*list)->begin() + b});
}

// One element of a 1-D tensor.
Val Interpreter::ItemOf(const Num& tensor, int64_t index) {
  if (std::optional<Tensor> element = ElementAt(tensor.t, index)) {
    return Num{*std::move(element), tensor.weak};
  }
  const std::vector<Tensor> inputs = {tensor.t, Tensor::Int64Scalar(index)};
  const Attributes none;
  const Outputs item = Fold(
      kernels_, {.domain = "", .op = "Gather", .since = 13, .inputs = inputs, .attributes = none});
  if (!item.ok()) return FailureOf(item.status());
  return Num{(*item)[0], tensor.weak};
}

Val Interpreter::SliceTensor(const Num& base, const std::vector<SubscriptCode>& subscripts,
                             Frame& frame) {
  Tensor t = base.t;
  int64_t axis = 0;
  for (const SubscriptCode& s : subscripts) {
    if (axis >= t.rank()) return Failure{"too many indices"};
    const Val start = EvalSubscript(s.start, 0, frame);
    const Val stop = EvalSubscript(s.stop, INT64_MAX, frame);
    for (const Val* v : {&start, &stop}) {
      if (v->stops() || v->absent()) return *v;
    }
    if (!s.start.valid() && !s.stop.valid()) {
      ++axis;
      continue;
    }
    std::vector<Tensor> inputs;
    Attributes attributes;
    if (s.slice) {
      inputs = {t, Tensor::Int64s({start.get<int64_t>()}), Tensor::Int64s({stop.get<int64_t>()}),
                Tensor::Int64s({axis})};
    } else {
      const int64_t at = start.get<int64_t>();
      if (std::optional<Tensor> element = ElementAt(t, at < 0 ? at + t.size() : at)) {
        t = *std::move(element);
        continue;
      }
      inputs = {t, Tensor::Int64Scalar(at)};
      attributes.Set("axis", axis);
    }
    const Outputs out = Fold(kernels_, {.domain = "",
                                        .op = s.slice ? "Slice" : "Gather",
                                        .since = 13,
                                        .inputs = inputs,
                                        .attributes = attributes});
    if (!out.ok()) return FailureOf(out.status());
    t = (*out)[0];
    if (s.slice) ++axis;
  }
  return Num{t, base.weak};
}

}  // namespace qrewrite
