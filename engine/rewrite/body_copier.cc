#include "engine/rewrite/body_copier.h"

#include <string>
#include <vector>

namespace qrewrite {

bool BodyCopier::HoldsCarried(BodyId body) const {
  const auto is_carried = [&](ValueId v) {
    return v.valid() && graph_.Encloses(body, graph_.body_of(v)) && !graph_.producer(v).valid() &&
           !graph_.IsInput(v) && graph_.constant(v) == nullptr;
  };
  std::vector<BodyId> todo = {body};
  while (!todo.empty()) {
    const BodyId at = todo.back();
    todo.pop_back();
    for (size_t i = 0; i < graph_.body(at).outputs.size(); ++i) {
      if (is_carried(graph_.output(at, i))) return true;
    }
    for (const NodeId n : graph_.body(at).nodes) {
      if (!graph_.alive(n)) continue;
      for (size_t i = 0; i < graph_.num_inputs(n); ++i) {
        if (is_carried(graph_.input(n, i))) return true;
      }
      const std::vector<BodyId> inner = graph_.SubgraphsOf(n);
      todo.insert(todo.end(), inner.begin(), inner.end());
    }
  }
  return false;
}

void BodyCopier::CopyNodes(BodyId from, BodyId to, Values& values) {
  const std::vector<ValueId> constants = graph_.body(from).constants;
  for (const ValueId v : constants) {
    const Tensor* tensor = graph_.constant(v);
    if (!graph_.alive(v) || tensor == nullptr || values.contains(v)) continue;
    const Tensor copy = *tensor;
    values[v] = graph_.AddConstant(to, "", copy);
    Added(values[v], v);
  }
  const Result<std::vector<NodeId>> order = TopologicalOrder(graph_, from);
  if (!order.ok()) return;  // the reader of the model and the driver refuse cycles
  for (const NodeId n : *order) {
    std::vector<ValueId> inputs(graph_.num_inputs(n)), outputs(graph_.num_outputs(n));
    for (size_t i = 0; i < inputs.size(); ++i) {
      const auto it = values.find(graph_.input(n, i));
      inputs[i] = it == values.end() ? graph_.input(n, i) : it->second;
    }
    for (size_t i = 0; i < outputs.size(); ++i) {
      const ValueId v = graph_.output(n, i);
      if (!v.valid()) continue;
      const auto [it, added] = values.try_emplace(v);
      if (added) {
        it->second = graph_.AddValue(to, "");
        Added(it->second, v);
      }
      outputs[i] = it->second;
    }
    Attributes attributes;
    for (const Attribute& a : graph_.attributes(n)) {
      if (auto value = AttributeOf(a.value, to, values)) attributes.Set(a.name, *std::move(value));
    }
    const NodeId copy =
        graph_.AddNode(to, graph_.op(n), inputs, outputs, std::move(attributes), "");
    graph_.Inherit(copy, n);
    Added(copy, n);
  }
}

BodyId BodyCopier::CopyBody(BodyId source, BodyId parent, Values& values) {
  const BodyId body = graph_.AddBody(BodyKind::kSubgraph, parent);
  graph_.mutable_body(body).name = std::string(graph_.body(source).name);
  const std::vector<ValueId> inputs = graph_.body(source).inputs;
  for (const ValueId v : inputs) {
    const ValueId input = graph_.AddValue(body, "");
    graph_.SetDeclared(input, graph_.declared(v));
    graph_.AddInput(body, input);
    values[v] = input;
    Added(input, v);
  }
  CopyNodes(source, body, values);
  for (size_t i = 0; i < graph_.body(source).outputs.size(); ++i) {
    const ValueId v = graph_.output(source, i);
    const auto it = values.find(v);
    graph_.AddOutput(body, it == values.end() ? v : it->second);
  }
  return body;
}

AttrValue BodyCopier::CopyAttribute(const AttrValue& value, BodyId to, Values& values) {
  if (const auto* body = std::get_if<BodyId>(&value)) return CopyBody(*body, to, values);
  if (const auto* bodies = std::get_if<std::vector<BodyId>>(&value)) {
    std::vector<BodyId> copies;
    for (const BodyId b : *bodies) copies.push_back(CopyBody(b, to, values));
    return copies;
  }
  return value;
}

}  // namespace qrewrite
