#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "engine/match/candidates.h"
#include "tests/support/rule_run.h"

using namespace qrewrite;
using qrewrite::testing::MakeGraph;

TEST_CASE("CandidateIndex leaves out what cannot match, in order of trial") {
  const auto rules = LoadRulesText("test.yaml", R"(
qrewrite: 1
name: test
sets: {act: [Relu, Tanh]}
rules:
  - {name: deep, match: 'y = Neg(Abs(Relu(x)))', replace: 'y = x'}
  - {name: neg, match: 'y = Neg(x)', replace: 'y = x'}
  - {name: set, match: 'y = @act(x)', replace: 'y = Exp(x)'}
)");
  if (!rules.ok()) MESSAGE(rules.status().message());
  REQUIRE(rules.ok());
  Graph graph = MakeGraph(
      "x: float[2]\nr = Relu(x)\na = Abs(r)\nb = Neg(a)\nc = Neg(x)\nt = Tanh(x)\nreturn b, c, t",
      **rules);
  const std::shared_ptr<const Program> program = Compile(*rules);
  std::vector<const CompiledRule*> compiled;
  for (const Rule& rule : (*rules)->rules) compiled.push_back(program->FindRule(rule));
  CandidateIndex index(graph, *program, compiled);
  const auto at = [&](std::string_view output) {
    std::string names;
    for (size_t n = 0; n < graph.num_nodes(); ++n) {
      if (graph.name(graph.output(NodeId(n), 0)) != output) continue;
      for (const CompiledRule* rule : index.At(NodeId(n))) names += rule->rule->name + " ";
    }
    return names;
  };
  CHECK(at("b") == "deep neg ");
  CHECK(at("c") == "neg ");
  CHECK(at("t") == "set ");
  CHECK(index.Begins(graph.InternOp("", "Neg")));
  CHECK_FALSE(index.Begins(graph.InternOp("", "Abs")));
}
