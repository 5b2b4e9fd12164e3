// Compares two graphs whose counterparts are known (matching.h).
#pragma once

#include <map>
#include <string_view>
#include <vector>

#include "engine/diff/matching.h"
#include "qrewrite/diff.h"

namespace qrewrite {

struct CompareOptions {
  bool names = true;
  // Constants that have to be computed first are not: they are taken as different ones, unless they
  // were made in the same way.
  bool compute = true;
  // What initializers hold that are values without tensor (ModelFile::Carried).
  std::map<ValueId, std::string_view> carried_a = {}, carried_b = {};
};

// The main graphs of two models, matched; the models outlive the result. Errors: a model that a failed
// rewrite left unusable, and those of GraphMatching::Run().
Result<GraphMatching> MatchModels(const Model& a, const Model& b, bool names);
// What differs between the models outside of their graphs: imports, metadata, functions.
std::vector<FieldChange> CompareFacts(const Model& a, const Model& b);
// What differs between a node and its counterpart; their subgraphs are not looked into.
std::vector<FieldChange> CompareNodes(const Graph& a, const Graph& b, const GraphMatching& matching,
                                      NodeId node_a, NodeId node_b, const CompareOptions& options);
// Whether two constants hold the same.
Result<bool> SameConstant(const Tensor& a, const Tensor& b, const CompareOptions& options);
// One a pair of bodies, in the order of the matching.
Result<std::vector<GraphDiff>> CompareGraphs(const Graph& a, const Graph& b,
                                             const GraphMatching& matching,
                                             const CompareOptions& options);

}  // namespace qrewrite
