// Emitter: operators, copies of matched nodes, rebuilt chains.
#include <algorithm>

#include <fmt/format.h>

#include "engine/base/diagnostics.h"
#include "engine/rewrite/emit.h"

namespace qrewrite {

int64_t Emitter::OpsetFor(const OpName& op) const {
  const bool upgraded = op.domain.empty() && graph_.upgrade_opset() > 0;
  return upgraded ? graph_.upgrade_opset() : graph_.OpsetOf(body_, op.domain);
}

const Signature* Emitter::SignatureFor(const OpName& op) const {
  return in_.rules().signatures.Find(op.domain, op.name, OpsetFor(op));
}

std::vector<Val> Emitter::Operator(const Expr& expr, Frame& frame,
                                   const std::vector<bool>& present) {
  std::string why;
  const std::optional<OpName> op = in_.HeadOperator(expr, frame, &why);
  if (!op) return Fail(why, present.size());
  Head head{*op, SignatureFor(*op)};
  const bool known = in_.rules().signatures.Newest(op->domain, op->name) != nullptr;
  if (known && (head.signature == nullptr || head.signature->deprecated)) {
    return Fail(fmt::format("{} does not exist at opset {}", op->text(), OpsetFor(*op)),
                present.size());
  }
  std::vector<Val> args;
  if (!Arguments(expr, frame, head.signature, args)) return Fail(reason_, present.size());
  while (!args.empty() && args.back().absent()) args.pop_back();
  if (head.signature != nullptr) {
    // A call without a required input is absent itself.
    for (size_t i = 0; i < static_cast<size_t>(head.signature->min_inputs); ++i) {
      if (i >= args.size() ||
          (args[i].absent() &&
           head.signature->inputs[std::min(i, head.signature->inputs.size() - 1)].arity !=
               Arity::kOptional)) {
        return std::vector<Val>(present.size());
      }
    }
    if (args.size() > static_cast<size_t>(head.signature->max_inputs)) {
      return Fail(fmt::format("{} takes {} inputs at this opset, not {}", op->text(),
                              head.signature->max_inputs, args.size()),
                  present.size());
    }
  }
  Attributes attributes;
  std::vector<ValueId> inputs;
  if (!Attrs(expr, frame, head, attributes) || !Operands(head, args, inputs)) {
    return Fail(reason_, present.size());
  }
  if (head.signature != nullptr) {
    for (const FormalAttribute& formal : head.signature->attributes) {
      if (!formal.required || attributes.Find(formal.name) != nullptr) continue;
      return Fail(fmt::format("{} needs the attribute `{}`", op->text(), formal.name),
                  present.size());
    }
  }
  return Add(head, inputs, std::move(attributes), present);
}

// --- attributes

bool Emitter::Attrs(const Expr& expr, Frame& frame, const Head& head, Attributes& attributes) {
  for (const AttrArg& a : expr.attrs) {
    if (a.rest) {
      const Val rest = in_.Lookup(a.name, frame);
      if (rest.absent()) continue;
      const auto* names = rest.get_if<AttrRest>();
      if (names == nullptr) return Fail(fmt::format("`**{}` holds no attributes", a.name)), false;
      if (!Rest(*names, head, attributes)) return false;
      continue;
    }
    const Val value = a.value ? in_.Eval(*a.value, frame) : in_.Lookup(a.name, frame);
    if (value.absent()) continue;
    const FormalAttribute* formal =
        head.signature == nullptr ? nullptr : head.signature->FindAttribute(a.name);
    AttrKind kind = formal == nullptr ? AttrKind::kUndefined : formal->kind;
    if (formal == nullptr && head.signature != nullptr) {
      // A newer (older) version of the operator says what kind it is; Fits decides whether it goes.
      const Signature* newest = in_.rules().signatures.Newest(head.op.domain, head.op.name);
      const FormalAttribute* other = newest == nullptr ? nullptr : newest->FindAttribute(a.name);
      if (other != nullptr) kind = other->kind;
    }
    Result<AttrValue> attr = in_.ToAttribute(value, kind);
    if (!attr.ok()) {
      return Fail(fmt::format("attribute `{}` of {}: {}", a.name, head.op.text(),
                              attr.status().diagnostics()[0].message)),
             false;
    }
    bool keep = true;
    if (!Fits(head, a.name, *attr, keep)) return false;
    if (keep) attributes.Set(a.name, *std::move(attr));
  }
  return true;
}

// Whether the operator has the attribute. One that it lacks is dropped if it says nothing: if
// another version of the operator has it and it is at that default.
bool Emitter::Fits(const Head& head, std::string_view name, const AttrValue& value, bool& keep) {
  keep = true;
  if (head.signature == nullptr || head.signature->FindAttribute(name) != nullptr) return true;
  keep = false;
  for (const Signature* s : in_.rules().signatures.Versions(head.op.domain, head.op.name)) {
    const FormalAttribute* formal = s->FindAttribute(name);
    if (formal == nullptr) continue;
    if (Equal(formal->default_value, value)) return true;
  }
  Fail(fmt::format("{} has no attribute `{}` at this opset", head.op.text(), name));
  return false;
}

// `**a`: attributes carry their meaning. What the emitted operator lacks is dropped if it has its
// default at the source; a default of the source that the emitted operator does not share is
// written.
bool Emitter::Rest(const AttrRest& rest, const Head& head, Attributes& attributes) {
  const auto mentioned = [&](std::string_view name) {
    return std::find(rest.mentioned.begin(), rest.mentioned.end(), name) != rest.mentioned.end();
  };
  for (const Attribute& a : graph_.attributes(rest.node)) {
    if (mentioned(a.name)) continue;
    if (std::holds_alternative<BodyId>(a.value) ||
        std::holds_alternative<std::vector<BodyId>>(a.value)) {
      return Fail("an attribute that is a graph cannot be passed on"), false;
    }
    if (head.signature == nullptr || head.signature->FindAttribute(a.name) != nullptr) {
      attributes.Set(a.name, a.value);
    } else if (!in_.IsDefault(rest.node, a)) {
      return Fail(fmt::format("{} has no attribute `{}`", head.op.text(), a.name)), false;
    }
  }
  const Signature* source = SignatureOf(graph_, in_.rules().signatures, rest.node);
  if (source == nullptr || head.signature == nullptr) return true;
  for (const FormalAttribute& formal : source->attributes) {
    const bool literal = !std::holds_alternative<std::monostate>(formal.default_value);
    if (!literal || mentioned(formal.name) || graph_.attributes(rest.node).Find(formal.name))
      continue;
    const FormalAttribute* other = head.signature->FindAttribute(formal.name);
    if (other != nullptr && !Equal(other->default_value, formal.default_value)) {
      attributes.Set(formal.name, formal.default_value);
    }
  }
  return true;
}

// --- nodes

bool Emitter::CheckTypes(const Head& head, const std::vector<ValueId>& inputs) {
  if (!options_.check_types || head.signature == nullptr || head.signature->inputs.empty())
    return true;
  std::map<int, DType> bound;  // type variable -> what the inputs so far say
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (!inputs[i].valid()) continue;
    const FormalValue& formal =
        head.signature->inputs[std::min(i, head.signature->inputs.size() - 1)];
    if (formal.type_var < 0) continue;
    const DType dtype = in_.facts().dtype(inputs[i]);
    if (dtype == DType::kUndefined) continue;
    if (!head.signature->types[formal.type_var].Allows(dtype)) {
      Fail(fmt::format("input {} of {} cannot be {} at this opset", formal.name, head.op.text(),
                       Info(dtype).name));
      return false;
    }
    if (formal.arity == Arity::kVariadic && !formal.homogeneous) continue;
    const auto [other, first] = bound.try_emplace(formal.type_var, dtype);
    if (!first && other->second != dtype) {
      Fail(fmt::format("input {} of {} is {} beside {}", formal.name, head.op.text(),
                       Info(dtype).name, Info(other->second).name));
      return false;
    }
  }
  return true;
}

