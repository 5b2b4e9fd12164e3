// Lists of which some members are not known, absent, or of another type; and what stands where one is wanted.
#include <doctest/doctest.h>

#include <string>

#include "tests/support/rule_run.h"

namespace qrewrite {

using testing::Becomes;
using testing::Fires;

namespace {

const std::string kNegated = R"(
define:
  neg(v):
    - v = Neg(_) => true
    - v = Relu(_) => false
)";

std::string Asked(const std::string& match, const std::string& where) {
  return kNegated + "rules:\n  - name: r\n    match: " + match + "\n    where: " + where +
         "\n    replace: y = Abs(x)\n";
}

}  // namespace

TEST_CASE("What is not known of one member does not hide what decides") {
  const std::string unknown_true = "x: float[2]\ny = Sum(x, Neg(x))";
  const std::string unknown_false = "x: float[2]\ny = Sum(x, Relu(x))";
  const std::string all_true = "x: float[2]\ny = Sum(x, Neg(x), Neg(x))";
  const std::string match = "y = Sum(x, ys...)";
  const auto asked = [&](const std::string& where) { return Asked(match, where); };
  CHECK(Fires(asked("any($neg(ys))"), unknown_true));
  CHECK_FALSE(Fires(asked("any($neg(ys))"), unknown_false));
  CHECK(Fires(asked("all($neg(ys))"), all_true));
  const std::string mixed = "x: float[2]\ny = Sum(x, x, Relu(x))";  // unknown, false
  CHECK(Fires(asked("not all($neg(ys))"), mixed));
  CHECK(Fires(asked("not $neg(ys)"), mixed));
  CHECK_FALSE(Fires(asked("$neg(ys)"), mixed));
  const std::string one = "x: float[2]\ny = Sum(x, x, Neg(x))";  // unknown, true
  CHECK(Fires(asked("any($neg(ys))"), one));
  CHECK_FALSE(Fires(asked("all($neg(ys))"), one));
  CHECK_FALSE(Fires(asked("not all($neg(ys))"), one));
}

TEST_CASE("The same of a list that is written") {
  const std::string match = "y = Add(x, b)";
  const std::string given = "x: float[2]\ny = Add(x, Neg(x))";
  CHECK(Fires(Asked(match, "any([$neg(x), $neg(b)])"), given));
  CHECK_FALSE(Fires(Asked(match, "all([$neg(x), $neg(b)])"), given));
  CHECK(Fires(Asked(match, "not all([$neg(x), not $neg(b)])"), given));
  CHECK_FALSE(Fires(Asked(match, "known([$neg(x), $neg(b)])"), given));
}

TEST_CASE("The same of a list that has a name, and of what functions ask of each member") {
  const std::string given = "x: float[2]\ny = Sum(x, x, Neg(x))";  // unknown, true
  const auto rules = [](const std::string& value, const std::string& where) {
    return kNegated + "rules:\n  - name: r\n    match: y = Sum(x, ys...)\n    let: {fs: \"" +
           value + "\"}\n    where: " + where + "\n    replace: y = Abs(x)\n";
  };
  CHECK(Fires(rules("$neg(ys)", "any(fs) and true in fs and not known(fs)"), given));
  CHECK_FALSE(Fires(rules("$neg(ys)", "all(fs)"), given));
  CHECK_FALSE(Fires(rules("$neg(ys)", "false in fs"), given));
  const std::string ranks = "x: float[2]\ny = Sum(x, acme.A(x), x)";
  CHECK(Fires(rules("rank(ys)", "1 in fs and len(fs) == 2 and not known(fs)"), ranks));
  CHECK_FALSE(Fires(rules("rank(ys)", "fs == 1"), ranks));
  CHECK_FALSE(Fires(rules("rank(ys)", "2 in fs"), ranks));
}

TEST_CASE("`in` looks into what is asked of each member") {
  const std::string rules =
      "rules:\n  - name: r\n    match: y = Concat<axis=0>(Cast?<to=_>(xs)...)\n"
      "    where: FLOAT in dtype(xs) and 2 in rank(xs)\n"
      "    replace: y = Tile(xs[1], i64([2, 1]))\n";
  CHECK(Fires(rules,
              "h: float16[2,1]\nx: float[2,1]\n"
              "y = Concat<axis=0>(Cast<to=FLOAT16>(x), h)"));
  CHECK_FALSE(Fires(rules, "h: float16[2,1]\ny = Concat<axis=0>(h, h)"));
  CHECK_FALSE(
      Fires(rules, "h: float16[2]\nx: float[2]\ny = Concat<axis=0>(Cast<to=FLOAT16>(x), h)"));
  const std::string chain =
      "rules:\n  - name: r\n    match: y = Sinh(c:Cast|Identity+<**_>(x))\n"
      "    where: FLOAT16 in dtype(inner(c))\n    replace: y = Sinh(x)\n";
  CHECK(Fires(chain, "x: float[2]\ny = Sinh(Cast<to=FLOAT>(Identity(Cast<to=FLOAT16>(x))))"));
  CHECK_FALSE(Fires(chain, "x: float[2]\ny = Sinh(Cast<to=FLOAT>(Cast<to=DOUBLE>(x)))"));
}

