// Emitter: operators, copies of matched nodes, rebuilt chains.
#include <algorithm>

#include <fmt/format.h>

#include "engine/base/diagnostics.h"
#include "engine/ops/node_signature.h"
#include "engine/rewrite/emit.h"

namespace qrewrite {

namespace {

constexpr size_t kWide = 32;  // outputs of a node that is not looked at as a whole for one of them

}  // namespace

int64_t Emitter::OpsetFor(const OpName& op) const {
  const bool upgraded = op.domain.empty() && graph_.upgrade_opset() > 0;
  return upgraded ? graph_.upgrade_opset() : graph_.OpsetOf(body_, op.domain);
}

Emitter::Head Emitter::HeadOf(const OperatorHead& head, const OpName& op) {
  const Signature* newest = head.number >= 0
                                ? in_.program().operators()[static_cast<size_t>(head.number)].newest
                                : in_.rules().signatures.Newest(op.domain, op.name);
  return {op, IdOf(head, op), in_.SignatureAt(head, op, OpsetFor(op)), newest};
}

OpId Emitter::IdOf(const OperatorHead& head, const OpName& op) {
  if (head.number < 0) return graph_.InternOp(op.domain, op.name);
  if (ids_.empty()) ids_.resize(in_.program().operators().size());
  OpId& id = ids_[static_cast<size_t>(head.number)];
  if (!id.valid()) id = graph_.InternOp(op.domain, op.name);
  return id;
}

Emitter::Head Emitter::HeadOf(NodeId node) {
  const OpId id = graph_.op(node);
  const OpName& op = graph_.op_name(id);
  const Signatures& signatures = in_.rules().signatures;
  return {op, id, signatures.Find(op.domain, op.name, OpsetFor(op)),
          signatures.Newest(op.domain, op.name)};
}

Vals Emitter::Operator(const MakeCall& call, Frame& frame, std::span<const bool> present) {
  std::string why;
  const OpName* const op = in_.HeadOperator(call.head, frame, &why);
  if (op == nullptr) return Fail(why, present.size());
  const Head head = HeadOf(call.head, *op);
  if (head.newest != nullptr && (head.signature == nullptr || head.signature->deprecated)) {
    return Fail(fmt::format("{} does not exist at opset {}", op->text(), OpsetFor(*op)),
                present.size());
  }
  Vals args;
  if (!Arguments(call, frame, head.signature, args)) return Fail(reason_, present.size());
  while (!args.empty() && args.back().absent()) args.pop_back();
  if (head.signature != nullptr) {
    // A call without a required input is absent itself.
    for (size_t i = 0; i < static_cast<size_t>(head.signature->min_inputs); ++i) {
      if (i >= args.size() ||
          (args[i].absent() && FormalInput(*head.signature, i)->arity != Arity::kOptional)) {
        return Vals(present.size());
      }
    }
    if (args.size() > static_cast<size_t>(head.signature->max_inputs)) {
      return Fail(fmt::format("{} takes {} inputs at this opset, not {}", op->text(),
                              head.signature->max_inputs, args.size()),
                  present.size());
    }
  }
  Attributes attributes;
  Inputs inputs;
  if (!Attrs(call, frame, head, attributes) || !Operands(head, args, inputs)) {
    return Fail(reason_, present.size());
  }
  if (attributes == last_attributes_) attributes = last_attributes_;  // one list for all of them
  last_attributes_ = attributes;
  if (head.signature != nullptr) {
    for (const FormalAttribute& formal : head.signature->attributes) {
      if (!formal.required || attributes.Find(formal.name) != nullptr) continue;
      return Fail(fmt::format("{} needs the attribute `{}`", op->text(), formal.name),
                  present.size());
    }
  }
  return Add(head, AsSpan(inputs), std::move(attributes), present);
}

// --- nodes

// The first wish counts. What was there before has its name.
void Emitter::Wish(ValueId v, std::string_view name) {
  if (v.index < first_value_) return;
  const size_t at = v.index - first_value_;
  if (wishes_.size() <= at) wishes_.resize(at + 1);
  if (wishes_[at].empty()) wishes_[at] = name;
}

void Emitter::NoteCopy(NodeId copy, NodeId original) {
  const size_t at = copy.index - first_new_;
  if (originals_.size() <= at) originals_.resize(at + 1);
  originals_[at] = original;
}

DType Emitter::TypeOf(ValueId v) {
  for (const auto& [value, dtype] : options_.retypes) {
    if (value == v) return dtype;
  }
  return in_.facts().dtype(v);
}

bool Emitter::CheckTypes(const Head& head, std::span<const ValueId> inputs) {
  if (!options_.check_types || head.signature == nullptr || head.signature->inputs.empty())
    return true;
  // What the inputs so far say of type variables.
  boost::container::small_vector<std::pair<int, DType>, 4> bound;
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (!inputs[i].valid()) continue;
    const FormalValue& formal = *FormalInput(*head.signature, i);
    if (formal.type_var < 0) continue;
    const DType dtype = TypeOf(inputs[i]);
    if (dtype == DType::kUndefined) continue;
    if (!head.signature->types[formal.type_var].Allows(dtype)) {
      mistyped_ = true;
      return Reject(fmt::format("input {} of {} cannot be {} at this opset", formal.name,
                                head.op.text(), Info(dtype).name));
    }
    if (formal.arity == Arity::kVariadic && !formal.homogeneous) continue;
    const auto other = std::ranges::find(bound, formal.type_var, &std::pair<int, DType>::first);
    if (other == bound.end()) {
      bound.emplace_back(formal.type_var, dtype);
    } else if (other->second != dtype) {
      mistyped_ = true;
      return Reject(fmt::format("input {} of {} is {} beside {}", formal.name, head.op.text(),
                                Info(dtype).name, Info(other->second).name));
    }
  }
  return true;
}

