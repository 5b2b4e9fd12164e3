// Rules that go deeper than anybody writes by hand: they run, or end with an error that names the rule.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include "tests/support/rule_run.h"
#include "tests/support/small_stack.h"

namespace qrewrite {
namespace {

using testing::OnSmallStack;
using testing::Ran;
using testing::RunRules;

std::string Chain(const std::string& op, int length) {
  std::string text = "x: float[2]\nv0 = Relu(x)\n";
  for (int i = 0; i < length; ++i) text += fmt::format("v{} = {}(v{})\n", i + 1, op, i);
  return text + fmt::format("y = Sigmoid(v{})\nreturn y\n", length);
}

Ran RunOnSmallStack(const std::string& yaml, const std::string& graph) {
  Ran ran;
  OnSmallStack([&] { ran = RunRules(yaml, graph); });
  return ran;
}

// Either it did what it says, or the error says which rule cannot be run here.
void CheckEnds(const std::string& yaml, const std::string& graph) {
  const Ran ran = RunOnSmallStack(yaml, graph);
  CAPTURE(ran.graph);
  if (ran.ok) {
    CHECK_FALSE(ran.report.rules.empty());
  } else {
    CHECK(ran.graph.find("rule `r` at ") != std::string::npos);
    CHECK(ran.graph.find("too deep for the stack of this thread") != std::string::npos);
  }
}

std::string LongPattern(int statements) {
  std::string match;
  for (int i = 0; i < statements; ++i) match += fmt::format("      v{} = Neg(v{})\n", i + 1, i);
  return fmt::format("rules:\n  - name: r\n    match: |\n{}    replace: v{} = Abs(v0)\n", match,
                     statements);
}

std::string ManyLets(int count) {
  std::string lets = "      a0: rank(x)\n";
  for (int i = 0; i < count; ++i) lets += fmt::format("      a{}: a{} + 1\n", i + 1, i);
  return fmt::format(
      "rules:\n  - name: r\n    match: y = Sigmoid(x)\n    let:\n{}    where: a{} > 1\n"
      "    replace: y = Tanh(x)\n",
      lets, count);
}

// Each statement needs the one below it.
std::string LongReplacement(const std::string& call, int statements) {
  std::string replace;
  for (int i = statements; i > 0; --i)
    replace += fmt::format("      b{} = {}\n", i, fmt::format(fmt::runtime(call), i - 1));
  return fmt::format(
      "rules:\n  - name: r\n    match: y = Sigmoid(x)\n    replace: |\n      y = Tanh(b{})\n{}"
      "      b0 = Abs(x)\n",
      statements, replace);
}

}  // namespace

TEST_CASE("Deep rules: patterns, values and replacements do not pass the end of a small stack") {
  CheckEnds(LongPattern(20), Chain("Neg", 20));
  CheckEnds(LongPattern(1000), Chain("Neg", 1000));
  CheckEnds(ManyLets(20), Chain("Neg", 1));
  CheckEnds(ManyLets(5000), Chain("Neg", 1));
  CheckEnds(LongReplacement("Neg(b{})", 20), Chain("Neg", 1));
  CheckEnds(LongReplacement("Neg(b{})", 5000), Chain("Neg", 1));
  CheckEnds(LongReplacement("b{}", 5000), Chain("Neg", 1));
  // What is short fits.
  CHECK(RunOnSmallStack(LongPattern(20), Chain("Neg", 20)).ok);
  CHECK(RunOnSmallStack(ManyLets(100), Chain("Neg", 1)).ok);
  CHECK(RunOnSmallStack(LongReplacement("Neg(b{})", 50), Chain("Neg", 1)).ok);
}

TEST_CASE("Deep rules: a kernel at the end of a small stack has what it needs") {
  const std::string rules =
      "define:\n  deep(n, w):\n    - when n == 0 => max(MatMul(w, w))\n"
      "    - => $deep(n - 1, w) + 0.0\n"
      "rules:\n  - name: r\n    match: y = MatMul(x, w)\n    where: [\"$deep(120, w) > 0.0\"]\n"
      "    replace: y = Tanh(x)\n";
  CheckEnds(rules, "x: float[200, 200]\ny = MatMul(x, random float[200, 200])\n");
}

TEST_CASE("Deep rules: a list that grows inward along a model has a stated depth") {
  const std::string rules =
      "define:\n  around(v):\n    - v = Neg(p) => [$around(p)]\n    - => [[]]\n"
      "rules:\n  - name: r\n    match: y = Sigmoid(x)\n    where: len($around(x)) == 1\n"
      "    replace: y = Tanh(x)\n";
  CHECK(RunOnSmallStack(rules, Chain("Neg", 50)).graph.find("Tanh") != std::string::npos);
  const Ran deep = RunOnSmallStack(rules, Chain("Neg", 20'000));
  CHECK(deep.ok);
  CHECK(deep.report.rules.empty());
}

}  // namespace qrewrite
