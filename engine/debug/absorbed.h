// An activation that the float model has and the quantized one leaves to a quantizer. It is computed here
// before what was quantized is compared with the integers.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "engine/debug/named_graph.h"
#include "engine/fold/kernel.h"

namespace qrewrite {

class AbsorbedActivation {
 public:
  // The node that makes `output` in the float model. nullopt: it cannot be computed here.
  static std::optional<AbsorbedActivation> Make(const NamedGraph& float_graph, ValueId output);

  const std::string& op() const { return op_; }
  // Bounds of its own, as inputs or attributes.
  int num_bounds() const { return static_cast<int>(inputs_.size() - 1 + attributes_.size()); }
  Result<Tensor> Apply(const Tensor& x) const;

 private:
  std::string op_;
  int since_ = 0;
  const KernelEntry* kernel_ = nullptr;
  Attributes attributes_;
  std::vector<Tensor> inputs_;  // the first one is what it is applied to
};

}  // namespace qrewrite
