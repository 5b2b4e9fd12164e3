// Prove on rules that are right, and on rules with a planted fault: each is refuted, by a graph on which
// the right rule does not fire.
#include "qrewrite/prove.h"

#include <doctest/doctest.h>

#include <cstdlib>
#include <set>
#include <string>
#include <vector>

#include "engine/api/constant.h"
#include "engine/prove/numbers.h"
#include "engine/prove/promise.h"
#include "tests/unit/prove/proof.h"

namespace qrewrite {
namespace {

// A Relu on integers; rows of a table that is negated.

constexpr const char* kRelu = R"yaml(rules:
  - name: relu
    equivalence: exact
    match: |
      d = DequantizeLinear<**a>(q, s, z?)
      y = Relu(d)
    where:
      - const(s) and s > 0
      - size(s) == 1
      - const(z) and rank(z) <= rank(q) and dtype(q) == INT8
    replace: y = DequantizeLinear<**a>(Max(q, z), s, z)
    tests:
      - name: behind it
        given: |
          q: int8[2, 3]
          y = Relu(DequantizeLinear(q, 0.5, int8 3))
        expect: |
          q: int8[2, 3]
          y = DequantizeLinear(Max(q, int8 3), 0.5, int8 3)
      - name: a negative scale
        given: |
          q: int8[2, 3]
          y = Relu(DequantizeLinear(q, -0.5, int8 3))
        expect: unchanged
      - name: a scale for each column
        given: |
          q: int8[2, 3]
          y = Relu(DequantizeLinear(q, float[3] [1, 2, 3], int8[3] [1, 2, 3]))
        expect: unchanged
)yaml";

constexpr const char* kGather = R"yaml(rules:
  - name: rows
    equivalence: exact
    match: y = Neg(Gather<axis>(t, i))
    where: const(t)
    let: {n: 0 - t}
    replace: y = Gather<axis=axis>(n, i)
    tests:
      - name: of a table
        given: |
          i: int64[2]
          y = Neg(Gather<axis=1>(float[3, 2] [[1, 2], [3, 4], [5, 6]], i))
        expect: |
          i: int64[2]
          y = Gather<axis=1>(float[3, 2] [[-1, -2], [-3, -4], [-5, -6]], i)
)yaml";

using Outcome = ProvenRule::Outcome;
using Needed = ProvenCondition::Outcome;

TEST_CASE("A rule that is right holds, and its conditions are needed") {
  const ProveReport report = Proof(kRelu);
  REQUIRE(report.rules.size() == 1);
  const ProvenRule& rule = report.rules[0];
  CHECK(rule.outcome == Outcome::kHeld);
  CHECK(report.refuted == 0);
  CHECK(rule.graphs == 10000);  // few rules get more
  CHECK(rule.compared > 10);
  REQUIRE(rule.conditions.size() == 6);  // `and` makes two
  CHECK(rule.conditions[1].text == "s > 0");
  CHECK(rule.conditions[1].outcome == Needed::kNeeded);
  CHECK(rule.conditions[1].pinned);
  CHECK(rule.conditions[1].counterexample.find("given: |") != std::string::npos);
  CHECK(rule.conditions[1].counterexample.find("expect: unchanged") != std::string::npos);
}

TEST_CASE("Graphs on which another rule fired, which promises less, count apart") {
  const std::string text = R"yaml(rules:
  - name: fine
    doc: twice is a sum
    equivalence: approx(90dB)
    match: y = Mul(x, 2.0)
    where: rank(x) > 0
    replace: y = Add(x, x)
    tests:
      - {name: alone, given: "x: float[8]\ny = Mul(x, 2.0)", expect: "x: float[8]\ny = Add(x, x)"}
      - {name: of what was quantized, rules: [fine, pair], given: "x: float[8]\ny = Mul(DequantizeLinear(QuantizeLinear(x, 0.5), 0.5), 2.0)", expect: unchanged}
  - name: pair
    doc: a quantizer and what undoes it
    equivalence: approx(8dB)
    match: y = DequantizeLinear(QuantizeLinear(x, 0.5), 0.5)
    replace: y = Clip(x, 0.0, 127.5)
)yaml";
  const ProveReport report = Proof(text, {.rules = {"fine"}, .graphs = 10});
  const ProvenRule& rule = report.rules[0];
  CHECK(rule.excused.at("another rule") > 0);
  CHECK(rule.margin >= 90);
  CHECK(report.Text(true).find(" are excused: another rule") != std::string::npos);
}

