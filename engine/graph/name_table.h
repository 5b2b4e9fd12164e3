// The names of a graph: NameArena keeps their text, NameTable finds what has a name.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

namespace qrewrite {

// A text that lives as long as the graph it is given to: a slice of the file that the graph was
// read from (Graph::KeepAlive).
struct Borrowed {
  std::string_view text;
};

// Texts that stay where they are. A copy shares what was kept so far.
class NameArena {
 public:
  NameArena() = default;
  NameArena(const NameArena& other) : chunks_(other.chunks_) {}
  NameArena(NameArena&&) = default;
  NameArena& operator=(const NameArena& other) { return *this = NameArena(other); }
  NameArena& operator=(NameArena&&) = default;
  ~NameArena() = default;

  // A copy of `text`, or `text` itself if it was kept here a short while ago.
  std::string_view Keep(std::string_view text);

 private:
  std::vector<std::shared_ptr<char[]>> chunks_;
  char* begin_ = nullptr;  // of the newest chunk
  char* at_ = nullptr;
  char* end_ = nullptr;
};

// Of names: short texts that often differ in a digit only. Eight bytes at a time, each spread by a multiplication
// whose halves are folded (as wyhash does it).
inline uint32_t HashName(std::string_view name) {
  const auto fold = [](uint64_t a, uint64_t b) {
    const auto product = static_cast<unsigned __int128>(a) * b;
    return static_cast<uint64_t>(product) ^ static_cast<uint64_t>(product >> 64);
  };
  constexpr uint64_t kSpread = 0x9e3779b97f4a7c15ull, kOther = 0xe7037ed1a0b428dbull;
  uint64_t hash = name.size() * kOther;
  const char* at = name.data();
  size_t left = name.size();
  uint64_t eight = 0;
  for (; left > 8; at += 8, left -= 8) {
    std::memcpy(&eight, at, 8);
    hash = fold(hash ^ eight, kSpread);
  }
  eight = 0;
  if (name.size() >= 8) {
    std::memcpy(&eight, name.data() + name.size() - 8, 8);
  } else if (left > 0) {  // an empty name may have no bytes at all
    std::memcpy(&eight, at, left);
  }
  hash = fold(hash ^ eight, kOther);
  return static_cast<uint32_t>(hash ^ hash >> 32);
}

// Names to 32-bit references. No name is stored again: `name_of(reference)` says what it is.
class NameTable {
 public:
  static constexpr uint32_t kNone = 0xffffffffu;

  // `expected`: about how many names will come.
  explicit NameTable(size_t expected = 0)
      : slots_(std::max(kFewest, expected + expected / 2 + 2)) {}

  // Fetches what a coming Find or FindOrAdd of `name` will look at.
  void Prefetch(std::string_view name) const { __builtin_prefetch(&slots_[Home(HashName(name))]); }

  // kNone if there is no such name.
  template <class NameOf>
  uint32_t Find(std::string_view name, NameOf name_of) const {
    return slots_[Probe(name, HashName(name), name_of)].reference;
  }

  // The reference of `name`; if there was none, that of `make()`, and true.
  template <class NameOf, class Make>
  std::pair<uint32_t, bool> FindOrAdd(std::string_view name, NameOf name_of, Make make) {
    if (3 * (size_ + 1) > 2 * slots_.size()) Grow();
    const uint32_t hash = HashName(name);
    Slot& slot = slots_[Probe(name, hash, name_of)];
    if (slot.reference != kNone) return {slot.reference, false};
    ++size_;
    slot = {hash, make()};
    return {slot.reference, true};
  }

  size_t size() const { return size_; }

  // What `name` refers to from now on. REQUIRES: the name is there, and `reference` has it too.
  template <class NameOf>
  void Replace(std::string_view name, NameOf name_of, uint32_t reference) {
    slots_[Probe(name, HashName(name), name_of)].reference = reference;
  }

 private:
  static constexpr size_t kFewest = 16;
  struct Slot {
    uint32_t hash = 0;
    uint32_t reference = kNone;
  };

  // Any number of slots: a power of two would be up to twice as many as are needed.
  size_t Home(uint32_t hash) const { return (uint64_t{hash} * slots_.size()) >> 32; }

  // The slot of `name`, or the free one where it belongs.
  template <class NameOf>
  size_t Probe(std::string_view name, uint32_t hash, NameOf name_of) const {
    size_t i = Home(hash);
    while (slots_[i].reference != kNone &&
           (slots_[i].hash != hash || name_of(slots_[i].reference) != name)) {
      if (++i == slots_.size()) i = 0;
    }
    return i;
  }

  void Grow();

  std::vector<Slot> slots_;
  size_t size_ = 0;
};

}  // namespace qrewrite
