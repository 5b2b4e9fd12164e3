// Operators on constants: which one a call means, the types of its operands, its result.
#include <algorithm>
#include <climits>
#include <cmath>

#include <fmt/format.h>

#include "engine/fold/functions.h"
#include "engine/match/interpreter.h"

namespace qrewrite {
namespace {

Val FromLiteral(const Literal& literal) {
  struct Visitor {
    Val operator()(std::monostate) const { return {}; }
    Val operator()(bool b) const { return b; }
    Val operator()(int64_t i) const { return Val::Int(i); }
    Val operator()(double d) const { return Val::Float(d); }
    Val operator()(const std::string& s) const { return s; }
    Val operator()(const std::vector<int64_t>& v) const { return Val::Ints(v); }
    Val operator()(const std::vector<std::string>& v) const {
      std::vector<Val> list(v.begin(), v.end());
      return Val::ListOf(std::move(list));
    }
  };
  return std::visit(Visitor(), literal);
}

}  // namespace

Val Interpreter::SetData(std::string_view label, std::string_view key, Frame& frame) {
  for (Frame* f = &frame; f != nullptr; f = f->parent) {
    const auto sets = f->scope->label_sets.find(label);
    if (sets == f->scope->label_sets.end()) continue;
    const Val bound = Lookup(label, *f);
    if (bound.absent()) return Absent();
    const auto* ref = bound.get_if<LabelRef>();
    if (ref == nullptr) break;
    const OpName& op = graph_.op_name(graph_.op(ref->node));
    for (const OpSet* set : sets->second) {
      const SetMember* member = set->Find(op);
      if (member == nullptr) continue;
      const auto data = member->data.find(std::string(key));
      if (data != member->data.end()) return FromLiteral(data->second);
    }
    return Absent();
  }
  return Failure{fmt::format("`{}.{}` is nothing", label, key)};
}

std::optional<OpName> Interpreter::HeadOperator(const Expr& call, Frame& frame, std::string* why) {
  const std::string& name = call.refs[0].name;
  const size_t dot = name.find('.');
  for (Frame* f = &frame; f != nullptr; f = f->parent) {
    const std::string label = name.substr(0, dot);
    const int slot = f->scope->Find(label);
    if (slot < 0) continue;
    if (dot == std::string::npos) {  // a label: the same operator
      const Val bound = Lookup(label, *f);
      if (const auto* ref = bound.get_if<LabelRef>()) return graph_.op_name(graph_.op(ref->node));
      *why = fmt::format("`{}` is {}, not a node", label, Describe(bound));
      return std::nullopt;
    }
    const Val data = SetData(label, name.substr(dot + 1), *f);
    if (data.is<std::string>()) return SplitOpName(data.get<std::string>());
    *why = data.stops() ? data.why() : fmt::format("`{}` names no operator", name);
    return std::nullopt;
  }
  return SplitOpName(name);
}

// --- operators on constants

Val Interpreter::CastWeak(const Num& number) {
  Result<Tensor> narrow = CastExact(number.t, DType::kFloat);
  if (!narrow.ok()) return Failure{narrow.status().diagnostics()[0].message};
  return Num{*std::move(narrow), true};
}

Val Interpreter::CastNum(const Num& number, DType dtype) {
  Result<Tensor> cast = CastExact(number.t, dtype);
  if (!cast.ok()) return Failure{cast.status().diagnostics()[0].message};
  return Num{*std::move(cast), false};
}

std::string Interpreter::UnifyWeak(const Signature* signature, std::vector<Num>& inputs,
                                   const std::function<DType(size_t)>& known_dtype) {
  const auto formal = [&](size_t i) -> const FormalValue* {
    if (signature == nullptr || signature->inputs.empty()) return nullptr;
    if (i < signature->inputs.size()) return &signature->inputs[i];
    const FormalValue& last = signature->inputs.back();
    return last.arity == Arity::kVariadic ? &last : nullptr;
  };
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (!inputs[i].t.valid() || !inputs[i].weak) continue;
    const FormalValue* f = formal(i);
    const int var = f == nullptr ? -1 : f->type_var;
    DType wanted = DType::kUndefined;
    for (size_t j = 0; j < inputs.size() && var >= 0; ++j) {
      const FormalValue* g = formal(j);
      if (g == nullptr || g->type_var != var || (inputs[j].t.valid() && inputs[j].weak)) continue;
      wanted = inputs[j].t.valid() ? inputs[j].t.dtype() : known_dtype(j);
      if (wanted != DType::kUndefined) break;
    }
    if (wanted == DType::kUndefined && var >= 0) {
      // A fixed type, or the only float (integer) type the variable allows.
      const TypeVar& allowed = signature->types[var];
      const DType own = inputs[i].t.dtype();
      if (!allowed.Allows(own) && allowed.Allows(DType::kFloat) && IsFloat(own))
        wanted = DType::kFloat;
      if (!allowed.Allows(own) && allowed.Allows(DType::kInt64)) wanted = DType::kInt64;
      if (!allowed.Allows(own) && wanted == DType::kUndefined && allowed.Allows(DType::kFloat)) {
        wanted = DType::kFloat;
      }
    }
    if (wanted == DType::kUndefined) continue;
    inputs[i].weak = false;
    if (wanted == inputs[i].t.dtype()) continue;
    Result<Tensor> cast = CastExact(inputs[i].t, wanted);
    if (!cast.ok()) return cast.status().diagnostics()[0].message;
    inputs[i].t = *std::move(cast);
  }
  return "";
}

