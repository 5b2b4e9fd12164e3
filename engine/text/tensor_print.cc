// Tensors as typed literals.
#include <cmath>
#include <cstdlib>

#include "engine/base/real.h"
#include "engine/expr/names.h"
#include "engine/text/tensor_text.h"

namespace qrewrite {
namespace {

ExprPtr NewExpr(Expr::Kind kind) {
  auto expr = std::make_unique<Expr>();
  expr->kind = kind;
  return expr;
}

ExprPtr Float(double value) {
  ExprPtr expr = NewExpr(Expr::Kind::kFloat);
  expr->float_value = value;
  return expr;
}

// An element of a float tensor: the type is in front, so 1.0 may be written 1.
ExprPtr FloatElement(double value, DType dtype) {
  const bool integral = std::trunc(value) == value && std::abs(value) < 1e15;
  if (integral && !(value == 0 && std::signbit(value))) {
    return IntLiteral(static_cast<int64_t>(value));
  }
  return dtype == DType::kDouble ? Float(value) : FloatLiteral(static_cast<float>(value));
}

ExprPtr Uint64Element(uint64_t value) {
  ExprPtr expr = IntLiteral(static_cast<int64_t>(value));
  if (expr->int_value < 0) expr->text = std::to_string(value);
  return expr;
}

// One literal an element; nullopt if the content cannot be had.
std::optional<std::vector<ExprPtr>> ElementLiterals(const Tensor& tensor) {
  const Result<Tensor> at_hand = tensor.Materialize();
  if (!at_hand.ok()) return std::nullopt;
  std::vector<ExprPtr> out;
  const DType dtype = tensor.dtype();
  if (dtype == DType::kString) {
    for (const std::string& text : at_hand->strings()) {
      out.push_back(NewExpr(Expr::Kind::kString));
      out.back()->text = text;
    }
  } else if (dtype == DType::kUint64) {
    for (const uint64_t value : at_hand->as<uint64_t>()) out.push_back(Uint64Element(value));
  } else if (IsFloat(dtype)) {
    const Result<std::vector<double>> values = ToDoubles(*at_hand);
    if (!values.ok()) return std::nullopt;
    for (const double value : *values) out.push_back(FloatElement(value, dtype));
  } else {
    const Result<std::vector<int64_t>> values = ToInt64s(*at_hand);
    if (!values.ok()) return std::nullopt;
    for (const int64_t value : *values) {
      out.push_back(IntLiteral(value));
      if (dtype == DType::kBool) out.back()->kind = Expr::Kind::kBool;
    }
  }
  return out;
}

// The elements from `next` on, as nested lists of the shape dims[axis..].
ExprPtr Nested(std::vector<ExprPtr>& items, size_t& next, const Dims& dims, size_t axis) {
  if (axis == dims.size()) return std::move(items[next++]);
  ExprPtr list = NewExpr(Expr::Kind::kList);
  for (int64_t i = 0; i < dims[axis]; ++i) {
    list->items.push_back(Nested(items, next, dims, axis + 1));
  }
  return list;
}

constexpr size_t kMaxNestedRank = 16;  // beyond, the elements are one flat list

}  // namespace

ExprPtr IntLiteral(int64_t value) {
  ExprPtr expr = NewExpr(Expr::Kind::kInt);
  expr->int_value = value;
  return expr;
}

ExprPtr FloatLiteral(float value) {
  // The double whose shortest text is the shortest of the float: 0.1, not 0.10000000149011612.
  if (!std::isfinite(value)) return Float(static_cast<double>(value));
  return Float(RealOf(FloatText(value)));
}

ExprPtr TypedLiteral(const Tensor& tensor, int64_t max_elements) {
  ExprPtr typed = NewExpr(Expr::Kind::kTyped);
  typed->dtype = tensor.dtype();
  typed->mutable_details().dims = tensor.dims();
  typed->mutable_details().has_dims = tensor.rank() > 0;
  std::optional<std::vector<ExprPtr>> items;
  if (tensor.size() <= max_elements && Info(tensor.dtype()).kind != DTypeKind::kComplex) {
    items = ElementLiterals(tensor);
  }
  if (!items) {
    typed->text = "...";
  } else if (tensor.size() == 0 || tensor.dims().size() > kMaxNestedRank) {
    ExprPtr flat = NewExpr(Expr::Kind::kList);
    flat->items = std::move(*items);
    typed->items.push_back(std::move(flat));
  } else {
    size_t next = 0;
    typed->items.push_back(Nested(*items, next, tensor.dims(), 0));
  }
  return typed;
}

}  // namespace qrewrite
