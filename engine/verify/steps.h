// Differences that are roundings, made large by a quantizer: a value that lies on the border of two steps goes to the
// one or to the other.
#pragma once

#include <set>
#include <string>

#include "engine/verify/pairing.h"
#include "qrewrite/evaluator.h"
#include "qrewrite/verify.h"

namespace qrewrite {

struct OtherSteps {
  std::set<std::string>
      outputs;       // of the first model: those whose difference comes of nothing else
  std::string node;  // of the second model: the first one that makes other steps
};

// Looks at values inside of both models, on the worst sample of `report`. A difference comes of steps if it begins where
// - values are as near to each other as `limit_db`,
// - a node that is the same in both, also in its constants, makes integers of them that are at most 1 apart.
// A value that is further apart for another reason, or that has no counterpart to tell by, counts against the outputs it
// goes into. Memory: a few dozen values of each model at a time. Errors: those of the evaluator.
Result<OtherSteps> FindOtherSteps(const Model& a, const Model& b, Evaluator& evaluator,
                                  const Pairing& pairs, const VerifyReport& report,
                                  double limit_db);

// The same way: outputs whose difference comes of a node that reads the same numbers in both models and has other constants or
// attributes, and makes less than `limit_db` of that. Of models of the same operators: what a rewrite merged is in
// other constants rightly. `node` is the first such.
Result<OtherSteps> FindChange(const Model& a, const Model& b, Evaluator& evaluator,
                              const Pairing& pairs, const VerifyReport& report, double limit_db);

}  // namespace qrewrite
