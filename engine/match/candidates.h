// CandidateIndex: which rules of a phase can match at a node at all.
//
// A rule's pattern demands a path of operators upwards from its anchor: the anchor's own, one of
// its producers', one of theirs, and so on. The paths of all rules form one tree, so that rules
// share what they have in common, and a node is held against the tree instead of against every
// rule: a thousand rules that never fire cost little more than ten. The index only leaves out what
// cannot match.
#pragma once

#include <memory>
#include <vector>

#include "engine/graph/graph.h"
#include "engine/program/program.h"

namespace qrewrite {

// Which operators a step accepts; the answers are remembered.
class OpTest {
 public:
  std::vector<OpPattern> patterns;

  bool Accepts(const Graph& graph, OpId op) const;

 private:
  mutable std::vector<signed char> cache_;  // by OpId: -1 not asked
};

class CandidateIndex {
 public:
  // Rules are given in order of trial; they and the graph must outlive the index.
  CandidateIndex(const Graph& graph, const Program& program,
                 std::vector<const CompiledRule*> compiled);

  bool empty() const { return rules_.empty(); }
  // Whether a rule can have its anchor at a node of this operator.
  bool Begins(OpId op) { return Fitting(root_, op).first != nullptr; }
  // The rules that may match with their anchor at `n`, in order of trial. Valid until the next
  // call.
  const std::vector<const CompiledRule*>& At(NodeId n);

 private:
  // An operator test on the way up; `rules` demand nothing beyond it.
  struct Step {
    OpTest test;
    bool any = false;  // every operator
    std::vector<std::unique_ptr<Step>> next;
    std::vector<size_t> rules;
    // Next steps by OpId, filled when asked for; mostly one.
    struct Fits {
      bool asked = false;
      Step* first = nullptr;
      std::vector<Step*> others;
    };
    std::vector<Fits> fits;
  };
  using Path = std::vector<const std::vector<OpPattern>*>;  // of the program

  static void Extend(const Pattern& pattern, const PatCall& call, int depth, Path& path);
  static Step& Child(Step& step, const std::vector<OpPattern>* ops);
  const Step::Fits& Fitting(Step& step, OpId op) {
    if (op.index < step.fits.size() && step.fits[op.index].asked) return step.fits[op.index];
    return FindFitting(step, op);
  }
  const Step::Fits& FindFitting(Step& step, OpId op);
  void WalkAll(const Step::Fits& fits, NodeId n, std::vector<size_t>& found) {
    if (fits.first == nullptr) return;
    Walk(*fits.first, n, found);
    for (Step* next : fits.others) Walk(*next, n, found);
  }
  void Walk(Step& step, NodeId n, std::vector<size_t>& found);

  const Graph& graph_;
  std::vector<const CompiledRule*> rules_;
  Step root_;
  std::vector<size_t> found_;
  std::vector<const CompiledRule*> result_;
};

}  // namespace qrewrite
