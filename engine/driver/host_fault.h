// What a function of the host threw, with the place where it was asked.
#pragma once

#include "engine/match/interpreter.h"

namespace qrewrite {

// Interpreter::host_fault(), with a note of the rule that was tried at `n`.
Status HostFault(const Interpreter& in, const Rule& rule, NodeId n);

}  // namespace qrewrite
