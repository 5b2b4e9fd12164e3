// Patterns: statements in the order of the plan, bindings and the conditions they complete.
#include <algorithm>

#include <fmt/format.h>

#include "engine/base/diagnostics.h"
#include "engine/expr/parser.h"
#include "engine/match/match_run.h"

namespace qrewrite {

std::string NodeText(const Graph& graph, NodeId n) {
  if (!n.valid()) return "no node";
  std::string name = graph.name(n);
  for (size_t i = 0; i < graph.num_outputs(n) && name.empty(); ++i) {
    if (graph.output(n, i).valid()) name = graph.name(graph.output(n, i));
  }
  return fmt::format("{} `{}`", graph.op_name(graph.op(n)).text(), Printable(name));
}

// The statements of `pattern` from `step` on; the anchor is matched already.
bool MatchRun::Rest(const Pattern& pattern, size_t step, Frame& frame, Next next) {
  if (step == pattern.rest.size()) return next();
  const PlanStep& plan = pattern.rest[step];
  const PatStmt& stmt = pattern.stmts[plan.stmt];
  const auto then = [&] { return Rest(pattern, step + 1, frame, next); };
  if (plan.down) return Down(pattern, stmt, plan.slot, frame, then);
  const auto* v = frame.slots[plan.slot].get_if<ValueId>();
  if (v == nullptr) {
    return Fail(stmt.stmt->place, NodeId(),
                fmt::format("`{}` is no value of the graph", frame.scope->names[plan.slot]));
  }
  return StatementAt(pattern, stmt, *v, frame, then);
}

bool MatchRun::Early(const Pattern& pattern, Frame& frame) {
  return std::all_of(pattern.early.begin(), pattern.early.end(),
                     [&](int w) { return Holds(*pattern.where[w].expr, frame); });
}

// The statement that makes `v`.
bool MatchRun::StatementAt(const Pattern& pattern, const PatStmt& stmt, ValueId v, Frame& frame,
                           Next next) {
  if (stmt.value.expr == nullptr) return next();  // names alone
  if (stmt.value.kind != PatArg::Kind::kCall) return Value(pattern, stmt.value, v, frame, next);
  const PatCall& call = *stmt.value.call;
  if (call.definition != nullptr || call.quantifier != Quantifier::kOne) {
    return Value(pattern, stmt.value, v, frame, next);
  }
  const NodeId n = graph_.producer(v);
  if (!n.valid()) {
    return Fail(stmt.stmt->place, n,
                fmt::format("`{}` has no producer", Printable(graph_.name(v))));
  }
  return Statement(pattern, stmt, n, frame, next);
}

// The statement with `n` as its node; outputs bind as the pattern lists them.
bool MatchRun::Statement(const Pattern& pattern, const PatStmt& stmt, NodeId n, Frame& frame,
                         Next next) {
  const PatCall& call = *stmt.value.call;
  if (call.definition != nullptr) {
    // The first output of the definition is a value that n makes.
    for (size_t i = 0; i < graph_.num_outputs(n); ++i) {
      const ValueId v = graph_.output(n, i);
      if (!v.valid()) continue;
      const bool found = Definition(pattern, call, v, frame, [&] {
        if (stmt.outs.empty() || stmt.outs[0].slot < 0) return next();
        return Bind(pattern, stmt.outs[0].slot, v, frame, stmt.stmt->place, next);
      });
      if (found) return true;
    }
    return false;
  }
  if (!Accepts(call, n)) {
    return Fail(
        call.expr->place, n,
        fmt::format("the operator is {}{}", NodeText(graph_, n), Kept(n) ? ", which is kept" : ""));
  }
  return Outs(pattern, stmt.outs, 0, n, 0, -1, stmt, frame, [&](int named) {
    return Node(pattern, call, n, named < 0 ? 0 : named, frame, next);
  });
}

bool MatchRun::Bind(const Pattern& pattern, int slot, Val value, Frame& frame, const Place& place,
                    Next next) {
  if (frame.state[slot] == Frame::kBound) {
    const Val& bound = frame.slots[slot];
    if (bound.absent() && value.absent()) return next();
    const Val same = in_.Compare(BinaryOp::kEq, bound, value);
    if (const bool* b = same.get_if<bool>(); b != nullptr && *b) return next();
    return Fail(place, NodeId(), fmt::format("`{}` is something else", frame.scope->names[slot]));
  }
  frame.Bind(slot, std::move(value));
  ++depth_;
  bool good = true;
  if (slot < static_cast<int>(pattern.watch.size())) {
    for (const int w : pattern.watch[slot]) {
      const PatWhere& where = pattern.where[w];
      const bool all = std::all_of(where.needs.begin(), where.needs.end(),
                                   [&](int s) { return frame.state[s] != Frame::kUnbound; });
      if (all && !Holds(*where.expr, frame)) {
        good = false;
        break;
      }
    }
  }
  const bool found = good && next();
  --depth_;
  if (found) return true;
  frame.Unbind(slot);
  ResetLets(frame);
  return false;
}

// A let may have been computed from a binding that is gone.
void MatchRun::ResetLets(Frame& frame) {
  for (const auto& [slot, let] : frame.scope->lets) frame.Unbind(slot);
}

bool MatchRun::BindAbsent(const Pattern& pattern, const std::vector<int>& slots, size_t i,
                          Frame& frame, const Place& place, Next next) {
  if (i == slots.size()) return next();
  const auto then = [&] { return BindAbsent(pattern, slots, i + 1, frame, place, next); };
  if (frame.state[slots[i]] == Frame::kBound) return then();  // named elsewhere as well
  return Bind(pattern, slots[i], Val(), frame, place, then);
}

bool MatchRun::Holds(const Expr& condition, Frame& frame) {
  const Val truth = in_.Truth(in_.Eval(condition, frame));
  const bool* b = truth.get_if<bool>();
  if (b != nullptr && *b) return true;
  if (truth.is<Unknown>()) in_.unknown_ = truth.why();
  if (in_.trace_ == nullptr) return false;
  // Of `a and b` the part that decides.
  const Expr* part = &condition;
  while (part->kind == Expr::Kind::kBinary && part->binary == BinaryOp::kAnd) {
    const Val left = in_.Truth(in_.Eval(*part->items[0], frame));
    const bool decides = b != nullptr ? left.is<bool>() && !left.get<bool>() : left.stops();
    part = part->items[decides ? 0 : 1].get();
  }
  return Fail(part->place, NodeId(),
              b != nullptr ? fmt::format("`{}` is false", Print(*part))
                           : fmt::format("`{}`: {}", Print(*part), truth.why()));
}

// Whether the operator is one of the call's, and nobody wants to keep the node.
bool MatchRun::Accepts(const PatCall& call, NodeId n) {
  if (Kept(n)) return false;
  if (!call.ops.Accepts(graph_, graph_.op(n))) return false;
  if (in_.trace_ != nullptr) in_.trace_->reached |= in_.trace_->watched == n;
  return true;
}

bool MatchRun::Fail(const Place& place, NodeId n, std::string_view reason) {
  if (in_.trace_ != nullptr) in_.Note(place, n, reason, depth_);
  return false;
}

bool Interpreter::MatchRule(const CompiledRule& rule, NodeId anchor, Frame& frame,
                            FunctionRef<bool()> accept) {
  steps_ = 0;
  frame.body = graph_.body_of(anchor);
  MatchRun run(*this, kept_);
  if (!run.Early(rule.pattern, frame)) return false;
  const PatStmt& stmt = rule.pattern.stmts[rule.pattern.anchor];
  return run.Statement(rule.pattern, stmt, anchor, frame, [&] {
    return run.Rest(rule.pattern, 0, frame, [&] {
      // Statements whose outputs the rule redefines match different nodes.
      std::vector<NodeId> nodes;
      for (const int s : rule.redefined) {
        for (const PatOut& out : rule.pattern.stmts[s].outs) {
          if (out.slot < 0) continue;
          const auto* v = frame.slots[out.slot].get_if<ValueId>();
          if (v == nullptr) continue;
          nodes.push_back(graph_.producer(*v));
          break;
        }
      }
      std::sort(nodes.begin(), nodes.end());
      if (std::adjacent_find(nodes.begin(), nodes.end()) != nodes.end()) return false;
      return accept();
    });
  });
}

Val Interpreter::ChooseCase(const std::vector<CompiledCase>& cases, Frame* around,
                            const std::vector<Val>& given, BodyId body,
                            FunctionRef<void(const CompiledCase&, Frame&)> chosen) {
  MatchRun run(*this);
  for (const CompiledCase& c : cases) {
    Frame frame(c.scope, around);
    frame.body = body;
    frame.locals = around != nullptr ? around->locals : nullptr;
    for (size_t i = 0; i < given.size(); ++i) frame.Bind(static_cast<int>(i), given[i]);
    bool taken = false;
    const auto take = [&] {
      taken = true;
      chosen(c, frame);
      return true;
    };
    if (!c.has_match) {
      Val condition = true;
      for (const PatWhere& w : c.pattern.where) {
        const Val truth = Truth(Eval(*w.expr, frame));
        if (truth.stops() || !truth.get<bool>()) {
          condition = truth;
          if (!truth.stops()) break;  // false, whatever the others are
        }
      }
      if (condition.stops()) return condition;
      if (condition.get<bool>()) take();
    } else {
      unknown_.clear();
      const bool possible =
          std::all_of(c.pattern.rest.begin(), c.pattern.rest.end(), [&](const PlanStep& s) {
            return frame.state[s.slot] != Frame::kBound || frame.slots[s.slot].is<ValueId>();
          });
      if (possible && run.Early(c.pattern, frame)) {
        run.Rest(c.pattern, 0, frame, [&] {
          for (const PatWhere& w : c.pattern.where) {
            // Others were tried when the search bound the last of their names.
            if (!w.needs.empty() && w.needs.back() >= static_cast<int>(given.size())) continue;
            const Val truth = Truth(Eval(*w.expr, frame));
            if (truth.is<Unknown>()) unknown_ = truth.why();
            if (truth.stops() || !truth.get<bool>()) return false;
          }
          return take();
        });
      }
      if (!taken && !unknown_.empty()) return Unknown{std::exchange(unknown_, "")};
    }
    if (taken) return true;
  }
  return false;
}

int64_t Interpreter::CountUses(ValueId v, const std::function<bool(NodeId)>& of) const {
  if (!of && uses_mark_ == SIZE_MAX) return graph_.num_uses(v);
  int64_t count = 0;
  for (const UseId u : graph_.uses(v)) {
    const User user = graph_.user(u);
    if (!user.is_output() && user.node.index >= uses_mark_) continue;
    if (of && (user.is_output() || !of(user.node))) continue;
    ++count;
  }
  return count;
}

void Interpreter::Note(const Place& place, NodeId node, std::string_view reason, int depth) {
  // Of equals the first counts: operands as they are written, before they are swapped.
  if (trace_ == nullptr || depth <= trace_->depth) return;
  trace_->depth = depth;
  trace_->place = place;
  trace_->node = node;
  trace_->reason = reason;
}

}  // namespace qrewrite
