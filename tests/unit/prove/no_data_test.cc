// Numbers of which a promise says nothing, and graphs that are no models.
#include <doctest/doctest.h>

#include <string>

#include "tests/unit/prove/proof.h"

namespace qrewrite {
namespace {

TEST_CASE("What a rule reads is finite; what it makes infinite is its fault") {
  const std::string rule = R"yaml(rules:
  - name: no-bounds
    equivalence: exact
    match: y = Clip(x, lo, hi)
    where: dtype(x) == FLOAT and lo <= -3.4028234e38 and hi >= 3.4028234e38
    replace: y = x
    tests:
      - name: a product of many
        given: |
          x: float[6, 18]
          y = Clip(ReduceProd(x), -3.4028235e38, 3.4028235e38)
        expect: |
          x: float[6, 18]
          y = ReduceProd(x)
      - name: the limits reach further through a factor
        given: |
          x: float[4]
          y = Clip(Mul(x, 0.1), -3.4028235e38, 3.4028235e38)
        expect: |
          x: float[4]
          y = Mul(x, 0.1)
)yaml";
  CHECK(OutcomeOf(rule, 300) == ProvenRule::Outcome::kHeld);
  const std::string large =
      Replaced(rule, "lo <= -3.4028234e38 and hi >= 3.4028234e38", "lo <= -1e30 and hi >= 1e30");
  CHECK(OutcomeOf(large, 300) == ProvenRule::Outcome::kRefuted);
}

TEST_CASE("Data that an operator has no result for is none that its quantizer was made for") {
  const std::string rule = R"yaml(rules:
  - name: in-front
    equivalence: approx(8dB)
    match: y = n:Sqrt|Abs(DequantizeLinear(QuantizeLinear(x, s, z), s, z))
    where: const(s) and const(z)
    replace: y = n(x)
    tests:
      - name: a root
        given: |
          x: float[3, 3, 3]
          y = Sqrt(DequantizeLinear(QuantizeLinear(x, 0.5, uint8 128), 0.5, uint8 128))
        expect: |
          x: float[3, 3, 3]
          y = Sqrt(x)
)yaml";
  CHECK(OutcomeOf(rule, 200) != ProvenRule::Outcome::kRefuted);
}

TEST_CASE("An attribute that names no element type makes no model") {
  const std::string rule = R"yaml(rules:
  - name: cast
    equivalence: exact
    match: y = DequantizeLinear<output_dtype?, **a>(q, s, z)
    where: present(output_dtype) and output_dtype < 1
    replace: y = Cast<to=DOUBLE>(DequantizeLinear<**a>(q, s, z))
    tests:
      - name: below
        opset: 24
        given: |
          q: int8[2]
          y = DequantizeLinear<output_dtype=-11>(q, 0.5, int8 0)
        expect: |
          q: int8[2]
          y = Cast<to=DOUBLE>(DequantizeLinear(q, 0.5, int8 0))
)yaml";
  const ProvenRule proven = Proof(rule, {.graphs = 50}).rules[0];
  CHECK(proven.why.find("names no element type") != std::string::npos);
}

TEST_CASE("A window larger than the data in a branch that is taken makes no model") {
  const std::string rule = R"yaml(rules:
  - name: up
    equivalence: exact
    match: y = AveragePool<ceil_mode=0, **a>(x)
    replace: y = AveragePool<ceil_mode=1, **a>(x)
    tests:
      - name: a branch
        given: |
          x: float[1, ?, 1]
          c: bool[]
          y = If<then_branch={ a = AveragePool<kernel_shape=[2], strides=[4]>(x) }, else_branch={ b = AveragePool<kernel_shape=[3]>(x) }>(c)
        expect: |
          x: float[1, ?, 1]
          c: bool[]
          y = If<then_branch={ a = AveragePool<ceil_mode=1, kernel_shape=[2], strides=[4]>(x) }, else_branch={ b = AveragePool<ceil_mode=1, kernel_shape=[3]>(x) }>(c)
)yaml";
  CHECK(Proof(rule, {.graphs = 1}).rules[0].outcome != ProvenRule::Outcome::kRefuted);
}

}  // namespace
}  // namespace qrewrite
