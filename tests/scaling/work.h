// Work: what the engine did, counted; no seconds, so two runs give the same numbers on any machine.
//
// A step is a basic block of instrumented code (GCC's -fsanitize-coverage=trace-pc, on in the whole
// engine under QREWRITE_COUNT_WORK). Loops in libraries are not instrumented; what they allocate and
// what they copy, fill, compare and hash is counted in bytes instead, for all libraries, because
// this program brings operator new, memcpy and their kin itself (work.cc).
#pragma once

#include <cstdint>

namespace scaling {

struct Work {
  uint64_t steps = 0;
  uint64_t allocated = 0;  // bytes, over the whole run
  uint64_t touched = 0;    // bytes copied, filled, compared and hashed by library calls
  uint64_t peak = 0;       // bytes alive at once, beyond those alive at the start
};

// What a run may take; then `stop` is called, which must not return.
struct Limits {
  uint64_t steps = UINT64_MAX;
  uint64_t peak = UINT64_MAX;
  void (*stop)(const char* what) = nullptr;
};

void StartCounting(const Limits& limits);
Work Counted();  // since StartCounting

}  // namespace scaling
