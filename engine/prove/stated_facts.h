// StatedFacts: facts of a graph, those among them that signatures of the rule file state.
#pragma once

#include "engine/match/interpreter.h"
#include "engine/prove/court.h"

namespace qrewrite {

class StatedFacts {
 public:
  StatedFacts(const Graph& graph, const Court& court)
      : facts_(graph, court.signatures(), KernelRegistry::Builtin(), court.context.inference),
        in_(graph, court.program, facts_, KernelRegistry::Builtin(), Defaults(court),
            HostFunctions()) {}

  Facts& operator*() { return facts_; }

 private:
  static Params Defaults(const Court& court) {
    Result<Params> params = BindParams(court.program.rules(), {});
    return params.ok() ? *std::move(params) : Params();
  }

  Facts facts_;
  Interpreter in_;  // evaluates them when the facts ask
};

}  // namespace qrewrite
