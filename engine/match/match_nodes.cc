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

bool MatchRun::Outs(const Pattern& pattern, const PatOuts& outs, size_t i, NodeId n, size_t j,
                    int named, const PatStmt& stmt, Frame& frame, FunctionRef<bool(int)> next) {
  const size_t count = graph_.num_outputs(n);
  const Place& place = stmt.stmt->place;
  if (i == outs.size()) return NoneRead(place, n, j) && next(named);
  const PatOut& out = outs[i];
  if (out.repeated) {
    return ListedOuts(pattern, outs, i, n, std::min(j, count), named, stmt, frame, next);
  }
  const ValueId v = j < count ? graph_.output(n, j) : ValueId();
  if (!v.valid() && !out.optional && out.slot >= 0) {
    if (in_.trace_ == nullptr) return false;
    return Fail(place, n, fmt::format("{} has no output {}", NodeText(graph_, n), j));
  }
  const auto then = [&] {
    return Outs(pattern, outs, i + 1, n, j + 1, named < 0 && out.slot >= 0 ? int(j) : named, stmt,
                frame, next);
  };
  if (out.slot < 0) return then();
  return Bind(pattern, out.slot, v.valid() ? Val(v) : Val(), frame, place, then);
}

// `outs[i]` is a list: `_...` passes over any number of outputs from `j` on, the fewest first; a name
// takes all that are left.
bool MatchRun::ListedOuts(const Pattern& pattern, const PatOuts& outs, size_t i, NodeId n, size_t j,
                          int named, const PatStmt& stmt, Frame& frame,
                          FunctionRef<bool(int)> next) {
  const PatOut& out = outs[i];
  const size_t count = graph_.num_outputs(n), left = count - j;
  const bool passes = out.slot < 0 && i + 1 < outs.size();
  const ValueId wanted = passes && left > 1 ? Wanted(outs[i + 1], frame) : ValueId();
  for (size_t take = passes ? 0 : left; j + take <= count; ++take) {
    if (wanted.valid()) {  // one output alone can be it
      const size_t at = graph_.output_index(wanted);
      if (graph_.producer(wanted) != n || at < j + take) return false;
      take = at - j;
    } else if (passes && left > 1 && Seeks(outs[i + 1], frame)) {
      take = NextOutput(n, j + take) - j;
      if (j + take == count) return false;
    }
    const auto then = [&] {
      return Outs(pattern, outs, i + 1, n, j + take, named < 0 && out.slot >= 0 ? int(j) : named,
                  stmt, frame, next);
    };
    if (out.slot < 0) {
      if (then()) return true;
      continue;
    }
    std::vector<Val> list;
    for (size_t k = j; k < j + take; ++k) {
      const ValueId v = graph_.output(n, k);
      list.push_back(v.valid() ? Val(v) : Val());
    }
    if (Bind(pattern, out.slot, Val::ListOf(std::move(list)), frame, stmt.stmt->place, then)) {
      return true;
    }
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
                            NodeText(graph_, n), ReadersText(v)));
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

// `as..., x, bs...`: each input is tried for `x`, and its operator looked at, before the lists are made, which takes as
// long as there are inputs.
bool MatchRun::Around(const Pattern& pattern, std::span<const PatArg* const> args, size_t i,
                      Operands inputs, size_t j, const PatCall& call, NodeId n, Frame& frame,
                      Next next) {
  const PatArg &before = *args[i], &one = *args[i + 1], &behind = *args[i + 2];
  const auto members = [&](const PatArg& arg, size_t begin, size_t end, Next then) {
    return arg.kind == PatArg::Kind::kAny
               ? then()
               : Repeat(pattern, arg, inputs, begin, end, call, n, frame, then);
  };
  for (size_t k = j; k < inputs.size(); ++k) {
    if (!MayBe(pattern, one, inputs[k])) {
      const auto never = [] { return false; };
      if (in_.trace_ == nullptr) continue;
      // It fails there, too, and says why.
      const PatCall* const maker = pattern.MakerOf(one);
      if (inputs[k].valid() && maker != nullptr && maker->is_one_node()) {
        Operator(pattern, *maker, inputs[k], frame, never);
      } else {
        One(pattern, one, inputs[k], call, n, frame, never);
      }
      continue;
    }
    const bool found = One(pattern, one, inputs[k], call, n, frame, [&] {
      return members(before, j, k, [&] { return members(behind, k + 1, inputs.size(), next); });
    });
    if (found) return true;
  }
  if (in_.trace_ == nullptr || j < inputs.size()) return false;
  return Fail(call.expr->place, n, fmt::format("{} has no inputs", NodeText(graph_, n)));
}

