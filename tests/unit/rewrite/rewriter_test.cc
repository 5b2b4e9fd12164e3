// One rule at one node, without phases: what is committed, what is taken back, and what is told of it.
#include "engine/rewrite/rewriter.h"

#include <memory>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "engine/onnx_io/inference.h"
#include "tests/support/rule_run.h"

namespace qrewrite {
namespace {

// A graph, a rule `r` with these keys, and what is needed to try it.
struct Trial {
  Trial(const std::string& text, const std::string& keys)
      : rules(Load(keys)),
        graph(testing::MakeGraph(text, *rules)),
        program(Compile(rules)),
        inference(MakeOnnxInference()),
        facts(graph, rules->signatures, KernelRegistry::Builtin(), inference.get()),
        in(graph, *program, facts, KernelRegistry::Builtin(), params, hosts),
        rewriter(graph, in),
        rule(*program->FindRule(rules->rules[0])) {}

  static std::shared_ptr<const RuleSet> Load(const std::string& keys) {
    const auto loaded =
        LoadRulesText("t.yaml", "qrewrite: 1\nname: t\nrules:\n  - name: r\n" + keys);
    REQUIRE_MESSAGE(loaded.ok(), loaded.status().message());
    return *loaded;
  }

  NodeId Node(const std::string& output) const {
    for (size_t i = graph.num_values(); i > 0; --i) {
      const ValueId v(i - 1);
      if (graph.alive(v) && graph.name(v) == output) return graph.producer(v);
    }
    FAIL("no value " << output);
    return {};
  }
  Firing Try(const std::string& output) {
    Firing firing;
    rewriter.Try(rule, Node(output), firing);
    return firing;
  }
  std::string Text() const { return PrintGraph(graph, graph.main()); }
  std::vector<std::string> Names(const std::vector<ValueId>& values) const {
    std::vector<std::string> names;
    for (const ValueId v : values) names.emplace_back(graph.name(v));
    return names;
  }

