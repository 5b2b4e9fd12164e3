// FactMemo: what facts of values gave, until something that they looked at changes.
//
// A fact looks upwards only. While one is evaluated the interpreter notes each value that it looks
// at; when such a value gets another producer the fact is forgotten, and with it what other facts
// drew from it. So facts that walk up a long chain are computed once a value, not once a question.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/base/flat_map.h"
#include "engine/program/val.h"

namespace qrewrite {

class FactMemo {
 public:
  struct Key {
    int definition = -1;
    ValueId value;
    friend bool operator==(const Key&, const Key&) = default;
  };

  // Null if it is not known. Valid until the next Store().
  const Val* Find(Key key) const { return facts_.Find(Number(key)); }
  void Store(Key key, Val result) { *facts_.FindOrAdd(Number(key)).first = std::move(result); }

  // `by` looked at `value`.
  void Looked(Key by, ValueId value) {
    if (readers_.size() <= value.index) readers_.resize(value.index + size_t{1});
    std::vector<Key>& readers = readers_[value.index];
    if (readers.empty() || !(readers.back() == by)) readers.push_back(by);
  }

  // Facts that looked at `value`, and those that asked for one of them.
  void Forget(ValueId value);
  // Values from this id on are gone, their ids will be used again.
  void Truncate(size_t num_values);
  void Clear() { facts_.Clear(), readers_.clear(); }

 private:
  static uint64_t Number(Key key) {
    return Mixed((uint64_t{static_cast<uint32_t>(key.definition)} << 32) | key.value.index);
  }

  FlatMap<Val> facts_;
  std::vector<std::vector<Key>> readers_;  // by value
};

}  // namespace qrewrite
