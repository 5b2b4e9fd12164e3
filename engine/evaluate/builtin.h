// The library's own kernels as an evaluator, for parts of the library that know what a host registered.
#pragma once

#include <memory>

#include "engine/fold/kernel.h"
#include "qrewrite/evaluator.h"

namespace qrewrite {

// As BuiltinKernels(), with the kernels among `registered` that a host gave for operators of its own.
std::unique_ptr<Evaluator> BuiltinKernelsWith(const KernelRegistry& registered);

}  // namespace qrewrite
