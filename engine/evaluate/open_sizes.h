// Open sizes of a model's values, and those that they have on one sample.
#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "engine/graph/graph.h"
#include "qrewrite/evaluator.h"

namespace qrewrite {

struct SizedType {
  DType dtype = DType::kUndefined;
  std::vector<int64_t> dims;
  friend auto operator<=>(const SizedType&, const SizedType&) = default;
};

// By value.
using SizedTypes = std::map<std::string, SizedType>;
SizedTypes TypesOf(const Tensors& tensors);

// Values of the main graph that are declared without a known shape get that of `types`. Whether there were any.
bool CloseSizes(Graph& graph, const SizedTypes& types);

}  // namespace qrewrite
