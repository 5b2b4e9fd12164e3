// The nodes of an instance: which operator, what it says and what it reads.
#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "engine/graph/tensor_type.h"
#include "engine/match/facts.h"
#include "engine/ops/node_signature.h"
#include "engine/prove/instance.h"
#include "engine/prove/numbers.h"

namespace qrewrite {
namespace {

constexpr int kTries = 24;            // types and shapes of what a node reads
constexpr size_t kMostExamples = 12;  // of one input of an operator

// Whether the operator has results of such types: an attribute may say another one (`output_dtype=FLOAT`).
bool MakesItsTypes(const Signature* signature, const std::vector<ValueId>& made, Facts& facts) {
  if (signature == nullptr) return true;
  for (size_t i = 0; i < made.size() && i < signature->outputs.size(); ++i) {
    const int var = signature->outputs[i].type_var;
    const DType dtype = facts.Type(made[i]).dtype;
    if (var >= 0 && dtype != DType::kUndefined &&
        !signature->types[static_cast<size_t>(var)].Allows(dtype))
      return false;
  }
  return true;
}

}  // namespace

void Examples::Learn(const Graph& graph) {
  words_.Learn(graph);
  for (size_t i = 0; i < graph.num_nodes(); ++i) {
    const NodeId n(i);
    if (!graph.alive(n)) continue;
    for (size_t k = 0; k < graph.num_inputs(n); ++k) {
      const ValueId v = graph.input(n, k);
      if (!v.valid() || graph.producer(v).valid()) continue;
      const Tensor* const tensor = graph.constant(v);
      Example example{.type = tensor != nullptr ? TypeOfTensor(*tensor) : graph.declared(v),
                      .tensor = tensor != nullptr ? *tensor : Tensor()};
      auto& known = by_input_[{graph.op_name(graph.op(n)), k}];
      if (example.type.dtype != DType::kUndefined && known.size() < kMostExamples)
        known.push_back(std::move(example));
    }
  }
}

const std::vector<Examples::Example>* Examples::Of(const OpName& op, size_t input) const {
  const auto it = by_input_.find({op, input});
  return it == by_input_.end() || it->second.empty() ? nullptr : &it->second;
}

std::optional<OpName> Instance::ChooseOp(const OpHead& head) {
  std::vector<OpName> fitting;
  if (!head.negated) {
    for (const OpPattern& p : head.patterns) {
      if (!p.wildcard) fitting.push_back(p.op);
    }
  }
  for (const OpName& op : words_.ops) {
    const bool is_new = std::ranges::find(fitting, op) == fitting.end();
    if (is_new && head.Accepts(op)) fitting.push_back(op);
  }
  if (fitting.empty()) return std::nullopt;
  return dice_.Of(fitting);
}

std::optional<AttrValue> Instance::Known(CodeId id, AttrKind kind, size_t axes) {
  const Code& code = program_.code(id);
  if (code.op != CodeOp::kConstant) return std::nullopt;
  const Val& val = code.constant;
  // One for all elements of a list, which is as long as the operator wants it: `pads=0`.
  const size_t length = dice_.Once(2) ? 2 * axes : axes;
  if (const auto* text = val.get_if<std::string>()) {
    if (kind == AttrKind::kStrings) return std::vector<std::string>(length, *text);
    return *text;
  }
  if (const auto* dtype = val.get_if<DType>()) return static_cast<int64_t>(*dtype);
  if (const auto* truth = val.get_if<bool>()) return static_cast<int64_t>(*truth);
  if (!val.is_number()) return std::nullopt;
  Result<std::vector<double>> numbers = ToDoubles(val.number().t);
  if (!numbers.ok()) return std::nullopt;
  if ((kind == AttrKind::kInts || kind == AttrKind::kFloats) && val.number().t.rank() == 0)
    numbers->resize(length, numbers->front());
  switch (kind) {
    case AttrKind::kFloat: return static_cast<float>(numbers->empty() ? 0 : numbers->front());
    case AttrKind::kInts: return std::vector<int64_t>(numbers->begin(), numbers->end());
    case AttrKind::kFloats: return std::vector<float>(numbers->begin(), numbers->end());
    case AttrKind::kTensor: return val.number().t;
    default: return static_cast<int64_t>(numbers->empty() ? 0 : numbers->front());
  }
}

// A value for an attribute of which the pattern says nothing.
std::optional<AttrValue> Instance::SomeValue(const std::string& name, const Signature* signature,
                                             size_t axes) {
  const FormalAttribute* const formal =
      signature == nullptr ? nullptr : signature->FindAttribute(name);
  if (signature != nullptr && formal == nullptr) return std::nullopt;
  // Types that the rule names, not those of tests alone.
  const bool of_type = NamesType(name) && formal != nullptr && formal->kind == AttrKind::kInt;
  if (of_type && !words_.dtypes.empty() && dice_.Once(2))
    return static_cast<int64_t>(dice_.Of(words_.dtypes));
  const auto known = words_.values.find(name);
  if (known != words_.values.end()) {
    const AttrValue& value = dice_.Of(known->second);
    if (formal == nullptr || KindOf(value) == formal->kind) return value;
  }
  switch (formal == nullptr ? AttrKind::kInt : formal->kind) {
    case AttrKind::kInt: return dice_.Integer(0, 2);
    case AttrKind::kFloat: return dice_.Once(2) ? 1.0F : static_cast<float>(dice_.Uniform(0, 2));
    case AttrKind::kInts: {
      const size_t count = dice_.Once(3) ? static_cast<size_t>(dice_.Integer(1, 3)) : axes;
      std::vector<int64_t> list(count, 1);
      const int64_t way = dice_.Integer(0, 2);  // ones; an order; anything
      for (size_t i = 0; i < count && way > 0; ++i)
        list[i] = way == 1 ? static_cast<int64_t>(count - 1 - i) : dice_.Integer(0, 2);
      return list;
    }
    // Those that the operator has; else those that the rule asks for.
    case AttrKind::kString: {
      const std::vector<std::string>& texts = formal->texts.empty() ? words_.texts : formal->texts;
      return texts.empty() ? std::nullopt : std::optional<AttrValue>(dice_.Of(texts));
    }
    default: return std::nullopt;
  }
}

Attributes Instance::ChooseAttributes(const PatCall& call, const Signature* signature) {
  Attributes attributes;
  const auto axes = static_cast<size_t>(dice_.Integer(1, 3));
  for (const PatAttr& a : call.attrs) {
    const FormalAttribute* const formal =
        signature == nullptr ? nullptr : signature->FindAttribute(a.name);
    if (signature != nullptr && formal == nullptr) continue;
    const bool required = formal == nullptr || formal->required;
    if (a.kind == PatAttr::Kind::kCompare) {
      const std::optional<AttrValue> value =
          Known(a.value, formal == nullptr ? AttrKind::kInt : formal->kind, axes);
      if (value) attributes.Set(a.name, *value);
      continue;
    }
    const bool has_default = formal != nullptr && formal->default_value.index() != 0;
    if (!required && dice_.Once(a.optional || has_default ? 2 : 6)) continue;
    if (const std::optional<AttrValue> value = SomeValue(a.name, signature, axes))
      attributes.Set(a.name, *value);
  }
  if (signature == nullptr) return attributes;
  for (const FormalAttribute& formal : signature->attributes) {
    const bool said = std::ranges::find(call.mentioned, formal.name) != call.mentioned.end();
    if (said || formal.kind == AttrKind::kGraph) continue;
    if (!formal.required && (!call.has_rest || !dice_.Once(6))) continue;
    if (const std::optional<AttrValue> value = SomeValue(formal.name, signature, axes))
      attributes.Set(formal.name, *value);
  }
  return attributes;
}

bool Instance::AddNode(const OpName& op, const Attributes& attributes, std::vector<Term>& terms,
                       size_t outputs, std::vector<ValueId>& made) {
  const Signature* const signature =
      program_.rules().signatures.Find(op.domain, op.name, VersionOf(op));
  if (signature == nullptr && program_.rules().signatures.Newest(op.domain, op.name) != nullptr)
    return Fail(fmt::format("{} is not there in opset {}", op.text(), opset_));
  if (!op.domain.empty()) graph_.opset().try_emplace(op.domain, 1);
  for (int i = 0; i < kTries; ++i) {
    const std::vector<Leaf> before = leaves_;
    if (TryNode(op, signature, attributes, terms, outputs, made)) return true;
    leaves_ = before;
  }
  return Fail(fmt::format("{}: no inputs and attributes were found that fit", op.text()));
}

bool Instance::TryNode(const OpName& op, const Signature* signature, const Attributes& attributes,
                       const std::vector<Term>& terms, size_t outputs, std::vector<ValueId>& made) {
  const Graph::Mark mark = graph_.mark();
  Facts facts(graph_, program_.rules().signatures, KernelRegistry::Builtin(), context_.inference);
  // Types that are settled decide those of the others.
  std::map<int, DType> types;
  std::optional<TypeInfo> beside;
  std::vector<ValueId> inputs(terms.size());
  for (size_t i = 0; i < terms.size(); ++i) {
    const Term& term = terms[i];
    if (term.kind == Term::Kind::kValue) inputs[i] = term.value;
    if (term.kind == Term::Kind::kLeaf) inputs[i] = leaves_[term.leaf].value;
    if (!inputs[i].valid()) continue;
    const TypeInfo type = facts.Type(inputs[i]);
    if (!beside && type.known_shape()) beside = type;
    const FormalValue* const formal = signature == nullptr ? nullptr : FormalInput(*signature, i);
    if (formal == nullptr || formal->type_var < 0 || !formal->homogeneous) continue;
    if (type.dtype != DType::kUndefined) types.emplace(formal->type_var, type.dtype);
  }
  for (size_t i = 0; i < terms.size(); ++i) {
    if (inputs[i].valid() || terms[i].kind != Term::Kind::kLeaf) continue;
    Leaf& leaf = leaves_[terms[i].leaf];
    if (!leaf.value.valid()) {  // it may stand here twice
      std::optional<TypeInfo> weights;
      if (i >= 2 && inputs[i - 1].valid()) weights = facts.Type(inputs[i - 1]);
      leaf.value = Settle(leaf, op, signature, i,
                          {beside ? &*beside : nullptr, weights ? &*weights : nullptr}, types);
    }
    inputs[i] = leaf.value;
    if (!inputs[i].valid()) {
      graph_.Undo(mark);
      return false;
    }
    if (!beside) beside = facts.Type(inputs[i]);
  }
  made.clear();
  for (size_t i = 0; i < outputs; ++i)
    made.push_back(graph_.AddValue(graph_.main(), graph_.FreshName("v")));
  const NodeId n = graph_.AddNode(graph_.main(), graph_.InternOp(op.domain, op.name), inputs, made,
                                  attributes, "");
  Facts after(graph_, program_.rules().signatures, KernelRegistry::Builtin(), context_.inference);
  const bool fits = !after.Contradicts(n) && MakesItsTypes(signature, made, after);
  if (!fits) graph_.Undo(mark);
  return fits;
}

DType Instance::ChooseType(const OpName& op, const Signature* signature, size_t index,
                           std::map<int, DType>& types) {
  if (signature == nullptr || signature->inputs.empty()) return DType::kFloat;
  const FormalValue& formal = *FormalInput(*signature, index);
  if (formal.type_var < 0) {
    // An operator of a rule set's own: what tests have there.
    const std::vector<Examples::Example>* const known = examples_.Of(op, index);
    const DType one = known == nullptr ? DType::kFloat : dice_.Of(*known).type.dtype;
    return one == DType::kUndefined ? DType::kFloat : one;
  }
  const auto bound = types.find(formal.type_var);
  if (bound != types.end()) return bound->second;
  const TypeVar& var = signature->types[static_cast<size_t>(formal.type_var)];
  DType chosen = DType::kUndefined;
  const std::vector<Examples::Example>* const examples = examples_.Of(op, index);
  if (examples != nullptr && !dice_.Once(3)) chosen = dice_.Of(*examples).type.dtype;
  if (chosen == DType::kUndefined || !var.Allows(chosen)) {
    using enum DType;
    std::vector<DType> usual;
    for (const DType d : {kFloat, kFloat, kFloat, kInt8, kUint8, kInt64, kInt64, kInt32, kBool,
                          kFloat16, kDouble, kInt8, kUint8}) {
      if (var.Allows(d)) usual.push_back(d);
    }
    if (usual.empty()) return kUndefined;
    const int others = words_.untested ? 2 : 4;
    chosen = var.Allows(kFloat) && !dice_.Once(others) ? kFloat : dice_.Of(usual);
  }
  if (formal.homogeneous) types.emplace(formal.type_var, chosen);
  return chosen;
}

Dims Instance::ChooseDims(DType dtype, const Neighbours& others) {
  const TypeInfo* const beside = others.first;
  Dims other;
  if (beside != nullptr) {
    for (const Dim d : beside->dims) other.push_back(d.known() ? d.size() : size_);
  }
  const bool counts = IsInteger(dtype) && Info(dtype).bits >= 32;  // sizes, axes, indexes
  const TypeInfo* const weights = others.before;
  const bool rows = weights != nullptr && weights->known_shape() && weights->dims.size() > 1;
  if (rows && dice_.Once(4)) return {weights->dims[0].size()};
  if (beside == nullptr || (dice_.Once(4) && !counts)) {
    Dims dims(static_cast<size_t>(dice_.Integer(0, 4)), size_);
    // Some that are parts times parts: where they are no more than one each, in which order they lie does not show.
    constexpr int64_t kMultiples[] = {6, 8, 12, 16};
    for (int64_t& d : dims) {
      if (dice_.Once(6))
        d = dice_.Once(3) ? kMultiples[dice_.Below(std::size(kMultiples))] : dice_.Integer(1, 4);
      if (counts) d = std::min<int64_t>(d, 4);  // no shape has hundreds of sizes
    }
    return dims;
  }
  switch (counts ? dice_.Integer(3, 8) : dice_.Integer(0, 6)) {
    case 0:
    case 1: return other;
    case 2: return other.empty() ? other : Dims(other.begin() + 1, other.end());
    case 3: return {};
    case 4: return {1};
    case 5: return {other.size() > 1 ? other[1] : size_};
    case 6: return {other.empty() ? size_ : other.back()};
    case 7: return {std::ssize(other)};
    default: return {2 * std::ssize(other)};  // both ends of each axis
  }
}

Tensor Instance::ChooseNumbers(DType dtype, const Dims& dims) {
  Numbers numbers{.dtype = dtype, .dims = {}, .values = {1}};
  numbers.Resize(dims, dice_);
  const bool counts = IsInteger(dtype) && Info(dtype).bits >= 32;
  const int64_t way = dice_.Integer(0, 3);
  // Numbers that the rule asks for, or that do nothing.
  constexpr double kUsual[] = {0, 1, 0.5};
  const double wanted = words_.limits.empty() || dice_.Once(2)
                            ? kUsual[dice_.Below(std::size(kUsual))]
                            : dice_.Of(words_.limits);
  const double same = counts ? static_cast<double>(dice_.Integer(-1, size_)) : wanted;
  for (size_t i = 0; i < numbers.values.size(); ++i) {
    double& x = numbers.values[i];
    if (dtype == DType::kBool)
      x = static_cast<double>(dice_.Integer(0, 1));
    else if (counts)
      x = way == 0 ? same : way == 1 ? static_cast<double>(i) : static_cast<double>(size_);
    else if (IsInteger(dtype))
      x = way == 0 ? 0 : static_cast<double>(dice_.Integer(dtype == DType::kUint8 ? 0 : -7, 7));
    else
      x = way == 0   ? same
          : way == 1 ? dice_.Normal()
          : way == 2 ? static_cast<double>(dice_.Integer(-1, 3))
                     : dice_.Uniform(0.1, 2);
  }
  return numbers.ToTensor();
}

Tensor Instance::LiteralIn(const Tensor& literal, DType dtype, const Neighbours& others) {
  std::optional<Numbers> numbers = Numbers::Of(literal);
  if (!numbers) return {};
  // A number also equals a tensor that is this number everywhere: a list of one, where the operator wants such.
  Dims dims = literal.dims();
  if (dims.empty() && dice_.Once(4)) dims = ChooseDims(dtype, others);
  if (dtype == literal.dtype() && dims == literal.dims()) return literal;
  numbers->dtype = dtype;
  if (dims != numbers->dims && Count(dims) > 0) {
    numbers->values.assign(static_cast<size_t>(Count(dims)), numbers->values.front());
    numbers->dims = dims;
  }
  const Tensor tensor = numbers->ToTensor();
  if (!tensor.valid() || IsFloat(dtype)) return tensor;
  const Result<std::vector<double>> held = ToDoubles(tensor);
  return held.ok() && *held == numbers->values ? tensor : Tensor();
}

ValueId Instance::Settle(const Leaf& leaf, const OpName& op, const Signature* signature,
                         size_t index, const Neighbours& others, std::map<int, DType>& types) {
  const DType dtype = ChooseType(op, signature, index, types);
  if (dtype == DType::kUndefined) return {};
  if (leaf.literal.valid()) {
    // An operator that says nothing of its inputs may take what the literal is by itself.
    const FormalValue* const formal =
        signature == nullptr ? nullptr : FormalInput(*signature, index);
    const bool said = formal != nullptr && formal->type_var >= 0;
    const DType own = leaf.literal.dtype();
    const bool as_is = !said && IsInteger(own) && dice_.Once(2);
    const Tensor tensor = LiteralIn(leaf.literal, as_is ? own : dtype, others);
    if (!tensor.valid()) return {};
    return graph_.AddConstant(graph_.main(), graph_.FreshName(leaf.name), tensor);
  }
  Dims dims = ChooseDims(dtype, others);
  Tensor tensor;
  const std::vector<Examples::Example>* const examples = examples_.Of(op, index);
  if (examples != nullptr && dice_.Once(2)) {
    const Examples::Example& example = dice_.Of(*examples);
    if (example.type.known_shape()) {
      dims.clear();
      for (const Dim d : example.type.dims) dims.push_back(d.size());
    }
    if (example.tensor.valid() && example.tensor.dtype() == dtype) tensor = example.tensor;
  }
  if (leaf.constant) {
    if (!tensor.valid()) tensor = ChooseNumbers(dtype, dims);
    if (!tensor.valid()) return {};
    return graph_.AddConstant(graph_.main(), graph_.FreshName(leaf.name.empty() ? "c" : leaf.name),
                              tensor);
  }
  const ValueId v =
      graph_.AddValue(graph_.main(), graph_.FreshName(leaf.name.empty() ? "x" : leaf.name));
  TypeInfo type{.dtype = dtype, .has_rank = true};
  for (const int64_t d : dims) type.dims.emplace_back(d);
  graph_.SetDeclared(v, type);
  return v;
}

}  // namespace qrewrite
