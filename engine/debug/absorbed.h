// An activation that the float model has and the quantized one leaves to a quantizer. It is computed here
// before what was quantized is compared with the integers.
//
//   float      Conv -> Relu -> Clip -> y          quantized    Conv -> QuantizeLinear
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "engine/debug/named_graph.h"
#include "engine/debug/quantized_values.h"
#include "engine/fold/kernel.h"

namespace qrewrite {

class AbsorbedActivation {
 public:
  // The node that makes `output` in the float model. nullopt: it cannot be computed here.
  static std::optional<AbsorbedActivation> Make(const NamedGraph& float_graph, ValueId output);

  const std::string& op() const { return op_; }
  Result<Tensor> Apply(const Tensor& x) const;
  // Puts it behind `v`, of that float type, in the main graph: all that reads `v` reads its result.
  Status PutBehind(Graph& graph, ValueId v, DType dtype) const;

 private:
  std::string op_;
  int since_ = 0;
  const KernelEntry* kernel_ = nullptr;
  Attributes attributes_;
  std::vector<Tensor> inputs_;  // the first one is what it is applied to
};

// What the float model has between `op`, which makes what is quantized, and `reference`: the first one first.
std::vector<AbsorbedActivation> AbsorbedBefore(const NamedGraph& float_graph,
                                               const Absorbable& absorbable,
                                               const std::string& reference, const std::string& op);

// What both models have right behind `reference`, which is `a` of the quantized one, where nothing else reads these, and a
// quantizer could stand for it.
std::optional<AbsorbedActivation> KeptBehind(const NamedGraph& float_graph, const NamedGraph& form,
                                             const Absorbable& absorbable,
                                             const std::string& reference,
                                             const QuantizedActivation& a);

}  // namespace qrewrite
