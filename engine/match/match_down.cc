// From a bound value down to the node of another statement: over the uses, level by level.
#include <algorithm>
#include <map>
#include <optional>
#include <unordered_set>

#include <fmt/format.h>

#include "engine/base/diagnostics.h"
#include "engine/base/flat_map.h"
#include "engine/match/match_run.h"

namespace qrewrite {

// Readers are tried as they are found: a value may have very many.
bool MatchRun::Down(Scope scope, const PatStmt& stmt, int slot, ValueId from, Next next) {
  std::unordered_set<uint32_t> tried;
  const auto node = [&](ValueId v) {
    const NodeId n = graph_.producer(v);
    if (!n.valid() || !tried.insert(n.index).second) return false;
    return Statement(scope, stmt, n, next);
  };
  // What a definition or a chain makes may be no node's: a chain of no steps ends where it starts.
  const auto value = [&](ValueId v) {
    if (!tried.insert(v.index).second) return false;
    return Value(scope, stmt.value, v, [&] {
      if (stmt.outs[0].slot < 0) return next();
      return Bind(scope, stmt.outs[0].slot, v, stmt.stmt->place, next);
    });
  };
  const bool one_node = stmt.value.call->is_one_node();
  const std::optional<Join> join =
      one_node ? JoinOf(*stmt.value.call, slot, scope.frame) : std::nullopt;
  if (one_node ? Climb(stmt.value, slot, from, node, join ? &*join : nullptr)
               : Climb(stmt.value, slot, from, value)) {
    return true;
  }
  if (!tried.empty() || in_.trace_ == nullptr) return false;
  return Fail(stmt.stmt->place, NodeId(),
              fmt::format("no reader of `{}` fits", Printable(graph_.name(from))));
}

// Calls `found` with the values that `arg` may be if the name in `slot` is `from`, over the uses, level
// by level, until it returns true.
bool MatchRun::Climb(const PatArg& arg, int slot, ValueId from, Found found, const Join* join) {
  if (arg.kind == PatArg::Kind::kName) return arg.slot == slot && found(from);
  if (arg.kind == PatArg::Kind::kGroup) {
    return std::any_of(arg.members().begin(), arg.members().end(),
                       [&](const PatArg& a) { return Climb(a, slot, from, found); });
  }
  if (arg.kind != PatArg::Kind::kCall) return false;
  const PatCall& call = *arg.call;
  const auto through = [&](FunctionRef<bool(size_t)> take) {
    for (size_t i = 0; i < call.args.size(); ++i) {
      const std::span<const int> inner = call.args[i].slots();
      if (std::find(inner.begin(), inner.end(), slot) != inner.end() && take(i)) return true;
    }
    return false;
  };
  if (call.definition >= 0) {
    return through([&](size_t i) { return ClimbDefinition(call, i, slot, from, found); });
  }
  if (call.quantifier == Quantifier::kOne) {
    return through([&](size_t i) {
      return Climb(call.args[i], slot, from,
                   [&](ValueId v) { return Readers(call.ops, v, found, join); });
    });
  }
  std::vector<ValueId> below;
  std::unordered_set<uint32_t> seen;
  const auto keep = [&](ValueId v) {
    if (seen.insert(v.index).second) below.push_back(v);
    return false;
  };
  through([&](size_t i) { return Climb(call.args[i], slot, from, keep); });
  if (call.quantifier != Quantifier::kPlus && std::any_of(below.begin(), below.end(), found)) {
    return true;
  }
  for (size_t i = 0; i < below.size(); ++i) {
    const auto made = [&](ValueId v) {
      if (call.quantifier != Quantifier::kOptional) keep(v);
      return found(v);
    };
    if (Readers(call.ops, below[i], made, nullptr)) return true;
  }
  return false;
}

bool MatchRun::ClimbDefinition(const PatCall& call, size_t param, int slot, ValueId from,
                               Found found) {
  struct Values {
    std::vector<ValueId> list;
    std::unordered_set<uint32_t> seen;
    bool Add(ValueId v) {
      if (seen.insert(v.index).second) list.push_back(v);
      return false;
    }
  };
  Values below;
  Climb(call.args[param], slot, from, [&](ValueId v) { return below.Add(v); });
  const CompiledDefinition& d = in_.program_.definition(call.definition);
  for (const CompiledCase& c : d.cases) {
    // What names of the case may be: a statement that reads one says what its outputs may be. As
    // many rounds as there are statements, for they stand in any order.
    std::map<int, Values> may_be = {{static_cast<int>(param), below}};
    for (size_t round = 0; round < c.pattern.stmts.size(); ++round) {
      for (const PatStmt& stmt : c.pattern.stmts) {
        Values made;
        for (const int name : stmt.value.slots()) {
          const auto known = may_be.find(name);
          if (known == may_be.end()) continue;
          for (const ValueId v : known->second.list) {
            Climb(stmt.value, name, v, [&](ValueId w) { return made.Add(w); });
          }
        }
        for (const PatOut& o : stmt.outs) {
          if (o.slot < 0) continue;
          for (const ValueId v : made.list)
            AddOutputs(v, [&](ValueId w) { may_be[o.slot].Add(w); });
        }
      }
    }
    const std::vector<ValueId>& roots = may_be[d.num_params].list;
    if (std::any_of(roots.begin(), roots.end(), found)) return true;
  }
  return false;
}

// `v`, and what else its producer makes.
void MatchRun::AddOutputs(ValueId v, FunctionRef<void(ValueId)> add) {
  add(v);
  const NodeId n = graph_.producer(v);
  for (size_t i = 0; n.valid() && i < graph_.num_outputs(n); ++i) {
    if (graph_.output(n, i).valid()) add(graph_.output(n, i));
  }
}

// An input of `call` where the pattern has another name that is bound to a value: whatever matches
// reads the same there.
std::optional<MatchRun::Join> MatchRun::JoinOf(const PatCall& call, int slot, const Frame& frame) {
  if (in_.trace_ != nullptr || call.positional.size() != call.args.size()) return std::nullopt;
  for (size_t i = 0; i < call.positional.size(); ++i) {
    const PatArg& arg = *call.positional[i];
    // Behind these an argument may stand for an input of another number.
    if (arg.optional || arg.repeated || arg.kind == PatArg::Kind::kGroup) return std::nullopt;
    const ValueId* bound =
        arg.kind == PatArg::Kind::kName && arg.slot != slot ? frame.value(arg.slot) : nullptr;
    if (bound != nullptr) return Join{i, *bound};
  }
  return std::nullopt;
}

// Equal for values that Interpreter::Same() says are the same.
uint64_t MatchRun::JoinKey(ValueId v) {
  const Tensor* t = in_.facts_.Constant(v);
  if (t == nullptr) return Mixed(v.index);
  const uint64_t type =
      HashMix(static_cast<uint64_t>(t->dtype()), static_cast<uint64_t>(t->size()));
  if (t->is_lazy() || t->is_string() || t->byte_size() > Tensor::kSmallBytes) return type;
  return HashBytes(t->bytes(), type);
}

// The first output of each node that reads `v`; with `join` at least of those that match there.
bool MatchRun::Readers(const OpHead& ops, ValueId v, Found found, const Join* join) {
  const auto take = [&](NodeId n) {
    for (size_t i = 0; i < graph_.num_outputs(n); ++i) {
      if (graph_.output(n, i).valid()) return found(graph_.output(n, i));
    }
    return false;
  };
  const auto each = [&](FunctionRef<bool(NodeId)> node) {
    NodeId last;
    for (const UseId u : graph_.uses(v)) {
      const User user = graph_.user(u);
      if (user.is_output() || user.node == last) continue;
      last = user.node;
      if (in_.Accepts(ops, graph_.op(last)) && node(last)) return true;
    }
    return false;
  };
  constexpr uint32_t kMany = 64;
  if (graph_.num_uses(v) <= kMany || in_.uses_mark_ != SIZE_MAX) return each(take);
  WideReaders& readers = in_.readers_[{&ops, v}];
  if (readers.changes != in_.changes_) {
    readers = {.changes = in_.changes_, .listed = false, .nodes = {}, .by_input = {}};
    return each(take);
  }
  if (!readers.listed) {
    readers.listed = true;
    each([&](NodeId n) {
      readers.nodes.push_back(n);
      return false;
    });
  }
  return std::ranges::any_of(join == nullptr ? readers.nodes : Joined(readers, *join), take);
}

// Of two inputs that commute either may be the one.
const std::vector<NodeId>& MatchRun::Joined(WideReaders& readers, const Join& join) {
  const auto [at, added] = readers.by_input.try_emplace(join.input);
  auto& by_key = at->second;
  if (added) {
    for (const NodeId n : readers.nodes) {
      const Signature* signature = in_.NodeSignature(n);
      const bool commutes =
          graph_.num_inputs(n) == 2 && signature != nullptr && signature->commutative;
      const auto keep = [&](size_t i) {
        if (i >= graph_.num_inputs(n) || !graph_.input(n, i).valid()) return;
        std::vector<NodeId>& same = by_key[JoinKey(graph_.input(n, i))];
        if (same.empty() || same.back() != n) same.push_back(n);
      };
      keep(commutes ? 0 : join.input);
      if (commutes) keep(1);
    }
  }
  return by_key[JoinKey(join.value)];
}

}  // namespace qrewrite
