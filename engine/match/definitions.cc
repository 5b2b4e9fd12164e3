// Definitions as facts: cases in order, recursion over values of the graph and over numbers.
#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "engine/match/interpreter.h"
#include "engine/match/logic.h"
#include "engine/match/match_run.h"

namespace qrewrite {
namespace {

// Facts of values that ask for facts of values, and so on: what lies deeper is asked first, and then
// again from here, so that the stack does not grow with the model.
constexpr int kMaxFactDepth = 16;

}  // namespace

Val Interpreter::CallFact(int definition, std::span<const Val> args, BodyId body) {
  const CompiledDefinition& d = program_.definition(definition);
  // A fact about a value, called for a list of values: of each.
  for (size_t i = 0; i < args.size() && i < d.looks_at.size(); ++i) {
    if (d.looks_at[i] && args[i].is<List>()) return MapFact(definition, args, body);
  }
  return CallOnValue(definition, args, body);
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
  for (size_t k = 0; k < members.value_or(0); ++k) {
    Args one(args.begin(), args.end());
    for (size_t i = 0; i < one.size() && i < d.looks_at.size(); ++i) {
      if (const auto* list = one[i].get_if<List>(); list != nullptr && d.looks_at[i]) {
        const Val member = (**list)[k];
        one[i] = member;
      }
    }
    results.push_back(CallFact(definition, {one.data(), one.size()}, body));
    if (EndsList(results.back()) || !Step()) return results.back();
  }
  return Val::ListOf(std::move(results));
}

Val Interpreter::CallOnValue(int definition, std::span<const Val> args, BodyId body) {
  const CompiledDefinition& d = program_.definition(definition);
  const ValueId* value = args.size() == 1 ? args[0].get_if<ValueId>() : nullptr;
  if (value == nullptr) {
    if (++recursion_ > kMaxRecursion) {
      Exhaust(fmt::format("`${}` calls itself more than {} times deep", d.definition->head.name,
                          kMaxRecursion));
    }
    Val result = exhausted_.empty() ? EvalCases(d, args, body) : Val(Failure{"too deep"});
    --recursion_;
    return result;
  }
  // Evaluates one fact; what lies too deep below it is left in deferred_.
  const auto ask = [&](FactMemo::Key key) -> Val {
    memo_.Looked(key, key.value);
    asking_.push_back(key);
    ++fact_depth_;
    const Val about = key.value;
    // Its work is done once for this value, whoever asks: it has a budget of its own.
    const uint64_t steps = std::exchange(eval_steps_, 0);
    Val result = EvalCases(program_.definition(key.definition), std::span(&about, 1), body);
    eval_steps_ = steps;
    --fact_depth_;
    asking_.pop_back();
    if (!deferred_ && exhausted_.empty()) memo_.Store(key, result);
    return result;
  };
  const FactMemo::Key key{definition, *value};
  if (!asking_.empty()) memo_.Looked(asking_.back(), key.value);
  if (const Val* known = memo_.Find(key)) return *known;
  if (std::find(asking_.begin(), asking_.end(), key) != asking_.end()) {
    return Unknown{fmt::format("${} of a value needs itself", d.definition->head.name)};
  }
  if (fact_depth_ >= kMaxFactDepth) {
    deferred_ = key;
    return Unknown{"not asked yet"};
  }
  Val result = ask(key);
  if (fact_depth_ > 0) return result;
  std::vector<FactMemo::Key> todo;
  while (deferred_ && exhausted_.empty()) {
    todo.push_back(*std::exchange(deferred_, std::nullopt));
    while (!todo.empty() && exhausted_.empty()) {
      ask(todo.back());
      if (!deferred_) {
        todo.pop_back();
      } else {
        todo.push_back(*std::exchange(deferred_, std::nullopt));
      }
    }
    result = ask(key);
  }
  return result;
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
  MatchRun run(*this);
  bool taken = false;
  was_unknown_ = false;
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
  if (taken) return true;
  if (!was_unknown_) return Absent();
  was_unknown_ = false;
  return Unknown{unknown_};
}

}  // namespace qrewrite
