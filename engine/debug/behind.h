// What is behind a value: its readers, and what they make that a producer of models has folded into the operator in front.
#pragma once

#include <set>
#include <string>

#include "engine/debug/named_graph.h"
#include "engine/debug/products.h"
#include "engine/debug/quantized_values.h"

namespace qrewrite {

// The float value that the quantized activation `a` of `values` stands for if its operator is the one that
// makes `v`: behind folded nodes. A product of the float model is not folded where a product of its kind reads the
// activation, whatever the two operators are called (Gemm, MatMul).
ValueId BehindAbsorbed(const NamedGraph& float_graph, const Products& float_products, ValueId v,
                       const NamedGraph& quantized, const Products& quantized_products,
                       const QuantizedValues& values, const QuantizedActivation& a);

// What the only reader of `v` makes, if all else that it reads is constant; invalid otherwise.
ValueId OnlyResult(const NamedGraph& graph, ValueId v);
// Operators that read `v`.
std::set<std::string> ReaderOps(const NamedGraph& graph, ValueId v);
// Operators that read the activation, also those that read it in another order of its axes, quantized once
// more or not.
std::set<std::string> ReaderOps(const NamedGraph& graph, const QuantizedValues& values,
                                const QuantizedActivation& a);

}  // namespace qrewrite
