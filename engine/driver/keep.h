// Opt-outs: the nodes that a run leaves as they are.
#pragma once

#include <string>
#include <vector>

#include "engine/graph/find.h"
#include "qrewrite/status.h"

namespace qrewrite {

// What the caller wants to keep; see RewriteOptions.
struct KeepOptions {
  std::vector<std::string> ops;    // operators, `*` for any characters: "com.microsoft.*"
  std::vector<std::string> nodes;  // RE2 regular expressions
};

struct KeptNodes {
  NodeSet nodes;
  std::vector<std::string> idle;  // options that name no node, as sentences
};

// The nodes of all bodies that the options name. kUsage: a faulty name or regular expression.
Result<KeptNodes> FindKept(const Graph& graph, const KeepOptions& options);

}  // namespace qrewrite
