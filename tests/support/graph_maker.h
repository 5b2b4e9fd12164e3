// GraphMaker: test graphs in a few words, for tests below the text layer.
//
//   GraphMaker m;
//   const ValueId x = m.Input("x");
//   const ValueId y = m.Node("Relu", {x}, "y");
//   m.Output(y);
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/graph/graph.h"

namespace qrewrite {

class GraphMaker {
 public:
  Graph graph;
  BodyId body = graph.main();  // where new things go

  ValueId Input(std::string_view name) {
    const ValueId v = graph.AddValue(body, name);
    graph.AddInput(body, v);
    return v;
  }
  ValueId Constant(std::string_view name, int64_t value = 0) {
    return graph.AddConstant(body, name, Tensor::Int64Scalar(value));
  }
  std::vector<ValueId> Nodes(std::string_view op, const std::vector<ValueId>& inputs,
                             const std::vector<std::string>& outputs, Attributes attributes = {}) {
    std::vector<ValueId> values;
    for (const std::string& name : outputs) values.push_back(graph.AddValue(body, name));
    graph.AddNode(body, graph.InternOp("", op), inputs, values, std::move(attributes),
                  "n_" + (outputs.empty() ? "" : outputs[0]));
    return values;
  }
  ValueId Node(std::string_view op, const std::vector<ValueId>& inputs, std::string_view output,
               Attributes attributes = {}) {
    return Nodes(op, inputs, {std::string(output)}, std::move(attributes))[0];
  }
  void Output(ValueId v) { graph.AddOutput(body, v); }

  // A subgraph of the current body, with `fill` adding to it.
  template <class Fill>
  BodyId Subgraph(Fill fill) {
    const BodyId outer = body;
    const BodyId inner = graph.AddBody(BodyKind::kSubgraph, outer);
    body = inner;
    fill();
    body = outer;
    return inner;
  }

  NodeId Producer(ValueId v) const { return graph.producer(v); }
  // Names of the first outputs of `nodes`, with spaces between.
  std::string Names(const std::vector<NodeId>& nodes) const {
    std::string text;
    for (const NodeId n : nodes) {
      if (!text.empty()) text += ' ';
      text += graph.num_outputs(n) > 0 && graph.output(n, 0).valid()
                  ? std::string(graph.name(graph.output(n, 0)))
                  : "(" + std::string(graph.name(n)) + ")";
    }
    return text;
  }
  // Readers of `v` as "node:input" or "output:index", in order.
  std::string Readers(ValueId v) const {
    std::string text;
    for (const UseId u : graph.uses(v)) {
      const User user = graph.user(u);
      if (!text.empty()) text += ' ';
      text += user.is_output() ? "output" : Names({user.node});
      text += ':' + std::to_string(user.index);
    }
    return text;
  }
};

}  // namespace qrewrite
