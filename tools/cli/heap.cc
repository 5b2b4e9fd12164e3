#include "tools/cli/heap.h"

#include <cstddef>
#include <cstdlib>
#include <memory>

#if defined(__GLIBC__) && defined(__linux__) && !defined(__SANITIZE_ADDRESS__) && \
    !defined(__SANITIZE_THREAD__)
#include <malloc.h>
#include <sys/mman.h>
#include <unistd.h>
#define QREWRITE_HAS_BREAK 1
#endif

namespace qrewrite::cli {

#ifdef QREWRITE_HAS_BREAK
void PrepareHeap() {
  constexpr size_t kFirst = size_t{6} << 20;  // what loading and compiling a rule set takes
  constexpr int kKept = 1 << 30;
  mallopt(M_TRIM_THRESHOLD, kKept);
  mallopt(M_MMAP_THRESHOLD, 32 << 20);
#ifdef MADV_POPULATE_WRITE
  void* const memory = std::malloc(kFirst);
  const auto page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  void* begin = memory;
  size_t left = kFirst;
  if (memory != nullptr && std::align(page, page, begin, left) != nullptr) {
    madvise(begin, left / page * page, MADV_POPULATE_WRITE);
  }
  std::free(memory);
#endif
}
#else
void PrepareHeap() {}
#endif

}  // namespace qrewrite::cli
