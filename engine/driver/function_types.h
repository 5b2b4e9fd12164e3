// Types of the inputs of local functions, and of what calls of them return: files seldom say them.
// Nothing but the calls of the model uses a function, so what all calls agree on holds inside it.
#pragma once

#include "engine/match/facts.h"

namespace qrewrite {

// States them in the graph where the file does not. A graph that is otherwise unchanged is written
// as it was.
void StateFunctionTypes(Graph& graph, Facts& facts);

}  // namespace qrewrite
