#include "engine/lsp/describe.h"

#include <algorithm>
#include <filesystem>

#include <fmt/format.h>

#include "engine/base/lines.h"
#include "engine/expr/functions.h"
#include "engine/expr/names.h"
#include "engine/onnx_io/op_doc.h"
#include "engine/ops/signature_words.h"
#include "engine/rule/literal.h"

namespace qrewrite::lsp {
namespace {

constexpr size_t kMaxDoc = 3000;    // of an operator
constexpr size_t kMaxDetail = 300;  // of one of its attributes
constexpr int kMaxExcerptLines = 12;

std::string Cut(std::string text, size_t most) {
  if (text.size() <= most) return text;
  while (most > 0 && (text[most] & 0xc0) == 0x80) --most;
  return text.substr(0, most) + " ...";
}

std::string Trimmed(const std::string& text) {
  const size_t begin = text.find_first_not_of(" \n\r\t");
  if (begin == std::string::npos) return "";
  return text.substr(begin, text.find_last_not_of(" \n\r\t") + 1 - begin);
}

std::string FormalText(const Signature& signature, const FormalValue& formal) {
  std::string text = formal.name;
  if (formal.arity == Arity::kOptional) text += "?";
  if (formal.arity == Arity::kVariadic) text += "...";
  if (formal.type_var >= 0) text += ": " + signature.types[formal.type_var].name;
  return text;
}

std::string FormalsText(const Signature& signature, const std::vector<FormalValue>& formals) {
  std::string text;
  for (const FormalValue& formal : formals) {
    text += (text.empty() ? "" : ", ") + FormalText(signature, formal);
  }
  return text;
}

std::string VersionsText(const Known& known, const Signature& signature) {
  const auto versions = known.signatures().Versions(signature.op.domain, signature.op.name);
  if (versions.size() < 2) return "";
  std::string text;
  for (const Signature& version : versions) {
    text += fmt::format("{}{}", text.empty() ? "" : ", ", version.since);
  }
  return " of " + text;
}

std::string TypesText(const Signature& signature) {
  std::string text;
  for (const TypeVar& var : signature.types) {
    std::string types;
    for (int i = 1; i < kNumDTypes; ++i) {
      const auto dtype = static_cast<DType>(i);
      if (!var.Allows(dtype)) continue;
      types += (types.empty() ? "" : ", ") + std::string(Info(dtype).text_name);
    }
    if (types != var.name && !types.empty()) text += fmt::format("\n- `{}`: {}", var.name, types);
  }
  return text;
}

std::string FactsText(const Signature& signature) {
  std::string text;
  for (const FormalValue& output : signature.outputs) {
    if (!signature.from_rule_file) break;
    if (!output.shape_expr.empty()) {
      text += fmt::format("\n- shape of `{}`: `{}`", output.name, output.shape_expr);
    }
    if (!output.dtype_expr.empty()) {
      text += fmt::format("\n- element type of `{}`: `{}`", output.name, output.dtype_expr);
    }
  }
  return text;
}

std::string AttributesText(const Signature& signature, const OperatorDoc* doc) {
  std::string text;
  for (const FormalAttribute& attribute : signature.attributes) {
    text += fmt::format("\n- `{}`: {}", attribute.name, AttributeType(attribute));
    if (doc == nullptr) continue;
    if (const auto said = doc->attributes.find(attribute.name); said != doc->attributes.end()) {
      text += ": " + Cut(InOneLine(said->second), kMaxDetail);
    }
  }
  return text;
}

std::string DefaultText(const FormalAttribute& attribute) {
  return std::visit(
      [](const auto& value) -> std::string {
        using T = std::decay_t<decltype(value)>;
        if constexpr (std::is_same_v<T, std::string>) {
          return QuoteString(value);
        } else if constexpr (std::is_same_v<T, float>) {
          return FloatText(value);
        } else if constexpr (std::is_same_v<T, int64_t>) {
          return fmt::format("{}", value);
        } else if constexpr (std::is_same_v<T, std::vector<int64_t>> ||
                             std::is_same_v<T, std::vector<float>>) {
          return fmt::format("[{}]", fmt::join(value, ", "));
        } else {
          return "";
        }
      },
      attribute.default_value);
}

// The lines of a definition, of which the first are enough.
std::string Excerpt(const FileIndex& file, const Span& span) {
  std::string out;
  const int first = file.text->At(span.begin).line, last = file.text->At(span.end).line;
  for (int line = first; line <= last; ++line) {
    if (line - first == kMaxExcerptLines) return out + "...\n";
    out += std::string(file.text->Line(line)) + "\n";
  }
  return out;
}

std::string Fenced(const std::string& language, const std::string& text) {
  return fmt::format("```{}\n{}{}```", language, text, text.ends_with('\n') ? "" : "\n");
}

std::string Where(const FileIndex& index, const FileIndex& file, size_t offset) {
  const int line = file.text->At(offset).line + 1;
  if (&file == &index) return fmt::format("line {}", line);
  return fmt::format("{}:{}", std::filesystem::path(file.path).filename().string(), line);
}

std::string DescribeGlobal(const Known& known, const FileIndex& index, const Occurrence& name) {
  const Definition found = known.Find(name.kind, name.name);
  if (found.occurrence == nullptr) return "";
  const std::string where = Where(index, *found.file, found.occurrence->span.begin);
  const bool rule = name.kind == NameKind::kRule;
  const auto kind = rule ? Item::Kind::kRule : Item::Kind::kDefinition;
  const Item* item = found.file->ItemAt(found.occurrence->span.begin, kind);
  if (item == nullptr) return where;
  if (!rule) return Fenced("yaml", Excerpt(*found.file, item->span)) + "\n" + where;
  return fmt::format("rule `{}` ({})\n\n{}", item->name, where, item->detail);
}

std::string DescribeLocal(const Known& known, const FileIndex& index, const Occurrence& name) {
  if (name.scope == Occurrence::kNowhere) return "";
  const Scope& scope = index.scopes[name.scope];
  const auto found = scope.names.find(name.name);
  if (found == scope.names.end()) return "";
  const Occurrence& bound = index.occurrences[found->second];
  std::string text =
      fmt::format("`{}`: {} ({})", bound.name, bound.what, Where(index, index, bound.span.begin));
  if (!bound.shorthand) return text;
  // The attribute that it is bound to stands at the same place.
  for (const Occurrence& o : index.occurrences) {
    if (o.kind != NameKind::kAttribute || !(o.span == bound.span) || o.of == nullptr) continue;
    text += "\n\n" + DescribeAttribute(known, *o.of, o.name, index.OpsetAt(o.span.begin));
  }
  return text;
}

}  // namespace

std::string AttributeType(const FormalAttribute& attribute) {
  std::string text(kAttrKindNames[static_cast<size_t>(attribute.kind)]);
  if (attribute.required) return text + ", required";
  if (!attribute.computed_default.empty()) {
    return text + fmt::format(", default `{}`", attribute.computed_default);
  }
  const std::string value = DefaultText(attribute);
  return text + (value.empty() ? ", optional" : fmt::format(", default `{}`", value));
}

std::string DescribeOperator(const Known& known, const std::string& op, const OpsetRegion& region) {
  const Signature* signature = known.FindSignature(op, region);
  if (signature == nullptr) return "";
  const std::string domain = signature->op.domain.empty() ? "ai.onnx" : signature->op.domain;
  std::string text =
      Fenced("", fmt::format("{} = {}({})", FormalsText(*signature, signature->outputs),
                             signature->op.text(), FormalsText(*signature, signature->inputs)));
  text += signature->from_rule_file ? fmt::format("\n{}, by `signatures:`", domain)
                                    : fmt::format("\n{}, version {}{}", domain, signature->since,
                                                  VersionsText(known, *signature));
  if (region.max < signature->since) text += fmt::format("; opset {} has none", region.max);
  if (signature->deprecated) text += "; deprecated";
  if (signature->commutative) text += "; commutative";
  const auto doc =
      FindOperatorDoc(signature->op.domain, signature->op.name, std::max(signature->since, 1));
  const bool builtin = doc && !signature->from_rule_file;
  if (const auto attributes = AttributesText(*signature, builtin ? &*doc : nullptr);
      !attributes.empty()) {
    text += "\n\nAttributes:" + attributes;
  }
  if (const auto types = TypesText(*signature); !types.empty()) text += "\n\nTypes:" + types;
  if (const auto facts = FactsText(*signature); !facts.empty()) text += "\n\nFacts:" + facts;
  if (builtin && !doc->text.empty()) text += "\n\n---\n" + Cut(Trimmed(doc->text), kMaxDoc);
  return text;
}

std::string DescribeFunction(std::string_view name) {
  const FunctionInfo* info = FindFunction(name);
  if (info == nullptr) return "";
  return Fenced("", fmt::format("{}({})", info->name, info->params)) +
         fmt::format(
             "\n{}{}", info->doc,
             info->is_fact ? "\n\nA fact: it may be unknown, and then it is not true." : "");
}

std::string DescribeParam(const Param& param) {
  std::string text = fmt::format("parameter `{}`", param.name);
  if (param.type != ParamType::kAny) text += fmt::format(": {}", ParamTypeText(param.type));
  const bool has_default = !std::holds_alternative<std::monostate>(param.default_value);
  text += has_default ? fmt::format(", default `{}`", LiteralText(param.default_value))
                      : ", absent until it is set";
  std::string values;
  for (const Literal& value : param.one_of) {
    values += (values.empty() ? "" : ", ") + fmt::format("`{}`", LiteralText(value));
  }
  if (!values.empty()) text += "; one of " + values;
  return text + (param.doc.empty() ? "" : "\n\n" + param.doc);
}

std::string DescribeSet(const RawSet& set) {
  constexpr size_t kShown = 40;
  std::string members;
  for (size_t i = 0; i < set.members.size() && i < kShown; ++i) {
    const RawMember& member = set.members[i];
    const std::string name =
        member.nested.empty() ? member.member.op.op.text() : "@" + member.nested;
    members += (members.empty() ? "" : ", ") + fmt::format("`{}`", name);
    for (const auto& [key, value] : member.member.data) {
      members += fmt::format(" {}: {}", key, LiteralText(value));
    }
  }
  if (set.members.size() > kShown) members += fmt::format(", {} more", set.members.size() - kShown);
  return fmt::format("set `@{}`: {}", set.name, members);
}

std::string DescribeKey(FieldKind kind, std::string_view key) {
  for (const Field* field : FieldsOf(kind)) {
    if (field->key != key) continue;
    return fmt::format("`{}`: {}{}\n\n{}", field->key, Info(field->shape).words,
                       field->required ? " (required)" : "", field->doc);
  }
  return "";
}

std::string DescribeAttribute(const Known& known, const Operators& of, std::string_view name,
                              const OpsetRegion& region) {
  for (const std::string& op : known.Members(of)) {
    const Signature* signature = known.FindSignature(op, region);
    const FormalAttribute* attribute =
        signature == nullptr ? nullptr : signature->FindAttribute(name);
    if (attribute == nullptr) continue;
    std::string text = fmt::format("attribute `{}` of {}: {}", name, op, AttributeType(*attribute));
    if (!attribute->texts.empty())
      text += fmt::format("; one of '{}'", fmt::join(attribute->texts, "', '"));
    const auto doc =
        FindOperatorDoc(signature->op.domain, signature->op.name, std::max(signature->since, 1));
    if (!doc || signature->from_rule_file) return text;
    const auto said = doc->attributes.find(std::string(name));
    return said == doc->attributes.end() ? text : text + "\n\n" + InOneLine(said->second);
  }
  return "";
}

std::string DescribeInput(const Known& known, const Operators& of, std::string_view name,
                          const OpsetRegion& region) {
  for (const std::string& op : known.Members(of)) {
    const Signature* signature = known.FindSignature(op, region);
    const int index = signature == nullptr ? -1 : signature->InputIndex(name);
    if (index < 0) continue;
    std::string text = fmt::format("input {} of {}: `{}`", index, op,
                                   FormalText(*signature, signature->inputs[index]));
    const auto doc =
        FindOperatorDoc(signature->op.domain, signature->op.name, std::max(signature->since, 1));
    if (!doc || signature->from_rule_file) return text;
    const auto said = doc->inputs.find(std::string(name));
    return said == doc->inputs.end() ? text : text + "\n\n" + InOneLine(said->second);
  }
  return "";
}

std::string Describe(const Known& known, const FileIndex& index, const Occurrence& name) {
  const OpsetRegion region = index.OpsetAt(name.span.begin);
  switch (name.kind) {
    case NameKind::kKey: return DescribeKey(name.field, name.name);
    case NameKind::kFunction: return DescribeFunction(name.name);
    case NameKind::kOperator: return DescribeOperator(known, name.name, region);
    case NameKind::kAttribute:
      return name.of ? DescribeAttribute(known, *name.of, name.name, region) : "";
    case NameKind::kInput: return name.of ? DescribeInput(known, *name.of, name.name, region) : "";
    case NameKind::kParam: {
      const Param* param = known.FindParam(name.name);
      return param == nullptr ? "" : DescribeParam(*param);
    }
    case NameKind::kSet: {
      const RawSet* set = known.FindSet(name.name);
      return set == nullptr ? "" : DescribeSet(*set);
    }
    case NameKind::kRule:
    case NameKind::kDefinition: return DescribeGlobal(known, index, name);
    case NameKind::kLocal: return DescribeLocal(known, index, name);
    case NameKind::kType: return fmt::format("element type `{}`", name.name);
    case NameKind::kTable: return fmt::format("table `{}` of recorded rows", name.name);
    case NameKind::kRuleSet:
    case NameKind::kInclude: return "";
  }
  return "";
}

}  // namespace qrewrite::lsp
