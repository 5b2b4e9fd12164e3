// Meaning: an operator that has no kernel, run as what the onnx library says it computes in other operators.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/evaluate/interpreter.h"
#include "engine/graph/type.h"
#include "qrewrite/model.h"

namespace qrewrite {

class Meaning {
 public:
  // Of node `n` of `graph` with these attributes, on inputs like these (not valid: left out); null if the library does not
  // say. `max_steps`: as for GraphInterpreter. `kernels` outlive it.
  static Result<std::unique_ptr<Meaning>> Make(const Graph& graph, NodeId n,
                                               const Attributes& attributes,
                                               const std::vector<Tensor>& inputs,
                                               const KernelRegistry& kernels, int64_t max_steps);

  // Do these have the types and sizes that it was made for?
  bool Fits(const std::vector<Tensor>& inputs) const;
  size_t num_nodes() const { return num_nodes_; }
  // One for each output of the node, not valid where nobody asks for it. REQUIRES: Fits(inputs).
  Result<std::vector<Tensor>> Run(const std::vector<Tensor>& inputs);

 private:
  Meaning(Model model, std::vector<std::optional<TypeInfo>> types, std::vector<bool> outputs)
      : model_(std::move(model)), types_(std::move(types)), outputs_(std::move(outputs)) {}

  Model model_;
  std::vector<std::optional<TypeInfo>> types_;  // of the inputs
  std::vector<bool> outputs_;
  std::optional<GraphInterpreter> interpreter_;
  size_t num_nodes_ = 0;
};

}  // namespace qrewrite
