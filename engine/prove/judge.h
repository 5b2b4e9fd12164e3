// Judge: one rule on one graph. Does the rule fire there, and is the result a valid model that computes the same, to the
// degree that the rule promises? Whether the graph is a valid model was asked before (graph_faults.h).
//
// Models are run by the built-in kernels; where these lack an operator, and where they find a fault,
// ONNX Runtime is asked if there is one: a graph that it refuses was no model to begin with.
#pragma once

#include "engine/prove/court.h"
#include "engine/prove/inquiry.h"
#include "engine/prove/trial.h"

namespace qrewrite {

class Judge {
 public:
  // `court` outlives the judge.
  explicit Judge(const Court& court) : court_(court) {}

  // Runs `task` on a copy of `graph` and compares. The promise is the weakest of the rules that fired.
  // `assumed`: a condition that counts as met.
  Trial Try(const Graph& graph, const Task& task, CodeId assumed = {});

 private:
  const Court& court_;
  Inquiry::Memory memory_;
};

}  // namespace qrewrite
