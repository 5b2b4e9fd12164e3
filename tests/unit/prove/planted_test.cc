// Faults that somebody planted in copies of shipped rules and that Prove() had missed, and what it had blamed for no
// fault.
#include <doctest/doctest.h>

#include <string>

#include "tests/unit/prove/proof.h"

namespace qrewrite {
namespace {

using Outcome = ProvenRule::Outcome;

Outcome OutcomeOf(const std::string& text, int graphs, uint64_t seed = 0) {
  return Proof(text, {.graphs = graphs, .seed = seed}).rules[0].outcome;
}

TEST_CASE(
    "Products beyond the largest FLOAT: the sample beyond far bounds reaches those of a Clip that "
    "has them") {
  const std::string text = R"yaml(rules:
  - name: no-bounds
    doc: bounds that are the limits of FLOAT
    equivalence: exact
    match: y = Clip(Mul(x, s), lo, hi)
    where: const(s) and Abs(s) <= 1 and dtype(x) == FLOAT and lo <= -3.4028234e38 and hi >= 3.4028234e38
    replace: y = Mul(x, s)
    tests:
      - {name: the limits, given: "x: float[4]\ny = Clip(Mul(x, 0.125), -3.4028235e38, 3.4028235e38)", expect: "x: float[4]\ny = Mul(x, 0.125)"}
      - {name: products beyond them, given: "x: float[4]\ny = Clip(Mul(x, -2.0), -3.4028235e38, 3.4028235e38)", expect: unchanged}
)yaml";
  for (const uint64_t seed : {0, 3}) {
    CHECK(OutcomeOf(text, 300, seed) == Outcome::kHeld);
    CHECK(OutcomeOf(Replaced(text, "Abs(s) <= 1 and ", ""), 300, seed) == Outcome::kRefuted);
  }
}

TEST_CASE(
    "An attribute that is a step stays equal to it while numbers change: none is a power of two by "
    "chance") {
  const std::string text = R"yaml(signatures:
  acme.Unscale: {inputs: [x], outputs: {y: {shape: shape(x), dtype: dtype(x)}}, attributes: {k: 1.0}, computes: "y = Div(x, cast(k, dtype(x)))"}
rules:
  - name: integers
    doc: a factor and its divisor go; they leave what they were rounded by
    equivalence: ulp(2)
    match: y = acme.Unscale<k>(DequantizeLinear(q, s, 0))
    where: const(s) and size(s) == 1 and dtype(q) == INT8 and k == s
    replace: y = Cast<to=FLOAT>(q)
    tests:
      - {name: halves, given: "q: int8[4]\ny = acme.Unscale<k=0.5>(DequantizeLinear(q, float 0.5, int8 0))", expect: "q: int8[4]\ny = Cast<to=FLOAT>(q)"}
)yaml";
  CHECK(OutcomeOf(text, 400) == Outcome::kHeld);
  CHECK(OutcomeOf(Replaced(text, "ulp(2)", "exact"), 400) == Outcome::kRefuted);
}

TEST_CASE("An operator in place of another is tried with sizes that both take") {
  CHECK(OutcomeOf(R"yaml(rules:
  - name: product
    doc: a product of elements is none of matrices
    equivalence: exact
    match: y = Relu(MatMul|Mul(a, b))
    where: const(b) and rank(a) == 2 and rank(b) == 2
    replace: y = Relu(MatMul(a, b))
    tests:
      - {name: matrices, given: "a: float[1, 4]\ny = Relu(MatMul(a, random(1) float[4, 3]))", expect: unchanged}
)yaml",
                  600) == Outcome::kRefuted);
}

