// Nodes and the interface of a graph that is varied.
#include <algorithm>
#include <climits>
#include <cmath>
#include <numeric>

#include "engine/ops/node_signature.h"
#include "engine/prove/change.h"
#include "engine/rule/check.h"

namespace qrewrite {

// --- nodes

bool Change::IsFixed(NodeId n) const {
  return IsPrivateDomain(graph_.op_name(graph_.op(n)).domain);
}

bool Change::HasFixedAttributes(NodeId n) const {
  return IsFixed(n) && !words_.computed.contains(graph_.op_name(graph_.op(n)));
}

namespace {

// Wraps: the ends of 64 bits stand for those of an axis.
int64_t Sum(int64_t a, int64_t b) {
  int64_t sum = 0;
  static_cast<void>(__builtin_add_overflow(a, b, &sum));
  return sum;
}

}  // namespace

std::span<const std::string> Change::TextsOf(NodeId n, std::string_view attribute) const {
  const Signature* const s = SignatureOf(graph_, n, signatures_);
  const FormalAttribute* const formal = s != nullptr ? s->FindAttribute(attribute) : nullptr;
  if (formal == nullptr) return {};
  return formal->texts;
}

AttrValue Change::Another(NodeId n, const std::string& name, const AttrValue& old) {
  const auto known = words_.values.find(name);
  if (known != words_.values.end() && !dice_.Once(3)) {
    const AttrValue value = dice_.Of(known->second);
    if (old.index() == 0 || value.index() == old.index()) return value;
  }
  if (const auto* number = std::get_if<int64_t>(&old)) {
    const ValueId x = graph_.num_inputs(n) > 0 ? graph_.input(n, 0) : ValueId();
    const int64_t rank =
        x.valid() && graph_.declared(x).has_rank ? std::ssize(graph_.declared(x).dims) : 2;
    const int64_t values[] = {Sum(*number, 1),     Sum(*number, -1), 0, 1, 2, -1,
                              Sum(*number, -rank), Sum(~*number, 1)};
    return values[dice_.Below(std::size(values))];
  }
  if (const auto* number = std::get_if<float>(&old)) {
    const float values[] = {0, 1, -1, 0.5, 2, *number * 2, -*number, 1e-6F};
    return values[dice_.Below(std::size(values))];
  }
  if (const auto* numbers = std::get_if<std::vector<int64_t>>(&old)) {
    std::vector<int64_t> list = *numbers;
    if (list.empty()) return std::vector<int64_t>{dice_.Integer(-1, 2)};
    switch (dice_.Integer(0, 4)) {
      case 0: std::reverse(list.begin(), list.end()); break;
      case 1: std::swap(list[dice_.Below(list.size())], list[dice_.Below(list.size())]); break;
      case 2: list.push_back(dice_.Integer(-1, 3)); break;
      case 3: list.pop_back(); break;
      default: list[dice_.Below(list.size())] = dice_.Integer(-2, 3);
    }
    return list;
  }
  if (!std::holds_alternative<std::string>(old)) return {};
  const std::span<const std::string> texts = TextsOf(n, name);
  if (!texts.empty() && (words_.texts.empty() || dice_.Once(2)))
    return texts[dice_.Below(texts.size())];
  return words_.texts.empty() ? AttrValue() : AttrValue(dice_.Of(words_.texts));
}

AttrValue Change::SomeValue(NodeId n, const std::string& name, AttrKind kind) {
  const auto known = words_.values.find(name);
  if (known != words_.values.end() && dice_.Once(2)) {
    const AttrValue value = dice_.Of(known->second);
    if (KindOf(value) == kind) return value;
  }
  switch (kind) {
    case AttrKind::kInt: return dice_.Integer(0, 2);
    case AttrKind::kFloat: return static_cast<float>(dice_.Uniform(0, 2));
    case AttrKind::kInts: break;
    case AttrKind::kString:
      return words_.texts.empty() ? AttrValue() : AttrValue(dice_.Of(words_.texts));
    default: return {};
  }
  // As long as another list of the node (strides beside dilations), as there are axes, or axes behind the
  // first two, once or on both sides.
  std::vector<size_t> lengths;
  for (const Attribute& a : graph_.attributes(n)) {
    if (const auto* list = std::get_if<std::vector<int64_t>>(&a.value)) {
      lengths.push_back(list->size());
      lengths.push_back(2 * list->size());
      lengths.push_back(list->size() / 2);
    }
  }
  for (size_t i = 0; i < graph_.num_inputs(n); ++i) {
    const ValueId v = graph_.input(n, i);
    if (!v.valid()) continue;
    const Tensor* const tensor = graph_.constant(v);
    const TypeInfo& type = graph_.declared(v);
    if (tensor == nullptr && !type.has_rank) continue;
    const size_t rank = tensor != nullptr ? tensor->dims().size() : type.dims.size();
    lengths.push_back(rank);
    if (rank > 2)
      lengths.insert(lengths.end(), {rank - 2, rank - 2, 2 * (rank - 2), 2 * (rank - 2)});
  }
  if (lengths.empty()) return {};
  std::vector<int64_t> list(dice_.Of(lengths));
  const int64_t low = dice_.Integer(0, 1);
  for (int64_t& x : list) x = dice_.Integer(low, 2);
  return list;
}

std::vector<Change::AttributePlace> Change::AttributePlaces(bool of_definitions) const {
  std::vector<AttributePlace> all;
  const auto& of_pattern = words_.of_pattern;
  const auto& asked = words_.asked;
  for (const NodeId n : nodes_) {
    if (HasFixedAttributes(n)) continue;
    // What else the graph computes may be the step of a quantizer.
    const OpName& op = graph_.op_name(graph_.op(n));
    const bool own = std::ranges::find(of_pattern, op) != of_pattern.end() ||
                     (of_definitions && std::ranges::find(asked, op) != asked.end());
    if (words_.keeps_numbers && !own) continue;
    const Signature* signature = SignatureOf(graph_, n, signatures_);
    for (const Attribute& a : graph_.attributes(n)) {
      if (!std::holds_alternative<BodyId>(a.value))
        all.push_back({n, a.name, a.value, KindOf(a.value), true});
    }
    for (size_t i = 0; signature != nullptr && i < signature->attributes.size(); ++i) {
      const FormalAttribute& formal = signature->attributes[i];
      if (graph_.attributes(n).Find(formal.name) == nullptr && formal.kind != AttrKind::kGraph)
        all.push_back({n, formal.name, formal.default_value, formal.kind, false});
    }
  }
  return all;
}

bool Change::AttributeOf() {
  const std::vector<AttributePlace> all = AttributePlaces();
  return !all.empty() && ChangeAttribute(dice_.Of(all));
}

bool Change::ChangeAttribute(const AttributePlace& place) {
  if (place.written && !IsFixed(place.node) && dice_.Once(5)) {
    graph_.EraseAttribute(place.node, place.name);
    return true;
  }
  // A divisor of a rule set's own operator is a number that data was measured for.
  if (IsFixed(place.node) && words_.keeps_numbers && place.kind == AttrKind::kTensor) return false;
  // Of operators of a rule set's own only what its tests say: what else they take is known to it alone.
  if (IsFixed(place.node) && !words_.values.contains(place.name)) return false;
  AttrValue value = IsFixed(place.node)        ? dice_.Of(words_.values.at(place.name))
                    : place.value.index() == 0 ? SomeValue(place.node, place.name, place.kind)
                                               : Another(place.node, place.name, place.value);
  if (value.index() == 0) return false;
  graph_.SetAttribute(place.node, place.name, std::move(value));
  return true;
}

std::set<int64_t> Change::Ranks() const {
  std::set<int64_t> ranks;
  for (const ValueId v : inputs_) {
    if (graph_.declared(v).has_rank) ranks.insert(std::ssize(graph_.declared(v).dims));
  }
  for (const ValueId v : constants_) ranks.insert(std::ssize(graph_.constant(v)->dims()));
  return ranks;
}

bool NamesType(std::string_view attribute) {
  return attribute == "to" || attribute.find("type") != std::string_view::npos;
}

std::vector<AttrValue> Change::Choices(const AttributePlace& place) const {
  std::vector<AttrValue> choices;
  const auto add = [&](AttrValue value) {
    const auto same = [&](const AttrValue& v) { return Equal(v, value); };
    if (!Equal(value, place.value) && std::ranges::none_of(choices, same))
      choices.push_back(std::move(value));
  };
  const auto known = words_.values.find(place.name);
  // Of operators of a rule set's own only what its tests say; a divisor is a number that data was measured for.
  const bool fixed = IsFixed(place.node);
  if (fixed && (known == words_.values.end() || place.kind == AttrKind::kTensor)) return choices;
  if (known != words_.values.end()) {
    for (const AttrValue& value : known->second) {
      if (KindOf(value) == place.kind && value.index() != 0) add(value);
    }
  }
  if (fixed) return choices;
  if (const auto* const list = std::get_if<std::vector<int64_t>>(&place.value)) {
    add(std::vector<int64_t>(list->rbegin(), list->rend()));
    // What is the same on both sides, padding say, is not; if it is an order, it is none.
    if (list->size() > 1 && std::ranges::count(*list, list->front()) == std::ssize(*list)) {
      std::vector<int64_t> uneven = *list;
      uneven.back() = Sum(list->back(), 1);
      add(uneven);
      std::swap(uneven.front(), uneven.back());
      add(std::move(uneven));
    }
    // An order of three or more that is not undone by itself.
    std::vector<int64_t> order(list->size());
    std::iota(order.begin(), order.end(), 0);
    if (order.size() > 2 && std::ranges::is_permutation(*list, order)) {
      std::rotate(order.begin(), order.begin() + 1, order.end());
      add(std::move(order));
    }
  }
  if (place.kind == AttrKind::kInt && NamesType(place.name)) {
    for (const DType dtype : words_.dtypes) add(static_cast<int64_t>(dtype));
    return choices;
  }
  if (place.kind == AttrKind::kInt) {
    for (const int64_t number : {0, 1, 2, -1}) add(number);
    // The other name of an axis.
    const auto* const number = std::get_if<int64_t>(&place.value);
    if (number == nullptr) return choices;
    for (const int64_t rank : Ranks()) {
      if (-rank <= *number && *number <= rank) add(*number < 0 ? *number + rank : *number - rank);
    }
  }
  if (place.kind == AttrKind::kString) {
    for (const std::string& text : TextsOf(place.node, place.name)) add(text);
  }
  return choices;
}

bool Change::Operator() {
  if (nodes_.empty() || words_.ops.empty()) return false;
  const NodeId n = dice_.Of(nodes_);
  return OperatorAt(n, dice_.Of(words_.ops));
}

bool Change::OperatorAt(NodeId n, const OpName& to) {
  const OpName from = graph_.op_name(graph_.op(n));
  // Of several one may make the step of a quantizer.
  const bool several = std::ranges::count_if(nodes_, [&](NodeId other) {
                         return graph_.op(other) == graph_.op(n);
                       }) > 1;
  if (words_.keeps_numbers && (several || MakesOperand(n))) return false;
  const Signature* signature =
      signatures_.Find(to.domain, to.name, graph_.OpsetOf(graph_.main(), to.domain));
  const auto inputs = static_cast<int>(graph_.num_inputs(n));
  if (to == from || signature == nullptr || signature->has_subgraphs || graph_.HasSubgraphs(n) ||
      inputs < signature->min_inputs || inputs > signature->max_inputs ||
      static_cast<int>(graph_.num_outputs(n)) > signature->max_outputs) {
    return false;
  }
  std::vector<ValueId> operands, outputs;
  for (size_t i = 0; i < graph_.num_inputs(n); ++i) operands.push_back(graph_.input(n, i));
  Attributes attributes;
  for (const Attribute& a : graph_.attributes(n)) {
    if (signature->FindAttribute(a.name) != nullptr) attributes.Set(a.name, a.value);
  }
  for (size_t i = 0; i < graph_.num_outputs(n); ++i) {
    const ValueId old = graph_.output(n, i);
    if (!old.valid()) {
      outputs.emplace_back();
      continue;
    }
    graph_.DropProducer(old);
    outputs.push_back(old);
  }
  const BodyId body = graph_.body_of(n);
  graph_.RemoveNode(n);
  graph_.AddNode(body, graph_.InternOp(to.domain, to.name), operands, outputs,
                 std::move(attributes), "");
  return true;
}

bool Change::SwapInputs() {
  if (nodes_.empty()) return false;
  const NodeId n = dice_.Of(nodes_);
  if (graph_.num_inputs(n) < 2 || IsFixed(n)) return false;
  const size_t i = dice_.Below(graph_.num_inputs(n)), j = dice_.Below(graph_.num_inputs(n));
  return Swap(n, i, j);
}

// Whether its operands may change places without another result: what holds of the one holds of the other.
bool Change::MaySwap(NodeId n) const {
  const Signature* const s = SignatureOf(graph_, n, signatures_);
  return s != nullptr && s->commutative && graph_.num_inputs(n) == 2;
}

bool Change::Swap(NodeId n, size_t i, size_t j) {
  const ValueId a = graph_.input(n, i), b = graph_.input(n, j);
  if (a == b) return false;
  graph_.SetInput(n, i, b);
  graph_.SetInput(n, j, a);
  return true;
}

bool Change::SameInput() {
  if (nodes_.empty()) return false;
  const NodeId n = dice_.Of(nodes_);
  if (graph_.num_inputs(n) < 2 || IsFixed(n)) return false;
  const size_t i = dice_.Below(graph_.num_inputs(n)), j = dice_.Below(graph_.num_inputs(n));
  if (graph_.input(n, i) == graph_.input(n, j) || !graph_.input(n, i).valid()) return false;
  graph_.SetInput(n, j, graph_.input(n, i));
  return true;
}

bool Change::DropInput() {
  if (nodes_.empty()) return false;
  const NodeId n = dice_.Of(nodes_);
  if (graph_.num_inputs(n) < 2 || IsFixed(n)) return false;
  const size_t i = 1 + dice_.Below(graph_.num_inputs(n) - 1);
  if (!graph_.input(n, i).valid()) return false;
  graph_.SetInput(n, i, ValueId());
  return true;
}

// --- the interface

bool Change::AnotherReader() {
  std::vector<ValueId> inner;
  for (const ValueId v : made_) {
    if (IsMain(v) && graph_.num_uses(v) > 0 && !graph_.IsOutput(v)) inner.push_back(v);
  }
  if (inner.empty()) return false;
  const ValueId v = dice_.Of(inner);
  if (dice_.Once(2)) {
    graph_.AddOutput(graph_.main(), v);
    return true;
  }
  const std::string_view name = graph_.FreshName("other");
  const ValueId read = graph_.AddValue(graph_.main(), name);
  const ValueId from = dice_.Once(4) && !inputs_.empty() ? dice_.Of(inputs_) : v;
  graph_.AddNode(graph_.main(), graph_.InternOp("", "Identity"), std::vector{from},
                 std::vector{read}, {}, "");
  graph_.AddOutput(graph_.main(), read);
  return true;
}

bool Change::MoreOutputs() { return !nodes_.empty() && AddOutputOf(dice_.Of(nodes_)); }

bool Change::AddOutputOf(NodeId n) {
  const OpName op = graph_.op_name(graph_.op(n));
  const Signature* signature = SignatureOf(graph_, n, signatures_);
  if (signature == nullptr || graph_.HasSubgraphs(n)) return false;
  const size_t has = graph_.num_outputs(n);
  if (static_cast<int>(has) >= std::min(signature->max_outputs, 4)) return false;
  std::vector<ValueId> operands, outputs;
  for (size_t i = 0; i < graph_.num_inputs(n); ++i) operands.push_back(graph_.input(n, i));
  for (size_t i = 0; i < has; ++i) {
    const ValueId old = graph_.output(n, i);
    if (old.valid()) graph_.DropProducer(old);
    outputs.push_back(old);
  }
  const ValueId more = graph_.AddValue(graph_.body_of(n), graph_.FreshName("more"));
  outputs.push_back(more);
  const Attributes attributes = graph_.attributes(n);
  const BodyId body = graph_.body_of(n);
  graph_.RemoveNode(n);
  graph_.AddNode(body, graph_.InternOp(op.domain, op.name), operands, outputs, attributes, "");
  if (body == graph_.main()) graph_.AddOutput(graph_.main(), more);
  return true;
}

bool Change::Opset() {
  const int64_t opset = dice_.Integer(words_.first_opset, words_.last_opset);
  if (graph_.opset()[""] == opset) return false;
  graph_.opset()[""] = opset;
  return true;
}

}  // namespace qrewrite
