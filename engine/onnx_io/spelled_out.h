// An operator in others, as the onnx library's schemas say what it computes (Celu, RMSNormalization, Attention).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "engine/graph/type.h"
#include "engine/tensor/attribute.h"

namespace qrewrite {

// A call of an operator of ai.onnx.
struct CalledOperator {
  std::string op;
  int64_t opset = 0;
  const Attributes& attributes;
  std::vector<std::optional<TypeInfo>> inputs;  // nullopt: left out
  std::vector<bool> outputs;                    // which of them are asked for
};

// The bytes of a model that makes this call, of a local function that says what it computes. Its inputs are `i0`, `i1`, ..
// (without those that are left out), its outputs `o0`, .. Nothing if the library has no such function, if it has
// none for these types, or if an attribute is a graph or a tensor that is not computed yet.
std::optional<std::string> SpelledOut(const CalledOperator& call);

}  // namespace qrewrite
