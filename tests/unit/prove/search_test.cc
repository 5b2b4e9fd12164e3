// What the search of Prove() tries: faults that one kind of change alone brings to light.
#include <doctest/doctest.h>

#include <string>

#include "engine/api/constant.h"
#include "engine/prove/numbers.h"
#include "tests/unit/prove/proof.h"

namespace qrewrite {
namespace {

TEST_CASE("Texts of a rule are tried for attributes, and large integers of 32 bits") {
  const auto refuted = [](const char* text) {
    return Proof(text, {.graphs = 300}).rules[0].outcome == ProvenRule::Outcome::kRefuted;
  };
  CHECK(refuted(R"yaml(rules:
  - name: edges
    doc: two modes are taken for one
    equivalence: exact
    match: y = Pad<mode>(x, p)
    where: mode in ['edge', 'wrap']
    replace: y = Pad<mode='edge'>(x, p, absent, absent)
    tests:
      - {name: edge, given: "x: float[3]\ny = Pad<mode='edge'>(x, [1, 1])", expect: "x: float[3]\ny = Pad<mode='edge'>(x, [1, 1], absent, absent)"}
)yaml"));
  CHECK(refuted(R"yaml(rules:
  - name: bound
    doc: the bound is one less
    equivalence: exact
    match: y = Clip(x, lo, hi)
    where: hi == 300
    replace: y = Clip(x, lo, hi - 1)
    tests:
      - {name: to 300, given: "x: int64[4]\ny = Clip(x, int64 0, int64 300)", expect: "x: int64[4]\ny = Clip(x, int64 0, int64 299)"}
)yaml"));
}

TEST_CASE(
    "Faults that few graphs show: orders of axes, ends of integers, pads below 0, parts of an open "
    "axis") {
  const auto why = [](const char* text) {
    const ProveReport report = Proof(text, {.graphs = 1000});
    return report.rules[0].outcome == ProvenRule::Outcome::kRefuted ? report.rules[0].why
                                                                    : std::string("not refuted");
  };
  CHECK(why(R"yaml(rules:
  - name: twice
    doc: an order of three axes is not undone by itself
    equivalence: exact
    match: y = Transpose<perm=p>(Transpose<perm=q>(x))
    where: p == q
    replace: y = x
    tests:
      - {name: two axes, given: "x: float[3, 3, 3]\ny = Transpose<perm=[1, 0, 2]>(Transpose<perm=[1, 0, 2]>(x))", expect: "x: float[3, 3, 3]\ny = Identity(x)"}
)yaml")
            .starts_with("`y`"));
  CHECK(why(R"yaml(rules:
  - name: less
    doc: the lowest integer is its own negative
    equivalence: exact
    match: y = Less(Neg(a), Neg(b))
    replace: y = Less(b, a)
    tests:
      - {name: turned, given: "a: int8[4]\nb: int8[4]\ny = Less(Neg(a), Neg(b))", expect: "a: int8[4]\nb: int8[4]\ny = Less(b, a)"}
)yaml")
            .starts_with("`y`"));
  CHECK(why(R"yaml(rules:
  - name: narrow
    doc: integers beyond 32 bits
    equivalence: exact
    match: y = Cast<to=INT64>(Cast<to=INT32>(x))
    where: dtype(x) == INT64
    replace: y = x
    tests:
      - {name: back, given: "x: int64[4]\ny = Cast<to=INT64>(Cast<to=INT32>(x))", expect: "x: int64[4]\ny = Identity(x)"}
)yaml")
            .starts_with("`y`"));
  CHECK(why(R"yaml(rules:
  - name: pads
    doc: a part is cut off, which no runtime does
    equivalence: exact
    match: y = Conv<auto_pad='SAME_UPPER', strides=[2, 2]>(x, w)
    where: size(w) == 1
    replace: y = Conv<pads=[-1, -1, 0, 0], strides=[2, 2]>(x, w)
    tests:
      - {name: steps, given: "x: float\ny = Conv<auto_pad='SAME_UPPER', strides=[2, 2]>(x, float[1, 1, 1, 1] 2)", expect: "x: float\ny = Conv<pads=[-1, -1, 0, 0], strides=[2, 2]>(x, float[1, 1, 1, 1] 2)"}
)yaml") == "the result is no valid model: Conv: a window with numbers below 0");
  CHECK(why(R"yaml(rules:
  - name: part
    doc: the second part begins behind the first, whatever that is long
    equivalence: exact
    match: _, y = Split<axis=0>(x, s)
    where: const(s) and len(shape(s)) == 1 and size(s) == 2
    let: {from: "s[1:]", to: "s[:1] + s[1:]"}
    replace: y = Slice(x, from, to, [0])
    tests:
      - {name: equal parts, given: "x: float[N]\n_, y = Split<axis=0>(x, [4, 4])", expect: "x: float[N]\ny = Slice(x, [4], [8], [0])"}
      - {name: others, given: "x: float[N]\n_, y = Split<axis=0>(x, [3, 5])", expect: "x: float[N]\ny = Slice(x, [5], [8], [0])"}
)yaml")
            .starts_with("`y`"));
}

TEST_CASE(
    "Edges of what `let:` compares are tried, and forms that are deprecated for a newer one") {
  const ProveReport bound = Proof(R"yaml(rules:
  - name: open
    doc: a bound of 1e37 is none
    equivalence: exact
    match: y = Clip<min=lo, max=hi>(x)
    let: {h: "absent if hi >= 1e37 else hi"}
    replace: y = Clip<min=lo, max=h>(x)
    tests:
      - {name: a bound, opset: 10, given: "x: float[4]\ny = Clip<min=0.0, max=6.0>(x)", expect: "x: float[4]\ny = Clip<min=0.0, max=6.0>(x)"}
)yaml",
                                  {.graphs = 300});
  CHECK(bound.rules[0].outcome == ProvenRule::Outcome::kRefuted);
  const ProveReport old = Proof(R"yaml(rules:
  - name: groups
    equivalence: exact
    match: y = GroupNormalization<num_groups=g, epsilon>(x, s, b)
    replace: y = Relu(x)
    tests:
      - {name: two groups, opset: 20, given: "x: float[1,4,2]\ny = GroupNormalization<num_groups=2>(x, [1, 2], [3, 4])", expect: "x: float[1,4,2]\ny = Relu(x)"}
)yaml",
                                {.graphs = 20});
  CHECK(old.rules[0].outcome == ProvenRule::Outcome::kRefuted);
}

TEST_CASE("Samples go beyond the bounds that the graph has") {
  const auto outcome = [](const std::string& text, uint64_t seed) {
    return Proof(text, {.graphs = 300, .seed = seed}).rules[0].outcome;
  };
  const std::string relu = R"yaml(rules:
  - name: no-upper
    doc: the upper bound is lost
    equivalence: exact
    match: y = Clip(x, lo, hi)
    where: const(lo) and const(hi) and lo == 0 and hi >= 60
    replace: y = Relu(x)
    tests:
      - {name: to 60, given: "x: float[4]\ny = Clip(x, float 0, float 60)", expect: "x: float[4]\ny = Relu(x)"}
)yaml";
  const std::string quantized = R"yaml(rules:
  - name: no-upper
    doc: the upper bound is lost in front of a quantizer
    equivalence: lsb(1)
    match: q = QuantizeLinear(Clip(x, lo, hi), s, z)
    where: const(lo) and const(hi) and lo == 0 and hi >= 60
    replace: q = QuantizeLinear(Relu(x), s, z)
    tests:
      - {name: to 60, given: "x: float[4]\nq = QuantizeLinear(Clip(x, float 0, float 60), float 1, uint8 0)", expect: "x: float[4]\nq = QuantizeLinear(Relu(x), float 1, uint8 0)"}
)yaml";
  const std::string right = R"yaml(rules:
  - name: no-clip
    doc: the quantizer bounds as the Clip does
    equivalence: exact
    match: q = QuantizeLinear(Clip(x, lo, hi), s, z)
    where: const(lo) and const(hi) and const(s) and const(z) and size(s) == 1 and dtype(z) == UINT8 and z == 0 and s > 0 and lo <= 0 and hi >= 256 * s
    replace: q = QuantizeLinear(x, s, z)
    tests:
      - {name: to 600, given: "x: float[4]\nq = QuantizeLinear(Clip(x, float 0, float 600), float 2, uint8 0)", expect: "x: float[4]\nq = QuantizeLinear(x, float 2, uint8 0)"}
)yaml";
  for (const uint64_t seed : {1, 7}) {
    CHECK(outcome(relu, seed) == ProvenRule::Outcome::kRefuted);
    CHECK(outcome(quantized, seed) == ProvenRule::Outcome::kRefuted);
    CHECK(outcome(right, seed) == ProvenRule::Outcome::kHeld);
  }
}

