// Replacements with dots: lists in lists, lists that are computed, lists in place of inputs.
#include <doctest/doctest.h>

#include <string>

#include "tests/support/rule_run.h"

namespace qrewrite {

using testing::Becomes;
using testing::Fires;

namespace {

constexpr const char* kOwn = R"(
signatures:
  npu.Cat: {inputs: ["xs..."], attributes: {axis: 0}, outputs: [y]}
  npu.Mix: {inputs: ["xs..."], outputs: [y]}
)";

std::string RuleOf(const std::string& match, const std::string& replace,
                   const std::string& more = "") {
  return std::string(kOwn) + "rules:\n  - name: r\n    match: " + match +
         "\n    replace: " + replace + "\n" + more;
}

}  // namespace

TEST_CASE("Dots within dots take lists of lists apart") {
  const std::string two = "y = Sum(Concat<axis=0>(x, x), Concat<axis=0>(z, x, x))\n";
  CHECK(Becomes(RuleOf("y = Sum(Concat<axis=k>(xs...)...)", "y = Sum(npu.Cat<axis=k>(xs...)...)"),
                "x: float[2]\nz: float[2]\n" + two,
                "x: float[2]\nz: float[2]\ny = Sum(npu.Cat(x, x), npu.Cat(z, x, x))"));
  // A new node for each member of each list, beside what is the same in all of them.
  CHECK(Becomes(RuleOf("y = Sum(npu.Mix(s, Concat<axis=_>(xs...))...)",
                       "y = Sum(npu.Mix(s, Mul(xs, s)...)...)"),
                "x: float[2]\ns: float[1]\nt: float[1]\n"
                "y = Sum(npu.Mix(s, Concat<axis=0>(x, x)), npu.Mix(t, Concat<axis=0>(s, x)))",
                "x: float[2]\ns: float[1]\nt: float[1]\n"
                "m = Mul(x, s)\ny = Sum(npu.Mix(s, m, m), npu.Mix(t, Mul(s, t), Mul(x, t)))"));
}

TEST_CASE("Functions, facts and comparisons go through lists of lists") {
  const auto rules = [](const std::string& where) {
    return RuleOf("y = Max(Concat<axis=k>(qs...)...)", "y = Min(Concat<axis=k>(qs...)...)",
                  "    where: " + where + "\ndefine:\n  half(v):\n    - v = Relu(_) => 1\n");
  };
  const std::string inputs = "a: float[1]\nb: float[1]\n";
  const std::string all = inputs + "y = Max(Concat<axis=0>(a, b), Concat<axis=0>(b, a))";
  for (const char* holds : {"dtype(qs) == FLOAT", "rank(qs) == 1", "shape(qs) == [1]",
                            "is_input(qs)", "uses(qs) == 2", "present(qs)", "not const(qs)"}) {
    CAPTURE(holds);
    CHECK(Fires(rules(holds), all));
  }
  CHECK_FALSE(Fires(rules("not is_input(qs)"), all));
  CHECK_FALSE(Fires(rules("dtype(qs) == INT8"), all));
  CHECK_FALSE(Fires(rules("$half(qs) == 1"), all));
  CHECK(Fires(
      rules("$half(qs) == 1"),
      inputs + "c = Relu(a)\nd = Relu(b)\ny = Max(Concat<axis=0>(c, d), Concat<axis=0>(d, c))"));
}

