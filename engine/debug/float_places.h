// Float places: what operators make with quantized weights where no quantizer stands behind them, as behind the last layer,
// or where the next one stands behind the products of several (the attention of a dynamically quantized model). A weight
// that is lost shows there, and nowhere else.
#pragma once

#include "engine/debug/matching.h"
#include "engine/debug/named_graph.h"
#include "engine/debug/quantized_values.h"

namespace qrewrite {

// Adds them, as activations of their own (QuantizedActivation::is_float), where the float model has the value.
void AddFloatPlaces(const NamedGraph& float_graph, const NamedGraph& form, QuantizedValues& values,
                    Matching& matching);

}  // namespace qrewrite
