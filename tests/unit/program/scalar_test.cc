// Scalars without a tensor give what arith.h gives, or leave it to arith.h.
#include "engine/program/scalar.h"

#include <cmath>
#include <limits>

#include <doctest/doctest.h>
#include <fmt/format.h>

namespace qrewrite {
namespace {

struct Op {
  BinaryOp op;
  BinOp of_arith;
};
constexpr Op kArithmetic[] = {
    {BinaryOp::kAdd, BinOp::kAdd}, {BinaryOp::kSub, BinOp::kSub},
    {BinaryOp::kMul, BinOp::kMul}, {BinaryOp::kDiv, BinOp::kDiv},
    {BinaryOp::kMod, BinOp::kMod}, {BinaryOp::kFloorDiv, BinOp::kFloorDiv},
    {BinaryOp::kPow, BinOp::kPow},
};
constexpr Op kComparisons[] = {
    {BinaryOp::kEq, BinOp::kEqual},   {BinaryOp::kNe, BinOp::kNotEqual},
    {BinaryOp::kLt, BinOp::kLess},    {BinaryOp::kLe, BinOp::kLessEqual},
    {BinaryOp::kGt, BinOp::kGreater}, {BinaryOp::kGe, BinOp::kGreaterEqual},
};

std::vector<Val> Numbers() {
  std::vector<Val> numbers;
  const int64_t exact = int64_t{1} << 53;
  for (const int64_t i : {int64_t{0}, int64_t{1}, int64_t{-1}, int64_t{2}, int64_t{-3}, int64_t{7},
                          exact - 1, exact, exact + 1, -exact, -exact - 1, int64_t{1} << 62,
                          INT64_MAX, INT64_MAX - 1, INT64_MIN, INT64_MIN + 1}) {
    numbers.push_back(Val::Int(i));
  }
  const double inf = std::numeric_limits<double>::infinity();
  for (const double d : {0.0, -0.0, 1.0, -1.5, 0.1, 7.0, 1e300, -1e300, 0x1p53, 0x1p53 + 2, 0x1p63,
                         5e-324, inf, -inf, std::nan("")}) {
    numbers.push_back(Val::Float(d));
  }
  return numbers;
}

std::string Text(const Num& n) {
  const std::string value = IsFloat(n.t.dtype()) ? fmt::format("{:a}", (*ToDoubles(n.t))[0])
                                                 : std::to_string((*ToInt64s(n.t))[0]);
  return value + (n.weak ? " weak" : "");
}

}  // namespace

TEST_CASE("ScalarArithmetic: the answer of arith.h, or none") {
  int answers = 0;
  for (const Val& a : Numbers()) {
    for (const Val& b : Numbers()) {
      for (const Op& op : kArithmetic) {
        const std::optional<Val> scalar = ScalarArithmetic(op.op, a, b);
        if (!scalar) continue;
        ++answers;
        const Result<Num> wanted = Apply(op.of_arith, a.number(), b.number());
        INFO(Text(a.number()), ", ", Text(b.number()), ", operator ", static_cast<int>(op.op));
        REQUIRE(wanted.ok());
        // The sign of a NaN says nothing.
        if (scalar->is<double>() && std::isnan(scalar->get<double>())) {
          CHECK(std::isnan((*ToDoubles(wanted->t))[0]));
          continue;
        }
        CHECK(Text(scalar->number()) == Text(*wanted));
      }
    }
  }
  CHECK(answers > 2000);
}

TEST_CASE("ScalarArithmetic: integers of everyday take no tensor") {
  const auto done = [](BinaryOp op) {
    return ScalarArithmetic(op, Val::Int(7), Val::Int(-3)).has_value();
  };
  for (const BinaryOp op :
       {BinaryOp::kAdd, BinaryOp::kSub, BinaryOp::kMul, BinaryOp::kMod, BinaryOp::kFloorDiv}) {
    CHECK(done(op));
  }
  CHECK_FALSE(done(BinaryOp::kDiv));  // an error of arith.h
  CHECK(ScalarArithmetic(BinaryOp::kDiv, Val::Float(1), Val::Int(4))->get<double>() == 0.25);
  CHECK_FALSE(ScalarArithmetic(BinaryOp::kAdd, Val::Int(INT64_MAX), Val::Int(1)));
  CHECK_FALSE(ScalarArithmetic(BinaryOp::kAdd, Val::Int(INT64_MAX), Val::Float(1)));
  CHECK_FALSE(ScalarArithmetic(BinaryOp::kAdd, Val(std::string("text")), Val::Int(1)));
  CHECK_FALSE(ScalarArithmetic(BinaryOp::kAdd, Val(), Val::Int(1)));
}

TEST_CASE("ScalarCompare: the answer of arith.h, or none") {
  int answers = 0;
  for (const Val& a : Numbers()) {
    for (const Val& b : Numbers()) {
      for (const Op& op : kComparisons) {
        const std::optional<bool> scalar = ScalarCompare(op.op, a, b);
        if (!scalar) continue;
        ++answers;
        const Result<Num> wanted = Apply(op.of_arith, a.number(), b.number());
        INFO(Text(a.number()), ", ", Text(b.number()), ", operator ", static_cast<int>(op.op));
        REQUIRE(wanted.ok());
        CHECK(*scalar == ((*ToInt64s(wanted->t))[0] != 0));
      }
    }
  }
  CHECK(answers > 3000);
}

TEST_CASE(
    "ScalarCompare: short lists of integers are equal as wholes, and compared with one member by "
    "member") {
  const auto ints = [](std::vector<int64_t> v) { return Val::OfInts(v); };
  CHECK(ScalarCompare(BinaryOp::kEq, ints({1, 2}), ints({1, 2})) == true);
  CHECK(ScalarCompare(BinaryOp::kEq, ints({1, 2}), ints({1, 3})) == false);
  CHECK(ScalarCompare(BinaryOp::kEq, ints({1, 2}), ints({1, 2, 3})) == false);
  CHECK_FALSE(ScalarCompare(BinaryOp::kLt, ints({1, 2}), ints({1, 3})));
  CHECK(ScalarCompare(BinaryOp::kEq, ints({1, 1}), Val::Int(1)) == true);
  CHECK(ScalarCompare(BinaryOp::kEq, ints({1, 2}), Val::Int(1)) == false);
  CHECK(ScalarCompare(BinaryOp::kLt, Val::Int(1), ints({2, 3})) == true);
  CHECK(ScalarCompare(BinaryOp::kLt, Val::Int(2), ints({2, 3})) == false);
  CHECK(ScalarCompare(BinaryOp::kEq, ints({}), Val::Int(1)) == true);
}

}  // namespace qrewrite