// What `out` must be, if that is known: only the same value equals one that is no constant.
ValueId MatchRun::Wanted(const PatOut& out, const Frame& frame) {
  const ValueId* v = out.repeated || out.slot < 0 ? nullptr : frame.value(out.slot);
  return v == nullptr || facts_.Constant(*v) != nullptr ? ValueId() : *v;
}

bool MatchRun::Node(const Pattern& pattern, const PatCall& call, NodeId n, uint32_t output,
                    Frame& frame, Next next) {
  const auto inputs = [&] { return Inputs(pattern, call, n, frame, next); };
  const auto attrs = [&] { return Attrs(pattern, call, 0, n, frame, inputs); };
  const size_t noted = Note(n);
  const bool found = call.label < 0 ? attrs()
                                    : Bind(pattern, call.label, LabelRef{n, output}, frame,
                                           call.expr->place, attrs);
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
bool MatchRun::Operator(const Pattern& pattern, const PatCall& call, ValueId v, Frame& frame,
                        Next next) {
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
  return Node(pattern, call, n, 0, frame, next);
}

bool MatchRun::Attrs(const Pattern& pattern, const PatCall& call, size_t i, NodeId n, Frame& frame,
                     Next next) {
  // `x=_`: any value, none too.
  while (i < call.attrs.size() && call.attrs[i].kind == PatAttr::Kind::kAny) ++i;
  if (i == call.attrs.size()) {
    if (!call.has_rest) return NoOtherAttrs(call, n) && next();
    if (call.rest < 0) return next();
    return Bind(pattern, call.rest, AttrRest{n, &call.mentioned}, frame, call.expr->place, next);
  }
  const PatAttr& attr = call.attrs[i];
  const auto then = [&] { return Attrs(pattern, call, i + 1, n, frame, next); };
  const Val value = in_.AttributeOf(n, attr.name);
  if (value.absent()) {
    if (!attr.optional) {
      if (in_.trace_ == nullptr) return false;
      return Fail(call.expr->place, n,
                  fmt::format("{} has no attribute `{}`", NodeText(graph_, n), attr.name));
    }
    return attr.slot < 0 ? then() : Bind(pattern, attr.slot, Val(), frame, call.expr->place, then);
  }
  switch (attr.kind) {
    case PatAttr::Kind::kAny: break;  // none is left here
    case PatAttr::Kind::kName:
      return Bind(pattern, attr.slot, value, frame, call.expr->place, then);
    case PatAttr::Kind::kCompare: {
      const Val wanted = in_.Eval(attr.value, frame);
      if (in_.Equal(value, wanted)) return then();
      if (in_.trace_ == nullptr) return false;
      return Fail(attr.expr->place, n,
                  fmt::format("attribute `{}` of {} differs: it is {}, the pattern has {}",
                              attr.name, NodeText(graph_, n), Words(value), Words(wanted)));
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
                              Words(Interpreter::FromAttribute(a.value))));
    }
  }
  return true;
}

