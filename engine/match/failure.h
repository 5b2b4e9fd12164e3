// A fault of the library as a value of the language: no match, for this reason.
#pragma once

#include "engine/base/message.h"
#include "engine/program/val.h"

namespace qrewrite {

// `fault` is an error.
inline Failure FailureOf(const Status& fault) { return Failure{Message(fault)}; }

}  // namespace qrewrite
