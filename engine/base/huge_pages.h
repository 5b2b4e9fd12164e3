// HugePages: an allocator for tables that may become large and are read at random. From a few
// megabytes on they lie on huge pages where the system has them, which spares most page faults and
// address translations.
#pragma once

#include <cstddef>
#include <cstdlib>
#include <limits>
#include <new>

#include <sys/mman.h>

namespace qrewrite {

template <class T>
struct HugePages {
  using value_type = T;

  HugePages() = default;
  template <class U>
  HugePages(const HugePages<U>&) {}  // NOLINT(google-explicit-constructor): as the standard asks

  T* allocate(size_t count) {
    constexpr size_t kPage = size_t{2} << 20;
    if (count > (std::numeric_limits<size_t>::max() - kPage) / sizeof(T)) throw std::bad_alloc();
    const size_t size = count * sizeof(T);
    if (size < 2 * kPage) return static_cast<T*>(::operator new(size));
    const size_t rounded = (size + kPage - 1) / kPage * kPage;
    void* memory = std::aligned_alloc(kPage, rounded);
    if (memory == nullptr) throw std::bad_alloc();
    madvise(memory, rounded, MADV_HUGEPAGE);
    return static_cast<T*>(memory);
  }
  void deallocate(T* memory, size_t count) {
    constexpr size_t kPage = size_t{2} << 20;
    if (count * sizeof(T) < 2 * kPage) {
      ::operator delete(memory);
    } else {
      std::free(memory);
    }
  }
  template <class U>
  friend bool operator==(const HugePages&, const HugePages<U>&) {
    return true;
  }
};

}  // namespace qrewrite
