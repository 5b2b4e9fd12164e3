// What rules compute on constants has budgets of work and of memory.
#include <doctest/doctest.h>

#include "engine/match/interpreter.h"
#include "tests/support/rule_run.h"

namespace qrewrite {
namespace {

// The rule `y = Add(x, k)` with that condition at its only node.
struct Search {
  explicit Search(const std::string& condition)
      : rules(*LoadRulesText(
            "t.yaml",
            "qrewrite: 1\nname: t\nrules:\n  - name: r\n    match: y = Add(x, k)\n    where: " +
                condition + "\n    warn: found\n")),
        graph(
            testing::MakeGraph("x: float[2, 2]\ny = Add(x, float[2, 2] [1, 2, 3, 4])\n", *rules)) {}

  bool Found() {
    const CompiledRule& rule = *program->FindRule(rules->rules[0]);
    Frame frame(rule.layout);
    return in.MatchRule(rule, NodeId(size_t{0}), frame, [] { return true; });
  }

  std::shared_ptr<const RuleSet> rules;
  Graph graph;
  std::shared_ptr<const Program> program = Compile(rules);
  Facts facts{graph, rules->signatures, KernelRegistry::Builtin(), nullptr};
  Params params;
  HostFunctions hosts;
  Interpreter in{graph, *program, facts, KernelRegistry::Builtin(), params, hosts};
};

}  // namespace

TEST_CASE("Operators on constants: what takes too much work ends the search") {
  Search search("max(MatMul(MatMul(k, k), k)) > 0");
  CHECK(search.Found());
  search.in.set_fold_work(12);  // one product of 2 x 2 takes nine
  CHECK(!search.Found());
  CHECK(search.in.exhausted() == "MatMul takes more work than constants may");
}

TEST_CASE("Operators on constants: what takes too much memory is unknown") {
  CHECK(Search("max(Expand(1.0, [1000, 1000])) == 1").Found());
  for (const char* const condition :
       {"max(Expand(1.0, [1000, 1000000])) == 1", "max(EyeLike(Expand(1.0, [30000, 30000]))) == 1",
        "max(Expand(1.0, [30000, 1]) + Expand(1.0, [1, 30000])) == 2",
        "any(Expand(true, [40000, 40000]))"}) {
    CAPTURE(condition);
    Search search(condition);
    CHECK(!search.Found());
    CHECK(search.in.exhausted().empty());
  }
}

}  // namespace qrewrite
