// Nodes with very many outputs or inputs: searches go to what can fit.
#include <doctest/doctest.h>

#include <string>

#include "tests/support/rule_run.h"

namespace qrewrite {
namespace {

// "y0, y1, ... = Split<..>(q)", and a Relu of each.
std::string WideSplit(int n) {
  std::string outputs, relus, returned;
  for (int i = 0; i < n; ++i) {
    const std::string k = std::to_string(i);
    outputs += (i == 0 ? "s" : ", s") + k;
    relus += "y" + k + " = Relu(s" + k + ")\n";
    returned += (i == 0 ? "return y" : ", y") + k;
  }
  return "x: float[" + std::to_string(n) + "]\n" + outputs +
         " = Split<axis=0, num_outputs=" + std::to_string(n) + ">(x)\n" + relus + returned;
}

double StepsPerOutput(const std::string& rules, int n) {
  const testing::Ran ran = testing::RunRules(rules, WideSplit(n));
  REQUIRE_MESSAGE(ran.ok, ran.graph);
  CHECK(ran.report.rewrites == n);
  return static_cast<double>(ran.report.steps) / n;
}

}  // namespace

TEST_CASE("Match: the outputs of a wide node are taken one by one in linear time") {
  const std::string from_reader =
      "rules:\n  - {name: r, match: \"_..., s, _... = Split<**_>(q, _...)\\ny = Relu(s)\", "
      "replace: y = Abs(s)}\n";
  CHECK(StepsPerOutput(from_reader, 400) < 1.2 * StepsPerOutput(from_reader, 100));
}

TEST_CASE("Match: `_...` in front of a name that is known") {
  const auto found = [](const std::string& next) {
    const testing::Ran ran = testing::RunRules(
        "rules:\n  - name: r\n    match: |\n      a = Abs(x)\n"
        "      y = Concat<**_>(_..., a, " +
            next + ", _...)\n    warn: found\n",
        "x: float[2]\na = Abs(x)\nn = Neg(x)\ny = Concat<axis=0>(n, a, n, a, Exp(x), n)");
    REQUIRE_MESSAGE(ran.ok, ran.graph);
    return ran.report.warnings.size();
  };
  CHECK(found("Neg(x)") == 1);
  CHECK(found("Exp(x)") == 1);  // behind the second `a`
  CHECK(found("Abs(x)") == 0);
}

namespace {

// A rule for a Sub and a Mul that read the same two values, on n Subs of x with n numbers; `others`
// reads x as well.
testing::Ran SubsAndMuls(int n, const std::string& others) {
  std::string graph = "x: float[4]\n";
  for (int i = 0; i < n; ++i) {
    const std::string k = std::to_string(i);
    graph += "s" + k + " = Sub(x, " + k + ".5)\nm" + k + " = Mul(x, -" + k + ".5)\n";
  }
  return testing::RunRules(
      "rules:\n  - name: r\n    match: |\n      p = Sub(x, s)\n      q = Mul(x, s)\n"
      "    where: not const(x)\n    warn: found\n",
      graph + others);
}

}  // namespace

// x has so many readers that they are looked up by what else they read.
TEST_CASE("Match: two readers of a wide value that read the same number") {
  const auto found = [](const std::string& others) {
    const testing::Ran ran = SubsAndMuls(100, others);
    REQUIRE_MESSAGE(ran.ok, ran.graph);
    return ran.report.warnings.size();
  };
  CHECK(found("") == 0);
  CHECK(found("q = Mul(x, 7.5)") == 1);
  CHECK(found("q = Mul(7.5, x)") == 1);  // either operand may be the one
  CHECK(found("q = Mul(x, float[1] [7.5])") == 1);
  CHECK(found("q = Mul(x, 7.5)\nr = Mul(x, 99.5)\nt = Mul(x, 100.5)") == 2);
  CHECK(found("n = Neg(x)\nq = Mul(x, n)") == 0);
  CHECK(found("n = Neg(x)\nq = Mul(x, n)\np = Sub(x, n)") == 1);
  CHECK(found("q = Mul(x, float[1,1] [7.5])\nr = Mul(x, float[2] [8.5, 8.5])") == 1);
}

TEST_CASE("Match: two readers of a wide value that do not fit are found in linear time") {
  const auto steps = [](int n) { return static_cast<double>(SubsAndMuls(n, "").report.steps) / n; };
  CHECK(steps(800) < 1.2 * steps(200));
}

}  // namespace qrewrite
