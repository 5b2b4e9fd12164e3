#include "engine/fold/arith.h"

#include <cmath>
#include <limits>

#include <doctest/doctest.h>

namespace qrewrite {
namespace {

Num I(int64_t v, DType dtype = DType::kInt64) {
  return {*FromInt64s(dtype, {}, std::span(&v, 1)), false};
}
Num F(double v, DType dtype = DType::kFloat) {
  return {*FromDoubles(dtype, {}, std::span(&v, 1)), false};
}
Num Weak(int64_t v) { return {Tensor::Int64Scalar(v), true}; }
Num N(Tensor t) { return {std::move(t), false}; }
Num WeakF(double v) { return {Tensor::DoubleScalar(v), true}; }

struct Row {
  BinOp op;
  Num a, b;
  double value;
  DType dtype;
  bool weak = false;
};

TEST_CASE("Apply: values, types and weakness") {
  const std::vector<Row> rows = {
      {BinOp::kAdd, I(3, DType::kInt8), I(127, DType::kInt8), 130, DType::kInt64},
      {BinOp::kSub, I(3, DType::kUint8), I(5, DType::kUint8), -2, DType::kInt64},
      {BinOp::kFloorDiv, I(-7), I(2), -4, DType::kInt64},
      {BinOp::kFloorDiv, I(7), I(-2), -4, DType::kInt64},
      {BinOp::kMod, I(-7), I(3), 2, DType::kInt64},
      {BinOp::kMod, I(7), I(-3), -2, DType::kInt64},
      {BinOp::kMod, I(INT64_MIN), I(-1), 0, DType::kInt64},
      {BinOp::kPow, I(2), I(62), 0x1p62, DType::kInt64},
      {BinOp::kPow, I(-1), I(int64_t{1} << 40), 1, DType::kInt64},
      {BinOp::kPow, I(0), I(0), 1, DType::kInt64},
      {BinOp::kMin, I(3), I(-5), -5, DType::kInt64},
      {BinOp::kAdd, F(0.5), F(0.25), 0.75, DType::kFloat},
      {BinOp::kAdd, F(0.5), F(0.25, DType::kDouble), 0.75, DType::kDouble},
      {BinOp::kMul, F(0.5, DType::kFloat16), F(3), 1.5, DType::kFloat},
      {BinOp::kMul, F(0.5, DType::kFloat16), F(3, DType::kFloat16), 1.5, DType::kFloat16},
      {BinOp::kMul, F(0.5, DType::kFloat16), F(3, DType::kBfloat16), 1.5, DType::kFloat},
      {BinOp::kMul, F(2, DType::kFloat8E5M2), F(3, DType::kFloat8E5M2), 6, DType::kFloat},
      {BinOp::kDiv, F(1), F(4), 0.25, DType::kFloat},
      {BinOp::kDiv, I(1), F(4), 0.25, DType::kFloat},
      {BinOp::kPow, F(2), F(-1), 0.5, DType::kFloat},
      {BinOp::kMod, F(-7.5), F(2), 0.5, DType::kFloat},
      {BinOp::kFloorDiv, F(-7.5), F(2), -4, DType::kFloat},
      {BinOp::kFloorDiv, F(1, DType::kDouble), F(0.1, DType::kDouble), 9, DType::kDouble},
      {BinOp::kMax, F(1), Weak(2), 2, DType::kFloat},
      // weak operands
      {BinOp::kAdd, F(0.5, DType::kFloat16), Weak(1), 1.5, DType::kFloat16},
      {BinOp::kAdd, F(0.5, DType::kFloat16), WeakF(0.25), 0.75, DType::kFloat16},
      {BinOp::kAdd, I(1, DType::kInt8), Weak(1), 2, DType::kInt64},
      {BinOp::kMul, I(3, DType::kInt8), WeakF(0.5), 1.5, DType::kDouble},
      {BinOp::kPow, WeakF(2), I(3), 8, DType::kDouble},
      {BinOp::kAdd, Weak(1), Weak(2), 3, DType::kInt64, true},
      {BinOp::kDiv, Weak(1), WeakF(2), 0.5, DType::kDouble, true},
  };
  for (const Row& row : rows) {
    const Result<Num> y = Apply(row.op, row.a, row.b);
    REQUIRE_MESSAGE(y.ok(), y.status().message());
    CAPTURE(row.value);
    CHECK((*ToDoubles(y->t))[0] == row.value);
    CHECK(y->t.dtype() == row.dtype);
    CHECK(y->weak == row.weak);
  }
}

TEST_CASE("Apply: a float literal is rounded to its partner") {
  const Num y = *Apply(BinOp::kMul, F(1), WeakF(0.1));
  CHECK((*ToDoubles(y.t))[0] == static_cast<double>(0.1f));
  CHECK((*ToInt64s(Apply(BinOp::kEqual, F(0.1), WeakF(0.1))->t))[0] == 1);
  CHECK((*ToInt64s(Apply(BinOp::kEqual, F(0.1), F(0.1, DType::kDouble))->t))[0] == 0);
}

TEST_CASE("Apply: what cannot be computed says why") {
  struct Failure {
    BinOp op;
    Num a, b;
    std::string reason;
  };
  const std::vector<Failure> rows = {
      {BinOp::kAdd, I(INT64_MAX), I(1), "9223372036854775807 + 1 overflows INT64"},
      {BinOp::kMul, I(int64_t{1} << 40), I(int64_t{1} << 40),
       "1099511627776 * 1099511627776 overflows INT64"},
      {BinOp::kPow, I(2), I(63), "2 ** 63 overflows INT64"},
      {BinOp::kPow, I(2), I(-1), "2 ** -1: a negative exponent of integers"},
      {BinOp::kFloorDiv, I(INT64_MIN), I(-1), "-9223372036854775808 // -1 overflows INT64"},
      {BinOp::kFloorDiv, I(1), I(0), "1 // 0: division by zero"},
      {BinOp::kMod, I(1), I(0), "1 % 0: division by zero"},
      {BinOp::kDiv, I(1), I(2), "`/` of two integers; `//` is integer division"},
      {BinOp::kAdd, I(16777217), F(1), "16777217 is not a value of type FLOAT"},
      {BinOp::kAdd, Weak(16777217), F(1), "16777217 is not a value of type FLOAT"},
      {BinOp::kAdd, N(Tensor::Bool(true)), I(1), "BOOL + INT64"},
      {BinOp::kAdd, N(Tensor::Strings({}, {"a"})), I(1), "STRING + INT64"},
      {BinOp::kAdd, N(Tensor::Int64s({1, 2})), N(Tensor::Int64s({1, 2, 3})),
       "shapes [2] and [3] do not broadcast"},
  };
  for (const Failure& row : rows) {
    const Result<Num> y = Apply(row.op, row.a, row.b);
    CAPTURE(row.reason);
    REQUIRE(!y.ok());
    CHECK(y.status().message() == "error: " + row.reason);
  }
}

TEST_CASE("Apply: comparison is by value, whatever the types") {
  const auto holds = [](BinOp op, const Num& a, const Num& b) {
    const Result<Num> y = Apply(op, a, b);
    REQUIRE_MESSAGE(y.ok(), y.status().message());
    CHECK(y->t.dtype() == DType::kBool);
    return (*ToInt64s(y->t))[0] != 0;
  };
  const int64_t odd = (int64_t{1} << 53) + 1;
  CHECK(holds(BinOp::kEqual, I(3, DType::kUint8), I(3)));
  CHECK(holds(BinOp::kNotEqual, I(odd), F(0x1p53, DType::kDouble)));
  CHECK(holds(BinOp::kGreater, I(odd), F(0x1p53, DType::kDouble)));
  CHECK(holds(BinOp::kLess, I(odd), WeakF(1e30)));
  CHECK(holds(BinOp::kLess, I(-1, DType::kInt8), Weak(1000)));
  CHECK(holds(BinOp::kGreaterEqual, I(1, DType::kUint4), Weak(1)));
  CHECK(holds(BinOp::kLessEqual, F(1e38), WeakF(1e300)));
  CHECK(holds(BinOp::kEqual, N(Tensor::Bool(true)), {Tensor::Bool(true), true}));
  CHECK(holds(BinOp::kEqual, F(2, DType::kFloat16), Weak(2)));
  const double nan = std::numeric_limits<double>::quiet_NaN();
  CHECK(!holds(BinOp::kEqual, F(nan), F(nan)));
  CHECK(holds(BinOp::kNotEqual, F(nan), F(nan)));
  CHECK(!holds(BinOp::kLessEqual, F(nan), Weak(1)));
  const uint64_t top = UINT64_MAX;
  const Num huge{Tensor::Of<uint64_t>(DType::kUint64, {}, std::span(&top, 1)), false};
  CHECK(holds(BinOp::kGreater, huge, I(-1)));
  const Num list = N(Tensor::Int64s({1, 2, 3}));
  CHECK(*ToInt64s(Apply(BinOp::kGreater, list, WeakF(1.5))->t) == std::vector<int64_t>{0, 1, 1});
}

TEST_CASE("Clamp: each bound may be absent; the type stays") {
  const Num lo = Weak(-1);
  const Num hi = WeakF(0.5);
  CHECK((*ToDoubles(Clamp(F(7), &lo, &hi)->t))[0] == 0.5);
  CHECK((*ToDoubles(Clamp(F(7), &lo, nullptr)->t))[0] == 7);
  CHECK(Clamp(F(-7), &lo, &hi)->t.dtype() == DType::kFloat);
}

TEST_CASE("Apply: large float results are lazy") {
  const std::vector<float> ones(1'000'000, 1.0f);
  const Num x{Tensor::Of<float>(DType::kFloat, {1'000'000}, ones), false};
  const Num y = *Apply(BinOp::kMul, x, Weak(3));
  CHECK(y.t.is_lazy());
  CHECK((*y.t.Materialize()).as<float>()[5] == 3);
}

}  // namespace
}  // namespace qrewrite
