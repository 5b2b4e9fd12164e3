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

}  // namespace qrewrite
