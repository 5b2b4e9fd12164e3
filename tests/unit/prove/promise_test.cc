// What the promises of rules allow: Keeps() on numbers.
#include "engine/prove/promise.h"
#include "engine/base/dice.h"
#include "engine/prove/systematic.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>
#include <string>
#include <vector>

#include "engine/api/constant.h"

namespace qrewrite {
namespace {

ConstTensor Plain(DType dtype, const std::vector<double>& values) {
  const Result<Tensor> t = FromDoubles(dtype, {static_cast<int64_t>(values.size())}, values);
  return *ToPlain(*t);
}

bool Kept(const std::string& promise, DType dtype, const std::vector<double>& a,
          const std::vector<double>& b) {
  Comparison comparison(Promise::Of(promise));
  return comparison.Add({{"y", Plain(dtype, a)}}, {{"y", Plain(dtype, b)}}) && comparison.Finish();
}

TEST_CASE("Integers that are one number in double precision are not equal") {
  constexpr int64_t kLarge = int64_t{1} << 60;
  const ConstTensor a = *ToPlain(Tensor::Int64s({kLarge, 1}));
  const ConstTensor b = *ToPlain(Tensor::Int64s({kLarge + 1, 1}));
  CHECK(Comparison(Promise::Of("exact")).Add({{"y", a}}, {{"y", a}}));
  CHECK_FALSE(Comparison(Promise::Of("exact")).Add({{"y", a}}, {{"y", b}}));
}

TEST_CASE("What the promises allow") {
  const double next = std::nextafter(1.0F, 2.0F), inf = std::numeric_limits<double>::infinity();
  CHECK(Kept("exact", DType::kFloat, {0, 1}, {-0.0, 1}));
  CHECK_FALSE(Kept("exact", DType::kFloat, {1}, {next}));
  CHECK(Kept("exact", DType::kFloat, {inf, 1}, {3, 1}));  // nothing is promised of infinity
  CHECK_FALSE(Kept("exact", DType::kFloat, {3, 1}, {inf, 1}));
  CHECK(Kept("ulp(1)", DType::kFloat, {1}, {next}));
  CHECK_FALSE(Kept("ulp(1)", DType::kFloat, {1}, {1.001}));
  CHECK(Kept("lsb(1)", DType::kInt8, {3, 4}, {4, 4}));
  CHECK_FALSE(Kept("lsb(1)", DType::kInt8, {3, 4}, {5, 4}));
  CHECK(Kept("lsb(1)", DType::kFloat, {0, 0.5, 1}, {0.5, 0.5, 1}));
  CHECK_FALSE(Kept("lsb(1)", DType::kFloat, {0, 0.5, 1}, {1, 0.5, 1}));
  CHECK(Kept("approx(40dB)", DType::kFloat, {1, 2}, {1.001, 2}));
  CHECK_FALSE(Kept("approx(40dB)", DType::kFloat, {1, 2}, {1.1, 2}));
  CHECK(Promise::Of("whatever").kind == Promise::Kind::kNone);
  // One number alone shows no step: its last digits.
  CHECK(Kept("lsb(1)", DType::kFloat, {3, 3}, {3.000001, 3}));
  CHECK_FALSE(Kept("lsb(1)", DType::kFloat, {3, 3}, {3.00001, 3}));
}

TEST_CASE("Integers of few steps may be rounded the other way where decibels are about data") {
  CHECK(Kept("approx(20dB)", DType::kInt8, {0, 1, -1, 2}, {1, 1, -1, 2}));
  CHECK_FALSE(Kept("approx(20dB)", DType::kInt8, {0, 1, -1, 2}, {2, 1, -1, 2}));
  CHECK_FALSE(Kept("approx(20dB)", DType::kFloat, {0, 1, -1, 2}, {1, 1, -1, 2}));
  CHECK_FALSE(Kept("approx(60dB)", DType::kInt8, {0, 1, -1, 2}, {1, 1, -1, 2}));
  Promise promise = Promise::Of("approx(20dB)");
  promise.any_type = true;  // integers that a rule set holds in floats
  std::string why;
  const std::vector<Tensors> before = {{{"y", Plain(DType::kFloat, {0, 1, -1, 2})}}};
  CHECK(Keeps(promise, before, {{{"y", Plain(DType::kFloat, {1, 1, -1, 2})}}}, why, nullptr));
  CHECK_FALSE(
      Keeps(promise, before, {{{"y", Plain(DType::kFloat, {1.5, 1, -1, 2})}}}, why, nullptr));
}

TEST_CASE("Numbers of float16 that are as near as its smallest do not differ") {
  Promise promise = Promise::Of("approx(40dB)");
  const auto kept = [&](const std::vector<double>& a, const std::vector<double>& b) {
    Comparison comparison(promise);
    return comparison.Add({{"y", Plain(DType::kFloat, a)}}, {{"y", Plain(DType::kFloat, b)}}) &&
           comparison.Finish();
  };
  CHECK_FALSE(kept({6e-8, 0}, {9e-8, 0}));
  promise.unseen = 0x1p-24;
  CHECK(kept({6e-8, 0}, {9e-8, 0}));
  CHECK_FALSE(kept({6e-8, 0}, {2e-7, 0}));
}

TEST_CASE("Whole floats of a network of any type: integers, or integers times a whole scale") {
  Promise promise = Promise::Of("lsb(1)");
  promise.any_type = true;
  const auto kept = [&](const std::vector<double>& a, const std::vector<double>& b) {
    std::string why;
    return Keeps(promise, {{{"y", Plain(DType::kFloat, a)}}}, {{{"y", Plain(DType::kFloat, b)}}},
                 why, nullptr);
  };
  CHECK(kept({3, 8, 20}, {4, 8, 19}));
  CHECK_FALSE(kept({3, 8, 20}, {3, 8, 22}));
  promise.whole_scales = {4, 8};
  CHECK(kept({4, 8, 20}, {4, 8, 16}));
  CHECK(kept({3, 8, 0}, {3, 8, 8}));  // 8 is the scale of one of them
  CHECK_FALSE(kept({4, 8, 20}, {4, 8, 12}));
  CHECK_FALSE(kept({3, 8, 20}, {3, 8, 22}));
  CHECK_FALSE(kept({3, 8, 0}, {3, 8, 8.5}));
}

TEST_CASE(
    "Integers that became floats may have a scale for each index, whatever the other sizes are") {
  Promise promise = Promise::Of("rescaled");
  promise.retyped = {"y"};
  const auto kept = [&](double last) {
    const auto tensor = [](std::vector<int64_t> dims, const std::vector<double>& values) {
      return Tensors{{"y", *ToPlain(*FromDoubles(DType::kFloat, std::move(dims), values))}};
    };
    std::string why;
    return Keeps(promise, {tensor({1, 2}, {3, 5}), tensor({2, 2}, {1, 2, 7, 11})},
                 {tensor({1, 2}, {6, 50}), tensor({2, 2}, {2, 20, 14, last})}, why, nullptr);
  };
  CHECK(kept(110));
  CHECK_FALSE(kept(150));
}

TEST_CASE("Whole numbers beyond those that a float holds are sums of floats") {
  const Promise promise = Promise::Of("rescaled");
  std::string why;
  const auto kept = [&](double a, double b) {
    return Keeps(promise, {{{"y", Plain(DType::kFloat, {a})}}},
                 {{{"y", Plain(DType::kFloat, {b})}}}, why, nullptr);
  };
  CHECK(kept(24000000, 24000016));
  CHECK(kept(24000, 24001));
  CHECK_FALSE(kept(24000, 24002));
}

TEST_CASE(
    "A single number on a tie is off by a step, if it is many steps of a scale in the graph") {
  const auto kept = [](std::set<double> scales, double a, double b) {
    Promise promise = Promise::Of("rescaled");
    promise.scales = std::move(scales);
    std::string why;
    return Keeps(promise, {{{"y", Plain(DType::kFloat, {a})}}},
                 {{{"y", Plain(DType::kFloat, {b})}}}, why, nullptr);
  };
  CHECK(kept({0.5, 56}, -85.5, -85));
  CHECK_FALSE(kept({0.5, 56}, -85.5, -84.5));
  CHECK_FALSE(kept({0.5, 56}, -85.5, -85.25));  // on no step
  CHECK_FALSE(kept({0.3}, -85.5, -85));
  CHECK_FALSE(kept({0.5}, -7.5, -7));  // of so few it may be chance
}

TEST_CASE("Several numbers of few bits are on a scale of the graph, and one is off by a step") {
  Promise promise = Promise::Of("rescaled");
  promise.scales = {0.3};
  const auto kept = [&](const std::vector<double>& a, const std::vector<double>& b) {
    std::string why;
    return Keeps(promise, {{{"y", Plain(DType::kFloat, a)}}}, {{{"y", Plain(DType::kFloat, b)}}},
                 why, nullptr);
  };
  CHECK(kept({-0.9, 3, 0.6, 4.5}, {-1.2, 3, 0.6, 4.5}));
  CHECK_FALSE(kept({-0.9, 3, 0.6, 4.5}, {-1.5, 3, 0.6, 4.5}));
  CHECK_FALSE(kept({-0.9, 3, 0.6, 4.5}, {-1.1, 3, 0.6, 4.5}));
  CHECK_FALSE(kept({-0.9, 0, 0, 4.5}, {-1.2, 0, 0, 4.5}));  // of two numbers it may be chance
}

TEST_CASE("Numbers that are cut off need not be on the step of those between") {
  Promise promise = Promise::Of("rescaled");
  promise.scales = {2};
  const auto kept = [&](double before, double after) {
    std::string why;
    const auto numbers = [](double last) {
      return std::vector<Tensors>{
          {{"y", Plain(DType::kFloat, {-128, -8, 6, 4, -2, 10, 12, -64, 30, 127, last})}}};
    };
    return Keeps(promise, numbers(before), numbers(after), why, nullptr);
  };
  CHECK(kept(40, 42));
  CHECK_FALSE(kept(40, 44));
  CHECK_FALSE(kept(41, 43));
}

TEST_CASE("Samples of few numbers are on a scale of the graph if all of them together are") {
  Promise promise = Promise::Of("rescaled");
  promise.scales = {0.3};
  const auto kept = [&](double before, double after) {
    std::string why;
    const auto samples = [](double last) {
      return std::vector<Tensors>{{{"y", Plain(DType::kFloat, {0.9, 0, 0, 4.5})}},
                                  {{"y", Plain(DType::kFloat, {-0.6, 0, 0, last})}}};
    };
    return Keeps(promise, samples(before), samples(after), why, nullptr);
  };
  CHECK(kept(-0.9, -1.2));
  CHECK_FALSE(kept(-0.9, -1.5));
  CHECK_FALSE(kept(-0.9, -1.1));
}

TEST_CASE("Floats have a step for each column where their numbers are on scales of the graph") {
  Promise promise = Promise::Of("lsb(1)");
  promise.scales = {1, 2};
  // Columns of steps 1 and 2 with a zero point between integers; `off`: how much one number of each column differs.
  const auto kept = [&](double first, double second) {
    const auto samples = [](double of_first, double of_second) {
      std::vector<Tensors> all;
      for (int k = 0; k < 4; ++k) {
        std::vector<double> numbers;
        for (int i = 0; i < 16; ++i) {
          const int q = 16 * k + i;
          numbers.push_back(q - 0.3 + (k == 1 && i == 2 ? of_first : 0));
          numbers.push_back(2 * (q % 32 - 0.3) + (k == 1 && i == 2 ? of_second : 0));
        }
        const Result<Tensor> t = FromDoubles(DType::kFloat, {16, 2}, numbers);
        all.push_back({{"y", *ToPlain(*t)}});
      }
      return all;
    };
    std::string why;
    return Keeps(promise, samples(0, 0), samples(first, second), why, nullptr);
  };
  CHECK(kept(0, 2));
  CHECK(kept(-1, -2));
  CHECK_FALSE(kept(2, 0));
  CHECK_FALSE(kept(0, 4));
  promise.scales = {1};  // 2 is no step of anything
  CHECK_FALSE(kept(0, 2));
}

TEST_CASE("Numbers of a wide quantizer are not all off by a step") {
  const auto kept = [](double off, double noise) {
    Dice dice(3);
    std::vector<double> before, after;
    for (int i = 0; i < 64; ++i) {
      const double x = dice.Uniform(10, 290);
      before.push_back(std::clamp(std::rint(x), 20.0, 280.0) / 2);  // cut off at the ends
      after.push_back((x + off + noise * dice.Uniform(-1, 1)) / 2);
    }
    return Kept("approx(6dB)", DType::kFloat, before, after);
  };
  CHECK(kept(0, 0));
  CHECK(kept(0.5, 0));  // a tie that always goes up
  CHECK(kept(1, 3));    // that is no rounding
  CHECK_FALSE(kept(1, 0));
  CHECK_FALSE(kept(-1, 0));
  CHECK_FALSE(kept(3, 0));
}

TEST_CASE("What chance explains of noise is nothing systematic, an offset is") {
  Dice dice(7);
  int blamed = 0;
  double most = 0;  // decibels of an offset
  for (int graph = 0; graph < 3000; ++graph) {
    Systematic noise, offset;
    for (int sample = 0; sample < 16; ++sample) {
      std::vector<double> before, rounded, moved;
      for (int i = 0; i < 8; ++i) {
        before.push_back(4 * dice.Normal());
        rounded.push_back(before.back() + dice.Uniform(-2, 2));
        moved.push_back(rounded.back() + 3);
      }
      noise.Add({8}, before, rounded);
      offset.Add({8}, before, moved);
    }
    blamed += noise.Decibels() < 16 ? 1 : 0;
    most = std::max(most, offset.Decibels());
  }
  CHECK(blamed == 0);
  CHECK(most < 16);
}

TEST_CASE("Whole numbers are off by a step, too, but not all of them in one direction") {
  Promise promise = Promise::Of("rescaled");
  promise.scales = {3};
  const auto kept = [&](const std::vector<double>& a, const std::vector<double>& b) {
    std::string why;
    return Keeps(promise, {{{"y", Plain(DType::kFloat, a)}}}, {{{"y", Plain(DType::kFloat, b)}}},
                 why, nullptr);
  };
  CHECK(kept({-138}, {-141}));
  CHECK_FALSE(kept({-138}, {-144}));
  std::vector<double> numbers, some, all;
  for (int i = 0; i < 20; ++i) {
    numbers.push_back(3 * i - 9);
    some.push_back(numbers.back() + 3 * (i % 2));
    all.push_back(numbers.back() + 3);
  }
  CHECK(kept(numbers, some));
  CHECK_FALSE(kept(numbers, all));
}

}  // namespace
}  // namespace qrewrite
