// The meaning of the language, by small rules on small graphs: rule text, graph text, result text.
#include <doctest/doctest.h>

#include "tests/support/rule_run.h"

using qrewrite::testing::Ran;
using qrewrite::testing::RunRules;

namespace {

struct Row {
  const char* what;
  const char* rules;
  const char* given;
  const char* result;  // "" : unchanged
};

const Row kRows[] = {
    {"a rule redefines, dead code goes by itself",
     "rules: [{name: r, match: 'y = Relu(Relu(x))', replace: 'y = Relu(x)'}]",
     "x: float[2]\nt = Relu(x)\ny = Relu(t)", "x: float[2]\ny = Relu(x)\n"},
    {"an interior value that is read elsewhere stays",
     "rules: [{name: r, match: 'y = Neg(Relu(x))', replace: 'y = Abs(x)'}]",
     "x: float[2]\nt = Relu(x)\ny = Neg(t)\nz = Exp(t)",
     "x: float[2]\ny = Abs(x)\nt = Relu(x)\nz = Exp(t)\n"},
    {"integers are compared exactly",
     "rules: [{name: r, match: 'y = Add(x, 9223372036854775807)', replace: 'y = Neg(x)'}]",
     "x: int64[1]\ny = Add(x, int64 9223372036854775806)", ""},
    {"and so are those in a list",
     "rules: [{name: r, match: 'y = Add(x, c)', where: 'c in [9007199254740992, 5]', replace: 'y = "
     "Neg(x)'}]",
     "x: int64[2]\ny = Add(x, int64[2] [9007199254740993, 5])", ""},
    {"NaN is in no list",
     "rules: [{name: r, match: 'y = Add(x, c)', where: 'c in [1, 2]', replace: 'y = Neg(x)'}]",
     "x: float[3]\ny = Add(x, float[3] [2, nan, 1])", ""},
    {"commutative operators match in both orders",
     "rules: [{name: r, match: 'y = Add(Relu(a), b)', where: 'uses(b) == 1', replace: 'y = Sub(a, "
     "b)'}]",
     "a: float[2]\nb: float[2]\nt = Relu(a)\ny = Add(b, t)",
     "a: float[2]\nb: float[2]\ny = Sub(a, b)\n"},
    {"an equal node that reads what is redefined is not used again",
     "sets: {neg: [Neg]}\nrules: [{name: r, match: 'y = Relu(x)', where: 'uses(y, @neg) == 1', "
     "replace: 'y = Abs(Relu(x))'}]",
     "x: float[2]\nt = Relu(x)\na = Abs(t)\nb = Neg(t)\nreturn a, b",
     "x: float[2]\nt_Relu = Relu(x)\nt = Abs(t_Relu)\na = Abs(t)\nb = Neg(t)\n"},
    {"nor is one that a new node would read",
     "sets: {neg: [Neg]}\nrules: [{name: r, match: 'y = Relu(x)', where: 'uses(y, @neg) == 1', "
     "replace: 'y = Exp(Abs(Relu(x)))'}]",
     "x: float[2]\nt = Relu(x)\na = Abs(t)\nb = Neg(t)\nreturn a, b",
     "x: float[2]\nt_Relu = Relu(x)\nt_Abs = Abs(t_Relu)\nt = Exp(t_Abs)\na = Abs(t)\nb = "
     "Neg(t)\n"},
    {"operators that are not commutative do not",
     "rules: [{name: r, match: 'y = Sub(Relu(a), b)', replace: 'y = Add(a, b)'}]",
     "a: float[2]\nb: float[2]\nt = Relu(a)\ny = Sub(b, t)", ""},
    {"an attribute that is not mentioned must be at its default",
     "rules: [{name: r, match: 'y = LeakyRelu(x)', replace: 'y = Relu(x)'}]",
     "x: float[2]\ny = LeakyRelu<alpha=0.5>(x)", ""},
    {"an attribute written at its default is at its default",
     "rules: [{name: r, match: 'y = LeakyRelu(x)', replace: 'y = Relu(x)'}]",
     "x: float[2]\ny = LeakyRelu<alpha=0.01>(x)", "x: float[2]\ny = Relu(x)\n"},
    {"computed defaults count as well",
     "rules: [{name: r, match: 'y = Transpose<perm=p>(x)', where: 'p == [1, 0]', replace: 'y = "
     "Relu(x)'}]",
     "x: float[2, 2]\ny = Transpose(x)", "x: float[2, 2]\ny = Relu(x)\n"},
    {"a retyped value must suit its readers",
     "rules: [{name: r, match: 'y = Relu(x)', where: 'is_input(x)', replace: 'y = x', retype: {x: "
     "STRING}}]",
     "x: float[2]\nt = Relu(x)\ny = Sin(t)", ""},
    {"as this one does",
     "rules: [{name: r, match: 'y = Relu(x)', where: 'is_input(x)', replace: 'y = x', retype: {x: "
     "INT8}}]",
     "x: float[2]\nt = Relu(x)\ny = Identity(t)", "x: int8[2]\ny = Identity(x)\n"},
    {"a rule is for the versions of other domains that it says",
     "rules: [{name: r, opset: {acme: '>=2'}, match: 'y = acme.Mix(x)', replace: 'y = Relu(x)'}]",
     "x: float[2]\ny = acme.Mix(x)", ""},
    {"and for all others",
     "rules: [{name: r, opset: {acme: '==1', zz: '>=2'}, match: 'y = acme.Mix(x)', replace: 'y = "
     "Relu(x)'}]",
     "x: float[2]\ny = acme.Mix(x)", "x: float[2]\ny = Relu(x)\n"},
    {"`absent` in a match is an input that is not there",
     "rules: [{name: r, match: 'y = Clip(x, absent, hi)', replace: 'y = Min(x, hi)'}]",
     "x: float[2]\ny = Clip(x, absent, 6.0)", "x: float[2]\ny = Min(x, 6.0)\n"},
    {"and no other",
     "rules: [{name: r, match: 'y = Clip(x, absent, hi)', replace: 'y = Min(x, hi)'}]",
     "x: float[2]\ny = Clip(x, 0.0, 6.0)", ""},
    {"at the end it says what the pattern says without it",
     "rules: [{name: r, match: 'y = Clip(x, lo, absent)', replace: 'y = Max(x, lo)'}]",
     "x: float[2]\ny = Clip(x, 0.0)", "x: float[2]\ny = Max(x, 0.0)\n"},
    {"a node that would lack a required attribute is not made",
     "rules: [{name: r, match: 'y = Gather<axis=a>(x, i)', let: {k: 'absent'}, replace: 'y = "
     "Concat<axis=k>(x, x)'}]",
     "x: float[2]\ni: int64[4]\ny = Gather(x, i)", ""},
    {"inside its own definition a matched name is what it was",
     "sets: {neg: [Neg]}\nrules: [{name: r, match: 'y = Relu(x)', where: 'uses(y, @neg) == 0', "
     "replace: 'y = Neg(y)'}]",
     "x: float[2]\nt = Relu(x)\ny = Abs(t)",
     "x: float[2]\nt_value = Relu(x)\nt = Neg(t_value)\ny = Abs(t)\n"},
    {"an input that is not mentioned must be absent",
     "rules: [{name: r, match: 'y = Clip(x, lo)', replace: 'y = Max(x, lo)'}]",
     "x: float[2]\ny = Clip(x, 0.0, 6.0)", ""},
    {"optional inputs are absent alike at the end and in the middle",
     "rules: [{name: r, match: 'y = Clip(x, lo?, hi)', where: 'not present(lo)', replace: 'y = "
     "Min(x, hi)'}]",
     "x: float[2]\ny = Clip(x, absent, 6.0)", "x: float[2]\ny = Min(x, 6.0)\n"},
    {"a literal matches whatever the shape",
     "rules: [{name: r, match: 'y = Mul(x, 0.5)', replace: 'y = Relu(x)'}]",
     "x: float[2]\nc = float[1] [0.5]\ny = Mul(x, c)", "x: float[2]\ny = Relu(x)\n"},
    {"a literal with ulps",
     "rules: [{name: r, match: 'y = Div(x, 1.4142135 ~ 4ulp)', replace: 'y = Relu(x)'}]",
     "x: float[2]\ny = Div(x, 1.4142137)", "x: float[2]\ny = Relu(x)\n"},
    {"a literal without ulps is exact",
     "rules: [{name: r, match: 'y = Div(x, 1.4142135)', replace: 'y = Relu(x)'}]",
     "x: float[2]\ny = Div(x, 1.4142137)", ""},
    {"variadic inputs bind a list and go on as one",
     "rules: [{name: r, match: 'y = Sum(xs...)', replace: 'y = "
     "Concat<axis=0>(Relu(xs)...)'}]\ntypes: unchecked",
     "a: float[2]\nb: float\ny = Sum(a, b)",
     "a: float[2]\nb: float\ny_Relu = Relu(a)\ny_Relu_1 = Relu(b)\ny = Concat<axis=0>(y_Relu, "
     "y_Relu_1)\n"},
    {"any one output",
     "rules: [{name: r, match: \"_..., t, _... = n:Split<**_>(x, _...)\\ny = Neg(t)\", replace: 'y "
     "= n(x -> Abs(x))'}]",
     "x: float[4]\na, b = Split<num_outputs=2>(x)\ny = Neg(b)\nz = Exp(a)",
     "x: float[4]\ny_Abs = Abs(x)\ny_Split, y = Split<num_outputs=2>(y_Abs)\n"
     "a, b = Split<num_outputs=2>(x)\nz = Exp(a)\nreturn y, z\n"},
    {"chains, shortest first, rebuilt on another value",
     "sets: {l: [Transpose, Reshape, Identity]}\n"
     "rules: [{name: r, match: \"t = c:@l*<**_>(q, _...)\\nq = Relu(x)\\ny = Neg(t)\", "
     "replace: 'y = c(q -> Abs(x))'}]",
     "x: float[2, 2]\na = Relu(x)\nb = Transpose(a)\nd = Identity(b)\ny = Neg(d)",
     "x: float[2, 2]\ny_Abs = Abs(x)\ny_Transpose = Transpose(y_Abs)\ny = Identity(y_Transpose)\n"},
    {"integer overflow is a reason, not a number",
     "rules: [{name: r, match: 'y = Add(x, c)', let: {d: 'i32(c * c)'}, replace: 'y = Mul(x, d)'}]",
     "x: int32[1]\ny = Add(x, int32 65536)", ""},
    {"unknown is never guessed",
     "rules: [{name: r, match: 'y = Relu(x)', where: 'rank(x) != 3', replace: 'y = Abs(x)'}]",
     "x: float\ny = Relu(x)", ""},
    {"what a rule made goes on being what another made of it",
     "phases: [{name: a, rules: [make]}, {name: b, rules: [turn]}, {name: c, rules: [again]}]\n"
     "rules:\n  - {name: make, match: y = Sin(x), replace: y = Neg(x)}\n"
     "  - {name: turn, match: y = Neg(x), replace: y = Abs(x)}\n"
     "  - {name: again, match: y = Cos(x), replace: y = Exp(Neg(x))}",
     "x: float[2]\ny = Sin(x)\nz = Cos(x)", "x: float[2]\ny = Abs(x)\nz = Exp(y)\nreturn y, z\n"},
    {"but not where that gave it other numbers",
     "phases: [{name: a, rules: [make]}, {name: b, rules: [turn]}, {name: c, rules: [again]}]\n"
     "rules:\n  - {name: make, match: y = Sin(x), replace: y = Neg(x)}\n"
     "  - {name: turn, equivalence: rescaled, match: y = Neg(x), replace: y = Abs(x)}\n"
     "  - {name: again, match: y = Cos(x), replace: y = Exp(Neg(x))}",
     "x: float[2]\ny = Sin(x)\nz = Cos(x)",
     "x: float[2]\ny = Abs(x)\nz_Neg = Neg(x)\nz = Exp(z_Neg)\n"},
    {"a result equal to what was there is no match",
     "rules: [{name: r, match: 'y = n:Relu(x)', replace: 'y = n<>(x)'}]",
     "x: float[2]\ny = Relu(x)", ""},
    {"a graph output keeps its name",
     "rules: [{name: r, match: 'y = Identity(x)', replace: 'y = x'}]",
     "x: float[2]\nt = Relu(x)\ny = Identity(t)", "x: float[2]\ny = Relu(x)\n"},
    {"between an input and an output an Identity stays",
     "rules: [{name: r, match: 'y = Identity(x)', replace: 'y = x'}]",
     "x: float[2]\ny = Identity(x)", ""},
    {"the type of a value that is read does not change",
     "rules: [{name: r, match: 'y = Relu(x)', replace: 'y = Cast<to=INT8>(x)'}]",
     "x: float[2]\ny = Relu(x)", ""},
    {"nor does its shape",
     "rules: [{name: r, match: 'y = Add(x, z)', where: 'const(z)', replace: 'y = x'}]",
     "x: float[3]\nz = zeros float[2, 3]\nt = Add(x, z)\ny = Relu(t)", ""},
    {"what nothing reads any more is not redefined for ever",
     "rules: [{name: r, match: 'y, m = Dropout<**_>(x, _?, _?)', replace: 'y = x'}]",
     "x: float[2]\ny, m = Dropout(x)\nz = Relu(y)",
     "x: float[2]\ny, m = Dropout(x)\nz = Relu(x)\nreturn m, z\n"},
    {"inputs that share a type agree",
     "rules: [{name: r, match: 'y = Relu(x)', replace: 'y = Add(x, i64([1, 2]))'}]",
     "x: float[2]\ny = Relu(x)", ""},
    {"several roots become one",
     "rules: [{name: r, match: \"y = Relu(x)\\nz = Neg(x)\", replace: \"t = Abs(x)\\ny = "
     "Exp(t)\\nz = Log(t)\"}]",
     "x: float[2]\nz = Neg(x)\ny = Relu(x)",
     "x: float[2]\ny_Abs = Abs(x)\nz = Log(y_Abs)\ny = Exp(y_Abs)\n"},
    {"several roots that depend on each other make no cycle",
     "rules: [{name: r, match: \"y = Add(x, a)\\nz = Mul(x, b)\", replace: \"s, t = foo.Two(x, a, "
     "b)\\ny = Abs(s)\\nz = Neg(t)\"}]",
     "x: float[2]\na: float[2]\ny = Add(x, a)\nz = Mul(x, y)", ""},
};

}  // namespace

