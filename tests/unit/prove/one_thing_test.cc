// Changes of one thing, or of two that belong together, which chance alone takes long to come by.
#include <doctest/doctest.h>

#include <string>

#include "tests/unit/prove/proof.h"

namespace qrewrite {
namespace {

TEST_CASE("A factor that a node says and its quantizer has is another one on one side alone") {
  const std::string text = R"yaml(signatures:
  acme.Unscale: {inputs: [x], outputs: {y: {shape: shape(x), dtype: dtype(x)}}, attributes: {k: 1.0}, computes: "y = Div(x, cast(k, dtype(x)))"}
rules:
  - name: sum
    doc: the sum has the factor of both sides
    equivalence: approx(90dB)
    match: |
      a = DequantizeLinear(_, s, 0)
      b = DequantizeLinear(_, sb, 0)
      y = Add(acme.Unscale<k>(a), acme.Unscale<k=kb>(b))
    where: const(s) and const(sb) and k == s and kb == sb and k == kb
    replace: y = acme.Unscale<k=k>(Add(a, b))
    tests:
      - {name: halves, given: "a: int8[4]\nb: int8[4]\ny = Add(acme.Unscale<k=0.5>(DequantizeLinear(a, float 0.5, int8 0)), acme.Unscale<k=0.5>(DequantizeLinear(b, float 0.5, int8 0)))", expect: unchanged}
)yaml";
  CHECK(Proof(text, {.graphs = 300}).rules[0].outcome == ProvenRule::Outcome::kHeld);
  for (const uint64_t seed : {0, 1, 2, 3}) {
    const ProveReport report =
        Proof(Replaced(text, " and k == kb", ""), {.graphs = 300, .seed = seed});
    CHECK(report.rules[0].outcome == ProvenRule::Outcome::kRefuted);
  }
}

}  // namespace
}  // namespace qrewrite
