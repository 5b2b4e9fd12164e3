#include "engine/prove/calibrated.h"

#include <doctest/doctest.h>

#include <vector>

#include "tests/unit/prove/proof.h"

namespace qrewrite {
namespace {

// An output of several samples, each of this shape.
Spread Of(const std::vector<std::vector<double>>& samples) {
  Series series;
  for (const std::vector<double>& sample : samples) {
    series.dims.push_back({static_cast<int64_t>(sample.size())});
    series.samples.push_back(sample);
  }
  return SpreadOf(series);
}

TEST_CASE("Most of what is cut off lies at the ends of all numbers, at any size of the data") {
  const Spread ends = Of({{-8}, {7}, {7}, {-8}, {3}}), high = Of({{7}, {7}, {7}, {7}, {7}});
  CHECK(IsCutOff({ends, high}));
  CHECK_FALSE(IsSingle({ends, high}));
  CHECK(IsSingle({high, high}));
  // At one of the sizes they lie between.
  CHECK_FALSE(IsCutOff({ends, Of({{-2}, {1}, {7}, {0}, {3}})}));
  // Half of what a Relu makes is 0.
  CHECK_FALSE(IsCutOff({Of({{0, 1}, {0, 2}, {3, 0}, {15, 0}}), high}));
  // What is the same each time is no data: padding.
  CHECK_FALSE(IsCutOff({Of({{0, 0, 0, 0, 4}, {0, 0, 0, 0, 2}, {0, 0, 0, 0, 7}, {0, 0, 0, 0, 3}})}));
  CHECK(IsCutOff({Of({{0, 0, 0, 0, 7}, {0, 0, 0, 0, -7}, {0, 0, 0, 0, 7}, {0, 0, 0, 0, -7}})}));
  // Numbers of no quantizer.
  CHECK_FALSE(IsCutOff({Of({{0.1, -0.2, 0.3}, {0.7, 0.4, -0.5}, {0.6, 0.9, -0.1}})}));
}

TEST_CASE("A sum of many rounded numbers is rounded, though each of its inputs counts") {
  const std::string text = R"yaml(rules:
  - name: before-sums
    equivalence: approx(20dB)
    match: y = MatMul(x, w)
    where: is_input(x) and const(w)
    replace: y = MatMul(DequantizeLinear(QuantizeLinear(x, 1.0, cast(0, INT8)), 1.0, cast(0, INT8)), w)
    tests:
      - name: of thousands
        given: |
          x: float[2, 3000]
          y = MatMul(x, float[3000, 4] 3)
        expect: |
          x: float[2, 3000]
          y = MatMul(DequantizeLinear(QuantizeLinear(x, 1.0, int8 0), 1.0, int8 0), float[3000, 4] 3)
)yaml";
  CHECK(OutcomeOf(text, 20) == ProvenRule::Outcome::kHeld);
}

TEST_CASE("A quantizer that cuts off all data blames no rule, whatever the size of the data is") {
  using Outcome = ProvenRule::Outcome;
  const std::string text = R"yaml(rules:
  - name: pair
    doc: a quantizer and its dequantizer are nearly nothing
    equivalence: approx(8dB)
    match: y = DequantizeLinear(QuantizeLinear(x, s, z), s, z)
    replace: y = Identity(x)
    tests:
      - {name: a sum, given: "x: float[1]\ny = DequantizeLinear(QuantizeLinear(Add(x, Sigmoid(x)), 0.01, int4 0), 0.01, int4 0)", expect: unchanged}
)yaml";
  const auto outcome = [](const std::string& rules) {
    return Proof(rules, {.graphs = 1}).rules[0].outcome;
  };
  const auto with_step = [&](const std::string& step) {
    return Replaced(Replaced(text, "0.01, int4 0), 0.01", step + ", int4 0), 0.01"),
                    "0.01, int4 0)\"", step + ", int4 0)\"");
  };
  for (const char* const step : {"0.01", "0.02", "0.005"})
    CHECK(outcome(with_step(step)) == Outcome::kUnknown);
  // A step that fits shows a fault.
  const std::string fits = with_step("0.3");
  CHECK(outcome(fits) == Outcome::kHeld);
  CHECK(outcome(Replaced(fits, "Identity(x)", "Mul(x, cast(2, dtype(x)))")) == Outcome::kRefuted);
}

}  // namespace
}  // namespace qrewrite
