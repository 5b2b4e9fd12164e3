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

}  // namespace
}  // namespace qrewrite
