// What part each activation has in the loss, and what to leave in float.
#pragma once

#include <optional>
#include <vector>

#include "engine/debug/flow.h"
#include "qrewrite/debug.h"

namespace qrewrite {

// SQNR below which something is called bad, in dB.
inline constexpr double kBadOperator = 30, kBadWeight = 20, kDrop = 3;

// What of the precision of the worst operand is gone behind the operator of that row, in dB; operands without a number of
// their own are looked through. `operands`: of each row, by row. Nothing: no operand has a number. REQUIRES: the row has one.
std::optional<double> Drop(const std::vector<DebugActivation>& rows,
                           const std::vector<Operands>& operands, size_t row);

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