TEST_CASE("A rule that its own test refutes is not tried for long") {
  const Rules rules = RulesOf(R"yaml(rules:
  - name: twice
    equivalence: exact
    match: y = Relu(Relu(x))
    where: rank(x) >= 0
    replace: y = Relu(x)
    tests:
      - {name: stays, given: "x: float[4]\ny = Relu(Relu(x))", expect: unchanged}
)yaml");
  const Result<ProveReport> report = Prove(rules, {.graphs = 4000});
  REQUIRE(report.ok());
  CHECK(report->rules[0].outcome == ProvenRule::Outcome::kRefuted);
  CHECK(report->rules[0].failed_test == "stays");
  CHECK(report->rules[0].graphs == 3000);
  CHECK(report->rules[0].conditions.empty());
}

TEST_CASE("Nor is one beside calibrated data") {
  const Rules rules = RulesOf(R"yaml(rules:
  - name: pair
    equivalence: approx(8dB)
    match: y = DequantizeLinear(QuantizeLinear(x, s, z), s, z)
    where: s > 0 and z == 0 and size(s) == 1 and dtype(z) == INT8
    replace: y = Identity(x)
    tests:
      - {name: stays, given: "x: float[4]\ny = DequantizeLinear(QuantizeLinear(x, 0.5, int8 0), 0.5, int8 0)", expect: unchanged}
)yaml");
  const Result<ProveReport> report = Prove(rules, {.graphs = 4000});
  REQUIRE(report.ok());
  CHECK(report->rules[0].failed_test == "stays");
  CHECK(report->rules[0].graphs == 3000);
  CHECK(report->rules[0].conditions.empty());
}

