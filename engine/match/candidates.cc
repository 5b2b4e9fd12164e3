#include "engine/match/candidates.h"

#include <algorithm>

namespace qrewrite {
namespace {

constexpr int kMaxDepth = 8;  // of a path: enough to tell rules apart
// More are forgotten and made again, so that patterns of wildcards do not grow tables without end.
constexpr size_t kMaxStates = 20'000;
constexpr size_t kMaxEntries = 4'000'000;  // of the table, but for models of so many operators
constexpr size_t kMinStates = 64;
// Looks at producers. A usual walk has some ten; what it leaves is for longer ones.
constexpr int64_t kLooksOfWalk = 2000, kFirstLooks = 1'000'000;
constexpr size_t kManySteps = 200;  // of all rules: walks are long then
constexpr int64_t kLongWalk = 64;   // from here on nothing is passed twice

}  // namespace

CandidateIndex::CandidateIndex(const Graph& graph, const Program& program,
                               std::vector<const CompiledRule*> compiled)
    : graph_(graph), rules_(std::move(compiled)), steps_(1), left_(kFirstLooks), paths_(graph) {
  std::vector<OpPath> paths;
  paths.reserve(rules_.size());
  for (size_t i = 0; i < rules_.size(); ++i) {
    const Pattern& pattern = rules_[i]->pattern;
    OpTest first = nullptr;
    if (auto ops = AnchorOps(program, pattern)) first = &anchors_.emplace_back(std::move(*ops));
    OpPath path;
    path.reserve(kMaxDepth + 1);
    path.push_back(first);
    const PatArg& value = pattern.stmts[pattern.anchor].value;
    if (value.call != nullptr && value.call->definition < 0) Extend(pattern, *value.call, 0, path);
    uint32_t at = 0;
    for (const OpTest ops : path) at = Child(at, ops);
    steps_[at].rules.push_back(static_cast<uint32_t>(i));
    paths.push_back(std::move(path));
  }
  many_ = steps_.size() > kManySteps;
  for (size_t i = 0; many_ && i < paths.size(); ++i) paths_.Add(paths[i], static_cast<uint32_t>(i));
  Forget();
}

// Appends the longest path of operators that the arguments of `call` demand.
void CandidateIndex::Extend(const Pattern& pattern, const PatCall& call, int depth, OpPath& path) {
  if (depth == kMaxDepth) return;
  const size_t base = path.size();
  size_t longest = base;  // the end of the longest one so far; behind it the next is tried
  for (const PatArg& arg : call.args) {
    const PatCall* const maker = pattern.MakerOf(arg);
    const bool demanded = maker != nullptr && !arg.optional && !arg.repeated;
    if (!demanded || !maker->is_one_node() || maker->ops.negated) continue;
    path.push_back(&maker->ops.patterns);
    Extend(pattern, *maker, depth + 1, path);
    if (path.size() - longest > longest - base) {
      path.erase(path.begin() + static_cast<ptrdiff_t>(base),
                 path.begin() + static_cast<ptrdiff_t>(longest));
    } else {
      path.resize(longest);
    }
    longest = path.size();
  }
}

uint32_t CandidateIndex::Child(uint32_t step, OpTest ops) {
  const uint32_t child = branches_.FindOrAdd(step, ops, static_cast<uint32_t>(steps_.size()));
  if (child == steps_.size()) steps_.emplace_back();
  return child;
}

void CandidateIndex::Forget() {
  states_.clear();
  known_.clear();
  next_.clear();
  StateOf({0});  // kStart
  StateOf({});   // kDead
}

CandidateIndex::Entry CandidateIndex::StateOf(std::vector<uint32_t> steps) {
  const auto [at, added] = known_.try_emplace(std::move(steps));
  if (!added) return at->second;
  const auto number = static_cast<uint32_t>(states_.size());
  State& state = states_.emplace_back();
  state.steps = &at->first;
  for (const uint32_t step : at->first) {
    state.rules.insert(state.rules.end(), steps_[step].rules.begin(), steps_[step].rules.end());
    state.ends &= branches_.Of(step).empty();
  }
  next_.resize(next_.size() + num_ops_, kUnknown);
  at->second =
      (number << kFlagBits) | (state.rules.empty() ? 0 : kHasRules) | (state.ends ? kEnds : 0);
  return at->second;
}

// Rewriting brings operators that the table has no column for.
void CandidateIndex::WidenTable() {
  const size_t before = num_ops_;
  num_ops_ = graph_.num_ops();
  std::vector<Entry> wider(states_.size() * num_ops_, kUnknown);
  for (size_t i = 0; i < states_.size(); ++i) {
    std::copy_n(next_.begin() + static_cast<ptrdiff_t>(i * before), before,
                wider.begin() + static_cast<ptrdiff_t>(i * num_ops_));
  }
  next_ = std::move(wider);
}

CandidateIndex::Entry CandidateIndex::FindNext(uint32_t state, OpId op) {
  const OpName& name = graph_.op_name(op);
  std::vector<uint32_t> steps;
  for (const uint32_t step : *states_[state].steps) {
    branches_.AddAccepting(step, name, steps);
  }
  std::ranges::sort(steps);
  if (op.index >= num_ops_) WidenTable();
  const Entry found = StateOf(std::move(steps));
  return next_[state * num_ops_ + op.index] = found;
}

// The walk has come to `at` by passing node `n`: next come the producers of `n`.
void CandidateIndex::Walk(Entry at, NodeId n) {
  const uint32_t state = at >> kFlagBits;
  if ((at & kHasRules) != 0) {
    found_.insert(found_.end(), states_[state].rules.begin(), states_[state].rules.end());
  }
  if ((at & kEnds) != 0) return;
  NodeId last;
  const size_t count = graph_.num_inputs(n);
  walked_ += static_cast<int64_t>(count);
  for (size_t i = 0; i < count && walked_ < left_; ++i) {
    const ValueId v = graph_.input(n, i);
    if (!v.valid()) continue;
    const NodeId producer = graph_.producer(v);
    if (!producer.valid() || producer == last) continue;
    last = producer;
    const Entry next = Next(state, graph_.op(producer));
    if (next == kDead) continue;
    if (walked_ > kLongWalk && !passed_.insert(uint64_t{next} << 32 | producer.index).second) {
      continue;
    }
    Walk(next, producer);
  }
}

// The rules of all paths that go on from `step`.
void CandidateIndex::AddAllFrom(uint32_t step) {
  found_.insert(found_.end(), steps_[step].rules.begin(), steps_[step].rules.end());
  for (const Branches::Child& next : branches_.Of(step)) AddAllFrom(next.number);
}

const std::vector<const CompiledRule*>& CandidateIndex::At(NodeId n) {
  const std::vector<uint32_t>* known = paths_.At(n);
  if (known == nullptr) {
    FindByWalk(n);
    known = &found_;
  }
  result_.clear();
  for (const uint32_t i : *known) result_.push_back(rules_[i]);
  return result_;
}

void CandidateIndex::FindByWalk(NodeId n) {
  if (states_.size() > std::min(kMaxStates, kMinStates + kMaxEntries / (num_ops_ + 1))) Forget();
  found_.clear();
  if (walked_ > kLongWalk) passed_.clear();
  left_ += kLooksOfWalk - std::min(walked_, left_);
  walked_ = 0;
  const Entry first = Next(kStart, graph_.op(n));
  Walk(first, n);
  if (walked_ >= left_) {
    found_.clear();
    for (const uint32_t step : *states_[first >> kFlagBits].steps) AddAllFrom(step);
  }
  if (found_.size() > 1) {
    std::ranges::sort(found_);
    found_.erase(std::unique(found_.begin(), found_.end()), found_.end());
  }
}

}  // namespace qrewrite
