// Element: a number on its own. Most constants that rules compute with (scales, zero points, bounds
// of a Clip) have one element, and for one element a kernel is mostly overhead. These functions give
// exactly what arith.h and CastExact() give; where those would fail, or the types are rare, they
// answer nothing and the caller asks those.
#pragma once

#include <optional>

#include "engine/fold/arith.h"
#include "engine/tensor/tensor.h"

namespace qrewrite {

struct Element {
  DType dtype = DType::kUndefined;
  bool weak = false;  // see arith.h
  bool is_float = false;
  int64_t i = 0;  // of an integer type
  double d = 0;   // of a float type
};

// The only element of a tensor: of an integer type of 8 to 64 bits (UINT64: that INT64 holds) or a
// float type of 16 to 64 bits. Nothing of others, of lazy tensors, and of more or no elements.
std::optional<Element> OnlyElement(const Tensor& t, bool weak);

// `x op y`. False: the result is no INT64 (overflow, a division by zero, a negative exponent), or
// integers have no such operator.
bool IntegerOp(BinOp op, int64_t x, int64_t y, int64_t* out);
// The same in DOUBLE, of what needs no more than an instruction.
std::optional<double> FloatOp(BinOp op, double x, double y);

// Two weak floats before `op` compares them: one may be that of an attribute, and beside a float a literal means the
// nearest float. `<` and `>` are exact: a literal may be meant to lie next to the largest float.
void NearestFloats(BinOp op, double& x, double& y);

// `a op b`. REQUIRES: IsComparison(op).
bool CompareIntegers(BinOp op, int64_t a, int64_t b);
std::optional<bool> CompareElements(BinOp op, const Element& a, const Element& b);

// Whether `a op b` holds for all elements, of tensors of few elements that have the same shape, or
// of which one has rank 0. REQUIRES: IsComparison(op).
std::optional<bool> CompareFew(BinOp op, const Num& a, const Num& b);

// Apply() of tensors of one element.
std::optional<Num> ApplyToElements(BinOp op, const Num& a, const Num& b);

// Element number `index` (from 0) of a 1-D tensor, as a scalar of its type. Nothing of lazy tensors
// and of types that share bytes.
std::optional<Tensor> ElementAt(const Tensor& t, int64_t index);

// CastExact() of a tensor of one element.
std::optional<Tensor> CastElement(const Tensor& x, DType dtype);

}  // namespace qrewrite