bool MatchRun::Inputs(const Pattern& pattern, const PatCall& call, NodeId n, Frame& frame,
                      Next next) {
  if (InOrder(pattern, call, n, false, frame, next)) return true;
  const std::span<const PatArg* const> args = call.in_order();
  if (graph_.num_inputs(n) != 2 || args.size() != 2 || args[0]->repeated || args[1]->repeated)
    return false;
  const ValueId a = graph_.input(n, 0), b = graph_.input(n, 1);
  if (!a.valid() || !b.valid() || a == b) return false;
  const Signature* signature = in_.NodeSignature(n);
  return signature != nullptr && signature->commutative &&
         InOrder(pattern, call, n, true, frame, next);
}

// The inputs as they are, or the two of them swapped.
bool MatchRun::InOrder(const Pattern& pattern, const PatCall& call, NodeId n, bool swapped,
                       Frame& frame, Next next) {
  boost::container::small_vector<ValueId, 8> inputs(graph_.num_inputs(n));
  for (size_t i = 0; i < inputs.size(); ++i) inputs[i] = graph_.input(n, i);
  while (!inputs.empty() && !inputs.back().valid()) inputs.pop_back();
  if (swapped) std::swap(inputs[0], inputs[1]);
  std::vector<std::pair<const PatArg*, size_t>> named;
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
  const Operands operands(inputs.data(), inputs.size());
  if (named.empty()) return Args(pattern, call.in_order(), 0, operands, 0, call, n, frame, next);
  return Named(pattern, named, 0, call.in_order(), operands, call, n, frame, next);
}

// Inputs that the pattern names; each is taken out of what the positional arguments see.
bool MatchRun::Named(const Pattern& pattern,
                     const std::vector<std::pair<const PatArg*, size_t>>& named, size_t i,
                     std::span<const PatArg* const> args, Operands inputs, const PatCall& call,
                     NodeId n, Frame& frame, Next next) {
  if (i == named.size()) return Args(pattern, args, 0, inputs, 0, call, n, frame, next);
  const auto [arg, index] = named[i];
  const ValueId v = index < inputs.size() ? inputs[index] : ValueId();
  std::vector<ValueId> others(inputs.begin(), inputs.end());
  if (index < others.size()) others[index] = ValueId();
  return One(pattern, *arg, v, call, n, frame,
             [&] { return Named(pattern, named, i + 1, args, others, call, n, frame, next); });
}

bool MatchRun::Args(const Pattern& pattern, std::span<const PatArg* const> args, size_t i,
                    Operands inputs, size_t j, const PatCall& call, NodeId n, Frame& frame,
                    Next next) {
  if (i == args.size()) {
    for (; j < inputs.size(); ++j) {
      if (inputs[j].valid()) {
        if (in_.trace_ == nullptr) return false;
        return Fail(call.expr->place, n,
                    fmt::format("{} has input {}, which is not in the pattern: `{}`",
                                NodeText(graph_, n), j, Printable(graph_.name(inputs[j]))));
      }
    }
    return next();
  }
  const PatArg& arg = *args[i];
  if (arg.repeated && arg.kind == PatArg::Kind::kAny && i + 1 < args.size() &&
      inputs.size() > j + 1) {
    if (const ValueId v = Wanted(*args[i + 1], frame); v.valid()) {
      return Pass(pattern, args, i, v, inputs, j, call, n, frame, next);
    }
  }
  const bool list = arg.kind == PatArg::Kind::kName && i + 3 == args.size();
  if (arg.repeated && list && !args[i + 1]->repeated && !args[i + 1]->optional &&
      args[i + 2]->repeated && args[i + 2]->kind != PatArg::Kind::kGroup) {
    return Around(pattern, args, i, inputs, j, call, n, frame, next);
  }
  if (arg.repeated) {
    const size_t group = arg.kind == PatArg::Kind::kGroup ? arg.members().size() : 1;
    const size_t left = inputs.size() - std::min(j, inputs.size());
    // As many inputs as there are; fewer only if more arguments follow.
    size_t after = 0;
    for (size_t k = i + 1; k < args.size(); ++k) after += !args[k]->optional && !args[k]->repeated;
    const bool last = i + 1 == args.size();
    for (size_t count = last ? (left + group - 1) / group : 0;
         count * group + after <= left + group - 1; ++count) {
      const size_t end = std::min(j + count * group, inputs.size());
      const auto then = [&] {
        return Args(pattern, args, i + 1, inputs, end, call, n, frame, next);
      };
      if (arg.kind == PatArg::Kind::kAny
              ? then()
              : Repeat(pattern, arg, inputs, j, end, call, n, frame, then)) {
        return true;
      }
      if (last) break;
    }
    return false;
  }
  const ValueId v = j < inputs.size() ? inputs[j] : ValueId();
  return One(pattern, arg, v, call, n, frame,
             [&] { return Args(pattern, args, i + 1, inputs, j + 1, call, n, frame, next); });
}

