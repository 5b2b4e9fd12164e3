// The pattern as a graph: statements are vertices, a name that two of them share is an edge from the
// one that makes it to the one that reads it. The order of the search comes from it.
#pragma once

#include <vector>

#include "engine/program/pattern.h"

namespace qrewrite {

// Chooses the anchor from which most statements are reached upwards, from readers to producers, and
// lists every way to the other statements. Of equals it is one that is not among `moved`, the
// statements whose readers the rule hands over to another matched value: each gives its own away once,
// while an anchor would hand on what it got before. Else the last one.
void PlanFromAnchor(Pattern& pattern, const std::vector<int>& moved);

// The same where the search starts from slots that are bound already.
void PlanFromSlots(Pattern& pattern, const std::vector<int>& bound);

}  // namespace qrewrite
