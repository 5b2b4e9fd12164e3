// What a replacement may do with subgraphs of what it matched, and what a patch does that redefines little.
#include <doctest/doctest.h>

#include <string>

#include "tests/support/rule_run.h"

namespace qrewrite {

using testing::Becomes;
using testing::Fires;

TEST_CASE("A node that a new one is added to keeps its subgraphs") {
  const std::string rules = R"(
rules:
  - name: r
    match: y = n:If<**a>(c)
    where: is_output(y)
    replace: y = Add(y, n(c -> Not(c)))
)";
  CHECK(Becomes(rules, R"(
x: float[2]
c: bool
y = If<then_branch={ t = Relu(x) }, else_branch={ e = Neg(x) }>(c)
)",
                R"(
x: float[2]
c: bool
a = If<then_branch={ t = Relu(x) }, else_branch={ e = Neg(x) }>(c)
b = If<then_branch={ t_1 = Relu(x) }, else_branch={ e_1 = Neg(x) }>(Not(c))
y = Add(a, b)
)"));
}

TEST_CASE("A copied branch does not return what its node is redefined by") {
  const std::string rules = R"(
rules:
  - name: r
    match: |
      y = Relu(x)
      c = Cast<to=BOOL>(y)
      z = n:If<**a>(c)
    replace: y = n(c -> true)
)";
  for (const std::string branch : {"return y", "f = Neg(y)"}) {
    CHECK_FALSE(Fires(rules, "x: float\ny = Relu(x)\nc = Cast<to=BOOL>(y)\nz = If<then_branch={ " +
                                 branch + " }, else_branch={ e = Exp(x) }>(c)\n"));
  }
}

TEST_CASE("Types change alone where what is redefined is an optional output that is not there") {
  const std::string rules = R"(
rules:
  - name: r
    match: |
      y, m? = Dropout(x)
      z = Neg(x)
    let: {k: 'true'}
    where: dtype(x) == FLOAT
    replace: m = Not(k)
    retype: {x: FLOAT16}
)";
  CHECK(Becomes(rules, "x: float[2]\ny = Dropout(x)\nz = Neg(x)\nreturn y, z\n",
                "x: float16[2]\ny = Dropout(x)\nz = Neg(x)\nreturn y, z\n"));
}

}  // namespace qrewrite
