// Order of axes: a producer of quantized models may keep values in another layout than the float model has
// (NHWC around the convolutions of ONNX Runtime's optimiser).
//
// Axis k of the quantized value is axis order[k] of the float one; empty: as it is there.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "engine/tensor/tensor.h"

namespace qrewrite {

using Order = std::vector<int64_t>;

// Of a value that is moved by `perm` once more. Both are permutations of as many axes; nullopt: they are not.
std::optional<Order> Moved(const Order& order, const std::vector<int64_t>& perm);

// Of what `perm` puts into the order of the float model. nullopt: no permutation.
std::optional<Order> MovedBack(const std::vector<int64_t>& perm);

// The order that sizes alone tell: those above 1 all differ. nullopt: they do not tell one.
std::optional<Order> OrderOfSizes(const Dims& quantized, const Dims& wanted);

// Sizes and numbers of a value of the quantized model in the order of the float model. REQUIRES: as many axes,
// and `dims` are the sizes of `values`.
Dims InFloatOrder(const Dims& dims, const Order& order);
std::vector<double> InFloatOrder(const std::vector<double>& values, const Dims& dims,
                                 const Order& order);
// A value of the float model in the order of the quantized one. kUnsupported: other axes.
Result<Tensor> InOrder(const Tensor& value, const Order& order);

}  // namespace qrewrite
