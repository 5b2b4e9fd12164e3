// The process: descriptors, signals, and how it ends when something is wrong with them.
#pragma once

namespace qrewrite::cli {

// To be called first. From then on
// - 0, 1 and 2 are open, so no file is taken for standard output;
// - a closed pipe and a full quota are errors of a write, not signals;
// - SIGINT, SIGTERM, SIGHUP and the like end the process as usual, but without temporary files;
// - a runtime that crashes is named (kExitInvalidModel), and leaves no temporary files;
// - a file that is cut short while it is mapped is an error (kExitIo).
void SetUpProcess();

}  // namespace qrewrite::cli