TEST_CASE("Rules mean what the language says") {
  for (const Row& row : kRows) {
    CAPTURE(row.what);
    const Ran ran = RunRules(row.rules, row.given);
    INFO(ran.graph);
    CHECK(ran.ok);
    if (*row.result == 0) {
      CHECK_FALSE(ran.report.changed);
    } else {
      CHECK(ran.graph == row.result);
    }
  }
}

TEST_CASE("An endless rewrite is an error that names its rules") {
  const Ran ran = RunRules(
      "rules:\n  - {name: there, match: 'y = Relu(x)', replace: 'y = Neg(Abs(x))'}\n"
      "  - {name: back, match: 'y = Neg(Abs(x))', replace: 'y = Relu(x)'}",
      "x: float[2]\ny = Relu(x)");
  CHECK_FALSE(ran.ok);
  CHECK(ran.graph.find("`back`") != std::string::npos);
  CHECK(ran.graph.find("`there`") != std::string::npos);
}

TEST_CASE("Defaults are written, all of them or those that are named") {
  const char* given =
      "x: float[1, 1, 4, 4]\nw: float[1, 1, 3, 3]\ny = Conv<pads=[1, 1, 1, 1]>(x, w)";
  const Ran one = RunRules(
      "phases: [{name: a, write_defaults: [Conv, MaxPool], attributes: [strides]}]", given);
  CHECK(one.graph.find("Conv<pads=[1, 1, 1, 1], strides=[1, 1]>(x, w)") != std::string::npos);
  const Ran all = RunRules("phases: [{name: a, write_defaults: [Conv]}]", given);
  CHECK(RunRules("phases: [{name: a, write_defaults: all}]", given).graph == all.graph);
  CHECK(all.graph.find("group=1") != std::string::npos);
}

