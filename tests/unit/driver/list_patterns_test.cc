// Patterns with dots: lists that lead from one statement to another, values that are the same in each member.
#include <doctest/doctest.h>

#include <string>

#include "tests/support/rule_run.h"

namespace qrewrite {

using testing::Becomes;
using testing::Fires;

namespace {

// `more`: further lines of the rule.
std::string RuleOf(const std::string& match, const std::string& replace,
                   const std::string& more = "") {
  return "rules:\n  - name: r\n    match: " + match + "\n    replace: " + replace + "\n" + more;
}

std::string RuleIf(const std::string& where, const std::string& match, const std::string& replace) {
  return RuleOf(match, replace, "    where: " + where + "\n");
}

}  // namespace

TEST_CASE("A list leads to statements that share it") {
  const std::string split = R"(
rules:
  - name: r
    match: |
      xs... = Split<axis=_>(a, _)
      y = Concat<axis=_>(xs...)
    replace: y = a
)";
  const std::string parts = "a: float[4]\np, q = Split(a, [2, 2])\n";
  CHECK(Fires(split, parts + "y = Concat<axis=0>(p, q)\nreturn y"));
  CHECK_FALSE(Fires(split, parts + "y = Concat<axis=0>(q, p)\nreturn y"));
  CHECK_FALSE(Fires(split, parts + "y = Concat<axis=0>(p, q, p)\nreturn y"));
  // Down, and from a member that is no constant.
  const std::string readers = R"(
rules:
  - name: r
    match: |
      y = Concat<axis=_>(Relu(xs)...)
      z = Sum(xs...)
    replace: z = Max(xs...)
)";
  CHECK(Fires(readers,
              "a: float[2]\nb: float[2]\ny = Concat<axis=0>(Relu(a), Relu(b))\n"
              "z = Sum(a, b)\nreturn y, z"));
  const std::string constants = R"(
rules:
  - name: r
    match: |
      y = Concat<axis=_>(xs...)
      z = Sum(xs...)
    replace: z = Max(xs...)
)";
  CHECK(Fires(constants,
              "a: float[2]\ny = Concat<axis=0>([1.0, 2.0], a)\nz = Sum([1.0, 2.0], a)\n"
              "return y, z"));
}

TEST_CASE("A name that stands in front of no dots, too, is the same in each member") {
  const std::string rules = R"(
rules:
  - name: r
    match: |
      y = Concat<axis=0>(Mul(x, s)...)
      z = Abs(s)
    where: rank(s) == 1
    replace: y = Mul(Concat<axis=0>(x...), s)
)";
  const std::string inputs = "a: float[1]\nb: float[1]\ns: float[1]\nz = Abs(s)\n";
  CHECK(Fires(rules, inputs + "y = Concat<axis=0>(Mul(a, s), Mul(s, b))\nreturn y, z"));
  CHECK_FALSE(Fires(rules, inputs + "y = Concat<axis=0>(Mul(a, s), Mul(b, b))\nreturn y, z"));
  // Its conditions count, whether it was known before its members or is told by them.
  const std::string scalar = "a: float[1]\nb: float[1]\ns: float[]\nz = Abs(s)\n";
  CHECK_FALSE(Fires(rules, scalar + "y = Concat<axis=0>(Mul(a, s), Mul(s, b))\nreturn y, z"));
  // Very many members; and a name twice in each.
  std::string many, squares;
  for (int i = 0; i < 100; ++i) {
    many += std::string(i == 0 ? "" : ", ") + (i % 2 == 0 ? "Mul(a, s)" : "Mul(s, b)");
    squares += std::string(i == 0 ? "" : ", ") + (i % 2 == 0 ? "Mul(a, a)" : "Mul(b, b)");
  }
  CHECK(Fires(rules, inputs + "y = Concat<axis=0>(" + many + ")\nreturn y, z"));
  CHECK_FALSE(Fires(rules, inputs + "y = Concat<axis=0>(" + many + ", Mul(a, b))\nreturn y, z"));
  const std::string twice = R"(
