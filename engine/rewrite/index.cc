#include "engine/rewrite/index.h"

#include <algorithm>
#include <functional>

namespace qrewrite {

uint64_t NodeIndex::Hash(BodyId body, OpId op, std::span<const ValueId> inputs,
                         const Attributes& attributes) {
  uint64_t hash = HashMix(HashMix(op.index, body.index), inputs.size());
  for (const ValueId v : inputs) hash = HashMix(hash, v.index);
  return attributes.empty() ? hash : HashMix(hash, attributes.Hash());
}

// Absent inputs at the end are no inputs.
uint64_t NodeIndex::Hash(NodeId n) const {
  size_t count = graph_.num_inputs(n);
  while (count > 0 && !graph_.input(n, count - 1).valid()) --count;
  uint64_t hash = HashMix(HashMix(graph_.op(n).index, graph_.body_of(n).index), count);
  for (size_t i = 0; i < count; ++i) hash = HashMix(hash, graph_.input(n, i).index);
  const Attributes& attributes = graph_.attributes(n);
  return attributes.empty() ? hash : HashMix(hash, attributes.Hash());
}

void NodeIndex::Build() {
  built_ = true;
  nodes_.reserve(graph_.num_nodes());
  for (size_t i = 0; i < graph_.num_nodes(); ++i) {
    if (graph_.alive(NodeId(i))) Add(NodeId(i));
  }
}

void NodeIndex::Add(NodeId n) {
  if (!built_ || !graph_.IsUpgraded(n)) return;
  Equals& heap = nodes_[Hash(n)];
  heap.push_back(n);
  std::push_heap(heap.begin(), heap.end(), std::greater<>());
}

bool NodeIndex::Fits(NodeId n, BodyId body, OpId op, std::span<const ValueId> inputs,
                     const Attributes& attributes, size_t outputs, size_t only) const {
  if (graph_.body_of(n) != body || graph_.op(n) != op || graph_.num_outputs(n) < outputs ||
      graph_.num_inputs(n) < inputs.size()) {
    return false;
  }
  for (size_t i = 0; i < graph_.num_inputs(n); ++i) {
    if (graph_.input(n, i) != (i < inputs.size() ? inputs[i] : ValueId())) return false;
  }
  if (only != kAll) {
    if (!graph_.output(n, only).valid()) return false;
  } else {
    for (size_t i = 0; i < outputs; ++i) {
      if (!graph_.output(n, i).valid()) return false;
    }
  }
  return graph_.attributes(n) == attributes;
}

NodeId NodeIndex::Find(BodyId body, OpId op, std::span<const ValueId> inputs,
                       const Attributes& attributes, size_t outputs, size_t only) {
  if (!built_) Build();
  const uint64_t hash = Hash(body, op, inputs, attributes);
  const auto it = nodes_.find(hash);
  if (it == nodes_.end()) return {};
  Equals& heap = it->second;
  const auto stale = [&](NodeId n) {
    return n.index >= graph_.num_nodes() || !graph_.alive(n) || Hash(n) != hash;
  };
  while (!heap.empty() && stale(heap.front())) {
    std::pop_heap(heap.begin(), heap.end(), std::greater<>());
    heap.pop_back();
  }
  NodeId found;
  if (heap.empty()) {
    nodes_.erase(it);
  } else if (Fits(heap.front(), body, op, inputs, attributes, outputs, only)) {
    found = heap.front();
  } else {  // rare: with fewer outputs than asked for
    for (const NodeId n : heap) {
      if (stale(n) || !Fits(n, body, op, inputs, attributes, outputs, only)) continue;
      if (!found.valid() || n < found) found = n;
    }
  }
  return found;
}

void NodeIndex::Remember(NodeId n, ValueId now) {
  Former former{graph_.body_of(n), graph_.op(n), {}, graph_.attributes(n), now};
  for (size_t i = 0; i < graph_.num_inputs(n); ++i) former.inputs.push_back(graph_.input(n, i));
  while (!former.inputs.empty() && !former.inputs.back().valid()) former.inputs.pop_back();
  formers_.insert_or_assign(Hash(n), std::move(former));
}

void NodeIndex::Moved(ValueId from, ValueId to) {
  if (moved_.size() <= from.index) {
    moved_.resize(std::max<size_t>(graph_.num_values(), from.index + size_t{1}));
  }
  moved_[from.index] = to;
}

ValueId NodeIndex::FindFormer(BodyId body, OpId op, std::span<const ValueId> inputs,
                              const Attributes& attributes) {
  if (formers_.empty()) return {};
  const auto it = formers_.find(Hash(body, op, inputs, attributes));
  if (it == formers_.end()) return {};
  Former& former = it->second;
  if (former.body != body || former.op != op || !std::ranges::equal(former.inputs, inputs) ||
      !(former.attributes == attributes)) {
    return {};
  }
  while (former.now.index < moved_.size() && moved_[former.now.index].valid()) {
    former.now = moved_[former.now.index];
  }
  const bool there = graph_.alive(former.now) && graph_.body_of(former.now) == body;
  if (there) return former.now;
  formers_.erase(it);
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
  size_t count = 0;
  for (size_t b = 0; b < graph_.num_bodies(); ++b) count += graph_.body(BodyId(b)).constants.size();
  constants_.reserve(count);
  for (size_t b = 0; b < graph_.num_bodies(); ++b) {
    if (!graph_.body(BodyId(b)).alive) continue;
    for (const ValueId v : graph_.body(BodyId(b)).constants) {
      if (!graph_.alive(v) || graph_.constant(v) == nullptr || graph_.Overridable(v)) continue;
      constants_[Key(BodyId(b), *graph_.constant(v))].values.push_back(v);
    }
  }
}

bool ConstantPool::Holds(ValueId v, BodyId body, const Tensor& tensor) const {
  if (v.index >= graph_.num_values() || !graph_.alive(v) || graph_.constant(v) == nullptr ||
      graph_.body_of(v) != body || graph_.Overridable(v)) {
    return false;
  }
  const Tensor& t = *graph_.constant(v);
  if (t.dtype() != tensor.dtype() || t.dims() != tensor.dims() || t.key() != tensor.key()) {
    return false;
  }
  if (tensor.byte_size() > Tensor::kSmallBytes) return true;
  const Result<bool> equal = BytesEqual(t, tensor);
  return equal.ok() && *equal;
}

// What does not hold this content any more (removed, or taken back and its id used again) will not
// hold it later.
ValueId ConstantPool::Get(BodyId body, const Tensor& tensor) {
  if (!built_) Build();
  Equals& equals = constants_[Key(body, tensor)];
  auto& values = equals.values;
  while (equals.first < values.size()) {
    if (Holds(values[equals.first], body, tensor)) return values[equals.first];
    ++equals.first;
  }
  const ValueId added = graph_.AddConstant(body, "", tensor);
  values.assign(1, added);
  equals.first = 0;
  return added;
}

}  // namespace qrewrite
