#include "engine/match/fact_memo.h"

#include <boost/container/small_vector.hpp>

namespace qrewrite {

void FactMemo::Forget(ValueId value) {
  boost::container::small_vector<ValueId, 16> todo = {value};
  while (!todo.empty()) {
    const ValueId at = todo.back();
    todo.pop_back();
    if (at.index >= readers_.size()) continue;
    std::vector<Key>& readers = readers_[at.index];
    for (const Key& key : readers) {
      facts_.Erase(Number(key));
      if (key.value != at) todo.push_back(key.value);
    }
    readers.clear();
  }
}

void FactMemo::Truncate(size_t num_values) {
  // Values that are gone were made a moment ago: only facts about them look at them.
  for (size_t v = num_values; v < readers_.size(); ++v) {
    for (const Key& key : readers_[v]) facts_.Erase(Number(key));
  }
  if (readers_.size() > num_values) readers_.resize(num_values);
}

}  // namespace qrewrite
