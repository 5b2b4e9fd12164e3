// What weights were quantized from.
//
// Folded weights: producers of quantized models put what follows an operator (BatchNormalization, a product)
// into its weights before they quantize it. What such a weight was quantized from is in no model; it is in
// the float model on which the rule set `optimize` did the same.
#pragma once

#include <map>
#include <optional>

#include "engine/debug/matching.h"
#include "qrewrite/model.h"

namespace qrewrite {

// Float weights by index in `values.weights`, where the operator that reads the weight stands for more than
// the float operator of its kind, and where they are nearer to the integers than the counterpart in
// `matching`. The graphs are those of the models; `form` is the quantized one in QDQ form. `absorbable` is of
// the float model: what a quantizer stands for is folded into no weight.
using FoldedWeights = std::map<size_t, Tensor>;
Result<FoldedWeights> FindFoldedWeights(const Model& original, const NamedGraph& float_graph,
                                        const NamedGraph& form, const QuantizedValues& values,
                                        const Absorbable& absorbable, const Matching& matching);

// What `weight` is behind an operand that is multiplied by `factor`: divided by it along that axis of as many elements for
// which it is nearest to the integers, if it is nearer than `weight` is. nullopt: none is.
std::optional<Tensor> Divided(const QuantizedWeight& w, const Tensor& weight, const Tensor& factor);

// A float weight as the operator of the quantized model reads it: with its last two axes exchanged where only that fits
// (Gemm became MatMul; the weights of an LSTM), of square ones where that is nearer to the integers.
Result<Tensor> InShapeOf(const QuantizedWeight& w, const Tensor& weight);

}  // namespace qrewrite
