// NewRule: a rule file made of a piece of a model: its pattern, a test in which the rule fires and one
// in which it nearly does. What the rule puts there is a placeholder.
#pragma once

#include <string>
#include <vector>

#include "qrewrite/model.h"
#include "qrewrite/status.h"

namespace qrewrite {

struct NewRuleOptions {
  // Nodes, or the values that they make, by name; "A..B": all that lie on a way from A to B.
  std::vector<std::string> nodes;
  std::string name = "new-rule";  // of the rule
};

// The text of a rule file. Scalars of the piece become literals, other constants names that have to be
// constants, what comes from outside names; sizes are left open. Errors: kUsage (a name that no rule has, no such node, nodes of
// different graphs, none), kUnsupported (a node with a subgraph).
Result<std::string> NewRule(const Model& model, const NewRuleOptions& options);

}  // namespace qrewrite
