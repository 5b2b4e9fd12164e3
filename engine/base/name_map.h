// NameMap: names and what each of them stands for, in the order in which they came.
//
// Most texts have a few names, which are compared one by one; where there are more they are found by
// their hash. Pointers to values hold until the next Add().
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>

#include <boost/container/small_vector.hpp>

namespace qrewrite {

// `kUsual`: room for so many is in the table itself.
template <class T, size_t kUsual = 4>
class NameMap {
 public:
  struct Entry {
    std::string name;
    T value;
  };

  // Null if there is none.
  T* Find(std::string_view name) {
    Entry* const found = FindEntry(name);
    return found == nullptr ? nullptr : &found->value;
  }
  const T* Find(std::string_view name) const { return const_cast<NameMap*>(this)->Find(name); }

  // What the name stands for, which is `value` if it is new; and whether it is.
  std::pair<T*, bool> Add(std::string_view name, T value) {
    if (T* const before = Find(name)) return {before, false};
    if (entries_.size() == kFew) {
      for (size_t i = 0; i < kFew; ++i) index_.emplace(entries_[i].name, i);
    }
    if (entries_.size() >= kFew) index_.emplace(name, entries_.size());
    Entry& added = entries_.emplace_back(Entry{std::string(name), std::move(value)});
    return {&added.value, true};
  }

  auto begin() const { return entries_.begin(); }
  auto end() const { return entries_.end(); }

 private:
  static constexpr size_t kFew = 16;

  Entry* FindEntry(std::string_view name) {
    if (entries_.size() <= kFew) {
      for (Entry& entry : entries_) {
        if (entry.name == name) return &entry;
      }
      return nullptr;
    }
    const auto found = index_.find(std::string(name));
    return found == index_.end() ? nullptr : &entries_[found->second];
  }

  boost::container::small_vector<Entry, kUsual> entries_;
  std::unordered_map<std::string, size_t> index_;  // of all, when they are more than a few
};

}  // namespace qrewrite