TEST_CASE(
    "A rule of an operator of its own that no test shows is tried where it is said what it "
    "computes") {
  const ProveReport report = Proof(R"yaml(signatures:
  acme.Less:
    inputs: [x, by]
    outputs: {y: {shape: shape(x), dtype: dtype(x)}}
    computes: y = Sub(x, by)
rules:
  - name: of-nothing
    doc: the sign is lost
    equivalence: exact
    match: y = acme.Less(x, by)
    where: const(by) and by == 0
    replace: y = Neg(x)
)yaml",
                                   {.graphs = 1000});
  CHECK(report.rules[0].outcome == ProvenRule::Outcome::kRefuted);
}

TEST_CASE("Zeros that all tests have are other numbers, too") {
  const ProveReport report = Proof(R"yaml(rules:
  - name: sum
    doc: what is taken off both is taken off once
    equivalence: exact
    match: y = Add(Sub(a, z), Sub(b, z))
    where: const(z)
    replace: y = Sub(Add(a, b), z)
    tests:
      - name: of nothing
        given: |
          a: uint8[3]
          b: uint8[3]
          z = uint8 0
          y = Add(Sub(a, z), Sub(b, z))
        expect: |
          a: uint8[3]
          b: uint8[3]
          y = Sub(Add(a, b), uint8 0)
)yaml",
                                   {.graphs = 12});
  CHECK(report.rules[0].outcome == ProvenRule::Outcome::kRefuted);
}

TEST_CASE("A rule that no phase has is judged without what the phases refuse") {
  const ProveReport report = Proof(R"yaml(signatures:
  acme.Less:
    inputs: [x, by]
    outputs: {y: {shape: shape(x), dtype: dtype(x)}}
    computes: y = Sub(x, by)
phases:
  - {name: check, rules: [left]}
rules:
  - name: left
    equivalence: exact
    match: _ = acme.Less(_, _)
    refuse: it has no other form
  - name: new
    equivalence: exact
    match: y = Neg(acme.Less(x, by))
    replace: y = acme.Less(x, by)
    tests:
      - {name: the sign is lost, given: "x: float[2]\ny = Neg(acme.Less(x, 3.0))", expect: "x: float[2]\ny = acme.Less(x, 3.0)"}
)yaml",
                                   {.graphs = 20});
  REQUIRE(report.rules.size() == 2);
  CHECK(report.rules[1].outcome == ProvenRule::Outcome::kRefuted);
}

