#include "engine/match/fact_memo.h"

namespace qrewrite {

void FactMemo::Forget(ValueId value) {
  std::vector<ValueId> todo = {value};
  while (!todo.empty()) {
    const ValueId at = todo.back();
    todo.pop_back();
    if (at.index >= readers_.size()) continue;
    const std::vector<Key> readers = std::exchange(readers_[at.index], {});
    for (const Key& key : readers) {
      facts_.erase(Number(key));
      if (key.value != at) todo.push_back(key.value);
    }
  }
}

void FactMemo::Truncate(size_t num_values) {
  // Values that are gone were made a moment ago: only facts about them look at them.
  for (size_t v = num_values; v < readers_.size(); ++v) {
    for (const Key& key : readers_[v]) facts_.erase(Number(key));
  }
  if (readers_.size() > num_values) readers_.resize(num_values);
}

}  // namespace qrewrite