Vals Emitter::Add(const Head& head, std::span<const ValueId> inputs, Attributes attributes,
                  std::span<const bool> present) {
  if (!CheckTypes(head, inputs)) return Fail(reason_, present.size());
  size_t outputs = present.size();
  while (outputs > 1 && !present[outputs - 1]) --outputs;
  if (head.signature != nullptr && outputs > static_cast<size_t>(head.signature->max_outputs)) {
    return Fail(fmt::format("{} has no {} outputs", head.op.text(), outputs), present.size());
  }
  const bool plain = std::none_of(attributes.begin(), attributes.end(), [](const Attribute& a) {
    return std::holds_alternative<BodyId>(a.value);  // a subgraph has one owner
  });
  const NodeIndex::Wanted wanted{.body = body_,
                                 .op = head.id,
                                 .inputs = inputs,
                                 .attributes = attributes,
                                 .outputs = outputs,
                                 .present = present};
  NodeId node = plain ? Shared(head, wanted) : NodeId();
  if (plain && !node.valid() && outputs == 1 && present.size() == 1) {
    const ValueId former = FormerlyMade(head, wanted);
    if (former.valid()) return {Val(former)};
  }
  if (!node.valid()) {
    const size_t limit = kMaxNewNodes + first_new_;
    if (graph_.num_nodes() - first_new_ >= limit) {
      in_.Exhaust(fmt::format("its replacement makes more than {} nodes", limit));
      return Fail(in_.exhausted(), present.size());
    }
    Inputs values;
    for (size_t i = 0; i < outputs; ++i) {
      values.push_back(present[i] ? graph_.AddValue(body_, "") : ValueId());
      if (present[i]) Wish(values.back(), head.op.name);
    }
    node = graph_.AddNode(body_, head.id, inputs, AsSpan(values), std::move(attributes), "");
    nodes_.Add(node);
  }
  Vals out;
  for (size_t i = 0; i < present.size(); ++i) {
    const ValueId v = i < outputs ? graph_.output(node, i) : ValueId();
    out.push_back(v.valid() ? Val(v) : Val());
  }
  return out;
}

bool Emitter::MayShare(const Head& head) const {
  return options_.share != Share::kNone &&
         (head.signature == nullptr || head.signature->deterministic);
}

bool Emitter::MayShare(ValueId v) const {
  return options_.share == Share::kAll || !v.valid() || !graph_.IsOutput(v);
}

