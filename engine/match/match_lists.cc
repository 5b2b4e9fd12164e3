// Repeated arguments: which inputs they take, and the lists that their names become.
#include <algorithm>

#include <fmt/format.h>

#include "engine/match/match_run.h"

namespace qrewrite {
namespace {

// Up to so many members of a repeated argument all combinations of their ways are tried, in a
// recursion as deep as there are members.
constexpr size_t kMaxBacktracked = 64;

}  // namespace

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

// inputs[j..end) against the members of a repeated argument; its names become lists. A list that is
// known already must come out again; what stands for one value is the same in each member.
bool MatchRun::Repeat(const Site& site, const PatArg& arg, size_t j, size_t end, Next next) {
  Frame& frame = site.scope.frame;
  if (j >= end && !arg.repeat->same.empty()) {
    if (in_.trace_ == nullptr) return false;
    return Fail(arg.expr->place, site.node,
                fmt::format("{} has no inputs that `{}` could be the same in",
                            NodeText(graph_, site.node), frame.name(arg.repeat->same.front())));
  }
  Repeated repeated{arg, {}, {}};
  std::vector<std::pair<int, Val>> known;
  for (const int slot : arg.repeat->lists) {
    if (frame.bound(slot) && !frame[slot].is<List>()) continue;  // given: one value
    repeated.lists.push_back(slot);
    if (!frame.bound(slot)) continue;
    known.emplace_back(slot, frame[slot]);
    frame.Unbind(slot);
  }
  PatSlots fresh;
  for (const int slot : arg.repeat->same) {
    if (!frame.bound(slot)) fresh.push_back(slot);
  }
  FindConditions(site, repeated);
  const bool found = AllMembers(site, repeated, j, end, [&] {
    for (const auto& [slot, list] : known) {
      if (!in_.Same(list, frame[slot])) {
        if (in_.trace_ == nullptr) return false;
        return Fail(arg.expr->place, site.node,
                    fmt::format("`{}` is something else: {}", frame.name(slot),
                                words().Difference(list, frame[slot])));
      }
    }
    for (const auto& [slot, list] : known) frame.Bind(slot, list);
    return BindAgain(site.scope, {fresh.data(), fresh.size()}, 0, arg.expr->place, next);
  });
  if (found) return true;
  for (const auto& [slot, list] : known) frame.Bind(slot, list);
  for (const int slot : fresh) frame.Unbind(slot);
  return false;
}

// What is false of one member is false of the list: the ways of the others need not be tried with it.
void MatchRun::FindConditions(const Site& site, Repeated& repeated) {
  const Frame& frame = site.scope.frame;
  for (const PatWhere& where : site.scope.pattern.where) {
    if (!where.of_each || unasked_ == &site.scope.pattern) continue;
    bool of_ours = false, known = true;
    for (const int slot : where.needs) {
      const bool ours = std::ranges::find(repeated.lists, slot) != repeated.lists.end();
      of_ours |= ours;
      known &= ours || (frame.bound(slot) && !frame[slot].is<List>());
    }
    if (of_ours && known) repeated.of_each.push_back(where.code);
  }
}

// Slots that members bound, with the conditions that wait for them. Without members none is.
bool MatchRun::BindAgain(Scope scope, std::span<const int> slots, size_t i, const Place& place,
                         Next next) {
  if (i == slots.size()) return next();
  const auto then = [&] { return BindAgain(scope, slots, i + 1, place, next); };
  const int slot = slots[i];
  if (!scope.frame.bound(slot)) return then();
  const Val value = scope.frame[slot];
  scope.frame.Unbind(slot);
  if (Bind(scope, slot, value, place, then)) return true;
  scope.frame.Bind(slot, value);  // the members' own
  return false;
}

bool MatchRun::AllMembers(const Site& site, const Repeated& repeated, size_t j, size_t end,
                          Next next) {
  const PatArg& arg = repeated.arg;
  Lists lists(repeated.lists.size());
  const size_t width = arg.kind == PatArg::Kind::kGroup ? arg.members().size() : 1;
  if (end - std::min(j, end) <= kMaxBacktracked * width) {
    return Members(site, repeated, j, end, lists, next);
  }
  // Of very many members each is taken in the first way that it fits: whether one fits does not
  // depend on the others, and the search must not go as deep as a node is wide.
  Frame& frame = site.scope.frame;
  const auto collect = [&] {
    for (size_t k = 0; k < repeated.lists.size(); ++k) {
      lists[k].push_back(frame[repeated.lists[k]]);
      frame.Unbind(repeated.lists[k]);
    }
    return true;
  };
  for (; j < end; j += width) {
    if (!Member(site, repeated, j, collect)) return false;
  }
  return BindLists(site.scope, repeated, 0, lists, next);
}

// The member that begins at input j. Its own bindings are not conditions' business, but of those that ask each
// member: only the lists are.
bool MatchRun::Member(const Site& site, const Repeated& repeated, size_t j, Next next) {
  static const Pattern* const kNoConditions = new Pattern();
  const Site alone{{*kNoConditions, site.scope.frame}, site.call, site.node, site.inputs};
  const PatArg& arg = repeated.arg;
  const auto fits = [&] {
    for (const CodeId condition : repeated.of_each) {
      const Val truth = in_.Condition(condition, site.scope.frame);
      const bool* holds = truth.get_if<bool>();
      if (holds == nullptr || *holds) continue;
      if (in_.trace_ != nullptr) Unmet(condition, site.scope.frame);
      return false;
    }
    return next();
  };
  if (arg.kind != PatArg::Kind::kGroup) return One(alone, arg, site.inputs[j], fits);
  return GroupMember(alone, arg, 0, j, fits);
}

bool MatchRun::Members(const Site& site, const Repeated& repeated, size_t j, size_t end,
                       Lists& lists, Next next) {
  if (j >= end) return BindLists(site.scope, repeated, 0, lists, next);
  const PatArg& arg = repeated.arg;
  const PatSlots& slots = repeated.lists;
  const size_t width = arg.kind == PatArg::Kind::kGroup ? arg.members().size() : 1;
  Frame& frame = site.scope.frame;
  return Member(site, repeated, j, [&] {
    std::vector<Val> saved(slots.size());
    for (size_t k = 0; k < slots.size(); ++k) {
      saved[k] = frame[slots[k]];
      lists[k].push_back(saved[k]);
      frame.Unbind(slots[k]);
    }
    const bool found = Members(site, repeated, j + width, end, lists, next);
    for (size_t k = 0; k < slots.size(); ++k) {
      lists[k].pop_back();
      if (!found) frame.Bind(slots[k], saved[k]);
    }
    return found;
  });
}

bool MatchRun::GroupMember(const Site& site, const PatArg& arg, size_t k, size_t j, Next next) {
  if (k == arg.members().size()) return next();
  const ValueId v = j + k < site.inputs.size() ? site.inputs[j + k] : ValueId();
  return One(site, arg.members()[k], v, [&] { return GroupMember(site, arg, k + 1, j, next); });
}

bool MatchRun::BindLists(Scope scope, const Repeated& repeated, size_t k, const Lists& lists,
                         Next next) {
  if (k == repeated.lists.size()) return next();
  return Bind(scope, repeated.lists[k], Val::ListOf(lists[k]), repeated.arg.expr->place,
              [&] { return BindLists(scope, repeated, k + 1, lists, next); });
}

}  // namespace qrewrite
