// Values against argument patterns: names, literals, steps that may be missing, chains,
// definitions.
#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "engine/base/diagnostics.h"
#include "engine/match/match_run.h"
#include "engine/tensor/ulp.h"

namespace qrewrite {
namespace {

// Whether `element` of a tensor of `dtype` is what `literal` stands for in it: the nearest number, or one so many ulps from it.
bool ElementEquals(DType dtype, double element, const Expr& literal) {
  const double wanted = literal.kind == Expr::Kind::kFloat ? literal.float_value
                                                           : static_cast<double>(literal.int_value);
  if (IsInteger(dtype) || dtype == DType::kBool) return element == wanted;
  if (std::isnan(wanted)) return std::isnan(element);
  if (literal.ulps > 0 && UlpDistance(dtype, element, wanted) <= literal.ulps) return true;
  switch (dtype) {
    case DType::kDouble: return element == wanted;
    case DType::kFloat: return static_cast<float>(element) == static_cast<float>(wanted);
    default: return DecodeFloat(dtype, EncodeFloat(dtype, wanted)) == static_cast<float>(element);
  }
}

// Whether each element of `t` equals its literal: number `i` is held against `literal(i)`.
template <class F>
bool AllEqual(const Tensor& t, F literal) {
  const Result<std::vector<double>> values = ToDoubles(t);
  if (!values.ok()) return false;
  std::optional<std::vector<int64_t>> integers;  // exactly, beyond 2^53 too
  for (size_t i = 0; i < values->size(); ++i) {
    const Expr& wanted = literal(i);
    if (wanted.kind == Expr::Kind::kInt && IsInteger(t.dtype())) {
      if (!integers) {
        Result<std::vector<int64_t>> whole = ToInt64s(t);
        if (!whole.ok()) return false;
        integers = *std::move(whole);
      }
      if ((*integers)[i] != wanted.int_value) return false;
    } else if (wanted.kind == Expr::Kind::kBool) {
      if ((*values)[i] != static_cast<double>(wanted.int_value)) return false;
    } else if (!ElementEquals(t.dtype(), (*values)[i], wanted)) {
      return false;
    }
  }
  return true;
}

// `[0, -1]`: a 1-D tensor, element by element; one element is one element, whatever its rank.
bool EqualsList(const Tensor& t, const std::vector<ExprPtr>& items) {
  if (t.size() != static_cast<int64_t>(items.size()) || (t.rank() != 1 && t.size() != 1))
    return false;
  return AllEqual(t, [&](size_t i) -> const Expr& { return *items[i]; });
}

}  // namespace

bool MatchRun::Value(Scope scope, const PatArg& arg, ValueId v, Next next) {
  if (!Step(v)) return false;
  switch (arg.kind) {
    case PatArg::Kind::kAny: return next();
    case PatArg::Kind::kName: return Bind(scope, arg.slot, v, arg.expr->place, next);
    case PatArg::Kind::kLiteral: {
      if (!Literal(arg, v)) return false;
      ++depth_;
      const bool found = next();
      --depth_;
      return found;
    }
    case PatArg::Kind::kGroup: return false;  // the checker refuses a group without dots
    case PatArg::Kind::kCall: break;
  }
  const PatCall& call = *arg.call;
  switch (call.quantifier) {
    case Quantifier::kOne:
      if (call.definition >= 0) return Definition(scope, call, v, next);
      return Operator(scope, call, v, next);
    case Quantifier::kOptional:
      if (call.definition >= 0 ? Definition(scope, call, v, next)
                               : Operator(scope, call, v, next)) {
        return true;
      }
      return Skip(scope, call, v, next);
    case Quantifier::kStar: return Chain(scope, call, v, 0, next);
    case Quantifier::kPlus: return Chain(scope, call, v, 1, next);
  }
  return false;
}

// `Op?(x, ...)` without the operator: the value is its first argument; the names of all else are
// absent.
bool MatchRun::Skip(Scope scope, const PatCall& call, ValueId v, Next next) {
  std::vector<int> absent;
  if (call.label >= 0) absent.push_back(call.label);
  if (call.rest >= 0) absent.push_back(call.rest);
  for (const PatAttr& a : call.attrs) {
    if (a.slot >= 0) absent.push_back(a.slot);
  }
  const std::span<const int> first = call.args[0].slots();
  for (size_t i = 1; i < call.args.size(); ++i) {
    for (const int slot : call.args[i].slots()) {
      if (std::ranges::find(first, slot) == first.end()) absent.push_back(slot);
    }
  }
  return Value(scope, call.args[0], v,
               [&] { return BindAbsent(scope, absent, 0, call.expr->place, next); });
}

// Whether `v` can be what `arg` stands for, by the operator that makes it alone.
bool MatchRun::MayBe(const Pattern& pattern, const PatArg& arg, ValueId v) {
  const PatCall* const call = pattern.MakerOf(arg);
  if (call == nullptr || call->definition >= 0) return true;
  const NodeId n = v.valid() ? graph_.producer(v) : NodeId();
  if (n.valid() && Accepts(*call, n)) return true;
  const bool needed = call->quantifier == Quantifier::kOne || call->quantifier == Quantifier::kPlus;
  return !needed && MayBe(pattern, call->args[0], v);
}

// `c:Op*<..>(x, _...)`: steps through first inputs, shortest first.
bool MatchRun::Chain(Scope scope, const PatCall& call, ValueId end, size_t least, Next next) {
  std::vector<NodeId> nodes;  // from the end upwards
  std::vector<Passing> passing;
  ValueId at = end;
  const size_t before = num_matched();
  const auto first = [&] { return Value(scope, call.args[0], at, next); };
  // Where the chain cannot start it need not be made, unless reasons are wanted.
  const auto may_start = [&] {
    return in_.trace_ != nullptr || MayBe(scope.pattern, call.args[0], at);
  };
  while (true) {
    if (nodes.size() >= least && may_start()) {
      if (call.label < 0 ? first() : BindChain(scope, call, nodes, at, end, first)) return true;
    }
    if (!Step(at) || (!nodes.empty() && Ends(scope.pattern, call, at))) break;
    const NodeId n = graph_.producer(at);
    if (!n.valid() || !Accepts(call, n) || graph_.num_inputs(n) == 0 ||
        !graph_.input(n, 0).valid()) {
      break;
    }
    if (!FirstOutputAlone(call, n, at) || !StepFits(scope, call, n)) break;
    nodes.push_back(n);
    if (in_.trace_ != nullptr) passing.emplace_back(*this, call, n);
    AddMatched(n);
    at = graph_.input(n, 0);
  }
  ForgetMatched(before);
  return false;
}

// The label of a chain has its nodes, which are copied for each length: a part of a step for each.
bool MatchRun::BindChain(Scope scope, const PatCall& call, const std::vector<NodeId>& nodes,
                         ValueId start, ValueId end, Next next) {
  constexpr size_t kPerStep = 1024;
  for (size_t i = 0; i < nodes.size() / kPerStep; ++i) {
    if (!Step()) return false;
  }
  ChainRef chain{.nodes = {nodes.rbegin(), nodes.rend()}, .start = start, .end = end};
  return Bind(scope, call.label, std::move(chain), call.expr->place, next);
}

// Whether no chain over `v` meets the conditions. Who wants reasons is told them by the conditions.
bool MatchRun::Ends(const Pattern& pattern, const PatCall& call, ValueId v) {
  return call.alone.valid() && unasked_ != &pattern && in_.trace_ == nullptr &&
         call.alone != in_.assumed_ && in_.CountUses(v) != 1;
}

// Attributes and further inputs of one step of a chain, which bind nothing. Its operands are not
// swapped: the way is through the first one.
bool MatchRun::StepFits(Scope scope, const PatCall& call, NodeId n) {
  const auto inputs = [&] {
    return InOrder(scope, call, n, Order::kAsWritten, [] { return true; });
  };
  return Attrs(scope, call, n, 0, inputs);
}

bool MatchRun::Literal(const PatArg& arg, ValueId v) {
  const Expr& literal = *arg.expr;
  const Tensor* t = facts_.Constant(v);
  if (t == nullptr) {
    if (in_.trace_ == nullptr) return false;
    return Fail(literal.place, graph_.producer(v), facts_.WhyNotConstant(v));
  }
  Tensor tensor = *t;
  const bool list = literal.kind == Expr::Kind::kList;
  if (t->size() == 0 && !list)
    return Fail(literal.place, NodeId(), "an empty tensor equals no literal");
  if (literal.kind == Expr::Kind::kString) {
    if (!tensor.is_string()) return false;
    const Result<Tensor> m = tensor.Materialize();
    return m.ok() && std::all_of(m->strings().begin(), m->strings().end(),
                                 [&](const std::string& s) { return s == literal.text; });
  }
  if (tensor.is_string()) return false;
  const auto each = [&](size_t) -> const Expr& { return literal; };
  // A large tensor is seldom a literal: its first element decides most of the time.
  if (!list && tensor.size() > 4096 && !tensor.is_lazy() && Info(tensor.dtype()).bits >= 8) {
    const size_t width = static_cast<size_t>(Info(tensor.dtype()).bits / 8);
    const Tensor first = Tensor::View(tensor.dtype(), {}, nullptr, tensor.bytes().first(width));
    if (!AllEqual(first, each))
      return Fail(literal.place, NodeId(), "the constant differs from the literal");
  }
  if (list ? EqualsList(tensor, literal.items) : AllEqual(tensor, each)) return true;
  if (in_.trace_ == nullptr) return false;
  return Fail(literal.place, graph_.producer(v), words().Difference(v, tensor, literal));
}

bool MatchRun::Definition(Scope scope, const PatCall& call, ValueId v, Next next) {
  const CompiledDefinition& d = in_.program_.definition(call.definition);
  for (const CompiledCase& c : d.cases) {
    Frame inner(*c.layout);
    inner.body = scope.frame.body;
    inner.Bind(d.num_params, v);  // the first output
    const Scope within{c.pattern, inner};
    if (!Early(within)) continue;
    const bool found = Rest(
        within, [&] { return Unwatched(within) && DefinitionArgs(scope, call, 0, inner, next); });
    if (found) return true;
  }
  return false;
}

// What a case of a sub-pattern binds a parameter to; one that it does not bind is absent.
Val MatchRun::Given(int param, Frame& inner) {
  return inner.bound(param) || inner.let(param) != nullptr ? in_.Slot(param, inner) : Val();
}

bool MatchRun::DefinitionArgs(Scope scope, const PatCall& call, size_t i, Frame& inner, Next next) {
  if (i == call.args.size()) return next();
  const PatArg& arg = call.args[i];
  const Val value = Given(static_cast<int>(i), inner);
  const auto then = [&] { return DefinitionArgs(scope, call, i + 1, inner, next); };
  const Place& place = call.expr->place;
  if (value.stops()) {
    return in_.trace_ != nullptr && Fail(place, NodeId(), in_.Why(value));
  }
  if (arg.kind == PatArg::Kind::kAny) return then();
  if (arg.kind == PatArg::Kind::kLiteral && arg.expr->kind == Expr::Kind::kAbsent) {
    return value.absent() ? then() : Fail(place, NodeId(), "this case has a value there");
  }
  if (value.absent()) {
    if (arg.kind == PatArg::Kind::kName) return Bind(scope, arg.slot, value, place, then);
    return arg.optional && BindAbsent(scope, arg.slots(), 0, place, then);
  }
  if (const auto* v = value.get_if<ValueId>()) return Value(scope, arg, *v, then);
  if (arg.kind == PatArg::Kind::kName) return Bind(scope, arg.slot, value, place, then);
  if (arg.kind != PatArg::Kind::kLiteral) {
    return Fail(place, NodeId(), "a computed value has no producer to match");
  }
  return in_.Equal(value, in_.Eval(arg.literal, scope.frame)) && then();
}

}  // namespace qrewrite
