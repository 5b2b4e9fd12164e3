#include "engine/prove/variation.h"

#include <algorithm>
#include <climits>
#include <cmath>
#include <limits>
#include <set>

#include <fmt/format.h>

#include "engine/prove/numbers.h"
#include "engine/rewrite/edit.h"

namespace qrewrite {
namespace {

// Sizes that show most: one, two that differ, and none at all now and then.
int64_t RandomSize(Dice& dice) {
  constexpr int64_t kSizes[] = {1, 1, 2, 2, 3, 3, 4, 5, 6, 0};
  return kSizes[dice.Below(std::size(kSizes))];
}

// One graph under one change.
class Change {
 public:
  Change(Graph& graph, const Vocabulary& words, const Signatures& signatures, Dice& dice)
      : graph_(graph), words_(words), signatures_(signatures), dice_(dice) {
    for (size_t i = 0; i < graph.num_nodes(); ++i) {
      if (graph.alive(NodeId(i))) nodes_.push_back(NodeId(i));
    }
    for (size_t i = 0; i < graph.num_values(); ++i) {
      const ValueId v(i);
      if (!graph.alive(v)) continue;
      if (graph.constant(v) != nullptr && graph.num_uses(v) > 0) constants_.push_back(v);
      if (graph.constant(v) != nullptr) continue;
      if (graph.producer(v).valid()) made_.push_back(v);
    }
    for (const ValueId v : graph.body(graph.main()).inputs) {
      if (graph.constant(v) == nullptr) inputs_.push_back(v);
    }
  }

  std::string Make() {
    struct Way {
      int weight;
      bool numbers;  // changes the numbers of constants
      std::string (Change::*make)();
    };
    constexpr Way kWays[] = {
        {12, true, &Change::ConstantNumbers}, {8, false, &Change::ConstantShape},
        {6, false, &Change::TypeEverywhere},  {4, false, &Change::TypeHere},
        {8, false, &Change::SizeEverywhere},  {8, false, &Change::InputShape},
        {3, false, &Change::ConstantToInput}, {2, false, &Change::InputToConstant},
        {20, false, &Change::AttributeOf},    {6, false, &Change::AnotherReader},
        {2, false, &Change::Overridable},     {4, false, &Change::SwapInputs},
        {3, false, &Change::SameInput},       {4, false, &Change::DropInput},
        {3, false, &Change::MoreOutputs},     {5, false, &Change::Operator},
        {5, false, &Change::Opset},           {6, false, &Change::Square},
    };
    int total = 0;
    for (const Way& way : kWays) total += way.weight;
    int64_t at = dice_.Integer(0, total - 1);
    for (const Way& way : kWays) {
      if ((at -= way.weight) >= 0) continue;
      return way.numbers && words_.keeps_numbers ? "" : (this->*way.make)();
    }
    return "";
  }

  const std::vector<ValueId>& constants() const { return constants_; }
  const std::vector<NodeId>& nodes() const { return nodes_; }
  // Sizes of inputs and constants that are `from` are `to`.
  void Resize(int64_t from, int64_t to);
  // All elements of a constant are the first one.
  void Flatten(ValueId v);
  // Its elements have one digit.
  void Round(ValueId v);

 private:
  std::string Name(ValueId v) const { return std::string(graph_.name(v)); }
  bool IsMain(ValueId v) const { return graph_.body_of(v) == graph_.main(); }

  // --- constants
  std::string ConstantNumbers();
  std::string ConstantShape();
  std::string ConstantToInput();
  std::string Overridable();
  // Constants that `v` shares a node and a shape with, itself included: a scale and its zero point.
  std::vector<ValueId> Companions(ValueId v) const;

  // --- types
  std::string TypeEverywhere();
  std::string TypeHere();
  void SetType(ValueId v, DType dtype);
  void ChangeType(DType from, DType to, bool everywhere, const std::set<ValueId>& here);

  // --- shapes
  std::string SizeEverywhere();
  std::string InputShape();
  std::string Square();
  std::string InputToConstant();

  // --- nodes
  std::string AttributeOf();
  std::string Operator();
  std::string SwapInputs();
  std::string SameInput();
  std::string DropInput();
  AttrValue Another(NodeId n, const std::string& name, const AttrValue& old);

  // --- the interface
  std::string AnotherReader();
  std::string MoreOutputs();
  std::string Opset();

