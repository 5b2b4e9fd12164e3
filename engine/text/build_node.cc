#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "engine/ops/dtypes.h"
#include "engine/text/builder.h"
#include "engine/text/tensor_text.h"

namespace qrewrite {
namespace {

OpName OpNameOf(const std::string& text) {
  const size_t dot = text.rfind('.');
  if (dot == std::string::npos) return {"", text};
  return {std::string(CanonicalDomain(text.substr(0, dot))), text.substr(dot + 1)};
}

// The formal input behind position `i`: the last one stands for all of a variadic list.
const FormalValue* FormalInput(const Signature* signature, size_t i) {
  if (!signature || signature->inputs.empty()) return nullptr;
  if (i < signature->inputs.size()) return &signature->inputs[i];
  const FormalValue& last = signature->inputs.back();
  return last.arity == Arity::kVariadic ? &last : nullptr;
}

std::string CountText(int least, int most, std::string_view what) {
  std::string text = least == most ? std::to_string(most)
                     : most > 1000 ? fmt::format("at least {}", least)
                                   : fmt::format("{} to {}", least, most);
  return fmt::format("{} {}{}", text, what, text == "1" ? "" : "s");
}

bool Allows(const TypeVar& var, DType dtype) {
  return (var.dtypes >> static_cast<int>(dtype) & 1) != 0;
}

// Types that a literal may take when its natural one is not allowed, in order of preference.
constexpr std::array kFloatTypes = {DType::kFloat, DType::kDouble, DType::kFloat16,
                                    DType::kBfloat16};
constexpr std::array kNumberTypes = {DType::kInt64, DType::kInt32, DType::kFloat, DType::kDouble,
                                     DType::kInt8,  DType::kUint8, DType::kUint64};

}  // namespace

DType GraphBuilder::DTypeOf(ValueId value) const {
  if (!value.valid()) return DType::kUndefined;
  if (const Tensor* tensor = graph_.constant(value)) return tensor->dtype();
  const DType declared = graph_.declared(value).dtype;
  if (declared != DType::kUndefined) return declared;
  const auto it = dtypes_.find(value);
  return it == dtypes_.end() ? DType::kUndefined : it->second;
}

// --- the form of a call

bool GraphBuilder::CheckForm(const Arg& arg) {
  if (arg.value->kind == Expr::Kind::kGroup || arg.repeated || arg.optional ||
      arg.label_kind == Arg::Label::kArrow) {
    Error(arg.place, "QR0306", "`?`, `...` and `->` belong to rules; a graph has single values");
    return false;
  }
  return true;
}

bool GraphBuilder::CheckForm(const Expr& call) {
  const Ref& ref = call.call().refs.front();
  if (call.call().negated || call.call().refs.size() > 1 || ref.kind != Ref::Kind::kName ||
      call.call().quantifier != Quantifier::kOne) {
    Error(ref.place, "QR0306", "sets, alternatives, definitions and repetition belong to rules")
        .hint = "a graph names one operator: `y = Relu(x)`";
    return false;
  }
  if (ref.name == "_") {
    Error(ref.place, "QR0306", "`_` is no operator");
    return false;
  }
  return true;
}

const Signature* GraphBuilder::SignatureOf(const Expr& call, const OpName& op) {
  const int64_t version = graph_.opset().try_emplace(op.domain, 1).first->second;
  if (const Signature* signature = signatures_.Find(op.domain, op.name, version)) return signature;
  const Place& place = call.call().refs.front().place;
  if (signatures_.Newest(op.domain, op.name)) {
    Error(place, "QR0305", fmt::format("{} does not exist at opset {}", op.text(), version)).hint =
        "a test may set `opset`";
  } else if (op.domain.empty()) {
    std::vector<std::string> names;
    for (const OpName& name : signatures_.Names()) {
      if (name.domain.empty()) names.push_back(name.name);
    }
    Diagnostic& error =
        Error(place, "QR0305", fmt::format("unknown operator `{}`", Printable(op.name)));
    error.hint = DidYouMean(op.name, names);
    if (op.name == "zeros" || op.name == "ones") {
      error.hint = fmt::format("a constant is written `w = {} float[2]`", op.name);
    }
    if (error.hint.empty()) error.hint = "other domains need no signature: `my.domain.Op(x)`";
  }
  return nullptr;
}

void GraphBuilder::BuildNode(const Expr& call, std::vector<ValueId> outputs, Scope& scope,
                             std::string_view serves) {
  if (!CheckForm(call)) return;
  const OpName op = OpNameOf(call.call().refs.front().name);
  const Signature* signature = SignatureOf(call, op);
  if (!signature && op.domain.empty()) return;
  std::vector<Input> inputs;
  Attributes attributes;
  const bool inputs_ok = PlaceInputs(call, op, signature, scope, serves, inputs);
  if (!BuildAttributes(call, op, signature, scope, attributes) || !inputs_ok) return;
  while (!outputs.empty() && !outputs.back().valid()) outputs.pop_back();
  if (signature && !CheckCounts(call, op, *signature, inputs, outputs.size())) return;
  TypeLiterals(signature, inputs, scope, serves);

  std::vector<ValueId> values;
  for (const Input& input : inputs) {
    values.push_back(input.value);
    if (input.value.valid()) read_.insert(input.value);
  }
  const OpId id = graph_.InternOp(op.domain, op.name);
  const NodeId node =
      graph_.AddNode(scope.body, id, values, outputs, std::move(attributes), call.call().label);
  if (!signature) return;
  const std::vector<DType> dtypes =
      InferOutputDTypes(graph_, node, *signature, [this](ValueId value) { return DTypeOf(value); });
  for (size_t i = 0; i < outputs.size() && i < dtypes.size(); ++i) {
    if (outputs[i].valid()) dtypes_[outputs[i]] = dtypes[i];
  }
}

// --- inputs

bool GraphBuilder::PlaceInputs(const Expr& call, const OpName& op, const Signature* signature,
                               Scope& scope, std::string_view serves, std::vector<Input>& inputs) {
  bool ok = true;
  std::vector<bool> given;
  for (size_t i = 0; i < call.call().args.size(); ++i) {
    const Arg& arg = call.call().args[i];
    size_t position = i;
    if (arg.label_kind == Arg::Label::kInput) {
      const int index = signature ? signature->InputIndex(arg.label) : -1;
      if (index < 0) {
        Diagnostic& error =
            Error(arg.place, "QR0307", fmt::format("{} has no input `{}`", op.text(), arg.label));
        std::vector<std::string> names;
        if (signature) {
          for (const FormalValue& formal : signature->inputs) names.push_back(formal.name);
        }
        error.hint =
            signature != nullptr && signature->FindAttribute(arg.label) != nullptr
                ? fmt::format("attributes stand in <>: `{}<{}=...>(...)`", op.text(), arg.label)
                : DidYouMean(arg.label, names);
        ok = false;
        continue;
      }
      position = static_cast<size_t>(index);
    }
    if (inputs.size() <= position) {
      inputs.resize(position + 1);
      given.resize(position + 1);
    }
    if (given[position]) {
      Error(arg.place, "QR0307", fmt::format("input {} of {} is given twice", position, op.text()));
      ok = false;
    }
    given[position] = true;
    ok = BuildInput(arg, scope, serves, inputs[position]) && ok;
  }
  for (size_t i = 0; i < inputs.size(); ++i) {
    const FormalValue* formal = FormalInput(signature, i);
    const bool shared = formal && (formal->arity != Arity::kVariadic || formal->homogeneous);
    inputs[i].type_var = shared ? formal->type_var : -1;
  }
  while (!inputs.empty() && !inputs.back().value.valid() && !inputs.back().literal) {
    inputs.pop_back();
  }
  return ok;
}

bool GraphBuilder::BuildInput(const Arg& arg, Scope& scope, std::string_view serves, Input& input) {
  if (!CheckForm(arg)) return false;
  const Expr& expr = *arg.value;
  input.place = expr.place;
  if (expr.kind == Expr::Kind::kAbsent) return true;
  if (expr.kind == Expr::Kind::kName) {
    if (expr.text == "_") {
      Error(expr.place, "QR0306", "`_` belongs to patterns").hint = "no input is written `absent`";
      return false;
    }
    input.value = Lookup(expr.text, expr.place, scope);
    const auto it = pending_.find(input.value);
    if (it != pending_.end()) input.literal = it->second;
  } else if (expr.kind == Expr::Kind::kCall) {
    const std::string& op = expr.call().refs.front().name;
    const std::string inner = Fresh(fmt::format("{}_{}", serves, op.substr(op.rfind('.') + 1)));
    input.value = graph_.AddValue(scope.body, inner);
    BuildNode(expr, {input.value}, scope, inner);
  } else if (expr.kind == Expr::Kind::kTyped) {
    Tensor tensor = TensorOfTyped(expr, sink_);
    if (!tensor.valid()) return false;
    const std::string name = Fresh(fmt::format("{}_const", serves));
    input.value = graph_.AddConstant(scope.body, name, std::move(tensor));
  } else if (IsUntypedLiteral(expr)) {
    input.literal = &expr;
  } else {
    Error(expr.place, "QR0304", "a graph holds operators and constants, no expressions").hint =
        expr.kind == Expr::Kind::kList ? "inputs stand one behind the other: `Concat(a, b)`" : "";
    return false;
  }
  if (!input.literal) return input.value.valid();
  const std::optional<Elements> elements = ElementsOf(*input.literal, sink_);
  if (elements) input.natural = elements->NaturalType();
  return elements.has_value();
}

bool GraphBuilder::CheckCounts(const Expr& call, const OpName& op, const Signature& signature,
                               const std::vector<Input>& inputs, size_t outputs) {
  const auto given = static_cast<int>(inputs.size());
  if (given < signature.min_inputs || given > signature.max_inputs) {
    Error(call.place, "QR0307",
          fmt::format("{} takes {}, not {}", op.text(),
                      CountText(signature.min_inputs, signature.max_inputs, "input"), given));
    return false;
  }
  if (static_cast<int>(outputs) > signature.max_outputs) {
    Error(call.place, "QR0307",
          fmt::format("{} has {}, not {}", op.text(),
                      CountText(signature.min_outputs, signature.max_outputs, "output"), outputs));
    return false;
  }
  return true;
}

// --- types of untyped literals

void GraphBuilder::TypeLiterals(const Signature* signature, std::vector<Input>& inputs,
                                Scope& scope, std::string_view serves) {
  std::vector<DType> dtypes(inputs.size(), DType::kUndefined);
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (inputs[i].literal) dtypes[i] = LiteralType(signature, inputs, inputs[i]);
  }
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (inputs[i].literal) SettleLiteral(inputs[i], dtypes[i], scope, serves);
  }
}