TEST_CASE("A sub-pattern is called with `absent` for what a case does not bind") {
  const std::string rules = R"(
define:
  y = outer(x, m):
    - match: y = Add(x, b)
      let: {m: 'max(b)'}
    - match: y = Sub(x, m)
    - match: y = Neg(x)
rules:
  - name: r
    match: y = Exp($outer(x, absent))
    replace: y = Cos(x)
)";
  CHECK(Becomes(rules, "x: float[2]\ny = Exp(Neg(x))", "x: float[2]\ny = Cos(x)"));
  CHECK_FALSE(Fires(rules, "x: float[2]\ny = Exp(Add(x, 0.0))"));
  CHECK_FALSE(Fires(rules, "x: float[2]\ny = Exp(Sub(x, 0.0))"));
}

TEST_CASE("Operands that commute are tried in both orders however the second one is written") {
  const std::string signature =
      "signatures:\n  acme.M: {inputs: [a, \"b?\", \"rest...\"], outputs: {y: {shape: shape(a), "
      "dtype: dtype(a)}}, commutative: true}\n";
  const auto rules = [&](const std::string& match) {
    return signature + "rules:\n  - name: r\n    match: y = " + match +
           "\n    replace: y = Abs(a)\n";
  };
  const std::string io = "x: float[2]\nz: float[2]\n", becomes = io + "y = Abs(x)";
  CHECK(Becomes(rules("acme.M(Relu(a), rest...)"), io + "y = acme.M(z, Relu(x))", becomes));
  CHECK_FALSE(Fires(rules("acme.M(Relu(a), rest...)"), io + "y = acme.M(z, Relu(x), z)"));
  CHECK(Becomes(rules("acme.M(Relu(a), b=Neg(b))"), io + "y = acme.M(Neg(z), Relu(x))", becomes));
  CHECK(Becomes(rules("Add(Relu(a), B=Neg(b))"), io + "y = Add(Neg(z), Relu(x))", becomes));
  CHECK_FALSE(Fires(rules("Sub(Relu(a), B=Neg(b))"), io + "y = Sub(Neg(z), Relu(x))"));
}

TEST_CASE("The operator of a label is computed") {
  const std::string rules =
      "rules:\n  - name: r\n    match: y = Neg(n:LeakyRelu|Elu<**a>(w))\n    where: const(w)\n"
      "    let: {v: \"n<**a>(w)\"}\n    replace: y = Abs(v)\n";
  CHECK(Becomes(rules, "y = Sin(Neg(LeakyRelu<alpha=0.5>(float[2] [-1, 1])))",
                "y = Sin(Abs(float[2] [-0.5, 1]))"));
  CHECK(Becomes(rules, "y = Sin(Neg(Elu(float[1] [2])))", "y = Sin(Abs(float[1] [2]))"));
}

TEST_CASE("Constants of four bits have a least and a largest element") {
  const auto rules = [](const std::string& where) {
    return "rules:\n  - name: r\n    match: y = Neg(Cast<to=INT8>(w))\n    where: " + where +
           "\n    replace: y = Abs(Cast<to=INT8>(w))\n";
  };
  const std::string given = "w = int4[3] [-8, 7, 1]\ny = Neg(Cast<to=INT8>(w))";
  CHECK(Fires(rules("max(w) == 7 and min(w) == -8"), given));
  CHECK_FALSE(Fires(rules("max(w) == 6"), given));
  CHECK(Fires(rules("dtype(max(w)) == INT4"), given));
  CHECK(Fires(rules("max(w) == 15"), "w = uint4[2] [15, 0]\ny = Neg(Cast<to=INT8>(w))"));
}

TEST_CASE("A new type suits who reads the value and who makes it") {
  const auto rules = [](const std::string& match, const std::string& replace,
                        const std::string& retype) {
    return "rules:\n  - name: r\n    match: y = " + match + "\n    replace: y = " + replace +
           "\n    retype: {" + retype + "}\n";
  };
  const std::string given = "x: float[2]\ny = Sin(x)";
  CHECK_FALSE(Fires(rules("Sin(x)", "Cos(x)", "x: INT8"), given));  // no Cos of integers
  CHECK_FALSE(Fires(rules("Sin(x)", "Cos(x)", "y: INT8"), given));  // it gives floats
  CHECK(Fires(rules("Sin(x)", "Cast<to=INT8>(x)", "y: INT8"), given));
  CHECK(Fires(rules("Sin(x)", "Sin(Cast<to=FLOAT>(x))", "x: INT8"), given));
  // Another reader that stays.
  CHECK_FALSE(Fires(rules("Sin(x)", "Sin(Cast<to=FLOAT>(x))", "x: INT8"),
                    "x: float[2]\ny = Sin(x)\nz = Tan(x)"));
  CHECK(Fires(rules("Sin(Tan(x))", "Sin(Cast<to=FLOAT>(x))", "x: INT8"),
              "x: float[2]\ny = Sin(Tan(x))"));
}

TEST_CASE("Numbers in plain data may be lists with fractions") {
  const std::string rules = R"(
sets: {s: {Relu: {ws: [0.5, 2]}}}
params: {t: {default: [1, 0.25]}}
rules:
  - name: r
    match: y = n:@s(x)
    replace: y = Add(Mul(x, f32(n.ws)), f32(params.t))
)";
  CHECK(Becomes(rules, "x: float[2]\ny = Relu(x)",
                "x: float[2]\ny = Add(Mul(x, float[2] [0.5, 2]), float[2] [1, 0.25])"));
}

}  // namespace qrewrite
