// Operators on constants: which one a call means, the types of its operands, its result.
#include <algorithm>
#include <climits>
#include <cmath>

#include <fmt/format.h>

#include "engine/base/message.h"
#include "engine/fold/functions.h"
#include "engine/match/failure.h"
#include "engine/match/interpreter.h"
#include "engine/ops/node_signature.h"

namespace qrewrite {

const OpName* Interpreter::HeadOperator(const OperatorHead& head, Frame& frame, std::string* why) {
  if (head.kind == OperatorHead::Kind::kLiteral) return &head.op;
  if (head.kind == OperatorHead::Kind::kLabel) {  // a label: the same operator
    const Val& bound = Slot(head.slot, frame);
    if (const auto* ref = bound.get_if<LabelRef>()) return &graph_.op_name(graph_.op(ref->node));
    *why = fmt::format("`{}` is {}, not a node", head.text, Describe(bound));
    return nullptr;
  }
  const OpName* op = nullptr;
  const Val data = EvalData(program_.data(head.data), frame, &op);
  if (data.is<std::string>()) return op;
  *why = data.stops() ? Why(data) : fmt::format("`{}` names no operator", head.text);
  return nullptr;
}

const Signature* Interpreter::SignatureAt(const OperatorHead& head, const OpName& op,
                                          int64_t version) {
  if (head.number < 0) return rules().signatures.Find(op.domain, op.name, version);
  OperatorEntry& entry = operators_[static_cast<size_t>(head.number)];
  if (entry.version != version) {
    entry.version = version;
    entry.signature = rules().signatures.Find(op.domain, op.name, version);
  }
  return entry.signature;
}

const KernelEntry* Interpreter::KernelOf(const OperatorHead& head, const OpName& op, int since) {
  if (head.number < 0) return kernels_.Find(op.domain, op.name, since);
  OperatorEntry& entry = operators_[static_cast<size_t>(head.number)];
  if (entry.since != since) {
    entry.since = since;
    entry.kernel = kernels_.Find(op.domain, op.name, since);
  }
  return entry.kernel;
}

// --- operators on constants

Val Interpreter::CastWeak(const Num& number) {
  Result<Tensor> narrow = CastExact(number.t, DType::kFloat);
  if (!narrow.ok()) return FailureOf(narrow.status());
  return Num{*std::move(narrow), true};
}

Val Interpreter::CastNum(const Num& number, DType dtype) {
  Result<Tensor> cast = CastExact(number.t, dtype);
  if (!cast.ok()) return FailureOf(cast.status());
  return Num{*std::move(cast), false};
}

std::string Interpreter::UnifyWeak(const Signature* signature, std::vector<Num>& inputs,
                                   FunctionRef<DType(size_t)> known_dtype) {
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
    if (!cast.ok()) return Message(cast.status());
    inputs[i].t = *std::move(cast);
  }
  return "";
}

// The arguments of `call` as operands of `op`: true, or what stops them.
Val Interpreter::ReadOperands(const OperatorCode& call, const OpName& op, Frame& frame,
                              std::vector<Num>& inputs) {
  const auto add = [&](const Val& val) -> Val {
    const Val forced = Force(val);
    if (forced.stops()) return forced;
    if (forced.is_number()) {
      inputs.push_back(forced.number());
    } else if (forced.absent()) {
      inputs.push_back({});
    } else {
      return Failure{fmt::format("{} is given {}", op.text(), Describe(forced))};
    }
    return true;
  };
  for (const OperatorCode::Argument& arg : call.args) {
    const Val value = Eval(arg.value, frame);
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

namespace {

// The attributes of `call` as those of `op`: true, or what stops them.
Val ReadAttributes(Interpreter& in, const OperatorCode& call, const OpName& op,
                   const Signature* signature, Frame& frame, Attributes& attributes) {
  for (const auto& [name, code] : call.attrs) {
    const Val value = in.Eval(code, frame);
    if (value.stops()) return value;
    if (value.absent()) continue;
    if (name.starts_with("**")) {
      const auto* rest = value.get_if<AttrRest>();
      if (rest == nullptr) return Failure{fmt::format("{} holds no attributes", Describe(value))};
      const std::string why = in.PassOn(*rest, op, signature, attributes);
      if (!why.empty()) return Failure{why};
      for (const Attribute& a : attributes) {
        if (Val given = Interpreter::FromAttribute(a.value); given.stops()) return given;
      }
      continue;
    }
    const FormalAttribute* formal = signature == nullptr ? nullptr : signature->FindAttribute(name);
    Result<AttrValue> attr =
        in.ToAttribute(value, formal == nullptr ? AttrKind::kUndefined : formal->kind);
    if (!attr.ok()) return FailureOf(attr.status());
    attributes.Set(name, *std::move(attr));
  }
  return true;
}

}  // namespace

Val Interpreter::EvalOperator(const OperatorCode& call, Frame& frame, size_t wanted) {
  std::string why;
  const OpName* const op = HeadOperator(call.head, frame, &why);
  if (op == nullptr) return Failure{why};
  const Signature* signature =
      call.head.number >= 0 ? program_.operators()[static_cast<size_t>(call.head.number)].newest
                            : rules().signatures.Newest(op->domain, op->name);
  std::vector<Num> inputs;
  inputs.reserve(call.args.size());
  if (const Val read = ReadOperands(call, *op, frame, inputs); read.stops()) return read;
  while (!inputs.empty() && !inputs.back().t.valid()) inputs.pop_back();
  const size_t required = signature == nullptr ? 0 : static_cast<size_t>(signature->min_inputs);
  for (size_t i = 0; i < required; ++i) {
    if (i >= inputs.size() || !inputs[i].t.valid()) return Absent();
  }
  bool weak = false, strong = false;  // among the inputs that decide the type of the result
  for (size_t i = 0; i < inputs.size() && signature != nullptr; ++i) {
    const FormalValue* const formal = FormalInput(*signature, i);
    if (formal == nullptr) return Failure{op->text() + " has no inputs"};
    if (formal->type_var != signature->outputs[0].type_var || !inputs[i].t.valid()) continue;
    (inputs[i].weak ? weak : strong) = true;
  }
  why = UnifyWeak(signature, inputs, [](size_t) { return DType::kUndefined; });
  if (!why.empty()) return Failure{why};
  Attributes attributes;
  const Val read = ReadAttributes(*this, call, *op, signature, frame, attributes);
  if (read.stops()) return read;
  std::vector<Tensor> tensors;
  tensors.reserve(inputs.size());
  for (const Num& n : inputs) tensors.push_back(n.t);
  const bool several = wanted > 1 && signature != nullptr && signature->max_outputs > 1;
  const FoldCall fold{.domain = op->domain,
                      .op = op->name,
                      .since = signature == nullptr ? 1 : signature->since,
                      .inputs = tensors,
                      .attributes = attributes,
                      .num_outputs = several ? static_cast<int>(wanted) : 1};
  const Outputs out = Fold(KernelOf(call.head, *op, fold.since), fold, {.work = &fold_work_});
  if (out.status().code() == StatusCode::kLimit) Exhaust(Message(out.status()));
  if (!out.ok()) return FoldFailure(out.status());
  if (!several) return Num{(*out)[0], weak && !strong};
  std::vector<Val> all;
  for (size_t i = 0; i < out->size(); ++i) {
    const int type = signature->outputs[std::min(i, signature->outputs.size() - 1)].type_var;
    all.emplace_back(Num{(*out)[i], weak && !strong && type == signature->outputs[0].type_var});
  }
  return Val::ListOf(std::move(all));
}

}  // namespace qrewrite
