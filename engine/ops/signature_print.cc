// The printer of signatures; engine/ops/signature_text.cc documents the format and reads it.

#include <fmt/format.h>

#include "engine/ops/signature.h"
#include "engine/ops/signature_words.h"

namespace qrewrite {
namespace {

std::string Quoted(const std::string& text) {
  std::string quoted = "\"";
  for (const char c : text) {
    switch (c) {
      case '"': quoted += "\\\""; break;
      case '\\': quoted += "\\\\"; break;
      case '\n': quoted += "\\n"; break;
      case '\t': quoted += "\\t"; break;
      default: quoted += c;
    }
  }
  return quoted + '"';
}

std::string Literal(float value) { return fmt::format("{}", value); }
std::string Literal(int64_t value) { return fmt::format("{}", value); }
std::string Literal(const std::string& value) { return Quoted(value); }

template <class T>
requires requires(const T& value) { Literal(value); }
std::string Literal(const std::vector<T>& values) {
  std::string text = "[";
  for (const T& value : values) {
    if (text.size() > 1) text += ", ";
    text += Literal(value);
  }
  return text + "]";
}

// "" if there is no default, or one that the format cannot write.
std::string DefaultText(const FormalAttribute& attribute) {
  if (!attribute.computed_default.empty()) return "`" + attribute.computed_default + "`";
  return std::visit(
      [](const auto& value) -> std::string {
        if constexpr (requires { Literal(value); }) {
          return Literal(value);
        } else {
          return "";
        }
      },
      attribute.default_value);
}

std::string AttributeText(const FormalAttribute& attribute) {
  std::string text =
      attribute.name + ":" + std::string(kAttrKindNames[static_cast<size_t>(attribute.kind)]);
  if (attribute.required) return text;
  const std::string value = DefaultText(attribute);
  return value.empty() ? text + "?" : text + "=" + value;
}

std::string FormalText(const Signature& signature, const FormalValue& formal, int min_variadic) {
  std::string text = formal.name;
  if (formal.arity == Arity::kOptional) text += "?";
  if (formal.arity == Arity::kVariadic) {
    text += min_variadic == 1 ? "..." : fmt::format("...{}", min_variadic);
  }
  const bool typed = formal.type_var >= 0;
  if (typed || !formal.homogeneous) text += ":";
  if (!formal.homogeneous) text += typed ? "mixed " : "mixed";
  if (typed) text += signature.types[formal.type_var].name;
  if (!formal.dtype_expr.empty()) text += " dtype=`" + formal.dtype_expr + "`";
  if (!formal.shape_expr.empty()) text += " shape=`" + formal.shape_expr + "`";
  return text;
}

std::string FormalsText(const Signature& signature, const std::vector<FormalValue>& formals,
                        int minimum) {
  std::string text = "(";
  for (const FormalValue& formal : formals) {
    if (text.size() > 1) text += ", ";
    text += FormalText(signature, formal, minimum - static_cast<int>(formals.size()) + 1);
  }
  return text + ")";
}

std::string TypeText(const TypeVar& var) {
  std::string text = var.name + "=";
  const auto add = [&](std::string_view word) {
    if (text.back() != '=') text += ",";
    text += word;
  };
  for (int i = 1; i < kNumDTypes; ++i) {
    const auto dtype = static_cast<DType>(i);
    if (var.Allows(dtype)) add(Info(dtype).text_name);
  }
  for (size_t i = 0; i < kContainerNames.size(); ++i) {
    if ((var.containers >> i) & 1) add(kContainerNames[i]);
  }
  return text;
}

template <class Range, class Text>
std::string Joined(const Range& range, Text text, std::string_view open, std::string_view between,
                   std::string_view close) {
  std::string joined;
  for (const auto& item : range) {
    const std::string one = text(item);
    if (one.empty()) continue;
    joined += joined.empty() ? open : between;
    joined += one;
  }
  if (!joined.empty()) joined += close;
  return joined;
}

}  // namespace

std::string PrintSignature(const Signature& signature) {
  std::string text = fmt::format("{} {}", signature.op.text(), signature.since);
  for (const SignatureFlag& flag : kSignatureFlags) {
    if (signature.*flag.field == flag.value) text += fmt::format(" {}", flag.name);
  }
  text += " " + FormalsText(signature, signature.inputs, signature.min_inputs);
  text += " -> " + FormalsText(signature, signature.outputs, signature.min_outputs);
  text += Joined(signature.attributes, AttributeText, " <", ", ", ">");
  const auto type = [](const TypeVar& var) { return IsFixedType(var) ? "" : TypeText(var); };
  return text + Joined(signature.types, type, " {", "; ", "}");
}

}  // namespace qrewrite
