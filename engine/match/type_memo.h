// TypeMemo: what inference said of operators. The blocks of a network are alike: what followed from
// types and attributes alone is the answer for every node that asks the same.
#pragma once

#include <cstdint>
#include <vector>

#include <boost/container/small_vector.hpp>

#include "engine/graph/graph.h"

namespace qrewrite {

class TypeMemo {
 public:
  // Number of a type in the asker's table (Facts::Intern).
  using TypeId = uint32_t;
  static constexpr TypeId kAbsent = UINT32_MAX;

  struct Question {
    OpId op;
    int64_t version = 0;                     // of its domain
    const Attributes* attributes = nullptr;  // of the node
    // How many inputs, their types, then of each output whether it is there: 1, or kAbsent.
    boost::container::small_vector<TypeId, 8> operands;
  };
  struct Answer {
    boost::container::small_vector<TypeId, 2> outputs;
    bool contradicted = false;  // the inputs contradict the operator
  };

  // Large tensors are not worth a comparison, subgraphs are never the same.
  static bool MayRepeat(const Graph& graph, NodeId node);

  // Null: nobody asked this before, or another question took its place. Valid until Store().
  const Answer* Find(const Question& question) const;
  // In a graph of so many nodes.
  void Store(const Question& question, Answer answer, size_t nodes);
  void Clear() { slots_.clear(); }

 private:
  static constexpr size_t kLeastSlots = 16, kMostSlots = 1024;
  struct Slot {
    Question question;
    Attributes attributes;  // the question's
    Answer answer;
    bool taken = false;
  };
  static uint64_t Hash(const Question& question);

  // By hash, the last one of each; none before the first answer, then a power of two, no more than a small graph needs.
  std::vector<Slot> slots_;
};

}  // namespace qrewrite
