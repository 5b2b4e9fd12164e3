// What part each activation has in the loss, and what to leave in float.
#pragma once

#include "qrewrite/debug.h"

namespace qrewrite {

// SQNR below which something is called bad, in dB.
inline constexpr double kBadOperator = 30, kBadWeight = 20, kDrop = 3;

// Sets `kind` of each activation that has a counterpart. Where the error has no size (NaN, infinity, a
// reference of zeros alone) only an originator can be told, and else it stays "":
//   originator  its operator alone, or one of its channels, is bad; or a weight of its
//   healthy     else, if the difference from the float model is small here
//   amplifier   else, if it loses more than its inputs had lost
//   inheritor   else
void Classify(DebugReport& report);

// The originators by what is lost there, then the amplifiers; at most `count`.
std::vector<DebugSuggestion> Suggest(const DebugReport& report, size_t count);

}  // namespace qrewrite
