// A number on its own computes as a tensor of two equal elements does, which goes through the
// kernels, or is left to them.
#include "engine/fold/element.h"

#include <cmath>
#include <limits>

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "engine/fold/functions.h"

namespace qrewrite {
namespace {

constexpr BinOp kOps[] = {BinOp::kAdd,       BinOp::kSub,     BinOp::kMul,         BinOp::kDiv,
                          BinOp::kFloorDiv,  BinOp::kMod,     BinOp::kPow,         BinOp::kMin,
                          BinOp::kMax,       BinOp::kEqual,   BinOp::kNotEqual,    BinOp::kLess,
                          BinOp::kLessEqual, BinOp::kGreater, BinOp::kGreaterEqual};
constexpr DType kTypes[] = {DType::kInt8,  DType::kInt16,     DType::kInt32,   DType::kInt64,
                            DType::kUint8, DType::kUint16,    DType::kUint32,  DType::kUint64,
                            DType::kFloat, DType::kDouble,    DType::kFloat16, DType::kBfloat16,
                            DType::kBool,  DType::kFloat8E5M2};

// Tensors of rank 1 that hold `value` once and twice, where the type has it.
struct Pair {
  Num one, two;
};

void AddPair(std::vector<Pair>& out, DType dtype, double value, bool weak) {
  const double twice[] = {value, value};
  const Result<Tensor> one = FromDoubles(dtype, {1}, std::span(twice).first(1));
  const Result<Tensor> two = FromDoubles(dtype, {2}, twice);
  if (one.ok() && two.ok()) out.push_back({{*one, weak}, {*two, weak}});
}

void AddPair(std::vector<Pair>& out, int64_t value, bool weak) {
  const int64_t twice[] = {value, value};
  out.push_back({{*FromInt64s(DType::kInt64, {1}, std::span(twice).first(1)), weak},
                 {*FromInt64s(DType::kInt64, {2}, twice), weak}});
}

std::vector<Pair> Numbers() {
  std::vector<Pair> numbers;
  const double inf = std::numeric_limits<double>::infinity();
  for (const DType dtype : kTypes) {
    for (const double d : {0.0, -0.0, 1.0, -1.0, 3.0, 127.0, 200.0, 0.1, -2.5, 16777217.0, 1e30,
                           1e300, inf, -inf, std::nan("")}) {
      AddPair(numbers, dtype, d, false);
      if (dtype == DType::kDouble) AddPair(numbers, dtype, d, true);
      if (dtype == DType::kFloat && std::isfinite(d)) AddPair(numbers, dtype, d, true);
    }
  }
  for (const int64_t i :
       {int64_t{0}, int64_t{-3}, int64_t{16777217}, (int64_t{1} << 53) + 1, INT64_MAX, INT64_MIN}) {
    AddPair(numbers, i, false);
    AddPair(numbers, i, true);
  }
  return numbers;
}

std::string Text(const Tensor& t) {
  std::string value;
  if (IsFloat(t.dtype())) {
    const double d = (*ToDoubles(t))[0];
    value = std::isnan(d) ? "nan" : fmt::format("{:a}", d);  // the sign of a NaN says nothing
  } else {
    value = std::to_string((*ToInt64s(t))[0]);
  }
  return fmt::format("{} {} rank {}", Info(t.dtype()).name, value, t.rank());
}

std::string Text(const Num& n) { return Text(n.t) + (n.weak ? " weak" : ""); }

TEST_CASE("ApplyToElements: the answer of the kernels, or none") {
  const std::vector<Pair> numbers = Numbers();
  int answers = 0;
  for (const Pair& a : numbers) {
    for (const Pair& b : numbers) {
      for (const BinOp op : kOps) {
        const std::optional<Num> result = ApplyToElements(op, a.one, b.one);
        if (!result) continue;
        ++answers;
        INFO(Text(a.one), ", ", Text(b.one), ", operator ", static_cast<int>(op));
        const Result<Num> wanted = Apply(op, a.two, b.two);
        REQUIRE(wanted.ok());
        CHECK(Text(*result) == Text(*wanted));
        CHECK(result->t.dims() == Dims{1});
        if (!IsComparison(op)) continue;
        const std::optional<bool> holds = CompareElements(op, *OnlyElement(a.one.t, a.one.weak),
                                                          *OnlyElement(b.one.t, b.one.weak));
        CHECK(holds == ((*ToInt64s(wanted->t))[0] != 0));
        if (!holds) continue;
        CHECK(CompareFew(op, a.two, b.two) == holds);
        CHECK(CompareFew(op, a.two, {b.one.t.Reshaped({}), b.one.weak}) == holds);
      }
    }
  }
  CHECK(answers > 100'000);
}

TEST_CASE("ApplyToElements: the longer shape wins") {
  const Num scalar{Tensor::FloatScalar(2), false}, deep{scalar.t.Reshaped({1, 1, 1}), false};
  CHECK(ApplyToElements(BinOp::kMul, scalar, deep)->t.dims() == Dims{1, 1, 1});
  CHECK(ApplyToElements(BinOp::kLess, deep, scalar)->t.dims() == Dims{1, 1, 1});
}

TEST_CASE("CompareFew: all elements, of equal shapes or beside one number") {
  const Num low{Tensor::Int64s({1, 2, 3}), false}, high{Tensor::Int64s({2, 2, 4}), false};
  const Num two{Tensor::Int64Scalar(2), false}, none{Tensor::Int64s({}), false};
  CHECK(CompareFew(BinOp::kLessEqual, low, high) == true);
  CHECK(CompareFew(BinOp::kLess, low, high) == false);
  CHECK(CompareFew(BinOp::kGreaterEqual, high, two) == true);
  CHECK(CompareFew(BinOp::kGreaterEqual, two, high) == false);
  CHECK_FALSE(CompareFew(BinOp::kEqual, none, two).has_value());
  CHECK_FALSE(CompareFew(BinOp::kEqual, low, {low.t.Reshaped({1, 3}), false}).has_value());
}

TEST_CASE("CastElement: the answer of CastExact for two elements, or none") {
  int answers = 0;
  for (const Pair& x : Numbers()) {
    for (const DType to : kTypes) {
      if (to == x.one.t.dtype()) continue;
      const std::optional<Tensor> cast = CastElement(x.one.t, to);
      if (!cast) continue;
      ++answers;
      INFO(Text(x.one), " to ", Info(to).name);
      const Result<Tensor> wanted = CastExact(x.two.t, to);
      REQUIRE(wanted.ok());
      CHECK(Text(*cast) == Text(*wanted));
    }
  }
  CHECK(answers > 500);
}

TEST_CASE("OnlyElement: none of several, of nothing, of texts, bools and what int64 cannot hold") {
  CHECK_FALSE(OnlyElement(Tensor::Int64s({1, 2}), false));
  CHECK_FALSE(OnlyElement(Tensor::Int64s({}), false));
  CHECK_FALSE(OnlyElement(Tensor::Strings({1}, {"a"}), false));
  CHECK_FALSE(OnlyElement(Tensor::Bool(true), false));
  const uint64_t large = UINT64_MAX;
  CHECK_FALSE(OnlyElement(Tensor::Of<uint64_t>(DType::kUint64, {1}, std::span(&large, 1)), false));
}

TEST_CASE("ElementAt: of a vector, within it") {
  const Tensor t = Tensor::Int64s({5, 6, 7});
  CHECK(Text(*ElementAt(t, 2)) == "INT64 7 rank 0");
  CHECK_FALSE(ElementAt(t, 3));
  CHECK_FALSE(ElementAt(t, -1));
  CHECK_FALSE(ElementAt(t.Reshaped({3, 1}), 0));
}

}  // namespace
}  // namespace qrewrite
