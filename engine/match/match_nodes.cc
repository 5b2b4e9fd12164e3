// Nodes against calls of a pattern: outputs, attributes, inputs in their order or swapped.
#include <algorithm>

#include <fmt/format.h>

#include "engine/base/diagnostics.h"
#include "engine/expr/parser.h"
#include "engine/match/match_run.h"

namespace qrewrite {

bool MatchRun::Outs(Scope scope, const PatStmt& stmt, NodeId n, size_t i, size_t j, int named,
                    FunctionRef<bool(int)> next) {
  const size_t count = graph_.num_outputs(n);
  const Place& place = stmt.stmt->place;
  if (i == stmt.outs.size()) return NoneRead(place, n, j) && next(named);
  const PatOut& out = stmt.outs[i];
  if (out.repeated) return ListedOuts(scope, stmt, n, i, std::min(j, count), named, next);
  const ValueId v = j < count ? graph_.output(n, j) : ValueId();
  if (!v.valid() && !out.optional && out.slot >= 0) {
    if (in_.trace_ == nullptr) return false;
    return Fail(place, n, fmt::format("{} has no output {}", NodeText(graph_, n), j));
  }
  if (named < 0 && out.slot >= 0) named = static_cast<int>(j);
  const auto then = [&] { return Outs(scope, stmt, n, i + 1, j + 1, named, next); };
  if (out.slot < 0) return then();
  return Bind(scope, out.slot, v.valid() ? Val(v) : Val(), place, then);
}

// The output number i of the pattern is a list: it passes over any number of outputs from `j` on, the
// fewest first; at the end of the pattern all that are left.
bool MatchRun::ListedOuts(Scope scope, const PatStmt& stmt, NodeId n, size_t i, size_t j, int named,
                          FunctionRef<bool(int)> next) {
  const size_t count = graph_.num_outputs(n), left = count - j;
  const PatOut* const after = i + 1 < stmt.outs.size() ? &stmt.outs[i + 1] : nullptr;
  if (after == nullptr) return PassOuts(scope, stmt, n, i, {j, count}, named, next);
  const int slot = stmt.outs[i].slot;
  if (slot >= 0 && scope.frame.bound(slot)) {  // so many, and no others
    const auto* known = scope.frame[slot].get_if<List>();
    return known != nullptr && (*known)->size() <= left &&
           PassOuts(scope, stmt, n, i, {j, j + (*known)->size()}, named, next);
  }
  const ValueId wanted =
      left > 1 && !after->repeated ? Wanted(after->slot, scope.frame) : ValueId();
  if (wanted.valid()) {  // one output alone can be it
    const size_t at = graph_.output_index(wanted);
    return graph_.producer(wanted) == n && at >= j &&
           PassOuts(scope, stmt, n, i, {j, at}, named, next);
  }
  for (size_t at = j; at <= count; ++at) {
    if (left > 1 && Seeks(*after, scope.frame)) {
      at = NextOutput(n, at);
      if (at == count) return false;
    }
    if (PassOuts(scope, stmt, n, i, {j, at}, named, next)) return true;
  }
  return false;
}

// `passed`: the outputs from its first up to its second are the list.
bool MatchRun::PassOuts(Scope scope, const PatStmt& stmt, NodeId n, size_t i,
                        std::pair<size_t, size_t> passed, int named, FunctionRef<bool(int)> next) {
  const PatOut& out = stmt.outs[i];
  const auto [begin, end] = passed;
  // Of a list and one output that one is meant by the label.
  if (named < 0 && out.slot >= 0 && i + 1 == stmt.outs.size()) named = static_cast<int>(begin);
  const auto then = [&, at = end] { return Outs(scope, stmt, n, i + 1, at, named, next); };
  if (out.slot < 0) return then();
  std::vector<Val> list;
  for (size_t k = begin; k < end; ++k) {
    const ValueId v = graph_.output(n, k);
    list.push_back(v.valid() ? Val(v) : Val());
  }
  return Bind(scope, out.slot, Val::ListOf(std::move(list)), stmt.stmt->place, then);
}

// Whether nobody reads the outputs from `j` on, which the pattern does not have.
bool MatchRun::NoneRead(const Place& place, NodeId n, size_t j) {
  for (; j < graph_.num_outputs(n); ++j) {
    const ValueId v = graph_.output(n, j);
    if (!v.valid() || !IsRead(v)) continue;
    if (in_.trace_ == nullptr) return false;
    return Fail(place, n,
                fmt::format("output {} of {} is read but not in the pattern: {}", j,
                            NodeText(graph_, n), words().Readers(v)));
  }
  return true;
}

// Whether `out` is any output that fits.
bool MatchRun::Seeks(const PatOut& out, const Frame& frame) const {
  return !out.repeated && !out.optional && out.slot >= 0 && !frame.bound(out.slot) &&
         in_.trace_ == nullptr;
}

// The next output from `j` on that is one of the model's. A rule that takes the outputs of a wide node one
// by one does not pass over those that it is done with each time.
size_t MatchRun::NextOutput(NodeId n, size_t j) {
  const size_t count = graph_.num_outputs(n);
  constexpr size_t kWide = 32;
  size_t* first = j == 0 && count > kWide ? &in_.passed_.try_emplace(n, 0).first->second : nullptr;
  if (first != nullptr) j = *first;
  while (j < count && (!graph_.output(n, j).valid() || in_.IsStandIn(graph_.output(n, j)))) ++j;
  if (first != nullptr) *first = j;
  return j;
}

bool MatchRun::Node(Scope scope, const PatCall& call, NodeId n, uint32_t output, Next next) {
  const auto inputs = [&] { return Inputs(scope, call, n, next); };
  const auto attrs = [&] { return Attrs(scope, call, n, 0, inputs); };
  const size_t before = AddMatched(n);
  const bool found = call.label < 0
                         ? attrs()
                         : Bind(scope, call.label, LabelRef{n, output}, call.expr->place, attrs);
  if (!found) ForgetMatched(before);
  return found;
}

// Whether `v` is the first output of `n` and no other is read.
bool MatchRun::FirstOutputAlone(const PatCall& call, NodeId n, ValueId v) {
  if (graph_.output_index(v) != 0) {
    if (in_.trace_ == nullptr) return false;
    return Fail(call.expr->place, n,
                fmt::format("`{}` is not the first output of {}", Printable(graph_.name(v)),
                            NodeText(graph_, n)));
  }
  return NoneRead(call.expr->place, n, 1);
}

// An operator as a value: its node must name `v` as first output, others unread.
bool MatchRun::Operator(Scope scope, const PatCall& call, ValueId v, Next next) {
  const NodeId n = graph_.producer(v);
  if (!n.valid()) {
    if (in_.trace_ == nullptr) return false;
    return FailAt(call.expr->place, v);
  }
  if (!Accepts(call, n)) {
    if (in_.trace_ == nullptr) return false;
    return Fail(call.expr->place, n,
                fmt::format("`{}` comes from {}{}", Printable(graph_.name(v)), NodeText(graph_, n),
                            Instead(call, n)));
  }
  const Passing passing(*this, call, n);
  if (!FirstOutputAlone(call, n, v)) return false;
  return Node(scope, call, n, 0, next);
}

bool MatchRun::Attrs(Scope scope, const PatCall& call, NodeId n, size_t i, Next next) {
  // `x=_`: any value, none too.
  while (i < call.attrs.size() && call.attrs[i].kind == PatAttr::Kind::kAny) ++i;
  if (i == call.attrs.size()) {
    if (!call.has_rest) return NoOtherAttrs(call, n) && next();
    if (call.rest < 0) return next();
    return Bind(scope, call.rest, AttrRest{n, &call.mentioned}, call.expr->place, next);
  }
  const PatAttr& attr = call.attrs[i];
  const auto then = [&] { return Attrs(scope, call, n, i + 1, next); };
  const Val value = in_.AttributeOf(n, attr.name);
  if (value.absent()) {
    if (!attr.optional) {
      if (in_.trace_ == nullptr) return false;
      return Fail(call.expr->place, n,
                  fmt::format("{} has no attribute `{}`", NodeText(graph_, n), attr.name));
    }
    return attr.slot < 0 ? then() : Bind(scope, attr.slot, Val(), call.expr->place, then);
  }
  switch (attr.kind) {
    case PatAttr::Kind::kAny: break;  // none is left here
    case PatAttr::Kind::kName: return Bind(scope, attr.slot, value, call.expr->place, then);
    case PatAttr::Kind::kCompare: {
      const Val wanted = in_.Eval(attr.value, scope.frame);
      if (in_.Equal(value, wanted)) return then();
      if (in_.trace_ == nullptr) return false;
      return Fail(
          attr.expr->place, n,
          fmt::format("attribute `{}` of {} differs: it is {}, the pattern has {}", attr.name,
                      NodeText(graph_, n), words().Of(value), words().Of(wanted)));
    }
  }
  return false;
}

bool MatchRun::NoOtherAttrs(const PatCall& call, NodeId n) {
  for (const Attribute& a : graph_.attributes(n)) {
    const bool mentioned = std::any_of(call.attrs.begin(), call.attrs.end(),
                                       [&](const PatAttr& p) { return p.name == a.name; });
    if (!mentioned && !in_.IsDefault(n, a)) {
      if (in_.trace_ == nullptr) return false;
      return Fail(call.expr->place, n,
                  fmt::format("{} has attribute `{}`, which the pattern does not mention and which "
                              "is not at its default: it is {}",
                              NodeText(graph_, n), Printable(a.name),
                              words().Of(Interpreter::FromAttribute(a.value))));
    }
  }
  return true;
}

bool MatchRun::Inputs(Scope scope, const PatCall& call, NodeId n, Next next) {
  if (InOrder(scope, call, n, Order::kAsWritten, next)) return true;
  const bool two = graph_.num_inputs(n) == 2 && call.args.size() == 2;
  if (!two || (call.args[0].repeated && call.args[1].repeated)) return false;
  const ValueId a = graph_.input(n, 0), b = graph_.input(n, 1);
  if (!a.valid() || !b.valid() || a == b) return false;
  const Signature* signature = in_.NodeSignature(n);
  return signature != nullptr && signature->commutative &&
         InOrder(scope, call, n, Order::kSwapped, next);
}

bool MatchRun::InOrder(Scope scope, const PatCall& call, NodeId n, Order order, Next next) {
  boost::container::small_vector<ValueId, 8> inputs(graph_.num_inputs(n));
  for (size_t i = 0; i < inputs.size(); ++i) inputs[i] = graph_.input(n, i);
  while (!inputs.empty() && !inputs.back().valid()) inputs.pop_back();
  if (order == Order::kSwapped) std::swap(inputs[0], inputs[1]);
  NamedArgs named;
  const Signature* signature = nullptr;
  for (const PatArg& a : call.args) {
    if (a.input.empty()) continue;
    if (signature == nullptr) signature = in_.NodeSignature(n);
    const int index = signature == nullptr ? -1 : signature->InputIndex(a.input);
    if (index < 0) {
      return Fail(call.expr->place, n,
                  fmt::format("{} has no input `{}`", NodeText(graph_, n), a.input));
    }
    named.emplace_back(&a, static_cast<size_t>(index));
  }
  const Site site{scope, call, n, {inputs.data(), inputs.size()}};
  return named.empty() ? Args(site, 0, 0, next) : Named(site, named, 0, next);
}

// Inputs that the pattern names; each is taken out of what the positional arguments see.
bool MatchRun::Named(const Site& site, const NamedArgs& named, size_t i, Next next) {
  if (i == named.size()) return Args(site, 0, 0, next);
  const auto [arg, index] = named[i];
  const ValueId v = index < site.inputs.size() ? site.inputs[index] : ValueId();
  std::vector<ValueId> others(site.inputs.begin(), site.inputs.end());
  if (index < others.size()) others[index] = ValueId();
  const Site rest{site.scope, site.call, site.node, others};
  return One(site, *arg, v, [&] { return Named(rest, named, i + 1, next); });
}

bool MatchRun::Args(const Site& site, size_t i, size_t j, Next next) {
  const std::span<const PatArg* const> args = site.call.in_order();
  const Operands inputs = site.inputs;
  if (i < args.size() && args[i]->repeated) return ListArg(site, i, j, next);
  if (i < args.size()) {
    const ValueId v = j < inputs.size() ? inputs[j] : ValueId();
    return One(site, *args[i], v, [&] { return Args(site, i + 1, j + 1, next); });
  }
  while (j < inputs.size() && !inputs[j].valid()) ++j;
  if (j >= inputs.size()) return next();
  if (in_.trace_ == nullptr) return false;
  return Fail(site.call.expr->place, site.node,
              fmt::format("{} has input {}, which is not in the pattern: `{}`",
                          NodeText(graph_, site.node), j, Printable(graph_.name(inputs[j]))));
}

// One argument against one input, which may be absent.
bool MatchRun::One(const Site& site, const PatArg& arg, ValueId v, Next next) {
  if (arg.kind == PatArg::Kind::kLiteral && arg.expr->kind == Expr::Kind::kAbsent) {
    return !v.valid() ? next()
                      : Fail(arg.expr->place, site.node,
                             fmt::format("{} has an input that the pattern says is absent",
                                         NodeText(graph_, site.node)));
  }
  if (v.valid()) return Value(site.scope, arg, v, next);
  if (arg.optional || (arg.kind == PatArg::Kind::kAny && arg.repeated)) {
    return BindAbsent(site.scope, arg.slots(), 0, site.call.expr->place, next);
  }
  if (in_.trace_ == nullptr) return false;
  const bool empty =
      arg.expr != nullptr && arg.expr->kind == Expr::Kind::kString && arg.expr->text.empty();
  return Fail(site.call.expr->place, site.node,
              fmt::format("{} lacks an input of the pattern: `{}`{}", NodeText(graph_, site.node),
                          arg.expr == nullptr ? "_" : Print(*arg.expr),
                          empty ? "; one that is left out is written `absent`" : ""));
}

}  // namespace qrewrite
