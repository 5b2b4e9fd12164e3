// What a rule that fired promises.
#pragma once

#include "qrewrite/rewrite.h"
#include "qrewrite/verify.h"

namespace qrewrite::cli {

// `fired` of `run`, as a tolerance of the whole model's results.
inline Tolerance PromiseOf(const Rules& rules, const Report& run, const RuleReport& fired) {
  Report alone;
  alone.rules = {fired};
  alone.units = run.units;
  return ToleranceOf(rules, alone);
}

}  // namespace qrewrite::cli
