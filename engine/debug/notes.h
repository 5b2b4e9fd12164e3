// What a reader of the report should know of the numbers beside them (DebugReport::notes).
#pragma once

#include "engine/debug/measurement.h"
#include "engine/debug/model_pair.h"
#include "qrewrite/debug.h"

namespace qrewrite {

// What was not compared, or not as one would think.
void AddNotes(const ModelPair& c, const Measurement& measurement, DebugReport& report);

// One note for each model on which the evaluators disagree: what they disagree on first.
void AddSecondOpinion(const ModelPair& c, const Measurement& measurement, const Tensors& sample,
                      Evaluator& evaluator, Evaluator& second, DebugReport& report);

// Nodes without names are called by what they make, which quantize_static() does not know.
void AddUnnamed(const ModelPair& c, DebugReport& report);

}  // namespace qrewrite
