// Distances of floats in units in the last place.
#pragma once

#include "engine/tensor/dtype.h"

namespace qrewrite {

// How many numbers of the float type `dtype` lie between `a` and `b`, which are rounded to it, one of them counted. Both
// zeros are one number; infinity is behind the largest. NaN for a NaN, and for types that are none of DOUBLE, FLOAT,
// FLOAT16, BFLOAT16 and the FLOAT8 with a sign.
double UlpDistance(DType dtype, double a, double b);

}  // namespace qrewrite
