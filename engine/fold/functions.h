// Functions of the rule language that are no ONNX operators. Pure functions of constants; a large
// result is lazy where it cannot fail later.
#pragma once

#include <optional>
#include <string_view>

#include "engine/tensor/tensor.h"
#include "qrewrite/status.h"

namespace qrewrite {

// unpack(b, bits, 'high'?): unsigned integers of 1, 2, 4 or 8 bits from bytes, along the last axis,
// the low (or high) part of a byte first. The result is uint8, its last dimension 8 / bits times as
// long. Errors: not uint8, rank 0, another number of bits.
Result<Tensor> Unpack(const Tensor& bytes, int64_t bits, bool high_first = false);

// stretch(t, n, axis): each element n times along the axis (scales of blocks).
Result<Tensor> Stretch(const Tensor& tensor, int64_t n, int64_t axis);

// along(v, rank, axis): the 1-D (or scalar) v with dimensions of 1 around it, so that it broadcasts
// along `axis` of a tensor of that rank.
Result<Tensor> Along(const Tensor& vector, int64_t rank, int64_t axis);

// round(x, mode) with the modes of decimal arithmetic:
//   HALF_EVEN half to even, HALF_UP half away from zero, HALF_DOWN half towards zero, UP away from
//   zero, DOWN towards zero, CEIL, FLOOR
// Integers are themselves. Errors: an unknown mode, a type that is no number.
Result<Tensor> RoundMode(const Tensor& x, std::string_view mode);

// log2(x): elementwise; a float type stays, integers become double. Errors: no number.
Result<Tensor> Log2(const Tensor& x);

// cast(x, T): the same values in another type. Integers must be in range, a float made an integer
// must be one, an integer made a float must be exact there; a float made a narrower float is
// rounded to nearest even, and a finite one must stay finite; bool is 0 and 1. Errors name the
// value.
Result<Tensor> CastExact(const Tensor& x, DType dtype);

// near(a, b, rtol): |a - b| <= rtol * max(|a|, |b|) for all elements after broadcasting. Equal
// infinities are near each other, NaN is near nothing.
Result<bool> Near(const Tensor& a, const Tensor& b, double rtol);

// min(t), max(t): over all elements, a scalar of the same type. Errors: no elements, or NaN.
Result<Tensor> MinOf(const Tensor& tensor);
Result<Tensor> MaxOf(const Tensor& tensor);

// Whether every element of a bool tensor is true.
Result<bool> All(const Tensor& condition);

}  // namespace qrewrite
