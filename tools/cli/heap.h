// The heap of the command: its beginning on huge pages where the system has them (engine/base/huge_pages.h). A run
// allocates much and returns it only when it ends; taking it page by page costs a tenth of its time.
#pragma once

#include <cstddef>
#include <string>

namespace qrewrite::cli {

// The heap will grow by about `bytes`: takes so much address space in one piece. Pages are taken when they are
// touched. Does nothing where address space is limited, and where the C library is not glibc.
void ExpectHeap(size_t bytes);

// The same, for a run on the model at `path`; what its tables, facts and new nodes take.
void ExpectHeapFor(const std::string& path);

}  // namespace qrewrite::cli