std::vector<Val> Emitter::Add(const Head& head, const std::vector<ValueId>& inputs,
                              Attributes attributes, const std::vector<bool>& present) {
  if (!CheckTypes(head, inputs)) return Fail(reason_, present.size());
  size_t outputs = present.size();
  while (outputs > 1 && !present[outputs - 1]) --outputs;
  if (head.signature != nullptr && outputs > static_cast<size_t>(head.signature->max_outputs)) {
    return Fail(fmt::format("{} has no {} outputs", head.op.text(), outputs), present.size());
  }
  const OpId op = graph_.InternOp(head.op.domain, head.op.name);
  NodeId node;
  if (options_.share && (head.signature == nullptr || head.signature->deterministic)) {
    node = nodes_.Find(body_, op, inputs, attributes, outputs);
    const bool reads = std::any_of(inputs.begin(), inputs.end(), [this](ValueId v) {
      return std::find(redefined_.begin(), redefined_.end(), v) != redefined_.end();
    });
    if (node.valid() && node.index < first_new_ && reads) {
      reused_ = true;
      for (size_t i = 0; i < graph_.num_outputs(node); ++i) {
        redefined_.push_back(graph_.output(node, i));
      }
    }
  }
  if (!node.valid()) {
    std::vector<ValueId> values;
    for (size_t i = 0; i < outputs; ++i) {
      values.push_back(present[i] ? graph_.AddValue(body_, "") : ValueId());
      if (present[i]) wishes_[values.back()] = head.op.name;
    }
    node = graph_.AddNode(body_, op, inputs, values, std::move(attributes), "");
    nodes_.Add(node);
  }
  std::vector<Val> out;
  for (size_t i = 0; i < present.size(); ++i) {
    const ValueId v = i < outputs ? graph_.output(node, i) : ValueId();
    out.push_back(v.valid() ? Val(v) : Val());
  }
  return out;
}

