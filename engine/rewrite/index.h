// NodeIndex and ConstantPool: finding what is there already, so that equal nodes and equal
// constants exist once.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "engine/graph/graph.h"

namespace qrewrite {

// Nodes by operator and inputs. Entries may be stale: every hit is compared with the node.
class NodeIndex {
 public:
  explicit NodeIndex(const Graph& graph) : graph_(graph) {}

  // A live node of `body` with this operator, inputs and attributes and at least `outputs` outputs;
  // the earliest created one. Invalid if there is none.
  NodeId Find(BodyId body, OpId op, std::span<const ValueId> inputs, const Attributes& attributes,
              size_t outputs);
  void Add(NodeId n);  // a new node, or one whose inputs changed
  void Clear() { built_ = false, nodes_.clear(); }

 private:
  void Build();
  uint64_t Hash(OpId op, std::span<const ValueId> inputs) const;

  const Graph& graph_;
  bool built_ = false;
  std::unordered_map<uint64_t, std::vector<NodeId>> nodes_;
};

// Initializers by content (small ones) or by how they were computed (large ones).
class ConstantPool {
 public:
  explicit ConstantPool(Graph& graph) : graph_(graph) {}

  // An initializer of `body` with this content; a new unnamed one if there is none.
  ValueId Get(BodyId body, const Tensor& tensor);
  void Clear() { built_ = false, constants_.clear(); }

 private:
  void Build();
  static uint64_t Key(BodyId body, const Tensor& tensor);

  Graph& graph_;
  bool built_ = false;
  std::unordered_map<uint64_t, std::vector<ValueId>> constants_;
};

}  // namespace qrewrite
