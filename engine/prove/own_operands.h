// What operators that a rule set has for itself (`qr.`) read: their signatures name no types, so how they look is known
// from tests alone.
#pragma once

#include <map>
#include <set>
#include <utility>

#include "engine/graph/graph.h"
#include "engine/match/facts.h"

namespace qrewrite {

class OwnOperands {
 public:
  // What the operators of a test read.
  void Learn(const Graph& graph, Facts& facts);
  // Whether some test has such an operand there: a float, an integer, or something else. So it is where no test has
  // any, and of an element type that nobody knows.
  bool Have(const OpName& op, size_t input, DType dtype) const;

 private:
  enum class Kind { kFloat, kInteger, kOther };
  static Kind KindOf(DType dtype);

  std::map<std::pair<OpName, size_t>, std::set<Kind>> kinds_;
};

}  // namespace qrewrite
