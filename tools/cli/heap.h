// The heap of a rewrite: it keeps what was freed, and has its first pages before they are touched. Page by page they are a tenth of a run on a
// small model, and memory that went back to the system between two phases would be asked for again.
#pragma once

namespace qrewrite::cli {

// Before anything large is allocated. Does nothing where the C library is not glibc.
void PrepareHeap();

}  // namespace qrewrite::cli
