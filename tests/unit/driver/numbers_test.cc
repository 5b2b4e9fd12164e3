// Numbers in patterns and conditions: what is equal to what.
#include <doctest/doctest.h>

#include <string>

#include "tests/support/rule_run.h"

namespace qrewrite {
namespace {

using testing::Fires;

// Whether the sum with this constant is one with `literal`.
bool Matches(const std::string& literal, const std::string& type, const std::string& constant) {
  return Fires("rules:\n  - {name: r, match: \"y = Add(x, " + literal + ")\", replace: y = Neg(x)}",
               "x: " + type + "[2]\ny = Add(x, " + type + " " + constant + ")");
}

// Whether `a in b` holds of two constants.
bool IsIn(const std::string& a, const std::string& b) {
  return Fires(R"(
rules:
  - name: r
    match: |
      t = acme.Take(a, b)
      y = Neg(t)
    where: a in b
    replace: y = Abs(t)
)",
               "x: float[2]\na = " + a + "\nb = " + b + "\ny = Neg(acme.Take(a, b))\nz = Neg(x)\n" +
                   "return y, z");
}

}  // namespace

TEST_CASE("Units in the last place are counted across zero") {
  struct Case {
    const char* type;
    const char* above;
    const char* below;
  };
  for (const Case& c :
       {Case{"float", "1e-45", "-1e-45"}, Case{"double", "5e-324", "-5e-324"},
        Case{"float16", "6e-8", "-6e-8"}, Case{"bfloat16", "9.2e-41", "-9.2e-41"}}) {
    CAPTURE(c.type);
    CHECK(Matches("0.0 ~ 1ulp", c.type, c.above));
    CHECK(Matches("0.0 ~ 1ulp", c.type, c.below));
    CHECK_FALSE(Matches("0.0", c.type, c.below));
    CHECK_FALSE(Matches("0.0 ~ 2ulp", c.type, "0.1"));
  }
  CHECK(Matches("1.0 ~ 1ulp", "float", "0.99999994"));
  CHECK_FALSE(Matches("1.0 ~ 1ulp", "float", "0.9999999"));
  CHECK_FALSE(Matches("1.0 ~ 3ulp", "float", "nan"));
}

TEST_CASE("A constant is in another one if each of its elements is") {
  CHECK(IsIn("float[3] [1, 2.5, 1]", "float[4] [2.5, 7, 1, 8]"));
  CHECK_FALSE(IsIn("float[3] [1, 2.5, 3]", "float[4] [2.5, 7, 1, 8]"));
  CHECK(IsIn("float[2] [0, 1]", "float[2] [1, -0.0]"));
  CHECK_FALSE(IsIn("float[2] [nan, 1]", "float[2] [1, nan]"));
  CHECK(IsIn("float[2] [inf, 1]", "float[3] [1, nan, inf]"));
  CHECK(IsIn("int64[2] [9007199254740993, 1]", "int64[2] [1, 9007199254740993]"));
  CHECK_FALSE(IsIn("int64[2] [9007199254740993, 1]", "int64[2] [1, 9007199254740992]"));
  CHECK(IsIn("int8[2] [3, -1]", "float[3] [-1, 3, 0.5]"));  // whole numbers among floats
  CHECK_FALSE(IsIn("float[2] [3, 0.5]", "int8[2] [3, 5]"));
  CHECK(IsIn("float16[2] [3, 0.5]", "float[2] [0.5, 3]"));
}

TEST_CASE("`in` a list of literals: they have the type of what is looked for") {
  const auto fires = [](const std::string& constant, const std::string& list) {
    return Fires("rules:\n  - name: r\n    match: y = Add(x, w)\n    where: \"w in " + list +
                     "\"\n    replace: y = Neg(x)\n",
                 "x: float[2]\ny = Add(x, " + constant + ")\n");
  };
  CHECK(fires("0.1", "[0.1, 0.2]"));
  CHECK(fires("[0.1, 0.2]", "[0.2, 0.1]"));
  CHECK(fires("[0.1, 3]", "[3, 0.1]"));
  CHECK(fires("[0.1, 3]", "[w, 0.2, 0.1, 3]"));
  CHECK_FALSE(fires("[0.1, 0.2]", "[0.1, 0.3]"));
}

TEST_CASE("`inf` and `nan` are numbers, in patterns and in what is computed") {
  const auto rules = [](const std::string& pattern, const std::string& where = "1 == 1") {
    return "rules:\n  - name: r\n    match: y = " + pattern + "\n    where: \"" + where +
           "\"\n    replace: y = Tanh(x)\n";
  };
  const auto given = [](const std::string& number) {
    return "x: float[2]\ny = Min(x, " + number + ")\n";
  };
  CHECK(Fires(rules("Min(x, inf)"), given("float inf")));
  CHECK_FALSE(Fires(rules("Min(x, inf)"), given("float -inf")));
  CHECK_FALSE(Fires(rules("Min(x, inf)"), given("3.0")));
  CHECK(Fires(rules("Min(x, -inf)"), given("float -inf")));
  CHECK(Fires(rules("Min(x, nan)"), given("float nan")));
  CHECK_FALSE(Fires(rules("Min(x, nan)"), given("3.0")));
  CHECK(Fires(rules("Min(x, k)", "k == -inf"), given("float -inf")));
  CHECK_FALSE(Fires(rules("Min(x, k)", "k < inf"), given("float inf")));
}

}  // namespace qrewrite
