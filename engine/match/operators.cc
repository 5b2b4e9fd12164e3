// Operators on constants, attributes and their defaults, types that signatures of rule files state.
#include <algorithm>
#include <climits>
#include <cmath>

#include <fmt/format.h>

#include "engine/expr/parser.h"
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

Status Misfit(const Val& val, std::string_view kind) {
  return {StatusCode::kInvalidRules, fmt::format("{} is no {} attribute", Describe(val), kind)};
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

// --- attributes as values

Val Interpreter::FromAttribute(const AttrValue& value) {
  switch (KindOf(value)) {
    case AttrKind::kInt: return Val::Int(std::get<int64_t>(value));
    case AttrKind::kFloat: return Val::Float(std::get<float>(value));
    case AttrKind::kString: return std::get<std::string>(value);
    case AttrKind::kInts: return Val::Ints(std::get<std::vector<int64_t>>(value));
    case AttrKind::kFloats: {
      const auto& floats = std::get<std::vector<float>>(value);
      const std::vector<double> wide(floats.begin(), floats.end());
      Tensor t = Tensor::Of<double>(DType::kDouble, {static_cast<int64_t>(wide.size())}, wide);
      return Num{std::move(t), true};
    }
    case AttrKind::kStrings: {
      const auto& strings = std::get<std::vector<std::string>>(value);
      return Val::ListOf({strings.begin(), strings.end()});
    }
    case AttrKind::kTensor:
      if (const auto* t = std::get_if<Tensor>(&value)) return Num{*t, false};
      break;
    case AttrKind::kGraph:
      if (const auto* b = std::get_if<BodyId>(&value)) return BodyRef{*b};
      break;
    default: break;
  }
  if (const auto* ref = std::get_if<AttrReference>(&value)) {
    return Unknown{fmt::format("attribute `{}` of a function is given by its caller", ref->name)};
  }
  return Unknown{"this kind of attribute is not looked into"};
}

Val Interpreter::AttributeOf(NodeId node, std::string_view name) {
  if (const AttrValue* value = graph_.attributes(node).Find(name)) {
    if (const auto* ref = std::get_if<AttrReference>(value)) {
      return Unknown{fmt::format("attribute `{}` of a function is given by its caller", ref->name)};
    }
    return FromAttribute(*value);
  }
  const Signature* signature = SignatureOf(graph_, rules_.signatures, node);
  const FormalAttribute* formal = signature == nullptr ? nullptr : signature->FindAttribute(name);
  return formal == nullptr ? Val() : DefaultOf(node, *formal);
}

Val Interpreter::DefaultOf(NodeId node, const FormalAttribute& formal) {
  if (!std::holds_alternative<std::monostate>(formal.default_value)) {
    return FromAttribute(formal.default_value);
  }
  if (formal.computed_default.empty()) return Absent();
  const Signature* signature = SignatureOf(graph_, rules_.signatures, node);
  SignatureExprs& exprs = ExprsOf(*signature);
  const auto expr = exprs.defaults.find(formal.name);
  if (expr == exprs.defaults.end() || !expr->second) return Absent();
  Frame frame = SignatureFrame(*signature, exprs, node, true);
  const Val value = Eval(*expr->second, frame);
  // fail(): there is no default here (pads under auto_pad).
  return value.is<Failure>() ? Val() : value;
}

bool Interpreter::IsDefault(NodeId node, const Attribute& attribute) {
  const Signature* signature = SignatureOf(graph_, rules_.signatures, node);
  const FormalAttribute* formal =
      signature == nullptr ? nullptr : signature->FindAttribute(attribute.name);
  if (formal == nullptr) return false;
  if (!std::holds_alternative<std::monostate>(formal->default_value)) {
    return Equal(attribute.value, formal->default_value);
  }
  const Val fallback = DefaultOf(node, *formal);
  if (fallback.absent() || fallback.stops()) return false;
  const Val same = Compare(BinaryOp::kEq, FromAttribute(attribute.value), fallback);
  return same.is<bool>() && same.get<bool>();
}

Result<AttrValue> Interpreter::ToAttribute(const Val& val, AttrKind kind) {
  if (val.stops()) return Status(StatusCode::kInvalidRules, val.why());
  if (const auto* body = val.get_if<BodyRef>()) return AttrValue(body->body);
  if (const auto* dtype = val.get_if<DType>()) return AttrValue(static_cast<int64_t>(*dtype));
  if (val.is<std::string>()) {
    if (kind == AttrKind::kStrings)
      return AttrValue(std::vector<std::string>{val.get<std::string>()});
    if (kind != AttrKind::kString && kind != AttrKind::kUndefined) return Misfit(val, "number");
    return AttrValue(val.get<std::string>());
  }
  if (const auto* list = val.get_if<List>()) {
    if (!(*list)->empty() && (*list)->front().is<std::string>()) {
      std::vector<std::string> strings;
      for (const Val& item : **list) {
        if (!item.is<std::string>()) return Misfit(item, "string");
        strings.push_back(item.get<std::string>());
      }
      return AttrValue(std::move(strings));
    }
  }
  const Val forced = Force(val);
  if (forced.stops()) return Status(StatusCode::kInvalidRules, forced.why());
  const auto* n = forced.get_if<Num>();
  if (n == nullptr) return Misfit(forced, "known");
  const Tensor& t = n->t;
  if (kind == AttrKind::kUndefined) {  // whatever it looks like
    const bool floats = IsFloat(t.dtype());
    if (!n->weak && t.dtype() != DType::kInt64 && t.dtype() != DType::kFloat)
      kind = AttrKind::kTensor;
    else if (t.rank() == 0)
      kind = floats ? AttrKind::kFloat : AttrKind::kInt;
    else
      kind = floats ? AttrKind::kFloats : AttrKind::kInts;
  }
  if (kind == AttrKind::kTensor) {
    if (n->weak && t.dtype() == DType::kDouble) {
      QR_ASSIGN_OR_RETURN(Tensor narrow, CastExact(t, DType::kFloat));
      return AttrValue(std::move(narrow));
    }
    return AttrValue(t);
  }
  const bool integral = kind == AttrKind::kInt || kind == AttrKind::kInts;
  if (!integral && kind != AttrKind::kFloat && kind != AttrKind::kFloats)
    return Misfit(forced, "such");
  if (kind == AttrKind::kInt || kind == AttrKind::kFloat) {
    if (t.size() != 1) return Misfit(forced, "scalar");
  } else if (t.rank() > 1) {
    return Misfit(forced, "1-D");
  }
  if (integral) {
    const bool cast = t.dtype() != DType::kInt64;
    Tensor whole = t;
    if (cast) {
      QR_ASSIGN_OR_RETURN(whole, CastExact(t, DType::kInt64));
    }
    QR_ASSIGN_OR_RETURN(std::vector<int64_t> values, ToInt64s(whole));
    return kind == AttrKind::kInt ? AttrValue(values[0]) : AttrValue(std::move(values));
  }
  QR_ASSIGN_OR_RETURN(std::vector<double> values, ToDoubles(t));
  if (kind == AttrKind::kFloat) return AttrValue(static_cast<float>(values[0]));
  return AttrValue(std::vector<float>(values.begin(), values.end()));
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

Val Interpreter::EvalOperator(const Expr& call, Frame& frame) {
  std::string why;
  const std::optional<OpName> op = HeadOperator(call, frame, &why);
  if (!op) return Failure{why};
  const Signature* signature = rules_.signatures.Newest(op->domain, op->name);
  std::vector<Num> inputs;
  const auto add = [&](const Val& val) -> Val {
    const Val forced = Force(val);
    if (forced.stops()) return forced;
    if (forced.is<Num>()) {
      inputs.push_back(forced.get<Num>());
    } else if (forced.absent()) {
      inputs.push_back({});
    } else {
      return Failure{fmt::format("{} is given {}", op->text(), Describe(forced))};
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
  while (!inputs.empty() && !inputs.back().t.valid()) inputs.pop_back();
  const size_t required = signature == nullptr ? 0 : static_cast<size_t>(signature->min_inputs);
  for (size_t i = 0; i < required; ++i) {
    if (i >= inputs.size() || !inputs[i].t.valid()) return Absent();
  }
  bool weak = false, strong = false;  // among the inputs that decide the type of the result
  for (size_t i = 0; i < inputs.size() && signature != nullptr; ++i) {
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
  for (const Num& n : inputs) tensors.push_back(n.t);
  const Outputs out = Fold(kernels_, {.domain = op->domain,
                                      .op = op->name,
                                      .since = signature == nullptr ? 1 : signature->since,
                                      .inputs = tensors,
                                      .attributes = attributes});
  if (!out.ok()) return Failure{out.status().diagnostics()[0].message};
  return Num{(*out)[0], weak && !strong};
}

// --- facts that signatures state

Interpreter::SignatureExprs& Interpreter::ExprsOf(const Signature& signature) {
  auto& exprs = signature_exprs_[&signature];
  if (exprs) return *exprs;
  exprs = std::make_unique<SignatureExprs>();
  for (const FormalValue& v : signature.inputs) exprs->scope.Add(v.name);
  for (const FormalAttribute& a : signature.attributes) exprs->scope.Add(a.name);
  const auto parse = [&](const std::string& text) -> ExprPtr {
    if (text.empty()) return nullptr;
    signature_sources_.push_back(std::make_unique<SourceText>(signature.op.text(), text));
    DiagnosticSink sink;
    ExprPtr expr = ParseExpr(WholeText(*signature_sources_.back()), sink);
    return sink.has_errors() ? nullptr : std::move(expr);
  };
  for (const FormalValue& v : signature.outputs) {
    exprs->shapes.push_back(parse(v.shape_expr));
    exprs->dtypes.push_back(parse(v.dtype_expr));
  }
  for (const FormalAttribute& a : signature.attributes) {
    if (!a.computed_default.empty()) exprs->defaults[a.name] = parse(a.computed_default);
  }
  return *exprs;
}

Frame Interpreter::SignatureFrame(const Signature& signature, SignatureExprs& exprs, NodeId node,
                                  bool with_attributes) {
  Frame frame(exprs.scope);
  frame.body = graph_.body_of(node);
  for (size_t i = 0; i < signature.inputs.size(); ++i) {
    const bool given = i < graph_.num_inputs(node) && graph_.input(node, i).valid();
    frame.Bind(exprs.scope.Find(signature.inputs[i].name),
               given ? Val(graph_.input(node, i)) : Val());
  }
  for (const FormalAttribute& a : signature.attributes) {
    Val value;
    if (const AttrValue* written = graph_.attributes(node).Find(a.name)) {
      value = FromAttribute(*written);
    } else if (with_attributes && !std::holds_alternative<std::monostate>(a.default_value)) {
      value = FromAttribute(a.default_value);
    }
    const int slot = exprs.scope.Find(a.name);
    if (frame.state[slot] != Frame::kBound) frame.Bind(slot, std::move(value));
  }
  return frame;
}

std::optional<std::vector<TypeInfo>> Interpreter::StatedTypes(NodeId node,
                                                              const Signature& signature) {
  SignatureExprs& exprs = ExprsOf(signature);
  Frame frame = SignatureFrame(signature, exprs, node, true);
  std::vector<TypeInfo> types(graph_.num_outputs(node));
  bool any = false;
  for (size_t i = 0; i < types.size() && i < exprs.shapes.size(); ++i) {
    if (exprs.dtypes[i]) {
      const Val dtype = Eval(*exprs.dtypes[i], frame);
      if (dtype.is<DType>()) types[i].dtype = dtype.get<DType>();
    }
    if (exprs.shapes[i]) {
      const Val shape = Eval(*exprs.shapes[i], frame);
      std::vector<Val> dims;
      if (const auto* list = shape.get_if<List>()) {
        types[i].has_rank = true;
        for (const Val& d : **list) {
          const auto* s = d.get_if<SymbolSize>();
          const auto* n = d.get_if<Num>();
          const Result<std::vector<int64_t>> size =
              n != nullptr ? ToInt64s(n->t) : Result<std::vector<int64_t>>(std::vector<int64_t>());
          types[i].dims.push_back(s != nullptr                                     ? s->dim
                                  : n != nullptr && size.ok() && size->size() == 1 ? Dim((*size)[0])
                                                                                   : Dim());
        }
      } else if (const auto* n = shape.get_if<Num>(); n != nullptr && n->t.rank() == 1) {
        const Result<std::vector<int64_t>> sizes = ToInt64s(n->t);
        if (sizes.ok()) {
          types[i].has_rank = true;
          for (const int64_t s : *sizes) types[i].dims.push_back(Dim(s));
        }
      }
    }
    any |= exprs.shapes[i] != nullptr || exprs.dtypes[i] != nullptr;
  }
  return any ? std::optional(types) : std::nullopt;
}

}  // namespace qrewrite
