// What is won when the suggestions are followed: the quantized model is stripped of the quantizers around
// those operators (rule set strip_qdq), their weights become those of the float model, and the outputs are
// measured once more.
#pragma once

#include "engine/debug/folded_weights.h"
#include "engine/debug/matching.h"
#include "qrewrite/debug.h"

namespace qrewrite {

struct Stripping {
  const Model& original;
  const Model& quantized;
  const Model& form;
  const QuantizedValues& values;
  const Matching& matching;
  const FoldedWeights& folded;
  const Absorbable& absorbable;  // of the float model
};

// Sets `gained` of each suggestion of `report`, and `all_gained`.
Status Validate(const Stripping& stripping, Evaluator& evaluator, const Samples& samples,
                DebugReport& report);

}  // namespace qrewrite
