// Rules without tests: graphs of their pattern alone, and what is said where there are none.
#include <doctest/doctest.h>

#include <string>

#include "tests/unit/prove/proof.h"

namespace qrewrite {
namespace {

using Outcome = ProvenRule::Outcome;

// Wrong rules of which no test says anything; those that are not refuted.
std::string NotRefuted(const std::string& rules, int graphs = 400) {
  std::string names;
  const std::string text =
      "opset: \">=13\"\ndefine:\n  v = plus_one(x):\n    - v = Add(x, 1)\nrules:\n";
  for (const ProvenRule& rule : Proof(text + rules, {.graphs = graphs, .guards = false}).rules) {
    if (rule.outcome != Outcome::kRefuted) names += rule.name + " ";
  }
  return names;
}

TEST_CASE("A literal takes the type of what stands beside it") {
  CHECK_EQ(NotRefuted(R"yaml(
  - {name: whole-beside-floats, equivalence: exact, match: 'y = Add(Tanh(x), 1)', replace: y = Exp(x)}
  - {name: fraction, equivalence: exact, match: 'y = Add(Tanh(x), 1.0)', replace: y = Exp(x)}
  - {name: in-front, equivalence: exact, match: 'y = Sub(1, Tanh(x))', replace: y = Exp(x)}
  - {name: both, equivalence: exact, match: 'y = Clip(x, min=0, max=6.5)', replace: y = Neg(x)}
  - {name: of-integers, equivalence: exact, match: 'y = DequantizeLinear<**_>(x, s, 0)', replace: 'y = Mul(Cast<to=FLOAT>(x), 2.0)'}
  - {name: in-a-sub-pattern, equivalence: exact, match: 'y = $plus_one(Tanh(x))', replace: y = Exp(x)}
  - {name: truth, equivalence: exact, match: 'y = And(x, true)', replace: y = Not(x)}
  - {name: list-of-one, equivalence: exact, match: 'y, _ = TopK<**_>(x, 1)', replace: y = Neg(x)}
  - {name: index, equivalence: exact, match: 'y = Equal(Gather<axis=0>(x, 0), 3)', replace: 'y = Not(Equal(Gather<axis=0>(x, 0), 3))'}
)yaml"),
           "");
}

TEST_CASE("A number for all elements of a list is a list as long as the operator wants it") {
  CHECK_EQ(NotRefuted(R"yaml(
  - {name: pads, equivalence: exact, match: 'y = MaxPool<pads=0, **_>(x)', replace: y = Neg(x)}
  - {name: strides, equivalence: exact, match: 'y = MaxPool<strides=1, **_>(x)', replace: y = Neg(x)}
  - {name: several, equivalence: exact, match: 'y = AveragePool<kernel_shape=3, pads=1, strides=1>(x)', replace: y = Neg(x)}
)yaml"),
           "");
}

TEST_CASE("Lists of inputs have lengths that the operator and the conditions allow") {
  CHECK_EQ(NotRefuted(R"yaml(
  - {name: any-operand, equivalence: exact, match: 'y = Add(as..., Abs(a), bs...)', replace: y = Neg(a)}
  - {name: the-other-one, equivalence: exact, match: 'y = Add|Sub(as..., Neg(a), bs...)', where: len(as) + len(bs) == 1, replace: 'y = Add(as..., a, bs...)'}
  - {name: the-first-one, equivalence: exact, match: 'y = Sub(as..., Neg(a), bs...)', where: len(as) == 0, replace: 'y = Sub(a, bs...)'}
  - {name: five, equivalence: exact, match: 'y = Sum(xs...)', where: len(xs) == 5, replace: 'y = Neg(xs[0])'}
)yaml"),
           "");
}

TEST_CASE("Texts that an operator has are tried where the pattern leaves them open") {
  CHECK_EQ(NotRefuted(R"yaml(
  - {name: any, equivalence: exact, match: 'y = DepthToSpace<blocksize=b, mode=_>(x)', replace: y = DepthToSpace<blocksize=b>(x)}
  - {name: named, equivalence: exact, match: 'y = DepthToSpace<blocksize=b, mode=m>(x)', replace: y = DepthToSpace<blocksize=b>(x)}
  - {name: rest, equivalence: exact, match: 'y = DepthToSpace<blocksize=b, **a>(x)', replace: y = DepthToSpace<blocksize=b>(x)}
  - {name: required, equivalence: exact, match: 'y = BitShift<direction=_>(x, s)', replace: "y = BitShift<direction='LEFT'>(x, s)"}
  - {name: newer, opset: '>=20', equivalence: exact, match: 'y = Gelu<approximate=_>(x)', replace: y = Gelu(x)}
)yaml",
                      2000),
           "");
}

TEST_CASE("A rule that replaces and never fired is unknown, with the reason") {
  const ProveReport report = Proof(R"yaml(signatures:
  qr.DQ: {inputs: [x, s], outputs: {y: {shape: shape(x), dtype: dtype(s)}}}
rules:
  - {name: own, equivalence: exact, match: 'y = qr.DQ(x, s)', replace: 'y = Mul(x, s)'}
  - {name: body, equivalence: exact, match: 'y = If<then_branch=t, else_branch=e>(c)', replace: y = Identity(c)}
  - {name: no-model, equivalence: exact, match: 'y = MaxPool<kernel_shape=[3, 3], strides=[2, 2, 2]>(x)', replace: y = x}
  - {name: condition, equivalence: exact, match: y = Relu(x), where: rank(x) == 9, replace: y = x}
  - {name: nothing, equivalence: exact, match: y = Relu(x), replace: y = Relu(x)}
  - {name: warns, match: y = Relu(x), warn: a Relu}
  - {name: refuses, match: y = Relu(x), where: rank(x) == 9, refuse: a Relu}
  - name: tested
    equivalence: exact
    match: y = Relu(x)
    where: rank(x) == 9
    replace: y = x
    tests: [{name: not here, given: "x: float[2]\ny = Relu(x)", expect: unchanged}]
)yaml",
                                   {.graphs = 50, .guards = false});
  const auto why = [&](size_t i) { return report.rules[i].why; };
  const std::string remedy = "; give it a test in which it fires";
  for (size_t i = 0; i < 5; ++i) CHECK_EQ(Name(report.rules[i].outcome), "unknown");
  const std::string none = "no graph of its pattern could be made: ";
  CHECK_EQ(why(0), none + "how qr.DQ looks tests alone say, or `computes:`" + remedy);
  CHECK_EQ(why(1), none + "If has bodies, of which none are made up" + remedy);
  CHECK_EQ(why(2), none + "MaxPool: no inputs and attributes were found that fit" + remedy);
  CHECK_EQ(why(3),
           "it fired on none of 50 graphs: `rank(x) == 9` alone keeps it from that on 50 of them" +
               remedy);
  CHECK_EQ(why(4),
           "it fired on none of 50 graphs: what it writes is what is there, or does not fit there" +
               remedy);
  for (size_t i = 5; i < 7; ++i) {
    CHECK_EQ(Name(report.rules[i].outcome), "silent");
    CHECK_EQ(why(i), "");
  }
  // Its tests say that it does nothing there, which it does not.
  CHECK_EQ(Name(report.rules[7].outcome), "silent");
  CHECK_NE(why(7).find("`rank(x) == 9` alone"), std::string::npos);
  CHECK_NE(report.Text(false).find("rule `own` is not proven: no graph of its pattern"),
           std::string::npos);
  CHECK_NE(report.Json().find("\"why\": \"no graph of its pattern"), std::string::npos);
}

}  // namespace
}  // namespace qrewrite