  Graph& graph_;
  const Vocabulary& words_;
  const Signatures& signatures_;
  Dice& dice_;
  std::vector<NodeId> nodes_;
  std::vector<ValueId> constants_, made_, inputs_;
};

// --- constants

std::string Change::ConstantNumbers() {
  if (constants_.empty()) return "";
  const ValueId v = dice_.Of(constants_);
  std::optional<Numbers> numbers = Numbers::Of(*graph_.constant(v));
  if (!numbers) return "";
  const std::string what = numbers->Disturb(dice_);
  const Tensor tensor = numbers->ToTensor();
  if (what.empty() || !tensor.valid()) return "";
  graph_.SetConstant(v, tensor);
  return fmt::format("`{}`: {}", Name(v), what);
}

std::vector<ValueId> Change::Companions(ValueId v) const {
  std::set<ValueId> found = {v};
  const Dims& dims = graph_.constant(v)->dims();
  for (const UseId u : graph_.uses(v)) {
    const NodeId n = graph_.user(u).node;
    for (size_t i = 0; n.valid() && i < graph_.num_inputs(n); ++i) {
      const ValueId other = graph_.input(n, i);
      if (!other.valid() || graph_.constant(other) == nullptr) continue;
      if (graph_.constant(other)->dims() == dims) found.insert(other);
    }
  }
  return {found.begin(), found.end()};
}

std::string Change::ConstantShape() {
  if (constants_.empty()) return "";
  const ValueId v = dice_.Of(constants_);
  Dims dims = graph_.constant(v)->dims();
  const int64_t count = graph_.constant(v)->size();
  // A size that occurs elsewhere is the most likely to be accepted.
  std::vector<int64_t> sizes = {1, 2, 3};
  for (const ValueId c : constants_) {
    sizes.insert(sizes.end(), graph_.constant(c)->dims().begin(), graph_.constant(c)->dims().end());
  }
  switch (dice_.Integer(0, 6)) {
    case 0: dims.insert(dims.begin(), 1); break;
    case 1: dims.push_back(1); break;
    case 2: dims = count == 1 && dims.empty() ? Dims{1} : Dims{}; break;
    case 3: dims = {dice_.Of(sizes)}; break;
    case 4:
      if (dims.empty()) return "";
      dims[dice_.Below(dims.size())] = RandomSize(dice_);
      break;
    case 5:
      if (dims.empty()) return "";
      dims.erase(dims.begin() + static_cast<ptrdiff_t>(dice_.Below(dims.size())));
      break;
    default:
      if (dims.size() < 2) return "";
      std::swap(dims.front(), dims.back());
  }
  const std::vector<ValueId> all = dice_.Once(4) ? std::vector{v} : Companions(v);
  for (const ValueId c : all) {
    std::optional<Numbers> numbers = Numbers::Of(*graph_.constant(c));
    if (!numbers) return "";
    numbers->Resize(dims, dice_);
    const Tensor tensor = numbers->ToTensor();
    if (!tensor.valid()) return "";
    graph_.SetConstant(c, tensor);
  }
  return fmt::format("`{}` is [{}]", Name(v), fmt::join(dims, ", "));
}

std::string Change::ConstantToInput() {
  if (constants_.empty()) return "";
  const ValueId v = dice_.Of(constants_);
  if (!IsMain(v) || graph_.IsInput(v)) return "";
  const Tensor& tensor = *graph_.constant(v);
  TypeInfo type{.dtype = tensor.dtype(), .has_rank = true};
  for (const int64_t d : tensor.dims()) type.dims.emplace_back(d);
  const std::string_view name = graph_.FreshName(graph_.name(v).empty() ? "c" : graph_.name(v));
  const ValueId input = graph_.AddValue(graph_.main(), name);
  graph_.SetDeclared(input, type);
  graph_.AddInput(graph_.main(), input);
  graph_.ReplaceUses(v, input);
  return fmt::format("constant `{}` is an input", name);
}

std::string Change::Overridable() {
  if (constants_.empty()) return "";
  const ValueId v = dice_.Of(constants_);
  if (!IsMain(v) || graph_.IsInput(v)) return "";
  const Tensor& tensor = *graph_.constant(v);
  TypeInfo type{.dtype = tensor.dtype(), .has_rank = true};
  for (const int64_t d : tensor.dims()) type.dims.emplace_back(d);
  graph_.SetDeclared(v, type);
  graph_.AddInput(graph_.main(), v);
  return fmt::format("`{}` may be overridden", Name(v));
}

// --- types

void Change::SetType(ValueId v, DType dtype) {
  if (const Tensor* tensor = graph_.constant(v)) {
    std::optional<Numbers> numbers = Numbers::Of(*tensor);
    if (!numbers) return;
    numbers->dtype = dtype;
    const Tensor cast = numbers->ToTensor();
    if (cast.valid()) graph_.SetConstant(v, cast);
  }
  TypeInfo type = graph_.declared(v);
  if (type.dtype == DType::kUndefined) return;
  type.dtype = dtype;
  graph_.SetDeclared(v, type);
}

void Change::ChangeType(DType from, DType to, bool everywhere, const std::set<ValueId>& here) {
  const auto change = [&](ValueId v) {
    if (!everywhere && !here.contains(v)) return;
    const DType has =
        graph_.constant(v) != nullptr ? graph_.constant(v)->dtype() : graph_.declared(v).dtype;
    if (has == from) SetType(v, to);
  };
  for (const ValueId v : inputs_) change(v);
  for (const ValueId v : constants_) change(v);
  if (!everywhere) return;
  // Attributes that name the type: `to` of a Cast.
  for (const NodeId n : nodes_) {
    const Attributes attributes = graph_.attributes(n);
    for (const Attribute& a : attributes) {
      const auto* number = std::get_if<int64_t>(&a.value);
      const bool names_type = a.name == "to" || a.name.find("type") != std::string::npos;
      if (number != nullptr && names_type && *number == static_cast<int64_t>(from)) {
        graph_.SetAttribute(n, a.name, static_cast<int64_t>(to));
      }
    }
  }
}

std::string Change::TypeEverywhere() {
  std::set<DType> used;
  for (const ValueId v : inputs_) used.insert(graph_.declared(v).dtype);
  for (const ValueId v : constants_) used.insert(graph_.constant(v)->dtype());
  const std::vector<DType> types(used.begin(), used.end());
  if (types.empty()) return "";
  const DType from = dice_.Of(types);
  const DType to = SimilarType(from, dice_);
  if (to == from) return "";
  ChangeType(from, to, /*everywhere=*/true, {});
  return fmt::format("{} is {}", Info(from).text_name, Info(to).text_name);
}

std::string Change::TypeHere() {
  // The inputs of a node that have one type: the integers of a quantizer and its zero point.
  if (nodes_.empty()) return "";
  const NodeId n = dice_.Of(nodes_);
  std::set<ValueId> here;
  DType from = DType::kUndefined;
  for (size_t i = 0; i < graph_.num_inputs(n); ++i) {
    const ValueId v = graph_.input(n, i);
    if (!v.valid() || graph_.producer(v).valid()) continue;
    const DType dtype =
        graph_.constant(v) != nullptr ? graph_.constant(v)->dtype() : graph_.declared(v).dtype;
    if (from == DType::kUndefined || dice_.Once(3)) from = dtype;
    here.insert(v);
  }
  if (here.empty() || from == DType::kUndefined) return "";
  if (dice_.Once(3)) here = {*here.begin()};
  const DType to = SimilarType(from, dice_);
  if (to == from) return "";
  ChangeType(from, to, /*everywhere=*/false, here);
  return fmt::format("{} is {} at one node", Info(from).text_name, Info(to).text_name);
}

// --- shapes

void Change::Flatten(ValueId v) {
  std::optional<Numbers> numbers = Numbers::Of(*graph_.constant(v));
  if (!numbers || numbers->values.empty()) return;
  std::fill(numbers->values.begin(), numbers->values.end(), numbers->values.front());
  if (const Tensor tensor = numbers->ToTensor(); tensor.valid()) graph_.SetConstant(v, tensor);
}

void Change::Round(ValueId v) {
  std::optional<Numbers> numbers = Numbers::Of(*graph_.constant(v));
  if (!numbers) return;
  for (double& x : numbers->values) {
    if (x == 0 || !std::isfinite(x)) continue;
    const double unit = std::pow(10, std::floor(std::log10(std::fabs(x))));
    x = std::rint(x / unit) * unit;
  }
  if (const Tensor tensor = numbers->ToTensor(); tensor.valid()) graph_.SetConstant(v, tensor);
}

void Change::Resize(int64_t from, int64_t to) {
  for (const ValueId v : inputs_) {
    TypeInfo type = graph_.declared(v);
    for (Dim& d : type.dims) {
      if (d.known() && d.size() == from) d = Dim(to);
    }
    graph_.SetDeclared(v, type);
  }
  for (const ValueId v : constants_) {
    const Tensor& tensor = *graph_.constant(v);
    Dims dims = tensor.dims();
    if (std::find(dims.begin(), dims.end(), from) == dims.end()) continue;
    std::replace(dims.begin(), dims.end(), from, to);
    std::optional<Numbers> numbers = Numbers::Of(tensor);
    if (!numbers) continue;
    numbers->Resize(dims, dice_);
    const Tensor resized = numbers->ToTensor();
    if (resized.valid()) graph_.SetConstant(v, resized);
  }
}

std::string Change::SizeEverywhere() {
  std::set<int64_t> used;
  for (const ValueId v : inputs_) {
    for (const Dim d : graph_.declared(v).dims) {
      if (d.known()) used.insert(d.size());
    }
  }
  for (const ValueId v : constants_) {
    used.insert(graph_.constant(v)->dims().begin(), graph_.constant(v)->dims().end());
  }
  const std::vector<int64_t> sizes(used.begin(), used.end());
  if (sizes.empty()) return "";
  const int64_t from = dice_.Of(sizes), to = RandomSize(dice_);
  if (from == to) return "";
  Resize(from, to);
  return fmt::format("size {} is {}", from, to);
}

std::string Change::Square() {
  std::set<int64_t> used;
  for (const ValueId v : inputs_) {
    for (const Dim d : graph_.declared(v).dims) {
      if (d.known()) used.insert(d.size());
    }
  }
  const int64_t to = dice_.Integer(2, 4);
  for (const int64_t size : used) {
    if (size != 1 || dice_.Once(2)) Resize(size, to);
  }
  return used.empty() ? "" : fmt::format("all sizes are {}", to);
}

std::string Change::InputShape() {
  if (inputs_.empty()) return "";
  const ValueId v = dice_.Of(inputs_);
  TypeInfo type = graph_.declared(v);
  if (!type.has_rank || !type.is_tensor) return "";
  const auto at = [&] {
    return type.dims.begin() + static_cast<ptrdiff_t>(dice_.Below(type.dims.size()));
  };
  const int64_t way = dice_.Integer(0, 5);
  if (way >= 2 && type.dims.empty()) return "";
  switch (way) {
    case 0: type.dims.insert(type.dims.begin(), Dim(RandomSize(dice_))); break;
    case 1: type.dims.emplace_back(RandomSize(dice_)); break;
    case 2: type.dims.erase(at()); break;
    case 3: *at() = graph_.SymbolDim(dice_.Once(2) ? "N" : "M"); break;
    case 4: *at() = Dim(); break;
    default: *at() = Dim(RandomSize(dice_));
  }
  graph_.SetDeclared(v, type);
  return fmt::format("another shape of `{}`", Name(v));
}

std::string Change::InputToConstant() {
  if (inputs_.empty()) return "";
  const ValueId v = dice_.Of(inputs_);
  const TypeInfo type = graph_.declared(v);
  if (!type.known_shape() || !type.is_tensor) return "";
  Numbers numbers{.dtype = type.dtype, .dims = {}, .values = {1, 2, 3}};
  Dims dims;
  for (const Dim d : type.dims) dims.push_back(d.size());
  numbers.Resize(dims, dice_);
  for (double& x : numbers.values) x = static_cast<double>(dice_.Integer(0, 4));
  const Tensor tensor = numbers.ToTensor();
  if (!tensor.valid()) return "";
  const ValueId c = graph_.AddConstant(graph_.main(), graph_.FreshName("c"), tensor);
  graph_.ReplaceUses(v, c);
  graph_.RemoveInput(graph_.main(), v);
  return fmt::format("input `{}` is a constant", Name(v));
}

// --- nodes

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
  return {};
}

std::string Change::AttributeOf() {
  struct Place {
    NodeId node;
    std::string name;
    AttrValue value;
    bool written;
  };
  std::vector<Place> all;
  for (const NodeId n : nodes_) {
    const OpName& op = graph_.op_name(graph_.op(n));
    const Signature* signature =
        signatures_.Find(op.domain, op.name, graph_.OpsetOf(n, op.domain));
    for (const Attribute& a : graph_.attributes(n)) {
      if (!std::holds_alternative<BodyId>(a.value)) all.push_back({n, a.name, a.value, true});
    }
    for (size_t i = 0; signature != nullptr && i < signature->attributes.size(); ++i) {
      const FormalAttribute& formal = signature->attributes[i];
      if (graph_.attributes(n).Find(formal.name) == nullptr && formal.kind != AttrKind::kGraph)
        all.push_back({n, formal.name, formal.default_value, false});
    }
  }
  if (all.empty()) return "";
  const Place& place = dice_.Of(all);
  const std::string op = graph_.op_name(graph_.op(place.node)).text();
  if (place.written && dice_.Once(5)) {
    graph_.EraseAttribute(place.node, place.name);
    return fmt::format("{} without `{}`", op, place.name);
  }
  AttrValue value = Another(place.node, place.name, place.value);
  if (value.index() == 0) return "";
  graph_.SetAttribute(place.node, place.name, std::move(value));
  return fmt::format("{} with another `{}`", op, place.name);
}

std::string Change::Operator() {
  if (nodes_.empty() || words_.ops.empty()) return "";
  const NodeId n = dice_.Of(nodes_);
  const OpName& to = dice_.Of(words_.ops);
  const OpName from = graph_.op_name(graph_.op(n));
  const Signature* signature =
      signatures_.Find(to.domain, to.name, graph_.OpsetOf(graph_.main(), to.domain));
  const auto inputs = static_cast<int>(graph_.num_inputs(n));
  if (to == from || signature == nullptr || signature->has_subgraphs || graph_.HasSubgraphs(n) ||
      inputs < signature->min_inputs || inputs > signature->max_inputs ||
      static_cast<int>(graph_.num_outputs(n)) > signature->max_outputs) {
    return "";
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
  return fmt::format("{} is {}", from.text(), to.text());
}

std::string Change::SwapInputs() {
  if (nodes_.empty()) return "";
  const NodeId n = dice_.Of(nodes_);
  if (graph_.num_inputs(n) < 2) return "";
  const size_t i = dice_.Below(graph_.num_inputs(n)), j = dice_.Below(graph_.num_inputs(n));
  const ValueId a = graph_.input(n, i), b = graph_.input(n, j);
  if (a == b) return "";
  graph_.SetInput(n, i, b);
  graph_.SetInput(n, j, a);
  return "inputs are swapped";
}

std::string Change::SameInput() {
  if (nodes_.empty()) return "";
  const NodeId n = dice_.Of(nodes_);
  if (graph_.num_inputs(n) < 2) return "";
  const size_t i = dice_.Below(graph_.num_inputs(n)), j = dice_.Below(graph_.num_inputs(n));
  if (graph_.input(n, i) == graph_.input(n, j) || !graph_.input(n, i).valid()) return "";
  graph_.SetInput(n, j, graph_.input(n, i));
  return "two inputs are one value";
}

std::string Change::DropInput() {
  if (nodes_.empty()) return "";
  const NodeId n = dice_.Of(nodes_);
  if (graph_.num_inputs(n) < 2) return "";
  const size_t i = 1 + dice_.Below(graph_.num_inputs(n) - 1);
  if (!graph_.input(n, i).valid()) return "";
  graph_.SetInput(n, i, ValueId());
  return "an input is absent";
}

// --- the interface

std::string Change::AnotherReader() {
  std::vector<ValueId> inner;
  for (const ValueId v : made_) {
    if (IsMain(v) && graph_.num_uses(v) > 0 && !graph_.IsOutput(v)) inner.push_back(v);
  }
  if (inner.empty()) return "";
  const ValueId v = dice_.Of(inner);
  if (dice_.Once(2)) {
    graph_.AddOutput(graph_.main(), v);
    return fmt::format("`{}` is an output", Name(v));
  }
  const std::string_view name = graph_.FreshName("other");
  const ValueId read = graph_.AddValue(graph_.main(), name);
  const ValueId from = dice_.Once(4) && !inputs_.empty() ? dice_.Of(inputs_) : v;
  graph_.AddNode(graph_.main(), graph_.InternOp("", "Identity"), std::vector{from},
                 std::vector{read}, {}, "");
  graph_.AddOutput(graph_.main(), read);
  return fmt::format("`{}` has another reader", Name(from));
}

std::string Change::MoreOutputs() {
  if (nodes_.empty()) return "";
  const NodeId n = dice_.Of(nodes_);
  const OpName op = graph_.op_name(graph_.op(n));
  const Signature* signature =
      signatures_.Find(op.domain, op.name, graph_.OpsetOf(n, op.domain));
  if (signature == nullptr || graph_.HasSubgraphs(n)) return "";
  const size_t has = graph_.num_outputs(n);
  if (static_cast<int>(has) >= std::min(signature->max_outputs, 4)) return "";
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
  return fmt::format("{} with a further output", op.text());
}

std::string Change::Opset() {
  const int64_t opset = dice_.Integer(words_.first_opset, words_.last_opset);
  if (graph_.opset()[""] == opset) return "";
  graph_.opset()[""] = opset;
  return fmt::format("opset {}", opset);
}

// --- smaller

// Every size `from` of the graph's inputs and constants.
std::set<int64_t> SizesOf(const Graph& graph) {
  std::set<int64_t> sizes;
  for (size_t i = 0; i < graph.num_values(); ++i) {
    const ValueId v(i);
    if (!graph.alive(v)) continue;
    if (const Tensor* tensor = graph.constant(v)) {
      sizes.insert(tensor->dims().begin(), tensor->dims().end());
    } else if (graph.IsInput(v)) {
      for (const Dim d : graph.declared(v).dims) {
        if (d.known()) sizes.insert(d.size());
      }
    }
  }
  return sizes;
}

}  // namespace

void Vocabulary::Learn(const Graph& graph) {
  for (size_t i = 0; i < graph.num_nodes(); ++i) {
    const NodeId n(i);
    if (!graph.alive(n)) continue;
    const OpName& op = graph.op_name(graph.op(n));
    if (std::find(ops.begin(), ops.end(), op) == ops.end()) ops.push_back(op);
    for (const Attribute& a : graph.attributes(n)) {
      if (std::holds_alternative<BodyId>(a.value)) continue;
      std::vector<AttrValue>& known = values[a.name];
      const auto same = [&](const AttrValue& value) { return Equal(value, a.value); };
      if (std::none_of(known.begin(), known.end(), same)) known.push_back(a.value);
    }
  }
}

uint64_t KindOf(const Graph& graph) {
  uint64_t kind = 0;
  const auto add = [&](uint64_t word) { kind = HashMix(kind, word); };
  const auto add_text = [&](std::string_view text) {
    add(HashBytes(std::as_bytes(std::span(text.data(), text.size()))));
  };
  for (const auto& [domain, version] : graph.opset()) add(static_cast<uint64_t>(version));
  for (size_t i = 0; i < graph.num_nodes(); ++i) {
    const NodeId n(i);
    if (!graph.alive(n)) continue;
    add_text(graph.op_name(graph.op(n)).name);
    for (const Attribute& a : graph.attributes(n)) {
      add_text(a.name);
      if (const auto* number = std::get_if<int64_t>(&a.value)) add(static_cast<uint64_t>(*number));
      if (const auto* text = std::get_if<std::string>(&a.value)) add_text(*text);
    }
    for (size_t k = 0; k < graph.num_inputs(n); ++k) {
      const ValueId v = graph.input(n, k);
      if (!v.valid()) {
        add(1);
        continue;
      }
      add(graph.producer(v).valid() ? 2 : graph.IsInput(v) ? 3 : 4);
      add(graph.num_uses(v));
      if (const Tensor* tensor = graph.constant(v)) {
        add(static_cast<uint64_t>(tensor->dtype()));
        for (const int64_t d : tensor->dims()) add(static_cast<uint64_t>(std::min<int64_t>(d, 2)));
        add(99);
        continue;
      }
      const TypeInfo& type = graph.declared(v);
      add(static_cast<uint64_t>(type.dtype));
      for (const Dim d : type.dims)
        add(d.known() ? static_cast<uint64_t>(std::min<int64_t>(d.size(), 2)) : 5);
      add(99);
    }
  }
  return kind;
}

bool Simplify(Graph& graph, const Signatures& signatures, size_t step) {
  const Vocabulary nothing;
  Dice dice(0);
  Change change(graph, nothing, signatures, dice);
  const std::set<int64_t> sizes = SizesOf(graph);
  for (const int64_t size : sizes) {
    for (const int64_t to : {1, 2}) {
      if (size <= to) continue;
      if (step-- == 0) return change.Resize(size, to), true;
    }
  }
  for (const ValueId v : change.constants()) {
    if (step-- == 0) return change.Flatten(v), true;
    if (step-- == 0) return change.Round(v), true;
  }
  for (const NodeId n : change.nodes()) {
    const Attributes attributes = graph.attributes(n);
    for (const Attribute& a : attributes) {
      if (std::holds_alternative<BodyId>(a.value)) continue;
      if (step-- == 0) return graph.EraseAttribute(n, a.name), true;
    }
  }
  return false;
}

std::string Vary(Graph& graph, const Vocabulary& words, const Signatures& signatures, Dice& dice) {
  return Change(graph, words, signatures, dice).Make();
}

}  // namespace qrewrite
