// Nodes against calls of a pattern: outputs, attributes, inputs in their order or swapped.
#include <algorithm>

#include <fmt/format.h>

#include "engine/base/diagnostics.h"
#include "engine/expr/parser.h"
#include "engine/match/match_run.h"

namespace qrewrite {
namespace {

// Up to so many members of a repeated argument all combinations of their ways are tried, in a
// recursion as deep as there are members.
constexpr size_t kMaxBacktracked = 64;

}  // namespace

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

// The output number i of the pattern is a list: `_...` passes over any number of outputs from `j` on, the
// fewest first; a name takes all that are left.
bool MatchRun::ListedOuts(Scope scope, const PatStmt& stmt, NodeId n, size_t i, size_t j, int named,
                          FunctionRef<bool(int)> next) {
  const PatOut& out = stmt.outs[i];
  const size_t count = graph_.num_outputs(n), left = count - j;
  if (out.slot >= 0) {
    std::vector<Val> list;
    for (size_t k = j; k < count; ++k) {
      const ValueId v = graph_.output(n, k);
      list.push_back(v.valid() ? Val(v) : Val());
    }
    if (named < 0) named = static_cast<int>(j);
    return Bind(scope, out.slot, Val::ListOf(std::move(list)), stmt.stmt->place,
                [&] { return Outs(scope, stmt, n, i + 1, count, named, next); });
  }
  const PatOut* const after = i + 1 < stmt.outs.size() ? &stmt.outs[i + 1] : nullptr;
  if (after == nullptr) return Outs(scope, stmt, n, i + 1, count, named, next);
  const ValueId wanted =
      left > 1 && !after->repeated ? Wanted(after->slot, scope.frame) : ValueId();
  if (wanted.valid()) {  // one output alone can be it
    const size_t at = graph_.output_index(wanted);
    return graph_.producer(wanted) == n && at >= j && Outs(scope, stmt, n, i + 1, at, named, next);
  }
  for (size_t at = j; at <= count; ++at) {
    if (left > 1 && Seeks(*after, scope.frame)) {
      at = NextOutput(n, at);
      if (at == count) return false;
    }
    if (Outs(scope, stmt, n, i + 1, at, named, next)) return true;
  }
  return false;
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
  const size_t noted = Note(n);
  const bool found = call.label < 0
                         ? attrs()
                         : Bind(scope, call.label, LabelRef{n, output}, call.expr->place, attrs);
  if (!found) Forget(noted);
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
  const std::span<const PatArg* const> args = call.in_order();
  if (graph_.num_inputs(n) != 2 || args.size() != 2 || args[0]->repeated || args[1]->repeated)
    return false;
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

// A repeated argument takes as many inputs as there are; fewer only if more arguments follow.
bool MatchRun::ListArg(const Site& site, size_t i, size_t j, Next next) {
  const std::span<const PatArg*const> args = site.call.in_order(), after = args.subspan(i + 1);
  const PatArg& arg = *args[i];
  const Operands inputs = site.inputs;
  if (arg.kind == PatArg::Kind::kAny && !after.empty() && inputs.size() > j + 1) {
    const bool one = !after[0]->repeated && !after[0]->optional;
    const ValueId v = one ? Wanted(after[0]->slot, site.scope.frame) : ValueId();
    if (v.valid()) return Pass(site, i, j, v, next);
  }
  const bool any_one = arg.kind == PatArg::Kind::kName && after.size() == 2 &&
                       !after[0]->repeated && !after[0]->optional && after[1]->repeated &&
                       after[1]->kind != PatArg::Kind::kGroup;
  if (any_one) return Around(site, i, j, next);
  const size_t group = arg.kind == PatArg::Kind::kGroup ? arg.members().size() : 1;
  const size_t left = inputs.size() - std::min(j, inputs.size());
  const auto needed = static_cast<size_t>(
      std::ranges::count_if(after, [](const PatArg* a) { return !a->optional && !a->repeated; }));
  for (size_t count = after.empty() ? (left + group - 1) / group : 0;
       count * group + needed <= left + group - 1; ++count) {
    const size_t end = std::min(j + count * group, inputs.size());
    const auto then = [&] { return Args(site, i + 1, end, next); };
    const bool found = arg.kind == PatArg::Kind::kAny ? then() : Repeat(site, arg, j, end, then);
    if (found) return true;
    if (after.empty()) break;
  }
  return false;
}

// The value that a name stands for, if it is bound to one (-1: to none): only the same value equals one
// that is no constant.
ValueId MatchRun::Wanted(int slot, const Frame& frame) {
  const ValueId* v = slot < 0 ? nullptr : frame.value(slot);
  return v == nullptr || facts_.Constant(*v) != nullptr ? ValueId() : *v;
}

// `_...` in front of a name that is known: only the inputs that are `v` can follow it. Of a value with
// few readers they are found from there.
bool MatchRun::Pass(const Site& site, size_t i, size_t j, ValueId v, Next next) {
  const Operands inputs = site.inputs;
  std::vector<size_t> places;
  if (graph_.num_uses(v) < inputs.size()) {
    for (const UseId u : graph_.uses(v)) {
      const User user = graph_.user(u);
      if (user.is_output() || user.node != site.node) continue;
      if (user.index >= j && user.index < inputs.size()) places.push_back(user.index);
    }
    std::sort(places.begin(), places.end());
  } else {
    for (size_t k = j; k < inputs.size(); ++k) {
      if (inputs[k] == v) places.push_back(k);
    }
  }
  return std::any_of(places.begin(), places.end(), [&](size_t place) {
    return inputs[place] == v && Args(site, i + 1, place, next);
  });
}

// `as..., x, bs...`: each input is tried for `x`, and its operator looked at, before the lists are made, which takes as
// long as there are inputs.
bool MatchRun::Around(const Site& site, size_t i, size_t j, Next next) {
  const std::span<const PatArg* const> args = site.call.in_order();
  const PatArg &before = *args[i], &one = *args[i + 1], &behind = *args[i + 2];
  const Operands inputs = site.inputs;
  const auto members = [&](const PatArg& arg, size_t begin, size_t end, Next then) {
    return arg.kind == PatArg::Kind::kAny ? then() : Repeat(site, arg, begin, end, then);
  };
  for (size_t k = j; k < inputs.size(); ++k) {
    if (!MayBe(site.scope.pattern, one, inputs[k])) {
      const auto never = [] { return false; };
      if (in_.trace_ == nullptr) continue;
      // It fails there, too, and says why.
      const PatCall* const maker = site.scope.pattern.MakerOf(one);
      if (inputs[k].valid() && maker != nullptr && maker->is_one_node()) {
        Operator(site.scope, *maker, inputs[k], never);
      } else {
        One(site, one, inputs[k], never);
      }
      continue;
    }
    const bool found = One(site, one, inputs[k], [&] {
      return members(before, j, k, [&] { return members(behind, k + 1, inputs.size(), next); });
    });
    if (found) return true;
  }
  if (in_.trace_ == nullptr || j < inputs.size()) return false;
  return Fail(site.call.expr->place, site.node,
              fmt::format("{} has no inputs", NodeText(graph_, site.node)));
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
  return Fail(site.call.expr->place, site.node,
              fmt::format("{} lacks an input of the pattern: `{}`", NodeText(graph_, site.node),
                          arg.expr == nullptr ? "_" : Print(*arg.expr)));
}

// inputs[j..end) against the members of a repeated argument; its names become lists. A list that is
// known already must come out again.
bool MatchRun::Repeat(const Site& site, const PatArg& arg, size_t j, size_t end, Next next) {
  Frame& frame = site.scope.frame;
  std::vector<std::pair<int, Val>> known;
  for (const int slot : arg.slots()) {
    if (!frame.bound(slot)) continue;
    known.emplace_back(slot, frame[slot]);
    frame.Unbind(slot);
  }
  const bool found = AllMembers(site, arg, j, end, [&] {
    for (const auto& [slot, list] : known) {
      if (!in_.Same(list, frame[slot])) {
        if (in_.trace_ == nullptr) return false;
        return Fail(arg.expr->place, site.node,
                    fmt::format("`{}` is something else: {}", frame.name(slot),
                                words().Difference(list, frame[slot])));
      }
    }
    for (const auto& [slot, list] : known) frame.Bind(slot, list);
    return next();
  });
  if (found) return true;
  for (const auto& [slot, list] : known) frame.Bind(slot, list);
  return false;
}

bool MatchRun::AllMembers(const Site& site, const PatArg& arg, size_t j, size_t end, Next next) {
  Lists lists(arg.slots().size());
  const size_t width = arg.kind == PatArg::Kind::kGroup ? arg.members().size() : 1;
  if (end - std::min(j, end) <= kMaxBacktracked * width) {
    return Members(site, arg, j, end, lists, next);
  }
  // Of very many members each is taken in the first way that it fits: whether one fits does not
  // depend on the others, and the search must not go as deep as a node is wide.
  Frame& frame = site.scope.frame;
  const auto collect = [&] {
    for (size_t k = 0; k < arg.slots().size(); ++k) {
      lists[k].push_back(frame[arg.slots()[k]]);
      frame.Unbind(arg.slots()[k]);
    }
    return true;
  };
  for (; j < end; j += width) {
    if (!Member(site, arg, j, collect)) return false;
  }
  return BindLists(site.scope, arg, 0, lists, next);
}

// The member that begins at input j. Its own bindings are not conditions' business: only the lists
// are.
bool MatchRun::Member(const Site& site, const PatArg& arg, size_t j, Next next) {
  static const Pattern* const kNoConditions = new Pattern();
  const Site alone{{*kNoConditions, site.scope.frame}, site.call, site.node, site.inputs};
  if (arg.kind != PatArg::Kind::kGroup) return One(alone, arg, site.inputs[j], next);
  return GroupMember(alone, arg, 0, j, next);
}

bool MatchRun::Members(const Site& site, const PatArg& arg, size_t j, size_t end, Lists& lists,
                       Next next) {
  if (j >= end) return BindLists(site.scope, arg, 0, lists, next);
  const size_t width = arg.kind == PatArg::Kind::kGroup ? arg.members().size() : 1;
  Frame& frame = site.scope.frame;
  return Member(site, arg, j, [&] {
    std::vector<Val> saved(arg.slots().size());
    for (size_t k = 0; k < arg.slots().size(); ++k) {
      saved[k] = frame[arg.slots()[k]];
      lists[k].push_back(saved[k]);
      frame.Unbind(arg.slots()[k]);
    }
    const bool found = Members(site, arg, j + width, end, lists, next);
    for (size_t k = 0; k < arg.slots().size(); ++k) {
      lists[k].pop_back();
      if (!found) frame.Bind(arg.slots()[k], saved[k]);
    }
    return found;
  });
}

bool MatchRun::GroupMember(const Site& site, const PatArg& arg, size_t k, size_t j, Next next) {
  if (k == arg.members().size()) return next();
  const ValueId v = j + k < site.inputs.size() ? site.inputs[j + k] : ValueId();
  return One(site, arg.members()[k], v, [&] { return GroupMember(site, arg, k + 1, j, next); });
}

bool MatchRun::BindLists(Scope scope, const PatArg& arg, size_t k, const Lists& lists, Next next) {
  if (k == arg.slots().size()) return next();
  return Bind(scope, arg.slots()[k], Val::ListOf(lists[k]), arg.expr->place,
              [&] { return BindLists(scope, arg, k + 1, lists, next); });
}

}  // namespace qrewrite
