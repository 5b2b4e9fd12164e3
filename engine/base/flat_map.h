// FlatMap: keys to small values in one table, for indexes that have an entry for each node or value of
// a model: a question touches one line of memory, and an entry costs no allocation.
//
// Keys are hashes of what is meant, or numbers that Mixed() makes one of. Open addressing with linear
// probing; what is erased leaves no tombstone (Knuth, The Art of Computer Programming 3, 6.4,
// algorithm R). Not std::unordered_map: pointers to values hold until the next change only.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace qrewrite {

// A number with its bits spread, so that neighbours lie far apart.
inline uint64_t Mixed(uint64_t number) {
  const uint64_t h = (number ^ (number >> 32)) * 0x9e3779b97f4a7c15ull;
  return h ^ (h >> 29);
}

template <class V>
class FlatMap {
 public:
  size_t size() const { return size_; }

  // Null if there is none.
  const V* Find(uint64_t key) const {
    if (size_ == 0) return nullptr;
    const Slot& slot = slots_[Probe(key)];
    return slot.used ? &slot.value : nullptr;
  }

  // The value of `key`, made of nothing if there is none, and whether it was made.
  std::pair<V*, bool> FindOrAdd(uint64_t key) {
    if (4 * (size_ + 1) > 3 * slots_.size()) Grow(size_ + 1);
    Slot& slot = slots_[Probe(key)];
    if (slot.used) return {&slot.value, false};
    slot = {.key = key, .value = V(), .used = true};
    ++size_;
    return {&slot.value, true};
  }

  void Erase(uint64_t key) {
    if (size_ == 0) return;
    size_t hole = Probe(key);
    if (!slots_[hole].used) return;
    --size_;
    const size_t mask = slots_.size() - 1;
    // What lies behind the hole moves into it, unless it would lie in front of where it is looked for.
    for (size_t at = (hole + 1) & mask; slots_[at].used; at = (at + 1) & mask) {
      const size_t home = slots_[at].key & mask;
      if (((at - home) & mask) < ((at - hole) & mask)) continue;
      slots_[hole] = std::move(slots_[at]);
      hole = at;
    }
    slots_[hole] = Slot();
  }

  void Reserve(size_t count) {
    if (4 * count > 3 * slots_.size()) Grow(count);
  }
  void Clear() { *this = FlatMap(); }  // returns the memory

 private:
  struct Slot {
    uint64_t key = 0;
    V value = {};
    bool used = false;
  };

  // The slot of `key`, or the free one where it belongs.
  size_t Probe(uint64_t key) const {
    const size_t mask = slots_.size() - 1;
    size_t at = key & mask;
    while (slots_[at].used && slots_[at].key != key) at = (at + 1) & mask;
    return at;
  }

  void Grow(size_t count) {
    constexpr size_t kFewest = 16;
    std::vector<Slot> old(std::bit_ceil(std::max(kFewest, count + count / 2)));
    old.swap(slots_);
    for (Slot& slot : old) {
      if (slot.used) slots_[Probe(slot.key)] = std::move(slot);
    }
  }

  std::vector<Slot> slots_;  // a power of two
  size_t size_ = 0;
};

}  // namespace qrewrite
