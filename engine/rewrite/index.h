// NodeIndex and ConstantPool: finding what is there already, so that equal nodes and equal
// constants exist once. Both are built when something is first asked for, and cost O(1) amortised
// for each question and each change, however many equal nodes or constants a model has.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <unordered_set>
#include <vector>

#include <boost/container/small_vector.hpp>

#include "engine/base/flat_map.h"
#include "engine/graph/graph.h"

namespace qrewrite {

// Nodes by body, operator, inputs and attributes. Entries may be stale (the node is gone, or reads
// something else by now); they go when they are met.
class NodeIndex {
 public:
  explicit NodeIndex(const Graph& graph) : graph_(graph) {}

  static constexpr size_t kAll = SIZE_MAX;
  // What a node must be to stand for one that would be made.
  struct Wanted {
    BodyId body;
    OpId op;
    std::span<const ValueId> inputs;
    const Attributes& attributes;
    size_t outputs = 1;                  // at least so many
    size_t only = kAll;                  // of its outputs this one alone must be there
    std::span<const bool> present = {};  // these alone, if it has any
  };
  // A live node of that kind; the earliest created one. Invalid if there is none. During an opset
  // upgrade nodes in the old form are none: they may mean something else.
  NodeId Find(const Wanted& wanted);
  void Add(NodeId n);  // a new node, or one whose inputs changed

  // What a node computed before a rule redefined its value goes on being true of that value. So a
  // replacement that asks for the same again gets what the first one became, instead of a second copy
  // of all that the rules make of it.
  //
  // `n` computes its only output for the last time; `now` is where that is found from now on.
  void Remember(NodeId n, ValueId now);
  void Moved(ValueId from, ValueId to);  // `from` is gone, `to` equals it
  // A rule gave a value other numbers (`equivalence: rescaled`): of nothing that was remembered is it
  // known whether it is still true.
  void ForgetFormers() { ++promises_; }
  // The live value of the body that such a node became; invalid if there is none.
  ValueId FindFormer(const Wanted& wanted);

  // REQUIRES to be called when an upgrade begins or ends, or others changed the graph.
  void Clear();

 private:
  struct Former {
    BodyId body;
    OpId op;
    boost::container::small_vector<ValueId, 4> inputs;
    Attributes attributes;
    ValueId now;
    uint32_t promises = 0;  // promises_ when it was remembered
  };
  void Build();
  void AddPending(OpId op);
  void Enter(NodeId n);
  static uint64_t Hash(const Wanted& wanted);
  uint64_t Hash(NodeId n) const;
  bool Stale(NodeId n, uint64_t hash) const;
  bool Fits(NodeId n, const Wanted& wanted) const;

  const Graph& graph_;
  bool built_ = false;
  // By hash: a node, or kMany + a position in many_. Hardly ever is it more than one node.
  static constexpr uint32_t kMany = 0x80000000u;
  using Heap = std::vector<NodeId>;  // the lowest id on top
  FlatMap<uint32_t> nodes_;
  std::vector<Heap> many_;
  // By operator: what was added since somebody asked for one. A wide node whose inputs change one by
  // one is entered once, and operators that nobody asks for never are.
  std::vector<std::vector<NodeId>> pending_;
  uint32_t promises_ = 0;             // how often one ended
  FlatMap<uint32_t> former_by_hash_;  // a position in formers_
  std::vector<Former> formers_;
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
  // The same for an input of a node in `body`, which may read what the graphs around it hold.
  ValueId Operand(BodyId body, const Tensor& tensor);
  void Clear();  // others changed the graph

 private:
  void Build();
  ValueId Find(BodyId body, const Tensor& tensor) const;  // invalid: there is none
  // Whether another value has this name: inside a body it may stand for that one.
  bool NameIsShared(ValueId v);
  static uint64_t Key(BodyId body, const Tensor& tensor);
  enum class State { kHolds, kCollides, kGone };
  State StateOf(ValueId v, uint64_t key, BodyId body, const Tensor& tensor) const;

  Graph& graph_;
  bool built_ = false;
  // By key: a value, or kMany + a position in many_.
  static constexpr uint32_t kMany = 0x80000000u;
  // In order of addition; those before `first` are gone.
  struct Equals {
    std::vector<ValueId> values;
    size_t first = 0;
  };
  FlatMap<uint32_t> constants_;
  std::vector<Equals> many_;
  bool names_known_ = false;
  std::unordered_set<std::string_view> shared_names_;
};

}  // namespace qrewrite
