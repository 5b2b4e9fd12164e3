// Where a rule can begin: at which operators of a graph. What asks it of many nodes looks at each operator once.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

#include "engine/graph/graph.h"
#include "engine/program/program.h"

namespace qrewrite {

class Beginnings {
 public:
  // `graph` must outlive this; operators may be added to it.
  Beginnings(const Graph& graph, const Program& program, const CompiledRule& rule)
      : graph_(graph), anchors_(AnchorOps(program, rule.pattern)) {}

  bool At(NodeId n) { return !anchors_ || Accepts(graph_.op(n)); }

  // Whether the graph has any node of such an operator.
  bool Anywhere() {
    if (!anchors_) return true;
    for (size_t i = 0; i < graph_.num_ops(); ++i) {
      if (graph_.num_nodes(OpId(i)) > 0 && Accepts(OpId(i))) return true;
    }
    return false;
  }

 private:
  bool Accepts(OpId op) {
    if (known_.size() <= op.index) known_.resize(graph_.num_ops(), -1);
    int8_t& known = known_[op.index];
    if (known < 0) {
      known = std::ranges::any_of(
          *anchors_, [&](const OpPattern& p) { return p.Matches(graph_.op_name(op)); });
    }
    return known == 1;
  }

  const Graph& graph_;
  const std::optional<OpPatterns> anchors_;
  std::vector<int8_t> known_;  // by number of the operator; -1: not asked yet
};

}  // namespace qrewrite
