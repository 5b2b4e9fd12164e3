// Branches: the children of the vertices of a tree of operator tests, found by what they accept. A step along
// the tree is one look, however many children a vertex has: rule sets have thousands of rules that begin with
// operators of their own.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "engine/graph/graph.h"
#include "engine/program/code.h"

namespace qrewrite {

using OpTest = const OpPatterns*;  // any of them; null: every operator

// Whether they accept the same operators, as they are spelled.
bool SameTest(OpTest a, OpTest b);
bool Accepts(OpTest test, const OpName& name);

class Branches {
 public:
  // The child of `parent` that has the test; if there is none, `fresh` becomes it. What the tests point to must
  // outlive this.
  uint32_t FindOrAdd(uint32_t parent, OpTest test, uint32_t fresh);
  // Appends the children of `parent` whose tests accept the operator, in no particular order.
  void AddAccepting(uint32_t parent, const OpName& op, std::vector<uint32_t>& found) const;

 private:
  struct Child {
    uint32_t parent, number;
    OpTest test;
    bool open;  // it accepts more than what it spells: also in open_
  };
  // By parent and an operator that the test spells; an open one by the first alone.
  std::unordered_multimap<uint64_t, Child> spelled_;
  std::unordered_map<uint32_t, std::vector<Child>> open_;  // by parent
};

}  // namespace qrewrite