TEST_CASE("No graph is tried twice") {
  const ProveReport report = Proof(R"yaml(rules:
  - name: twice
    equivalence: exact
    match: y = Not(Not(x))
    replace: y = x
    tests:
      - {name: a condition, given: "x: bool[2]\ny = Not(Not(x))", expect: "x: bool[2]\ny = Identity(x)"}
      - {name: the same, given: "x: bool[2]\ny = Not(Not(x))", expect: "x: bool[2]\ny = Identity(x)"}
)yaml",
                                   {.graphs = 1});
  CHECK(report.rules[0].graphs == 1);
}

TEST_CASE("Operators that definitions ask for become others") {
  const auto refuted = [](const char* text) {
    return Proof(text, {.graphs = 200}).rules[0].outcome == ProvenRule::Outcome::kRefuted;
  };
  CHECK(refuted(R"yaml(define:
  edge(v, x):
    - v = ReduceMax|ReduceMin<keepdims=0>(x) => true
    - => false
rules:
  - name: distance
    doc: the least is below, not above
    equivalence: exact
    match: y = Abs(Sub(x, v))
    where: $edge(v, x)
    replace: y = Sub(v, x)
    tests:
      - {name: to the largest, given: "x: float[3]\ny = Abs(Sub(x, ReduceMax<keepdims=0>(x)))", expect: "x: float[3]\ny = Sub(ReduceMax<keepdims=0>(x), x)"}
)yaml"));
}

TEST_CASE("A node that contradicts a shape that nobody knew before the run makes no model") {
  // Of com.microsoft's QuantizeLinear inference has no shape, so nothing is said of a Split without sizes.
  const ProveReport report = Proof(R"yaml(rules:
  - name: newer
    doc: the newer form, of which shapes are known
    equivalence: exact
    match: q = com.microsoft.QuantizeLinear(x, s, z)
    where: size(s) == 1 and size(z) == 1
    replace: q = QuantizeLinear(x, Reshape(s, []), Reshape(z, []))
    tests:
      - {name: split behind, given: "x: float[4]\ny, z = Split<num_outputs=2>(com.microsoft.QuantizeLinear(x, 0.5, uint8 3))", expect: "x: float[4]\ny, z = Split<num_outputs=2>(QuantizeLinear(x, 0.5, uint8 3))"}
)yaml",
                                   {.graphs = 1000});
  CHECK(report.rules[0].outcome == ProvenRule::Outcome::kHeld);
}

TEST_CASE("Data that a quantizer of few bits is made for lies between sizes that are far apart") {
  // With steps of 1 and of 4 what is 4 times as large is cut off, and what is a quarter is nothing but noise.
  const ProveReport report = Proof(R"yaml(rules:
  - name: pair
    doc: quantized and back
    equivalence: approx(8dB)
    match: y = DequantizeLinear<axis=a, block_size=b>(QuantizeLinear<axis=a, block_size=b>(x, s, z), s, z)
    replace: y = x
    tests:
      - name: blocks
        given: |
          x: float[2, 4]
          s = float[2, 2] [[1, 2], [3, 4]]
          z = int4[2, 2] 0
          y = Relu(DequantizeLinear<axis=1, block_size=2>(QuantizeLinear<axis=1, block_size=2>(x, s, z), s, z))
        expect: |
          x: float[2, 4]
          y = Relu(x)
)yaml",
                                   {.graphs = 1, .seed = 102});
  CHECK(report.rules[0].outcome == ProvenRule::Outcome::kHeld);
}

TEST_CASE("Decibels are said of data: one constant of which little is left is none") {
  const char* const rule = R"yaml(rules:
  - name: softplus
    doc: of numbers far below 0 the sum keeps no digits
    equivalence: approx(100dB)
    match: y = Log(Add(Exp(x), one))
    where: one == 1 and size(one) == 1 and rank(one) == 0
    replace: y = Softplus(x)
    tests:
      - {name: data, given: "x: float[8]\ny = Log(Add(Exp(x), 1.0))", expect: "x: float[8]\ny = Softplus(x)"}
      - {name: a constant, given: "y = Log(Add(Exp(float -12.0), 1.0))", expect: "y = Softplus(float -12.0)"}
)yaml";
  const ProveReport report = Proof(rule, {.graphs = 2});
  CHECK(report.rules[0].outcome == ProvenRule::Outcome::kHeld);
  CHECK(Proof(Replaced(rule, "Softplus(x)\n", "Relu(x)\n"), {.graphs = 2}).rules[0].outcome ==
        ProvenRule::Outcome::kRefuted);
  // Where nothing cancels constants alone show it.
  CHECK(Proof(R"yaml(rules:
  - name: third
    doc: of constants alone
    equivalence: approx(60dB)
    match: y = Mul(a, b)
    where: const(a) and const(b)
    let: {c: "a * b * 1.01"}
    replace: y = Identity(c)
    tests:
      - {name: constants, given: "y = Mul(float[2] [3, 4], 0.5)", expect: "y = Identity(float[2] [1.515, 2.02])"}
)yaml",
              {.graphs = 2})
            .rules[0]
            .outcome == ProvenRule::Outcome::kRefuted);
}