TEST_CASE("The same seed gives the same report, another one others") {
  ProveOptions options{.graphs = 60};
  CHECK(Proof(kRelu, options).Json() == Proof(kRelu, options).Json());
  options.seed = 1;
  CHECK(Proof(kRelu, options).Json() != Proof(kRelu, {.graphs = 60}).Json());
}

TEST_CASE("Planted faults are refuted") {
  const std::string relu = kRelu, gather = kGather;
  struct Fault {
    std::string what;
    std::string text;
  };
  const Fault kFaults[] = {
      {"no condition on the scale's sign", Replaced(relu, "const(s) and s > 0", "const(s)")},
      {"no condition on the scale's size", Replaced(relu, "      - size(s) == 1\n", "")},
      {"another operator", Replaced(relu, "(Max(q, z)", "(Min(q, z)")},
      {"a constant lost", Replaced(relu, "(Max(q, z), s, z)", "(Max(q, z), s)")},
      {"an axis lost", Replaced(gather, "Gather<axis=axis>(n", "Gather(n")},
      {"a promise too strong", Replaced(gather, "0 - t", "0 - t * 1.00001")},
  };
  for (const Fault& fault : kFaults) {
    CAPTURE(fault.what);
    const ProveReport report = Proof(fault.text);
    CHECK(report.refuted == 1);
    CHECK(report.rules[0].outcome == Outcome::kRefuted);
    CHECK_FALSE(report.rules[0].why.empty());
    CHECK(report.rules[0].counterexample.find("given: |") != std::string::npos);
  }
}

TEST_CASE(
    "Tests of the rule are changed one thing at a time, and two: faults that this shows are found "
    "early") {
  // Wrong where another axis is 1, and the rank is not known.
  const std::string squeezes = R"yaml(opset: ">=7 <13"
rules:
  - name: squeezes
    equivalence: exact
    match: y = Squeeze<axes=k>(Squeeze<axes=j>(x))
    replace: y = Squeeze<>(x)
    tests:
      - {name: two, opset: 11, given: "x: float[1, 3, 1]\ny = Squeeze<axes=[1]>(Squeeze<axes=[0]>(x))", expect: unchanged}
)yaml";
  // Wrong where neither quantizer has a zero point.
  const std::string pair = R"yaml(rules:
  - name: pair
    equivalence: exact
    match: y = DequantizeLinear(QuantizeLinear(x, s, z?), s, z?)
    where: const(s) and s > 0 and size(s) == 1 and size(zero) == 1 and dtype(x) == FLOAT and (not present(z) or dtype(z) == UINT8)
    let: {zero: "f32(z ?? 9)"}
    replace: y = Mul(Sub(Clip(Add(Round(Div(x, s)), zero), 0.0, 255.0), zero), s)
    tests:
      - {name: both, given: "x: float[2, 3]\ny = DequantizeLinear(QuantizeLinear(x, 0.5, uint8 3), 0.5, uint8 3)", expect: unchanged}
)yaml";
  // Wrong along the other axis, where both have one length.
  const std::string rows = R"yaml(rules:
  - name: rows
    equivalence: exact
    match: y = Neg(Concat<axis>(x, x))
    where: axis >= 0
    replace: y = Concat<axis=0>(Neg(x), Neg(x))
    tests:
      - {name: rows, given: "x: float[2, 3]\ny = Neg(Concat<axis=0>(x, x))", expect: unchanged}
)yaml";
  for (const std::string& text : {squeezes, pair, Replaced(rows, "    where: axis >= 0\n", "")}) {
    for (const uint64_t seed : {0, 1, 2}) {
      CAPTURE(text);
      const ProveReport report = Proof(text, {.graphs = 200, .seed = seed, .guards = false});
      CHECK(report.rules[0].outcome == Outcome::kRefuted);
    }
  }
  const std::string right = Replaced(pair, "z ?? 9", "z ?? 0");
  CHECK(Proof(right, {.graphs = 200, .guards = false}).rules[0].outcome == Outcome::kHeld);
}

