// Parameters, sets and signatures.
#include <algorithm>
#include <climits>
#include <unordered_set>

#include <fmt/format.h>

#include "engine/expr/names.h"
#include "engine/ops/dtypes.h"
#include "engine/rule/codes.h"
#include "engine/rule/literal.h"
#include "engine/rule/reader.h"

namespace qrewrite {
namespace {

struct TypeName {
  std::string_view name;
  ParamType type;
};
constexpr TypeName kParamTypes[] = {
    {"any", ParamType::kAny},       {"bool", ParamType::kBool},       {"int", ParamType::kInt},
    {"float", ParamType::kFloat},   {"string", ParamType::kString},   {"path", ParamType::kPath},
    {"regex", ParamType::kRegex},   {"bytes", ParamType::kBytes},     {"ints", ParamType::kInts},
    {"floats", ParamType::kFloats}, {"strings", ParamType::kStrings},
};

struct KindName {
  std::string_view name;
  AttrKind kind;
};
constexpr KindName kAttrKinds[] = {
    {"int", AttrKind::kInt},         {"float", AttrKind::kFloat}, {"string", AttrKind::kString},
    {"tensor", AttrKind::kTensor},   {"ints", AttrKind::kInts},   {"floats", AttrKind::kFloats},
    {"strings", AttrKind::kStrings}, {"graph", AttrKind::kGraph}, {"graphs", AttrKind::kGraphs},
    {"tensors", AttrKind::kTensors},
};

template <class Table>
std::vector<std::string> NamesOf(const Table& table) {
  std::vector<std::string> names;
  for (const auto& row : table) names.emplace_back(row.name);
  return names;
}

}  // namespace

bool AstReader::ReadParamType(const DocNode* node, ParamType& type) {
  if (node == nullptr) return false;
  for (const TypeName& row : kParamTypes) {
    if (row.name != node->text.text) continue;
    type = row.type;
    return true;
  }
  const auto names = NamesOf(kParamTypes);
  std::string hint = DidYouMean(node->text.text, names);
  if (node->text.text == "integer") hint = "did you mean `int`?";
  if (node->text.text == "str" || node->text.text == "text") hint = "did you mean `string`?";
  if (node->text.text == "number" || node->text.text == "double") hint = "did you mean `float`?";
  if (node->text.text == "boolean") hint = "did you mean `bool`?";
  if (node->text.text == "dtype") hint = "a text names an element type: `string`";
  return BadValue(*node, fmt::format("{} is no type of a parameter", Describe(*node)),
                  hint.empty() ? fmt::format("{}", fmt::join(names, ", ")) : hint);
}

std::optional<Param> AstReader::ReadParam(const DocEntry& entry) {
  Param param{.name = Identifier(entry.key, "a parameter"), .place = entry.key.place};
  const Mapping map(entry.value, FieldKind::kParam, fmt::format("parameter `{}`", entry.name()),
                    sink_);
  bool typed = ReadParamType(map.Get("type"), param.type) && param.type != ParamType::kAny;
  const auto read = [&](const DocNode& node) {
    Literal value = Value(node);
    if (const auto* text = std::get_if<std::string>(&value)) {
      const auto size = ParseSize(*text);
      if (size && (!typed || param.type == ParamType::kBytes)) {
        param.type = ParamType::kBytes;
        typed = true;
        return Literal(*size);
      }
    }
    const bool texts = !typed || param.type == ParamType::kStrings;
    if (texts && value == Literal(std::vector<int64_t>()))
      return Literal(std::vector<std::string>());
    return value;
  };
  const DocNode* default_node = map.Get("default");
  if (default_node) {
    param.default_value = read(*default_node);
    param.default_place = default_node->place;
  }
  const bool has_default = !std::holds_alternative<std::monostate>(param.default_value);
  if (!typed && has_default) param.type = TypeOf(param.default_value);
  if (has_default && !FitsType(param.type, param.default_value)) {
    const Scalar scalar = default_node->is_scalar() ? ResolveScalar(*default_node) : Scalar{};
    const bool number = param.type == ParamType::kInt || param.type == ParamType::kFloat;
    BadValue(*default_node,
             fmt::format("the default of parameter `{}` is not of its type", param.name),
             param.type == ParamType::kBytes              ? "as 64MiB, 12MB or 1kB"
             : param.type == ParamType::kInts             ? "as [1, 2]"
             : param.type == ParamType::kFloats           ? "as [0.5, 2]"
             : param.type == ParamType::kStrings          ? "as [a, b]"
             : scalar.kind == Scalar::Kind::kFloat        ? "a fraction is of `type: float`"
             : number && !default_node->text.text.empty() ? "a number stands without quotes"
                                                          : "");
  }
  const DocNode* one_of = map.Get("one_of");
  if (one_of != nullptr) {
    for (const DocNode& item : one_of->items) {
      param.one_of.push_back(read(item));
      if (!typed && !has_default) param.type = TypeOf(param.one_of.front());
      if (FitsChoices(param.type, param.one_of.back())) continue;
      BadValue(item,
               fmt::format("{} is not of the type of parameter `{}`", Describe(item), param.name));
    }
  }
  if (has_default && !IsAllowed(param, param.default_value)) {
    BadValue(*default_node,
             fmt::format("the default of parameter `{}` is none of `one_of`", param.name),
             DidYouMean(default_node->text.text, Names(one_of)));
  }
  param.doc = Text(map.Get("doc"));
  if (param.name.empty()) return std::nullopt;
  return param;
}

RawSet AstReader::ReadSet(const DocEntry& entry) {
  RawSet set{.name = Identifier(entry.key, "a set"), .place = entry.key.place};
  const auto add = [&](const DocNode& name, const DocNode* data) {
    RawMember raw{.member = {.place = name.place}};
    if (name.text.text.starts_with('@')) {
      raw.nested = name.text.text.substr(1);
    } else {
      raw.member.op = Operator(name);
    }
    if (data != nullptr) {
      for (const DocEntry& value : data->entries) {
        const std::string key = Identifier(value.key, "data of a set");
        if (!key.empty()) raw.member.data[key] = Value(value.value);
      }
    }
    set.members.push_back(std::move(raw));
  };
  const DocNode& value = entry.value;
  const bool fits = value.is_map() || value.is_list();
  if (!fits) {
    sink_
        .Error(
            value.place, code::kWrongKind,
            fmt::format("set `{}` is a list of operators, or a mapping from operator to plain data",
                        entry.name()))
        .hint =
        IsNull(value) ? "" : fmt::format("a list of one: [{}]", Printable(value.text.text, 40));
  }
  for (const DocNode& item : value.items) {
    if (item.is_scalar())
      add(item, nullptr);
    else
      sink_.Error(item.place, code::kWrongKind, "a member of a set is the name of an operator");
  }
  for (const DocEntry& item : value.entries) {
    if (item.value.is_map() || IsNull(item.value)) {
      add(item.key, item.value.is_map() ? &item.value : nullptr);
    } else {
      sink_.Error(item.value.place, code::kWrongKind,
                  fmt::format("the data of `{}` is a mapping, as {{axis: 0}}", item.name()));
    }
  }
  return set;
}

FormalValue AstReader::ReadFormal(const DocNode& node) {
  FormalValue formal{.name = node.text.text};
  if (formal.name.ends_with("...")) {
    formal.name.resize(formal.name.size() - 3);
    formal.arity = Arity::kVariadic;
    formal.homogeneous = false;
  } else if (formal.name.ends_with('?')) {
    formal.name.pop_back();
    formal.arity = Arity::kOptional;
  }
  if (!IsIdentifier(formal.name)) {
    sink_
        .Error(node.place, code::kBadName,
               fmt::format("{} is no name of an input or output", Describe(node)))
        .hint = "a name; `x?` may be absent, `xs...` are all further ones";
  }
  return formal;
}

AttrKind AstReader::ReadAttrKind(const DocNode& node, bool& required) {
  std::string text = node.text.text;
  required = !text.ends_with('?');
  if (!required) text.pop_back();
  for (const KindName& row : kAttrKinds) {
    if (row.name == text) return row.kind;
  }
  std::string hint = DidYouMean(text, NamesOf(kAttrKinds));
  if (text == "integer" || text == "bool") hint = "did you mean `int`?";
  if (text == "str" || text == "text") hint = "did you mean `string`?";
  if (text == "double" || text == "number") hint = "did you mean `float`?";
  if (text == "list") hint = "ints, floats or strings";
  if (hint.empty()) hint = "a text as default is written {default: text}";
  BadValue(node, fmt::format("{} is no type of an attribute", Describe(node)), hint);
  return AttrKind::kUndefined;
}

AttrValue AstReader::ReadAttrDefault(const DocNode& node) {
  const Literal value = Value(node);
  if (const auto* b = std::get_if<bool>(&value)) return int64_t{*b};
  if (const auto* i = std::get_if<int64_t>(&value)) return *i;
  if (const auto* d = std::get_if<double>(&value)) return static_cast<float>(*d);
  if (const auto* s = std::get_if<std::string>(&value)) return *s;
  if (const auto* v = std::get_if<std::vector<int64_t>>(&value)) return *v;
  if (const auto* v = std::get_if<std::vector<double>>(&value))
    return std::vector<float>(v->begin(), v->end());
  if (const auto* v = std::get_if<std::vector<std::string>>(&value)) return *v;
  return {};
}

// The text of an expression in a signature; its tree is kept beside it.
std::string AstReader::Fact(const DocNode* node, RawFact::Of of, RawSignature& raw) {
  if (node == nullptr) return "";
  if (ExprPtr tree = Expression(*node)) raw.facts.push_back({of, std::move(tree)});
  Snippet lines;
  return JoinLines(*node, lines).text;
}

FormalAttribute AstReader::ReadAttribute(const DocEntry& entry, const std::string& owner,
                                         RawSignature& raw) {
  FormalAttribute attribute{.name = entry.name()};
  if (!IsIdentifier(attribute.name)) {
    sink_.Error(entry.key.place, code::kBadName,
                fmt::format("`{}` is no name of an attribute", Printable(attribute.name, 60)));
  }
  const DocNode& value = entry.value;
  const auto with_default = [&](const DocNode& node) {
    attribute.default_value = ReadAttrDefault(node);
    attribute.required = false;
    if (attribute.kind == AttrKind::kFloat) {
      // `1` is a float where the type says so.
      if (const auto* i = std::get_if<int64_t>(&attribute.default_value)) {
        attribute.default_value = static_cast<float>(*i);
      }
    }
    const AttrKind kind = KindOf(attribute.default_value);
    if (attribute.kind == AttrKind::kUndefined) attribute.kind = kind;
    if (attribute.kind != kind) {
      BadValue(node, fmt::format("the default of `{}` is not of its type", attribute.name));
    }
  };
  if (value.is_map()) {
    const Mapping map(value, FieldKind::kAttribute,
                      fmt::format("attribute `{}` of {}", attribute.name, owner), sink_);
    if (const DocNode* type = map.Get("type"))
      attribute.kind = ReadAttrKind(*type, attribute.required);
    if (const DocNode* node = map.Get("default")) with_default(*node);
    if (const DocNode* node = map.Get("computed")) {
      attribute.computed_default = Fact(node, RawFact::Of::kDefault, raw);
      attribute.required = false;
    }
    if (const DocNode* node = map.Get("one_of")) ReadTexts(*node, map.Get("default"), attribute);
  } else if (IsNull(value)) {
    BadValue(entry.key, fmt::format("attribute `{}` has neither type nor default", attribute.name));
  } else if (value.is_scalar() && ResolveScalar(value).kind == Scalar::Kind::kString) {
    attribute.kind = ReadAttrKind(value, attribute.required);
  } else {
    with_default(value);
  }
  return attribute;
}

void AstReader::ReadTexts(const DocNode& node, const DocNode* default_node,
                          FormalAttribute& attribute) {
  if (attribute.kind != AttrKind::kString) {
    BadValue(node, fmt::format("attribute `{}` is no text, which `one_of` is for", attribute.name));
    return;
  }
  for (const DocNode& item : node.items) {
    const Literal value = Value(item);
    if (const auto* text = std::get_if<std::string>(&value)) {
      attribute.texts.push_back(*text);
    } else {
      BadValue(item,
               fmt::format("{} is no text, as attribute `{}` is", Describe(item), attribute.name));
    }
  }
  const auto* const text = std::get_if<std::string>(&attribute.default_value);
  if (default_node == nullptr || text == nullptr || attribute.texts.empty() ||
      std::ranges::find(attribute.texts, *text) != attribute.texts.end())
    return;
  BadValue(*default_node,
           fmt::format("the default of attribute `{}` is none of `one_of`", attribute.name),
           DidYouMean(*text, attribute.texts));
}

void AstReader::ReadOutputs(const DocNode& node, const std::string& owner, RawSignature& raw) {
  Signature& signature = raw.signature;
  for (const DocNode& item : node.items) signature.outputs.push_back(ReadFormal(item));
  for (const DocEntry& entry : node.entries) {
    FormalValue formal = ReadFormal(entry.key);
    if (!IsNull(entry.value)) {
      const Mapping map(entry.value, FieldKind::kOutput,
                        fmt::format("output `{}` of {}", formal.name, owner), sink_);
      formal.shape_expr = Fact(map.Get("shape"), RawFact::Of::kShape, raw);
      formal.dtype_expr = Fact(map.Get("dtype"), RawFact::Of::kDType, raw);
    }
    signature.outputs.push_back(std::move(formal));
  }
}

std::optional<RawSignature> AstReader::ReadSignature(const DocEntry& entry) {
  const std::string owner = fmt::format("signature `{}`", Printable(entry.name(), 60));
  const OpPattern op = Operator(entry.key);
  const Mapping map(entry.value, FieldKind::kSignature, owner, sink_);
  if (op.wildcard) {
    BadValue(entry.key, "a signature is that of one operator, without `*`");
    return std::nullopt;
  }
  RawSignature raw{.signature = {.op = op.op, .from_rule_file = true}, .place = entry.key.place};
  Signature& signature = raw.signature;
  if (const auto version = Integer(map.Get("version"), 1, 1000)) {
    signature.since = static_cast<int>(*version);
  }
  if (const DocNode* inputs = map.Get("inputs")) {
    for (const DocNode& item : inputs->items) signature.inputs.push_back(ReadFormal(item));
  }
  if (const DocNode* outputs = map.Get("outputs")) {
    ReadOutputs(*outputs, owner, raw);
    if (signature.outputs.empty()) BadValue(*outputs, fmt::format("{} has no outputs", owner));
  }
  if (const DocNode* attributes = map.Get("attributes")) {
    for (const DocEntry& item : attributes->entries) {
      signature.attributes.push_back(ReadAttribute(item, owner, raw));
      signature.has_subgraphs |= signature.attributes.back().kind == AttrKind::kGraph;
    }
  }
  std::sort(signature.attributes.begin(), signature.attributes.end(),
            [](const FormalAttribute& a, const FormalAttribute& b) { return a.name < b.name; });
  if (const DocNode* node = map.Get("computes"); node != nullptr && tests_)
    raw.computes = Body(*node);
  raw.foreign = Boolean(map.Get("foreign"), false);
  raw.older = Boolean(map.Get("older"), false);
  signature.commutative = Boolean(map.Get("commutative"), false);
  if (signature.commutative && signature.inputs.size() < 2) {
    BadValue(*map.Get("commutative"), fmt::format("{} has no two inputs to swap", owner));
  }
  const auto count = [&](const std::vector<FormalValue>& formals, const char* key, int& min,
                         int& max) {
    const DocNode* node = map.Get(key);
    std::unordered_set<std::string_view> names;
    const auto place = [&](size_t i) {
      return node->is_map() ? node->entries[i].key.place : node->items[i].place;
    };
    for (size_t i = 0; i < formals.size(); ++i) {
      if (formals[i].arity == Arity::kRequired) min = static_cast<int>(i) + 1;
      max = formals[i].arity == Arity::kVariadic ? INT_MAX : static_cast<int>(i) + 1;
      if (formals[i].arity == Arity::kVariadic && i + 1 < formals.size()) {
        sink_.Error(place(i), code::kBadValue,
                    fmt::format("`{}...` of {} must be the last", formals[i].name, owner));
      }
      if (!names.insert(formals[i].name).second) {
        sink_.Error(place(i), code::kDuplicateKey,
                    fmt::format("{} has `{}` twice", owner, formals[i].name));
      }
    }
  };
  count(signature.inputs, "inputs", signature.min_inputs, signature.max_inputs);
  count(signature.outputs, "outputs", signature.min_outputs, signature.max_outputs);
  ResolveDTypes(signature);
  return raw;
}

}  // namespace qrewrite
