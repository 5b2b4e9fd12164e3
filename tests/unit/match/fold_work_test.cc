// What rules compute on constants has a budget.
#include <doctest/doctest.h>

#include "engine/match/interpreter.h"
#include "tests/support/rule_run.h"

namespace qrewrite {

TEST_CASE("Operators on constants: what takes too much work ends the search") {
  const auto rules = LoadRulesText("t.yaml", R"(qrewrite: 1
name: t
rules:
  - name: r
    match: y = Add(x, k)
    where: max(MatMul(MatMul(k, k), k)) > 0
    warn: found
)");
  REQUIRE_MESSAGE(rules.ok(), rules.status().message());
  const Graph graph =
      testing::MakeGraph("x: float[2, 2]\ny = Add(x, float[2, 2] [1, 2, 3, 4])\n", **rules);
  const auto program = Compile(*rules);
  Facts facts(graph, (*rules)->signatures, KernelRegistry::Builtin(), nullptr);
  const Params params;
  const HostFunctions hosts;
  Interpreter in(graph, *program, facts, KernelRegistry::Builtin(), params, hosts);
  const CompiledRule& rule = *program->FindRule((*rules)->rules[0]);
  const auto found = [&] {
    Frame frame(rule.layout);
    return in.MatchRule(rule, NodeId(size_t{0}), frame, [] { return true; });
  };
  CHECK(found());
  in.set_fold_work(12);  // one product of 2 x 2 takes nine
  CHECK(!found());
  CHECK(in.exhausted() == "MatMul takes more work than constants may");
}

}  // namespace qrewrite
