// NameTable: the values of one scope by name. Names are those of the Graph, they are not stored
// again.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <functional>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/graph/graph.h"

namespace qrewrite {

class NameTable {
 public:
  // `expected`: about how many names will come.
  explicit NameTable(const Graph& graph, size_t expected = 0)
      : graph_(graph), slots_(std::bit_ceil(std::max(kFewest, 2 * expected))) {}

  ValueId Find(std::string_view name) const { return slots_[Probe(name, Hash(name))].value; }

  // The value with this name; `make()` is called for it and added if there was none.
  template <class Make>
  std::pair<ValueId, bool> FindOrAdd(std::string_view name, Make make) {
    if (2 * (size_ + 1) > slots_.size()) Grow();
    const uint32_t hash = Hash(name);
    Slot& slot = slots_[Probe(name, hash)];
    if (slot.value.valid()) return {slot.value, false};
    ++size_;
    slot = {hash, make()};
    return {slot.value, true};
  }

 private:
  static constexpr size_t kFewest = 16;
  struct Slot {
    uint32_t hash = 0;
    ValueId value;
  };

  static uint32_t Hash(std::string_view name) {
    const uint64_t hash = std::hash<std::string_view>{}(name);
    return static_cast<uint32_t>(hash ^ hash >> 32);
  }

  // The slot of `name`, or the free one where it belongs.
  size_t Probe(std::string_view name, uint32_t hash) const {
    const size_t mask = slots_.size() - 1;
    size_t i = hash & mask;
    while (slots_[i].value.valid() &&
           (slots_[i].hash != hash || graph_.name(slots_[i].value) != name)) {
      i = (i + 1) & mask;
    }
    return i;
  }

  void Grow() {
    std::vector<Slot> old(slots_.size() * 2);
    old.swap(slots_);
    const size_t mask = slots_.size() - 1;
    for (const Slot& slot : old) {
      if (!slot.value.valid()) continue;
      size_t i = slot.hash & mask;
      while (slots_[i].value.valid()) i = (i + 1) & mask;
      slots_[i] = slot;
    }
  }

  const Graph& graph_;
  std::vector<Slot> slots_;
  size_t size_ = 0;
};

}  // namespace qrewrite
