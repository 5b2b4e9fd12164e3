// Element types in plain data: parameters and data of sets have texts for them.
#include <doctest/doctest.h>

#include <map>
#include <string>

#include "tests/support/rule_run.h"

namespace qrewrite {

using testing::Becomes;
using testing::Fires;
using testing::RunRules;

TEST_CASE("Data of a set names element types") {
  const std::string rules = R"(
sets: {casts: {npu.A: {t: INT8, ts: [INT8, UINT8]}, npu.B: {t: FLOAT16, ts: [UINT8]}}}
signatures:
  npu.A: {inputs: [x], outputs: [y]}
  npu.B: {inputs: [x], outputs: [y]}
rules:
  - name: r
    match: y = n:@casts(x)
    where: dtype(x) in n.ts and dtype(x) != n.t
    replace: y = Cast<to=n.t>(x)
)";
  CHECK(Becomes(rules, "x: uint8[2]\ny = npu.A(x)", "x: uint8[2]\ny = Cast<to=INT8>(x)"));
  CHECK(Becomes(rules, "x: uint8[2]\ny = npu.B(x)", "x: uint8[2]\ny = Cast<to=FLOAT16>(x)"));
  CHECK_FALSE(Fires(rules, "x: int8[2]\ny = npu.A(x)"));
  CHECK_FALSE(Fires(rules, "x: int16[2]\ny = npu.A(x)"));
}

TEST_CASE("A parameter names element types") {
  const std::string rules = R"(
params: {to: {default: FLOAT16}, kinds: {default: [INT8, INT16]}}
rules:
  - name: attribute
    match: y = Cast<to>(x)
    where: to in params.kinds and dtype(x) != params.to
    replace: y = Cast<to=to>(Relu(Cast<to=params.to>(x)))
)";
  const std::string cast = "x: float[2]\ny = Cast<to=INT8>(x)";
  CHECK(RunRules(rules, cast).report.rules.size() == 1);
  CHECK(RunRules(rules, "x: float[2]\ny = Cast<to=INT32>(x)").report.rules.empty());
  CHECK(RunRules(rules, cast, 21, {{"kinds", "INT16"}}).report.rules.empty());
  CHECK(RunRules(rules, cast, 21, {{"to", "FLOAT"}}).report.rules.empty());
  CHECK(Becomes(rules, cast, "x: float[2]\ny = Cast<to=INT8>(Relu(Cast<to=FLOAT16>(x)))"));
}

TEST_CASE("A text attribute stays a text, whatever it names") {
  const std::string rules = R"(
sets: {modes: {npu.A: {m: INT8}}}
signatures:
  npu.A: {inputs: [x], outputs: [y]}
  npu.B: {inputs: [x], attributes: {mode: string}, outputs: [y]}
rules:
  - name: r
    match: y = n:@modes(x)
    replace: y = npu.B<mode=n.m>(x)
)";
  CHECK(Becomes(rules, "x: float[2]\ny = npu.A(x)", "x: float[2]\ny = npu.B<mode='INT8'>(x)"));
}

TEST_CASE("Facts of a signature may be given by inputs") {
  const std::string rules = R"(
signatures:
  npu.One: {inputs: [x, n], outputs: {y: {shape: "[n]", dtype: FLOAT}}}
  npu.All: {inputs: [x, n], outputs: {y: {shape: n, dtype: FLOAT}}}
rules:
  - name: r
    match: y = Abs(t)
    where: shape(t) == [4]
    replace: y = Neg(t)
)";
  CHECK(Fires(rules, "x: float[2]\ny = Abs(npu.One(x, 4))"));
  CHECK(Fires(rules, "x: float[2]\ny = Abs(npu.All(x, [4]))"));
  CHECK_FALSE(Fires(rules, "x: float[2]\ny = Abs(npu.One(x, 5))"));
  CHECK_FALSE(Fires(rules, "x: float[2]\nn: int64\ny = Abs(npu.One(x, n))"));
  CHECK_FALSE(Fires(rules, "x: float[2]\ny = Abs(npu.All(x, [2, 2]))"));
}

}  // namespace qrewrite
