// Faults that Prove() had missed in rules that promise less than 45 dB, which is about data that quantizers were made for, and
// what it had blamed for no fault.
#include <doctest/doctest.h>

#include <string>

#include "tests/unit/prove/proof.h"

namespace qrewrite {
namespace {

using Outcome = ProvenRule::Outcome;

TEST_CASE("Data that stays within a step of a quantizer is none that it was made for") {
  const std::string text = R"yaml(rules:
  - name: pair
    doc: a quantizer and what undoes it
    equivalence: approx(8dB)
    match: y = DequantizeLinear(QuantizeLinear(x, 0.5), 0.5)
    replace: y = Clip(x, 0.0, 127.5)
    tests:
      - {name: a mean, given: "x: float[6, 4, 4]\ny = DequantizeLinear(QuantizeLinear(ReduceMean(Clip(x, -5.0, 5.0)), 0.5), 0.5)", expect: "x: float[6, 4, 4]\ny = Clip(ReduceMean(Clip(x, -5.0, 5.0)), 0.0, 127.5)"}
      - {name: data, given: "x: float[8]\ny = DequantizeLinear(QuantizeLinear(x, 0.5), 0.5)", expect: "x: float[8]\ny = Clip(x, 0.0, 127.5)"}
)yaml";
  CHECK(OutcomeOf(text, 200) == Outcome::kHeld);
  CHECK(OutcomeOf(Replaced(text, "replace: y = Clip(x", "replace: y = Clip(Neg(x)"), 200) ==
        Outcome::kRefuted);
}

TEST_CASE("Data beside a step of run time that is made of something else has no size of its own") {
  const std::string text = R"yaml(rules:
  - name: spelled
    doc: a quantizer and what undoes it
    equivalence: approx(6dB)
    match: y = Mul(Clip(Round(Div(x, s)), lo, hi), s)
    where: not const(x) and lo <= -100 and hi >= 100 and shape(y) == shape(x)
    replace: y = x
    tests:
      - {name: a step of another input, given: "x: float[1]\nw: float[1]\ns = Div(w, 100.0)\ny = Mul(Clip(Round(Div(x, s)), -100.0, 100.0), s)", expect: "x: float[1]\nw: float[1]\ny = Identity(x)"}
      - {name: a step of its range, given: "x: float[4]\nw: float[4]\ns = Div(ReduceMax(Abs(w)), 100.0)\ny = Mul(Clip(Round(Div(x, s)), -100.0, 100.0), s)", expect: "x: float[4]\nw: float[4]\ny = Identity(x)"}
)yaml";
  CHECK(OutcomeOf(text, 100) == Outcome::kHeld);
  CHECK(OutcomeOf(Replaced(text, "replace: y = x", "replace: y = Mul(x, 2.0)"), 100) ==
        Outcome::kRefuted);
}

TEST_CASE(
    "A test of another rule that the promise does not fit is left out, also if it breaks at its "
    "outputs alone") {
  const std::string text = R"yaml(rules:
  - name: spelled
    doc: a quantizer and what undoes it
    equivalence: approx(6dB)
    match: y = Mul(Clip(Round(Div(x, s)), lo, hi), s)
    where: not const(x) and lo <= -100 and hi >= 60 and shape(y) == shape(x)
    replace: y = x
    tests:
      - {name: a step, given: "x: float[8]\ny = Mul(Clip(Round(Div(x, 0.5)), -100.0, 100.0), 0.5)", expect: "x: float[8]\ny = Identity(x)"}
  - name: twice
    doc: one is enough
    equivalence: exact
    match: y = Relu(Relu(x))
    replace: y = Relu(x)
    tests:
      - {name: a bound that no data fits, given: "x: float[4, 8]\ns = Div(ReduceMax(Abs(x), int64[1] [1]), 127.0)\ny = Relu(Mul(Clip(Round(Div(x, s)), -128.0, 64.0), s))", expect: unchanged}
)yaml";
  for (const uint64_t seed : {15, 16, 41, 51}) CHECK(OutcomeOf(text, 200, seed) == Outcome::kHeld);
  CHECK(OutcomeOf(Replaced(text, "replace: y = x\n", "replace: y = Mul(x, 2.0)\n"), 200) ==
        Outcome::kRefuted);
}

