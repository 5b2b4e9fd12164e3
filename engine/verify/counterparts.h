// Counterparts: two models whose nodes and values are matched, and what is not the same in a pair of nodes.
//
// Contract: values are those of the main graphs; nodes of bodies (subgraphs of If, Loop and Scan, functions
// that are called) are compared when the node is asked about that runs them. Both models outlive this object and
// do not change.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "engine/diff/matching.h"
#include "engine/match/facts.h"
#include "qrewrite/verify.h"

namespace qrewrite {

class Counterparts {
 public:
  Counterparts(const Model& a, const Model& b);

  Status Match();  // first of all. kInvalidModel: a cycle

  // Values that nodes make and that have counterparts, in the order of the second graph. A node without
  // inputs that is a constant is none: who reads it is to blame for it.
  Result<std::vector<ValueId>> Values();
  ValueId ToA(ValueId b) const;  // of a value of the main graph that a node makes; invalid: none

  // What goes into `v` and is computed: values with counterparts, looked for behind those without. What
  // the bodies of a node read from outside goes into the node.
  std::vector<ValueId> Sources(ValueId v) const;

  // What the node of `v` has otherwise than its counterpart.
  NodeDifference Compare(ValueId v);
  // The same, and constants that differ by a rounding count.
  NodeDifference CompareRoundings(ValueId v);
  // What is not the same of outputs with these numbers that are constants.
  std::optional<DifferingConstant> CompareOutputs(size_t in_a, size_t in_b);
  // The same of the nodes in its bodies, and of what the bodies give. If constants or attributes are others
  // somewhere, of these alone.
  std::vector<NodeDifference> CompareBodies(ValueId v);

  bool IsConstant(ValueId v);  // of the second graph
  bool HaveSameOperators() const;
  bool AreNodeForNode() const;  // as many, and each of the second graph has a counterpart

  std::string NodeTextOfA(ValueId a) const;
  std::string NodeTextOfB(ValueId b) const;
  const Graph& a() const { return a_; }
  const Graph& b() const { return b_; }

 private:
  Status MatchReplaced(BodyId body);
  ValueId Other(ValueId b) const;  // in the first graph
  // `roundings`: float constants that differ by one count.
  NodeDifference Compare(NodeId in_a, NodeId in_b, bool roundings = false);
  void CompareConstants(ValueId x, ValueId y, NodeDifference& found, bool roundings = false);
  void CompareAttributes(NodeId in_a, NodeId in_b, NodeDifference& found) const;
  // "input 1", the value at this place in both: whether it is another one.
  void CompareReads(const std::string& place, ValueId x, ValueId y, NodeDifference& found);
  void CompareBody(BodyId body, std::vector<NodeDifference>& found);
  NodeId NodeToA(NodeId in_b) const;
  std::vector<BodyId> BodiesOf(NodeId in_b) const;  // with those inside them and of functions

  const Graph& a_;
  const Graph& b_;
  GraphMatching matching_;
  Facts facts_a_, facts_b_;
  std::map<OpName, BodyId> functions_;   // of b
  std::map<BodyId, BodyId> bodies_;      // of b, to those of a
  std::map<ValueId, ValueId> replaced_;  // of b, to those of a: what nodes of another operator make
};

}  // namespace qrewrite
