// From a bound value down to the node of another statement: over the uses, level by level.
#include <algorithm>
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
  std::vector<NodeId> nodes;
  std::unordered_set<NodeId> seen;
  for (const ValueId v : roots) {
    const NodeId n = graph_.producer(v);
    if (n.valid() && seen.insert(n).second) nodes.push_back(n);
  }
  if (nodes.empty()) {
    return Fail(stmt.stmt->place, NodeId(),
                fmt::format("no reader of `{}` fits", Printable(graph_.name(from))));
  }
  for (const NodeId n : nodes) {
    if (stmt.value.call->definition < 0 && stmt.value.call->quantifier == Quantifier::kOne) {
      if (Statement(pattern, stmt, n, frame, next)) return true;
      continue;
    }
    for (const ValueId v : roots) {
      if (graph_.producer(v) != n) continue;
      const bool found = Value(pattern, stmt.value, v, frame, [&] {
        return Bind(pattern, stmt.outs[0].slot, v, frame, stmt.stmt->place, next);
      });
      if (found) return true;
    }
  }
  return false;
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
  const int root = d.num_params;
  for (const CompiledCase& c : d.cases) {
    for (const PatStmt& stmt : c.pattern.stmts) {
      const bool is_root = std::any_of(stmt.outs.begin(), stmt.outs.end(),
                                       [&](const PatOut& o) { return o.slot == root; });
      if (!is_root) continue;
      for (const ValueId v : below) Climb(stmt.value, static_cast<int>(param), v, out);
    }
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
