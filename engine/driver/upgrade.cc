// Opset upgrades (`to_opset: N`): one sweep in every graph and function body whose import is
// below N. Patterns read the old signatures, replacements the new ones, emitted nodes are not
// visited. What no rule touched must mean at N what it says.
#include <algorithm>
#include <limits>

#include <fmt/format.h>

#include "engine/base/diagnostics.h"
#include "engine/driver/host_fault.h"
#include "engine/driver/run.h"
#include "engine/ops/node_signature.h"
#include "engine/rewrite/edit.h"

namespace qrewrite {
namespace {

std::string InputFault(const Graph& graph, NodeId n, const Signature& s) {
  const size_t count = graph.num_inputs(n);
  if (count > static_cast<size_t>(s.max_inputs) || count < static_cast<size_t>(s.min_inputs)) {
    return fmt::format("cannot have {} inputs", count);
  }
  for (size_t i = 0; i < count; ++i) {
    const FormalValue& formal = *FormalInput(s, i);
    if (!graph.input(n, i).valid() && formal.arity != Arity::kOptional) {
      return fmt::format("needs its input {}", formal.name);
    }
  }
  return "";
}

// The node has none of what it needs one of.
std::string NeedsOneFault(const Graph& graph, NodeId n, const Signature& s) {
  const auto is_there = [&](const std::string& name) {
    const int input = s.InputIndex(name);
    if (input < 0) return graph.attributes(n).Find(name) != nullptr;
    const auto i = static_cast<size_t>(input);
    return i < graph.num_inputs(n) && graph.input(n, i).valid();
  };
  if (s.needs_one.empty() || std::ranges::any_of(s.needs_one, is_there)) return "";
  return fmt::format("needs its {}", fmt::join(s.needs_one, " or its "));
}

// A default that changed changes the meaning of a node that relies on it.
std::string DefaultFault(const Graph& graph, NodeId n, const Signature& before,
                         const Signature& s) {
  for (const FormalAttribute& formal : s.attributes) {
    if (graph.attributes(n).Find(formal.name) != nullptr) continue;
    if (formal.required) return fmt::format("needs attribute `{}`", formal.name);
    const FormalAttribute* old = before.FindAttribute(formal.name);
    if (old != nullptr && !Equal(old->default_value, formal.default_value)) {
      return fmt::format("has another default for `{}`", formal.name);
    }
  }
  return "";
}

// The main graph and the functions whose import is below `opset`, by id.
std::vector<BodyId> BodiesBelow(const Graph& graph, int64_t opset) {
  std::vector<BodyId> lower;
  for (size_t b = 0; b < graph.num_bodies(); ++b) {
    const Body& body = graph.body(BodyId(b));
    if (!body.alive || body.kind == BodyKind::kSubgraph) continue;
    const int64_t now = graph.OpsetOf(BodyId(b), "");
    if (now > 0 && now < opset) lower.emplace_back(b);
  }
  return lower;
}

// The IR version that came with an opset.
int64_t IrVersionOf(int64_t opset) {
  // The last opset of each IR version from 3 on.
  constexpr int64_t kLast[] = {8, 9, 10, 11, 14, 18, 20, 22, 23, 24, 27};
  int64_t ir = 3;
  for (const int64_t last : kLast) ir += opset > last;
  return ir;
}

}  // namespace

Status RuleRun::ToOpset(const Phase& phase, const std::vector<std::string>& rules) {
  const std::optional<int64_t> target = in_.Force(EvalPlain(CodeOf(phase).to_opset)).whole();
  if (!target) {
    return {StatusCode::kInvalidRules,
            fmt::format("phase `{}`: to_opset is no integer", phase.name)};
  }
  const int64_t opset = *target;
  const std::vector<BodyId> lower = BodiesBelow(graph_, opset);
  if (lower.empty()) return {};
  if (opset > NewestOpset()) {
    return {StatusCode::kUnsupported,
            fmt::format("phase `{}`: the newest ai.onnx opset is {}, not {}", phase.name,
                        NewestOpset(), opset)};
  }
  // One step: half of it is no model.
  if (watch_.at_limit()) watch_.Stop();
  if (watch_.stopped()) return {};
  report_.removed += RemoveDeadNodes(graph_);  // what nobody reads has no rule
  QR_RETURN_IF_ERROR(FindOrder());
  std::vector<NodeId> order = order_;
  std::erase_if(order, [&](NodeId n) {
    return !std::ranges::binary_search(lower, RootOf(graph_, graph_.body_of(n)));
  });
  QR_RETURN_IF_ERROR(UpgradeNodes(phase, rules, opset, order));
  QR_RETURN_IF_ERROR(Refusals());
  QR_RETURN_IF_ERROR(FaultsAt(order, opset));
  RaiseOpset(graph_, lower, opset);
  LeaveIr3(graph_);  // before initializers that are inputs could be overridden
  RaiseIrVersion(graph_, IrVersionOf(opset));
  ++report_.edits;
  ForgetAll();
  return {};
}

Status RuleRun::UpgradeNodes(const Phase& phase, const std::vector<std::string>& rules,
                             int64_t opset, const std::vector<NodeId>& order) {
  phase_rewrites_ = 0;
  budget_ = std::numeric_limits<int64_t>::max();  // one sweep comes to an end by itself
  rewriter_.ForgetIndexes();
  graph_.BeginUpgrade(opset);
  Status status;
  size_t done = 0;
  in_.set_words(true);  // a refusal says what a rule lacked
  for (const NodeId n : order) {
    if (status.ok()) status = watch_.Visit(done++, order.size());
    if (status.ok() && graph_.alive(n)) status = UpgradeNode(phase, rules, n);
  }
  in_.set_words(false);
  graph_.EndUpgrade();
  rewriter_.ForgetIndexes();
  return status;
}

// The first rule that matches fires. One that matches but lacks a fact for its replacement leaves a
// node in the old form, which may look valid at the new opset and mean something else.
Status RuleRun::UpgradeNode(const Phase& phase, const std::vector<std::string>& rules, NodeId n) {
  std::string why;
  for (const std::string& name : rules) {
    const Rule* rule = rules_.FindRule(name);
    if (rule == nullptr || !RuleApplies(*rule)) continue;
    const CompiledRule& compiled = Compiled(*rule);
    const PatCall* call = compiled.pattern.stmts[compiled.pattern.anchor].value.call.get();
    if (call->definition < 0 && !call->ops.Accepts(graph_.op_name(graph_.op(n)))) continue;
    const Firing& firing = Try(phase, compiled, n);
    if (!firing.exhausted.empty()) return TooManySteps(*rule, n, firing.exhausted);
    QR_RETURN_IF_ERROR(HostFault(in_, *rule, n));
    if (!firing.fired && !firing.rejected.empty()) {
      why = fmt::format("rule `{}` fits, but {}", name, firing.rejected);
    }
    if (!firing.fired) continue;
    return firing.changed ? CountFiring(phase, compiled, firing, n)
                          : NoteFinding(compiled, firing, n);
  }
  if (!why.empty()) {
    refusals_.push_back(
        {.severity = Severity::kError, .message = fmt::format("{}: {}", RefusedNode(n), why)});
  }
  return {};
}

// kRefused: all nodes that no rule touched and that would mean something else at `opset`.
Status RuleRun::FaultsAt(const std::vector<NodeId>& order, int64_t opset) {
  std::vector<Diagnostic> faults;
  for (const NodeId n : order) {
    if (!graph_.alive(n)) continue;
    const std::string fault = FaultAt(n, opset);
    if (fault.empty()) continue;
    faults.push_back({.severity = Severity::kError,
                      .message = fmt::format("{} {} at opset {}, and no rule rewrote it",
                                             RefusedNode(n), fault, opset)});
  }
  if (!faults.empty()) return {StatusCode::kRefused, std::move(faults)};
  return {};
}

// What keeps a node that no rule touched from meaning at `opset` what it says; "" if nothing. An
// attribute that is gone there, and that had its default, goes from the node.
std::string RuleRun::FaultAt(NodeId n, int64_t opset) {
  const OpName& op = graph_.op_name(graph_.op(n));
  if (!op.domain.empty()) return "";
  if (!rules_.signatures.Has(op.domain, op.name)) return "";  // a local function, perhaps
  const Signature* before = facts_.SignatureOf(n);
  const Signature* s = rules_.signatures.Find(op.domain, op.name, opset);
  if (s == before && s != nullptr) return "";
  if (s == nullptr || s->deprecated) return "does not exist";
  if (const std::string fault = InputFault(graph_, n, *s); !fault.empty()) return fault;
  if (const std::string fault = NeedsOneFault(graph_, n, *s); !fault.empty()) return fault;
  if (graph_.num_outputs(n) > static_cast<size_t>(s->max_outputs)) {
    return fmt::format("cannot have {} outputs", graph_.num_outputs(n));
  }
  for (size_t i = 0; i < graph_.num_inputs(n); ++i) {
    const FormalValue& formal = *FormalInput(*s, i);
    if (!graph_.input(n, i).valid() || formal.type_var < 0 || !rules_.check_types) continue;
    const DType dtype = facts_.dtype(graph_.input(n, i));
    if (dtype != DType::kUndefined && !s->types[formal.type_var].Allows(dtype)) {
      return fmt::format("cannot have {} as its input {}", Info(dtype).name, formal.name);
    }
  }
  const Attributes attributes = graph_.attributes(n);
  for (const Attribute& a : attributes) {
    if (s->FindAttribute(a.name) != nullptr) continue;
    const FormalAttribute* old = before == nullptr ? nullptr : before->FindAttribute(a.name);
    if (old == nullptr || !Equal(old->default_value, a.value)) {
      return fmt::format("has no attribute `{}`", Printable(a.name));
    }
    DropAttribute(graph_, n, a.name);
  }
  return before == nullptr ? "" : DefaultFault(graph_, n, *before, *s);
}

}  // namespace qrewrite
