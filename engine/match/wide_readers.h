// The readers of a value with very many, listed when they are asked for again before anything changes:
// two statements of a pattern that meet in such a value would look at all of them for each of them.
#pragma once

#include <cstdint>
#include <map>
#include <unordered_map>
#include <vector>

#include "engine/base/ids.h"

namespace qrewrite {

struct WideReaders {
  uint64_t changes = 0;  // of the graph, when the first was asked for
  bool listed = false;
  std::vector<NodeId> nodes;
  // By a number of an input: those that read the same there (see MatchRun::JoinKey), in the same order.
  using ByKey = std::unordered_map<uint64_t, std::vector<NodeId>>;
  std::map<size_t, ByKey> by_input;
};

// How many readers of a value are in a set of operators.
struct CountedUses {
  uint64_t changes = 0;  // of the graph, when they were counted
  int64_t count = 0;
};

}  // namespace qrewrite
