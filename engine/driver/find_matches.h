// Matches of the rules of a rule set in a graph, without rewriting it.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "engine/base/function_ref.h"
#include "engine/driver/driver.h"

namespace qrewrite {

struct MatchQuery {
  std::map<std::string, std::string> set;  // parameters as text
  std::vector<std::string> rules;          // names; none: all, of the rule sets that phases use too
  bool conditions = true;                  // of rules; false: they count as met
};

// Valid during the call that gets it.
struct FoundMatch {
  const CompiledRule& rule;
  const std::vector<NodeId>& nodes;  // in the order of the search, perhaps twice
  Interpreter& in;
  Frame& frame;
};

// Calls `found` for each match until it returns false: nodes in the order of Run(), at each the rules
// in the order of the file, then the choices of the search. Errors: kUsage, kUnsupported (opset), kLimit
// (a search that takes too many steps), kInvalidModel (a cycle), kCallback; what Interrupted() says
// (engine/base/interrupt.h).
Status FindMatches(const Graph& graph, const Program& program, const MatchQuery& query,
                   const RunContext& context, FunctionRef<bool(const FoundMatch&)> found);

}  // namespace qrewrite