TEST_CASE("What reads a result excuses no fault of the result itself") {
  // On the test as it is: bodies show such faults, too.
  const auto outcome = [](const std::string& text) {
    return Proof(text, {.graphs = 1, .guards = false}).rules[0].outcome;
  };
  // Wrong with a number for x alone: shapes that are tried last.
  const std::string turned = R"yaml(rules:
  - name: nothing-added
    equivalence: ulp(1)
    match: y = Neg(Add(x, k))
    where: k == 0 and size(k) == 1
    replace: y = Neg(x)
    tests:
      - {name: open, given: "x: float\ny = Neg(Add(x, float[1] 0))", expect: unchanged}
)yaml";
  CHECK(outcome(turned) == Outcome::kRefuted);
  CHECK(outcome(Replaced(turned, "float[1] 0", "0.0")) == Outcome::kHeld);
  // `a` is right. Readers of `b` read `x`, or a constant, instead.
  const std::string elsewhere = R"yaml(rules:
  - name: elsewhere
    equivalence: ulp(2)
    match: |
      a = Relu(x)
      b = Neg(x)
    where: not is_output(b) and uses(b) == 1
    replace: |
      a = Max(x, 0.0)
      b = x
    tests:
      - {name: two, given: "x: float[]\na = Relu(x)\nb = Neg(x)\nc = Exp(b)\nreturn a, c", expect: unchanged}
)yaml";
  CHECK(outcome(elsewhere) == Outcome::kRefuted);
  CHECK(outcome(Replaced(elsewhere, "b = x\n", "b = 1.0\n")) == Outcome::kRefuted);
  CHECK(outcome(Replaced(elsewhere, "b = x\n", "b = Sub(0.0, x)\n")) == Outcome::kHeld);
  // What goes to other readers as it should is no fault, though these make more of the rest.
  const std::string forwarded = R"yaml(rules:
  - name: forwarded
    equivalence: ulp(2)
    match: |
      a = Relu(x)
      b = Identity(x)
    where: not is_output(b)
    replace: |
      a = Mul(Max(x, 0.0), 1.0000001)
      b = x
    tests:
      - name: powers
        given: |
          x: float[64]
          a = Relu(x)
          b = Identity(x)
          t = Mul(a, a)
          c = Mul(t, t)
          d = Abs(b)
          return c, d
        expect: unchanged
)yaml";
  CHECK(outcome(forwarded) == Outcome::kHeld);
  CHECK(outcome(Replaced(forwarded, "1.0000001", "1.000001")) == Outcome::kRefuted);
}

TEST_CASE("A rule that warns and replaces is one that replaces") {
  const std::string text = R"yaml(rules:
  - name: warns
    equivalence: exact
    match: y = Mul(x, k)
    where: k > 0
    warn: another form
    replace: y = Abs(x)
    tests:
      - {name: of a Relu, given: "x: float[2]\ny = Mul(Relu(x), 1.0)", expect: {warning: another form}}
)yaml";
  const ProveReport report = Proof(text, {.graphs = 100, .guards = false});
  CHECK(report.rules[0].outcome == Outcome::kRefuted);
  const std::string alone = Replaced(text, "    replace: y = Abs(x)\n", "");
  const ProveReport silent = Proof(alone, {.graphs = 100, .guards = false});
  CHECK(silent.rules[0].outcome == Outcome::kSilent);
  CHECK(silent.rules[0].graphs == 1);
}

TEST_CASE("A counterexample is a test that the right rule passes and the wrong one fails") {
  const std::string wrong = Replaced(kRelu, "const(s) and s > 0", "const(s)");
  const ProveReport report = Proof(wrong);
  std::string test = report.rules[0].counterexample, indented;
  for (size_t at = 0; at < test.size();) {
    const size_t end = test.find('\n', at);
    indented += "      " + test.substr(at, end - at + 1);
    at = end + 1;
  }
  CHECK(RulesOf(kRelu + indented).RunTests().failed == 0);
  const TestReport tests = RulesOf(wrong + indented).RunTests();
  CHECK_FALSE(tests.results.back().passed);
}

TEST_CASE("A rule without a promise, without tests, of an operator that nobody can run") {
  const ProveReport report = Proof(R"yaml(signatures:
  acme.Gain: {inputs: [x], outputs: {y: {shape: shape(x), dtype: dtype(x)}}}
rules:
  - {name: no-tests, equivalence: exact, match: y = Relu(x), replace: y = Abs(x)}
  - name: unknown
    equivalence: exact
    match: y = acme.Gain(acme.Gain(x))
    replace: y = acme.Gain(x)
    tests: [{name: t, given: "x: float[2]\ny = acme.Gain(acme.Gain(x))", expect: "x: float[2]\ny = acme.Gain(x)"}]
  - name: no-promise
    match: y = Neg(Neg(x))
    replace: y = x
    tests: [{name: t, given: "x: float[2]\ny = Abs(Neg(Neg(x)))", expect: "x: float[2]\ny = Abs(x)"}]
  - {name: silent, equivalence: exact, match: y = Relu(x), warn: a Relu}
  - name: none
    equivalence: none
    match: y = Abs(Neg(x))
    replace: y = x
    tests: [{name: t, given: "x: float[2]\ny = Abs(Neg(x))", expect: "x: float[2]\ny = Identity(x)"}]
)yaml");
  CHECK(report.rules[0].outcome == Outcome::kRefuted);  // graphs are made of its pattern
  CHECK(report.rules[3].outcome == Outcome::kSilent);
  CHECK(report.rules[1].outcome == Outcome::kUnknown);
  CHECK(report.rules[1].why.find("acme.Gain") != std::string::npos);
  CHECK(report.rules[2].outcome == Outcome::kUnknown);
  CHECK(report.rules[2].why == "the rule promises nothing (`equivalence:`)");
  CHECK(report.rules[4].outcome == Outcome::kUnknown);  // its author says so
  CHECK(report.rules[4].why == report.rules[2].why);
}

