#include "engine/match/candidates.h"

#include <algorithm>

namespace qrewrite {
namespace {

constexpr int kMaxDepth = 8;  // of a path: enough to tell rules apart

bool SameOps(const std::vector<OpPattern>& a, const std::vector<OpPattern>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](const OpPattern& x, const OpPattern& y) {
                      return x.op == y.op && x.wildcard == y.wildcard;
                    });
}

}  // namespace

bool OpTest::Accepts(const Graph& graph, OpId op) const {
  if (cache_.size() <= op.index) cache_.resize(std::max<size_t>(graph.num_ops(), op.index + 1), -1);
  signed char& cached = cache_[op.index];
  if (cached < 0) {
    const OpName& name = graph.op_name(op);
    cached = std::any_of(patterns.begin(), patterns.end(),
                         [&](const OpPattern& p) { return p.Matches(name); });
  }
  return cached == 1;
}

CandidateIndex::CandidateIndex(const Graph& graph, const Program& program,
                               std::vector<const CompiledRule*> compiled)
    : graph_(graph), rules_(std::move(compiled)) {
  for (size_t i = 0; i < rules_.size(); ++i) {
    const Pattern& pattern = rules_[i]->pattern;
    const auto anchors = AnchorOps(program, pattern);
    Step* at = &Child(root_, anchors ? &*anchors : nullptr);
    Path path;
    const PatArg& value = pattern.stmts[pattern.anchor].value;
    if (value.call != nullptr && value.call->definition < 0) Extend(pattern, *value.call, 0, path);
    for (const std::vector<OpPattern>* ops : path) at = &Child(*at, ops);
    at->rules.push_back(i);
  }
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

CandidateIndex::Step& CandidateIndex::Child(Step& step, const std::vector<OpPattern>* ops) {
  for (const auto& next : step.next) {
    if (ops == nullptr ? next->any : !next->any && SameOps(next->test.patterns, *ops)) return *next;
  }
  step.next.push_back(std::make_unique<Step>());
  Step& added = *step.next.back();
  added.any = ops == nullptr;
  if (ops != nullptr) added.test.patterns = *ops;
  return added;
}

const CandidateIndex::Step::Fits& CandidateIndex::FindFitting(Step& step, OpId op) {
  if (step.fits.size() <= op.index) {
    step.fits.resize(std::max<size_t>(graph_.num_ops(), op.index + 1));
  }
  Step::Fits& fits = step.fits[op.index];
  fits.asked = true;
  for (const auto& next : step.next) {
    if (!next->any && !next->test.Accepts(graph_, op)) continue;
    if (fits.first == nullptr) {
      fits.first = next.get();
    } else {
      fits.others.push_back(next.get());
    }
  }
  return fits;
}

// `step` was passed by node `n`: its rules are candidates, its next steps ask the producers of `n`.
void CandidateIndex::Walk(Step& step, NodeId n, std::vector<size_t>& found) {
  for (const size_t rule : step.rules) found.push_back(rule);
  if (step.next.empty()) return;
  NodeId last;
  const size_t count = graph_.num_inputs(n);
  for (size_t i = 0; i < count; ++i) {
    const ValueId v = graph_.input(n, i);
    if (!v.valid()) continue;
    const NodeId producer = graph_.producer(v);
    if (!producer.valid() || producer == last) continue;
    last = producer;
    WalkAll(Fitting(step, graph_.op(last)), last, found);
  }
}

const std::vector<const CompiledRule*>& CandidateIndex::At(NodeId n) {
  found_.clear();
  WalkAll(Fitting(root_, graph_.op(n)), n, found_);
  if (found_.size() > 1) std::sort(found_.begin(), found_.end());
  found_.erase(std::unique(found_.begin(), found_.end()), found_.end());
  result_.clear();
  for (const size_t i : found_) result_.push_back(rules_[i]);
  return result_;
}

}  // namespace qrewrite
