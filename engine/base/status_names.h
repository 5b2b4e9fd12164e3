// Words for machines: what JSON reports and the Python package call codes and severities.
#pragma once

#include <string_view>

#include "qrewrite/diagnostic.h"
#include "qrewrite/status.h"

namespace qrewrite {

std::string_view Name(StatusCode code);    // "invalid_model"
std::string_view Name(Severity severity);  // "error"

}  // namespace qrewrite