TEST_CASE("`computes:` says what an operator of a rule file computes") {
  const std::string text = R"yaml(signatures:
  acme.Gain:
    inputs: [x, "by?", more...]
    attributes: {twice: 0, unit: "string?"}
    outputs: {y: {shape: shape(x), dtype: dtype(x)}}
    computes: y = $gain(x, by, twice)
define:
  y = gain(x, by, twice):
    - when present(by) and twice == 1 => Mul(Mul(x, by), by)
    - when present(by) => Mul(x, by)
    - => x
rules:
  - name: once
    equivalence: exact
    match: y = acme.Gain<twice=1, unit=_?>(x, by)
    where: const(by) and Abs(by) >= 1 and Abs(by) <= 16 and dtype(x) == FLOAT
    let: {square: by * by}
    replace: y = acme.Gain(x, square)
    tests:
      - name: a power of two
        given: "x: float[2]\ny = acme.Gain<twice=1>(x, 2.0)"
        expect: "x: float[2]\ny = acme.Gain(x, 4.0)"
)yaml";
  const ProveReport right = Proof(Replaced(text, "equivalence: exact", "equivalence: ulp(2)"));
  CHECK(right.rules[0].outcome == Outcome::kHeld);
  CHECK(right.rules[0].compared > 10);
  const ProveReport wrong = Proof(Replaced(text, "square: by * by", "square: by + by"));
  CHECK(wrong.rules[0].outcome == Outcome::kRefuted);
}

TEST_CASE("A fault in `computes:` is one of the file, told once") {
  const Result<Rules> rules = Rules::Parse("rules.yaml", R"yaml(qrewrite: 1
name: r
signatures:
  acme.Gain: {inputs: [x], outputs: [y], computes: "y = Rleu(x)"}
rules: [{name: n, match: y = acme.Gain(x), replace: y = Abs(x)}]
)yaml");
  REQUIRE_FALSE(rules.ok());
  REQUIRE(rules.status().diagnostics().size() == 1);
  CHECK(rules.status().diagnostics()[0].message == "there is no operator `Rleu`");
  CHECK(rules.status().diagnostics()[0].span.line == 4);
}

constexpr const char* kUnits = R"yaml(rules:
  - name: layer
    doc: weights take a scale of their own
    equivalence: rescaled
    match: |
      x = DequantizeLinear(q, s, z)
      y = MatMul(x, w)
    where: const(w) and const(s) and z == 0 and w == rint(w) and Abs(w) < 100
    replace: y = MatMul(x, DequantizeLinear(i8(w), 0.25, i8(0)))
    tests:
      - name: of integers
        given: |
          q: int8[2, 3]
          y = MatMul(DequantizeLinear(q, 0.5, int8 0), float[3, 2] [[1, 2], [3, 4], [5, 6]])
        expect: |
          q: int8[2, 3]
          y = MatMul(DequantizeLinear(q, 0.5, int8 0), DequantizeLinear(int8[3, 2] [[1, 2], [3, 4], [5, 6]], 0.25, int8 0))
      - name: not of integers
        given: |
          q: int8[2, 3]
          y = MatMul(DequantizeLinear(q, 0.5, int8 0), float[3, 2] 0.5)
        expect: unchanged
)yaml";

TEST_CASE("Scales that a rule chooses are units: the integers stay") {
  const ProveReport report = Proof(kUnits, {.graphs = 300});
  CHECK(report.rules[0].outcome == ProvenRule::Outcome::kHeld);
  CHECK(report.rules[0].compared > 20);
  const std::pair<std::string, std::string> faults[] = {
      {"i8(w), 0.25", "i8(w + 1), 0.25"},
      {"i8(0)", "i8(1)"},
      {"i8(w), 0.25", "i8(w * 2), 0.25"},
  };
  for (const auto& [from, to] : faults) {
    CAPTURE(to);
    const ProveReport wrong = Proof(Replaced(kUnits, from, to), {.graphs = 300});
    CHECK(wrong.rules[0].outcome == ProvenRule::Outcome::kRefuted);
  }
}

