// The fixed point of a phase: what is visited again, how much work that is, and where it ends.
#include <doctest/doctest.h>

#include <string>

#include "tests/support/rule_run.h"

using qrewrite::testing::Ran;
using qrewrite::testing::RunRules;

namespace {

std::string Chain(const char* op, int count, const char* last) {
  std::string text = "x: float[2]\n", at = "x";
  for (int i = 0; i < count; ++i) {
    const std::string next = "v" + std::to_string(i);
    text += next + " = " + op + "(" + at + ")\n";
    at = next;
  }
  return text + "y = " + last + "(" + at + ")\n";
}

size_t Occurrences(const std::string& text, const std::string& part) {
  size_t count = 0;
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++count;
  return count;
}

// Each firing frees the node before it.
constexpr const char* kBackward =
    "sets: {abs: [Abs]}\nrules: [{name: r, match: 'y = Relu(x)', where: 'uses(y, @abs) == "
    "uses(y)', "
    "replace: 'y = Abs(x)'}]";

// The rules fire at each of a chain of `op`; twice the chain takes about twice the visits.
void CheckVisitsGrowWith(int count, const char* rules, const char* op) {
  int64_t visits[2];
  for (const int k : {0, 1}) {
    const Ran ran = RunRules(rules, Chain(op, count << k, "Abs"));
    CHECK(ran.ok);
    CHECK(ran.report.rewrites == count << k);
    visits[k] = ran.report.visits;
  }
  CHECK(visits[1] < visits[0] * 5 / 2);
}

}  // namespace

TEST_CASE("A rule that propagates backward takes work in proportion to the chain") {
  CheckVisitsGrowWith(200, kBackward, "Relu");
}

TEST_CASE("A rule that needs a shape fires at once where a firing above made it known") {
  CheckVisitsGrowWith(
      100,
      "signatures: {acme.Op: {inputs: [x], outputs: [y]}}\n"
      "rules: [{name: r, match: 'y = acme.Op(x)', where: 'rank(x) == 1', replace: 'y = Abs(x)'}]",
      "acme.Op");
}

TEST_CASE("A phase that no operator can enter visits nothing") {
  const Ran ran = RunRules("rules: [{name: r, match: 'y = Sin(Relu(x))', replace: 'y = Abs(x)'}]",
                           Chain("Relu", 10, "Abs"));
  CHECK(ran.ok);
  CHECK(ran.report.visits == 0);
}

TEST_CASE("Pairs of many readers of one value end in an error that names rule and node") {
  std::string given = "x: float[2]\n", list;
  for (int i = 0; i < 3000; ++i) {
    const std::string a = "a" + std::to_string(i), b = "b" + std::to_string(i);
    given += a + " = Relu(x)\n" + b + " = Neg(x)\n";
    list += (list.empty() ? "" : ", ") + a + ", " + b;
  }
  const Ran ran = RunRules(R"(
rules:
  - name: pairs
    match: |
      a = Relu(x)
      b = Neg(x)
    where: rank(a) + rank(b) == 7
    replace: a = Neg(b)
)",
                           given + "return " + list + "\n");
  CHECK_FALSE(ran.ok);
  CHECK_MESSAGE(ran.graph.find("rule `pairs` at Neg") != std::string::npos, ran.graph);
  CHECK(ran.graph.find("too many steps") != std::string::npos);
}

TEST_CASE("What a rule asked for before is what that became") {
  // y = W(Max(a, P(a))) takes W to both operands; the second W(a) is the first one, which is
  // something else by then.
  const char* rules = R"(
signatures: {qr.W: {inputs: [x], outputs: [y]}}
rules:
  - {name: max, match: 'y = qr.W(Max(a, b))', replace: 'y = Max(qr.W(a), qr.W(b))'}
  - {name: pool, match: 'y = qr.W(Tanh(a))', replace: 'y = Tanh(qr.W(a))'}
  - {name: end, match: 'y = qr.W(Neg(a))', replace: 'y = a'}
)";
  for (const int depth : {2, 12}) {
    std::string text = "x: float[2]\nv0 = Neg(x)\n";
    for (int i = 0; i < depth; ++i) {
      const std::string v = "v" + std::to_string(i), next = "v" + std::to_string(i + 1);
      text += "t" + std::to_string(i) + " = Tanh(" + v + ")\n" + next + " = Max(" + v + ", t" +
              std::to_string(i) + ")\n";
    }
    const Ran ran = RunRules(rules, text + "y = qr.W(v" + std::to_string(depth) + ")\n");
    CHECK_MESSAGE(ran.ok, ran.graph);
    CHECK(Occurrences(ran.graph, "Tanh(") == static_cast<size_t>(depth));
    CHECK(Occurrences(ran.graph, "Max(") == static_cast<size_t>(depth));
    CHECK(ran.report.rewrites <= 4 * depth + 4);
  }
}