TEST_CASE("A list that is computed stands in front of dots") {
  const std::string rules = RuleOf("y = Mul(x, w)", "y = npu.Mix(x, members(w)...)",
                                   "    where: const(w) and rank(w) == 1\n");
  CHECK(Becomes(rules, "x: float[2]\ny = Mul(x, float[2] [1, 2])",
                "x: float[2]\ny = npu.Mix(x, 1.0, 2.0)"));
  CHECK_FALSE(Fires(rules, "x: float[2]\nw: float[2]\ny = Mul(x, w)"));
  const std::string beside = RuleOf("y = npu.Dot(w, xs...)", "y = Sum(Mul(xs, members(w))...)",
                                    "    where: const(w) and rank(w) == 1\n");
  const std::string dot = "a: float[2]\nb: float[2]\ny = npu.Dot(float[2] [3, 4], a, b)";
  CHECK(Becomes(beside, dot, "a: float[2]\nb: float[2]\ny = Sum(Mul(a, 3.0), Mul(b, 4.0))"));
  CHECK_FALSE(Fires(beside, "a: float[2]\ny = npu.Dot(float[2] [3, 4], a)"));
  const std::string asked =  // not one of them, where a function or an index asks for all
      RuleOf("y = npu.Dot(w, xs...)",
             "y = Sum(Max(xs, members(w)[0], cast(len(members(w)), FLOAT))...)",
             "    where: const(w) and rank(w) == 1\n");
  CHECK(
      Becomes(asked, dot, "a: float[2]\nb: float[2]\ny = Sum(Max(a, 3.0, 2.0), Max(b, 3.0, 2.0))"));
  for (const char* no_list : {"x..., w", "(x, w)...", "Neg(x)..."}) {
    CHECK_FALSE(Fires(RuleOf("y = Mul(x, w)", "y = npu.Mix(" + std::string(no_list) + ")"),
                      "x: float[2]\nw: float[2]\ny = Mul(x, w)"));
  }
}

TEST_CASE("A copy of a node with another value for each member of a list") {
  const std::string each =
      RuleOf("y = n:npu.Mix(xs...)", "y = n(xs -> Neg(xs)...)", "    where: is_input(xs)\n");
  CHECK(Becomes(each, "x: float[2]\nz: float[2]\ny = npu.Mix(x, z, x)",
                "x: float[2]\nz: float[2]\nn = Neg(x)\ny = npu.Mix(n, Neg(z), n)"));
  // One value in several places: in their order.
  const std::string groups =
      RuleOf("y = n:npu.Mix((x, s)...)", "y = n(x -> Mul(x, s)...)", "    where: is_input(x)\n");
  CHECK(Becomes(groups, "x: float[2]\ny = npu.Mix(x, 1.5, x, 2.5)",
                "x: float[2]\ny = npu.Mix(Mul(x, 1.5), 1.5, Mul(x, 2.5), 2.5)"));
  // Which of four places the two are is not told.
  CHECK_FALSE(Fires(groups, "x: float[2]\ny = npu.Mix(x, x, x, x)"));
}

TEST_CASE("A copy of a node passes on what is absent") {
  const std::string both =
      RuleOf("y = Sin(n:Conv<**_>(x, w, b?))", "y = n(x -> Neg(x), b -> Abs(b))");
  const std::string inputs = "x: float[1, 1, 2, 2]\nw: float[1, 1, 1, 1]\n";
  CHECK(Becomes(both, inputs + "y = Sin(Conv(x, w))", inputs + "y = Conv(Neg(x), w)"));
  CHECK(Becomes(both, inputs + "b: float[1]\ny = Sin(Conv(x, w, b))",
                inputs + "b: float[1]\ny = Conv(Neg(x), w, Abs(b))"));
  CHECK_FALSE(Fires(RuleOf("y = Sin(n:Conv<**_>(x, w, b?))", "y = n(b -> w)"),
                    inputs + "y = Sin(Conv(x, w))"));
}

TEST_CASE("A body is called with a list") {
  const std::string rules =
      RuleOf("y... = Loop<body=b>(1, true, xs...)", "c, y... = b(0, true, xs...)");
  CHECK(Becomes(rules,
                "x: float[2]\nz: float[2]\n"
                "u, v = Loop<body=(i: int64, c: bool, a: float[2], b: float[2]) => {\n"
                "  r = Relu(a)\n  s = Add(b, a)\n  return c, r, s\n}>(1, true, x, z)\nreturn u, v",
                "x: float[2]\nz: float[2]\nu = Relu(x)\nv = Add(z, x)\nreturn u, v"));
}

}  // namespace qrewrite
