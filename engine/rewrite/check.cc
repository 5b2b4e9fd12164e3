// Rewriter: what must hold of a patch as a whole before it becomes part of the graph: what is new
// reads what it can see, types stay, no cycle appears, and something changes.
#include <algorithm>
#include <unordered_set>

#include <fmt/format.h>

#include "engine/base/diagnostics.h"
#include "engine/graph/bgl.h"
#include "engine/graph/type_text.h"
#include "engine/ops/node_signature.h"
#include "engine/rewrite/rewriter.h"

namespace qrewrite {
namespace {

// So many nodes behind a reader are looked at to see that it goes.
constexpr int kMostGone = 64;

bool IsRetyped(const std::vector<std::pair<ValueId, DType>>& retypes, ValueId a, ValueId b) {
  return std::any_of(retypes.begin(), retypes.end(),
                     [&](const auto& t) { return t.first == a || t.first == b; });
}

}  // namespace

bool Rewriter::Check(const CompiledRule& rule, const Redefinitions& redefinitions,
                     const Retypes& retypes) {
  if (!CheckValues(redefinitions, retypes) || !CheckVisible() || !CheckRobbed()) return false;
  for (const Redefinition& r : redefinitions) {
    if (r.value == r.by) continue;
    if (!CheckType(r, IsRetyped(retypes, r.value, r.by))) return false;
    if (!CheckAlias(r)) return false;
  }
  if (!CheckRetypes(redefinitions, retypes) || !CheckOperands(redefinitions)) return false;
  // Only a rule that walked down, or that redefines another node than that of the anchor, which all
  // others lie in front of, can make a cycle; or one that uses a node again which reads what is
  // redefined.
  const bool inner =
      std::ranges::any_of(rule.redefined, [&](int stmt) { return stmt != rule.pattern.anchor; });
  const bool risky = rule.pattern.walks_down || inner;
  const bool cycle = (risky && MakesCycle(redefinitions, /*kept=*/false)) ||
                     (emitter_.reused() && MakesCycle(redefinitions, /*kept=*/true));
  if (cycle && emitter_.reused()) fault_ = SharingFault::kCycle;
  return !cycle || Reject("it would make a cycle");
}

bool Rewriter::CheckValues(const Redefinitions& redefinitions, const Retypes& retypes) {
  std::unordered_set<ValueId> seen;
  bool all_same = true, read = false;
  for (const Redefinition& r : redefinitions) {
    if (redefinitions.size() > 1 && !seen.insert(r.value).second) {
      return Reject("an output is redefined twice");
    }
    all_same &= r.value == r.by || DrawsAgain(r);
    read |= ReadBefore(r.value);
    if (graph_.body_of(r.value) != graph_.body_of(redefinitions[0].value)) {
      return Reject("the redefined outputs lie in different bodies");
    }
    if (!graph_.Encloses(graph_.body_of(r.by), graph_.body_of(r.value))) {
      return Reject(fmt::format("`{}` is not visible where `{}` is", graph_.name(r.by),
                                graph_.name(r.value)));
    }
  }
  for (const auto& [v, dtype] : retypes) {
    if (graph_.constant(v) != nullptr) {
      return Reject(
          fmt::format("`{}` has an initial value, which would be of the old type", graph_.name(v)));
    }
  }
  if (all_same && retypes.empty()) return Reject("the result would equal what was there");
  return read || !retypes.empty() || Reject("nothing reads what it redefines");
}

// Every new node, in a new subgraph too, reads values of its own body or of one around it.
bool Rewriter::CheckVisible() {
  const auto hidden = [&](ValueId v, BodyId from) {
    return v.valid() && !graph_.Encloses(graph_.body_of(v), from) &&
           !Reject(fmt::format("`{}` is not visible to a new node", graph_.name(v)));
  };
  for (size_t i = mark_.nodes; i < graph_.num_nodes(); ++i) {
    const NodeId n(i);
    for (size_t k = 0; k < graph_.num_inputs(n); ++k) {
      if (hidden(graph_.input(n, k), graph_.body_of(n))) return false;
    }
  }
  for (size_t b = mark_.bodies; b < graph_.num_bodies(); ++b) {
    for (size_t k = 0; k < graph_.body(BodyId(b)).outputs.size(); ++k) {
      if (hidden(graph_.output(BodyId(b), k), BodyId(b))) return false;
    }
  }
  return true;
}

// A node whose subgraphs a new one took goes with its last reader: nothing new reads what it makes.
bool Rewriter::CheckRobbed() {
  for (const NodeId n : emitter_.robbed()) {
    for (size_t i = 0; i < graph_.num_outputs(n); ++i) {
      const ValueId v = graph_.output(n, i);
      if (!v.valid() || !ReadByNew(v)) continue;
      fault_ = SharingFault::kBodies;
      return Reject("its subgraphs were given to another node");
    }
  }
  return true;
}

bool Rewriter::IsNew(const User& user) const {
  return user.is_output() ? user.body.index >= mark_.bodies : IsNew(user.node);
}

// Whether a new node reads `v`, or a new subgraph returns it.
bool Rewriter::ReadByNew(ValueId v) const {
  for (const UseId u : graph_.uses(v)) {
    if (IsNew(graph_.user(u))) return true;
  }
  return false;
}

// Uses are listed in order of creation: those of this patch come last.
bool Rewriter::ReadBefore(ValueId v) const {
  if (graph_.num_uses(v) == 0) return false;
  return !IsNew(graph_.user(*graph_.uses(v).begin()).node);
}

// Whether a graph output would become another name of a value, by an Identity.
bool Rewriter::MakesAlias(const Redefinition& r) const {
  // As in CommitOne: the output becomes a constant of its own, unless callers may override it.
  const bool becomes_constant = graph_.constant(r.by) != nullptr && !graph_.Overridable(r.by);
  return !IsNew(graph_.producer(r.by)) && graph_.IsOutput(r.value) && !becomes_constant &&
         !CanRename(r);
}

// Whether the new node that makes `r.by` is the one again that makes `r.value`.
bool Rewriter::MakesTheSame(const Redefinition& r) const {
  const NodeId now = graph_.producer(r.by), was = graph_.producer(r.value);
  if (!IsNew(now) || !was.valid() || graph_.op(now) != graph_.op(was) ||
      graph_.num_inputs(now) != graph_.num_inputs(was) ||
      graph_.attributes(now) != graph_.attributes(was)) {
    return false;
  }
  for (size_t i = 0; i < graph_.num_inputs(now); ++i) {
    if (graph_.input(now, i) != graph_.input(was, i)) return false;
  }
  return true;
}

// Random operators and nodes with subgraphs are never shared, so one that is made again is a new node. It is no change all the same, but in an upgrade,
// where one of the old opset becomes one of the new.
bool Rewriter::DrawsAgain(const Redefinition& r) const {
  const NodeId now = graph_.producer(r.by), was = graph_.producer(r.value);
  if (!now.valid() || !IsNew(now) || (was.valid() && !graph_.IsUpgraded(was))) return false;
  const Signature* s = in_.NodeSignature(now);
  return s != nullptr && (!s->deterministic || graph_.HasSubgraphs(now)) && MakesTheSame(r) &&
         graph_.output_index(r.by) == graph_.output_index(r.value) &&
         graph_.num_outputs(now) == graph_.num_outputs(graph_.producer(r.value));
}

// Of equal graph outputs each has a node of its own, unless it is the one that it has already: what
// is an Identity of another output matches other rules, and so could take the place of each of them.
bool Rewriter::CheckAlias(const Redefinition& r) {
  const Share share = emitter_.share();
  if (share == Share::kInner && MakesTheSame(r)) {
    return Reject("the result would equal what was there");
  }
  if (!MakesAlias(r)) return true;
  const NodeId producer = graph_.producer(r.value);
  const bool was =
      producer.valid() && graph_.op_name(graph_.op(producer)) == OpName{"", "Identity"};
  if (was && graph_.input(producer, 0) == r.by) {
    return Reject("it would leave the Identity that is there");
  }
  if (share != Share::kAll || (may_alias_ && !was)) return true;
  fault_ = SharingFault::kAlias;
  return Reject("it would leave an Identity of another graph output");
}

std::string Rewriter::ShapeText(const TypeInfo& type) const {
  return fmt::format("[{}]", fmt::join(DimTexts(graph_, type.dims), ", "));
}

bool Rewriter::CheckType(const Redefinition& r, bool retyped) {
  const TypeInfo& before = in_.facts().Type(r.value);
  const TypeInfo& after = in_.facts().Type(r.by);
  if (in_.rules().check_types && !retyped && before.dtype != DType::kUndefined &&
      after.dtype != DType::kUndefined && before.dtype != after.dtype) {
    return Mistyped(fmt::format("`{}` would change from {} to {}", graph_.name(r.value),
                                Info(before.dtype).name, Info(after.dtype).name));
  }
  if (!before.has_rank || !after.has_rank) return true;
  bool same = before.dims.size() == after.dims.size();
  for (size_t i = 0; same && i < before.dims.size(); ++i) {
    same = !before.dims[i].known() || !after.dims[i].known() || before.dims[i] == after.dims[i];
  }
  if (!same) return RejectShape(r, before, after);
  // What is inferred of an older operator leaves open what is inferred of the newer one.
  const NodeId former = graph_.producer(r.value);
  if (former.valid() && !graph_.IsUpgraded(former)) return true;
  if (!Differ(before, after)) return true;
  // The file may claim a size that its inputs do not have: what follows from them decides.
  const TypeInfo& was = in_.facts().InferredType(r.value);
  const TypeInfo& is = in_.facts().InferredType(r.by);
  return !Differ(was, is) || RejectShape(r, was, is);
}

bool Rewriter::RejectShape(const Redefinition& r, const TypeInfo& before, const TypeInfo& after) {
  return Mistyped(fmt::format("the shape of `{}` would change from {} to {}", graph_.name(r.value),
                              ShapeText(before), ShapeText(after)));
}

// Whether callers can choose sizes for which the shapes are not the same: a size that is a number, or
// free, is another one. What is unknown may be the same.
bool Rewriter::Differ(const TypeInfo& a, const TypeInfo& b) {
  if (!a.has_rank || !b.has_rank) return false;
  if (a.dims.size() != b.dims.size()) return true;
  const auto sure = [this](Dim d) { return d.known() || IsFree(d); };
  for (size_t i = 0; i < a.dims.size(); ++i) {
    if (a.dims[i] != b.dims[i] && sure(a.dims[i]) && sure(b.dims[i])) return true;
  }
  return false;
}

// A symbol of the model's inputs: callers choose the size. Other symbols are names that exporters gave
// to sizes they did not know.
bool Rewriter::IsFree(Dim dim) {
  if (!dim.symbolic()) return false;
  if (!free_symbols_) {
    free_symbols_.emplace();
    for (const ValueId v : graph_.inputs()) {
      for (const Dim d : graph_.declared(v).dims) {
        if (d.symbolic()) free_symbols_->insert(d.symbol());
      }
    }
  }
  return free_symbols_->contains(dim.symbol());
}

// What new nodes read and say suits them; where those before did not either, the model is such.
bool Rewriter::CheckOperands(const Redefinitions& redefinitions) {
  for (size_t i = mark_.nodes; i < graph_.num_nodes(); ++i) {
    const NodeId n(i);
    if (!in_.facts().Contradicts(n)) continue;
    const bool as_before =
        std::any_of(redefinitions.begin(), redefinitions.end(), [&](const Redefinition& r) {
          const NodeId former = graph_.producer(r.value);
          return former.valid() && in_.facts().Contradicts(former);
        });
    return as_before || Mistyped(fmt::format("its inputs and attributes do not suit {}",
                                             graph_.op_name(graph_.op(n)).text()));
  }
  return true;
}

// What gets a new type: who makes it does so in that type, and who reads it, or what becomes another
// name of it, can.
bool Rewriter::CheckRetypes(const Redefinitions& redefinitions, const Retypes& retypes) {
  if (!in_.rules().check_types) return true;
  for (const auto& [v, dtype] : retypes) {
    if (!CheckReaders(v, dtype, redefinitions)) return false;
    for (const Redefinition& r : redefinitions) {
      if (r.by == v && r.by != r.value && !CheckReaders(r.value, dtype, redefinitions))
        return false;
      if (r.value != v || r.by == v) continue;
      const DType made = in_.facts().Type(r.by).dtype;
      const bool new_type =
          std::ranges::any_of(retypes, [&](const auto& t) { return t.first == r.by; });
      if (new_type || made == dtype || made == DType::kUndefined) continue;
      return Mistyped(fmt::format("retype: `{}` would be {}, but what makes it gives {}",
                                  graph_.name(v), Info(dtype).name, Info(made).name));
    }
  }
  return true;
}

bool Rewriter::CheckReaders(ValueId v, DType dtype, const Redefinitions& redefinitions) {
  for (const UseId u : graph_.uses(v)) {
    const User user = graph_.user(u);
    if (user.is_output()) continue;
    const Signature* s = in_.NodeSignature(user.node);
    if (s == nullptr || s->inputs.empty()) continue;
    const int var = FormalInput(*s, user.index)->type_var;
    if (var < 0 || s->types[var].Allows(dtype)) continue;
    int steps = kMostGone;
    if (!IsNew(user.node) && Goes(user.node, redefinitions, steps)) continue;
    return Mistyped(fmt::format("{} cannot read `{}` as {}",
                                graph_.op_name(graph_.op(user.node)).text(), graph_.name(v),
                                Info(dtype).name));
  }
  return true;
}

// Whether nobody reads what the node makes any more, once the outputs are redefined. `steps`: so many
// nodes are looked at.
bool Rewriter::Goes(NodeId n, const Redefinitions& redefinitions, int& steps) const {
  if (--steps < 0) return false;
  for (size_t i = 0; i < graph_.num_outputs(n); ++i) {
    const ValueId v = graph_.output(n, i);
    if (!v.valid() || std::ranges::any_of(redefinitions, [&](const Redefinition& r) {
          return r.value == v && r.by != v;
        })) {
      continue;
    }
    for (const UseId u : graph_.uses(v)) {
      const User user = graph_.user(u);
      if (user.is_output() || IsNew(user.node) || !Goes(user.node, redefinitions, steps))
        return false;
    }
  }
  return true;
}

// What new nodes and aliases read must not depend on what is redefined.
bool Rewriter::MakesCycle(const Redefinitions& redefinitions, bool kept) {
  if (redefinitions.empty()) return false;  // types alone change
  std::vector<NodeId> taps, targets;
  std::unordered_set<ValueId> redefined;
  for (const Redefinition& r : redefinitions) redefined.insert(r.value);
  const BodyId body = graph_.body_of(redefinitions[0].value);
  const auto read = [&](ValueId v) {
    if (!v.valid() || !graph_.producer(v).valid() || IsNew(graph_.producer(v))) return;
    if (kept && redefined.contains(v)) return;
    const NodeId in_body = graph_.AncestorIn(body, graph_.producer(v));
    if (in_body.valid()) taps.push_back(in_body);
  };
  for (size_t n = mark_.nodes; n < graph_.num_nodes(); ++n) {
    for (size_t i = 0; i < graph_.num_inputs(NodeId(n)); ++i) read(graph_.input(NodeId(n), i));
  }
  for (size_t b = mark_.bodies; b < graph_.num_bodies(); ++b) {
    const size_t outputs = graph_.body(BodyId(b)).outputs.size();
    for (size_t i = 0; i < outputs; ++i) read(graph_.output(BodyId(b), i));
  }
  for (const Redefinition& r : redefinitions) {
    if (r.value == r.by) continue;
    const NodeId producer = graph_.producer(r.by);
    if (producer.valid() && !IsNew(producer) && graph_.body_of(producer) == body) {
      taps.push_back(producer);
    }
    if (graph_.producer(r.value).valid()) targets.push_back(graph_.producer(r.value));
  }
  uint32_t lowest = UINT32_MAX;
  for (const NodeId n : targets) lowest = std::min(lowest, rank(n));
  return DependsOn(graph_, body, taps, targets,
                   [&](NodeId n) { return ordered_ && !IsNew(n) && rank(n) < lowest; });
}

}  // namespace qrewrite
