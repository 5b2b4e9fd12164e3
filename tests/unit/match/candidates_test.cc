#include <doctest/doctest.h>

#include <algorithm>
#include <random>
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

// Nodes that all read all of the layer above: 12^6 ways lead up.
TEST_CASE("A walk through wide layers passes no node twice") {
  const auto rules = LoadRulesText("test.yaml", R"(
qrewrite: 1
name: test
rules:
  - name: deep
    match: |
      a = Abs(_)
      b = Sum(_..., a, _...)
      c = Sum(_..., b, _...)
      d = Sum(_..., c, _...)
      e = Sum(_..., d, _...)
      f = Sum(_..., e, _...)
      g = Sum(_..., f, _...)
    replace: g = Neg(g)
)");
  REQUIRE(rules.ok());
  std::string text = "x: float[2]\n";
  std::string above = "x";
  for (int layer = 0; layer < 6; ++layer) {
    std::string names;
    for (int i = 0; i < 12; ++i) {
      const std::string name = "v" + std::to_string(layer) + "_" + std::to_string(i);
      text += name + (layer == 0 ? " = Neg(" : " = Sum(") + above + ")\n";
      names += (i == 0 ? "" : ", ") + name;
    }
    above = names;
  }
  Graph graph = MakeGraph(text + "y = Sum(" + above + ")\nreturn y", **rules);
  const std::shared_ptr<const Program> program = Compile(*rules);
  CandidateIndex index(graph, *program, {program->FindRule((*rules)->rules[0])});
  const NodeId last = graph.producer(graph.output(graph.main(), 0));
  CHECK(index.At(last).empty());
  CHECK(index.walked() < 2000);
}

// What a sweep finds on its way down is what walks up from each node find.
TEST_CASE("A sweep and walks find the same candidates") {
  std::mt19937 random(7);
  const auto pick = [&](int n) { return static_cast<int>(random() % static_cast<unsigned>(n)); };
  const std::vector<std::string> ops = {"Neg", "Abs", "Exp", "Sum", "Max", "Relu"};
  const std::vector<std::string> tests = {"Neg", "Abs", "Exp", "Sum", "Max", "@act", "@wide"};
  std::string text =
      "qrewrite: 1\nname: test\nsets: {act: [Neg, Abs, Relu], wide: [Sum, Max]}\nrules:\n";
  for (int rule = 0; rule < 120; ++rule) {
    std::string pattern = tests[pick(7)] + "(_...)";
    for (int depth = pick(6); depth > 0; --depth)
      pattern = tests[pick(7)] + "(_..., " + pattern + ", _...)";
    text += "  - {name: r" + std::to_string(rule) + ", match: 'y = " + pattern +
            "', replace: 'y = Cos(y)'}\n";
  }
  const auto rules = LoadRulesText("test.yaml", text);
  if (!rules.ok()) MESSAGE(rules.status().message());
  REQUIRE(rules.ok());
  const std::shared_ptr<const Program> program = Compile(*rules);
  std::vector<const CompiledRule*> compiled;
  for (const Rule& rule : (*rules)->rules) compiled.push_back(program->FindRule(rule));
  size_t candidates = 0;
  for (int round = 0; round < 20; ++round) {
    std::string nodes = "v0: float[2]\n";
    for (int i = 1; i < 60; ++i) {
      const std::string& op = ops[pick(6)];
      const auto input = [&] { return "v" + std::to_string(std::max(0, i - 1 - pick(5))); };
      nodes += "v" + std::to_string(i) + " = " + op + "(" + input();
      for (int more = op == "Sum" || op == "Max" ? pick(3) : 0; more > 0; --more)
        nodes += ", " + input();
      nodes += ")\n";
    }
    Graph graph = MakeGraph(nodes + "return v59", **rules);
    CandidateIndex down(graph, *program, compiled);
    CandidateIndex up(graph, *program, compiled);
    down.BeginSweep();
    for (size_t n = 0; n < graph.num_nodes(); ++n) down.Pass(NodeId(n));
    for (size_t n = 0; n < graph.num_nodes(); ++n) {
      const std::vector<const CompiledRule*> found = down.At(NodeId(n));
      CHECK(found == up.At(NodeId(n)));
      candidates += found.size();
    }
    CHECK(down.walked() == 0);
    down.GraphChanged();
    const NodeId last = graph.producer(graph.output(graph.main(), 0));
    CHECK(down.At(last) == up.At(last));
    CHECK(down.walked() > 0);
  }
  CHECK(candidates > 1000);
}