// What such a node, made by an earlier firing, became; invalid if there was none.
ValueId Emitter::FormerlyMade(const Head& head, const NodeIndex::Wanted& wanted) {
  if (!MayShare(head)) return {};
  const ValueId former = nodes_.FindFormer(wanted);
  if (!former.valid() || redefined_.contains(former) || !MayShare(former)) return {};
  reused_ = true;
  return former;
}

// An equal node that is there already and may be used again; invalid if there is none.
NodeId Emitter::Shared(const Head& head, const NodeIndex::Wanted& wanted) {
  if (!MayShare(head)) return {};
  const NodeId node = nodes_.Find(wanted);
  if (!node.valid() || node.index >= first_new_) return node;
  for (size_t i = 0; i < graph_.num_outputs(node); ++i) {
    if (!MayShare(graph_.output(node, i))) return {};
  }
  const bool reads = std::any_of(wanted.inputs.begin(), wanted.inputs.end(),
                                 [this](ValueId v) { return redefined_.contains(v); });
  if (!reads) return node;
  reused_ = true;
  for (size_t i = 0; i < graph_.num_outputs(node); ++i) redefined_.insert(graph_.output(node, i));
  return node;
}

// `q -> f`: in `args` every input that was q becomes f. False: there is none, or reason_ says why.
bool Emitter::Exchange(const MakeArg& arg, Frame& frame, const Vals& original, Vals& args) {
  const Val from = in_.Slot(arg.from, frame);
  if (from.absent()) {  // it passes through: so what is computed of it has to be absent, too
    const Val to = Value(arg.value, frame);
    return to.absent() || Reject(to.stops() ? in_.WhyIfAsked(to)
                                            : fmt::format("`{}` is absent", frame.name(arg.from)));
  }
  const auto* v = from.get_if<ValueId>();
  if (v == nullptr) {
    return Reject(from.stops() ? in_.WhyIfAsked(from)
                               : fmt::format("`{}` is no input", frame.name(arg.from)));
  }
  const Val to = Value(arg.value, frame);
  if (to.stops()) return Reject(in_.WhyIfAsked(to));
  bool found = false;
  for (size_t i = 0; i < args.size(); ++i) {
    if (const auto* input = original[i].get_if<ValueId>(); input != nullptr && *input == *v) {
      args[i] = to;
      found = true;
    }
  }
  return found;
}

// `xs -> f(xs)...`: the same for each member. Where a value is several of them, each takes its own place.
bool Emitter::ExchangeEach(const MakeArg& arg, Frame& frame, const Vals& original, Vals& args) {
  const Val from = in_.Slot(arg.from, frame);
  const auto* list = from.get_if<List>();
  if (list == nullptr) return Reject(fmt::format("`{}` is no list", frame.name(arg.from)));
  const std::vector<Val>& members = **list;
  const Vals to = Repeated(arg, frame);
  for (const Val& value : to) {
    if (value.stops()) return Reject(in_.WhyIfAsked(value));
  }
  if (to.size() != members.size()) {
    return Reject(fmt::format("lists of different length: `{}` has {}, what takes their places {}",
                              frame.name(arg.from), members.size(), to.size()));
  }
  struct Places {
    std::vector<size_t> inputs, members;
  };
  std::unordered_map<uint32_t, Places> by_value;
  for (size_t k = 0; k < members.size(); ++k) {
    if (const auto* v = members[k].get_if<ValueId>()) by_value[v->index].members.push_back(k);
  }
  for (size_t i = 0; i < original.size(); ++i) {
    const auto* v = original[i].get_if<ValueId>();
    const auto it = v == nullptr ? by_value.end() : by_value.find(v->index);
    if (it != by_value.end()) it->second.inputs.push_back(i);
  }
  for (const auto& [v, places] : by_value) {
    const size_t count = places.members.size();
    if (places.inputs.empty()) return false;
    if (count > 1 && count != places.inputs.size()) {
      return Reject(fmt::format("which of its places members of `{}` replace is not clear",
                                frame.name(arg.from)));
    }
    for (size_t i = 0; i < places.inputs.size(); ++i) {
      args[places.inputs[i]] = to[places.members[count == 1 ? 0 : i]];
    }
  }
  return true;
}