rules:
  - name: r
    match: y = Concat<axis=0>(Mul(x, x)...)
    replace: y = Neg(Concat<axis=0>(x...))
)";
  CHECK(Fires(twice, inputs + "y = Concat<axis=0>(" + squares + ")\nreturn y, z"));
  CHECK(Fires(twice, inputs + "y = Concat<axis=0>(Mul(a, a), Mul(b, b))\nreturn y, z"));
  CHECK_FALSE(Fires(twice, inputs + "y = Concat<axis=0>(Mul(a, a), Mul(b, a))\nreturn y, z"));
}

TEST_CASE("A value that a definition is given is the same in each member") {
  const std::string rules = R"(
define:
  all_by(y, s):
    - y = Concat<axis=0>(Mul(_, s)...) => true
rules:
  - name: r
    match: |
      y = Concat<**_>(_...)
      z = Max(s, y)
    where: $all_by(y, s)
    replace: z = Neg(y)
)";
  const std::string inputs = "a: float[1]\nb: float[1]\ns: float[1]\n";
  CHECK(Fires(rules, inputs + "y = Concat<axis=0>(Mul(a, s), Mul(b, s))\nz = Max(s, y)"));
  CHECK_FALSE(Fires(rules, inputs + "y = Concat<axis=0>(Mul(a, s), Mul(b, a))\nz = Max(s, y)"));
}

TEST_CASE("A list of literals is a constant with these elements") {
  const std::string rules =
      "rules: [{name: r, match: 'y = Reshape(x, [0, -1])', replace: y = Flatten(x)}]";
  const std::string x = "x: float[2, 3, 4]\n";
  CHECK(Fires(rules, x + "y = Reshape(x, [0, -1])"));
  CHECK_FALSE(Fires(rules, x + "y = Reshape(x, [-1, 0])"));
  CHECK_FALSE(Fires(rules, x + "y = Reshape(x, [0, -1, 2])"));
  CHECK_FALSE(Fires(rules, x + "s: int64[2]\ny = Reshape(x, s)"));
  const std::string floats = "rules: [{name: r, match: 'y = Add(x, [0.1])', replace: y = Neg(x)}]";
  CHECK(Fires(floats, "x: float[1]\ny = Add(x, [0.1])"));
  CHECK(Fires(floats, "x: float16[1]\ny = Add(x, 0.1)"));
  CHECK_FALSE(Fires(floats, "x: float[1]\ny = Add(x, [0.0])"));
  const std::string narrow =
      "rules: [{name: r, match: 'y = DequantizeLinear<axis=0>([1, -2], s)', replace: y = Neg(s)}]";
  CHECK(Fires(narrow, "s: float[2]\ny = DequantizeLinear<axis=0>(int4[2] [1, -2], s)"));
  CHECK_FALSE(Fires(narrow, "s: float[2]\ny = DequantizeLinear<axis=0>(int4[2] [1, 2], s)"));
  const std::string texts =
      "rules: [{name: r, match: 'y = StringConcat(x, [1, 2])', replace: y = x}]";
  CHECK_FALSE(Fires(texts, "x: string[2]\ny = StringConcat(x, string[2] ['1', '2'])"));
}

TEST_CASE("A decimal literal equals the float attribute that is written so") {
  const auto fires = [](const std::string& attr, const std::string& where) {
    return Fires("rules: [{name: r, match: 'y = LeakyRelu<" + attr + ">(x)', where: '" + where +
                     "', replace: y = Neg(x)}]",
                 "x: float[2]\ny = LeakyRelu<alpha=0.1>(x)");
  };
  CHECK(fires("alpha=0.1", "true"));
  CHECK_FALSE(fires("alpha=0.1000001", "true"));
  CHECK(fires("alpha", "alpha == 0.1"));
  CHECK(fires("alpha", "alpha in [0.1, 0.2]"));
  CHECK(fires("alpha", "alpha <= 0.1 and alpha >= 0.1"));
  CHECK(fires("alpha", "alpha > 0.1"));  // these are exact
  CHECK_FALSE(fires("alpha", "alpha < 0.1"));
  CHECK_FALSE(fires("alpha", "alpha != 0.1"));
  CHECK_FALSE(fires("alpha", "alpha == 0.1000001"));
}

