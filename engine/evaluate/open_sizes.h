// Open sizes of a model's inputs, and those that they have on one sample.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "engine/graph/graph.h"
#include "qrewrite/evaluator.h"

namespace qrewrite {

// By input.
using InputShapes = std::map<std::string, std::vector<int64_t>>;
InputShapes ShapesOf(const Tensors& sample);

// Inputs of the main graph whose shape is not known get that of `shapes`. Whether there were any.
bool CloseSizes(Graph& graph, const InputShapes& shapes);

}  // namespace qrewrite