ValueId MatchRun::Wanted(const PatArg& arg, const Frame& frame) {
  const bool name = arg.kind == PatArg::Kind::kName && !arg.repeated && !arg.optional;
  const ValueId* v = name ? frame.value(arg.slot) : nullptr;
  return v == nullptr || facts_.Constant(*v) != nullptr ? ValueId() : *v;
}

// `_...` in front of a name that is known: only the inputs that are `v` can follow it. Of a value with
// few readers they are found from there.
bool MatchRun::Pass(const Pattern& pattern, std::span<const PatArg* const> args, size_t i,
                    ValueId v, Operands inputs, size_t j, const PatCall& call, NodeId n,
                    Frame& frame, Next next) {
  std::vector<size_t> places;
  if (graph_.num_uses(v) < inputs.size()) {
    for (const UseId u : graph_.uses(v)) {
      const User user = graph_.user(u);
      if (user.is_output() || user.node != n) continue;
      if (user.index >= j && user.index < inputs.size()) places.push_back(user.index);
    }
    std::sort(places.begin(), places.end());
  } else {
    for (size_t k = j; k < inputs.size(); ++k) {
      if (inputs[k] == v) places.push_back(k);
    }
  }
  return std::any_of(places.begin(), places.end(), [&](size_t place) {
    return inputs[place] == v && Args(pattern, args, i + 1, inputs, place, call, n, frame, next);
  });
}

// One argument against one input, which may be absent.
bool MatchRun::One(const Pattern& pattern, const PatArg& arg, ValueId v, const PatCall& call,
                   NodeId n, Frame& frame, Next next) {
  if (arg.kind == PatArg::Kind::kLiteral && arg.expr->kind == Expr::Kind::kAbsent) {
    return !v.valid() ? next()
                      : Fail(arg.expr->place, n,
                             fmt::format("{} has an input that the pattern says is absent",
                                         NodeText(graph_, n)));
  }
  if (v.valid()) return Value(pattern, arg, v, frame, next);
  if (arg.optional || (arg.kind == PatArg::Kind::kAny && arg.repeated)) {
    return BindAbsent(pattern, arg.slots(), 0, frame, call.expr->place, next);
  }
  if (in_.trace_ == nullptr) return false;
  return Fail(call.expr->place, n,
              fmt::format("{} lacks an input of the pattern: `{}`", NodeText(graph_, n),
                          arg.expr == nullptr ? "_" : Print(*arg.expr)));
}

// inputs[j..end) against the members of a repeated argument; its names become lists. A list that is
// known already must come out again.
bool MatchRun::Repeat(const Pattern& pattern, const PatArg& arg, Operands inputs, size_t j,
                      size_t end, const PatCall& call, NodeId n, Frame& frame, Next next) {
  std::vector<std::pair<int, Val>> known;
  for (const int slot : arg.slots()) {
    if (!frame.bound(slot)) continue;
    known.emplace_back(slot, frame[slot]);
    frame.Unbind(slot);
  }
  const bool found = AllMembers(pattern, arg, inputs, j, end, call, n, frame, [&] {
    for (const auto& [slot, list] : known) {
      if (!in_.Same(list, frame[slot])) {
        if (in_.trace_ == nullptr) return false;
        return Fail(arg.expr->place, n,
                    fmt::format("`{}` is something else: {}", frame.name(slot),
                                DifferentValues(list, frame[slot])));
      }
    }
    for (const auto& [slot, list] : known) frame.Bind(slot, list);
    return next();
  });
  if (found) return true;
  for (const auto& [slot, list] : known) frame.Bind(slot, list);
  return false;
}