// The type of an input that shares the type variable; else the natural type of all such literals
// together, if the operator takes it; else one that it takes.
DType GraphBuilder::LiteralType(const Signature* signature, const std::vector<Input>& inputs,
                                const Input& literal) const {
  DType natural = literal.natural;
  if (!signature || literal.type_var < 0) return natural;
  for (const Input& other : inputs) {
    if (other.type_var != literal.type_var) continue;
    if (other.literal) {
      if (other.natural == DType::kFloat) natural = DType::kFloat;
    } else if (const DType dtype = DTypeOf(other.value); dtype != DType::kUndefined) {
      return dtype;
    }
  }
  const TypeVar& var = signature->types[static_cast<size_t>(literal.type_var)];
  if (Allows(var, natural)) return natural;
  const auto pick = [&](const auto& types) {
    const auto it =
        std::find_if(types.begin(), types.end(), [&](DType dtype) { return Allows(var, dtype); });
    return it == types.end() ? natural : *it;
  };
  if (natural == DType::kFloat) return pick(kFloatTypes);
  return natural == DType::kInt64 ? pick(kNumberTypes) : natural;
}

void GraphBuilder::SettleLiteral(Input& input, DType dtype, Scope& scope, std::string_view serves) {
  Tensor tensor = TensorOf(*input.literal, dtype, sink_);
  if (!input.value.valid()) {
    if (!tensor.valid()) return;
    const std::string name = Fresh(fmt::format("{}_const", serves));
    input.value = graph_.AddConstant(scope.body, name, std::move(tensor));
  } else if (pending_.erase(input.value) > 0 && tensor.valid()) {
    graph_.SetConstant(input.value, std::move(tensor));
  }
  input.literal = nullptr;
}

}  // namespace qrewrite
