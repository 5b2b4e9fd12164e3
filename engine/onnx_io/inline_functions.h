// Calls of local functions, replaced by what the functions compute.
#pragma once

#include <string>

#include "qrewrite/status.h"

namespace qrewrite {

// A serialized ModelProto without its functions; outputs of calls keep their names, values inside get new
// ones. A function that imports other opsets than the model stays. kInvalidModel: it is no model.
Result<std::string> InlineFunctions(const std::string& model);

}  // namespace qrewrite
