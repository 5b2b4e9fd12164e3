// FactMemo: what facts of values gave, until something that they looked at changes.
//
// A fact looks upwards only. While one is evaluated the interpreter notes each value that it looks
// at; when such a value gets another producer the fact is forgotten, and with it what other facts
// drew from it. So facts that walk up a long chain are computed once a value, not once a question.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/base/flat_map.h"
#include "engine/base/function_ref.h"
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
  const Val* Find(Key key) const {
    const uint32_t* at = facts_.Find(Number(key));
    return at == nullptr ? nullptr : &results_[*at];
  }
  void Store(Key key, Val result);

  // `by` looked at `value`.
  void Looked(Key by, ValueId value) {
    if (looks_at_.size() <= value.index) looks_at_.resize(value.index + size_t{1}, kNone);
    const uint32_t last = looks_at_[value.index];
    if (last == kNone || !(looks_[last].by == by)) AddLook(by, value);
  }

  // Facts that looked at `value`, and those that asked for one of them.
  void Forget(ValueId value);
  // Values from this id on are gone, their ids will be used again.
  void Truncate(size_t num_values);
  void Clear();

  // For tables by facts.
  static uint64_t Number(Key key) {
    return Mixed((uint64_t{static_cast<uint32_t>(key.definition)} << 32) | key.value.index);
  }

 private:
  static constexpr uint32_t kNone = ~uint32_t{0};

  // A chain for each value, and one of those that are free.
  struct Look {
    Key by;
    uint32_t next;
  };

  void AddLook(Key by, ValueId value);
  void Erase(Key key);
  // Forgets the facts that looked at the value of that id; `asked` is called with each of them.
  void EraseLooks(size_t value, FunctionRef<void(Key)> asked);

  FlatMap<uint32_t> facts_;  // indices of results_
  std::vector<Val> results_;
  std::vector<uint32_t> free_results_;
  std::vector<uint32_t> looks_at_;  // by value: the last one
  std::vector<Look> looks_;
  uint32_t free_look_ = kNone;
};

}  // namespace qrewrite
