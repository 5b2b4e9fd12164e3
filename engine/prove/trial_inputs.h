// What the models of a trial are run with.
#pragma once

#include <vector>

#include "engine/prove/court.h"
#include "engine/prove/promise.h"

namespace qrewrite {

struct InputsWanted {
  double size = 1;  // floats are multiplied by it
  bool turned =
      false;  // other shapes than those that are tried first, where the model leaves ranks open
};

// Samples for a model: several, and more where a promise is about sums over all of them. Not ok: no inputs can be made.
Result<std::vector<Tensors>> TrialInputs(const Court& court, const Model& model,
                                         const Promise& promise, const InputsWanted& wanted);

// Whether an input of data is a number alone. Its size stays, which may be none that quantizers were made for.
bool HasNumberAsData(const Graph& graph, const Signatures& signatures);

}  // namespace qrewrite
