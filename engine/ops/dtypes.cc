#include "engine/ops/dtypes.h"

#include <algorithm>

namespace qrewrite {
namespace {

// The formal that an actual input or output belongs to; null: one too many.
const FormalValue* FormalAt(const std::vector<FormalValue>& formals, size_t index) {
  if (index < formals.size()) return &formals[index];
  if (formals.empty() || formals.back().arity != Arity::kVariadic) return nullptr;
  return &formals.back();
}

bool IsName(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
  });
}

std::optional<DTypeTerm> ParseTerm(std::string_view text, const Signature& signature) {
  using Kind = DTypeTerm::Kind;
  DTypeTerm term;
  const bool function = text.starts_with("dtype(") && text.ends_with(")");
  if (function) text = text.substr(6, text.size() - 7);
  const bool attribute = text.starts_with("attr ");
  if (attribute) text.remove_prefix(5);
  if (!IsName(text)) return std::nullopt;
  if (attribute) {
    term.kind = function ? Kind::kOfAttribute : Kind::kNamedByAttribute;
    term.attribute = text;
  } else if (function) {
    term.kind = Kind::kInput;
    term.input = signature.InputIndex(text);
  } else {
    const std::optional<DType> dtype = DTypeFromName(text);
    if (!dtype) return std::nullopt;
    term.dtype = *dtype;
  }
  return term;
}

class Inferrer {
 public:
  Inferrer(const Graph& graph, NodeId node, const Signature& signature,
           FunctionRef<DType(ValueId)> dtype_of_input)
      : graph_(graph), node_(node), signature_(signature), dtype_of_input_(dtype_of_input) {}

  DType Output(size_t index) const {
    const FormalValue* formal = FormalAt(signature_.outputs, index);
    if (!formal) return DType::kUndefined;
    const TypeVar* var = formal->type_var < 0 ? nullptr : &signature_.types[formal->type_var];
    DType dtype = DType::kUndefined;
    if (!formal->dtype_expr.empty()) {
      dtype = FirstOf(formal->dtype_terms);
    } else if (var) {
      dtype = OfVariable(*formal, *var);
    }
    return var && !var->Allows(dtype) ? DType::kUndefined : dtype;
  }

 private:
  // Absent is nullopt, unknown is kUndefined.
  using Answer = std::optional<DType>;

  // What the inputs of the variable say; nothing if they contradict each other.
  DType OfVariable(const FormalValue& formal, const TypeVar& var) const {
    DType found = DType::kUndefined;
    const size_t inputs = formal.homogeneous ? graph_.num_inputs(node_) : 0;
    for (size_t i = 0; i < inputs; ++i) {
      const FormalValue* input = FormalAt(signature_.inputs, i);
      const ValueId value = graph_.input(node_, i);
      const bool shared = input && input->homogeneous && input->type_var == formal.type_var;
      if (!shared || !value.valid()) continue;
      const DType dtype = dtype_of_input_(value);
      if (dtype == DType::kUndefined) continue;
      if (found != DType::kUndefined && dtype != found) return DType::kUndefined;
      found = dtype;
    }
    if (found != DType::kUndefined) return found;
    return var.only_tensors ? OnlyType(var) : DType::kUndefined;
  }

  static DType OnlyType(const TypeVar& var) {
    for (int i = 1; i < kNumDTypes; ++i) {
      if (var.dtypes == uint64_t{1} << i) return static_cast<DType>(i);
    }
    return DType::kUndefined;
  }

  DType FirstOf(const std::vector<DTypeTerm>& terms) const {
    for (const DTypeTerm& term : terms) {
      if (const Answer answer = Term(term)) return *answer;
    }
    return DType::kUndefined;
  }

  Answer Term(const DTypeTerm& term) const {
    switch (term.kind) {
      case DTypeTerm::Kind::kType: return term.dtype;
      case DTypeTerm::Kind::kInput: return OfInput(term.input);
      case DTypeTerm::Kind::kNamedByAttribute: return NamedByAttribute(term.attribute);
      case DTypeTerm::Kind::kOfAttribute: return OfAttribute(term.attribute);
    }
    return DType::kUndefined;
  }

  Answer OfInput(int index) const {
    if (index < 0) return DType::kUndefined;
    if (static_cast<size_t>(index) >= graph_.num_inputs(node_)) return std::nullopt;
    const ValueId value = graph_.input(node_, static_cast<size_t>(index));
    if (!value.valid()) return std::nullopt;
    return dtype_of_input_(value);
  }

  Answer NamedByAttribute(std::string_view name) const {
    const FormalAttribute* formal = signature_.FindAttribute(name);
    const AttrValue* value = graph_.attributes(node_).Find(name);
    if (!value && formal) value = &formal->default_value;
    if (!value || std::holds_alternative<std::monostate>(*value)) return std::nullopt;
    if (const auto* number = std::get_if<int64_t>(value)) {
      if (*number == 0) return std::nullopt;
      const bool known = *number > 0 && *number < kNumDTypes;
      return known ? static_cast<DType>(*number) : DType::kUndefined;
    }
    if (const auto* text = std::get_if<std::string>(value)) {
      return DTypeFromName(*text).value_or(DType::kUndefined);
    }
    return DType::kUndefined;
  }

  Answer OfAttribute(std::string_view name) const {
    const AttrValue* value = graph_.attributes(node_).Find(name);
    if (!value || std::holds_alternative<std::monostate>(*value)) return std::nullopt;
    if (const auto* tensor = std::get_if<Tensor>(value)) {
      return tensor->valid() ? tensor->dtype() : DType::kUndefined;
    }
    if (std::holds_alternative<AttrReference>(*value)) return DType::kUndefined;
    switch (KindOf(*value)) {
      case AttrKind::kFloat:
      case AttrKind::kFloats: return DType::kFloat;
      case AttrKind::kInt:
      case AttrKind::kInts: return DType::kInt64;
      case AttrKind::kString:
      case AttrKind::kStrings: return DType::kString;
      default: return DType::kUndefined;
    }
  }

  const Graph& graph_;
  NodeId node_;
  const Signature& signature_;
  FunctionRef<DType(ValueId)> dtype_of_input_;
};

}  // namespace

std::optional<std::vector<DTypeTerm>> ParseDTypeExpr(std::string_view text,
                                                     const Signature& signature) {
  constexpr std::string_view kElse = " ?? ";
  std::vector<DTypeTerm> terms;
  for (size_t begin = 0; begin <= text.size();) {
    const size_t end = std::min(text.find(kElse, begin), text.size());
    std::optional<DTypeTerm> term = ParseTerm(text.substr(begin, end - begin), signature);
    if (!term) return std::nullopt;
    terms.push_back(*std::move(term));
    begin = end + (end == text.size() ? 1 : kElse.size());
  }
  return terms;
}

void ResolveDTypes(Signature& signature) {
  for (FormalValue& output : signature.outputs) {
    if (output.dtype_expr.empty()) continue;
    auto terms = ParseDTypeExpr(output.dtype_expr, signature);
    output.dtype_terms = terms ? *std::move(terms) : std::vector<DTypeTerm>();
  }
}

std::vector<DType> InferOutputDTypes(const Graph& graph, NodeId node, const Signature& signature,
                                     FunctionRef<DType(ValueId)> dtype_of_input) {
  const Inferrer inferrer(graph, node, signature, dtype_of_input);
  std::vector<DType> dtypes(graph.num_outputs(node));
  for (size_t i = 0; i < dtypes.size(); ++i) dtypes[i] = inferrer.Output(i);
  return dtypes;
}

}  // namespace qrewrite
