#include "engine/rewrite/index.h"

#include <algorithm>

namespace qrewrite {

uint64_t NodeIndex::Hash(OpId op, std::span<const ValueId> inputs) const {
  uint64_t hash = HashMix(op.index, inputs.size());
  for (const ValueId v : inputs) hash = HashMix(hash, v.index);
  return hash;
}

void NodeIndex::Build() {
  built_ = true;
  for (size_t i = 0; i < graph_.num_nodes(); ++i) {
    if (graph_.alive(NodeId(i))) Add(NodeId(i));
  }
}

void NodeIndex::Add(NodeId n) {
  if (!built_) return;
  std::vector<ValueId> inputs(graph_.num_inputs(n));
  for (size_t i = 0; i < inputs.size(); ++i) inputs[i] = graph_.input(n, i);
  while (!inputs.empty() && !inputs.back().valid()) inputs.pop_back();
  // Sorted by id: many nodes may be the same to the hash (those without inputs).
  std::vector<NodeId>& same = nodes_[Hash(graph_.op(n), inputs)];
  const auto at = std::lower_bound(same.begin(), same.end(), n);
  if (at == same.end() || *at != n) same.insert(at, n);
}

NodeId NodeIndex::Find(BodyId body, OpId op, std::span<const ValueId> inputs,
                       const Attributes& attributes, size_t outputs) {
  if (!built_) Build();
  const auto it = nodes_.find(Hash(op, inputs));
  if (it == nodes_.end()) return {};
  std::vector<NodeId>& same = it->second;
  std::erase_if(same, [&](NodeId n) { return n.index >= graph_.num_nodes() || !graph_.alive(n); });
  for (const NodeId n : same) {
    if (graph_.body_of(n) != body || graph_.op(n) != op || graph_.num_outputs(n) < outputs)
      continue;
    if (!graph_.IsUpgraded(n)) continue;  // it may mean something else
    bool equal = graph_.num_inputs(n) >= inputs.size();
    for (size_t i = 0; i < graph_.num_inputs(n) && equal; ++i) {
      equal = graph_.input(n, i) == (i < inputs.size() ? inputs[i] : ValueId());
    }
    for (size_t i = 0; i < outputs && equal; ++i) equal = graph_.output(n, i).valid();
    if (equal && graph_.attributes(n) == attributes) return n;
  }
  return {};
}

uint64_t ConstantPool::Key(BodyId body, const Tensor& tensor) {
  uint64_t hash = HashMix(body.index, tensor.key());
  hash = HashMix(hash, static_cast<uint64_t>(tensor.dtype()));
  for (const int64_t dim : tensor.dims()) hash = HashMix(hash, static_cast<uint64_t>(dim));
  return hash;
}

void ConstantPool::Build() {
  built_ = true;
  for (size_t b = 0; b < graph_.num_bodies(); ++b) {
    if (!graph_.body(BodyId(b)).alive) continue;
    for (const ValueId v : graph_.body(BodyId(b)).constants) {
      if (graph_.alive(v) && graph_.constant(v) != nullptr) {
        constants_[Key(BodyId(b), *graph_.constant(v))].push_back(v);
      }
    }
  }
}

ValueId ConstantPool::Get(BodyId body, const Tensor& tensor) {
  if (!built_) Build();
  std::vector<ValueId>& same = constants_[Key(body, tensor)];
  std::erase_if(same, [&](ValueId v) {
    return v.index >= graph_.num_values() || !graph_.alive(v) || graph_.constant(v) == nullptr;
  });
  for (const ValueId v : same) {
    const Tensor& t = *graph_.constant(v);
    if (graph_.body_of(v) != body || graph_.Overridable(v) || t.dtype() != tensor.dtype() ||
        t.dims() != tensor.dims()) {
      continue;
    }
    if (tensor.byte_size() > Tensor::kSmallBytes) {
      if (t.key() == tensor.key()) return v;
      continue;
    }
    const Result<bool> equal = BytesEqual(t, tensor);
    if (equal.ok() && *equal) return v;
  }
  const ValueId v = graph_.AddConstant(body, "", tensor);
  same.push_back(v);
  return v;
}

}  // namespace qrewrite
