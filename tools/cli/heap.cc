#include "tools/cli/heap.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>

#include "engine/base/huge_pages.h"

#if defined(__GLIBC__) && defined(__linux__) && !defined(__SANITIZE_ADDRESS__) && \
    !defined(__SANITIZE_THREAD__)
#include <malloc.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>
#define QREWRITE_HAS_BREAK 1
#endif

namespace qrewrite::cli {

#ifdef QREWRITE_HAS_BREAK
namespace {

bool Unlimited(__rlimit_resource_t resource) {
  rlimit limit{};
  return getrlimit(resource, &limit) == 0 && limit.rlim_cur == RLIM_INFINITY;
}

}  // namespace

void ExpectHeap(size_t bytes) {
  constexpr size_t kHugePage = size_t{2} << 20;
  if (!Unlimited(RLIMIT_AS) || !Unlimited(RLIMIT_DATA)) return;
  mallopt(M_TRIM_THRESHOLD, 1 << 30);
  mallopt(M_MMAP_THRESHOLD, 32 << 20);  // otherwise what is large lies elsewhere, on small pages
  mallopt(M_TOP_PAD, static_cast<int>(std::min<size_t>(bytes, 1 << 30)));
  auto* const before = static_cast<std::byte*>(sbrk(0));
  // More than the heap has at its end makes it grow, by that and the padding.
  void* volatile grown = std::malloc(mallinfo2().keepcost + 4096);
  std::free(grown);
  auto* const after = static_cast<std::byte*>(sbrk(0));
  mallopt(M_TOP_PAD, kHugePage);
  const auto at = reinterpret_cast<uintptr_t>(before) % kHugePage;
  std::byte* const first = at == 0 ? before : before + (kHugePage - at);
  if (first >= after) return;
  madvise(first, std::min(static_cast<size_t>(after - first), kMostHuge), MADV_HUGEPAGE);
}
#else
void ExpectHeap(size_t) {}
#endif

void ExpectHeapFor(const std::string& path) {
  std::error_code error;
  const uintmax_t size = std::filesystem::file_size(path, error);
  // Weights are not read: a large file is not yet a large graph.
  if (!error) ExpectHeap(static_cast<size_t>(std::min<uintmax_t>(size, size_t{128} << 20)) * 8);
}

}  // namespace qrewrite::cli
