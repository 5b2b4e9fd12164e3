// Constants as text and back: `float[2, 2] [[1, 2], [3, 4]]`, `uint8 0`, `zeros int64[4]`, `[1,
// -1]`.
#pragma once

#include <optional>
#include <vector>

#include "engine/base/diagnostics.h"
#include "engine/expr/ast.h"
#include "engine/tensor/tensor.h"

namespace qrewrite {

// --- tensor -> text

// A typed literal. Elided (`float[64, 3] ...`) if it has more than `max_elements`, if its content
// is not at hand without computing much, or if the type has no literals (complex numbers).
ExprPtr TypedLiteral(const Tensor& tensor, int64_t max_elements);
// Numbers as literals: what a float attribute or element is printed as.
ExprPtr IntLiteral(int64_t value);
ExprPtr FloatLiteral(float value);

// --- text -> tensor

// The numbers, strings or booleans of an untyped literal, row by row, with the shape that its
// brackets make.
struct Elements {
  Dims dims;
  std::vector<const Expr*> items;

  bool Any(Expr::Kind kind) const;
  // The type that a literal has if nothing else says: FLOAT, INT64, STRING or BOOL.
  DType NaturalType() const;
};
// Is it a number, string, boolean, element type, or a list of such?
bool IsUntypedLiteral(const Expr& expr);
// Nullopt after an error (uneven rows, or something that is no literal).
std::optional<Elements> ElementsOf(const Expr& literal, DiagnosticSink& sink);

// A typed literal (kTyped). An invalid tensor after an error.
Tensor TensorOfTyped(const Expr& typed, DiagnosticSink& sink);
// An untyped one as a tensor of the given type.
Tensor TensorOf(const Expr& literal, DType dtype, DiagnosticSink& sink);

}  // namespace qrewrite
