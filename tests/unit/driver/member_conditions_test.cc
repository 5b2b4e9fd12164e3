// Conditions on lists, where members have several ways to match: what is false of one member is tried no further.
#include <doctest/doctest.h>

#include <string>

#include "tests/support/rule_run.h"

namespace qrewrite {

using testing::Fires;

namespace {

std::string RuleOf(const std::string& member, const std::string& where,
                   const std::string& more = "") {
  return "rules:\n  - name: r\n    match: y = Concat<axis=_>(" + member +
         "...)\n    where: " + where + "\n    replace: y = Concat<axis=0>(Mul(x, x)...)\n" + more;
}

// A Concat of `count` members; `i` in the text is its number.
std::string Given(const std::string& member, int count) {
  std::string inputs, list;
  for (int i = 0; i < count; ++i) {
    const std::string x = "x" + std::to_string(i);
    inputs += x + ": float[2]\n";
    std::string one = member;
    one.replace(one.find('x'), 1, x);
    list += (i > 0 ? ", " : "") + one;
  }
  return inputs + "y = Concat<axis=0>(" + list + ")";
}

}  // namespace

TEST_CASE("Members that commute are found by conditions on them, however many there are") {
  for (const int count : {2, 20, 64, 100}) {
    CAPTURE(count);
    CHECK(Fires(RuleOf("Add(x, b)", "const(b)"), Given("Add(0.5, x)", count)));
    CHECK(Fires(RuleOf("Add(x, b)", "b < 1 and is_input(x)"), Given("Add(0.5, x)", count)));
    CHECK_FALSE(Fires(RuleOf("Add(x, b)", "const(b) and const(x)"), Given("Add(0.5, x)", count)));
    CHECK_FALSE(Fires(RuleOf("Relu?(x)", "const(x)"), Given("Relu(x)", count)));
  }
}

TEST_CASE("What is asked of a list as a whole is asked of no member") {
  const std::string given = Given("Relu(x)", 3);
  CHECK(Fires(RuleOf("Relu(x)", "len(x) == 3"), given));
  CHECK(Fires(RuleOf("Relu(x)", "n == 3", "    let: {n: len(x)}\n"), given));
  CHECK(Fires(RuleOf("Relu(x)", "shape(x) == [[2], [2], [2]]"), given));
  CHECK(Fires(RuleOf("LeakyRelu<alpha=a>(x)", "a == [0.5, 0.5, 0.5]"),
              Given("LeakyRelu<alpha=0.5>(x)", 3)));
  CHECK(Fires(RuleOf("Relu(x)", "not (size(x) == 3)"), given));
  CHECK(Fires(RuleOf("Relu(x)", "any([const(x), rank(x) == 1])"), given));
}

}  // namespace qrewrite