TEST_CASE("A growing rewrite is an error too") {
  const Ran ran =
      RunRules("rules: [{name: grow, match: 'y = Relu(x)', replace: 'y = Relu(Neg(x))'}]",
               "x: float[2]\ny = Relu(x)");
  CHECK_FALSE(ran.ok);
  CHECK(ran.graph.find("`grow`") != std::string::npos);
}

TEST_CASE("refuse names every node and the nearest rule, warn lets the model through") {
  const std::string given = "x: float[2]\nt = Relu(x)\ny = Relu(t)";
  const Ran refused = RunRules(
      "rules:\n  - {name: fix, match: 'y = Relu(x)', where: rank(x) == 3, replace: y = Abs(x)}\n"
      "  - {name: left, match: y = Relu(x), refuse: no Relu here}",
      given);
  CHECK_FALSE(refused.ok);
  CHECK(refused.graph.find("output `t`") != std::string::npos);
  CHECK(refused.graph.find("output `y`") != std::string::npos);
  CHECK(refused.graph.find("rule `fix` came nearest: `rank(x) == 3` is false") !=
        std::string::npos);
  const Ran warned = RunRules("rules: [{name: left, match: y = Relu(x), warn: careful}]", given);
  CHECK(warned.ok);
  CHECK(warned.report.warnings.size() == 2);
  CHECK_FALSE(warned.report.changed);
}

