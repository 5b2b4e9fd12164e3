// NewRuleText: a rule file made of a piece of a graph: the pattern, a test in which the rule fires and one
// in which it nearly does. What the rule puts there is a placeholder. The contract is that of
// `qrewrite/new_rule.h`.
#pragma once

#include <string>
#include <vector>

#include "engine/driver/driver.h"

namespace qrewrite {

// `nodes`: a piece (piece.h). `name`: of the rule and its file. Without inference in `context` values whose types
// the file does not claim have none in the tests. Errors: kUsage (the name), kUnsupported (a node that graph texts cannot say).
Result<std::string> NewRuleText(const Graph& graph, const std::vector<NodeId>& nodes,
                                const std::string& name, const RunContext& context);

}  // namespace qrewrite
