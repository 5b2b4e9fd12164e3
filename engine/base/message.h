// What a fault says, without its place and severity: for a sentence of its own around it.
#pragma once

#include <string>

#include "qrewrite/status.h"

namespace qrewrite {

// The first message of `fault`, which is an error.
inline std::string Message(const Status& fault) { return fault.diagnostics().front().message; }

}  // namespace qrewrite
