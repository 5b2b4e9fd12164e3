// From a bound value down to the node of another statement: over the uses, level by level.
#include <algorithm>
#include <map>
#include <unordered_set>

#include <fmt/format.h>

#include "engine/base/diagnostics.h"
#include "engine/match/match_run.h"

namespace qrewrite {

bool MatchRun::Down(const Pattern& pattern, const PatStmt& stmt, int slot, Frame& frame,
                    Next next) {
  const ValueId from = *frame.value(slot);
  std::vector<ValueId> roots;
  Climb(stmt.value, slot, from, roots);
  if (stmt.value.call->definition >= 0 || stmt.value.call->quantifier != Quantifier::kOne) {
    // What the statement makes may be no node's: a chain of no steps ends where it starts.
    std::unordered_set<ValueId> tried;
    for (const ValueId v : roots) {
      if (!tried.insert(v).second) continue;
      const bool found = Value(pattern, stmt.value, v, frame, [&] {
        if (stmt.outs[0].slot < 0) return next();
        return Bind(pattern, stmt.outs[0].slot, v, frame, stmt.stmt->place, next);
      });
      if (found) return true;
    }
    if (!roots.empty()) return false;
  }
  std::unordered_set<NodeId> tried;
  for (const ValueId v : roots) {
    const NodeId n = graph_.producer(v);
    if (!n.valid() || !tried.insert(n).second) continue;
    if (Statement(pattern, stmt, n, frame, next)) return true;
  }
  if (!tried.empty()) return false;
  return Fail(stmt.stmt->place, NodeId(),
              fmt::format("no reader of `{}` fits", Printable(graph_.name(from))));
}

// Values that `arg` may be if the name in `slot` is `from`: over the uses, level by level.
void MatchRun::Climb(const PatArg& arg, int slot, ValueId from, std::vector<ValueId>& out) {
  if (arg.kind == PatArg::Kind::kName) {
    if (arg.slot == slot) out.push_back(from);
    return;
  }
  if (arg.kind == PatArg::Kind::kGroup) {
    for (const PatArg& a : arg.group) Climb(a, slot, from, out);
    return;
  }
  if (arg.kind != PatArg::Kind::kCall) return;
  const PatCall& call = *arg.call;
  std::vector<ValueId> below;
  for (size_t i = 0; i < call.args.size(); ++i) {
    const std::vector<int>& inner = call.args[i].inner;
    if (std::find(inner.begin(), inner.end(), slot) == inner.end()) continue;
    if (call.definition >= 0) {
      ClimbDefinition(call, i, slot, from, out);
    } else {
      Climb(call.args[i], slot, from, below);
    }
  }
  if (call.definition >= 0) return;
  if (call.quantifier != Quantifier::kOne && call.quantifier != Quantifier::kPlus) {
    out.insert(out.end(), below.begin(), below.end());
  }
  const bool many = call.quantifier == Quantifier::kStar || call.quantifier == Quantifier::kPlus;
  for (size_t i = 0; i < below.size(); ++i) {
    std::vector<ValueId> made;
    Readers(call.ops, below[i], made);
    out.insert(out.end(), made.begin(), made.end());
    if (many) below.insert(below.end(), made.begin(), made.end());
  }
}

void MatchRun::ClimbDefinition(const PatCall& call, size_t param, int slot, ValueId from,
                               std::vector<ValueId>& out) {
  std::vector<ValueId> below;
  Climb(call.args[param], slot, from, below);
  const CompiledDefinition& d = in_.program_.definition(call.definition);
  for (const CompiledCase& c : d.cases) {
    // What names of the case may be: a statement that reads one says what its outputs may be. As
    // many rounds as there are statements, for they stand in any order.
    std::map<int, std::vector<ValueId>> may_be = {{static_cast<int>(param), below}};
    const auto add = [&](int name, ValueId v) {
      std::vector<ValueId>& values = may_be[name];
      if (std::find(values.begin(), values.end(), v) == values.end()) values.push_back(v);
    };
    for (size_t round = 0; round < c.pattern.stmts.size(); ++round) {
      for (const PatStmt& stmt : c.pattern.stmts) {
        std::vector<ValueId> made;
        for (const int name : stmt.value.inner) {
          const auto known = may_be.find(name);
          if (known == may_be.end()) continue;
          for (const ValueId v : known->second) Climb(stmt.value, name, v, made);
        }
        for (const PatOut& o : stmt.outs) {
          if (o.slot < 0) continue;
          for (const ValueId v : made) AddOutputs(v, [&](ValueId w) { add(o.slot, w); });
        }
      }
    }
    const std::vector<ValueId>& roots = may_be[d.num_params];
    out.insert(out.end(), roots.begin(), roots.end());
  }
}

// `v`, and what else its producer makes.
void MatchRun::AddOutputs(ValueId v, FunctionRef<void(ValueId)> add) {
  add(v);
  const NodeId n = graph_.producer(v);
  for (size_t i = 0; n.valid() && i < graph_.num_outputs(n); ++i) {
    if (graph_.output(n, i).valid()) add(graph_.output(n, i));
  }
}

void MatchRun::Readers(const OpHead& ops, ValueId v, std::vector<ValueId>& out) {
  std::unordered_set<NodeId> seen;
  for (const UseId u : graph_.uses(v)) {
    const User user = graph_.user(u);
    if (user.is_output() || !in_.Accepts(ops, graph_.op(user.node))) continue;
    if (!seen.insert(user.node).second) continue;
    for (size_t i = 0; i < graph_.num_outputs(user.node); ++i) {
      if (graph_.output(user.node, i).valid()) {
        out.push_back(graph_.output(user.node, i));
        break;
      }
    }
  }
}

}  // namespace qrewrite
