// Attributes as values and back, and their defaults.
#include <algorithm>

#include <fmt/format.h>

#include "engine/fold/functions.h"
#include "engine/match/interpreter.h"
#include "engine/program/scalar.h"

namespace qrewrite {
namespace {

Status Misfit(const Val& val, std::string_view kind) {
  return {StatusCode::kInvalidRules, fmt::format("{} is no {} attribute", Describe(val), kind)};
}

// Of an attribute whose kind nobody states: what the number looks like.
AttrKind LikelyKind(const Num& number) {
  const DType dtype = number.t.dtype();
  if (!number.weak && dtype != DType::kInt64 && dtype != DType::kFloat) return AttrKind::kTensor;
  const bool floats = IsFloat(dtype);
  if (number.t.rank() == 0) return floats ? AttrKind::kFloat : AttrKind::kInt;
  return floats ? AttrKind::kFloats : AttrKind::kInts;
}

Result<AttrValue> IntsAttribute(const Tensor& t, AttrKind kind) {
  Tensor whole = t;
  if (t.dtype() != DType::kInt64) {
    QR_ASSIGN_OR_RETURN(whole, CastExact(t, DType::kInt64));
  }
  QR_ASSIGN_OR_RETURN(std::vector<int64_t> values, ToInt64s(whole));
  return kind == AttrKind::kInt ? AttrValue(values[0]) : AttrValue(std::move(values));
}

// `val` is the number.
Result<AttrValue> NumberAttribute(const Val& val, const Num& number, AttrKind kind) {
  const Tensor& t = number.t;
  if (kind == AttrKind::kUndefined) kind = LikelyKind(number);
  if (kind == AttrKind::kTensor) {
    if (!number.weak || t.dtype() != DType::kDouble) return AttrValue(t);
    QR_ASSIGN_OR_RETURN(Tensor narrow, CastExact(t, DType::kFloat));
    return AttrValue(std::move(narrow));
  }
  const bool integral = kind == AttrKind::kInt || kind == AttrKind::kInts;
  if (!integral && kind != AttrKind::kFloat && kind != AttrKind::kFloats)
    return Misfit(val, "such");
  if (kind == AttrKind::kInt || kind == AttrKind::kFloat) {
    if (t.size() != 1) return Misfit(val, "scalar");
  } else if (t.rank() > 1) {
    return Misfit(val, "1-D");
  }
  if (integral) return IntsAttribute(t, kind);
  QR_ASSIGN_OR_RETURN(std::vector<double> values, ToDoubles(t));
  if (kind == AttrKind::kFloat) return AttrValue(static_cast<float>(values[0]));
  return AttrValue(std::vector<float>(values.begin(), values.end()));
}

}  // namespace

Val Interpreter::FromAttribute(const AttrValue& value) {
  // First: its kind is that of the attribute, whose value is not here.
  if (const auto* ref = std::get_if<AttrReference>(&value)) {
    return Unknown{fmt::format("attribute `{}` of a function is given by its caller", ref->name)};
  }
  switch (KindOf(value)) {
    case AttrKind::kInt: return Val::Int(std::get<int64_t>(value));
    case AttrKind::kFloat: return Val::Float(std::get<float>(value));
    case AttrKind::kString: return std::get<std::string>(value);
    case AttrKind::kInts: return Val::OfInts(std::get<std::vector<int64_t>>(value));
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
  return Unknown{"this kind of attribute is not looked into"};
}

Val Interpreter::AttributeOf(NodeId node, std::string_view name) {
  if (const AttrValue* value = graph_.attributes(node).Find(name)) {
    return FromAttribute(*value);
  }
  const Signature* signature = NodeSignature(node);
  const FormalAttribute* formal = signature == nullptr ? nullptr : signature->FindAttribute(name);
  return formal == nullptr ? Val() : DefaultOf(node, *formal);
}

Val Interpreter::DefaultOf(NodeId node, const FormalAttribute& formal) {
  if (!std::holds_alternative<std::monostate>(formal.default_value)) {
    return FromAttribute(formal.default_value);
  }
  if (formal.computed_default.empty()) return Absent();
  const Signature& signature = *NodeSignature(node);
  const auto index = static_cast<size_t>(&formal - signature.attributes.data());
  constexpr size_t kSlots = 1024;
  if (defaults_.empty()) defaults_.resize(kSlots, {UINT64_MAX, Val()});
  const uint64_t key = (uint64_t{node.index} << 32) | index;
  const size_t slot = Mixed(key) % kSlots;
  if (defaults_[slot].first == key) return defaults_[slot].second;
  const SignatureCode* stated = nullptr;
  Interpreter* in = StatesFacts(signature, &stated);
  if (in == nullptr) return Absent();
  if (index >= stated->defaults.size() || !stated->defaults[index].valid()) return Absent();
  Frame frame = SignatureFrame(signature, *stated, node);
  Val value = in->Eval(stated->defaults[index], frame);
  if (value.is<Failure>()) value = Val();  // fail(): there is no default here (pads under auto_pad)
  // What is unknown may be known later; a new node may not stay.
  if (!value.is<Unknown>() && node.index < uses_mark_) {
    defaults_[slot] = {key, value};
  }
  return value;
}

bool Interpreter::IsDefault(NodeId node, const Attribute& attribute) {
  const Signature* signature = NodeSignature(node);
  const FormalAttribute* formal =
      signature == nullptr ? nullptr : signature->FindAttribute(attribute.name);
  if (formal == nullptr || std::holds_alternative<AttrReference>(attribute.value)) return false;
  if (!std::holds_alternative<std::monostate>(formal->default_value)) {
    return qrewrite::Equal(attribute.value, formal->default_value);
  }
  const Val fallback = DefaultOf(node, *formal);
  if (fallback.absent() || fallback.stops()) return false;
  return Equal(FromAttribute(attribute.value), fallback);
}

Result<AttrValue> Interpreter::ToAttribute(const Val& val, AttrKind kind) {
  if (val.stops()) return Status(StatusCode::kInvalidRules, Why(val));
  if (const auto* body = val.get_if<BodyRef>()) return AttrValue(body->body);
  if (const auto* dtype = val.get_if<DType>()) return AttrValue(static_cast<int64_t>(*dtype));
  if (val.is<std::string>()) {
    if (kind == AttrKind::kStrings)
      return AttrValue(std::vector<std::string>{val.get<std::string>()});
    const std::optional<DType> dtype = kind == AttrKind::kInt ? ElementTypeOf(val) : std::nullopt;
    if (dtype) return AttrValue(static_cast<int64_t>(*dtype));
    if (kind != AttrKind::kString && kind != AttrKind::kUndefined) return Misfit(val, "number");
    return AttrValue(val.get<std::string>());
  }
  if (const auto* list = val.get_if<List>()) {
    const bool types =
        kind == AttrKind::kInts && !(*list)->empty() &&
        std::ranges::all_of(**list, [](const Val& v) { return ElementTypeOf(v).has_value(); });
    if (types) {
      std::vector<int64_t> numbers;
      for (const Val& item : **list) numbers.push_back(static_cast<int64_t>(*ElementTypeOf(item)));
      return AttrValue(std::move(numbers));
    }
    if (!(*list)->empty() && (*list)->front().is<std::string>()) {
      if (kind != AttrKind::kStrings && kind != AttrKind::kUndefined)
        return kind == AttrKind::kString ? Misfit(val, "text") : Misfit((*list)->front(), "number");
      std::vector<std::string> strings;
      for (const Val& item : **list) {
        if (!item.is<std::string>()) return Misfit(item, "string");
        strings.push_back(item.get<std::string>());
      }
      return AttrValue(std::move(strings));
    }
  }
  if (const auto* i = val.get_if<int64_t>(); i != nullptr && kind == AttrKind::kInt) {
    return AttrValue(*i);
  }
  const Val forced = Force(val);
  if (forced.stops()) return Status(StatusCode::kInvalidRules, Why(forced));
  if (!forced.is_number()) return Misfit(forced, "known");
  return NumberAttribute(forced, forced.number(), kind);
}

// What `op` lacks is left out if it has its default at the source; a default of the source that `op`
// does not share is written.
std::string Interpreter::PassOn(const AttrRest& rest, const OpName& op, const Signature* signature,
                                Attributes& attributes) {
  const auto mentioned = [&](std::string_view name) {
    return std::ranges::find(*rest.mentioned, name) != rest.mentioned->end();
  };
  const Attributes& own = graph_.attributes(rest.node);
  for (const Attribute& a : own) {
    if (mentioned(a.name)) continue;
    if (std::holds_alternative<std::vector<BodyId>>(a.value))
      return "an attribute that is a list of graphs cannot be passed on";
    if (signature == nullptr || signature->FindAttribute(a.name) != nullptr) {
      attributes.Set(a.name, a.value);
    } else if (!IsDefault(rest.node, a)) {
      return fmt::format("{} has no attribute `{}`", op.text(), a.name);
    }
  }
  const Signature* source = NodeSignature(rest.node);
  if (source == nullptr || signature == nullptr) return "";
  for (const FormalAttribute& formal : source->attributes) {
    const bool literal = !std::holds_alternative<std::monostate>(formal.default_value);
    if (!literal || mentioned(formal.name) || own.Find(formal.name) != nullptr) continue;
    const FormalAttribute* other = signature->FindAttribute(formal.name);
    if (other != nullptr && !qrewrite::Equal(other->default_value, formal.default_value)) {
      attributes.Set(formal.name, formal.default_value);
    }
  }
  return "";
}

}  // namespace qrewrite
