// Emitter: subgraphs put in place of the node that holds them.
#include <fmt/format.h>

#include "engine/rewrite/emit.h"

namespace qrewrite {

// Are there initializers that the graph does not hold, but only the file: sparse ones, and those of
// newer types?
bool Emitter::HoldsCarried(BodyId body) const {
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

Vals Emitter::Inline(BodyId body, const MakeCall& call, Frame& frame) {
  const Body& source = graph_.body(body);
  if (call.args.size() != source.inputs.size()) {
    return Fail(fmt::format("the subgraph takes {} inputs, not {}", source.inputs.size(),
                            call.args.size()));
  }
  if (HoldsCarried(body)) return Fail("the subgraph has a tensor that cannot be copied");
  std::unordered_map<ValueId, ValueId> values;
  const OpName nothing;
  const Head none{nothing, {}};
  for (size_t i = 0; i < call.args.size(); ++i) {
    const Val value = Value(call.args[i].value, frame);
    if (value.stops()) return Fail(in_.WhyIfAsked(value));
    Inputs operand;
    if (!Operands(none, {value}, operand)) return Fail(reason_);
    values[source.inputs[i]] = operand.empty() ? ValueId() : operand[0];
  }
  CopyNodes(body, body_, values);
  Vals out;
  for (size_t i = 0; i < graph_.body(body).outputs.size(); ++i) {
    const ValueId v = graph_.output(body, i);
    const auto it = values.find(v);
    out.emplace_back(it == values.end() ? v : it->second);
  }
  return out;
}

void Emitter::CopyNodes(BodyId from, BodyId to, std::unordered_map<ValueId, ValueId>& values) {
  const std::vector<ValueId> constants = graph_.body(from).constants;
  for (const ValueId v : constants) {
    const Tensor* tensor = graph_.constant(v);
    if (!graph_.alive(v) || tensor == nullptr || values.count(v)) continue;
    const Tensor copy = *tensor;
    values[v] = graph_.AddConstant(to, "", copy);
    Wish(values[v], graph_.name(v));
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
      outputs[i] = graph_.AddValue(to, "");
      values[v] = outputs[i];
      Wish(outputs[i], graph_.name(v));
    }
    Attributes attributes;
    for (const Attribute& a : graph_.attributes(n)) {
      attributes.Set(a.name, CopyAttribute(a.value, to, values));
    }
    const NodeId copy =
        graph_.AddNode(to, graph_.op(n), inputs, outputs, std::move(attributes), "");
    NoteCopy(copy, n);
    nodes_.Add(copy);
  }
}

// A subgraph is an attribute of one node: a new one takes it from a node that goes, once; else it
// gets a copy.
bool Emitter::OwnSubgraphs(AttrValue& value) {
  const auto* body = std::get_if<BodyId>(&value);
  if (body == nullptr) return true;
  const NodeId owner = graph_.body(*body).owner;
  bool goes = owner.valid() && owner.index < first_new_;
  for (size_t i = 0; goes && i < graph_.num_outputs(owner); ++i) {
    const ValueId v = graph_.output(owner, i);
    goes = !v.valid() || graph_.num_uses(v) == 0 || going_.contains(v);
  }
  if (goes) return true;
  if (HoldsCarried(*body)) return Fail("the subgraph has a tensor that cannot be copied"), false;
  std::unordered_map<ValueId, ValueId> values;
  value = CopyAttribute(value, body_, values);
  return true;
}

AttrValue Emitter::CopyAttribute(const AttrValue& value, BodyId to,
                                 std::unordered_map<ValueId, ValueId>& values) {
  const auto copy = [&](BodyId source) {
    const BodyId body = graph_.AddBody(BodyKind::kSubgraph, to);
    graph_.mutable_body(body).name = std::string(graph_.body(source).name);
    const std::vector<ValueId> inputs = graph_.body(source).inputs;
    for (const ValueId v : inputs) {
      const ValueId input = graph_.AddValue(body, "");
      graph_.SetDeclared(input, graph_.declared(v));
      graph_.AddInput(body, input);
      values[v] = input;
      Wish(input, graph_.name(v));
    }
    CopyNodes(source, body, values);
    for (size_t i = 0; i < graph_.body(source).outputs.size(); ++i) {
      const ValueId v = graph_.output(source, i);
      const auto it = values.find(v);
      graph_.AddOutput(body, it == values.end() ? v : it->second);
    }
    return body;
  };
  if (const auto* body = std::get_if<BodyId>(&value)) return copy(*body);
  if (const auto* bodies = std::get_if<std::vector<BodyId>>(&value)) {
    std::vector<BodyId> copies;
    for (const BodyId b : *bodies) copies.push_back(copy(b));
    return copies;
  }
  return value;
}

}  // namespace qrewrite
