// Which value of the float model a quantized value stands for. In this order: what the user says; equal
// names; names that quantizers of models append something to; nodes of one name; the place in the graph.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "engine/debug/named_graph.h"
#include "engine/debug/order.h"
#include "engine/debug/products.h"
#include "engine/debug/quantized_values.h"

namespace qrewrite {

struct Counterpart {
  std::string name;    // in the float model; "": none
  std::string method;  // "map", "name", "suffix", "node", "structure"
  Order order = {};    // of the axes of the quantized value
  // Valid: an activation is the float value times this; a weight is the float one divided by it, along the axis for
  // which it is nearest.
  Tensor factor = {};
};

struct Matching {
  std::vector<Counterpart> activations, weights;  // as in QuantizedValues
};

// `absorbable` is of the float model, `products` are of both. `map`: float names to quantized ones. kUsage: it names a value that one of the models does not have.
Result<Matching> MatchValues(const NamedGraph& float_graph, const NamedGraph& quantized,
                             const QuantizedValues& values, const Absorbable& absorbable,
                             const Products& float_products, const Products& quantized_products,
                             const std::map<std::string, std::string>& map);

// The name without what quantizers of models append to it: "conv1_QuantizeLinear_Input" -> "conv1".
std::string WithoutSuffix(const std::string& name);

}  // namespace qrewrite