TEST_CASE("What is absent in a list, and the operators of labels in one") {
  const std::string zeros = R"(
rules:
  - name: r
    match: y = Concat<axis=0>(DequantizeLinear(x, s, z?)...)
    where: s == s[0] and (z ?? 0) == (z[0] ?? 0)
    replace: y = DequantizeLinear(Concat<axis=0>(x...), s[0], z[0])
)";
  const auto joined = [](const std::string& first, const std::string& second) {
    return "a: uint8[1]\nb: uint8[1]\ny = Concat<axis=0>(DequantizeLinear(a, 0.5" + first +
           "), DequantizeLinear(b, 0.5" + second + "))";
  };
  CHECK(Fires(zeros, joined("", "")));
  CHECK(Fires(zeros, joined(", 0", "")));
  CHECK(Fires(zeros, joined(", 3", ", 3")));
  CHECK_FALSE(Fires(zeros, joined(", 3", "")));
  const std::string labels = R"(
rules:
  - name: r
    match: y = Concat<axis=0>(n:Relu|Neg(x)...)
    where: all(op(n) == 'Relu')
    replace: y = Relu(Concat<axis=0>(x...))
)";
  const std::string inputs = "a: float[1]\nb: float[1]\n";
  CHECK(Fires(labels, inputs + "y = Concat<axis=0>(Relu(a), Relu(b))"));
  CHECK_FALSE(Fires(labels, inputs + "y = Concat<axis=0>(Relu(a), Neg(b))"));
}

TEST_CASE("A list of outputs is empty behind an optional output that is not there") {
  for (const std::string outs : {"y, m?, more...", "y, m?, _...", "y, more...", "y, m?"}) {
    CAPTURE(outs);
    const std::string rules =
        "rules: [{name: r, match: \"" + outs + " = Dropout(x)\", replace: y = x}]";
    CHECK(Fires(rules, "x: float[2]\ny = Dropout(x)\nz = Neg(y)\nreturn z"));
  }
}

TEST_CASE("A label in front of dots is one node for each member") {
  const std::string inputs = "a: float[2]\nb: float[2]\n";
  const std::string given = inputs + "y = Max(Relu(a), LeakyRelu<alpha=0.5>(b))\n";
  const std::string match = "y = Max(n:Relu|LeakyRelu<**r>(xs)...)";
  const std::string made = inputs + "y = Min(Relu(Neg(a)), LeakyRelu<alpha=0.5>(Neg(b)))\n";
  CHECK(Becomes(RuleOf(match, "y = Min(n<**r>(Neg(xs))...)"), given, made));
  CHECK(Becomes(RuleOf(match, "y = Min(n(xs -> Neg(xs))...)"), given, made));
  // A label of one node is the same in each member.
  CHECK(Becomes(RuleOf("y = Max(n:LeakyRelu<**r>(x), xs...)", "y = Min(n<**r>(xs)...)"),
                inputs + "y = Max(LeakyRelu<alpha=0.5>(a), a, b)\n",
                inputs + "y = Min(LeakyRelu<alpha=0.5>(a), LeakyRelu<alpha=0.5>(b))\n"));
}

