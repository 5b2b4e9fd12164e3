// ModelPair: the two models, and what was found in them before anything is measured.
#pragma once

#include <algorithm>

#include "engine/debug/folded_weights.h"
#include "engine/debug/matching.h"
#include "engine/debug/named_graph.h"
#include "engine/debug/quantized_values.h"

namespace qrewrite {

struct ModelPair {
  const Model& original;
  const Model& quantized;
  Model form;  // the quantized model in QDQ form
  bool form_differs;
  NamedGraph float_graph, form_graph;
  QuantizedValues values;
  Absorbable absorbable;
  Matching matching;
  FoldedWeights folded;
  size_t in_bodies;  // quantized values of bodies, which are left out
};

// Activations without a counterpart, which those that are floats have.
inline size_t CountLost(const Matching& matching) {
  return static_cast<size_t>(std::ranges::count_if(
      matching.activations, [](const Counterpart& c) { return c.name.empty(); }));
}

inline size_t CountQuantized(const QuantizedValues& values) {
  return static_cast<size_t>(std::ranges::count_if(
      values.activations, [](const QuantizedActivation& a) { return !a.is_float; }));
}

}  // namespace qrewrite
