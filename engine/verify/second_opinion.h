// Two models that a runtime tells apart, asked of another one: is the difference the models', or the runtime's?
#pragma once

#include <functional>
#include <set>
#include <string>

#include "engine/verify/pairing.h"
#include "qrewrite/evaluator.h"
#include "qrewrite/verify.h"

namespace qrewrite {

// Compares what both models make of an output, by its name in the first model.
using CompareOutput = std::function<Result<OutputComparison>(
    const std::string& name, const ConstTensor& a, const ConstTensor& b)>;

// Outputs of `report` that are kDiverged and say nothing of the models become kInconclusive, with the reason; the verdict
// of the report follows when none is left. On the sample that the report has:
// - `first` and `second` disagree about the model `a` alone as much as `first` does about `a` and `b`;
// - or `first` gives numbers that are as near to each other as roundings of float32 (100 dB), and of `second`'s `compare`
//   finds nothing: kernels that a runtime chooses by what is constant, or fused, add up in another order.
// - or the difference is of roundings that a quantizer inside made steps of (engine/verify/steps.h): of as few decibels as
//   a tolerance in decibels allows, but 60; under another one of 100 dB, and `compare` finds nothing of `second`'s.
// - or the two disagree about `a` by more than the decibels that are asked for, and `compare` finds nothing of `second`'s;
// - or `first` cuts off sums of products of 8 bits on this processor, and `compare` finds nothing when the weights are
//   unsigned (rules/unsigned_weights.yaml).
// Where `second` cannot run a model only the last is tried, and otherwise a note says so. Returns the outputs of which
// `compare` found nothing.
std::set<std::string> HearSecond(const Model& a, const Model& b, Evaluator& first,
                                 Evaluator& second, const Pairing& pairs,
                                 const CompareOutput& compare, VerifyReport& report);

}  // namespace qrewrite
