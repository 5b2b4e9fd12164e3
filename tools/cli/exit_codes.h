// Exit codes of the command; docs/exit_codes.md is the same table for people.
#pragma once

#include "qrewrite/status.h"

namespace qrewrite::cli {

enum ExitCode : int {
  kExitOk = 0,
  kExitFindings =
      1,  // --check: would change; test: failures; lint: errors; verify: results differ;
          // diff: the models differ
  kExitUsage = 2,
  kExitRefused = 3,  // by a rule with `refuse:`, or warnings with --strict; verify: inconclusive
  kExitInvalidRules = 4,
  kExitInvalidModel = 5,  // or beyond what this program does
  kExitIo = 6,
  kExitLimit = 7,
};

inline ExitCode ExitCodeOf(StatusCode code) {
  switch (code) {
    case StatusCode::kOk: return kExitOk;
    case StatusCode::kUsage: return kExitUsage;
    case StatusCode::kIo: return kExitIo;
    case StatusCode::kInvalidModel: return kExitInvalidModel;
    case StatusCode::kInvalidRules: return kExitInvalidRules;
    case StatusCode::kRefused: return kExitRefused;
    case StatusCode::kLimit: return kExitLimit;
    case StatusCode::kUnsupported: return kExitInvalidModel;
    case StatusCode::kCancelled:
    case StatusCode::kCallback: break;  // of hosts alone
  }
  return kExitInvalidModel;
}

}  // namespace qrewrite::cli
