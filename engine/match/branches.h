// Branches: the children of the vertices of a tree of operator tests, found by what they accept. A few are looked
// at one by one; where there are more a step along the tree is one look, however many: rule sets have thousands of
// rules that begin with operators of their own.
#pragma once

#include <cstdint>
#include <memory>
#include <unordered_map>
#include <vector>

#include "engine/graph/graph.h"
#include "engine/program/code.h"

namespace qrewrite {

using OpTest = const OpPatterns*;  // any of them; null: every operator

class Branches {
 public:
  struct Child {
    uint32_t number;
    OpTest test;
  };

  // The child of `parent` that has the test; if there is none, `fresh` becomes it. What the tests point to must
  // outlive this. REQUIRES: vertices are numbered without gaps from 0, the root.
  uint32_t FindOrAdd(uint32_t parent, OpTest test, uint32_t fresh);
  // Appends the children of `parent` whose tests accept the operator, in no particular order.
  void AddAccepting(uint32_t parent, const OpName& op, std::vector<uint32_t>& found) const;
  // All children, in the order in which they came.
  const std::vector<Child>& Of(uint32_t parent) const {
    static const std::vector<Child> kNone;
    return parent < vertices_.size() ? vertices_[parent].children : kNone;
  }

 private:
  // Of many children.
  struct Index {
    void Add(const Child& child);

    std::unordered_multimap<uint64_t, Child> whole;    // by the test as a whole
    std::unordered_multimap<uint64_t, Child> spelled;  // by an operator that the test spells
    std::vector<Child> open;                           // that accept more than what they spell
  };
  struct Vertex {
    std::vector<Child> children;
    std::unique_ptr<Index> index;  // null: they are few
  };

  std::vector<Vertex> vertices_;
};

}  // namespace qrewrite
