// Calls of local functions give way to what the functions compute.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/base/function_ref.h"
#include "engine/graph/graph.h"
#include "qrewrite/status.h"

namespace qrewrite {

struct InlinedCalls {
  int64_t calls = 0;              // that are gone
  std::vector<std::string> left;  // why calls stay: a sentence for each function
};

// In the main graph and its subgraphs; calls that come out of functions as well. The functions
// themselves stay as they are (RemoveUnused takes those that nothing calls then). A call stays if it
// or a node of the function is `kept`, if the function imports another version of a domain than the
// model, has a tensor or an attribute that cannot be copied, or does not make what the call gives.
// kLimit: functions that call one another would make more than 1,000,000 nodes and sixteen for each
// that was there; the graph is of no use then.
Result<InlinedCalls> InlineCalls(Graph& graph, FunctionRef<bool(NodeId)> kept);

}  // namespace qrewrite
