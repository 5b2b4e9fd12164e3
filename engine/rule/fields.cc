#include "engine/rule/fields.h"

#include <algorithm>

#include <fmt/format.h>

#include "engine/rule/codes.h"
#include "engine/rule/hints.h"

namespace qrewrite {
namespace {

constexpr uint8_t kScalar = 1, kList = 2, kMap = 4;

constexpr ShapeInfo kShapes[] = {
#define QR_SHAPE(shape, form, words, schema) {form, words, schema},
#include "engine/rule/fields.inc"
};

constexpr KindInfo kKinds[] = {
#define QR_KIND(kind, words, doc) {FieldKind::kind, words, doc},
#include "engine/rule/fields.inc"
};

constexpr Field kFields[] = {
#define QR_FIELD(kind, key, shape, required, doc) \
  {FieldKind::kind, key, Shape::shape, required, doc},
#include "engine/rule/fields.inc"
};

uint8_t FormOf(const DocNode& node) {
  return node.is_scalar() ? kScalar : node.is_list() ? kList : kMap;
}

bool HoldsScalarsOnly(Shape shape) {
  switch (shape) {
    case Shape::kText:
    case Shape::kSaid:
    case Shape::kBody:
    case Shape::kExpr:
    case Shape::kCaseResult:
    case Shape::kConditions:
    case Shape::kLiteral:
    case Shape::kLiterals:
    case Shape::kNames:
    case Shape::kNamesOrAll:
    case Shape::kExpect: return true;
    default: return false;
  }
}

// How a value of another form would be written.
std::string FormHint(const Field& field, const ShapeInfo& shape, const DocNode& value) {
  if (IsNull(value)) return "write its value behind the colon, or leave the key out";
  const std::string text = value.is_scalar() ? Printable(value.text.text, 40) : "";
  if (shape.form == kList && value.is_scalar() && HoldsScalarsOnly(field.shape)) {
    return fmt::format("a list of one: [{}]", text);
  }
  if (value.is_list() && (field.shape == Shape::kExpr || field.shape == Shape::kCaseResult)) {
    return "a list of the language is quoted: \"[a, b]\"";
  }
  if (value.is_map() && field.shape == Shape::kConditions) return "quote a text with `: ` in it";
  if (shape.form == kList && value.is_map()) return "each item of a list begins with `- `";
  if (field.shape == Shape::kAttributes && value.is_list()) return "as {axis: int, mode: string}";
  if (field.shape == Shape::kBody && value.is_map()) return "a statement is a text: `y = Relu(x)`";
  if (field.shape == Shape::kRetypes) return "as {x: INT8}";
  if (field.shape == Shape::kRecords) return "as {table: {of: x, scale: s}}";
  if (field.shape == Shape::kOutputs) return fmt::format("a list of one: [{}]", text);
  if (field.shape == Shape::kParams && value.is_list()) return "as {name: {default: 4}}";
  if (field.shape == Shape::kSets && value.is_list()) return "as {name: [Relu, Neg]}";
  if (field.shape == Shape::kDefinitions && value.is_scalar()) {
    return "a head ends with a colon, `f(v):`, and its cases stand below it";
  }
  if (field.shape == Shape::kLets) return "as {f: a * b}: a colon, no `=`";
  return "";
}

// The table row for `key`, or null with an error.
const Field* FindField(const std::vector<const Field*>& fields, const DocEntry& entry,
                       const std::string& owner, DiagnosticSink& sink) {
  for (const Field* field : fields) {
    if (field->key == entry.name()) return field;
  }
  if (Many(sink)) return nullptr;
  std::vector<std::string_view> known;
  for (const Field* field : fields) known.push_back(field->key);
  Diagnostic& d = sink.Error(entry.key.place, code::kUnknownKey,
                             fmt::format("unknown key `{}`{}", Printable(entry.name(), 60),
                                         owner.empty() ? "" : " in " + owner));
  d.hint = KeyHint(entry.name(), known, IsNull(entry.value));
  return nullptr;
}

}  // namespace

const ShapeInfo& Info(Shape shape) { return kShapes[static_cast<size_t>(shape)]; }
std::span<const KindInfo> FieldKinds() { return kKinds; }

const std::vector<const Field*>& FieldsOf(FieldKind kind) {
  static const auto by_kind = [] {
    std::vector<std::vector<const Field*>> fields(std::size(kKinds));
    for (const Field& field : kFields) fields[static_cast<size_t>(field.kind)].push_back(&field);
    return fields;
  }();
  return by_kind[static_cast<size_t>(kind)];
}

std::string Describe(const DocNode& node) {
  if (node.is_list()) return "a list";
  if (node.is_map()) return "a mapping";
  if (IsNull(node)) return "nothing";
  return fmt::format("`{}`", Printable(node.text.text, 40));
}

Mapping::Mapping(const DocNode& node, FieldKind kind, std::string owner, DiagnosticSink& sink)
    : owner_(std::move(owner)) {
  const KindInfo& info = kKinds[static_cast<size_t>(kind)];
  if (!node.is_map()) {
    sink.Error(node.place, code::kWrongKind,
               fmt::format("{} is a mapping, here is {}", info.doc, Describe(node)))
        .hint = kind == FieldKind::kFile
                    ? "it begins with `qrewrite: 1` and `name: ...`; the rules stand under `rules:`"
                : kind == FieldKind::kParam     ? "as {default: 4, doc: what it is for}"
                : kind == FieldKind::kOutput    ? "as {shape: shape(x), dtype: dtype(x)}"
                : kind == FieldKind::kPhase     ? "as {name: a, rules: all}"
                : kind == FieldKind::kTest      ? "as {name: ..., given: ..., expect: ...}"
                : kind == FieldKind::kSignature ? "as {inputs: [x], outputs: [y]}"
                : kind == FieldKind::kRule      ? "as {name: ..., match: ..., replace: ...}"
                                                : "";
    return;
  }
  const std::vector<const Field*>& fields = FieldsOf(kind);
  entries_.reserve(node.entries.size());
  for (const DocEntry& entry : node.entries) {
    const Field* field = FindField(fields, entry, owner_, sink);
    if (field != nullptr && ShapeFits(entry, *field, sink)) entries_.push_back(&entry);
  }
  for (const Field* field : fields) {
    if (!field->required || node.Find(field->key) != nullptr) continue;
    // What stands there under another name was told.
    const auto meant = [&](const DocEntry& entry) {
      return std::ranges::none_of(fields, [&](const Field* f) { return f->key == entry.name(); }) &&
             MeansKey(entry.name(), field->key);
    };
    if (std::ranges::any_of(node.entries, meant)) continue;
    sink.Error(node.place, code::kMissingKey,
               fmt::format("{} needs the key `{}`", owner_.empty() ? info.doc : owner_, field->key))
        .hint = std::string(field->doc);
  }
}

const DocEntry* Mapping::Entry(std::string_view key) const {
  const auto found = std::find_if(entries_.begin(), entries_.end(),
                                  [&](const DocEntry* entry) { return entry->name() == key; });
  return found == entries_.end() ? nullptr : *found;
}

bool Mapping::ShapeFits(const DocEntry& entry, const Field& field, DiagnosticSink& sink) const {
  const ShapeInfo& shape = Info(field.shape);
  const DocNode& value = entry.value;
  const auto complain = [&](const DocNode& culprit) {
    const bool nothing = IsNull(culprit);
    sink.Error(nothing ? entry.key.place : culprit.place, code::kWrongKind,
               fmt::format("`{}` is {}, here is {}", field.key, shape.words, Describe(culprit)))
        .hint = FormHint(field, shape, culprit);
    return false;
  };
  if ((FormOf(value) & shape.form) == 0) return complain(value);
  // An empty list of rules, sets, ... is fine, an empty text is a slip of the pen.
  if (IsNull(value) && field.shape != Shape::kLiteral) return complain(value);
  if (value.is_list() && HoldsScalarsOnly(field.shape)) {
    for (const DocNode& item : value.items) {
      if (!item.is_scalar()) return complain(item);
    }
  }
  return true;
}

}  // namespace qrewrite
