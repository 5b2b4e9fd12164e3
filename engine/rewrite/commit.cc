// Rewriter: a patch that was checked becomes part of the graph; names, and what dies with it.
#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "engine/rewrite/rewriter.h"

namespace qrewrite {

bool Rewriter::CanRename(const Redefinition& r) const {
  return graph_.producer(r.by).valid() && graph_.body_of(r.by) == graph_.body_of(r.value) &&
         !graph_.IsOutput(r.by);
}

void Rewriter::MoveReaders(ValueId from, ValueId to) {
  std::vector<NodeId> readers;
  for (const UseId u : graph_.uses(from)) {
    if (!graph_.user(u).is_output()) readers.push_back(graph_.user(u).node);
  }
  graph_.ReplaceUses(from, to);
  for (const NodeId n : readers) nodes_.Add(n);
}

void Rewriter::CommitOne(const Redefinition& r, Firing& firing) {
  const NodeId producer = graph_.producer(r.by);
  const bool is_new = producer.valid() && producer.index >= mark_.nodes;
  // A value that an earlier redefinition of this patch took over has another name by now.
  const bool fresh = is_new && r.by.index >= mark_.values && graph_.alive(r.by);
  if (fresh || (graph_.IsOutput(r.value) && CanRename(r))) {
    MoveReaders(r.by, r.value);
    graph_.SetProducer(r.value, producer, graph_.output_index(r.by));
    firing.redefined.push_back(r.value);
    return;
  }
  if (!graph_.IsOutput(r.value)) {
    MoveReaders(r.value, r.by);
    firing.redefined.push_back(r.by);
    return;
  }
  if (const Tensor* tensor = graph_.constant(r.by);
      tensor != nullptr && !graph_.Overridable(r.by)) {
    const Tensor copy = *tensor;
    graph_.DropProducer(r.value);
    graph_.SetConstant(r.value, copy);
    firing.redefined.push_back(r.value);
    return;
  }
  const ValueId out = graph_.AddValue(graph_.body_of(r.value), "");
  const NodeId identity =
      graph_.AddNode(graph_.body_of(r.value), graph_.InternOp("", "Identity"),
                     std::vector<ValueId>{r.by}, std::vector<ValueId>{out}, {}, "");
  graph_.SetProducer(r.value, identity, 0);
  nodes_.Add(identity);
  firing.redefined.push_back(r.value);
}

// New nodes may read what is redefined (`y = Relu(n(x -> x))`): they go on reading the former
// value, which gets an id of its own. Invalid if there are none.
ValueId Rewriter::KeepForNewNodes(ValueId v) {
  if (!graph_.producer(v).valid()) return {};
  std::vector<User> readers;
  for (const UseId u : graph_.uses(v)) {
    const User user = graph_.user(u);
    if (!user.is_output() && user.node.index >= mark_.nodes) readers.push_back(user);
  }
  if (readers.empty()) return {};
  const ValueId kept = graph_.AddValue(graph_.body_of(v), "");
  for (const User& user : readers) {
    graph_.SetInput(user.node, user.index, kept);
    nodes_.Add(user.node);
  }
  return kept;
}

void Rewriter::Commit(const std::vector<Redefinition>& redefinitions,
                      const std::vector<std::pair<ValueId, DType>>& retypes, Firing& firing) {
  std::vector<NodeId> maybe_dead;
  for (const Redefinition& r : redefinitions) {
    if (graph_.producer(r.value).valid()) maybe_dead.push_back(graph_.producer(r.value));
  }
  // Where a value went: later redefinitions by the same value follow it.
  std::map<ValueId, ValueId> moved;
  for (Redefinition r : redefinitions) {
    if (const auto it = moved.find(r.by); it != moved.end()) r.by = it->second;
    if (r.value == r.by) continue;
    const ValueId by = r.by;
    const NodeId producer = graph_.producer(r.value);
    const uint32_t index = graph_.output_index(r.value);
    const ValueId kept = KeepForNewNodes(r.value);
    CommitOne(r, firing);
    if (kept.valid()) graph_.SetProducer(kept, producer, index);
    if (!graph_.alive(by)) moved[by] = r.value;
  }
  for (const auto& [v, dtype] : retypes) {
    TypeInfo type = graph_.declared(v);
    type.dtype = dtype;
    graph_.SetDeclared(v, type);
    graph_.MarkChanged();
  }
  if (!retypes.empty()) in_.facts().ForgetTypes();
  if (!retypes.empty()) in_.ForgetAllFacts();
  for (const Redefinition& r : redefinitions) in_.ForgetFacts(r.value);
  for (const ValueId v : firing.redefined) in_.facts().Redefined(v);
  for (size_t n = mark_.nodes; n < graph_.num_nodes(); ++n) maybe_dead.emplace_back(n);
  RemoveDead(std::move(maybe_dead), &firing.released);
  ForgetReaders(firing.released);
  NameNewValues();
  records_.insert(records_.end(), pending_records_.begin(), pending_records_.end());
  for (size_t n = mark_.nodes; n < graph_.num_nodes(); ++n) {
    if (graph_.alive(NodeId(n))) firing.created.emplace_back(n);
  }
  firing.changed = true;
}

// A fact may have looked at whether the other outputs of a node are read.
void Rewriter::ForgetReaders(const std::vector<ValueId>& released) {
  const auto forget = [&](ValueId v) {
    if (!v.valid() || !graph_.alive(v)) return;
    const NodeId n = graph_.producer(v);
    if (n.valid() && graph_.num_outputs(n) > 1) in_.ForgetFacts(v);
  };
  for (const ValueId v : released) forget(v);
  for (size_t n = mark_.nodes; n < graph_.num_nodes(); ++n) {
    if (!graph_.alive(NodeId(n))) continue;
    for (size_t i = 0; i < graph_.num_inputs(NodeId(n)); ++i) forget(graph_.input(NodeId(n), i));
  }
}

void Rewriter::NameNewValues() {
  const std::string_view base = base_.valid() ? graph_.name(base_) : "value";
  for (size_t i = mark_.values; i < graph_.num_values(); ++i) {
    const ValueId v(i);
    if (!graph_.alive(v) || !graph_.name(v).empty()) continue;
    const auto wish = emitter_.wishes().find(v);
    const std::string suffix = wish == emitter_.wishes().end() ? "value" : wish->second;
    graph_.Rename(v, graph_.FreshName(fmt::format("{}_{}", base, suffix)));
  }
  for (size_t i = mark_.nodes; i < graph_.num_nodes(); ++i) {
    const NodeId n(i);
    if (!graph_.alive(n) || !graph_.name(n).empty()) continue;
    for (size_t k = 0; k < graph_.num_outputs(n); ++k) {
      if (!graph_.output(n, k).valid()) continue;
      graph_.SetName(n, graph_.FreshNodeName(graph_.name(graph_.output(n, k))));
      break;
    }
  }
}

void Rewriter::RemoveDead(std::vector<NodeId> nodes, std::vector<ValueId>* released) {
  while (!nodes.empty()) {
    const NodeId n = nodes.back();
    nodes.pop_back();
    if (!graph_.alive(n) || graph_.HasReaders(n)) continue;
    std::vector<ValueId> inputs;
    std::vector<NodeId> inside = {n};
    while (!inside.empty()) {
      const NodeId at = inside.back();
      inside.pop_back();
      for (size_t i = 0; i < graph_.num_inputs(at); ++i) {
        if (graph_.input(at, i).valid()) inputs.push_back(graph_.input(at, i));
      }
      for (const BodyId b : graph_.SubgraphsOf(at)) {
        for (const NodeId m : graph_.body(b).nodes) {
          if (graph_.alive(m)) inside.push_back(m);
        }
        for (size_t i = 0; i < graph_.body(b).outputs.size(); ++i)
          inputs.push_back(graph_.output(b, i));
      }
    }
    graph_.RemoveNode(n);
    for (const ValueId v : inputs) {
      if (!v.valid() || !graph_.alive(v)) continue;
      if (graph_.num_uses(v) > 0) {
        if (released != nullptr && graph_.producer(v).valid()) released->push_back(v);
      } else if (graph_.producer(v).valid()) {
        nodes.push_back(graph_.producer(v));
      } else if (graph_.constant(v) != nullptr) {
        graph_.RemoveConstant(v);
      }
    }
  }
}

}  // namespace qrewrite