// `n(q -> f)`: node n once more, every input q replaced by f, all else kept. With `only` this one of its
// outputs is the result.
Vals Emitter::Copy(NodeId node, const MakeCall& call, Frame& frame, size_t only) {
  Vals args;
  for (size_t i = 0; i < graph_.num_inputs(node); ++i) {
    const ValueId v = graph_.input(node, i);
    args.push_back(v.valid() ? Val(v) : Val());
  }
  const Vals original = args;
  for (const MakeArg& arg : call.args) {
    if (arg.from < 0) return Fail("a copy takes only `name -> value`");
    if (!(arg.repeated ? ExchangeEach(arg, frame, original, args)
                       : Exchange(arg, frame, original, args))) {
      return Fail(reason_.empty() ? fmt::format("`{}` is no input of `{}`", frame.name(arg.from),
                                                call.head.text)
                                  : reason_);
    }
  }
  const Head head = HeadOf(node);
  if (head.signature == nullptr && head.newest != nullptr) {
    return Fail(fmt::format("{} does not exist at this opset", head.op.text()));
  }
  const bool bodies = graph_.HasSubgraphs(node);
  Attributes attributes, overrides;
  Inputs inputs;
  if (!Attrs(call, frame, head, overrides) || !Operands(head, args, inputs)) return Fail(reason_);
  if (!bodies) attributes = graph_.attributes(node);
  for (const Attribute& a : overrides) attributes.Set(a.name, a.value);
  if (bodies && !AddOwned(graph_.attributes(node), attributes)) return Fail(reason_);
  const size_t outputs = graph_.num_outputs(node);
  if (only < outputs && outputs > kWide) {  // one output of many: the others need not be looked at
    if (!CheckTypes(head, AsSpan(inputs))) return Fail(reason_);
    const NodeId there = Shared(head, {.body = body_,
                                       .op = head.id,
                                       .inputs = AsSpan(inputs),
                                       .attributes = attributes,
                                       .outputs = outputs,
                                       .only = only});
    if (there.valid()) return {Val(graph_.output(there, only))};
  }
  boost::container::small_vector<bool, 4> present;
  for (size_t i = 0; i < outputs; ++i) present.push_back(graph_.output(node, i).valid());
  Vals made = Add(head, AsSpan(inputs), std::move(attributes), AsSpan(present));
  if (only < made.size()) return {std::move(made[only])};
  return made;
}

// `c(q -> f)`: the steps of a chain on another value.
Vals Emitter::Rebuild(const ChainRef& chain, const MakeCall& call, Frame& frame) {
  if (call.args.size() != 1 || call.args[0].from < 0) {
    return Fail("a chain takes one `name -> value`");
  }
  Val at = Value(call.args[0].value, frame);
  for (size_t i = 0; i < chain.nodes.size(); ++i) {
    if (at.stops()) return Fail(in_.WhyIfAsked(at));
    const NodeId node = chain.nodes[i];
    const Head head = HeadOf(node);
    if (graph_.HasSubgraphs(node)) {
      return Fail(fmt::format("{} has subgraphs: no copy of it", head.op.text()));
    }
    Vals args = {at};
    for (size_t k = 1; k < graph_.num_inputs(node); ++k) {
      const ValueId v = graph_.input(node, k);
      args.push_back(v.valid() ? Val(v) : Val());
    }
    Inputs inputs;
    if (!Operands(head, args, inputs)) return Fail(reason_);
    boost::container::small_vector<bool, 4> present;
    for (size_t k = 0; k < graph_.num_outputs(node); ++k) {
      present.push_back(graph_.output(node, k).valid());
    }
    const ValueId next =
        i + 1 < chain.nodes.size() ? graph_.input(chain.nodes[i + 1], 0) : chain.end;
    const Vals outputs = Add(head, AsSpan(inputs), graph_.attributes(node), AsSpan(present));
    at = outputs[graph_.output_index(next)];
  }
  if (at.stops()) return Fail(in_.WhyIfAsked(at));
  return {at};
}

}  // namespace qrewrite