TEST_CASE("Data fits quantizers that are spelled out in any way") {
  const std::string text = R"yaml(rules:
  - name: spelled
    doc: a quantizer and what undoes it; 0 is near to its lower bound
    equivalence: approx(6dB)
    match: y = Mul(Sub(Clip(Add(Round(Div(x, s)), z), lo, hi), z), s)
    where: const(s) and s > 0 and hi - z >= 100 and z - lo >= 3
    replace: y = x
    tests:
      - {name: rounded first, given: "x: float[4]\ny = Mul(Sub(Clip(Add(Round(Div(x, 0.5)), 3.0), 0.0, 300.0), 3.0), 0.5)", expect: "x: float[4]\ny = Identity(x)"}
)yaml";
  for (const uint64_t seed : {0, 1}) CHECK(OutcomeOf(text, 100, seed) == Outcome::kHeld);
  CHECK(OutcomeOf(Replaced(text, "replace: y = x", "replace: y = Mul(x, 1.5)"), 100) ==
        Outcome::kRefuted);
  // A zero point that is another one: a step of 300.
  CHECK(OutcomeOf(Replaced(text, "replace: y = x", "replace: y = Add(x, s)"), 100) ==
        Outcome::kRefuted);
}

TEST_CASE("Data added behind a quantizer does not say what data that was made for") {
  const std::string text = R"yaml(rules:
  - name: once
    doc: what is cut off first is cut off at other numbers, but data that it was made for is not
    equivalence: approx(12dB)
    match: y = Div(Clip(Mul(x, k), -128.0, 127.0), d)
    where: not const(x) and k == 64 and d == 2
    replace: y = Clip(Mul(x, k / d), -128.0, 127.0)
    tests:
      - {name: behind it is other data, given: "x: int8[5, 5]\ny = Add(Div(Clip(Mul(Cast<to=FLOAT>(x), 64.0), -128.0, 127.0), 2.0), Cast<to=FLOAT>(x))", expect: "x: int8[5, 5]\ny = Add(Clip(Mul(Cast<to=FLOAT>(x), 32.0), -128.0, 127.0), Cast<to=FLOAT>(x))"}
      - {name: alone, given: "x: float[5, 5]\ny = Div(Clip(Mul(x, 64.0), -128.0, 127.0), 2.0)", expect: "x: float[5, 5]\ny = Clip(Mul(x, 32.0), -128.0, 127.0)"}
)yaml";
  CHECK(OutcomeOf(text, 20) == Outcome::kHeld);
  CHECK(OutcomeOf(Replaced(text, "k / d), -128.0, 127.0)", "k), -128.0, 127.0)"), 20) ==
        Outcome::kRefuted);
}

TEST_CASE("Of few decibels the numbers of tests are not the only ones") {
  const std::string text = R"yaml(rules:
  - name: levels
    doc: data that its quantizer was made for is not cut off
    equivalence: approx(20dB)
    match: y = Mul(Clip(Round(Div(x, s)), -127.0, 127.0), s2)
    where: const(s) and size(s) == 1 and s > 0 and near(s2, s, 1e-6) and rank(x) > 0
    replace: y = Mul(Round(Div(x, s)), s2)
    tests:
      - {name: a step, given: "x: float[4]\ny = Mul(Clip(Round(Div(x, 0.25)), -127.0, 127.0), 0.25)", expect: "x: float[4]\ny = Mul(Round(Div(x, 0.25)), 0.25)"}
)yaml";
  CHECK(OutcomeOf(text, 300) == Outcome::kHeld);
  const std::string replaced = "replace: y = Mul(Round(Div(x, s)), s2)";
  const auto planted = [&](const std::string& replace) {
    return OutcomeOf(Replaced(text, replaced, "replace: " + replace), 300);
  };
  CHECK(planted("y = Mul(Round(Div(x, s)), 0.25)") == Outcome::kRefuted);
  CHECK(planted("y = Mul(Round(Div(x, 0.25)), s2)") == Outcome::kRefuted);
  // On the edge of what a condition tolerates.
  const std::string wide = Replaced(text, "1e-6", "0.4");
  CHECK(OutcomeOf(wide, 300) == Outcome::kHeld);
  CHECK(OutcomeOf(Replaced(wide, replaced, "replace: y = Mul(Round(Div(x, s)), s)"), 300) ==
        Outcome::kRefuted);
}

}  // namespace
}  // namespace qrewrite
