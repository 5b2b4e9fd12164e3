// TestsNeed: the tests of a rule, run as if one of its conditions were met.
#include "engine/driver/rule_tests.h"

#include <doctest/doctest.h>

#include <memory>
#include <string>
#include <vector>

#include "engine/onnx_io/inference.h"
#include "engine/rule/loader.h"

using namespace qrewrite;

TEST_CASE(
    "A rule that goes on for ever without its condition is stopped after some hundred rewrites") {
  LoadOptions load;
  load.host_functions = {"seen"};
  const auto rules = LoadRulesText("test.yaml", R"yaml(qrewrite: 1
name: test
rules:
  - name: count
    match: y = Add(x, c)
    where: c < 2
    let: {k: seen(c) + 1}
    replace: y = Add(x, k)
    tests:
      - {name: two steps, given: "x: float[2]\ny = Add(x, 0.0)", expect: "x: float[2]\ny = Add(x, 2.0)"}
)yaml",
                                   load);
  REQUIRE_MESSAGE(rules.ok(), rules.status().message());
  const std::shared_ptr<const Program> program = Compile(*rules);
  int calls = 0;
  const HostFunctions functions = {{"seen", [&](const std::vector<Tensor>& inputs) {
                                      ++calls;
                                      return Result<Tensor>(inputs[0]);
                                    }}};
  const auto inference = MakeOnnxInference();
  const RunContext context{.functions = &functions, .inference = inference.get()};
  const std::vector<RuleTestOutcome> outcomes =
      RunRuleTests(*program, context, [](const auto&, const auto&) { return true; });
  REQUIRE(outcomes.size() == 1);
  CHECK_MESSAGE(outcomes[0].passed, outcomes[0].message);
  CHECK(calls == 2);
  const Rule& rule = (*rules)->rules[0];
  const CompiledRule* const compiled = program->FindRule(rule);
  REQUIRE(compiled->pattern.where.size() == 1);
  calls = 0;
  CHECK(TestsNeed(*program, rule, compiled->pattern.where[0].code, context));
  CHECK(calls > 100);
  CHECK(calls < 500);  // the limit of a run is above 1000
}
