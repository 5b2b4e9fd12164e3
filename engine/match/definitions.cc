// Definitions as facts: cases in order, recursion over values of the graph and over numbers.
#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "engine/match/interpreter.h"
#include "engine/match/logic.h"
#include "engine/match/match_run.h"

namespace qrewrite {
namespace {

Val NeedsItself(const CompiledDefinition& d) {
  return Unknown{fmt::format("${} of a value needs itself", d.definition->head.name)};
}

}  // namespace

Val Interpreter::CallFact(int definition, std::span<const Val> args, BodyId body) {
  const CompiledDefinition& d = program_.definition(definition);
  // A fact about a value, called for a list of values: of each.
  for (size_t i = 0; i < args.size() && i < d.looks_at.size(); ++i) {
    if (d.looks_at[i] && args[i].is<List>()) return MapFact(definition, args, body);
  }
  const ValueId* value = args.size() == 1 ? args[0].get_if<ValueId>() : nullptr;
  return value != nullptr ? CallOnValue({definition, *value}, body)
                          : CallOnNumbers(definition, args, body);
}

// On its own, so that calls of facts by facts need less of the stack.
[[gnu::noinline]] Val Interpreter::MapFact(int definition, std::span<const Val> args, BodyId body) {
  const CompiledDefinition& d = program_.definition(definition);
  std::optional<size_t> members;
  for (size_t i = 0; i < args.size() && i < d.looks_at.size(); ++i) {
    const auto* list = d.looks_at[i] ? args[i].get_if<List>() : nullptr;
    if (list == nullptr) continue;
    if (members && (*list)->size() != *members) return Failure{"lists of different length"};
    members = (*list)->size();
  }
  std::vector<Val> results;
  std::optional<Val> later;  // once what was put off is answered; of all members at once
  for (size_t k = 0; k < members.value_or(0); ++k) {
    Args one(args.begin(), args.end());
    for (size_t i = 0; i < one.size() && i < d.looks_at.size(); ++i) {
      if (const auto* list = one[i].get_if<List>(); list != nullptr && d.looks_at[i]) {
        const Val member = (**list)[k];
        one[i] = member;
      }
    }
    results.push_back(CallFact(definition, {one.data(), one.size()}, body));
    if (results.back().is<Failure>() || !Step()) return results.back();
    if (EndsList(results.back())) later = results.back();
  }
  return later ? *std::move(later) : Val::ListOf(std::move(results));
}

Val Interpreter::CallOnNumbers(int definition, std::span<const Val> args, BodyId body) {
  const CompiledDefinition& d = program_.definition(definition);
  if (++recursion_ > kMaxRecursion) {
    Exhaust(fmt::format("`${}` calls itself more than {} times deep", d.definition->head.name,
                        kMaxRecursion));
  }
  Val result = exhausted_.empty() ? EvalCases(d, args, body) : Val(Failure{"too deep"});
  --recursion_;
  return result;
}

Val Interpreter::CallOnValue(FactMemo::Key fact, BodyId body) {
  if (!asking_.empty()) memo_.Looked(asking_.innermost(), fact.value);
  if (const Val* known = memo_.Find(fact)) {
    asking_.Answered(fact);
    return *known;
  }
  if (asking_.ClosesRing(fact)) return NeedsItself(program_.definition(fact.definition));
  // Once something is put off, so is what else is asked on the way back: nothing of it would be remembered.
  if (asking_.is_deep() || asking_.put_off()) {
    asking_.PutOff(fact);
    return Unknown{"not asked yet"};
  }
  Val result = Ask(fact, body);
  return asking_.empty() && asking_.put_off() ? AskBelow(fact, body) : result;
}

// The answer is remembered, unless something was put off on the way.
Val Interpreter::Ask(FactMemo::Key fact, BodyId body) {
  memo_.Looked(fact, fact.value);
  asking_.Begin(fact);
  const Val about = fact.value;
  // Its work is done once for this value, whoever asks: it has a budget of its own.
  const uint64_t eval_steps = std::exchange(eval_steps_, 0), steps = std::exchange(steps_, 0);
  const CompiledDefinition& d = program_.definition(fact.definition);
  Val result = EvalCases(d, std::span(&about, 1), body);
  eval_steps_ = eval_steps;
  steps_ = steps;
  if (asking_.End()) result = NeedsItself(d);
  if (!asking_.put_off() && exhausted_.empty()) memo_.Store(fact, result);
  return result;
}

// Of a fact that waits for what was put off.
Val Interpreter::AskBelow(FactMemo::Key fact, BodyId body) {
  std::vector<FactMemo::Key> todo = {fact};
  asking_.Wait(fact, todo);
  while (!todo.empty() && exhausted_.empty()) {
    const FactMemo::Key next = todo.back();
    if (memo_.Find(next) == nullptr) {
      Ask(next, body);
      if (asking_.put_off()) {
        asking_.Wait(next, todo);
        continue;
      }
      for (const FactMemo::Key waits : asking_.TakeRing()) {
        if (memo_.Find(waits) != nullptr) continue;
        memo_.Store(waits, NeedsItself(program_.definition(waits.definition)));
      }
    }
    asking_.Done(next);
    todo.pop_back();
  }
  if (exhausted_.empty()) return *memo_.Find(fact);
  asking_.Clear();
  return Unknown{"not asked yet"};
}

Val Interpreter::EvalCases(const CompiledDefinition& d, std::span<const Val> args, BodyId body) {
  Val result;
  // Outputs of a template used as a function are no parameters here.
  const Val found = ChooseCase(
      d, args, body, [&](const CompiledCase& c, Frame& frame) { result = Outcome(c, frame); });
  if (found.stops()) return found;
  if (found.get<bool>()) return result;
  return Unknown{Reason(Reason::Kind::kNoCase, d.definition->head.name.c_str(), ValueId())};
}

Val Interpreter::Outcome(const CompiledCase& c, Frame& frame) {
  if (c.is.valid()) return Eval(c.is, frame);
  if (c.cases.empty()) return Failure{"this definition gives nodes, not a value"};
  Val result;
  const Val found = ChooseCase(
      c.cases, frame, [&](const CompiledCase& nested, Frame& f) { result = Outcome(nested, f); });
  if (found.stops()) return found;
  return found.get<bool>() ? result : Val(Unknown{"no case applies"});
}

Frame FrameOf(const CompiledDefinition& d, const CompiledCase& c, std::span<const Val> args,
              BodyId body) {
  Frame frame(*c.layout);
  frame.body = body;
  const size_t params = static_cast<size_t>(d.num_params);
  for (size_t i = 0; i < args.size() && i < params; ++i) {
    const bool rest = d.definition->head.variadic && i + 1 == params;
    frame.Bind(static_cast<int>(i),
               rest ? Val::ListOf({args.begin() + static_cast<long>(i), args.end()}) : args[i]);
  }
  return frame;
}

Val Interpreter::ChooseCase(const CompiledDefinition& d, std::span<const Val> args, BodyId body,
                            FunctionRef<void(const CompiledCase&, Frame&)> chosen) {
  for (const CompiledCase& c : d.cases) {
    Frame frame = FrameOf(d, c, args, body);
    const Val tried = TryCase(c, frame, [&] { chosen(c, frame); });
    if (!tried.absent()) return tried;
  }
  return false;
}

Val Interpreter::ChooseCase(const std::vector<CompiledCase>& cases, Frame& frame,
                            FunctionRef<void(const CompiledCase&, Frame&)> chosen) {
  for (const CompiledCase& c : cases) {
    for (const int slot : c.slots) frame.Unbind(slot);
    const Val tried = TryCase(c, frame, [&] { chosen(c, frame); });
    if (!tried.absent()) return tried;
  }
  return false;
}

// Whether what is given can be what the statements of a case are about: values of the graph.
bool Interpreter::Possible(const Pattern& pattern, const Frame& frame) const {
  return std::all_of(pattern.ways.begin(), pattern.ways.end(), [&](const Way& way) {
    return !frame.bound(way.slot) || frame[way.slot].is<ValueId>() ||
           (way.list && frame[way.slot].is<List>());
  });
}

// Calls `take` if the case applies: true. Otherwise what stopped it, or absent if it is surely not
// this case.
Val Interpreter::TryCase(const CompiledCase& c, Frame& frame, FunctionRef<void()> take,
                         MatchTrace* trace) {
  if (!c.has_match) {
    Val condition = true;
    for (const PatWhere& w : c.pattern.where) {
      const Val truth = Condition(w.code, frame);
      if (truth.stops() || !truth.get<bool>()) {
        condition = truth;
        if (!truth.stops()) break;  // false, whatever the others are
      }
    }
    if (condition.stops()) return condition;
    if (!condition.get<bool>()) return Absent();
    take();
    return true;
  }
  // What the search of a case stumbles over is no news of the rule that asks.
  MatchTrace* const outer = std::exchange(trace_, trace);
  Frame* const traced = std::exchange(traced_, trace == nullptr ? nullptr : &frame);
  const bool outer_unknown = std::exchange(was_unknown_, false);
  const Reason outer_reason = unknown_;
  MatchRun run(*this);
  bool taken = false;
  const MatchRun::Scope scope{c.pattern, frame};
  if (Possible(c.pattern, frame) && run.Early(scope)) {
    run.Rest(scope, [&] {
      if (!run.Unwatched(scope)) return false;
      taken = true;
      take();
      return true;
    });
  }
  trace_ = outer;
  traced_ = traced;
  const bool unknown = std::exchange(was_unknown_, outer_unknown);
  const Reason reason = std::exchange(unknown_, outer_reason);
  if (taken) return true;
  return unknown ? Val(Unknown{reason}) : Val(Absent());
}

}  // namespace qrewrite
