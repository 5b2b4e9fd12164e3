// Nodes and the interface of a graph that is varied.
#include <algorithm>
#include <climits>
#include <cmath>
#include <numeric>

#include "engine/prove/attribute_texts.h"
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
    const int64_t values[] = {*number + 1, *number - 1, 0, 1, 2, -1, *number - rank, -*number};
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
  const std::vector<std::string_view> texts = TextsOf(name);
  if (!texts.empty() && (words_.texts.empty() || dice_.Once(2)))
    return std::string(dice_.Of(texts));
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
    const Signature* signature = signatures_.Find(op.domain, op.name, graph_.OpsetOf(n, op.domain));
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
      ++uneven.back();
      add(uneven);
      ++uneven.front(), --uneven.back();
      add(std::move(uneven));
    }
    // An order of three or more that is not undone by itself.
    std::vector<int64_t> order(list->size());
    std::iota(order.begin(), order.end(), 0);
    if (order.size() > 2 && std::ranges::is_permutation(*list, order)) {
      std::ranges::rotate(order, order.begin() + 1);
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
      if (std::abs(*number) <= rank) add(*number < 0 ? *number + rank : *number - rank);
    }
  }
  if (place.kind == AttrKind::kString) {
    for (const std::string_view text : TextsOf(place.name)) add(std::string(text));
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
  const OpName& op = graph_.op_name(graph_.op(n));
  const Signature* const s = signatures_.Find(op.domain, op.name, graph_.OpsetOf(n, op.domain));
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

std::vector<size_t> Change::AbsentInputs(NodeId n) const {
  const OpName& op = graph_.op_name(graph_.op(n));
  const Signature* s = signatures_.Find(op.domain, op.name, graph_.OpsetOf(n, op.domain));
  std::vector<size_t> absent;
  if (s == nullptr || HasFixedAttributes(n) || graph_.HasSubgraphs(n)) return absent;
  for (size_t i = 0; i < s->inputs.size(); ++i) {
    const bool there = i < graph_.num_inputs(n) && graph_.input(n, i).valid();
    if (there || s->inputs[i].arity != Arity::kOptional) continue;
    // Of operators of a rule set's own only what its tests say.
    if (!IsFixed(n) || words_.operands.contains({op, i})) absent.push_back(i);
  }
  return absent;
}

bool Change::AddInput() {
  if (nodes_.empty()) return false;
  const NodeId n = dice_.Of(nodes_);
  const std::vector<size_t> absent = AbsentInputs(n);
  return !absent.empty() && AddInputAt(n, dice_.Of(absent));
}

Tensor Change::SomeOperand(NodeId n, size_t at) const {
  const OpName& op = graph_.op_name(graph_.op(n));
  const Signature* s = signatures_.Find(op.domain, op.name, graph_.OpsetOf(n, op.domain));
  const auto type_of = [&](ValueId v) {
    const Tensor* const tensor = graph_.constant(v);
    return tensor != nullptr ? tensor->dtype() : graph_.declared(v).dtype;
  };
  if (IsFixed(n)) {
    const std::vector<Tensor>& known = words_.operands.at({op, at});
    if (known.empty()) return {};
    std::optional<Numbers> numbers = Numbers::Of(dice_.Of(known));
    if (!numbers) return {};
    // A zero point is of the type of the integers.
    const DType first =
        graph_.input(n, 0).valid() ? type_of(graph_.input(n, 0)) : DType::kUndefined;
    if (IsInteger(first) && IsInteger(numbers->dtype)) numbers->dtype = first;
    return numbers->ToTensor();
  }
  const int var = s->inputs[at].type_var;
  // The type of another input of the same kind, else one that is allowed.
  DType dtype = DType::kUndefined;
  for (size_t i = 0; i < graph_.num_inputs(n); ++i) {
    const ValueId v = graph_.input(n, i);
    if (!v.valid()) continue;
    const DType has = type_of(v);
    if (i < s->inputs.size() && s->inputs[i].type_var == var && has != DType::kUndefined)
      dtype = has;
  }
  if (dtype == DType::kUndefined && var >= 0) {
    constexpr DType kUsual[] = {DType::kFloat, DType::kUint8, DType::kInt8, DType::kInt64,
                                DType::kInt32};
    std::vector<DType> allowed;
    for (const DType t : kUsual) {
      if (s->types[static_cast<size_t>(var)].Allows(t)) allowed.push_back(t);
    }
    if (!allowed.empty()) dtype = dice_.Of(allowed);
  }
  if (dtype == DType::kUndefined) return {};
  Numbers numbers{.dtype = dtype, .dims = {}, .values = {1}};
  // Zero points are any number of their type, lists of indexes may be an order of axes.
  const bool small = IsInteger(dtype) && Info(dtype).bits <= 8 && dice_.Once(2);
  const bool order = IsInteger(dtype) && Info(dtype).bits >= 32 && dice_.Once(2);
  const std::set<int64_t> ranks = Ranks();
  const bool of_rank = order && !ranks.empty() && *ranks.rbegin() > 0;
  numbers.Resize(of_rank ? Dims{*ranks.rbegin()} : dice_.Of(OperandShapes(n)), dice_);
  auto next = static_cast<double>(numbers.values.size());
  for (double& x : numbers.values) {
    if (order)
      x = --next;
    else if (small)
      x = static_cast<double>(dice_.Integer(IntMin(dtype), static_cast<int64_t>(IntMax(dtype))));
    else
      x = static_cast<double>(dice_.Integer(1, 4));
  }
  return numbers.ToTensor();
}

std::vector<Dims> Change::OperandShapes(NodeId n) const {
  std::vector<Dims> shapes = {{1}};
  std::map<size_t, std::vector<Dims>> by_rank;  // of the inputs
  for (size_t i = 0; i < graph_.num_inputs(n); ++i) {
    const ValueId v = graph_.input(n, i);
    if (!v.valid()) continue;
    const Tensor* const tensor = graph_.constant(v);
    Dims dims = tensor != nullptr ? tensor->dims() : Dims();
    if (tensor == nullptr) {
      if (!graph_.declared(v).known_shape()) continue;
      for (const Dim d : graph_.declared(v).dims) dims.push_back(d.size());
    }
    // A bias has a number for each place of an axis, also where all that is there is data.
    if (tensor != nullptr) shapes.push_back(dims);
    for (const int64_t size : dims) {
      if (tensor != nullptr || std::ranges::count(shapes, Dims{size}) == 0)
        shapes.push_back({size});
    }
    by_rank[dims.size()].push_back(std::move(dims));
  }
  // Each axis as long as that of some input with as many: a state of a recurrent layer, a residual.
  for (const auto& [rank, known] : by_rank) {
    Dims mixed(rank);
    for (size_t i = 0; i < rank; ++i) mixed[i] = dice_.Of(known)[i];
    if (known.size() > 1) shapes.insert(shapes.end(), shapes.size(), mixed);
  }
  return shapes;
}

bool Change::AddInputAt(NodeId n, size_t at) { return AddInputAt(n, at, SomeOperand(n, at)); }

bool Change::AddInputAt(NodeId n, size_t at, const Tensor& tensor) {
  if (!tensor.valid()) return false;
  const BodyId body = graph_.body_of(n);
  const ValueId added = graph_.AddConstant(body, graph_.FreshName("added"), tensor);
  if (at < graph_.num_inputs(n)) {
    graph_.SetInput(n, at, added);
    return true;
  }
  std::vector<ValueId> operands, outputs;
  for (size_t i = 0; i < graph_.num_inputs(n); ++i) operands.push_back(graph_.input(n, i));
  operands.resize(at);
  operands.push_back(added);
  for (size_t i = 0; i < graph_.num_outputs(n); ++i) {
    const ValueId old = graph_.output(n, i);
    if (old.valid()) graph_.DropProducer(old);
    outputs.push_back(old);
  }
  const Attributes attributes = graph_.attributes(n);
  const OpId id = graph_.op(n);
  graph_.RemoveNode(n);
  graph_.AddNode(body, id, operands, outputs, attributes, "");
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
  const Signature* signature = signatures_.Find(op.domain, op.name, graph_.OpsetOf(n, op.domain));
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
