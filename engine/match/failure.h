// A fault of the library as a value of the language: no match, for this reason.
#pragma once

#include "engine/base/message.h"
#include "engine/program/val.h"

namespace qrewrite {

// `fault` is an error.
inline Failure FailureOf(const Status& fault) { return Failure{Message(fault)}; }

// What a comparison is that ended so: values that do not go together are not equal; where data cannot be read, or is too
// much, nothing is known.
inline Val Unequal(const Status& fault) {
  const bool of_data = fault.code() == StatusCode::kIo || fault.code() == StatusCode::kLimit;
  return of_data ? Val(FailureOf(fault)) : Val(false);
}

}  // namespace qrewrite
