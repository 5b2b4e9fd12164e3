// CandidateIndex: which rules of a phase can match at a node at all.
//
// A rule's pattern demands a path of operators upwards from its anchor: the anchor's own, one of
// its producers', one of theirs, and so on. The paths of all rules form one tree, so that rules
// share what they have in common. A walk from a node up to its producers is at several steps of the
// tree at once; such a set of steps is a state, made when a walk first gets there (as RE2 makes
// those of its DFA), so that going on to a producer is one look into a table, whatever the number
// of rules. The index only leaves out what cannot match.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <vector>

#include "engine/graph/graph.h"
#include "engine/program/program.h"

namespace qrewrite {

class CandidateIndex {
 public:
  // Rules are given in order of trial; they and the graph must outlive the index.
  CandidateIndex(const Graph& graph, const Program& program,
                 std::vector<const CompiledRule*> compiled);

  bool empty() const { return rules_.empty(); }
  // Whether a rule can have its anchor at a node of this operator.
  bool Begins(OpId op) { return Next(kStart, op) != kDead; }
  // The rules that may match with their anchor at `n`, in order of trial. Valid until the next
  // call.
  const std::vector<const CompiledRule*>& At(NodeId n);

 private:
  // An operator test on the way up; `rules` demand nothing beyond it.
  struct Step {
    const std::vector<OpPattern>* ops =
        nullptr;  // of the program or anchors_; null: every operator
    std::vector<uint32_t> next;
    std::vector<uint32_t> rules;
  };
  // What a walk that is at these steps knows and asks next.
  struct State {
    const std::vector<uint32_t>* steps = nullptr;  // in known_
    std::vector<uint32_t> rules;                   // of all steps
    bool ends = true;                              // no step goes on
    std::vector<uint32_t> next;                    // by OpId; kUnknown: not asked
  };
  static constexpr uint32_t kStart = 0, kDead = 1, kUnknown = UINT32_MAX;
  using Path = std::vector<const std::vector<OpPattern>*>;

  static void Extend(const Pattern& pattern, const PatCall& call, int depth, Path& path);
  uint32_t Child(uint32_t step, const std::vector<OpPattern>* ops);
  void Forget();  // all states but the first two
  uint32_t StateOf(std::vector<uint32_t> steps);
  uint32_t Next(uint32_t state, OpId op) {
    const std::vector<uint32_t>& next = states_[state].next;
    if (op.index < next.size() && next[op.index] != kUnknown) return next[op.index];
    return FindNext(state, op);
  }
  uint32_t FindNext(uint32_t state, OpId op);
  void Walk(uint32_t state, NodeId n);

  const Graph& graph_;
  std::vector<const CompiledRule*> rules_;
  std::deque<std::vector<OpPattern>> anchors_;  // which the first steps test
  std::vector<Step> steps_;                     // the first is where every path begins
  std::vector<State> states_;
  std::map<std::vector<uint32_t>, uint32_t> known_;  // steps -> state
  std::vector<uint32_t> found_;
  std::vector<const CompiledRule*> result_;
};

}  // namespace qrewrite
