// Element types: in plain data, where parameters and data of sets have texts for them, and what operators take.
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

TEST_CASE("A list of element types is one of integers where the attribute is") {
  const std::string signature =
      "signatures: {acme.T: {inputs: [x], attributes: {ts: ints?}, outputs: [y]}}\n";
  const auto rules = [&](const std::string& ts) {
    return signature +
           "params: {ts: {default: [INT8, UINT8]}}\nrules:\n  - {name: r, match: y = Sin(x), "
           "replace: 'y = acme.T<ts=" +
           ts + ">(x)'}\n";
  };
  const std::string given = "x: float[2]\ny = Sin(x)",
                    wanted = "x: float[2]\ny = acme.T<ts=[3, 2]>(x)";
  CHECK(Becomes(rules("params.ts"), given, wanted));
  CHECK(Becomes(rules("[INT8, UINT8]"), given, wanted));
  CHECK_FALSE(Fires(rules("[''a'', ''b'']"), given));
}

TEST_CASE("Constants of texts compare with texts") {
  const auto fires = [](const std::string& where, const std::string& constant) {
    return Fires(
        "rules:\n  - name: r\n    match: y = Equal(Identity(x), w)\n    where: const(w) and (" +
            where + ")\n    replace: y = Equal(x, w)\n",
        "x: string[2]\ny = Equal(Identity(x), " + constant + ")");
  };
  const std::string one = "string 'cat'", two = "string[2] ['cat', 'dog']";
  CHECK(fires("w in ['cat', 'dog']", one));
  CHECK_FALSE(fires("not (w in ['cat', 'dog'])", one));
  CHECK(fires("w in ['cat', 'dog']", two));
  CHECK_FALSE(fires("w in ['cat', 'cow']", two));
  CHECK(fires("w == ['cat', 'dog']", two));
  CHECK_FALSE(fires("w != ['cat', 'dog']", two));
  CHECK(fires("w != ['cat', 'cow']", two));
  CHECK(fires("w[0] == 'cat' and w[1] != 'cat'", two));
}

TEST_CASE("A computed text is one that the attribute may have") {
  const std::string rules = R"(
signatures:
  acme.Act: {inputs: [x], attributes: {mode: {default: A, one_of: [A, B]}}, outputs: [y]}
rules:
  - name: r
    match: y = Tanh(x)
    let: {m: "'C' if rank(x) == 1 else 'B'"}
    replace: y = acme.Act<mode=m>(x)
)";
  CHECK_FALSE(Fires(rules, "x: float[2]\ny = Tanh(x)"));
  CHECK(Becomes(rules, "x: float[2, 2]\ny = Tanh(x)", "x: float[2, 2]\ny = acme.Act<mode='B'>(x)"));
}

TEST_CASE("The length of a row need not be a constant") {
  const std::string rules =
      "rules:\n  - {name: r, match: 'y = Reshape(x, s)', where: len(s) == 2, replace: 'y = "
      "Reshape(x, [0, -1])'}\n";
  CHECK(Fires(rules, "x: float[4]\ns: int64[2]\ny = Reshape(x, s)"));
  CHECK_FALSE(Fires(rules, "x: float[4]\ns: int64[3]\ny = Reshape(x, s)"));
  CHECK_FALSE(Fires(rules, "x: float[4]\ns: int64[N]\ny = Reshape(x, s)"));
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

TEST_CASE("An attribute that the operator cannot have is no replacement") {
  const auto rules = [](const std::string& perm) {
    return "rules: [{name: r, match: 'y = Neg(x)', replace: 'y = Transpose<perm=" + perm +
           ">(x)'}]";
  };
  CHECK(Fires(rules("[1, 0]"), "x: float[2, 2]\ny = Neg(x)"));
  CHECK_FALSE(Fires(rules("[0, 0]"), "x: float[2, 2]\ny = Neg(x)"));
}

TEST_CASE("`takes` looks at the types of the inputs, and at the opset") {
  const std::string rules =
      "rules: [{name: r, match: 'y = n:Relu|Mul(x, _?)', where: takes(n), replace: 'y = Tanh(x)'}, "
      "{name: s, match: 'y = n:Relu|Mul(x, _?)', where: not takes(n), replace: 'y = "
      "acme.Mine(x)'}]";
  const auto after = [&](const std::string& given, int64_t opset = 21) {
    return RunRules(rules, given, opset).graph;
  };
  CHECK(after("x: float[2]\ny = Relu(x)").find("Tanh") != std::string::npos);
  CHECK(after("x: int8[2]\ny = Relu(x)", 13).find("acme.Mine") != std::string::npos);
  CHECK(after("x: int8[2]\ny = Relu(x)").find("acme.Mine") == std::string::npos);
  CHECK(after("x: float[2]\nz: int8[2]\ny = Mul(x, z)").find("acme.Mine") != std::string::npos);
  CHECK(after("x: ?\ny = Relu(x)").find("Relu") != std::string::npos);  // not known
}

}  // namespace qrewrite
