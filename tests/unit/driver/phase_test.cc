// Phases: what finds something, opset upgrades that lack something, how conditions shorten a search.
#include <doctest/doctest.h>

#include <string>

#include "tests/support/rule_run.h"

namespace qrewrite {
namespace {

using testing::Ran;
using testing::RunRules;

}  // namespace

TEST_CASE("An opset upgrade refuses what lacks all of what it needs one of") {
  const std::string rules = R"(
opset: ">=13"
phases: [{name: up, to_opset: 18, rules: []}]
)";
  const Ran bare = RunRules(rules, "x: float[4]\na, b = Split(x)", 13);
  CHECK_FALSE(bare.ok);
  CHECK_MESSAGE(
      bare.graph.find("needs its split or its num_outputs at opset 18") != std::string::npos,
      bare.graph);
  CHECK(RunRules(rules, "x: float[4]\na, b = Split(x, [1, 3])", 13).ok);
}

TEST_CASE("What finds something sees what the rewriting rules of its phase leave") {
  const std::string rules = R"(
rules:
  - {name: left, match: y = Neg(x), KIND: no Neg here}
  - {name: fuse, match: y = Relu(Neg(x)), replace: y = Abs(x)}
)";
  for (const std::string kind : {"refuse", "warn"}) {
    std::string text = rules;
    text.replace(text.find("KIND"), 4, kind);
    const Ran fused = RunRules(text, "x: float[2]\ny = Relu(Neg(x))");
    CHECK_MESSAGE(fused.ok, fused.graph);
    CHECK(fused.report.warnings.empty());
    const Ran both = RunRules(text, "x: float[2]\ny = Relu(Neg(x))\nz = Neg(Cos(x))");
    CHECK(both.ok == (kind == "warn"));
    CHECK((both.ok ? both.report.warnings.size() == 1
                   : both.graph.find("no Neg") != both.graph.npos));
  }
}

TEST_CASE("A phase may wait for what the last phase that folds has folded") {
  const std::string rules = R"(
phases:
  - {name: fold, fold: all}
  - {name: fold-again, fold: all}
  - {name: settle, when: folded, rules: [double]}
rules:
  - {name: double, match: y = Add(x, k), replace: y = Sub(x, k)}
)";
  const std::string negated = "x: float[2]\ny = Add(x, Neg(float[2] 1))";
  // The first fold does not count.
  CHECK(RunRules(rules, negated).graph.find("Add") != std::string::npos);
  std::string once = rules;
  once.erase(once.find("  - {name: fold-again"),
             std::string("  - {name: fold-again, fold: all}\n").size());
  CHECK(RunRules(once, negated).graph.find("Sub") != std::string::npos);
  std::string late = rules;
  late.erase(late.find("  - {name: fold,"), std::string("  - {name: fold, fold: all}\n").size());
  CHECK(RunRules(late, negated).graph.find("Sub") != std::string::npos);
  CHECK(RunRules(late, "x: float[2]\ny = Add(x, 1.0)").graph.find("Add") != std::string::npos);
}

TEST_CASE("Conditions joined by `and` shorten a search as a list of them does") {
  const std::string match = R"(
rules:
  - name: merge
    match: |
      q = MatMul(x, a)
      k = MatMul(x, b)
      v = MatMul(x, c)
    where: WHERE
    replace: q, k, v = Split<axis=-1>(MatMul(x, a), [3, 3, 3])
)";
  std::string given = "x: float[2, 3]\n";
  for (int i = 0; i < 120; ++i) {
    const std::string n = std::to_string(i);
    given += "w" + n + ": float[3, 3]\ny" + n + " = MatMul(x, w" + n + ")\n";
  }
  for (const std::string where :
       {"const(a) and const(b) and const(c)", "[const(a), const(b), const(c)]"}) {
    std::string rules = match;
    rules.replace(rules.find("WHERE"), 5, where);
    const Ran ran = RunRules(rules, given);
    CHECK_MESSAGE(ran.ok, ran.graph.substr(0, 300));
  }
}

}  // namespace qrewrite
