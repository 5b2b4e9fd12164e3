// Work in a process of its own: what runs varied models, runtimes above all, may crash, hang or take all
// memory, and must not take the program along.
#pragma once

#include <cstdint>
#include <string>

#include "engine/base/function_ref.h"

namespace qrewrite {

struct Apart {
  bool finished = false;  // the work returned
  std::string end;        // else how it ended: "signal 11", "no answer in 20 seconds"
  std::string written;    // what it wrote, also if it did not finish
};

// Gives bytes to who waits; what was written before a crash arrives.
using ApartWriter = FunctionRef<void(std::string_view)>;

// Forks, and runs `work` in the child with at most `bytes` of memory beside what the process has now.
// Whatever the work changes is lost but for what it writes. Threads of the caller do not run in the
// child.
Apart RunApart(FunctionRef<void(ApartWriter)> work, uint64_t bytes, int seconds);

}  // namespace qrewrite