TEST_CASE("Data of a label in front of dots is a list") {
  const std::string rules = R"(
sets:
  acts:
    Relu: {op: Neg, cost: 1}
    Sigmoid: {op: Abs, cost: 2}
rules:
  - name: r
    match: y = Max(n:@acts(xs)...)
    where: n.cost == [1, 2]
    replace: y = Max(n.op(xs)...)
)";
  const std::string inputs = "a: float[2]\nb: float[2]\n";
  CHECK(Becomes(rules, inputs + "y = Max(Relu(a), Sigmoid(b))\n",
                inputs + "y = Max(Neg(a), Abs(b))\n"));
  CHECK_FALSE(Fires(rules, inputs + "y = Max(Relu(a), Relu(b))\n"));
  CHECK_FALSE(Fires(rules, inputs + "y = Max(Relu(a))\n"));
}

TEST_CASE("One output among lists of those before and behind it") {
  const std::string any = R"(
rules:
  - name: r
    match: |
      as..., t, bs... = Split<**_>(x, s?)
      y = Relu(t)
    where: len(as) == 1
    replace: y = Sum(as..., t, bs...)
)";
  const std::string split = "x: float[3]\na, b, c = Split(x, [1, 1, 1])\n";
  CHECK(Becomes(any, split + "y = Relu(b)\nreturn y, a, b, c",
                split + "y = Sum(a, b, c)\nreturn y, a, b, c"));
  CHECK_FALSE(Fires(any, split + "y = Relu(a)\nreturn y, a, b, c"));
  const std::string last = R"(
rules:
  - name: r
    match: |
      as..., t = Split<**_>(x, _?)
      y = Concat<axis=0>(as..., Relu(t))
    replace: y = x
)";
  CHECK(Fires(last, split + "y = Concat<axis=0>(a, b, Relu(c))\nreturn y"));
  CHECK_FALSE(Fires(last, split + "y = Concat<axis=0>(b, a, Relu(c))\nreturn y"));
  CHECK_FALSE(Fires(last, split + "y = Concat<axis=0>(a, Relu(b))\nreturn y, c"));
  // The outputs that are listed are made anew.
  CHECK(Becomes(R"(
rules:
  - name: r
    match: as..., t, bs... = n:Split<axis=k>(Neg(x), s)
    where: len(as) == 1
    replace: as..., t, bs... = Split<axis=k>(x, s)
)",
                "x: float[3]\na, b, c = Split(Neg(x), [1, 1, 1])\nreturn a, b, c",
                "x: float[3]\na, b, c = Split(x, [1, 1, 1])\nreturn a, b, c"));
}

TEST_CASE("A list beside lists is compared with each of them") {
  const auto rules = [](const std::string& where) {
    return "define:\n  range(v):\n    - v = Clip(_, lo, hi) => [lo, hi]\n"
           "    - v = Sigmoid(_) => [0, 1]\n" +
           RuleIf(where, "y = Max(xs...)", "y = Min(xs...)");
  };
  const std::string inputs = "a: float[2]\nb: float[2]\n";
  const std::string both = inputs + "y = Max(Sigmoid(a), Sigmoid(b))\n";
  const std::string other = inputs + "y = Max(Sigmoid(a), Clip(b, 0.0, 2.0))\n";
  CHECK(Fires(rules("$range(xs) == [0, 1]"), both));
  CHECK_FALSE(Fires(rules("$range(xs) == [0, 1]"), other));
  CHECK(Fires(rules("\"[0, 1] == $range(xs)\""), both));
  CHECK(Fires(rules("$range(xs) == $range(xs)[0]"), both));
  CHECK_FALSE(Fires(rules("$range(xs) == $range(xs)[0]"), other));
  CHECK(Fires(rules("$range(xs) == [[0, 1], [0, 2]]"), other));
}

