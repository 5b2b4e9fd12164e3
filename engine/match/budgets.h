// Bounds of one search from one node, with everything that its conditions compute. They depend on
// nothing but the rules and the graph; a run that meets one ends with an error that names the rule.
// What the stack of the thread allows is a bound, too (engine/base/stack_end.h).
#pragma once

#include <cstdint>

namespace qrewrite {

// Values held against a pattern. A chain of a pattern (`Transpose*`) may be as long as the model, and alternatives try it
// several times.
inline constexpr uint64_t kMaxMatchSteps = 2'000'000, kMatchStepsPerNode = 100;
inline constexpr uint64_t kMaxEvalSteps = 10'000'000;  // pieces of code, members of lists
// Of a run: of the operators on constants in conditions, `let` and templates (FoldLimits::work). Fold phases have another (kFoldWork).
inline constexpr uint64_t kMaxFoldWork = uint64_t{1} << 38;
// Of one tensor that is computed to be looked at: what would be larger is unknown. Results that are written are made part
// by part, later.
inline constexpr uint64_t kMaxComputedBytes = uint64_t{1} << 30;
// Definitions that call themselves for other things than a value of the graph go so deep.
inline constexpr int kMaxRecursion = 128;

}  // namespace qrewrite
