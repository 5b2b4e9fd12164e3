// TopologicalOrder: canonical, deep, and with its cycles named.
#include <algorithm>
#include <random>

#include <doctest/doctest.h>

#include "engine/graph/graph.h"
#include "engine/graph/verify.h"
#include "tests/support/graph_maker.h"

namespace qrewrite {
namespace {

std::string Order(const GraphMaker& m) {
  const auto order = TopologicalOrder(m.graph, m.graph.main());
  return order.ok() ? m.Names(*order) : order.status().message();
}

TEST_CASE("TopologicalOrder: depth first from the outputs, then what no output needs") {
  GraphMaker m;
  const ValueId x = m.Input("x");
  m.Node("Neg", {x}, "unused");
  const ValueId a = m.Node("Neg", {x}, "a"), b = m.Node("Neg", {x}, "b");
  m.Output(m.Node("Sub", {b, a}, "y"));
  m.Output(x);
  CHECK(Order(m) == "b a y unused");
}

TEST_CASE("TopologicalOrder: does not depend on the order of nodes in the file") {
  // y = f(i) reads values of smaller numbers; each round adds the same nodes in another order.
  constexpr int kNodes = 40;
  std::mt19937 random(7);
  std::vector<std::vector<int>> reads(kNodes);
  for (int i = 1; i < kNodes; ++i) {
    for (int k = 0; k < 3; ++k) reads[i].push_back(static_cast<int>(random() % i));
  }
  std::string first;
  for (int round = 0; round < 20; ++round) {
    std::vector<int> order(kNodes);
    for (int i = 0; i < kNodes; ++i) order[i] = i;
    if (round > 0) std::shuffle(order.begin(), order.end(), random);
    GraphMaker m;
    std::vector<ValueId> values;
    for (int i = 0; i < kNodes; ++i) {
      values.push_back(m.graph.AddValue(m.body, "v" + std::to_string(i)));
    }
    for (const int i : order) {
      std::vector<ValueId> inputs;
      for (const int j : reads[i]) inputs.push_back(values[j]);
      m.graph.AddNode(m.body, m.graph.InternOp("", "Sum"), inputs, {&values[i], 1}, {}, "");
    }
    m.Output(values[kNodes - 1]);
    m.Output(values[kNodes / 2]);
    if (round == 0) first = Order(m);
    CHECK(Order(m) == first);
  }
}

TEST_CASE("TopologicalOrder: what a subgraph reads comes before its owner") {
  GraphMaker m;
  const ValueId x = m.Input("x"), c = m.Input("c");
  const BodyId branch = m.graph.AddBody(BodyKind::kSubgraph, m.graph.main());
  m.Output(m.Node("If", {c}, "y", {{"then_branch", branch}}));
  const ValueId a = m.Node("Neg", {x}, "a");
  m.body = branch;
  m.Output(m.Node("Neg", {a}, "t"));
  CHECK(Order(m) == "a y");
  CHECK(m.Names(*TopologicalOrder(m.graph, branch)) == "t");
}

TEST_CASE("TopologicalOrder: a cycle is an error that names its nodes") {
  GraphMaker m;
  const ValueId x = m.Input("x");
  const ValueId a = m.Node("Add", {x, x}, "a"), b = m.Node("Neg", {a}, "b"),
                c = m.Node("Neg", {b}, "c");
  m.Output(m.Node("Relu", {c}, "y"));
  m.graph.SetInput(m.Producer(a), 1, c);
  CHECK(Order(m) ==
        "error: the graph has a cycle: Add `n_a` -> Neg `n_b` -> Neg `n_c` -> Add `n_a`");
  CHECK(Verify(m.graph).message() == Order(m));
  m.graph.SetInput(m.Producer(a), 1, a);
  CHECK(Order(m) == "error: the graph has a cycle: Add `n_a` -> Add `n_a`");
}

TEST_CASE("TopologicalOrder: a cycle that no output needs, and one through a subgraph") {
  GraphMaker m;
  const ValueId x = m.Input("x");
  const ValueId a = m.Node("Add", {x, x}, "a");
  m.graph.SetName(m.Producer(a), "");
  m.graph.SetInput(m.Producer(a), 0, a);
  CHECK(Order(m) == "error: the graph has a cycle: Add `a` -> Add `a`");

  GraphMaker s;
  const ValueId c = s.Input("c");
  const BodyId branch = s.graph.AddBody(BodyKind::kSubgraph, s.graph.main());
  const ValueId y = s.Node("If", {c}, "y", {{"then_branch", branch}});
  s.body = branch;
  s.Output(s.Node("Neg", {y}, "t"));
  CHECK(Order(s) == "error: the graph has a cycle: If `n_y` -> If `n_y`");
}

TEST_CASE("TopologicalOrder: a long cycle is cut short in the message") {
  GraphMaker m;
  const ValueId x = m.Input("x");
  const ValueId first = m.Node("Add", {x, x}, "v0");
  ValueId v = first;
  for (int i = 1; i < 30; ++i) v = m.Node("Neg", {v}, "v" + std::to_string(i));
  m.graph.SetInput(m.Producer(first), 1, v);
  CHECK(Order(m).starts_with("error: the graph has a cycle: Neg `n_v1` -> Neg `n_v2`"));
  CHECK(Order(m).ends_with("Neg `n_v8` -> ..."));
}

// A million nodes: the search must not recurse. Were it quadratic, nobody would wait for the end.
TEST_CASE("TopologicalOrder: a million nodes in a chain, and in blocks") {
  for (const int fan : {1, 8}) {
    GraphMaker m;
    const ValueId w = m.Constant("w");
    ValueId v = m.Input("x");
    const OpId op = m.graph.InternOp("", "Add");
    for (int i = 0; i < 1000000 / (fan + 1); ++i) {
      std::vector<ValueId> parts;
      for (int k = 0; k < fan; ++k) {
        const ValueId inputs[] = {v, w};
        parts.push_back(m.graph.AddValue(m.body, "p"));
        m.graph.AddNode(m.body, op, inputs, {&parts.back(), 1}, {}, "");
      }
      v = m.graph.AddValue(m.body, "v");
      m.graph.AddNode(m.body, op, parts, {&v, 1}, {}, "");
    }
    m.Output(v);
    const auto order = TopologicalOrder(m.graph, m.graph.main());
    REQUIRE(order.ok());
    CHECK(order->size() == m.graph.num_nodes());
  }
}

}  // namespace
}  // namespace qrewrite
