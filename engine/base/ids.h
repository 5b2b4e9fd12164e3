// Strong 32-bit ids: indices into tables, distinct types so that they cannot be mixed up.
#pragma once

#include <compare>
#include <cstdint>
#include <functional>

namespace qrewrite {

template <class Tag>
struct Id {
  static constexpr uint32_t kNone = 0xffffffffu;
  uint32_t index = kNone;

  constexpr Id() = default;
  constexpr explicit Id(uint32_t i) : index(i) {}
  constexpr explicit Id(size_t i) : index(static_cast<uint32_t>(i)) {}
  constexpr bool valid() const { return index != kNone; }
  constexpr explicit operator bool() const { return valid(); }
  friend constexpr auto operator<=>(Id, Id) = default;
};

using NodeId = Id<struct NodeTag>;
using ValueId = Id<struct ValueTag>;
using BodyId = Id<struct BodyTag>;  // main graph, subgraph or function body
using OpId = Id<struct OpTag>;      // interned (domain, operator name)

}  // namespace qrewrite

template <class Tag>
struct std::hash<qrewrite::Id<Tag>> {
  size_t operator()(qrewrite::Id<Tag> id) const noexcept {
    return (id.index * 0x9e3779b97f4a7c15ull) >> 16;
  }
};
