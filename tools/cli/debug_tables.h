// The report of `qrewrite debug` for people.
#pragma once

#include <string>

#include "qrewrite/debug.h"

namespace qrewrite::cli {

// `top`: rows of a table; the outputs are listed all.
std::string DebugTables(const DebugReport& report, size_t top);

}  // namespace qrewrite::cli
