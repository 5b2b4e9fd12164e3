#include "engine/match/fact_memo.h"

#include <utility>

#include <boost/container/small_vector.hpp>

namespace qrewrite {

void FactMemo::Store(Key key, Val result) {
  const auto [at, added] = facts_.FindOrAdd(Number(key));
  if (added && free_results_.empty()) {
    *at = static_cast<uint32_t>(results_.size());
    results_.push_back(std::move(result));
    return;
  }
  if (added) {
    *at = free_results_.back();
    free_results_.pop_back();
  }
  results_[*at] = std::move(result);
}

void FactMemo::AddLook(Key by, ValueId value) {
  uint32_t at = free_look_;
  if (at == kNone) {
    at = static_cast<uint32_t>(looks_.size());
    looks_.emplace_back();
  } else {
    free_look_ = looks_[at].next;
  }
  looks_[at] = {by, std::exchange(looks_at_[value.index], at)};
}

void FactMemo::Erase(Key key) {
  const uint64_t number = Number(key);
  const uint32_t* at = facts_.Find(number);
  if (at == nullptr) return;
  results_[*at] = Val();
  free_results_.push_back(*at);
  facts_.Erase(number);
}

void FactMemo::EraseLooks(size_t value, FunctionRef<void(Key)> asked) {
  uint32_t at = std::exchange(looks_at_[value], kNone);
  while (at != kNone) {
    Look& look = looks_[at];
    Erase(look.by);
    asked(look.by);
    const uint32_t next = std::exchange(look.next, free_look_);
    free_look_ = std::exchange(at, next);
  }
}

void FactMemo::Forget(ValueId value) {
  boost::container::small_vector<ValueId, 16> todo = {value};
  while (!todo.empty()) {
    const ValueId at = todo.back();
    todo.pop_back();
    if (at.index >= looks_at_.size()) continue;
    EraseLooks(at.index, [&](Key by) {
      if (by.value != at) todo.push_back(by.value);
    });
  }
}

void FactMemo::Truncate(size_t num_values) {
  // Values that are gone were made a moment ago: only facts about them look at them.
  for (size_t v = num_values; v < looks_at_.size(); ++v) EraseLooks(v, [](Key) {});
  if (looks_at_.size() > num_values) looks_at_.resize(num_values);
}

void FactMemo::Clear() { *this = FactMemo(); }

}  // namespace qrewrite
