#include "engine/graph/graph.h"

#include <algorithm>
#include <numeric>
#include <utility>

namespace qrewrite {
namespace {

constexpr size_t kFewImports = 8;

uint64_t BytesInFile(const Tensor& tensor) {
  if (!tensor.is_string()) return tensor.byte_size();
  uint64_t bytes = 0;
  if (!tensor.is_lazy()) {
    for (const std::string& s : tensor.strings()) bytes += s.size();
  }
  return bytes;
}

}  // namespace

std::string_view CanonicalDomain(std::string_view domain) {
  return domain == "ai.onnx" ? std::string_view() : domain;
}

Graph::Graph() {
  types_.emplace_back();  // 0: nothing known
  type_ids_[0].push_back(0);
  AddBody(BodyKind::kMain, BodyId());
  changed_ = false;
}

OpId Graph::InternOp(std::string_view domain, std::string_view name) {
  OpName op{std::string(CanonicalDomain(domain)), std::string(name)};
  const auto [it, added] = op_ids_.try_emplace(std::move(op), OpId(ops_.size()));
  if (added) {
    ops_.push_back(it->first);
    op_nodes_.push_back(0);
  }
  return it->second;
}

OpId Graph::FindOp(std::string_view domain, std::string_view name) const {
  const auto it = op_ids_.find(OpName{std::string(CanonicalDomain(domain)), std::string(name)});
  return it == op_ids_.end() ? OpId() : it->second;
}

int64_t Graph::OpsetOf(BodyId b, std::string_view domain) const {
  while (body(b).kind == BodyKind::kSubgraph) b = body(b).parent;
  const auto& imports = body(b).kind == BodyKind::kFunction ? body(b).opset : opset_;
  domain = CanonicalDomain(domain);
  if (imports.size() <= kFewImports) {  // asked at every node: no string is made for it
    for (const auto& [name, version] : imports) {
      if (name == domain) return version;
    }
    return 0;
  }
  const auto it = imports.find(std::string(domain));
  return it == imports.end() ? 0 : it->second;
}

int64_t Graph::OpsetOf(NodeId n, std::string_view domain) const {
  const bool upgraded = upgrade_opset_ > 0 && n.index >= upgrade_mark_;
  return upgraded && CanonicalDomain(domain).empty() ? upgrade_opset_ : OpsetOf(body_of(n), domain);
}

// --- what goes, and what values hold

// Leaves a tombstone.
void Graph::Bury(NodeId n) {
  Node& node = nodes_[n.index];
  for (uint32_t i = 0; i < node.num_inputs; ++i) Unlink(UseId(size_t{node.first_input} + i));
  for (uint32_t i = 0; i < node.num_outputs; ++i) Bury(output(n, i));
  node.alive = false;
  --op_nodes_[node.op.index];
  node.attributes = Attributes();
}

void Graph::Bury(ValueId v) {
  if (!v.valid()) return;
  Value& value = values_[v.index];
  value.producer = NodeId();
  Hold(value, Tensor());
  value.alive = 0;
}

void Graph::Hold(Value& value, Tensor tensor) {
  if (value.tensor.valid()) {
    --num_constants_;
    constant_bytes_ -= BytesInFile(value.tensor);
  }
  if (tensor.valid()) {
    ++num_constants_;
    constant_bytes_ += BytesInFile(tensor);
  }
  value.tensor = std::move(tensor);
}

size_t Graph::num_alive_nodes() const {
  return std::accumulate(op_nodes_.begin(), op_nodes_.end(), size_t{0});
}

// --- values

void Graph::Reserve(size_t nodes, size_t values, size_t uses) {
  // Many small reservations must not copy a table each time.
  const auto reserve = [](auto& table, size_t more) {
    const size_t size = table.size() + more;
    if (size > table.capacity()) table.reserve(std::max(size, 2 * table.capacity()));
  };
  reserve(nodes_, nodes);
  reserve(values_, values);
  reserve(uses_, uses);
  reserve(outputs_, nodes);
}

ValueId Graph::AddValue(BodyId b, Borrowed name) {
  const ValueId v(values_.size());
  Value& value = values_.emplace_back();
  value.SetName(name.text);
  value.body = b;
  if (value_names_.built() && !name.text.empty()) value_names_.Add(values_, name.text);
  return v;
}

ValueId Graph::AddConstant(BodyId b, std::string_view name, Tensor tensor) {
  const ValueId v = AddValue(b, name);
  Hold(values_[v.index], std::move(tensor));
  values_[v.index].new_tensor = 1;
  bodies_[b.index].constants.push_back(v);
  changed_ = true;
  return v;
}

void Graph::Rename(ValueId v, std::string_view name) {
  if (values_[v.index].name() == name) return;
  name = arena_.Keep(name);
  if (value_names_.built()) {
    value_names_.Retain(values_, v.index);
    value_names_.Add(values_, name);
  } else if (!values_[v.index].name().empty()) {
    value_names_.ForgetAdopted();
  }
  values_[v.index].SetName(name);
  changed_ = true;
  if (producer(v).valid()) Touch(producer(v));
  for (const UseId u : uses(v)) TouchUser(u);
}

void Graph::SetConstant(ValueId v, Tensor tensor) {
  QR_CHECK(!producer(v).valid());
  Value& value = values_[v.index];
  if (!value.tensor.valid()) bodies_[value.body.index].constants.push_back(v);
  Hold(value, std::move(tensor));
  value.new_tensor = 1;
  changed_ = true;
}

void Graph::RemoveConstant(ValueId v) {
  QR_CHECK(num_uses(v) == 0);
  if (values_[v.index].input) RemoveInput(body_of(v), v);
  Bury(v);
  changed_ = true;
}

// --- uses

void Graph::Link(UseId u, ValueId v) {
  Use& use = uses_[u.index];
  use.value = v;
  use.previous = use.next = UseId();
  if (!v.valid()) return;
  Value& value = values_[v.index];
  if (value.first_use.valid()) {
    Use& first = uses_[value.first_use.index];
    use.previous = first.previous;
    uses_[first.previous.index].next = u;
    first.previous = u;
  } else {
    value.first_use = use.previous = u;
  }
  ++value.num_uses;
  if (use.is_output) ++value.num_output_uses;
}

void Graph::Unlink(UseId u) {
  Use& use = uses_[u.index];
  if (!use.value.valid()) return;
  Value& value = values_[use.value.index];
  // The last one's next is none, but the first one's previous is the last one.
  if (value.first_use == u) {
    value.first_use = use.next;
  } else {
    uses_[use.previous.index].next = use.next;
  }
  if (use.next.valid()) {
    uses_[use.next.index].previous = use.previous;
  } else if (value.first_use.valid()) {
    uses_[value.first_use.index].previous = use.previous;
  }
  --value.num_uses;
  if (use.is_output) --value.num_output_uses;
  use.value = ValueId();
  use.previous = use.next = UseId();
}

User Graph::user(UseId u) const {
  const Use& use = uses_[u.index];
  if (use.is_output) {
    const OutputSlot& slot = output_slots_[use.user];
    return {NodeId(), slot.body, slot.index};
  }
  const Node& node = nodes_[use.user];
  return {NodeId(size_t{use.user}), node.body, u.index - node.first_input};
}

void Graph::TouchUser(UseId u) {
  changed_ = true;
  const Use& use = uses_[u.index];
  if (!use.is_output) return Touch(NodeId(size_t{use.user}));
  const NodeId owner = body(output_slots_[use.user].body).owner;
  if (owner.valid()) Touch(owner);
}

void Graph::ReplaceUses(ValueId from, ValueId to) {
  if (from == to) return;
  while (values_[from.index].first_use.valid()) {
    const UseId u = values_[from.index].first_use;
    Unlink(u);
    Link(u, to);
    TouchUser(u);
  }
}

// --- nodes

NodeId Graph::AddNode(BodyId b, OpId op, std::span<const ValueId> inputs,
                      std::span<const ValueId> outputs, Attributes attributes, Borrowed name) {
  QR_CHECK(outputs.size() <= kMaxOutputs);
  const NodeId n(nodes_.size());
  Node& node = nodes_.emplace_back();
  node.op = op;
  ++op_nodes_[op.index];
  node.body = b;
  node.attributes = std::move(attributes);
  node.SetName(name.text);
  node.dirty = node.new_attributes = true;
  node.position = static_cast<uint32_t>(bodies_[b.index].nodes.size());
  node.first_input = static_cast<uint32_t>(uses_.size());
  node.num_inputs = static_cast<uint32_t>(inputs.size());
  node.first_output = static_cast<uint32_t>(outputs_.size());
  node.num_outputs = static_cast<uint32_t>(outputs.size());
  for (size_t i = 0; i < inputs.size(); ++i) {
    const UseId u(uses_.size());
    uses_.push_back({.user = n.index});
    Link(u, inputs[i]);
  }
  for (size_t i = 0; i < outputs.size(); ++i) {
    outputs_.push_back(outputs[i]);
    if (!outputs[i].valid()) continue;
    Value& value = values_[outputs[i].index];
    QR_CHECK(value.alive && !value.producer.valid());
    value.producer = n;
    value.output_index = static_cast<uint32_t>(i);
  }
  if (node_names_.built() && !name.text.empty()) node_names_.Add(nodes_, name.text);
  bodies_[b.index].nodes.push_back(n);
  AdoptSubgraphs(n);
  changed_ = true;
  return n;
}

// From the last output: those of a wide node lose their readers from the first one on.
bool Graph::HasReaders(NodeId n) const {
  for (size_t i = num_outputs(n); i-- > 0;) {
    if (output(n, i).valid() && num_uses(output(n, i)) > 0) return true;
  }
  return false;
}

void Graph::RemoveNode(NodeId n) {
  QR_CHECK(alive(n) && !HasReaders(n));
  for (const BodyId b : SubgraphsOf(n)) {
    if (body(b).owner == n) RemoveBody(b);
  }
  Bury(n);
  changed_ = true;
}

void Graph::SetName(NodeId n, std::string_view name) {
  if (nodes_[n.index].name() == name) return;
  name = arena_.Keep(name);
  if (node_names_.built()) {
    node_names_.Retain(nodes_, n.index);
    node_names_.Add(nodes_, name);
  }
  nodes_[n.index].SetName(name);
  Touch(n);
}

void Graph::SetAttribute(NodeId n, std::string_view name, AttrValue value) {
  const std::vector<BodyId> before = SubgraphsOf(n);
  nodes_[n.index].attributes.Set(name, std::move(value));
  nodes_[n.index].new_attributes = true;
  DropSubgraphs(n, before);
  Touch(n);
}

void Graph::EraseAttribute(NodeId n, std::string_view name) {
  const std::vector<BodyId> before = SubgraphsOf(n);
  if (!nodes_[n.index].attributes.Erase(name)) return;
  nodes_[n.index].new_attributes = true;
  DropSubgraphs(n, before);
  Touch(n);
}

void Graph::SetInput(NodeId n, size_t i, ValueId value) {
  const UseId u(size_t{nodes_[n.index].first_input} + i);
  if (uses_[u.index].value == value) return;
  Unlink(u);
  Link(u, value);
  Touch(n);
}

void Graph::SetProducer(ValueId v, NodeId n, uint32_t index) {
  const ValueId former = output(n, index);
  if (former == v) return;
  QR_CHECK(alive(v) && !constant(v) && !IsInput(v));
  if (former.valid()) {
    QR_CHECK(num_uses(former) == 0);
    Bury(former);
  }
  Inherit(n, producer(v));
  DropProducer(v);
  outputs_[nodes_[n.index].first_output + index] = v;
  values_[v.index].producer = n;
  values_[v.index].output_index = index;
  values_[v.index].body = body_of(n);
  Touch(n);
}

void Graph::DropProducer(ValueId v) {
  const NodeId n = producer(v);
  if (!n.valid()) return;
  outputs_[nodes_[n.index].first_output + output_index(v)] = ValueId();
  values_[v.index].producer = NodeId();
  Touch(n);
}

void Graph::Inherit(NodeId n, NodeId former) {
  if (!n.valid() || n.index < first_derived_ || !former.valid()) return;
  const NodeId from = origin(former);
  const size_t i = n.index - first_derived_;
  if (!from.valid() || origin(n).valid()) return;
  if (i >= origins_.size()) origins_.resize(i + 1);
  origins_[i] = from;
}

void Graph::Undo(const Mark& mark) {
  for (size_t u = uses_.size(); u-- > mark.uses;) Unlink(UseId(u));
  for (size_t n = nodes_.size(); n-- > mark.nodes;) {
    op_nodes_[nodes_[n].op.index] -= nodes_[n].alive;
    std::vector<NodeId>& listed = bodies_[nodes_[n].body.index].nodes;
    if (!listed.empty() && listed.back() == NodeId(n)) listed.pop_back();
    if (node_names_.built()) node_names_.Retain(nodes_, n);
  }
  for (size_t v = values_.size(); v-- > mark.values;) {
    Hold(values_[v], Tensor());
    std::vector<ValueId>& listed = bodies_[values_[v].body.index].constants;
    if (!listed.empty() && listed.back() == ValueId(v)) listed.pop_back();
    if (value_names_.built()) {
      value_names_.Retain(values_, v);
    } else if (!values_[v].name().empty()) {
      value_names_.ForgetAdopted();
    }
  }
  for (; adoptions_.size() > mark.adoptions; adoptions_.pop_back()) {
    bodies_[adoptions_.back().body.index].owner = adoptions_.back().former;
  }
  nodes_.resize(mark.nodes);
  if (!origins_.empty()) {
    origins_.resize(
        std::min(origins_.size(), mark.nodes - std::min<size_t>(mark.nodes, first_derived_)));
  }
  values_.resize(mark.values);
  uses_.resize(mark.uses);
  outputs_.resize(mark.outputs);
  output_slots_.resize(mark.output_slots);
  bodies_.resize(mark.bodies);
  changed_ = mark.changed;
}

void Graph::ClearDirty() {
  for (Node& node : nodes_) node.dirty = node.new_attributes = false;
  for (Value& value : values_) value.new_tensor = 0;
  changed_ = false;
}

}  // namespace qrewrite
