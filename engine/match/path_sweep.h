// PathSweep: which paths of operator tests begin at a node, found in one sweep over a graph that
// stays as it is, producers first.
//
// A path is read upwards: a test of the node, one of a producer of it, and so on. The sweep goes
// down, as Aho and Corasick's machine goes along a text: the ends of paths that hold at the
// producers of a node, and its operator, say which longer ends hold at the node. Such a set of ends
// is a state; states and the ways between them are made when a sweep first needs them, so that a
// node costs a look per input whatever the number and length of the paths. (engine/match/candidates.h
// walks up from each node instead: better for few paths, and while the graph changes.)
#pragma once

#include <cstdint>
#include <map>
#include <unordered_map>
#include <vector>

#include "engine/graph/graph.h"
#include "engine/match/branches.h"

namespace qrewrite {

using OpPath = std::vector<OpTest>;

class PathSweep {
 public:
  explicit PathSweep(const Graph& graph) : graph_(graph), ends_(1) { Forget(); }

  // What the tests point to must outlive this.
  void Add(const OpPath& path, uint32_t id);

  // A sweep begins: nothing is known of any node.
  void Begin();
  // The graph changes: nothing is known till Begin.
  void Stop() { on_ = false; }
  // REQUIRES: since Begin no node has changed its operator or inputs, and no value its producer; nodes
  // that were added and taken back do not count. Producers go first; what they lead to stays unknown
  // otherwise.
  void Pass(NodeId n) {
    if (!on_) return;
    at_[n.index] = Find(n);
    on_ = size_ <= kMaxSize;
  }
  // The ids of the paths that begin at `n`, ascending; null if that is not known.
  const std::vector<uint32_t>* At(NodeId n) const {
    if (!on_ || n.index >= at_.size() || at_[n.index] == kUnknown) return nullptr;
    return &states_[at_[n.index]].ids;
  }

 private:
  using StateId = uint32_t;
  // Of all tables, in numbers of 4 bytes. A graph that needs more is none that repeats itself: its
  // states cost more than they save.
  static constexpr size_t kMaxSize = 4'000'000;
  static constexpr StateId kNothing = 0;  // no end holds
  static constexpr StateId kUnknown = UINT32_MAX;
  // The tests of a path from some place to its last, reached from the last one: the root has none.
  struct End {
    std::vector<uint32_t> ids;  // of the paths that are no longer than this
  };
  struct State {
    const std::vector<uint32_t>* ends = nullptr;  // in known_, ascending
    std::vector<uint32_t> ids;                    // of all of them
  };

  void Forget();
  StateId StateOf(std::vector<uint32_t> ends);
  StateId Find(NodeId n);
  StateId Both(StateId a, StateId b);     // what holds at one or the other
  StateId Below(StateId above, OpId op);  // at a node below
  StateId FindBelow(StateId above, OpId op);

  const Graph& graph_;
  std::vector<End> ends_;
  Branches longer_;  // of each end, by the test in front
  std::vector<State> states_;
  std::map<std::vector<uint32_t>, StateId> known_;
  size_t size_ = 0;                             // of the tables, see kMaxSize
  std::unordered_map<uint64_t, StateId> both_;  // by the two states
  size_t num_ops_ = 0;                          // columns of below_
  std::vector<StateId> below_;                  // by state and OpId; kUnknown: not asked
  std::vector<StateId> at_;                     // by NodeId
  bool on_ = false;
};

}  // namespace qrewrite
