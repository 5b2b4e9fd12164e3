// A HostFunction that a host registered as a condition: it gives a bool, which is of use in `where:` alone.
#pragma once

#include <vector>

#include "engine/match/interpreter.h"

namespace qrewrite {

struct HostPredicate {
  HostFunction ask;

  Result<Tensor> operator()(const std::vector<Tensor>& args) const { return ask(args); }
};

}  // namespace qrewrite