// `n(q -> f)`: node n once more, every input q replaced by f, all else kept.
std::vector<Val> Emitter::Copy(NodeId node, const Expr& expr, Frame& frame) {
  std::vector<Val> args;
  for (size_t i = 0; i < graph_.num_inputs(node); ++i) {
    const ValueId v = graph_.input(node, i);
    args.push_back(v.valid() ? Val(v) : Val());
  }
  const std::vector<Val> original = args;
  for (const Arg& arg : expr.args) {
    if (arg.label_kind != Arg::Label::kArrow) return Fail("a copy takes only `name -> value`");
    const Val from = in_.Lookup(arg.label, frame);
    const auto* v = from.get_if<ValueId>();
    if (v == nullptr) {
      return Fail(from.stops() ? from.why() : fmt::format("`{}` is no input", arg.label));
    }
    const Val to = Value(*arg.value, frame);
    if (to.stops()) return Fail(to.why());
    bool found = false;
    for (size_t i = 0; i < args.size(); ++i) {
      if (const auto* input = original[i].get_if<ValueId>(); input != nullptr && *input == *v) {
        args[i] = to;
        found = true;
      }
    }
    if (!found) return Fail(fmt::format("`{}` is no input of `{}`", arg.label, expr.refs[0].name));
  }
  const OpName op = graph_.op_name(graph_.op(node));
  const Head head{op, SignatureFor(op)};
  if (head.signature == nullptr && in_.rules().signatures.Newest(op.domain, op.name) != nullptr) {
    return Fail(fmt::format("{} does not exist at this opset", op.text()));
  }
  if (graph_.HasSubgraphs(node))
    return Fail(fmt::format("{} has subgraphs: no copy of it", op.text()));
  Attributes attributes = graph_.attributes(node);
  Attributes overrides;
  std::vector<ValueId> inputs;
  if (!Attrs(expr, frame, head, overrides) || !Operands(head, args, inputs)) return Fail(reason_);
  for (const Attribute& a : overrides) attributes.Set(a.name, a.value);
  std::vector<bool> present;
  for (size_t i = 0; i < graph_.num_outputs(node); ++i)
    present.push_back(graph_.output(node, i).valid());
  return Add(head, inputs, std::move(attributes), present);
}

// `c(q -> f)`: the steps of a chain on another value.
std::vector<Val> Emitter::Rebuild(const ChainRef& chain, const Expr& expr, Frame& frame) {
  if (expr.args.size() != 1 || expr.args[0].label_kind != Arg::Label::kArrow) {
    return Fail("a chain takes one `name -> value`");
  }
  Val at = Value(*expr.args[0].value, frame);
  for (size_t i = 0; i < chain.nodes.size(); ++i) {
    if (at.stops()) return Fail(at.why());
    const NodeId node = chain.nodes[i];
    const OpName op = graph_.op_name(graph_.op(node));
    if (graph_.HasSubgraphs(node))
      return Fail(fmt::format("{} has subgraphs: no copy of it", op.text()));
    const Head head{op, SignatureFor(op)};
    std::vector<Val> args = {at};
    for (size_t k = 1; k < graph_.num_inputs(node); ++k) {
      const ValueId v = graph_.input(node, k);
      args.push_back(v.valid() ? Val(v) : Val());
    }
    std::vector<ValueId> inputs;
    if (!Operands(head, args, inputs)) return Fail(reason_);
    std::vector<bool> present;
    for (size_t k = 0; k < graph_.num_outputs(node); ++k) {
      present.push_back(graph_.output(node, k).valid());
    }
    const ValueId next =
        i + 1 < chain.nodes.size() ? graph_.input(chain.nodes[i + 1], 0) : chain.end;
    const std::vector<Val> outputs = Add(head, inputs, graph_.attributes(node), present);
    at = outputs[graph_.output_index(next)];
  }
  if (at.stops()) return Fail(at.why());
  return {at};
}

}  // namespace qrewrite
