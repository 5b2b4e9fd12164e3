// Operators that a name means which is one slip of the pen away from theirs.
#pragma once

#include <cstdint>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "engine/graph/graph.h"

namespace qrewrite {

class Slips {
 public:
  // Of those that have a domain; `names` stay where they are.
  explicit Slips(const std::vector<OpName>& names);
  Slips(const Slips&) = delete;

  // The first of the names from which `text`, none of them, differs by one letter too many, too few or wrong, or by two
  // that are swapped. Digits do not count, they number things. Null: there is none.
  const OpName* Find(std::string_view text) const;

 private:
  const std::vector<OpName>& names_;
  // By the hash of a name, and of what is left of it without one of its letters: two names that are a slip apart have
  // one of these in common.
  std::unordered_multimap<uint64_t, uint32_t> by_rest_;
};

}  // namespace qrewrite
