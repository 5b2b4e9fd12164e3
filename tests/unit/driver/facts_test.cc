// Facts that ask for facts: what is unknown stays where it is, rings, what lies deep.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <string>

#include "tests/support/rule_run.h"
#include "tests/support/small_stack.h"

namespace qrewrite {
namespace {

using testing::Fires;
using testing::OnSmallStack;

// Fires if the condition holds of x in y = Exp(x).
std::string Asks(const std::string& facts, const std::string& where) {
  return "define:\n" + facts + "rules:\n  - name: r\n    match: y = Exp(x)\n    where: \"" + where +
         "\"\n    replace: y = Tanh(x)\n";
}

// d0 asks d1, and so on, and the last one `last`.
std::string Line(int length, const std::string& last) {
  std::string facts;
  for (int i = 0; i < length; ++i) {
    const std::string next = i + 1 < length ? fmt::format("$d{}(v)", i + 1) : last;
    facts += fmt::format("  d{}(v):\n    - when {} => true\n    - => false\n", i, next);
  }
  return facts;
}

}  // namespace

TEST_CASE(
    "What is unknown of one match of a case stays unknown, whatever facts another match asks for") {
  const std::string facts = R"(
  g(v):
    - v = Relu(_) => true
    - => false
  f(v):
    - v = Add(a, b) when rank(a) == 2 and $g(b) => 1
    - => 7
)";
  for (const std::string operands : {"p, q", "q, p"}) {
    const std::string graph = "p: ?\nx: float[2, 2]\nq = Relu(x)\ny = Exp(Add(" + operands + "))\n";
    CHECK_FALSE(Fires(Asks(facts, "$f(x) == 7"), graph));
  }
}

TEST_CASE("What was unknown of a fact that has its case is not unknown of who asks") {
  const std::string facts = R"(
  g(v):
    - v = Add(a, b) when rank(a) == 2 and name(b) != 'zz' => 3
    - => 7
  h(v):
    - v = Neg(u) when $g(u) == 4 => 1
    - => 7
)";
  for (const std::string operands : {"p, q", "q, p"}) {
    const std::string graph =
        "p: ?\nx: float[2, 2]\nq = Relu(x)\ny = Exp(Neg(Add(" + operands + ")))\n";
    CHECK(Fires(Asks(facts, "$h(x) == 7"), graph));
  }
}

TEST_CASE("Facts that need each other are unknown, whichever is asked first") {
  const std::string facts = R"(
  a(v):
    - when known($b(v)) => 1
    - => 0
  b(v):
    - when known($a(v)) => 1
    - => 0
  c(v):
    - when known($a(v)) => 1
    - => 0
)";
  const std::string graph = "x: float[2]\ny = Exp(x)\n";
  for (const std::string where : {"not known($a(x)) and not known($b(x)) and $c(x) == 0",
                                  "not known($b(x)) and $c(x) == 0 and not known($a(x))",
                                  "$c(x) == 0 and not known($a(x)) and not known($b(x))"}) {
    CAPTURE(where);
    CHECK(Fires(Asks(facts, where), graph));
  }
  for (const int length : {2, 15, 16, 17, 18, 40, 400}) {
    CAPTURE(length);
    CHECK(Fires(Asks(Line(length, "$d0(v)"), "not known($d0(x))"), graph));
    CHECK(Fires(Asks(Line(length, "rank(v) == 1"), "$d0(x)"), graph));
    // A line that leads to a ring is none itself.
    const std::string ring =
        "  ring(v):\n    - when $back(v) => true\n    - => false\n"
        "  back(v):\n    - when $ring(v) => true\n    - => false\n";
    CHECK(Fires(Asks(ring + Line(length, "not known($ring(v))"), "$d0(x)"), graph));
  }
}

TEST_CASE("Of a wide node all operands that lie too deep are asked before it is asked again") {
  const std::string facts = R"(
  f(v):
    - v = Relu(a) => $f(a)
    - v = Concat<axis=_>(xs...) => all($f(xs))
    - v = Abs(_) => false
    - => true
)";
  for (const std::string first : {"Neg", "Abs"}) {
    std::string graph = "x: float[1]\n", joined;
    for (int i = 0; i < 40; ++i) {
      std::string last = fmt::format("v{}", i);
      graph += fmt::format("{} = {}(x)\n", last, i == 20 ? first : "Neg");
      for (int k = 0; k < 20; ++k) {
        graph += fmt::format("v{}_{} = Relu({})\n", i, k, last);
        last = fmt::format("v{}_{}", i, k);
      }
      joined += (i == 0 ? "" : ", ") + last;
    }
    graph += "y = Exp(Concat<axis=0>(" + joined + "))\n";
    OnSmallStack([&] { CHECK(Fires(Asks(facts, "$f(x)"), graph) == (first == "Neg")); });
  }
}

}  // namespace qrewrite
