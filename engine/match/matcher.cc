// Patterns: statements by the ways that are open, bindings and the conditions they complete.
#include <algorithm>

#include <fmt/format.h>

#include "engine/base/diagnostics.h"
#include "engine/match/budgets.h"
#include "engine/match/match_run.h"
#include "engine/tensor/bytes_limit.h"

namespace qrewrite {

bool MatchRun::Rest(Scope scope, Next next) {
  const Pattern& pattern = scope.pattern;
  if (pattern.num_sought == 0) return next();
  Done done(pattern.stmts.size(), false);
  if (pattern.anchor >= 0) done[static_cast<size_t>(pattern.anchor)] = true;
  return Seek(scope, done, pattern.num_sought, next);
}

bool MatchRun::Seek(Scope scope, Done& done, size_t left, Next next) {
  if (left == 0) return next();
  const auto& [pattern, frame] = scope;
  const Way* closed = nullptr;  // leads to a statement, but from nothing that it could be found by
  for (const Way& way : pattern.ways) {
    const size_t s = static_cast<size_t>(way.stmt);
    if (done[s] || !frame.bound(way.slot)) continue;
    const ValueId v = LeadsOn(way, frame[way.slot]);
    if (!v.valid()) {
      if (closed == nullptr) closed = &way;
      continue;
    }
    const PatStmt& stmt = pattern.stmts[s];
    done[s] = true;
    const auto then = [&] { return Seek(scope, done, left - 1, next); };
    const bool found =
        way.down ? Down(scope, stmt, way.slot, v, then) : StatementAt(scope, stmt, v, then);
    done[s] = false;
    return found;
  }
  if (closed == nullptr || in_.trace_ == nullptr) return false;
  const Place& place = pattern.stmts[static_cast<size_t>(closed->stmt)].stmt->place;
  if (closed->down) return Fail(place, NodeId(), "statements are not connected through a constant");
  return Fail(place, NodeId(),
              fmt::format("`{}` is {} of the graph", frame.name(closed->slot),
                          frame[closed->slot].is<List>() ? "a list without values" : "no value"));
}

// The value that the search goes on from along `way` if its name is bound to `bound`: none if it is absent, or a
// constant, from which there is no way down; of a list the first member that there is a way from.
ValueId MatchRun::LeadsOn(const Way& way, const Val& bound) {
  if (const auto* v = bound.get_if<ValueId>()) {
    return way.down && facts_.Constant(*v) != nullptr ? ValueId() : *v;
  }
  const auto* list = way.list ? bound.get_if<List>() : nullptr;
  if (list == nullptr) return ValueId();
  for (const Val& member : **list) {
    if (const ValueId v = LeadsOn(way, member); v.valid()) return v;
  }
  return ValueId();
}

bool MatchRun::Early(Scope scope) {
  const std::vector<CodeId>& early = scope.pattern.early;
  return std::all_of(early.begin(), early.end(), [&](CodeId code) { return Holds(scope, code); });
}

bool MatchRun::Unwatched(Scope scope) {
  const std::vector<PatWhere>& where = scope.pattern.where;
  return std::all_of(where.begin(), where.end(), [&](const PatWhere& w) {
    return w.watched || w.needs.empty() || Holds(scope, w.code);
  });
}

// Whether somebody reads an output that the pattern does not name.
bool MatchRun::IsRead(ValueId output) {
  if (!in_.asking_.empty()) in_.memo_.Looked(in_.asking_.innermost(), output);
  return in_.CountUses(output) > 0;
}

bool MatchRun::Step(ValueId v) {
  if (!in_.asking_.empty()) in_.memo_.Looked(in_.asking_.innermost(), v);
  return Step();
}

bool MatchRun::Step() {
  const uint64_t limit = kMaxMatchSteps + kMatchStepsPerNode * graph_.num_nodes();
  if (++in_.steps_ <= limit) return in_.HasStack() && in_.exhausted_.empty();
  if (!in_.exhausted_.empty()) return false;
  in_.Exhaust(
      fmt::format("the search for a match has too many steps (limit {}; a pattern that names "
                  "more, or conditions on the names found first, shorten it)",
                  limit));
  return false;
}

// The statement that makes `v`.
bool MatchRun::StatementAt(Scope scope, const PatStmt& stmt, ValueId v, Next next) {
  if (!Step(v)) return false;
  if (stmt.value.expr == nullptr) return next();  // names alone
  if (!stmt.value.call->is_one_node()) return Value(scope, stmt.value, v, next);
  const NodeId n = graph_.producer(v);
  if (!n.valid()) {
    if (in_.trace_ == nullptr) return false;
    return FailAt(stmt.stmt->place, v);
  }
  return Statement(scope, stmt, n, next);
}

bool MatchRun::Statement(Scope scope, const PatStmt& stmt, NodeId n, Next next) {
  if (!Step()) return false;
  const PatCall& call = *stmt.value.call;
  if (call.definition >= 0) {
    // The first output of the definition is a value that n makes.
    for (size_t i = 0; i < graph_.num_outputs(n); ++i) {
      const ValueId v = graph_.output(n, i);
      if (!v.valid()) continue;
      const bool found = Definition(scope, call, v, [&] {
        if (stmt.outs.empty() || stmt.outs[0].slot < 0) return next();
        return Bind(scope, stmt.outs[0].slot, v, stmt.stmt->place, next);
      });
      if (found) return true;
    }
    return false;
  }
  if (!Accepts(call, n)) {
    if (in_.trace_ == nullptr) return false;
    return Fail(call.expr->place, n,
                fmt::format("the operator is {}{}", NodeText(graph_, n), Instead(call, n)));
  }
  const Passing passing(*this, call, n);
  return Outs(scope, stmt, n, 0, 0, -1,
              [&](int named) { return Node(scope, call, n, named < 0 ? 0 : named, next); });
}

bool MatchRun::Bind(Scope scope, int slot, Val value, const Place& place, Next next) {
  const auto& [pattern, frame] = scope;
  if (frame.bound(slot)) {
    if (in_.Same(frame[slot], value)) return next();
    if (in_.trace_ == nullptr) return false;
    return Fail(place, NodeId(),
                fmt::format("`{}` is something else: {}", frame.name(slot),
                            words().Difference(frame[slot], value)));
  }
  frame.Bind(slot, std::move(value));
  ++depth_;
  bool good = true;
  if (slot < static_cast<int>(pattern.watch.size())) {
    for (const int w : pattern.watch[slot]) {
      const PatWhere& where = pattern.where[w];
      const bool all = std::all_of(where.needs.begin(), where.needs.end(),
                                   [&](int s) { return scope.frame.bound(s); });
      if (all && !Holds(scope, where.code)) {
        good = false;
        break;
      }
    }
  }
  const bool found = good && next();
  --depth_;
  if (found) return true;
  frame.Unbind(slot);
  frame.ForgetLets();
  return false;
}

bool MatchRun::BindAbsent(Scope scope, std::span<const int> slots, size_t i, const Place& place,
                          Next next) {
  if (i == slots.size()) return next();
  const auto then = [&] { return BindAbsent(scope, slots, i + 1, place, next); };
  return Bind(scope, slots[i], Val(), place, then);
}

bool MatchRun::Holds(Scope scope, CodeId condition) {
  if (unasked_ == &scope.pattern) return true;
  const Val truth = in_.Condition(condition, scope.frame);
  const bool* b = truth.get_if<bool>();
  if (b != nullptr && *b) return true;
  if (in_.trace_ != nullptr) Unmet(condition, scope.frame);
  if (truth.is<Unknown>()) in_.unknown_ = truth.reason(), in_.was_unknown_ = true;
  return false;
}

// Says of a condition that is not met what it says. REQUIRES: a trace.
void MatchRun::Unmet(CodeId condition, Frame& frame) {
  const CodeId part = words().Deciding(condition, frame);
  const Code& code = in_.program_.code(part);
  const int before = in_.trace_->depth;
  in_.Note(code.expr->place, NodeId(), words().OfCondition(code, in_.Condition(part, frame), frame),
           depth_ * MatchTrace::kPerPart + MatchTrace::kOfCondition);
  if (!in_.trace_->details || in_.trace_->depth == before) return;
  in_.trace_->condition = part;
  in_.trace_->frame = frame;
}

// Whether the operator is one of the call's, and nobody wants to keep the node.
bool MatchRun::Accepts(const PatCall& call, NodeId n) {
  return !Kept(n) && in_.Accepts(call.ops, graph_.op(n));
}

// Of a node that Accepts() refused.
std::string MatchRun::Instead(const PatCall& call, NodeId n) {
  return Kept(n) ? ", which is kept" : Words::Instead(call, graph_.op_name(graph_.op(n)));
}

// There is no operator at all. An operator that is another one is nearer.
bool MatchRun::FailAt(const Place& place, ValueId v) {
  in_.Note(place, NodeId(),
           fmt::format("`{}` is {}", Printable(graph_.name(v)),
                       graph_.constant(v) ? "a constant" : "an input"),
           depth_ * MatchTrace::kPerPart - 1);
  return false;
}

bool MatchRun::Fail(const Place& place, NodeId n, std::string_view reason) {
  if (in_.trace_ != nullptr) in_.Note(place, n, reason, depth_ * MatchTrace::kPerPart);
  return false;
}

bool Interpreter::MatchRule(const CompiledRule& rule, NodeId anchor, Frame& frame,
                            FunctionRef<bool()> accept) {
  const ComputedBytesLimit bytes(kMaxComputedBytes);
  BeginBudget();
  frame.body = graph_.body_of(anchor);
  traced_ = trace_ == nullptr ? nullptr : &frame;
  passed_by_.clear();
  MatchRun run(*this, kept_);
  const MatchRun::Scope scope{rule.pattern, frame};
  if (!rule_conditions_) run.LeaveConditions(rule.pattern);
  if (!run.Early(scope)) {
    traced_ = nullptr;
    return false;
  }
  const PatStmt& stmt = rule.pattern.stmts[rule.pattern.anchor];
  const auto different = [&] {
    // Statements whose outputs the rule redefines match different nodes.
    if (rule.redefined.size() < 2) return true;
    std::vector<NodeId> nodes;
    for (const int s : rule.redefined) {
      for (const PatOut& out : rule.pattern.stmts[s].outs) {
        const auto* v = out.slot < 0 ? nullptr : frame.value(out.slot);
        if (v == nullptr) continue;
        nodes.push_back(graph_.producer(*v));
        break;
      }
    }
    std::sort(nodes.begin(), nodes.end());
    return std::adjacent_find(nodes.begin(), nodes.end()) == nodes.end();
  };
  const bool found = run.Statement(scope, stmt, anchor, [&] {
    return run.Rest(scope, [&] {
      if (!different() || !run.Unwatched(scope)) return false;
      // As far as its last condition.
      if (trace_ != nullptr && !rule_conditions_)
        Note(rule.rule->place, anchor, "",
             run.depth() * MatchTrace::kPerPart + MatchTrace::kOfCondition);
      return accept();
    });
  });
  traced_ = nullptr;  // the frame is the caller's
  return found;
}

void Interpreter::BeginBudget() {
  steps_ = eval_steps_ = 0;
  exhausted_.clear();
  asking_.Clear();  // of a search that was given up
}

void Interpreter::Note(const Place& place, NodeId node, std::string_view reason, int depth) {
  if (trace_ == nullptr || asking_.put_off()) return;
  MatchTrace::Part part = MatchTrace::Part::kNone;
  if (trace_->watched.valid()) {
    const bool matched =
        std::ranges::any_of(passed_by_, [&](const auto& s) { return s.node == trace_->watched; });
    if (matched) {
      part = MatchTrace::Part::kMatched;
    } else if (node == trace_->watched) {
      part = MatchTrace::Part::kRefused;
    }
  }
  if (std::pair(part, depth) <= std::pair(trace_->part, trace_->depth)) return;
  trace_->part = part;
  trace_->depth = depth;
  trace_->place = place;
  trace_->node = node;
  trace_->reason = reason;
  trace_->matched = passed_by_.size();
  if (!trace_->details) return;
  trace_->steps = passed_by_;
  trace_->condition = CodeId();
  trace_->frame.reset();
  if (traced_ != nullptr) trace_->names = *traced_;
}

}  // namespace qrewrite