// The arguments of `call` as operands of `op`: true, or what stops them.
Val Interpreter::ReadOperands(const OpName& op, const Expr& call, Frame& frame,
                              std::vector<Num>& inputs) {
  const auto add = [&](const Val& val) -> Val {
    const Val forced = Force(val);
    if (forced.stops()) return forced;
    if (forced.is<Num>()) {
      inputs.push_back(forced.get<Num>());
    } else if (forced.absent()) {
      inputs.push_back({});
    } else {
      return Failure{fmt::format("{} is given {}", op.text(), Describe(forced))};
    }
    return true;
  };
  for (const Arg& arg : call.args) {
    const Val value = Eval(*arg.value, frame);
    if (value.stops()) return value;
    const auto* list = value.get_if<List>();
    if (arg.repeated && list != nullptr) {
      for (const Val& item : **list) {
        if (const Val added = add(item); added.stops()) return added;
      }
    } else if (const Val added = add(value); added.stops()) {
      return added;
    }
  }
  return true;
}

Val Interpreter::EvalOperator(const Expr& call, Frame& frame) {
  std::string why;
  const std::optional<OpName> op = HeadOperator(call, frame, &why);
  if (!op) return Failure{why};
  const Signature* signature = rules_.signatures.Newest(op->domain, op->name);
  std::vector<Num> inputs;
  if (const Val read = ReadOperands(*op, call, frame, inputs); read.stops()) return read;
  while (!inputs.empty() && !inputs.back().t.valid()) inputs.pop_back();
  const size_t required = signature == nullptr ? 0 : static_cast<size_t>(signature->min_inputs);
  for (size_t i = 0; i < required; ++i) {
    if (i >= inputs.size() || !inputs[i].t.valid()) return Absent();
  }
  bool weak = false, strong = false;  // among the inputs that decide the type of the result
  for (size_t i = 0; i < inputs.size() && signature != nullptr; ++i) {
    if (signature->inputs.empty()) return Failure{op->text() + " has no inputs"};
    const FormalValue& f = signature->inputs[std::min(i, signature->inputs.size() - 1)];
    if (f.type_var != signature->outputs[0].type_var || !inputs[i].t.valid()) continue;
    (inputs[i].weak ? weak : strong) = true;
  }
  why = UnifyWeak(signature, inputs, [](size_t) { return DType::kUndefined; });
  if (!why.empty()) return Failure{why};
  Attributes attributes;
  for (const AttrArg& a : call.attrs) {
    const Val value = a.value ? Eval(*a.value, frame) : Lookup(a.name, frame);
    if (value.stops()) return value;
    if (value.absent()) continue;
    const FormalAttribute* formal =
        signature == nullptr ? nullptr : signature->FindAttribute(a.name);
    Result<AttrValue> attr =
        ToAttribute(value, formal == nullptr ? AttrKind::kUndefined : formal->kind);
    if (!attr.ok()) return Failure{attr.status().diagnostics()[0].message};
    attributes.Set(a.name, *std::move(attr));
  }
  std::vector<Tensor> tensors;
  tensors.reserve(inputs.size());
  for (const Num& n : inputs) tensors.push_back(n.t);
  const Outputs out = Fold(kernels_, {.domain = op->domain,
                                      .op = op->name,
                                      .since = signature == nullptr ? 1 : signature->since,
                                      .inputs = tensors,
                                      .attributes = attributes});
  if (!out.ok()) return Failure{out.status().diagnostics()[0].message};
  return Num{(*out)[0], weak && !strong};
}

}  // namespace qrewrite
