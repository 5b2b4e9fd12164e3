// Numbers as the integers that stand for them, and back (qrewrite/unit.h).
#pragma once

#include "engine/tensor/tensor.h"
#include "qrewrite/status.h"
#include "qrewrite/unit.h"

namespace qrewrite {

// As QuantizeLinear makes them. kUsage: the unit has other places along axis 1 than `numbers`.
Result<Tensor> ToIntegers(const Tensor& numbers, const Unit& unit, DType dtype);
// The numbers, in double precision.
Result<Tensor> FromIntegers(const Tensor& integers, const Unit& unit);
// "steps of 0.5 from 128", for people.
std::string Text(const Unit& unit);

}  // namespace qrewrite
