// NodeIndex and ConstantPool: finding what is there already, so that equal nodes and equal
// constants exist once. Both are built when something is first asked for, and cost O(1) amortised
// for each question and each change, however many equal nodes or constants a model has.
#pragma once

#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

#include <boost/container/small_vector.hpp>

#include "engine/graph/graph.h"

namespace qrewrite {

// Nodes by body, operator, inputs and attributes. Entries may be stale (the node is gone, or reads
// something else by now); they go when they are met.
class NodeIndex {
 public:
  explicit NodeIndex(const Graph& graph) : graph_(graph) {}

  // A live node of `body` with this operator, inputs and attributes and at least `outputs` outputs;
  // the earliest created one. Invalid if there is none. During an opset upgrade nodes in the old form
  // are none: they may mean something else.
  // `only`: of its outputs this one alone must be there.
  static constexpr size_t kAll = SIZE_MAX;
  NodeId Find(BodyId body, OpId op, std::span<const ValueId> inputs, const Attributes& attributes,
              size_t outputs, size_t only = kAll);
  void Add(NodeId n);  // a new node, or one whose inputs changed

  // What a node computed before a rule redefined its value goes on being true of that value. So a
  // replacement that asks for the same again gets what the first one became, instead of a second copy
  // of all that the rules make of it.
  //
  // `n` computes its only output for the last time; `now` is where that is found from now on.
  void Remember(NodeId n, ValueId now);
  void Moved(ValueId from, ValueId to);  // `from` is gone, `to` equals it
  // The live value of `body` that such a node became; invalid if there is none.
  ValueId FindFormer(BodyId body, OpId op, std::span<const ValueId> inputs,
                     const Attributes& attributes);

  // REQUIRES to be called when an upgrade begins or ends, or others changed the graph.
  void Clear() { built_ = false, nodes_.clear(), formers_.clear(), moved_.clear(); }

 private:
  struct Former {
    BodyId body;
    OpId op;
    std::vector<ValueId> inputs;
    Attributes attributes;
    ValueId now;
  };
  void Build();
  static uint64_t Hash(BodyId body, OpId op, std::span<const ValueId> inputs,
                       const Attributes& attributes);
  uint64_t Hash(NodeId n) const;
  bool Fits(NodeId n, BodyId body, OpId op, std::span<const ValueId> inputs,
            const Attributes& attributes, size_t outputs, size_t only) const;

  const Graph& graph_;
  bool built_ = false;
  // Of one hash; a heap, the lowest id on top. Hardly ever more than one.
  using Equals = boost::container::small_vector<NodeId, 2>;
  std::unordered_map<uint64_t, Equals> nodes_;
  std::unordered_map<uint64_t, Former> formers_;
  std::vector<ValueId> moved_;  // by value; invalid: it did not move
};

// Initializers by content (small ones) or by how they were computed (large ones: their bytes are not
// looked at). Those that callers may override are none.
class ConstantPool {
 public:
  explicit ConstantPool(Graph& graph) : graph_(graph) {}

  // An initializer of `body` with this content, the first there was; a new unnamed one if there is
  // none.
  ValueId Get(BodyId body, const Tensor& tensor);
  void Clear() { built_ = false, constants_.clear(); }  // others changed the graph

 private:
  // In order of addition; those before `first` are gone.
  struct Equals {
    boost::container::small_vector<ValueId, 2> values;
    size_t first = 0;
  };
  void Build();
  static uint64_t Key(BodyId body, const Tensor& tensor);
  bool Holds(ValueId v, BodyId body, const Tensor& tensor) const;

  Graph& graph_;
  bool built_ = false;
  std::unordered_map<uint64_t, Equals> constants_;
};

}  // namespace qrewrite
