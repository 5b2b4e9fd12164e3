#include "tests/unit/api/api_support.h"

namespace qrewrite {
namespace {

TEST_CASE("Rules: what a file says about itself") {
  const Rules rules = RulesOf(kTidy);
  CHECK(rules.name() == "tidy");
  CHECK(rules.summary() == "Relu twice is Relu once.");
  CHECK(rules.opset() == ">=7");
  CHECK(rules.path() == "rules.yaml");
  REQUIRE(rules.params().size() == 3);
  CHECK(rules.params()[0].name == "mode");
  CHECK(rules.params()[0].default_value == "auto");
  CHECK(rules.params()[0].one_of == std::vector<std::string>{"auto", "never"});
  CHECK(rules.params()[1].type == "int");
  CHECK(rules.params()[2].type == "path");
  CHECK_FALSE(rules.params()[2].default_value);
  CHECK(rules.HasParam("limit"));
  CHECK_FALSE(rules.HasParam("limits"));
  REQUIRE(rules.rules().size() == 1);
  CHECK(rules.rules()[0].name == "double-relu");
  CHECK(rules.rules()[0].doc == "a second Relu changes nothing");
  CHECK(rules.rules()[0].equivalence == "exact");
  CHECK(rules.rules()[0].counters == std::vector<std::string>{"relus"});
  CHECK(rules.rules()[0].tests == 2);
}

TEST_CASE("Rules: faults of a file are diagnostics with places") {
  std::string text = kTidy;
  text.replace(text.find("    match:"), 10, "    mtach:");
  const auto rules = Rules::Parse("bad.yaml", text);
  CHECK(rules.status().code() == StatusCode::kInvalidRules);
  CHECK(Contains(rules.status().message(), "bad.yaml:16:5: error["));
  CHECK(Contains(rules.status().message(), "did you mean `match`?"));
}

TEST_CASE("Rules: files, names and what is neither") {
  const TempFolder folder;
  WriteFile(folder / "tidy.yaml", kTidy);
  REQUIRE(Rules::Load(folder / "tidy.yaml").ok());

  const LoadRulesOptions search{.search = {folder / ""}};
  REQUIRE(Rules::Load("tidy", search).ok());
  CHECK(Rules::Load("tidy.yaml", search)->path() == folder / "tidy.yaml");

  REQUIRE(setenv("QREWRITE_RULES_DIR", (folder / "").c_str(), 1) == 0);
  CHECK(Rules::Load("tidy").ok());
  CHECK(ShippedRuleFiles().size() >= 1);
  const auto typo = Rules::Load("tidi");
  CHECK(typo.status().code() == StatusCode::kIo);
  CHECK(Contains(typo.status().message(), "did you mean `tidy`?"));
  REQUIRE(unsetenv("QREWRITE_RULES_DIR") == 0);

  CHECK(Rules::Load(folder / "none.yaml").status().code() == StatusCode::kIo);
  CHECK(Rules::Load(folder / "").status().code() == StatusCode::kIo);
  CHECK(Rules::Load("").status().code() == StatusCode::kIo);
}

TEST_CASE("Rules: shipped rule sets load") {
  for (const std::string& path : ShippedRuleFiles()) {
    CAPTURE(path);
    const auto rules = Rules::Load(path);
    CHECK_MESSAGE(rules.ok(), rules.status().message());
  }
}

TEST_CASE("Rules: the tests inside a file") {
  const TestReport report = RulesOf(kTidy).RunTests();
  CHECK(report.passed == 2);
  CHECK(report.failed == 0);
  REQUIRE(report.results.size() == 2);
  CHECK(report.results[0].rule == "double-relu");
  CHECK(report.results[0].test == "fires");
  CHECK(report.results[0].place == "rules.yaml:19");
}

// A test of the rule with other texts, and the message of its failure.
std::string Failure(const std::string& given, const std::string& expect) {
  std::string text = kTidy;
  text.resize(text.find("    tests:"));
  text += "    tests:\n      - {name: t, given: \"" + given + "\", expect: " + expect + "}\n";
  const TestReport report = RulesOf(text).RunTests();
  CHECK(report.passed + report.failed == 1);
  return report.results[0].message;
}

TEST_CASE("Rule tests: failures show graphs and what differs") {
  const std::string twice = "x: float[4]\\ny = Relu(Relu(x))";
  CHECK(Failure(twice, "\"x: float[4]\\ny = Relu(x)\"").empty());

  const std::string changed = Failure(twice, "unchanged");
  CHECK(Contains(changed, "the graph was to stay as it is"));
  CHECK(Contains(changed, "    + y = Relu(x)\n"));

  const std::string nothing = Failure("x: float[4]\\ny = Neg(x)", "\"x: float[4]\\ny = Relu(x)\"");
  CHECK(Contains(nothing, "nothing fired"));
  CHECK(Contains(nothing, "    - y = Relu(x)\n    + y = Neg(x)\n"));

  CHECK(Contains(Failure(twice, "{error: no such thing}"), "but the run succeeded"));
}

TEST_CASE("Rule tests: one of several graphs") {
  const std::string twice = "x: float[4]\\ny = Relu(Relu(x))";
  const std::string abs = "\"x: float[4]\\ny = Abs(x)\"", relu = "\"x: float[4]\\ny = Relu(x)\"";
  CHECK(Failure(twice, "{one_of: [" + relu + ", " + abs + "]}").empty());
  CHECK(Failure(twice, "{one_of: [" + abs + ", " + relu + "]}").empty());
  const std::string none = Failure(twice, "{one_of: [" + abs + ", " + abs + "]}");
  CHECK(Contains(none, "and none of the others of `one_of`"));
  CHECK(Contains(none, "    - y = Abs(x)\n    + y = Relu(x)\n"));
}

TEST_CASE("Rule tests: expected errors, parameters, tests of the whole file") {
  const Rules rules = RulesOf(R"yaml(qrewrite: 1
name: net
params:
  active: {default: false, doc: whether to refuse}
phases:
  - {name: check, when: params.active, rules: all}
rules:
  - name: no-neg
    match: y = Neg(x)
    refuse: Neg is not wanted
    tests:
      - {name: refuses, given: "x: float[4]\ny = Neg(x)", expect: {
error:
  is not wanted}}
      - {
name:
  other text, given : "x: float[4]\ny = Neg(x)", expect : {
  error:
    something else
  }
}
tests:
  - {name: not on, given: "x: float[4]\ny = Neg(x)", expect: unchanged}
  - {name: active, set: {active: true}, given: "x: float[4]\ny = Neg(x)", expect: {error: no-neg}}
)yaml");
  const TestReport report = rules.RunTests();
  REQUIRE(report.results.size() == 4);
  CHECK(report.results[0].passed);
  CHECK_FALSE(report.results[1].passed);
  CHECK(Contains(report.results[1].message, "was expected, not"));
  CHECK_MESSAGE(report.results[2].passed, report.results[2].message);
  CHECK(report.results[2].rule.empty());
  CHECK_MESSAGE(report.results[3].passed, report.results[3].message);
}

TEST_CASE("Rule tests: unchanged allows for names and shapes that phases write") {
  const Rules rules = RulesOf(R"yaml(qrewrite: 1
name: net
phases:
  - {name: r, rules: all}
  - {name: names, rename: A-Za-z0-9_}
  - {name: shapes, write_shapes: all}
rules:
  - name: no-double-neg
    match: y = Neg(Neg(x))
    replace: y = x
tests:
  - {name: nothing to do, given: "x: float[4]; 'a b' = Neg(x); y = Relu('a b')", expect: unchanged}
  - {name: it fires, given: "x: float[4]; 'a b' = Neg(x); y = Neg('a b')", expect: unchanged}
)yaml");
  const TestReport report = rules.RunTests();
  REQUIRE(report.results.size() == 2);
  CHECK_MESSAGE(report.results[0].passed, report.results[0].message);
  CHECK_FALSE(report.results[1].passed);
}

TEST_CASE("Rules: lint and schema") {
  const std::string untested = std::string(kTidy).substr(0, std::string(kTidy).find("    tests:"));
  CHECK(RulesOf(untested).Lint().size() > RulesOf(kTidy).Lint().size());
  CHECK(Contains(RuleSchema(), "\"$schema\""));
  CHECK(Contains(RuleSchema(), "phases"));
}

}  // namespace
}  // namespace qrewrite
