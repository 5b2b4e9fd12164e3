#include "engine/match/path_sweep.h"

#include <algorithm>
#include <iterator>

namespace qrewrite {
namespace {

constexpr size_t kSizeOfState = 32, kSizeOfPair = 16;  // but for sets and rows; see kMaxSize

}  // namespace

void PathSweep::Add(const OpPath& path, uint32_t id) {
  uint32_t at = 0;
  for (size_t i = path.size(); i-- > 0;) {
    at = longer_.FindOrAdd(at, path[i], static_cast<uint32_t>(ends_.size()));
    if (at == ends_.size()) ends_.emplace_back();
  }
  ends_[at].ids.push_back(id);
}

void PathSweep::Begin() {
  if (num_ops_ < graph_.num_ops() || size_ > kMaxSize) Forget();
  at_.assign(graph_.num_nodes(), kUnknown);
  on_ = true;
}

void PathSweep::Forget() {
  states_.clear();
  known_.clear();
  both_.clear();
  below_.clear();
  size_ = 0;
  num_ops_ = graph_.num_ops();
  StateOf({});  // kNothing
}

PathSweep::StateId PathSweep::StateOf(std::vector<uint32_t> ends) {
  const auto [at, added] =
      known_.try_emplace(std::move(ends), static_cast<StateId>(states_.size()));
  if (!added) return at->second;
  State& state = states_.emplace_back();
  state.ends = &at->first;
  for (const uint32_t end : at->first) {
    state.ids.insert(state.ids.end(), ends_[end].ids.begin(), ends_[end].ids.end());
  }
  std::ranges::sort(state.ids);
  state.ids.erase(std::unique(state.ids.begin(), state.ids.end()), state.ids.end());
  below_.resize(below_.size() + num_ops_, kUnknown);
  size_ += kSizeOfState + at->first.size() + state.ids.size() + num_ops_;
  return at->second;
}

PathSweep::StateId PathSweep::Find(NodeId n) {
  StateId above = kNothing;
  NodeId last;
  const size_t count = graph_.num_inputs(n);
  for (size_t i = 0; i < count; ++i) {
    const ValueId v = graph_.input(n, i);
    if (!v.valid()) continue;
    const NodeId producer = graph_.producer(v);
    if (!producer.valid() || producer == last) continue;
    last = producer;
    const StateId here = at_[producer.index];
    if (here == kUnknown) return kUnknown;
    above = Both(above, here);
  }
  return Below(above, graph_.op(n));
}

PathSweep::StateId PathSweep::Both(StateId a, StateId b) {
  if (a == b || b == kNothing) return a;
  if (a == kNothing) return b;
  const auto [at, added] = both_.try_emplace(uint64_t{a} << 32 | b, kNothing);
  if (!added) return at->second;
  std::vector<uint32_t> ends;
  std::ranges::set_union(*states_[a].ends, *states_[b].ends, std::back_inserter(ends));
  size_ += kSizeOfPair;
  return at->second = StateOf(std::move(ends));
}

PathSweep::StateId PathSweep::Below(StateId above, OpId op) {
  const StateId known = below_[above * num_ops_ + op.index];
  return known != kUnknown ? known : FindBelow(above, op);
}

PathSweep::StateId PathSweep::FindBelow(StateId above, OpId op) {
  const OpName& name = graph_.op_name(op);
  std::vector<uint32_t> found;
  longer_.AddAccepting(0, name, found);
  for (const uint32_t end : *states_[above].ends) longer_.AddAccepting(end, name, found);
  std::ranges::sort(found);
  const StateId below = StateOf(std::move(found));
  return below_[above * num_ops_ + op.index] = below;
}

}  // namespace qrewrite