TEST_CASE("What nobody reads is no reader, and goes where a rule can begin") {
  constexpr const char* kRules = R"(
rules:
  - name: r
    match: |
      y = Neg(t)
      t = Abs(x)
    where: uses(t) == 1
    replace: y = x
)";
  const Ran ran =
      RunRules(kRules, "x: float[2]\nt = Abs(x)\ny = Neg(t)\nu = Exp(t)\nv = Sin(u)\nreturn y\n");
  CHECK(ran.ok);
  CHECK(ran.report.rewrites == 1);
  CHECK(ran.report.removed == 2);
  const Ran none = RunRules(kRules, "x: float[2]\ny = Exp(x)\nu = Sin(x)\nreturn y\n");
  CHECK(none.ok);
  CHECK(none.report.removed == 0);
}

TEST_CASE("Of equal outputs none takes the place of another one again and again") {
  constexpr const char* kRules =
      "rules: [{name: r, match: 'y = Identity(x)', where: is_output(x), replace: 'y = "
      "Neg(Neg(x))'}]";
  for (const int count : {3, 30}) {
    std::string given = "x: float[2]\na = Relu(x)\n", outputs = "a";
    for (int i = 0; i < count; ++i) {
      given += "b" + std::to_string(i) + " = Identity(a)\n";
      outputs += ", b" + std::to_string(i);
    }
    const Ran ran = RunRules(kRules, given + "return " + outputs + "\n");
    CHECK(ran.ok);
    CHECK(ran.report.rewrites == count);
    CHECK(Occurrences(ran.graph, "Identity") == 0);
  }
}

TEST_CASE("Names do not grow with the length of a rewrite") {
  const Ran ran = RunRules(
      "signatures: {qr.W: {inputs: [x], outputs: [y]}}\n"
      "rules: [{name: r, match: 'y = qr.W(Tanh(a))', replace: 'y = Tanh(qr.W(a))'}]",
      Chain("Tanh", 400, "qr.W"));
  CHECK_MESSAGE(ran.ok, ran.graph);
  CHECK(ran.report.rewrites == 400);
  CHECK(ran.graph.size() < 400 * 500);
  CHECK_MESSAGE(ran.graph.find("_W_W_W_W_W_W") == std::string::npos, ran.graph);
  CHECK_MESSAGE(ran.graph.find("_Tanh_Tanh_Tanh_Tanh_Tanh_Tanh") == std::string::npos, ran.graph);
}

TEST_CASE("A limit of folded bytes below nothing is nothing") {
  const char* rules =
      "params: {most: {default: 64MiB}}\nconstants: {max_bytes: params.most}\n"
      "phases: [{name: f, fold: all}]";
  const char* given = "x: float[2]\nc = Add(float[2] [1, 2], float[2] [3, 4])\ny = Add(x, c)";
  CHECK(RunRules(rules, given).report.folded == 1);
  CHECK(RunRules(rules, given, 21, {{"most", "-1"}}).report.folded == 0);
  CHECK(RunRules(rules, given, 21, {{"most", "4"}}).report.folded == 0);
}

TEST_CASE("Strings count as what they hold") {
  const std::string text(1000, 'a');
  const std::string given = "x: string[1]\nc = Concat<axis=0>(string[1] ['" + text +
                            "'], string[1] ['" + text + "'])\ny = Concat<axis=0>(x, c)";
  const char* rules =
      "params: {most: {default: 64MiB}}\nconstants: {max_bytes: params.most}\n"
      "phases: [{name: f, fold: all}]";
  CHECK(RunRules(rules, given).report.folded == 1);
  CHECK(RunRules(rules, given, 21, {{"most", "1500"}}).report.folded == 0);
}
