// Phases other than rules: other rule sets, folding, spelled-out defaults and shapes, names. Opset
// upgrades are in upgrade.cc.
#include <algorithm>
#include <iterator>

#include <fmt/format.h>

#include "engine/driver/run.h"
#include "engine/rewrite/edit.h"
#include "engine/rewrite/inline_calls.h"

namespace qrewrite {

// --- other rule sets

Status RuleRun::UsePhase(const Phase& phase) {
  ForgetAll();  // two of everything would be in memory
  RuleRun inner(graph_, *CodeOf(phase).use, ParamsOfUsed(*phase.use, params_), setup_, report_);
  QR_RETURN_IF_ERROR(inner.RunPhases());
  std::move(inner.records_.begin(), inner.records_.end(), std::back_inserter(records_));
  ForgetAll();
  return {};
}

// --- folding

Status RuleRun::EachNode(FunctionRef<Status(NodeId)> visit) {
  QR_RETURN_IF_ERROR(FindOrder());
  size_t done = 0;
  for (const NodeId n : order_) {
    QR_RETURN_IF_ERROR(watch_.Visit(done++, order_.size()));
    if (watch_.stopped()) break;
    if (graph_.alive(n)) QR_RETURN_IF_ERROR(visit(n));
  }
  return {};
}

Result<bool> RuleRun::FoldNode(const Phase& phase, NodeId n) {
  if (Kept(n)) return false;
  const OpName& op = graph_.op_name(graph_.op(n));
  const bool wanted =
      phase.ops.empty() || std::any_of(phase.ops.begin(), phase.ops.end(),
                                       [&](const OpPattern& p) { return p.Matches(op); });
  if (!wanted) return false;
  std::vector<std::pair<ValueId, Tensor>> folded;
  bool all = graph_.num_outputs(n) > 0;
  for (size_t i = 0; i < graph_.num_outputs(n) && all; ++i) {
    const ValueId v = graph_.output(n, i);
    if (!v.valid() || graph_.num_uses(v) == 0) continue;
    const Tensor* t = facts_.Constant(v);
    all = t != nullptr;
    if (all) folded.emplace_back(v, *t);
  }
  QR_RETURN_IF_ERROR(in_.host_fault());
  if (!all || folded.empty()) return false;
  for (auto& [v, tensor] : folded) {
    MakeConstant(graph_, v, std::move(tensor));
    facts_.Folded(v);
  }
  std::vector<NodeId> dead = {n};
  RemoveDead(graph_, dead);
  ordered_ = false;
  return true;
}

namespace {

// A function has no initializers: its constants are nodes in a file.
bool HoldsConstant(const Graph& graph, NodeId n) {
  const Attributes& attributes = graph.attributes(n);
  return graph.alive(n) && graph.num_inputs(n) == 0 && attributes.size() == 1 &&
         std::holds_alternative<Tensor>(attributes.begin()->value);
}

}  // namespace

// Constants of functions as they are read, and will be written again: that is no change.
Status RuleRun::TakeConstantsOfFunctions(const Phase& phase) {
  const bool changed = graph_.changed();
  for (size_t b = 0; b < graph_.num_bodies(); ++b) {
    const Body& body = graph_.body(BodyId(b));
    if (body.kind != BodyKind::kFunction || !body.alive) continue;
    const std::vector<NodeId> nodes = body.nodes;
    for (const NodeId n : nodes) {
      if (HoldsConstant(graph_, n)) QR_RETURN_IF_ERROR(FoldNode(phase, n).status());
    }
  }
  if (!changed) graph_.ClearDirty();
  return {};
}

Status RuleRun::FoldPhase(const Phase& phase) {
  report_.removed += RemoveUnused(graph_);
  report_.cleaned = true;
  QR_RETURN_IF_ERROR(TakeConstantsOfFunctions(phase));
  const int64_t before = report_.folded;
  QR_RETURN_IF_ERROR(EachNode([&](NodeId n) -> Status {
    QR_ASSIGN_OR_RETURN(const bool folded, FoldNode(phase, n));
    report_.folded += folded ? 1 : 0;
    return {};
  }));
  folded_ = report_.folded > before;
  rewriter_.ForgetIndexes();
  if (facts_.over_budget() > 0 && !over_budget_) {
    over_budget_ = true;
    report_.warnings.push_back(
        {.text = fmt::format(
             "{} nodes that compute constants stay: folding took its share of work and memory",
             facts_.over_budget())});
  }
  return {};
}

// For targets that do not know that callers may override initializers.
Status RuleRun::FreezeInputs() {
  report_.edits += qrewrite::FreezeInputs(graph_);
  ForgetAll();
  return {};
}

// For targets that know no local functions, and so that rules see across their borders.
Status RuleRun::InlineFunctions() {
  QR_ASSIGN_OR_RETURN(const InlinedCalls done,
                      InlineCalls(graph_, [&](NodeId n) { return Kept(n); }));
  for (const std::string& why : done.left) report_.warnings.push_back({.text = why});
  if (done.calls == 0) return {};
  report_.edits += done.calls;
  report_.removed += RemoveUnused(graph_);
  ForgetAll();
  return {};
}

// --- spelled-out attributes, shapes, names

Status RuleRun::WriteDefaults(const Phase& phase) {
  return EachNode([&](NodeId n) -> Status {
    const OpName& op = graph_.op_name(graph_.op(n));
    const bool wanted =
        phase.ops.empty() || std::any_of(phase.ops.begin(), phase.ops.end(),
                                         [&](const OpPattern& p) { return p.Matches(op); });
    const Signature* s = wanted && !Kept(n) ? facts_.SignatureOf(n) : nullptr;
    if (s == nullptr) return {};
    for (const FormalAttribute& formal : s->attributes) {
      if (graph_.attributes(n).Find(formal.name) != nullptr) continue;
      if (!phase.attributes.empty() && std::find(phase.attributes.begin(), phase.attributes.end(),
                                                 formal.name) == phase.attributes.end()) {
        continue;
      }
      const Val value = in_.DefaultOf(n, formal);
      if (value.absent() || value.stops()) continue;
      Result<AttrValue> attr = in_.ToAttribute(value, formal.kind);
      if (!attr.ok()) continue;  // a fact is missing: the default stays unwritten
      WriteAttribute(graph_, n, formal.name, *std::move(attr));
      ++report_.edits;
    }
    return {};
  });
}

Status RuleRun::WriteShapes() {
  return EachNode([&](NodeId n) -> Status {
    for (size_t i = 0; i < graph_.num_outputs(n); ++i) {
      const ValueId v = graph_.output(n, i);
      if (!v.valid()) continue;
      const TypeInfo type = facts_.Type(v);
      if (type.dtype == DType::kUndefined || !type.has_rank || type == graph_.declared(v)) continue;
      DeclareType(graph_, v, type);
      ++report_.edits;
    }
    return {};
  });
}

Status RuleRun::RenameAll(const Phase& phase) {
  report_.edits += qrewrite::RenameAll(graph_, phase.rename);
  return {};
}

}  // namespace qrewrite
