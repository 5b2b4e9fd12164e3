#include "engine/match/candidates.h"

#include <algorithm>

namespace qrewrite {
namespace {

constexpr int kMaxDepth = 8;  // of a path: enough to tell rules apart
// More are forgotten and made again, so that patterns of wildcards do not grow tables without end.
constexpr size_t kMaxStates = 20'000;

bool SameOps(const std::vector<OpPattern>& a, const std::vector<OpPattern>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](const OpPattern& x, const OpPattern& y) {
                      return x.op == y.op && x.wildcard == y.wildcard;
                    });
}

}  // namespace

CandidateIndex::CandidateIndex(const Graph& graph, const Program& program,
                               std::vector<const CompiledRule*> compiled)
    : graph_(graph), rules_(std::move(compiled)), steps_(1) {
  for (size_t i = 0; i < rules_.size(); ++i) {
    const Pattern& pattern = rules_[i]->pattern;
    const std::vector<OpPattern>* first = nullptr;
    if (auto ops = AnchorOps(program, pattern)) first = &anchors_.emplace_back(std::move(*ops));
    Path path = {first};
    const PatArg& value = pattern.stmts[pattern.anchor].value;
    if (value.call != nullptr && value.call->definition < 0) Extend(pattern, *value.call, 0, path);
    uint32_t at = 0;
    for (const std::vector<OpPattern>* ops : path) at = Child(at, ops);
    steps_[at].rules.push_back(static_cast<uint32_t>(i));
  }
  Forget();
}

// Appends the longest path of operators that the arguments of `call` demand: nested calls, and
// calls of other statements that make a named argument.
void CandidateIndex::Extend(const Pattern& pattern, const PatCall& call, int depth, Path& path) {
  if (depth == kMaxDepth) return;
  Path longest;
  for (const PatArg& arg : call.args) {
    if (arg.optional || arg.repeated) continue;
    const PatCall* inner = arg.call.get();
    if (arg.kind == PatArg::Kind::kName) {
      for (const PatStmt& stmt : pattern.stmts) {
        const bool makes = std::any_of(stmt.outs.begin(), stmt.outs.end(), [&](const PatOut& o) {
          return o.slot == arg.slot && !o.repeated;
        });
        if (makes) inner = stmt.value.call.get();
      }
    }
    if (inner == nullptr || inner->definition >= 0 || inner->ops.negated ||
        inner->quantifier != Quantifier::kOne) {
      continue;
    }
    Path here = {&inner->ops.patterns};
    Extend(pattern, *inner, depth + 1, here);
    if (here.size() > longest.size()) longest = std::move(here);
  }
  path.insert(path.end(), longest.begin(), longest.end());
}

uint32_t CandidateIndex::Child(uint32_t step, const std::vector<OpPattern>* ops) {
  for (const uint32_t next : steps_[step].next) {
    const std::vector<OpPattern>* const other = steps_[next].ops;
    if (ops == nullptr || other == nullptr ? ops == other : SameOps(*other, *ops)) return next;
  }
  const auto added = static_cast<uint32_t>(steps_.size());
  steps_.push_back({.ops = ops});
  steps_[step].next.push_back(added);
  return added;
}

void CandidateIndex::Forget() {
  states_.clear();
  known_.clear();
  StateOf({0});  // kStart
  StateOf({});   // kDead
}

uint32_t CandidateIndex::StateOf(std::vector<uint32_t> steps) {
  const auto [at, added] = known_.try_emplace(std::move(steps), states_.size());
  if (!added) return at->second;
  State& state = states_.emplace_back();
  state.steps = &at->first;
  for (const uint32_t step : at->first) {
    state.rules.insert(state.rules.end(), steps_[step].rules.begin(), steps_[step].rules.end());
    state.ends &= steps_[step].next.empty();
  }
  return at->second;
}

uint32_t CandidateIndex::FindNext(uint32_t state, OpId op) {
  const OpName& name = graph_.op_name(op);
  std::vector<uint32_t> steps;
  for (const uint32_t step : *states_[state].steps) {
    for (const uint32_t next : steps_[step].next) {
      const std::vector<OpPattern>* const ops = steps_[next].ops;
      const auto accepts = [&](const OpPattern& p) { return p.Matches(name); };
      if (ops == nullptr || std::ranges::any_of(*ops, accepts)) steps.push_back(next);
    }
  }
  const uint32_t found = StateOf(std::move(steps));
  std::vector<uint32_t>& known = states_[state].next;
  if (known.size() <= op.index) {
    known.resize(std::max<size_t>(graph_.num_ops(), op.index + 1), kUnknown);
  }
  return known[op.index] = found;
}

// The walk has come to `state` by passing node `n`: next come the producers of `n`.
void CandidateIndex::Walk(uint32_t state, NodeId n) {
  found_.insert(found_.end(), states_[state].rules.begin(), states_[state].rules.end());
  if (states_[state].ends) return;
  NodeId last;
  const size_t count = graph_.num_inputs(n);
  for (size_t i = 0; i < count; ++i) {
    const ValueId v = graph_.input(n, i);
    if (!v.valid()) continue;
    const NodeId producer = graph_.producer(v);
    if (!producer.valid() || producer == last) continue;
    last = producer;
    const uint32_t next = Next(state, graph_.op(producer));
    if (next != kDead) Walk(next, producer);
  }
}

const std::vector<const CompiledRule*>& CandidateIndex::At(NodeId n) {
  if (states_.size() > kMaxStates) Forget();
  found_.clear();
  const uint32_t first = Next(kStart, graph_.op(n));
  if (first != kDead) Walk(first, n);
  if (found_.size() > 1) {
    std::ranges::sort(found_);
    found_.erase(std::unique(found_.begin(), found_.end()), found_.end());
  }
  result_.clear();
  for (const uint32_t i : found_) result_.push_back(rules_[i]);
  return result_;
}

}  // namespace qrewrite
