// Models of a trial: made of graphs, and run.
#pragma once

#include <optional>
#include <vector>

#include "engine/prove/court.h"

namespace qrewrite {

// A model that is `graph`, opset imports and all.
Result<Model> ModelOf(const Graph& graph);

const Graph& GraphOf(const Model& model);

// A model that is the graph without operators of which the rule file says what they compute; its outputs in units, too
// (units.h), if that is wanted and possible.
Result<Model> Lowered(const Court& court, const Graph& graph, bool in_units);

// What an evaluator makes of a model, on a few samples. Not ok: `values` are those of the samples before.
struct Ran {
  Status status;
  std::vector<Tensors> values;
};

Ran RunModel(Evaluator& evaluator, const Model& model, const std::vector<Tensors>& inputs);

// Samples of which the model has no result (a Cast to integers beyond their range, a size that does not fit) go, unless
// all do.
Ran RunWhereDefined(Evaluator& evaluator, const Model& model, std::vector<Tensors>& inputs);

// What the kernels make of each value of the main graph, by name; nullopt: they do not run it.
std::optional<Tensors> AllValues(const Court& court, const Model& model, const Tensors& sample);

// How many different numbers there are: of a large tensor among the first ones, which tell as much.
size_t CountDistinct(const std::vector<Tensors>& samples);

}  // namespace qrewrite
