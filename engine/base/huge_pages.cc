#include "engine/base/huge_pages.h"

#include <algorithm>
#include <cstdlib>

#include <sys/mman.h>

namespace qrewrite {
namespace {

constexpr size_t kPage = size_t{2} << 20;
constexpr size_t kLarge = 2 * kPage;

}  // namespace

void* AllocateTable(size_t size) {
  if (size < kLarge) return ::operator new(size);
  void* memory = nullptr;
  if (posix_memalign(&memory, kPage, size) != 0) throw std::bad_alloc();
  madvise(memory, std::min(size / kPage * kPage, kMostHuge), MADV_HUGEPAGE);
  return memory;
}

void FreeTable(void* memory, size_t size) {
  if (size < kLarge) {
    ::operator delete(memory);
  } else {
    std::free(memory);
  }
}

}  // namespace qrewrite