bool MatchRun::AllMembers(const Pattern& pattern, const PatArg& arg, Operands inputs, size_t j,
                          size_t end, const PatCall& call, NodeId n, Frame& frame, Next next) {
  std::vector<std::vector<Val>> lists(arg.slots().size());
  const size_t width = arg.kind == PatArg::Kind::kGroup ? arg.members().size() : 1;
  if (end - std::min(j, end) <= kMaxBacktracked * width) {
    return Members(pattern, arg, inputs, j, end, call, n, lists, frame, next);
  }
  // Of very many members each is taken in the first way that it fits: whether one fits does not
  // depend on the others, and the search must not go as deep as a node is wide.
  const auto collect = [&] {
    for (size_t k = 0; k < arg.slots().size(); ++k) {
      lists[k].push_back(frame[arg.slots()[k]]);
      frame.Unbind(arg.slots()[k]);
    }
    return true;
  };
  for (; j < end; j += width) {
    if (!Member(arg, inputs, j, call, n, frame, collect)) return false;
  }
  return BindLists(pattern, arg, 0, lists, frame, next);
}

// The member that begins at input j. Its own bindings are not conditions' business: only the lists
// are.
bool MatchRun::Member(const PatArg& arg, Operands inputs, size_t j, const PatCall& call, NodeId n,
                      Frame& frame, Next next) {
  static const Pattern* const kNoConditions = new Pattern();
  if (arg.kind != PatArg::Kind::kGroup) {
    return One(*kNoConditions, arg, inputs[j], call, n, frame, next);
  }
  return GroupMember(*kNoConditions, arg, 0, inputs, j, call, n, frame, next);
}

bool MatchRun::Members(const Pattern& pattern, const PatArg& arg, Operands inputs, size_t j,
                       size_t end, const PatCall& call, NodeId n,
                       std::vector<std::vector<Val>>& lists, Frame& frame, Next next) {
  if (j >= end) return BindLists(pattern, arg, 0, lists, frame, next);
  const size_t width = arg.kind == PatArg::Kind::kGroup ? arg.members().size() : 1;
  return Member(arg, inputs, j, call, n, frame, [&] {
    std::vector<Val> saved(arg.slots().size());
    for (size_t k = 0; k < arg.slots().size(); ++k) {
      saved[k] = frame[arg.slots()[k]];
      lists[k].push_back(saved[k]);
      frame.Unbind(arg.slots()[k]);
    }
    const bool found = Members(pattern, arg, inputs, j + width, end, call, n, lists, frame, next);
    for (size_t k = 0; k < arg.slots().size(); ++k) {
      lists[k].pop_back();
      if (!found) frame.Bind(arg.slots()[k], saved[k]);
    }
    return found;
  });
}

bool MatchRun::GroupMember(const Pattern& pattern, const PatArg& arg, size_t k, Operands inputs,
                           size_t j, const PatCall& call, NodeId n, Frame& frame, Next next) {
  if (k == arg.members().size()) return next();
  const ValueId v = j + k < inputs.size() ? inputs[j + k] : ValueId();
  const auto then = [&] {
    return GroupMember(pattern, arg, k + 1, inputs, j, call, n, frame, next);
  };
  return One(pattern, arg.members()[k], v, call, n, frame, then);
}

bool MatchRun::BindLists(const Pattern& pattern, const PatArg& arg, size_t k,
                         std::vector<std::vector<Val>>& lists, Frame& frame, Next next) {
  if (k == arg.slots().size()) return next();
  return Bind(pattern, arg.slots()[k], Val::ListOf(lists[k]), frame, arg.expr->place,
              [&] { return BindLists(pattern, arg, k + 1, lists, frame, next); });
}

}  // namespace qrewrite
