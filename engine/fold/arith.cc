#include "engine/fold/arith.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "engine/fold/broadcast.h"
#include "engine/fold/cast.h"
#include "engine/fold/element.h"
#include "engine/fold/functions.h"

namespace qrewrite {
namespace {

using fold::Name;
using fold::Reason;

std::string_view Sign(BinOp op) {
  switch (op) {
    case BinOp::kAdd: return "+";
    case BinOp::kSub: return "-";
    case BinOp::kMul: return "*";
    case BinOp::kDiv: return "/";
    case BinOp::kFloorDiv: return "//";
    case BinOp::kMod: return "%";
    case BinOp::kPow: return "**";
    case BinOp::kMin: return "min";
    case BinOp::kMax: return "max";
    case BinOp::kEqual: return "==";
    case BinOp::kNotEqual: return "!=";
    case BinOp::kLess: return "<";
    case BinOp::kLessEqual: return "<=";
    case BinOp::kGreater: return ">";
    case BinOp::kGreaterEqual: return ">=";
  }
  return "?";
}

bool IsNumber(DType dtype) { return IsInteger(dtype) || IsFloat(dtype); }

// An operator of ONNX on operands of one type, at its newest version.
Result<Tensor> RunOperator(std::string_view op, const std::vector<Tensor>& inputs) {
  const Attributes none;
  QR_ASSIGN_OR_RETURN(
      const std::vector<Tensor> outputs,
      Fold(KernelRegistry::Builtin(),
           {.domain = "", .op = op, .since = 20, .inputs = inputs, .attributes = none}));
  return outputs[0];
}

// ---- integers

Status IntegerFailure(BinOp op, int64_t x, int64_t y) {
  if (y == 0 && (op == BinOp::kFloorDiv || op == BinOp::kMod)) {
    return Reason("{} {} {}: division by zero", x, Sign(op), y);
  }
  if (y < 0 && op == BinOp::kPow) return Reason("{} ** {}: a negative exponent of integers", x, y);
  return Reason("{} {} {} overflows INT64", x, Sign(op), y);
}

Result<Tensor> Integers(BinOp op, const Tensor& a, const Tensor& b) {
  if (op == BinOp::kDiv) return Reason("`/` of two integers; `//` is integer division");
  QR_ASSIGN_OR_RETURN(const Tensor x, CastExact(a, DType::kInt64));
  QR_ASSIGN_OR_RETURN(const Tensor y, CastExact(b, DType::kInt64));
  QR_ASSIGN_OR_RETURN(const Tensor left, x.Materialize());
  QR_ASSIGN_OR_RETURN(const Tensor right, y.Materialize());
  Status failure;
  QR_ASSIGN_OR_RETURN(Tensor result, (fold::BinaryLoop<int64_t, int64_t, int64_t>(
                                         left, right, DType::kInt64, [&](int64_t p, int64_t q) {
                                           int64_t out = 0;
                                           if (!IntegerOp(op, p, q, &out) && failure.ok()) {
                                             failure = IntegerFailure(op, p, q);
                                           }
                                           return out;
                                         })));
  if (!failure.ok()) return failure;
  return result;
}

// ---- floats

// Division with the remainder of Python: its sign is the divisor's.
double FloatMod(double x, double y) {
  const double r = std::fmod(x, y);
  return r != 0 && (r < 0) != (y < 0) ? r + y : r;
}

double FloatFloorDiv(double x, double y) {
  const double r = std::fmod(x, y);
  if (y == 0 || !std::isfinite(r)) return std::floor(x / y);
  // (x - r) / y is whole but for rounding.
  const double whole = std::nearbyint((x - r) / y);
  return r != 0 && (r < 0) != (y < 0) ? whole - 1 : whole;
}

Result<Tensor> ThroughDouble(const Tensor& a, const Tensor& b, double (*op)(double, double)) {
  const DType dtype = a.dtype();
  QR_ASSIGN_OR_RETURN(const Tensor x, fold::CastTensor(a, DType::kDouble));
  QR_ASSIGN_OR_RETURN(const Tensor y, fold::CastTensor(b, DType::kDouble));
  QR_ASSIGN_OR_RETURN(const Tensor left, x.Materialize());
  QR_ASSIGN_OR_RETURN(const Tensor right, y.Materialize());
  QR_ASSIGN_OR_RETURN(const Tensor wide,
                      (fold::BinaryLoop<double, double, double>(left, right, DType::kDouble, op)));
  return fold::CastTensor(wide, dtype);
}

// REQUIRES: one float type of at least 16 bits.
Result<Tensor> Floats(BinOp op, const Tensor& a, const Tensor& b) {
  switch (op) {
    case BinOp::kAdd: return RunOperator("Add", {a, b});
    case BinOp::kSub: return RunOperator("Sub", {a, b});
    case BinOp::kMul: return RunOperator("Mul", {a, b});
    case BinOp::kDiv: return RunOperator("Div", {a, b});
    case BinOp::kPow: return RunOperator("Pow", {a, b});
    case BinOp::kMin: return RunOperator("Min", {a, b});
    case BinOp::kMax: return RunOperator("Max", {a, b});
    case BinOp::kMod: return ThroughDouble(a, b, FloatMod);
    case BinOp::kFloorDiv: return ThroughDouble(a, b, FloatFloorDiv);
    default: break;
  }
  return Reason("{} of floats", Sign(op));
}

DType Wider(DType a, DType b) {
  if (a == DType::kDouble || b == DType::kDouble) return DType::kDouble;
  return a == b && Info(a).bits >= 16 ? a : DType::kFloat;
}

// The float type that two operands, at least one of them a float, are computed in.
DType CommonFloat(const Num& a, const Num& b) {
  const DType x = a.t.dtype();
  const DType y = b.t.dtype();
  if (a.weak && b.weak) return DType::kDouble;
  if (IsFloat(x) && IsFloat(y)) {
    if (a.weak) return Wider(y, y);
    if (b.weak) return Wider(x, x);
    return Wider(x, y);
  }
  const Num& floating = IsFloat(x) ? a : b;
  return floating.weak ? DType::kDouble : Wider(floating.t.dtype(), floating.t.dtype());
}

// ---- comparison

// Equal types: by the operators of ONNX. `b` holds for NotEqual: it is not Equal.
Result<Tensor> CompareSame(BinOp op, const Tensor& a, const Tensor& b) {
  switch (op) {
    case BinOp::kEqual: return RunOperator("Equal", {a, b});
    case BinOp::kLess: return RunOperator("Less", {a, b});
    case BinOp::kLessEqual: return RunOperator("LessOrEqual", {a, b});
    case BinOp::kGreater: return RunOperator("Greater", {a, b});
    case BinOp::kGreaterEqual: return RunOperator("GreaterOrEqual", {a, b});
    default: break;
  }
  QR_ASSIGN_OR_RETURN(const Tensor equal, RunOperator("Equal", {a, b}));
  return RunOperator("Not", {equal});
}

// One that holds every int64, every uint64 and every double.
using Exact = long double;
static_assert(std::numeric_limits<Exact>::digits >= 64);

Result<std::vector<Exact>> ExactValues(const Tensor& tensor) {
  QR_ASSIGN_OR_RETURN(const Tensor t, tensor.Materialize());
  if (t.dtype() == DType::kUint64) {
    const std::span<const uint64_t> values = t.as<uint64_t>();
    return std::vector<Exact>(values.begin(), values.end());
  }
  if (IsFloat(t.dtype())) {
    QR_ASSIGN_OR_RETURN(const std::vector<double> values, ToDoubles(t));
    return std::vector<Exact>(values.begin(), values.end());
  }
  QR_ASSIGN_OR_RETURN(const std::vector<int64_t> values, ToInt64s(t));
  return std::vector<Exact>(values.begin(), values.end());
}

bool Holds(BinOp op, Exact x, Exact y) {
  switch (op) {
    case BinOp::kEqual: return x == y;
    case BinOp::kNotEqual: return x != y;
    case BinOp::kLess: return x < y;
    case BinOp::kLessEqual: return x <= y;
    case BinOp::kGreater: return x > y;
    default: return x >= y;
  }
}

// `weak`: both are, and DOUBLE.
Result<Tensor> CompareValues(BinOp op, const Tensor& a, const Tensor& b, bool weak) {
  QR_ASSIGN_OR_RETURN(const fold::BroadcastLoop loop,
                      fold::BroadcastLoop::Make({&a.dims(), &b.dims()}));
  QR_ASSIGN_OR_RETURN(const std::vector<Exact> x, ExactValues(a));
  QR_ASSIGN_OR_RETURN(const std::vector<Exact> y, ExactValues(b));
  QR_ASSIGN_OR_RETURN(TensorBuffer buffer, TensorBuffer::Make(DType::kBool, loop.shape()));
  uint8_t* out = buffer.as<uint8_t>().data();
  loop.ForEachRow([&](const fold::BroadcastLoop::Row& row) {
    for (int64_t i = 0; i < loop.row_length(); ++i) {
      Exact p = x[static_cast<size_t>(row.in[0] + i * loop.step(0))];
      Exact q = y[static_cast<size_t>(row.in[1] + i * loop.step(1))];
      if (weak) {
        auto u = static_cast<double>(p), v = static_cast<double>(q);
        NearestFloats(op, u, v);
        p = u, q = v;
      }
      out[row.out + i] = Holds(op, p, q);
    }
  });
  return std::move(buffer).Finish();
}

// A weak operand in the type of its partner, if it has such a value. A float literal beside a float
// tensor means the tensor's nearest value.
Tensor Adapted(const Num& x, const Num& partner) {
  if (!x.weak || partner.weak || x.t.dtype() == partner.t.dtype()) return x.t;
  const Result<Tensor> cast = CastExact(x.t, partner.t.dtype());
  return cast.ok() ? *cast : x.t;
}

bool HasOperators(DType dtype) {
  return dtype == DType::kBool || (IsInteger(dtype) && Info(dtype).bits >= 8) ||
         (IsFloat(dtype) && Info(dtype).bits >= 16);
}

Result<Tensor> Compare(BinOp op, const Num& a, const Num& b) {
  const Tensor x = Adapted(a, b);
  const Tensor y = Adapted(b, a);
  const bool weak = a.weak && b.weak && x.dtype() == DType::kDouble && y.dtype() == DType::kDouble;
  if (!weak && x.dtype() == y.dtype() && HasOperators(x.dtype())) return CompareSame(op, x, y);
  return CompareValues(op, x, y, weak);
}

// Weak operands are int64 and double, whatever their maker stored.
Result<Num> Normalized(const Num& x) {
  if (!x.weak || !IsNumber(x.t.dtype())) return x;
  QR_ASSIGN_OR_RETURN(Tensor t,
                      CastExact(x.t, IsFloat(x.t.dtype()) ? DType::kDouble : DType::kInt64));
  return Num{std::move(t), true};
}

}  // namespace

Result<Num> Apply(BinOp op, const Num& left, const Num& right) {
  if (std::optional<Num> result = ApplyToElements(op, left, right)) return *std::move(result);
  QR_ASSIGN_OR_RETURN(const Num a, Normalized(left));
  QR_ASSIGN_OR_RETURN(const Num b, Normalized(right));
  const DType x = a.t.dtype();
  const DType y = b.t.dtype();
  QR_RETURN_IF_ERROR(fold::CheckInput(a.t));
  QR_RETURN_IF_ERROR(fold::CheckInput(b.t));
  if (IsComparison(op) && x == DType::kString && y == DType::kString &&
      (op == BinOp::kEqual || op == BinOp::kNotEqual)) {
    QR_ASSIGN_OR_RETURN(Tensor t, CompareSame(op, a.t, b.t));
    return Num{std::move(t), false};
  }
  const auto fits = [op](DType d) {
    return IsNumber(d) || (IsComparison(op) && d == DType::kBool);
  };
  if (!fits(x) || !fits(y)) return Reason("{} {} {}", Name(x), Sign(op), Name(y));
  if (IsComparison(op)) {
    QR_ASSIGN_OR_RETURN(Tensor t, Compare(op, a, b));
    return Num{std::move(t), false};
  }
  const bool weak = a.weak && b.weak;
  if (IsInteger(x) && IsInteger(y)) {
    QR_ASSIGN_OR_RETURN(Tensor t, Integers(op, a.t, b.t));
    return Num{std::move(t), weak};
  }
  const DType common = CommonFloat(a, b);
  QR_ASSIGN_OR_RETURN(const Tensor p, CastExact(a.t, common));
  QR_ASSIGN_OR_RETURN(const Tensor q, CastExact(b.t, common));
  QR_ASSIGN_OR_RETURN(Tensor t, Floats(op, p, q));
  return Num{std::move(t), weak};
}

Result<Num> Clamp(const Num& x, const Num* lo, const Num* hi) {
  Num result = x;
  if (lo != nullptr) {
    QR_ASSIGN_OR_RETURN(result, Apply(BinOp::kMax, result, *lo));
  }
  if (hi != nullptr) {
    QR_ASSIGN_OR_RETURN(result, Apply(BinOp::kMin, result, *hi));
  }
  return result;
}

}  // namespace qrewrite
