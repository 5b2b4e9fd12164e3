// CandidateIndex: which rules of a phase can match at a node at all.
//
// A rule's pattern demands a path of operators upwards from its anchor: the anchor's own, one of
// its producers', one of theirs, and so on. The paths of all rules form one tree, so that rules
// share what they have in common. A walk from a node up to its producers is at several steps of the
// tree at once; such a set of steps is a state, made when a walk first gets there (as RE2 makes
// those of its DFA), so that going on to a producer is one look into a table, whatever the number
// of rules. The index only leaves out what cannot match; where walks get long (wide operators on
// each other) it leaves out less, so that a visit has a bounded number of looks on average.
//
// Many rules make walks long. For them a sweep over a graph that does not change (yet) finds the
// candidates of each node on its way down, see engine/match/path_sweep.h.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <unordered_set>
#include <vector>

#include "engine/graph/graph.h"
#include "engine/match/path_sweep.h"
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
  // A sweep over all nodes begins: Pass() is called for each, producers first, before it is asked for.
  void BeginSweep() {
    if (many_) paths_.Begin();
  }
  void Pass(NodeId n) { paths_.Pass(n); }
  void GraphChanged() { paths_.Stop(); }      // REQUIRED after each change in a sweep
  int64_t walked() const { return walked_; }  // inputs that the last At() looked at

 private:
  // An operator test on the way up; `rules` demand nothing beyond it.
  struct Step {
    std::vector<uint32_t> rules;
  };
  // What a walk that is at these steps knows.
  struct State {
    const std::vector<uint32_t>* steps = nullptr;  // in known_
    std::vector<uint32_t> rules;                   // of all steps
    bool ends = true;                              // no step goes on
  };
  // A state as the table has it: its number, and what a walk need not look up.
  using Entry = uint32_t;
  static constexpr Entry kEnds = 1;      // no step goes on
  static constexpr Entry kHasRules = 2;  // a path ends here
  static constexpr int kFlagBits = 2;
  static constexpr uint32_t kStart = 0;
  static constexpr Entry kDead = (1 << kFlagBits) | kEnds;  // state 1: no step at all
  static constexpr Entry kUnknown = UINT32_MAX;

  static void Extend(const Pattern& pattern, const PatCall& call, int depth, OpPath& path);
  uint32_t Child(uint32_t step, OpTest ops);  // `ops` are of the program or anchors_
  void Forget();                              // all states but the first two
  Entry StateOf(std::vector<uint32_t> steps);
  Entry Next(uint32_t state, OpId op) {
    if (op.index < num_ops_) {
      const Entry next = next_[state * num_ops_ + op.index];
      if (next != kUnknown) return next;
    }
    return FindNext(state, op);
  }
  Entry FindNext(uint32_t state, OpId op);
  void WidenTable();
  void FindByWalk(NodeId n);  // into found_
  void Walk(Entry at, NodeId n);
  void AddAllFrom(uint32_t step);

  const Graph& graph_;
  std::vector<const CompiledRule*> rules_;
  std::deque<OpPatterns> anchors_;  // which the first steps test
  std::vector<Step> steps_;         // the first is where every path begins
  Branches branches_;               // from each step, by the operators that go on
  std::vector<State> states_;
  size_t num_ops_ = 0;       // columns of next_: operators of the graph that were seen
  std::vector<Entry> next_;  // by state and OpId; kUnknown: not asked
  std::map<std::vector<uint32_t>, Entry> known_;  // steps -> state
  std::vector<uint32_t> found_;
  std::unordered_set<uint64_t> passed_;  // entry and node, in a long walk
  int64_t walked_ = 0;                   // inputs that this walk looks at
  int64_t left_;                         // how many it may; what it leaves is for later ones
  PathSweep paths_;                      // of rules_
  bool many_ = false;                    // so many steps that it is worth it
  std::vector<const CompiledRule*> result_;
};

}  // namespace qrewrite
