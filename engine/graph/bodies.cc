// The parts of Graph that know bodies: the main graph, functions, and subgraphs with the nodes that
// own them.
#include <algorithm>
#include <iterator>

#include "engine/graph/graph.h"

namespace qrewrite {

BodyId Graph::AddBody(BodyKind kind, BodyId parent) {
  const BodyId b(bodies_.size());
  bodies_.push_back(Body{.kind = kind, .parent = parent});
  changed_ = true;
  return b;
}

void Graph::AddOutput(BodyId b, ValueId value) {
  const UseId u(uses_.size());
  uses_.push_back({.user = static_cast<uint32_t>(output_slots_.size()), .is_output = 1});
  output_slots_.push_back({b, static_cast<uint32_t>(bodies_[b.index].outputs.size())});
  bodies_[b.index].outputs.push_back(u);
  Link(u, value);
  changed_ = true;
}

void Graph::SetOutput(BodyId b, size_t i, ValueId value) {
  const UseId u = body(b).outputs[i];
  Unlink(u);
  Link(u, value);
  TouchUser(u);
}

void Graph::RemoveFunction(BodyId b) {
  QR_CHECK(body(b).kind == BodyKind::kFunction);
  RemoveBody(b);
  changed_ = true;
}

void Graph::AddInput(BodyId b, ValueId value) {
  if (b == main() && removed_inputs_ > 0) DropRemovedInputs();
  values_[value.index].input = 1;
  bodies_[b.index].inputs.push_back(value);
  changed_ = true;
}

void Graph::RemoveInput(BodyId b, ValueId value) {
  if (!IsInput(value)) return;
  values_[value.index].input = 0;
  changed_ = true;
  if (b != main()) {
    std::erase(bodies_[b.index].inputs, value);
  } else if (++removed_inputs_ > bodies_[b.index].inputs.size() / 2) {
    DropRemovedInputs();
  }
}

std::vector<ValueId> Graph::inputs(BodyId b) const {
  std::vector<ValueId> inputs;
  std::ranges::copy_if(body(b).inputs, std::back_inserter(inputs),
                       [&](ValueId v) { return IsInput(v); });
  return inputs;
}

void Graph::DropRemovedInputs() {
  std::erase_if(bodies_[main().index].inputs, [&](ValueId v) { return !IsInput(v); });
  removed_inputs_ = 0;
}

bool Graph::Encloses(BodyId outer, BodyId inner) const {
  for (; inner.valid(); inner = body(inner).parent) {
    if (inner == outer) return true;
  }
  return false;
}

NodeId Graph::AncestorIn(BodyId b, NodeId node) const {
  while (node.valid() && body_of(node) != b) node = body(body_of(node)).owner;
  return node;
}

void Graph::RemoveBody(BodyId root) {
  std::vector<BodyId> dead = {root};
  for (size_t i = 0; i < dead.size(); ++i) {
    for (const NodeId n : body(dead[i]).nodes) {
      if (!alive(n) || !HasSubgraphs(n)) continue;
      for (const BodyId inner : SubgraphsOf(n)) {
        if (body(inner).owner == n) dead.push_back(inner);
      }
    }
  }
  // All at once: an inner body may read what an outer one computes.
  for (const BodyId b : dead) {
    Body& gone = bodies_[b.index];
    for (const UseId u : gone.outputs) Unlink(u);
    for (const ValueId v : gone.constants) Bury(v);
    for (const ValueId v : gone.inputs) Bury(v);
    for (const NodeId n : gone.nodes) {
      if (alive(n)) Bury(n);
    }
    gone.outputs.clear();
    gone.alive = false;
  }
}

// --- subgraphs and their nodes

void Graph::AdoptSubgraphs(NodeId n) {
  bool any = false;
  for (const Attribute& a : attributes(n)) {
    if (const auto* one = std::get_if<BodyId>(&a.value)) {
      SetOwner(*one, n);
      any = true;
    } else if (const auto* many = std::get_if<std::vector<BodyId>>(&a.value)) {
      for (const BodyId b : *many) SetOwner(b, n);
      any |= !many->empty();
    }
  }
  nodes_[n.index].has_subgraphs = any;
}

void Graph::SetOwner(BodyId b, NodeId owner) {
  NodeId& now = bodies_[b.index].owner;
  if (now.valid() && now != owner) adoptions_.push_back({b, now});
  now = owner;
}

// After a change of attributes: removes those of the subgraphs `before` it that no attribute holds.
void Graph::DropSubgraphs(NodeId n, const std::vector<BodyId>& before) {
  AdoptSubgraphs(n);
  const std::vector<BodyId> now = SubgraphsOf(n);
  for (const BodyId b : before) {
    if (body(b).owner == n && std::find(now.begin(), now.end(), b) == now.end()) RemoveBody(b);
  }
}

std::vector<BodyId> Graph::SubgraphsOf(NodeId n) const {
  std::vector<BodyId> bodies;
  if (!HasSubgraphs(n)) return bodies;
  for (const Attribute& a : attributes(n)) {
    if (const auto* one = std::get_if<BodyId>(&a.value)) bodies.push_back(*one);
    if (const auto* many = std::get_if<std::vector<BodyId>>(&a.value)) {
      bodies.insert(bodies.end(), many->begin(), many->end());
    }
  }
  return bodies;
}

}  // namespace qrewrite