TEST_CASE("What refuse and warn say of a match") {
  const auto warnings = [](const std::string& rule, const std::string& given) {
    std::string text;
    for (const auto& f : RunRules("rules: [" + rule + "]", given).report.warnings)
      text += f.text + "\n";
    return text;
  };
  const std::string given =
      "x: float[2, 3]\ny = DequantizeLinear(QuantizeLinear(x, s), float inf)\ns = float 0.5";
  CHECK(warnings(
            "{name: r, match: 'q = QuantizeLinear(x, s)', warn: 'scale {s}, half of it {s / 2}'}",
            given) == "scale `s` = 0.5, half of it 0.25\n");
  CHECK(warnings(
            "{name: r, match: 'y = DequantizeLinear(q, s)', warn: 'of {shape(q)} and {dtype(q)}'}",
            given) == "of [2, 3] and UINT8\n");
  CHECK(warnings("{name: r, match: 'y = n:Relu(x)', warn: '{{{op(n)} of {name(x)}}}'}",
                 "x: float[2]\ny = Relu(x)") == "{`Relu` of `x`}\n");
  // Of what a rule replaces it tells as it was.
  CHECK(warnings("{name: r, match: 'y = Relu(x)', replace: y = Abs(x), warn: 'of {x}, {uses(x)}'}",
                 "x: float[2]\ny = Relu(x)") == "of `x`, 1\n");
  CHECK(warnings("{name: r, match: 'y = Relu(x)', warn: 'of {rank(x)}'}",
                 "x: float\nx2 = acme.F(x)\ny = Relu(x2)")
            .starts_with("of unknown (the rank of `x2` is not known)"));
}

