#include "engine/rewrite/index.h"

#include <algorithm>
#include <functional>
#include <utility>

namespace qrewrite {

uint64_t NodeIndex::Hash(const Wanted& wanted) {
  uint64_t hash = HashMix(HashMix(wanted.op.index, wanted.body.index), wanted.inputs.size());
  for (const ValueId v : wanted.inputs) hash = HashMix(hash, v.index);
  return wanted.attributes.empty() ? hash : HashMix(hash, wanted.attributes.Hash());
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
  for (size_t i = 0; i < graph_.num_nodes(); ++i) {
    if (graph_.alive(NodeId(i))) Add(NodeId(i));
  }
}

void NodeIndex::Clear() {
  built_ = false;
  nodes_.Clear();
  many_ = {};
  pending_ = {};
  former_by_hash_.Clear();
  formers_ = {};
  moved_ = {};
}

void NodeIndex::Add(NodeId n) {
  if (!built_) return;
  const OpId op = graph_.op(n);
  if (pending_.size() <= op.index) pending_.resize(graph_.num_ops());
  pending_[op.index].push_back(n);
}

void NodeIndex::AddPending(OpId op) {
  if (pending_.size() <= op.index || pending_[op.index].empty()) return;
  std::vector<NodeId> nodes = std::exchange(pending_[op.index], {});
  std::sort(nodes.begin(), nodes.end());
  nodes.erase(std::unique(nodes.begin(), nodes.end()), nodes.end());
  for (const NodeId n : nodes) {
    // Some were taken back, and their ids may be those of other nodes.
    const bool there = n.index < graph_.num_nodes() && graph_.alive(n) && graph_.op(n) == op;
    if (there && graph_.IsUpgraded(n)) Enter(n);
  }
}

void NodeIndex::Enter(NodeId n) {
  const uint64_t hash = Hash(n);
  const auto [entry, added] = nodes_.FindOrAdd(hash);
  const bool one = added || *entry < kMany;
  if (added || (one && (*entry == n.index || Stale(NodeId(*entry), hash)))) {
    *entry = n.index;
    return;
  }
  if (one) {
    many_.push_back({NodeId(*entry)});
    *entry = kMany + static_cast<uint32_t>(many_.size() - 1);
  }
  Heap& heap = many_[*entry - kMany];
  heap.push_back(n);
  std::push_heap(heap.begin(), heap.end(), std::greater<>());
}

// The node is gone, or reads something else by now.
bool NodeIndex::Stale(NodeId n, uint64_t hash) const {
  return n.index >= graph_.num_nodes() || !graph_.alive(n) || Hash(n) != hash;
}

bool NodeIndex::Fits(NodeId n, const Wanted& wanted) const {
  const auto& inputs = wanted.inputs;
  if (graph_.body_of(n) != wanted.body || graph_.op(n) != wanted.op ||
      graph_.num_outputs(n) < wanted.outputs || graph_.num_inputs(n) < inputs.size()) {
    return false;
  }
  for (size_t i = 0; i < graph_.num_inputs(n); ++i) {
    if (graph_.input(n, i) != (i < inputs.size() ? inputs[i] : ValueId())) return false;
  }
  if (wanted.only != kAll) {
    if (!graph_.output(n, wanted.only).valid()) return false;
  } else {
    for (size_t i = 0; i < wanted.outputs; ++i) {
      if (!wanted.present.empty() && !wanted.present[i]) continue;
      if (!graph_.output(n, i).valid()) return false;
    }
  }
  return graph_.attributes(n) == wanted.attributes;
}

NodeId NodeIndex::Find(const Wanted& wanted) {
  if (!built_) Build();
  AddPending(wanted.op);
  const uint64_t hash = Hash(wanted);
  const uint32_t* entry = nodes_.Find(hash);
  if (entry == nullptr) return {};
  const auto fits = [&](NodeId n) { return Fits(n, wanted); };
  if (*entry < kMany) {
    const NodeId n(size_t{*entry});
    if (!Stale(n, hash)) return fits(n) ? n : NodeId();
    nodes_.Erase(hash);
    return {};
  }
  Heap& heap = many_[*entry - kMany];
  while (!heap.empty() && Stale(heap.front(), hash)) {
    std::pop_heap(heap.begin(), heap.end(), std::greater<>());
    heap.pop_back();
  }
  if (heap.empty()) {
    nodes_.Erase(hash);
    return {};
  }
  if (fits(heap.front())) return heap.front();
  NodeId found;  // rare: with fewer outputs than asked for
  for (const NodeId n : heap) {
    if (Stale(n, hash) || !fits(n)) continue;
    if (!found.valid() || n < found) found = n;
  }
  return found;
}

void NodeIndex::Remember(NodeId n, ValueId now) {
  const auto [at, added] = former_by_hash_.FindOrAdd(Hash(n));
  if (added) {
    *at = static_cast<uint32_t>(formers_.size());
    formers_.emplace_back();
  }
  Former& former = formers_[*at];
  former.body = graph_.body_of(n);
  former.op = graph_.op(n);
  former.attributes = graph_.attributes(n);
  former.now = now;
  former.promises = promises_;
  former.inputs.clear();
  for (size_t i = 0; i < graph_.num_inputs(n); ++i) former.inputs.push_back(graph_.input(n, i));
  while (!former.inputs.empty() && !former.inputs.back().valid()) former.inputs.pop_back();
}

void NodeIndex::Moved(ValueId from, ValueId to) {
  if (moved_.size() <= from.index) {
    moved_.resize(std::max<size_t>(graph_.num_values(), from.index + size_t{1}));
  }
  moved_[from.index] = to;
}

ValueId NodeIndex::FindFormer(const Wanted& wanted) {
  const uint64_t hash = Hash(wanted);
  const uint32_t* at = former_by_hash_.Find(hash);
  if (at == nullptr) return {};
  Former& former = formers_[*at];
  if (former.promises != promises_ || former.body != wanted.body || former.op != wanted.op ||
      !std::ranges::equal(former.inputs, wanted.inputs) ||
      !(former.attributes == wanted.attributes)) {
    return {};
  }
  while (former.now.index < moved_.size() && moved_[former.now.index].valid()) {
    former.now = moved_[former.now.index];
  }
  const bool there = graph_.alive(former.now) && graph_.body_of(former.now) == wanted.body;
  if (there) return former.now;
  former_by_hash_.Erase(hash);
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
  constants_.Reserve(count);
  for (size_t b = 0; b < graph_.num_bodies(); ++b) {
    if (!graph_.body(BodyId(b)).alive) continue;
    for (const ValueId v : graph_.body(BodyId(b)).constants) {
      if (!graph_.alive(v) || graph_.constant(v) == nullptr || graph_.Overridable(v)) continue;
      const auto [entry, added] = constants_.FindOrAdd(Key(BodyId(b), *graph_.constant(v)));
      if (added) {
        *entry = v.index;
        continue;
      }
      if (*entry < kMany) {
        many_.push_back({.values = {ValueId(*entry)}});
        *entry = kMany + static_cast<uint32_t>(many_.size() - 1);
      }
      many_[*entry - kMany].values.push_back(v);
    }
  }
}

// kCollides: a constant with other content, or of another body, that has the same key. What is gone
// (removed, or taken back and its id used again) will not hold the content later.
ConstantPool::State ConstantPool::StateOf(ValueId v, uint64_t key, BodyId body,
                                          const Tensor& tensor) const {
  if (v.index >= graph_.num_values() || !graph_.alive(v) || graph_.constant(v) == nullptr ||
      graph_.Overridable(v)) {
    return State::kGone;
  }
  const Tensor& t = *graph_.constant(v);
  if (graph_.body_of(v) == body && t.dtype() == tensor.dtype() && t.dims() == tensor.dims() &&
      t.key() == tensor.key()) {
    if (tensor.byte_size() > Tensor::kSmallBytes) return State::kHolds;
    const Result<bool> equal = BytesEqual(t, tensor);
    if (equal.ok() && *equal) return State::kHolds;
  }
  return Key(graph_.body_of(v), t) == key ? State::kCollides : State::kGone;
}

ValueId ConstantPool::Find(BodyId body, const Tensor& tensor) const {
  const uint64_t key = Key(body, tensor);
  const uint32_t* entry = constants_.Find(key);
  if (entry == nullptr) return ValueId();
  if (*entry < kMany) {
    const ValueId v(size_t{*entry});
    return StateOf(v, key, body, tensor) == State::kHolds ? v : ValueId();
  }
  const Equals& equals = many_[*entry - kMany];
  for (size_t i = equals.first; i < equals.values.size(); ++i) {
    const ValueId v = equals.values[i];
    if (StateOf(v, key, body, tensor) == State::kHolds) return v;
  }
  return ValueId();
}

void ConstantPool::Clear() {
  built_ = names_known_ = false;
  constants_.Clear();
  many_.clear();
  shared_names_.clear();
}

// Bodies should not reuse names of the graphs around them, but runtimes take models that do. Names
// that are given later are new ones.
bool ConstantPool::NameIsShared(ValueId v) {
  if (!names_known_) {
    names_known_ = true;
    std::unordered_set<std::string_view> seen;
    for (size_t i = 0; i < graph_.num_values(); ++i) {
      const std::string_view name = graph_.name(ValueId(i));
      if (graph_.alive(ValueId(i)) && !seen.insert(name).second) shared_names_.insert(name);
    }
  }
  return shared_names_.contains(graph_.name(v));
}

ValueId ConstantPool::Operand(BodyId body, const Tensor& tensor) {
  if (graph_.body(body).kind != BodyKind::kSubgraph) return Get(body, tensor);
  if (!built_) Build();
  for (BodyId b = body; b.valid(); b = graph_.body(b).parent) {
    const ValueId v = Find(b, tensor);
    if (v.valid() && (b == body || !NameIsShared(v))) return v;
  }
  return Get(body, tensor);
}

ValueId ConstantPool::Get(BodyId body, const Tensor& tensor) {
  if (!built_) Build();
  const uint64_t key = Key(body, tensor);
  const auto [entry, added] = constants_.FindOrAdd(key);
  if (!added && *entry < kMany) {
    const ValueId v(size_t{*entry});
    const State state = StateOf(v, key, body, tensor);
    if (state == State::kHolds) return v;
    if (state == State::kCollides) {
      many_.push_back({.values = {v}});
      *entry = kMany + static_cast<uint32_t>(many_.size() - 1);
    }
  } else if (!added) {
    Equals& equals = many_[*entry - kMany];
    for (size_t i = equals.first; i < equals.values.size(); ++i) {
      const State state = StateOf(equals.values[i], key, body, tensor);
      if (state == State::kHolds) return equals.values[i];
      if (state == State::kGone && i == equals.first) ++equals.first;
    }
  }
  const ValueId made = graph_.AddConstant(body, "", tensor);
  if (added || *entry < kMany) {
    *entry = made.index;
  } else {
    many_[*entry - kMany].values.push_back(made);
  }
  return made;
}

}  // namespace qrewrite
