// Graph::Undo takes back what was added since a mark, as if it had never been there.
#include <doctest/doctest.h>

#include <vector>

#include "engine/graph/graph.h"
#include "engine/graph/verify.h"

using namespace qrewrite;

namespace {

NodeId AddNode(Graph& graph, BodyId body, const char* op, const std::vector<ValueId>& inputs,
               Attributes attributes = {}) {
  const std::vector<ValueId> outputs = {graph.AddValue(body, graph.FreshName("v"))};
  return graph.AddNode(body, graph.InternOp("", op), inputs, outputs, std::move(attributes), "");
}

}  // namespace

TEST_CASE("Undo takes back nodes, values, constants and uses") {
  Graph graph;
  const ValueId x = graph.AddValue(graph.main(), "x");
  graph.AddInput(graph.main(), x);
  const NodeId relu = AddNode(graph, graph.main(), "Relu", {x});
  graph.AddOutput(graph.main(), graph.output(relu, 0));
  graph.ClearDirty();
  const Graph::Mark mark = graph.mark();
  const ValueId c = graph.AddConstant(graph.main(), "c", Tensor::FloatScalar(1));
  AddNode(graph, graph.main(), "Add", {graph.output(relu, 0), c});
  AddNode(graph, graph.main(), "Neg", {x});
  CHECK(graph.num_uses(x) == 2);
  graph.Undo(mark);
  CHECK(graph.num_nodes() == mark.nodes);
  CHECK(graph.num_values() == mark.values);
  CHECK(graph.num_uses(x) == 1);
  CHECK(graph.body(graph.main()).constants.empty());
  CHECK(graph.body(graph.main()).nodes.size() == 1);
  CHECK_FALSE(graph.changed());
  CHECK(Verify(graph).message() == "");
}

TEST_CASE("Undo takes back bodies, and readers of outer values in them") {
  Graph graph;
  const ValueId x = graph.AddValue(graph.main(), "x");
  graph.AddInput(graph.main(), x);
  const Graph::Mark mark = graph.mark();
  const BodyId body = graph.AddBody(BodyKind::kSubgraph, graph.main());
  const NodeId inner = AddNode(graph, body, "Neg", {x});
  graph.AddOutput(body, graph.output(inner, 0));
  AddNode(graph, graph.main(), "If", {x}, Attributes{{"then_branch", body}});
  CHECK(graph.num_uses(x) == 2);
  graph.Undo(mark);
  CHECK(graph.num_uses(x) == 0);
  CHECK(graph.num_bodies() == 1);
  CHECK(Verify(graph).ok());
  const NodeId again = AddNode(graph, graph.main(), "Relu", {x});
  CHECK(again.index == mark.nodes);
  CHECK(graph.body_of(again) == graph.main());
}
