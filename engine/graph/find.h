// Sets of nodes, nodes by their names, local functions by what calls them.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "engine/graph/graph.h"

namespace qrewrite {

// A set of nodes of one graph; nodes that were made after it are not in it.
class NodeSet {
 public:
  void Add(NodeId n) {
    if (bits_.size() <= n.index) bits_.resize(n.index + size_t{1});
    count_ += !bits_[n.index];
    bits_[n.index] = true;
  }
  bool Contains(NodeId n) const { return n.index < bits_.size() && bits_[n.index]; }
  size_t size() const { return count_; }
  bool empty() const { return count_ == 0; }

 private:
  std::vector<bool> bits_;
  size_t count_ = 0;
};

// Whether `fits` holds for what the node is known by: its name or a value that it makes.
template <class Predicate>
bool AnyName(const Graph& graph, NodeId n, Predicate fits) {
  if (!graph.name(n).empty() && fits(graph.name(n))) return true;
  for (size_t i = 0; i < graph.num_outputs(n); ++i) {
    const ValueId v = graph.output(n, i);
    if (v.valid() && fits(graph.name(v))) return true;
  }
  return false;
}

// The local functions of a model, by the operator that calls them.
inline std::map<OpName, BodyId> LocalFunctions(const Graph& graph) {
  std::map<OpName, BodyId> functions;
  for (size_t i = 0; i < graph.num_bodies(); ++i) {
    const Body& body = graph.body(BodyId(i));
    if (body.alive && body.kind == BodyKind::kFunction) functions.emplace(body.function, BodyId(i));
  }
  return functions;
}

}  // namespace qrewrite
