// Flat models: what functions compute and what the branches compute that are taken, in the main graph, where
// values can be observed.
#pragma once

#include "qrewrite/evaluator.h"
#include "qrewrite/model.h"
#include "qrewrite/samples.h"
#include "qrewrite/status.h"

namespace qrewrite {

struct FlatModels {
  Model original, quantized;
};

// Clones of both models without local functions, and without those Ifs of the main graph that take one
// branch on all samples. Other bodies stay. What does not run, or gets too large without
// functions (InlineCalls), stays as it is.
Result<FlatModels> Flatten(const Model& original, const Model& quantized, Evaluator& evaluator,
                           const Samples& samples);

}  // namespace qrewrite
