// Sizes that a model leaves open become numbers.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "engine/graph/graph.h"
#include "qrewrite/status.h"

namespace qrewrite {

// Inputs of the main graph have these shapes from now on, and a symbol that got a size that way is this size wherever it
// stands. Returns how many types changed. kUsage, and nothing is changed: there is no such input, it is no tensor, or
// the file says another rank or size.
Result<int64_t> FixInputShapes(Graph& graph,
                               const std::map<std::string, std::vector<int64_t>>& shapes);

}  // namespace qrewrite
