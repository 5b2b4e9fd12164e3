// StackEnd: whether the stack of a thread is nearly used up.
//
// What goes as deep as a rule file or a model says (patterns of many statements, values of `let` that
// rest on each other) asks before each step and ends with an error instead of a crash. Hosts call the
// engine from threads of their own, so the answer is about the stack that there is, not about a depth.
#pragma once

#include <cstddef>
#include <cstdint>

namespace qrewrite {

class StackEnd {
 public:
  StackEnd();  // of the thread that makes it; nobody else may ask
  // Less than kReserve is left, which is enough for whatever does not ask.
  bool IsNear() const { return reinterpret_cast<uintptr_t>(__builtin_frame_address(0)) < near_; }
  // Of the whole stack, in steps of 64 KiB: what lies above the first frame differs from run to run.
  size_t kib() const { return (size_ + 0xffff) / 0x10000 * 64; }

 private:
  uintptr_t near_ = 0;  // 0: nothing is known, as on a stack that the host made for a coroutine
  size_t size_ = 0;
};

}  // namespace qrewrite