TEST_CASE("`let` names the outputs of an operator that has several") {
  const auto rules = [](const std::string& let, const std::string& made) {
    return RuleOf("y = Mul(x, w)", "y = " + made, "    where: const(w)\n    let: {" + let + "}\n");
  };
  const std::string given = "x: float[4]\ny = Mul(x, float[4] [1, 2, 3, 4])";
  CHECK(Becomes(rules("'a, b': 'Split<axis=0, num_outputs=2>(w)'", "Add(x, Concat<axis=0>(b, a))"),
                given,
                "x: float[4]\ny = Add(x, Concat<axis=0>(float[2] [3, 4], float[2] [1, 2]))"));
  CHECK(Becomes(rules("'v, i': 'TopK(w, [2])'", "Add(x, Concat<axis=0>(v, f32(i)))"), given,
                "x: float[4]\ny = Add(x, Concat<axis=0>(float[2] [4, 3], float[2] [3, 2]))"));
  // Of an operator that has one output, its parts.
  CHECK(Becomes(rules("'lo, hi': 'Concat<axis=0>([1.0], [2.0])'", "Sub(x, Add(lo, hi))"), given,
                "x: float[4]\ny = Sub(x, Add(1.0, 2.0))"));
  CHECK_FALSE(Fires(rules("'a, b, c': 'Split<axis=0, num_outputs=2>(w)'", "Mul(x, a)"), given));
}

TEST_CASE("Facts of signatures get repeated inputs as a list") {
  const auto rules = [](const std::string& facts, const std::string& where) {
    return "signatures: {npu.J: {inputs: [x, 'ws...'], outputs: {'ys...': {" + facts + "}}}}\n" +
           RuleIf(where, "y = Relu(t)", "y = Neg(t)");
  };
  const std::string given =
      "a: float[2]\nb: float[3]\nu, t = npu.J(a, a, b)\ny = Relu(t)\nreturn y, u";
  CHECK(Fires(rules("shape: '[len(ws)]'", "shape(t) == [2]"), given));
  CHECK(Fires(rules("shape: '[shape(ws[0])[0] + shape(ws[1])[0]]'", "shape(t) == [5]"), given));
  CHECK(Fires(rules("dtype: dtype(ws)", "dtype(t) == FLOAT"), given));
  CHECK(Fires(rules("dtype: 'dtype(ws[1])'", "dtype(t) == FLOAT"), given));
  // Of inputs that differ there is no common shape.
  CHECK_FALSE(Fires(rules("shape: shape(ws)", "rank(t) == 1"), given));
  CHECK(Fires(rules("shape: shape(ws)", "shape(t) == [3]"),
              "b: float[3]\nu, t = npu.J(b, b, b)\ny = Relu(t)\nreturn y, u"));
  const std::string computed =
      "signatures: {npu.J: {inputs: [x, 'ws...'], attributes: {n: {type: int, computed: len(ws)}}, "
      "outputs: [y]}}\n" +
      RuleOf("y = npu.J(x, ws...)", "y = Neg(x)");
  CHECK(Fires(computed, "a: float[2]\ny = npu.J<n=2>(a, a, a)"));
  CHECK_FALSE(Fires(computed, "a: float[2]\ny = npu.J<n=3>(a, a, a)"));
}

TEST_CASE("What repeats need not bind a name") {
  const auto rules = [](const std::string& inputs) {
    return "sets: {acts: [Relu, Abs]}\ndefine: {y = sub(x): [y = Relu(x)]}\n" +
           RuleOf("y = Sum(" + inputs + ")", "y = Max([1.0, 2.0], [1.0, 2.0])");
  };
  const std::string head = "a: float[2]\n";
  const std::string relus = head + "y = Sum(Relu(a), Relu(Neg(a)))",
                    mixed = head + "y = Sum(Relu(a), Neg(a))";
  for (const char* inputs : {"Relu(_)...", "@acts<**_>(_...)...", "$sub(_)...",
                             "Cast?<to=_>(Relu(_))...", "(Relu(_), Relu(_))..."}) {
    CAPTURE(inputs);
    CHECK(Fires(rules(inputs), relus));
    CHECK_FALSE(Fires(rules(inputs), mixed));
  }
  CHECK(Fires(rules("0.0..."), head + "y = Sum(0.0, float[2] 0)"));
  CHECK_FALSE(Fires(rules("0.0..."), head + "y = Sum(0.0, a)"));
  CHECK(Fires(rules("[1.0, 2.0]..."), head + "y = Sum([1.0, 2.0], [1.0, 2.0])"));
}

