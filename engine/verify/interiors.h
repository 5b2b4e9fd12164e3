// What two models compute inside, on the sample that shows their difference most.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "engine/verify/counterparts.h"
#include "qrewrite/evaluator.h"
#include "qrewrite/verify.h"

namespace qrewrite {

inline constexpr double kMostDb = 140;  // of the same numbers
inline constexpr double kLeastDropDb = 3;

struct Interiors {
  std::vector<std::string> names_a, names_b;  // of the values that are compared, in this order
  Tensors a, b;
};

// `values` are of the second model and have counterparts. Errors: those of the evaluator.
Result<Interiors> ComputeInteriors(const Model& a, const Model& b, Evaluator& evaluator,
                                   const Counterparts& pair, const std::vector<ValueId>& values,
                                   const VerifyReport& comparison);

// SQNR of what `b` computes; nullopt: it cannot be told. Another shape is a difference if it can be none that
// a rewrite gives to an interior value rightly: `by_shape()`.
std::optional<double> Distance(const Tensors& a, const std::string& name_a, const Tensors& b,
                               const std::string& name_b, const std::function<bool()>& by_shape);

}  // namespace qrewrite