TEST_CASE("Data goes to the end of its type where steps are so large that it is near") {
  const std::string text = R"yaml(rules:
  - name: wrap
    doc: what is rounded up lies beyond the largest number
    equivalence: exact
    match: |
      q = QuantizeLinear(x, s, z)
      y = Transpose(q)
    where:
      - size(s) == 1 and size(z) == 1 and s > 0
      - dtype(s) == FLOAT and Abs(s) < 1e36
      - dtype(z) in [INT8, UINT8]
    replace: y = QuantizeLinear(Transpose(DequantizeLinear(q, s, z)), s, z)
    tests:
      - {name: wrapped, given: "x: float[2, 3]\ny = Transpose(QuantizeLinear(x, 0.5, uint8 3))", expect: unchanged}
)yaml";
  const auto outcome = [](const std::string& rules) {
    return Proof(rules, {.graphs = 1500}).rules[0].outcome;
  };
  CHECK(outcome(text) == ProvenRule::Outcome::kHeld);
  CHECK(outcome(Replaced(text, "1e36", "3e37")) == ProvenRule::Outcome::kRefuted);
  const std::string half = Replaced(text, "dtype(s) == FLOAT and Abs(s) < 1e36",
                                    "dtype(s) == FLOAT16 and Abs(s) <= 256");
  const std::string of_half =
      Replaced(Replaced(half, "float[2, 3]", "float16[2, 3]"), "(x, 0.5,", "(x, float16 0.5,");
  CHECK(outcome(of_half) == ProvenRule::Outcome::kHeld);
  CHECK(outcome(Replaced(of_half, "<= 256", "<= 600")) == ProvenRule::Outcome::kRefuted);
}

TEST_CASE("Attributes at the ends of 64 bits are changed as others are") {
  const std::string text = R"yaml(rules:
  - name: ends
    doc: the part first
    equivalence: exact
    opset: "<10"
    match: y = Relu(Slice<**a>(x))
    replace: y = Slice<**a>(Relu(x))
    tests:
      - {name: to the end, opset: 9, given: "x: float[3, 3]\ny = Relu(Slice<starts=[1, 1], ends=[9223372036854775807, 9223372036854775807]>(x))", expect: unchanged}
  - name: start
    doc: sizes are not negative
    equivalence: exact
    match: y = Abs(Shape<**a>(x))
    replace: y = Shape<**a>(x)
    tests:
      - {name: all, given: "x: float[3, 3]\ny = Abs(Shape<start=-9223372036854775808, end=9223372036854775807>(x))", expect: unchanged}
)yaml";
  for (const ProvenRule& rule : Proof(text, {.graphs = 300}).rules)
    CHECK(rule.outcome == ProvenRule::Outcome::kHeld);
}

TEST_CASE("An operator that reads one value twice") {
  const std::string text = R"yaml(sets: {products: [Mul]}
rules:
  - name: square
    doc: it is the value itself
    equivalence: exact
    match: |
      r = Relu(x)
      y = Mul(r, b)
    replace: y = $product(r, b)
    tests:
      - {name: another factor, given: "x: float[2, 3]\nb: float[2, 3]\ny = Mul(Relu(x), b)", expect: unchanged}
define:
  y = product(r, b):
    - when uses(r, @products) == 2 => r
)yaml";
  // By chance alone after 150 to 700 graphs.
  for (const uint64_t seed : {0, 1, 2, 3, 4, 5})
    CHECK(Proof(text, {.graphs = 120, .seed = seed}).rules[0].outcome ==
          ProvenRule::Outcome::kRefuted);
}

}  // namespace
}  // namespace qrewrite