TEST_CASE("Two lists of a node change at once, where each alone shows nothing") {
  const std::string text = R"yaml(rules:
  - name: wide
    doc: a second dimension of size 1
    equivalence: exact
    match: y = Conv<kernel_shape=_, pads, strides, group=1, dilations=1>(x, w)
    where: rank(x) == 3 and const(w) and known(size(x)) and known(size(y)) and size(x) > 0
    let: {wide: "Unsqueeze(w, [2])"}
    replace: |
      v = Unsqueeze(x, [2])
      t = Conv<pads=[0, pads[0], 0, pads[1]], strides=[1, strides[0]]>(v, wide)
      y = Reshape(t, shape(y))
    tests:
      - {name: one, given: "x: float[1, 2, 8]\ny = Conv<pads=[1, 1], strides=[2]>(x, random(1) float[2, 2, 3])", expect: "x: float[1, 2, 8]\ny = Reshape(Conv<pads=[0, 1, 0, 1], strides=[1, 2]>(Unsqueeze(x, [2]), Unsqueeze(random(1) float[2, 2, 3], [2])), [1, 2, 4])"}
)yaml";
  CHECK(OutcomeOf(text, 400) == Outcome::kHeld);
  CHECK(OutcomeOf(Replaced(text, "dilations=1", "dilations=_"), 1500) == Outcome::kRefuted);
}

TEST_CASE(
    "Integers of 32 bits of one sample have all of these, also the half that the other sign has "
    "not") {
  CHECK(OutcomeOf(R"yaml(rules:
  - name: high-bits
    doc: what the highest bits say, as if there were none
    equivalence: exact
    match: y = Div(x, d)
    where: not const(x) and dtype(x) == UINT32 and d == 2 ** 27
    replace: y = Sub(x, x)
    tests:
      - {name: of run time, given: "x: uint32[4]\ny = Div(x, uint32 134217728)", expect: "x: uint32[4]\ny = Sub(x, x)"}
)yaml",
                  300) == Outcome::kRefuted);
}

TEST_CASE("What a definition looks for stands in front of what the rule reads") {
  const std::string text = R"yaml(define:
  not_negative(v):
    - v = Min(Max(_, lo), hi) => sure(lo >= 0 and hi >= 0)
    - => false
rules:
  - name: first
    doc: what is not negative needs no Relu
    equivalence: exact
    match: y = Relu(x)
    where: $not_negative(x)
    replace: y = x
    tests:
      - {name: bounds, given: "x: float[4]\ny = Relu(Min(Max(x, 0.0), 6.0))", expect: "x: float[4]\ny = Min(Max(x, 0.0), 6.0)"}
  - name: second
    doc: asks the same, and has no test in which it is so
    equivalence: exact
    match: y = Abs(x)
    where: $not_negative(x)
    replace: y = x
    tests:
      - {name: anything, given: "x: float[4]\ny = Abs(x)", expect: unchanged}
)yaml";
  const auto second = [](const std::string& rules) {
    return Proof(rules, {.graphs = 1500}).rules[1].outcome;
  };
  CHECK(second(text) == Outcome::kHeld);
  CHECK(second(Replaced(text, "Min(Max(_, lo), hi)", "Min(Min(_, lo), hi)")) == Outcome::kRefuted);
}

TEST_CASE(
    "Data that is a number alone has one size: it may be none that a quantizer was made for") {
  CHECK(OutcomeOf(R"yaml(rules:
  - name: pair
    doc: a quantizer and what undoes it
    equivalence: approx(8dB)
    match: y = DequantizeLinear(QuantizeLinear(x, s, z), s, z)
    where: const(s) and size(s) == 1 and z == 0
    replace: y = x
    tests:
      - {name: one number, given: "x: float[]\ny = DequantizeLinear(QuantizeLinear(Add(x, x), float 0.001, int8 0), float 0.001, int8 0)", expect: "x: float[]\ny = Add(x, x)"}
      - {name: several, given: "x: float[8]\ny = DequantizeLinear(QuantizeLinear(x, float 0.01, int8 0), float 0.01, int8 0)", expect: "x: float[8]\ny = Identity(x)"}
)yaml",
                  200) == Outcome::kHeld);
}

}  // namespace
}  // namespace qrewrite