TEST_CASE("What is asked of values is asked of each member of a list") {
  const auto rules = [](const std::string& where) {
    return RuleIf(where, "y = Sum(DequantizeLinear(q, s, z?)...)",
                  "y = Max(DequantizeLinear(q, s, z)...)");
  };
  const std::string all =
      "q: int8[2]\ny = Sum(DequantizeLinear(q, 0.5, int8 1), DequantizeLinear(q, 0.25, int8 1))";
  const std::string one =
      "q: int8[2]\ny = Sum(DequantizeLinear(q, 0.5), DequantizeLinear(q, 0.25, int8 1))";
  CHECK(Fires(rules("present(z)"), all));
  CHECK_FALSE(Fires(rules("present(z)"), one));
  CHECK_FALSE(Fires(rules("not present(z)"), all));
  CHECK(Fires(rules("not present(z)"), one));
  const std::string none =
      "q: int8[2]\ny = Sum(DequantizeLinear(q, 0.5), DequantizeLinear(q, 0.25))";
  CHECK(Fires(rules("not any(present(z))"), none));
  CHECK_FALSE(Fires(rules("not any(present(z))"), one));
  CHECK(Fires(rules("any(is_input(q)) and not any(const(q))"), one));
  CHECK_FALSE(Fires(rules("any(const(q))"), one));
}

TEST_CASE("Shapes of a list are a list of shapes") {
  const auto rules = [](const std::string& where) {
    return RuleIf(where, "y = Sum(xs...)", "y = Max(xs...)");
  };
  const std::string sum = "y = Sum(a, b)\n";
  const std::string same = "a: float[3]\nb: float[3]\n" + sum,
                    broadcast = "a: float[3]\nb: float[1]\n" + sum;
  const std::string symbol = "a: float[N]\nb: float[N]\n" + sum,
                    open = "a: float[3]\nb: float\n" + sum;
  CHECK(Fires(rules("shape(xs) == [[3], [1]]"), broadcast));
  CHECK_FALSE(Fires(rules("shape(xs) == [[3], [1]]"), same));
  CHECK(Fires(rules("shape(xs) == [3]"), same));
  CHECK_FALSE(Fires(rules("shape(xs) == [3]"), broadcast));
  CHECK(Fires(rules("shape(xs)[0] == shape(xs)[1]"), symbol));
  CHECK(Fires(rules("shape(xs) == shape(y)"), symbol));
  CHECK_FALSE(Fires(rules("shape(xs) == shape(y)"), broadcast));
  // What nobody knows is neither equal nor different.
  CHECK_FALSE(Fires(rules("shape(xs) == [3]"), open));
  CHECK_FALSE(Fires(rules("not shape(xs) == [3]"), open));
  CHECK(Fires(rules("not shape(xs) == [3]"), broadcast));
}

TEST_CASE("A parameter that a case of a sub-pattern does not bind is absent") {
  const std::string rules = R"(
define:
  y = step(x, k):
    - y = Mul(x, k) when const(k)
    - y = Div(x, d) when const(d)
rules:
  - name: r
    match: y = Relu($step(x, k))
    where: (k ?? 1.0) > 0
    replace: y = Neg(x)
)";
  CHECK(Fires(rules, "x: float[2]\ny = Relu(Div(x, -2.0))"));
  CHECK(Fires(rules, "x: float[2]\ny = Relu(Mul(x, 2.0))"));
  CHECK_FALSE(Fires(rules, "x: float[2]\ny = Relu(Mul(x, -2.0))"));
}

}  // namespace qrewrite