TEST_CASE("A rule whose tests are no models says so") {
  const ProveReport report = Proof(R"yaml(rules:
  - name: relu
    equivalence: exact
    match: y = Relu(Pad(x, [1]))
    replace: y = x
    tests:
      - {name: pads of another rank, given: "x: float[2, 2]\ny = Relu(Pad(x, int64[1] [1]))", expect: "x: float[2, 2]\ny = Identity(x)"}
)yaml",
                                   {.graphs = 5});
  CHECK(report.rules[0].outcome == ProvenRule::Outcome::kUnknown);
  CHECK(report.Text().find("a test of it is no model") != std::string::npos);
}

TEST_CASE("Shaken numbers all differ, and equal ones stay equal") {
  Numbers scales{.dtype = DType::kFloat, .dims = {3}, .values = {0.5, 0.5, 0.5}};
  Numbers same = scales;
  CHECK(scales.Shake(7, false));
  CHECK(same.Shake(7, false));
  CHECK(scales.values == same.values);
  CHECK(scales.values[0] != scales.values[1]);
  CHECK(scales.values[0] > 0);
  Numbers whole{.dtype = DType::kFloat, .dims = {3}, .values = {-3, 0, 40}};
  CHECK(whole.Shake(7, true));
  CHECK(whole.AreWhole());
  CHECK(whole.values[0] < 0);
  CHECK(whole.values[1] == 0);
  Numbers axes{.dtype = DType::kInt64, .dims = {2}, .values = {0, 1}};
  CHECK_FALSE(axes.Shake(7, false));
}

TEST_CASE("Names and counts that are wrong") {
  const Rules rules = RulesOf(kRelu);
  CHECK(Prove(rules, {.rules = {"rleu"}}).status().message().find("did you mean `relu`?") !=
        std::string::npos);
  CHECK(Prove(rules, {.graphs = 0}).status().code() == StatusCode::kUsage);
}

TEST_CASE("Conditions and infinite constants are no data") {
  // Squares of float16 that small have few bits: one number says nothing then.
  const std::string rule = R"yaml(rules:
  - name: reciprocal
    equivalence: approx(80dB)
    match: y = Div(1, x)
    where: dtype(x) in [FLOAT, FLOAT16]
    replace: y = Div(x, Mul(x, x))
    tests:
      - name: a choice
        given: |
          c: bool
          y = If<then_branch={ a = Div(float16 1, float16[1] 0.0017) }, else_branch={ b = Div(float16 1, float16[1] 0.0017) }>(c)
        expect: |
          c: bool
          y = If<then_branch={ a = Div(float16[1] 0.0017, Mul(float16[1] 0.0017, float16[1] 0.0017)) }, else_branch={ b = Div(float16[1] 0.0017, Mul(float16[1] 0.0017, float16[1] 0.0017)) }>(c)
      - name: an infinite Constant
        given: |
          k = Constant<value=float inf>()
          y = Div(1.0, k)
        expect: |
          k = Constant<value=float inf>()
          y = Div(k, Mul(k, k))
)yaml";
  CHECK(Proof(rule, {.graphs = 2}).rules[0].outcome == ProvenRule::Outcome::kHeld);
}

TEST_CASE("An empty constant beside a number: why they differ is told without a look at elements") {
  const TestReport report = RulesOf(R"yaml(rules:
  - name: twice
    match: y = Add(Mul(x, k), k)
    replace: y = Mul(x, k)
    tests:
      - {name: empty, given: "x: float\ny = Add(Mul(x, 2.0), float[0] [])", expect: "x: float\ny = Mul(x, 2.0)"}
)yaml")
                                .RunTests();
  CHECK(report.failed == 1);
}

TEST_CASE("Numbers saturate, and are spread over a larger shape") {
  Numbers numbers{DType::kInt8, {1}, {300}};
  CHECK((*ToInt64s(numbers.ToTensor()))[0] == 127);
  Dice dice(0);
  Numbers scale{DType::kFloat, {}, {0.5}};
  scale.Resize({3}, dice);
  CHECK(scale.values.size() == 3);
  CHECK(scale.ToTensor().dims() == Dims{3});
}

}  // namespace
}  // namespace qrewrite
