// HugePages: an allocator for tables that may become large and are read at random. From a few
// megabytes on they begin on huge pages where the system has them, which spares most page faults and
// address translations.
#pragma once

#include <cstddef>
#include <limits>
#include <new>

namespace qrewrite {

// So much of a table lies on huge pages, from its beginning, and of a heap. Virtual machines that give free memory back to
// their host (free page reporting) have few huge pages at hand; the others take six times as long to get as small ones.
constexpr size_t kMostHuge = size_t{64} << 20;

// Memory for `size` bytes. Throws std::bad_alloc.
void* AllocateTable(size_t size);
void FreeTable(void* memory, size_t size);  // as it was asked for

template <class T>
struct HugePages {
  using value_type = T;

  HugePages() = default;
  template <class U>
  HugePages(const HugePages<U>&) {}  // NOLINT(google-explicit-constructor): as the standard asks

  T* allocate(size_t count) {
    if (count > std::numeric_limits<size_t>::max() / 2 / sizeof(T)) throw std::bad_alloc();
    return static_cast<T*>(AllocateTable(count * sizeof(T)));
  }
  void deallocate(T* memory, size_t count) { FreeTable(memory, count * sizeof(T)); }
  template <class U>
  friend bool operator==(const HugePages&, const HugePages<U>&) {
    return true;
  }
};

}  // namespace qrewrite
