// Graphs inside of graphs: all nodes move into the branches of an If, or into the body of a Loop.
#include <algorithm>
#include <unordered_map>

#include "engine/prove/change.h"

namespace qrewrite {

bool Change::CanMove() const {
  const Body& main = graph_.body(graph_.main());
  for (size_t i = 0; i < main.outputs.size(); ++i) {
    const ValueId v = graph_.output(graph_.main(), i);
    if (!graph_.producer(v).valid()) return false;
    for (size_t k = 0; k < i; ++k) {
      if (graph_.output(graph_.main(), k) == v) return false;
    }
  }
  return !nodes_.empty() && !main.outputs.empty() && std::ranges::all_of(nodes_, [&](NodeId n) {
    return !graph_.HasSubgraphs(n) && graph_.body_of(n) == graph_.main();
  });
}

// The number of the iteration and the condition, which goes on as it came: the first output.
void Change::AddLoopCondition(BodyId body) {
  const ValueId step = graph_.AddValue(body, graph_.FreshName("step")),
                more = graph_.AddValue(body, graph_.FreshName("more")),
                next = graph_.AddValue(body, graph_.FreshName("next"));
  graph_.SetDeclared(step, TypeInfo{.dtype = DType::kInt64, .has_rank = true});
  graph_.SetDeclared(more, TypeInfo{.dtype = DType::kBool, .has_rank = true});
  graph_.AddInput(body, step);
  graph_.AddInput(body, more);
  graph_.AddNode(body, graph_.InternOp("", "Identity"), std::vector{more}, std::vector{next}, {},
                 "");
  graph_.AddOutput(body, next);
}

BodyId Change::CopyOfMain(const std::vector<NodeId>& order, std::string_view name, bool of_loop) {
  const BodyId body = graph_.AddBody(BodyKind::kSubgraph, graph_.main());
  graph_.mutable_body(body).name = std::string(name);
  if (of_loop) AddLoopCondition(body);
  std::unordered_map<ValueId, ValueId> copies;
  for (const NodeId n : order) {
    std::vector<ValueId> inputs, outputs;
    for (size_t i = 0; i < graph_.num_inputs(n); ++i) {
      const ValueId v = graph_.input(n, i);
      const auto copy = copies.find(v);
      inputs.push_back(copy == copies.end() ? v : copy->second);  // else it is captured
    }
    for (size_t i = 0; i < graph_.num_outputs(n); ++i) {
      const ValueId v = graph_.output(n, i);
      outputs.push_back(v.valid() ? graph_.AddValue(body, graph_.FreshName(graph_.name(v)))
                                  : ValueId());
      if (v.valid()) copies[v] = outputs.back();
    }
    graph_.AddNode(body, graph_.op(n), inputs, outputs, graph_.attributes(n), "");
  }
  const size_t outputs = graph_.body(graph_.main()).outputs.size();
  for (size_t i = 0; i < outputs; ++i)
    graph_.AddOutput(body, copies.at(graph_.output(graph_.main(), i)));
  return body;
}

void Change::ReplaceMain(const std::vector<NodeId>& order, std::string_view op,
                         const std::vector<ValueId>& inputs, Attributes attributes) {
  std::vector<ValueId> outputs;
  const size_t count = graph_.body(graph_.main()).outputs.size();
  for (size_t i = 0; i < count; ++i) {
    outputs.push_back(graph_.output(graph_.main(), i));
    graph_.DropProducer(outputs.back());
  }
  // What reads an output inside reads nothing when its node is gone.
  for (size_t i = order.size(); i-- > 0;) graph_.RemoveNode(order[i]);
  graph_.AddNode(graph_.main(), graph_.InternOp("", op), inputs, outputs, std::move(attributes),
                 "");
}

bool Change::IntoIf() {
  if (!CanMove()) return false;
  const Result<std::vector<NodeId>> order = TopologicalOrder(graph_, graph_.main());
  if (!order.ok()) return false;
  const BodyId yes = CopyOfMain(*order, "yes", false), no = CopyOfMain(*order, "no", false);
  const ValueId which = graph_.AddValue(graph_.main(), graph_.FreshName("which"));
  graph_.SetDeclared(which, TypeInfo{.dtype = DType::kBool, .has_rank = true});
  graph_.AddInput(graph_.main(), which);
  ReplaceMain(*order, "If", {which}, {{"then_branch", yes}, {"else_branch", no}});
  return true;
}

bool Change::IntoLoop() {
  if (!CanMove()) return false;
  const Result<std::vector<NodeId>> order = TopologicalOrder(graph_, graph_.main());
  if (!order.ok()) return false;
  const BodyId body = CopyOfMain(*order, "body", /*of_loop=*/true);
  const std::vector<int64_t> two = {2};
  const ValueId times = graph_.AddConstant(graph_.main(), graph_.FreshName("times"),
                                           Tensor::Of<int64_t>(DType::kInt64, {}, two));
  ReplaceMain(*order, "Loop", {times}, {{"body", body}});
  return true;
}

}  // namespace qrewrite