TEST_CASE("Nodes that a rule refuses with other words are other errors, a few of them") {
  std::string given = "x: float[2]\n";
  for (int i = 0; i < 20; ++i)
    given += "y" + std::to_string(i) + " = Add(x, w" + std::to_string(i) + ")\nw" +
             std::to_string(i) + " = float " + std::to_string(i) + "\n";
  const Ran refused =
      RunRules("rules: [{name: r, match: 'y = Add(x, w)', refuse: 'no {w}'}]", given);
  CHECK_FALSE(refused.ok);
  CAPTURE(refused.graph);
  CHECK(refused.graph.find("(unnamed, output `y1`): no `w1` = 1 (rule `r`)") != std::string::npos);
  CHECK(refused.graph.find(" and 15 more: no `w") != std::string::npos);
}

TEST_CASE("A refused normal form is told by the operator that the model had") {
  const Ran refused = RunRules(
      "signatures: {qr.R: {inputs: [x], outputs: [y]}}\n"
      "rules:\n  - {name: spell, match: 'y = Relu(x)', replace: y = qr.R(x)}\n"
      "  - {name: move, match: 'y = qr.R(Neg(x))', replace: y = Neg(qr.R(x))}\n"
      "  - {name: left, match: y = qr.R(x), refuse: stays}",
      "x: float[2]\nt = Neg(x)\ny = Relu(t)");
  CHECK_FALSE(refused.ok);
  CAPTURE(refused.graph);
  CHECK(refused.graph.find("Relu (unnamed, output `") != std::string::npos);
}

TEST_CASE("Outputs that the match did not have are not made") {
  const std::string rules =
      "signatures:\n  acme.Two: {inputs: [x], outputs: [y, 'm?']}\n"
      "  acme.Cut: {inputs: [x], outputs: ['ys...']}\nrules:\n"
      "  - {name: a, match: 'y, m? = MaxPool<**a>(x)', replace: 'y, m = acme.Two(x)'}\n"
      "  - {name: b, match: 'ys... = Split<**a>(x, _?)', replace: 'ys... = acme.Cut(x)'}";
  const char* x = "x: float[1, 4, 4]\n";
  const auto graph = [&](const char* nodes) {
    return RunRules(rules, std::string(x) + nodes).graph;
  };
  CHECK(graph("y = MaxPool<kernel_shape=[1]>(x)\n") == std::string(x) + "y = acme.Two(x)\n");
  CHECK(graph("y, m = MaxPool<kernel_shape=[1]>(x)\n") == std::string(x) + "y, m = acme.Two(x)\n");
  CHECK(graph("a, _, c = Split<num_outputs=3>(x)\n") == std::string(x) + "a, _, c = acme.Cut(x)\n");
}

TEST_CASE("The order of nodes in the file does not matter") {
  const char* rules =
      "rules:\n  - {name: a, match: 'y = Add(Relu(x), z)', replace: 'y = Sub(x, z)'}\n"
      "  - {name: b, match: 'y = Mul(Sub(x, z), z)', replace: 'y = Abs(x)'}";
  const Ran one =
      RunRules(rules, "x: float[2]\nz: float[2]\nr = Relu(x)\ns = Add(z, r)\ny = Mul(z, s)");
  const Ran two =
      RunRules(rules, "x: float[2]\nz: float[2]\ny = Mul(z, s)\ns = Add(z, r)\nr = Relu(x)");
  CHECK(one.graph == two.graph);
  CHECK(one.graph == "x: float[2]\nz: float[2]\ny = Abs(x)\n");
}
