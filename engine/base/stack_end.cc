#include "engine/base/stack_end.h"

#include <pthread.h>

namespace qrewrite {
namespace {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr size_t kReserve = size_t{256} << 10;  // sanitizers make each frame several times as large
#else
constexpr size_t kReserve = size_t{64} << 10;
#endif

struct Stack {
  uintptr_t begin = 0;  // the lowest address
  size_t size = 0;
};

Stack StackOfThread() {
  Stack stack;
  pthread_attr_t attributes;
  if (pthread_getattr_np(pthread_self(), &attributes) != 0) return stack;
  void* begin = nullptr;
  if (pthread_attr_getstack(&attributes, &begin, &stack.size) == 0) {
    stack.begin = reinterpret_cast<uintptr_t>(begin);
  }
  pthread_attr_destroy(&attributes);
  return stack;
}

}  // namespace

StackEnd::StackEnd() {
  // Once a thread: for a program's first one the C library reads what /proc says of its memory.
  thread_local const Stack stack = StackOfThread();
  const auto here = reinterpret_cast<uintptr_t>(__builtin_frame_address(0));
  if (here < stack.begin || here - stack.begin > stack.size) return;
  near_ = stack.begin + kReserve;
  size_ = stack.size;
}

}  // namespace qrewrite