  std::shared_ptr<const RuleSet> rules;
  Graph graph;
  std::shared_ptr<const Program> program;
  std::unique_ptr<ShapeInference> inference;
  Facts facts;
  const Params params;
  const HostFunctions hosts;
  Interpreter in;
  Rewriter rewriter;
  const CompiledRule& rule;
};

constexpr const char* kPair = "    match: y = Neg(Neg(x))\n    replace: y = Identity(x)\n";

TEST_CASE(
    "Rewriter: a value is redefined, keeps its name and readers, and what nobody reads goes") {
  Trial t("x: float[2]\nf = Abs(x)\na = Neg(f)\nb = Neg(a)\ny = Relu(b)\n", kPair);
  const NodeId inner = t.Node("a"), outer = t.Node("b");
  const Firing firing = t.Try("b");
  CHECK(firing.fired);
  CHECK(firing.changed);
  CHECK(firing.node == outer);
  CHECK(t.Names(firing.redefined) == std::vector<std::string>{"b"});
  REQUIRE(firing.created.size() == 1);
  CHECK(firing.created[0] == t.Node("b"));
  CHECK_FALSE(t.graph.alive(inner));
  CHECK_FALSE(t.graph.alive(outer));
  CHECK(t.Names(firing.released) == std::vector<std::string>{"f"});
  CHECK(t.Text() == "x: float[2]\nf = Abs(x)\nb = Identity(f)\ny = Relu(b)\n");
}

TEST_CASE("Rewriter: what others read stays") {
  Trial t("x: float[2]\na = Neg(x)\nb = Neg(a)\nreturn a, b\n", kPair);
  CHECK(t.Try("b").fired);
  CHECK(t.Text() == "x: float[2]\na = Neg(x)\nb = Identity(x)\n");
  CHECK_FALSE(t.Try("a").fired);  // of another pattern
}

TEST_CASE("Rewriter: a patch that is wrong is taken back, and why is told") {
  struct Case {
    const char *graph, *keys, *why;
  };
  const Case cases[] = {
      {"x: float[2]\ny = Neg(x)\n", "    match: y = Neg(x)\n    replace: y = Cast<to=INT8>(x)\n",
       "FLOAT"},
      {"x: float[2]\ny = Neg(x)\n", "    match: y = Neg(x)\n    replace: y = Unsqueeze(x, [0])\n",
       "[1, 2]"},
      {"x: float[2]\na = Neg(x)\nb = Relu(a)\ny = Add(a, b)\n",
       "    match: |\n      a = Neg(x)\n      b = Relu(a)\n    replace: a = Tanh(b)\n", "cycle"},
  };
  for (const Case& c : cases) {
    Trial t(c.graph, c.keys);
    const std::string before = t.Text();
    const size_t nodes = t.graph.num_nodes(), values = t.graph.num_values();
    const std::string anchor = std::string(c.why) == "cycle" ? "b" : "y";
    const Firing firing = t.Try(anchor);
    CAPTURE(c.keys);
    CHECK_FALSE(firing.fired);
    CHECK_MESSAGE(firing.rejected.find(c.why) != std::string::npos, firing.rejected);
    CHECK(t.Text() == before);
    CHECK(t.graph.num_nodes() == nodes);
    CHECK(t.graph.num_values() == values);
    CHECK(firing.created.empty());
    CHECK(firing.redefined.empty());
  }
}

TEST_CASE("Rewriter: when one match is rejected the next one is tried") {
  // Either operand may be the Relu; with the first the shapes would differ.
  Trial t("x: float[2]\nz: float[3, 2]\ny = Add(Relu(x), Relu(z))\n",
          "    match: y = Add(Relu(a), _)\n    replace: y = Tanh(a)\n");
  CHECK(t.Try("y").fired);
  CHECK(t.Text().find("y = Tanh(z)") != std::string::npos);
}

TEST_CASE("Rewriter: who accepts patches may refuse them, and end the search") {
  Trial t("x: float[2]\nz: float[2]\ny = Add(Relu(x), Relu(z))\n",
          "    match: y = Add(Relu(a), _)\n    replace: y = Tanh(a)\n");
  const std::string before = t.Text();
  int asked = 0;
  bool ends = false;
  t.rewriter.set_accept([&](const CompiledRule&, Frame&) {
    ++asked;
    if (ends) t.rewriter.EndSearch();
    return std::string("not now");
  });
  CHECK(t.Try("y").rejected == "not now");
  CHECK(asked == 2);  // both operands
  ends = true;
  CHECK_FALSE(t.Try("y").fired);
  CHECK(asked == 3);
  CHECK(t.Text() == before);
  t.rewriter.set_accept([](const CompiledRule&, Frame&) { return std::string(); });
  CHECK(t.Try("y").fired);
}

TEST_CASE("Rewriter: equal nodes that are there are taken, or made anew with `share: false`") {
  const char* const graph = "x: float[2]\na = Tanh(x)\nb = Neg(x)\nc = Add(a, b)\nreturn c\n";
  Trial shared(graph, "    match: y = Neg(x)\n    replace: y = Relu(Tanh(x))\n");
  const Firing once = shared.Try("b");
  CHECK(once.fired);
  CHECK(once.created.size() == 1);  // the Relu
  Trial anew(graph, "    share: false\n    match: y = Neg(x)\n    replace: y = Relu(Tanh(x))\n");
  CHECK(anew.Try("b").created.size() == 2);
}

TEST_CASE("Rewriter: a random node that is made again as it was is no change") {
  const char* const graph = "x: float[2]\na = Dropout(x)\ny = Neg(a)\n";
  Trial same(graph, "    match: y... = n:Dropout<**k>(x...)\n    replace: y... = n<**k>(x...)\n");
  CHECK(!same.Try("a").fired);
  CHECK(same.Text() == Trial(graph, kPair).Text());
  Trial other(graph, "    match: y = Dropout<**k>(x)\n    replace: y = Dropout<seed=3>(x)\n");
  CHECK(other.Try("a").fired);
}

TEST_CASE("Rewriter: an explanation changes nothing") {
  Trial t("x: float[2]\na = Neg(x)\ny = Neg(a)\n", kPair);
  const std::string before = t.Text();
  t.rewriter.Explain(t.rule, t.Node("y"), {});
  CHECK(t.Text() == before);
  CHECK(t.Try("y").fired);
}

TEST_CASE("Rewriter: a firing's memory is used again, and nothing of the one before is left") {
  Trial t("x: float[2]\na = Neg(x)\ny = Neg(a)\n", kPair);
  Firing firing;
  t.rewriter.Try(t.rule, t.Node("y"), firing);
  REQUIRE(firing.fired);
  t.rewriter.Try(t.rule, t.Node("y"), firing);  // an Identity by now
  CHECK_FALSE(firing.fired);
  CHECK(firing.created.empty());
  CHECK(firing.redefined.empty());
  CHECK(firing.released.empty());
}

}  // namespace
}  // namespace qrewrite
