// Which node and value of one graph is which of another one: by names, by structure, then from what
// is matched already to its neighbours.
//
// Contract: a match is one to one, within bodies that are matched, and between nodes of one
// operator. What has no counterpart maps to an invalid id. Deterministic, and linear in the two
// graphs.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <utility>
#include <vector>

#include "engine/graph/graph.h"

namespace qrewrite {

class GraphMatching {
 public:
  // The referents outlive this object and do not change. `names`: equal names count.
  GraphMatching(const Graph& a, const Graph& b, bool names);

  // Matches all. kInvalidModel: a cycle.
  Status Run();

  const Graph& a() const { return a_; }
  const Graph& b() const { return b_; }
  NodeId ToB(NodeId a) const { return node_to_b_[a.index]; }
  NodeId ToA(NodeId b) const { return node_to_a_[b.index]; }
  ValueId ToB(ValueId a) const { return a.valid() ? value_to_b_[a.index] : ValueId(); }
  ValueId ToA(ValueId b) const { return b.valid() ? value_to_a_[b.index] : ValueId(); }
  // The main graphs come first, subgraphs after the one they are in.
  const std::vector<std::pair<BodyId, BodyId>>& bodies() const { return bodies_; }
  bool SameOp(NodeId a, NodeId b) const { return op_to_b_[a_.op(a).index] == b_.op(b); }

 private:
  Status MatchBodies(BodyId a, BodyId b);
  void MatchInputs(const Body& a, const Body& b);
  void MatchNames(BodyId a, BodyId b, const std::vector<NodeId>& order_b);
  void MatchStructure(const std::vector<NodeId>& order_a, const std::vector<NodeId>& order_b);
  void MatchCounts(const std::vector<NodeId>& order_a, const std::vector<NodeId>& order_b);
  void MatchOutputs(BodyId a, BodyId b);
  void Spread(BodyId a);
  void MatchReaders(ValueId a, ValueId b);
  void Match(NodeId a, NodeId b);
  void Pair(ValueId a, ValueId b);
  bool Free(NodeId a, NodeId b) const;
  bool Free(ValueId a, ValueId b) const;
  uint64_t KeyOf(const Graph& graph, NodeId n, bool of_b) const;
  uint64_t ContentOf(const Tensor& tensor) const;

  const Graph& a_;
  const Graph& b_;
  bool names_;
  std::vector<OpId> op_to_b_;
  std::vector<NodeId> node_to_b_, node_to_a_;
  std::vector<ValueId> value_to_b_, value_to_a_;
  std::vector<std::pair<BodyId, BodyId>> bodies_;
  std::vector<std::pair<NodeId, NodeId>> new_pairs_;  // whose neighbours were not looked at
};

}  // namespace qrewrite
