#include "work.h"

#include <dlfcn.h>
#include <malloc.h>

#include <cstddef>
#include <cstdlib>
#include <new>

namespace scaling {
namespace {

// Plain data without constructors: operator new runs before any static object is made.
struct Counters {
  uint64_t steps, allocated, touched;
  int64_t alive, peak;
  uint64_t max_steps;
  int64_t max_alive;
  void (*stop)(const char* what);
};
Counters counters = {0, 0, 0, 0, 0, UINT64_MAX, INT64_MAX, nullptr};

[[gnu::cold, gnu::noinline]] void Stop(const char* what) {
  counters.max_steps = UINT64_MAX;  // what `stop` itself does is free
  counters.max_alive = INT64_MAX;
  if (counters.stop != nullptr) counters.stop(what);
}

void* Allocate(size_t size, size_t alignment) {
  void* memory = nullptr;
  if (alignment <= alignof(max_align_t)) {
    memory = malloc(size);
  } else if (posix_memalign(&memory, alignment, size) != 0) {
    memory = nullptr;
  }
  if (memory == nullptr) throw std::bad_alloc();
  counters.allocated += size;
  counters.alive += static_cast<int64_t>(malloc_usable_size(memory));
  if (counters.alive > counters.peak) counters.peak = counters.alive;
  if (counters.alive > counters.max_alive) Stop("memory");
  return memory;
}

void Release(void* memory) {
  counters.alive -= static_cast<int64_t>(malloc_usable_size(memory));
  free(memory);
}

// Eight bytes anywhere.
struct [[gnu::packed, gnu::may_alias]] Chunk {
  uint64_t bits;
};

}  // namespace

void StartCounting(const Limits& limits) {
  counters = {0, 0, 0, 0, 0, limits.steps, INT64_MAX, limits.stop};
  if (limits.peak < INT64_MAX) counters.max_alive = static_cast<int64_t>(limits.peak);
}

Work Counted() {
  return {counters.steps, counters.allocated, counters.touched,
          static_cast<uint64_t>(counters.peak)};
}

}  // namespace scaling

using scaling::Chunk;
using scaling::counters;

extern "C" {

void __sanitizer_cov_trace_pc() {
  if (++counters.steps > counters.max_steps) scaling::Stop("steps");
}

void* memcpy(void* __restrict to, const void* __restrict from, size_t size) noexcept {
  counters.touched += size;
  auto* t = static_cast<unsigned char*>(to);
  const auto* f = static_cast<const unsigned char*>(from);
  for (; size >= sizeof(Chunk); size -= sizeof(Chunk), t += sizeof(Chunk), f += sizeof(Chunk)) {
    reinterpret_cast<Chunk*>(t)->bits = reinterpret_cast<const Chunk*>(f)->bits;
  }
  for (; size > 0; --size) *t++ = *f++;
  return to;
}

void* memmove(void* to, const void* from, size_t size) noexcept {
  auto* t = static_cast<unsigned char*>(to);
  const auto* f = static_cast<const unsigned char*>(from);
  if (t <= f || t >= f + size) {  // forward, a byte at a time where the distance is below a chunk
    if (t + sizeof(Chunk) <= f || t >= f + size) return memcpy(to, from, size);
    counters.touched += size;
    for (; size > 0; --size) *t++ = *f++;
    return to;
  }
  counters.touched += size;
  while (size > 0) {
    --size;
    t[size] = f[size];
  }
  return to;
}

void* memset(void* to, int value, size_t size) noexcept {
  counters.touched += size;
  auto* t = static_cast<unsigned char*>(to);
  const uint64_t bits = 0x0101010101010101U * static_cast<unsigned char>(value);
  for (; size >= sizeof(Chunk); size -= sizeof(Chunk), t += sizeof(Chunk)) {
    reinterpret_cast<Chunk*>(t)->bits = bits;
  }
  for (; size > 0; --size) *t++ = static_cast<unsigned char>(value);
  return to;
}

int memcmp(const void* left, const void* right, size_t size) noexcept {
  const auto* l = static_cast<const unsigned char*>(left);
  const auto* r = static_cast<const unsigned char*>(right);
  for (size_t i = 0; i < size; ++i) {
    if (l[i] != r[i]) {
      counters.touched += i + 1;
      return l[i] < r[i] ? -1 : 1;
    }
  }
  counters.touched += size;
  return 0;
}

}  // extern "C"

// What std::hash<std::string> calls; the work itself is left to the library's.
namespace std {
size_t _Hash_bytes(const void* data, size_t size, size_t seed) {
  counters.touched += size;
  using Hash = size_t (*)(const void*, size_t, size_t);
  static const auto hash = reinterpret_cast<Hash>(dlsym(RTLD_NEXT, "_ZSt11_Hash_bytesPKvmm"));
  return hash(data, size, seed);
}
}  // namespace std

void* operator new(size_t size) { return scaling::Allocate(size, 1); }
void* operator new[](size_t size) { return scaling::Allocate(size, 1); }
void* operator new(size_t size, std::align_val_t a) {
  return scaling::Allocate(size, static_cast<size_t>(a));
}
void* operator new[](size_t size, std::align_val_t a) {
  return scaling::Allocate(size, static_cast<size_t>(a));
}
void operator delete(void* p) noexcept { scaling::Release(p); }
void operator delete[](void* p) noexcept { scaling::Release(p); }
void operator delete(void* p, size_t) noexcept { scaling::Release(p); }
void operator delete[](void* p, size_t) noexcept { scaling::Release(p); }
void operator delete(void* p, std::align_val_t) noexcept { scaling::Release(p); }
void operator delete[](void* p, std::align_val_t) noexcept { scaling::Release(p); }
void operator delete(void* p, size_t, std::align_val_t) noexcept { scaling::Release(p); }
void operator delete[](void* p, size_t, std::align_val_t) noexcept { scaling::Release(p); }
