// IdSet: a set of ids that is mostly small: a few lie in place, many in a hash table.
#pragma once

#include <algorithm>
#include <cstddef>
#include <unordered_set>

#include <boost/container/small_vector.hpp>

namespace qrewrite {

template <class T>
class IdSet {
 public:
  bool contains(T id) const {
    if (!many_.empty()) return many_.contains(id);
    return std::find(few_.begin(), few_.end(), id) != few_.end();
  }
  void insert(T id) {
    if (few_.size() < kFew) {
      if (!contains(id)) few_.push_back(id);
      return;
    }
    if (many_.empty()) many_.insert(few_.begin(), few_.end());
    many_.insert(id);
  }
  void clear() {
    few_.clear();
    // Not its clear(), which goes over all buckets: after one very large set each small one would pay.
    if (!many_.empty()) many_ = {};
  }

 private:
  static constexpr size_t kFew = 8;
  boost::container::small_vector<T, kFew> few_;
  std::unordered_set<T> many_;  // empty, or all
};

}  // namespace qrewrite
