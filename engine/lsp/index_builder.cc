#include "engine/lsp/index_builder.h"

#include <algorithm>
#include <filesystem>

#include <fmt/format.h>

#include "engine/api/rules_impl.h"
#include "engine/expr/names.h"
#include "engine/rule/files.h"

namespace qrewrite::lsp {
namespace {

constexpr int kTestOpset = 21;  // of a test that states none

const Field* FindField(FieldKind kind, std::string_view key) {
  for (const Field* field : FieldsOf(kind)) {
    if (field->key == key) return field;
  }
  return nullptr;
}

// What binds names is read before what uses them.
int Rank(const std::string& key) {
  if (key == "inputs" || key == "attributes" || key == "match") return 0;
  return key == "let" || key == "outputs" ? 1 : 2;
}

std::vector<const DocEntry*> InReadingOrder(const DocNode& node) {
  std::vector<const DocEntry*> entries;
  for (const DocEntry& entry : node.entries) entries.push_back(&entry);
  std::stable_sort(entries.begin(), entries.end(), [](const DocEntry* a, const DocEntry* b) {
    return Rank(a->name()) < Rank(b->name());
  });
  return entries;
}

const DocNode* Get(const DocNode& node, std::string_view key) {
  if (!node.is_map()) return nullptr;
  const DocEntry* entry = node.Find(key);
  return entry == nullptr ? nullptr : &entry->value;
}

}  // namespace

Span Extent(const DocNode& node) {
  Span span{node.place.begin, node.place.end};
  if (node.is_scalar() && !node.text.where.empty()) {
    span.end = std::max(span.end, node.text.where.back());
  }
  for (const DocNode& item : node.items) span.end = std::max(span.end, Extent(item).end);
  for (const DocEntry& entry : node.entries) {
    span.end = std::max({span.end, Extent(entry.key).end, Extent(entry.value).end});
  }
  return span;
}

void IndexBuilder::Run() {
  Mapping(index_.root, FieldKind::kFile, Occurrence::kNowhere);
  Resolve();
}

int IndexBuilder::AddItem(Item::Kind kind, const DocNode& name, const Span& span, int parent,
                          std::string detail) {
  index_.items.push_back({.kind = kind,
                          .name = name.text.text,
                          .detail = std::move(detail),
                          .span = {std::min(span.begin, name.place.begin), span.end},
                          .name_span = {name.place.begin, name.place.end},
                          .parent = parent});
  return static_cast<int>(index_.items.size()) - 1;
}

void IndexBuilder::Mapping(const DocNode& node, FieldKind kind, int scope) {
  if (!node.is_map()) return;
  for (const DocEntry* entry : InReadingOrder(node)) {
    const Field* field = FindField(kind, entry->name());
    if (field == nullptr) continue;
    if (!entry->key.text.where.empty()) {
      Occurrence* noted = Note(entry->key.text.where.front(), entry->name(), NameKind::kKey);
      if (noted != nullptr) noted->field = kind;
    }
    Value(entry->value, *field, scope);
  }
}

void IndexBuilder::Value(const DocNode& node, const Field& field, int scope) {
  switch (field.shape) {
    case Shape::kBody:
      return Body(node, scope,
                  field.kind == FieldKind::kTest ? Mode::kGraph
                  : field.key == "match"         ? Mode::kPattern
                                                 : Mode::kBuild);
    case Shape::kExpr: return Expression(node, scope);
    case Shape::kConditions: return Expressions(node, scope);
    case Shape::kSaid: return Said(node, scope);
    case Shape::kCaseResult: return CaseResult(node, scope);
    case Shape::kCases: return Cases(node, scope);
    case Shape::kLets: return Lets(node, scope);
    case Shape::kConstants: return Mapping(node, FieldKind::kConstantsConfig, scope);
    case Shape::kPhases:
      for (const DocNode& phase : node.items) {
        if (const DocNode* name = Get(phase, "name"); name != nullptr && name->is_scalar()) {
          AddItem(Item::Kind::kPhase, *name, Extent(phase), -1);
        }
        Mapping(phase, FieldKind::kPhase, scope);
      }
      return;
    case Shape::kRules:
      for (const DocNode& rule : node.items) Rule(rule);
      return;
    case Shape::kWrites:
      for (const DocNode& write : node.items) Mapping(write, FieldKind::kWrite, scope);
      return;
    case Shape::kTests: return Tests(node, -1);
    case Shape::kExpect:
      if (node.is_map()) return Mapping(node, FieldKind::kExpectation, scope);
      if (node.is_scalar() && node.text.text == "unchanged") return;
      return Body(node, NewScope(scope, Extent(node), true), Mode::kGraph);
    case Shape::kGraphTexts:
      for (const DocNode& text : node.items) {
        Body(text, NewScope(scope, Extent(text), true), Mode::kGraph);
      }
      return;
    case Shape::kOpset:
      if (field.kind == FieldKind::kFile) {
        const auto all = static_cast<uint32_t>(index_.text->content().size());
        NoteOpset(&node, {0, all}, false);
      }
      return;
    case Shape::kNames:
    case Shape::kNamesOrAll: return Names(node, field, scope);
    case Shape::kName: return ScalarName(node, field);
    default: return NamedMap(node, field, scope);
  }
}

// Mappings whose keys are names of the author.
void IndexBuilder::NamedMap(const DocNode& node, const Field& field, int scope) {
  if (!node.is_map()) return;
  for (const DocEntry& entry : node.entries) {
    switch (field.shape) {
      case Shape::kParams:
        Define(entry.key, NameKind::kParam, entry.name());
        AddItem(Item::Kind::kParam, entry.key, Extent(entry.value), -1);
        Mapping(entry.value, FieldKind::kParam, scope);
        if (auto param = reader_.ReadParam(entry)) index_.params.push_back(*std::move(param));
        break;
      case Shape::kSets: Set(entry); break;
      case Shape::kSignatures: Signature(entry); break;
      case Shape::kDefinitions: Definition(entry); break;
      case Shape::kAttributes: Mapping(entry.value, FieldKind::kAttribute, scope); break;
      case Shape::kOutputs: Mapping(entry.value, FieldKind::kOutput, scope); break;
      case Shape::kRetypes: Use(entry.key.place.begin, entry.name(), scope); [[fallthrough]];
      case Shape::kCounters: Expression(entry.value, scope); break;
      case Shape::kRecords:
        Define(entry.key, NameKind::kTable, entry.name());
        for (const DocEntry& column : entry.value.entries) Expression(column.value, scope);
        break;
      case Shape::kSettings:
        if (!entry.key.text.where.empty()) {
          Note(entry.key.text.where.front(), entry.name(), NameKind::kParam);
        }
        break;
      default: break;
    }
  }
}

void IndexBuilder::OperatorOrSet(const DocNode& node, size_t skip) {
  if (!node.is_scalar() || node.text.where.empty()) return;
  const std::string_view text = std::string_view(node.text.text).substr(skip);
  const bool set = text.starts_with('@');
  const auto begin = node.text.where.front() + static_cast<uint32_t>(skip);
  Note(set ? begin + 1 : begin, set ? text.substr(1) : text,
       set ? NameKind::kSet : NameKind::kOperator);
}

void IndexBuilder::Names(const DocNode& node, const Field& field, int scope) {
  for (const DocNode& item : node.items) {
    if (!item.is_scalar() || item.text.where.empty()) continue;
    const uint32_t begin = item.text.where.front();
    const std::string& text = item.text.text;
    if (field.key == "include") {
      Note(begin, text, NameKind::kInclude);
      const auto shipped = [](const std::string& name) { return FindRuleSet(name, {}); };
      index_.includes.push_back(IncludedPath(index_.path, text, shipped));
    } else if (field.key == "rules") {
      Note(begin, text, NameKind::kRule);
    } else if (field.key == "json") {
      Note(begin, text, NameKind::kTable);
    } else if (field.key == "inputs" || field.key == "outputs") {
      Declare(begin, text.substr(0, text.find_first_of("?.")), scope, "of the signature");
    } else if (field.key != "attributes") {
      OperatorOrSet(item);
    }
  }
}

void IndexBuilder::ScalarName(const DocNode& node, const Field& field) {
  if (!node.is_scalar() || node.text.where.empty()) return;
  const uint32_t begin = node.text.where.front();
  if (field.kind == FieldKind::kFile && field.key == "name") index_.name = node.text.text;
  if (field.key == "use") Note(begin, node.text.text, NameKind::kRuleSet);
  if (field.key == "table") Note(begin, node.text.text, NameKind::kTable);
  if (field.key == "file") WritePath(node);
}

// "{folder}/inputs.json": parameters in braces.
void IndexBuilder::WritePath(const DocNode& node) {
  const std::string& text = node.text.text;
  for (size_t open = text.find('{'); open != std::string::npos; open = text.find('{', open + 1)) {
    const size_t close = text.find('}', open);
    if (close == std::string::npos) return;
    const Place place = node.text.PlaceOf(open + 1, close);
    Note(place.begin, std::string_view(text).substr(open + 1, close - open - 1), NameKind::kParam);
  }
}

void IndexBuilder::NoteOpset(const DocNode* node, const Span& span, bool exact) {
  OpsetRegion region{.span = span, .test = exact};
  if (exact) region.min = region.max = kTestOpset;
  const DocNode* value = node;
  if (node != nullptr && node->is_map()) {
    const DocEntry* onnx = node->Find("");
    if (onnx == nullptr) onnx = node->Find("ai.onnx");
    value = onnx == nullptr ? nullptr : &onnx->value;
  }
  if (value != nullptr && value->is_scalar()) {
    const Scalar scalar = ResolveScalar(*value);
    if (exact && scalar.kind == Scalar::Kind::kInt) {
      region.min = region.max = scalar.int_value;
      region.stated = true;
    } else if (!exact && !ParseOpsetRange(value->text.text, region.min, region.max)) {
      return;
    }
  } else if (!exact) {
    return;
  }
  index_.opsets.push_back(region);
}

void IndexBuilder::Rule(const DocNode& node) {
  if (!node.is_map()) return;
  const Span span = Extent(node);
  int item = -1;
  if (const DocNode* name = Get(node, "name"); name != nullptr && name->is_scalar()) {
    const DocNode* doc = Get(node, "doc");
    item = AddItem(Item::Kind::kRule, *name, span, -1,
                   doc != nullptr && doc->is_scalar() ? doc->text.text : "");
    Define(*name, NameKind::kRule, name->text.text);
  }
  NoteOpset(Get(node, "opset"), span, false);
  const int scope = NewScope(Occurrence::kNowhere, span);
  for (const DocEntry* entry : InReadingOrder(node)) {
    const Field* field = FindField(FieldKind::kRule, entry->name());
    if (field == nullptr) continue;
    if (!entry->key.text.where.empty()) {
      Occurrence* noted = Note(entry->key.text.where.front(), entry->name(), NameKind::kKey);
      if (noted != nullptr) noted->field = FieldKind::kRule;
    }
    if (field->shape == Shape::kTests) {
      Tests(entry->value, item);
    } else {
      Value(entry->value, *field, scope);
    }
  }
}

void IndexBuilder::Tests(const DocNode& node, int rule_item) {
  for (const DocNode& test : node.items) Test(test, rule_item);
}

void IndexBuilder::Test(const DocNode& node, int rule_item) {
  if (!node.is_map()) return;
  const Span span = Extent(node);
  if (const DocNode* name = Get(node, "name"); name != nullptr && name->is_scalar()) {
    AddItem(Item::Kind::kTest, *name, span, rule_item);
  }
  NoteOpset(Get(node, "opset"), span, true);
  for (const DocEntry& entry : node.entries) {
    const Field* field = FindField(FieldKind::kTest, entry.name());
    if (field == nullptr) continue;
    if (!entry.key.text.where.empty()) {
      Occurrence* noted = Note(entry.key.text.where.front(), entry.name(), NameKind::kKey);
      if (noted != nullptr) noted->field = FieldKind::kTest;
    }
    int scope = Occurrence::kNowhere;
    if (field->shape == Shape::kBody) scope = NewScope(scope, Extent(entry.value), true);
    Value(entry.value, *field, scope);
  }
}

void IndexBuilder::Signature(const DocEntry& entry) {
  if (auto raw = reader_.ReadSignature(entry)) {
    index_.signatures.push_back(std::move(raw->signature));
  }
  const Span span{entry.key.place.begin, Extent(entry.value).end};
  AddItem(Item::Kind::kSignature, entry.key, span, -1);
  Define(entry.key, NameKind::kOperator, entry.name());
  const int scope = NewScope(Occurrence::kNowhere, span);
  index_.scopes[scope].signature = true;
  if (const DocNode* attributes = Get(entry.value, "attributes")) {
    for (const DocEntry& attribute : attributes->entries) {
      Declare(attribute.key.place.begin, attribute.name(), scope, "attribute of the signature");
    }
  }
  if (const DocNode* outputs = Get(entry.value, "outputs")) {
    for (const DocEntry& output : outputs->entries) {
      const std::string name = output.name();
      Declare(output.key.place.begin, name.substr(0, name.find_first_of("?.")), scope,
              "of the signature");
    }
  }
  Mapping(entry.value, FieldKind::kSignature, scope);
}

void IndexBuilder::Set(const DocEntry& entry) {
  Define(entry.key, NameKind::kSet, entry.name());
  AddItem(Item::Kind::kSet, entry.key, Extent(entry.value), -1);
  for (const DocNode& item : entry.value.items) OperatorOrSet(item);
  for (const DocEntry& member : entry.value.entries) OperatorOrSet(member.key);
  index_.sets.push_back(reader_.ReadSet(entry));
}

void IndexBuilder::Definition(const DocEntry& entry) {
  const Span span{entry.key.place.begin, Extent(entry.value).end};
  const int scope = NewScope(Occurrence::kNowhere, span);
  std::string name;
  Head(entry.key, scope, &name);
  if (name.empty()) return;
  const int item = AddItem(Item::Kind::kDefinition, entry.key, span, -1, entry.name());
  index_.items[item].name = "$" + name;
  Cases(entry.value, scope);
}

void IndexBuilder::Cases(const DocNode& node, int scope) {
  if (!node.is_list()) return Case(node, scope);
  for (const DocNode& item : node.items) Case(item, scope);
}

void IndexBuilder::Case(const DocNode& node, int scope) {
  const int own = NewScope(scope, Extent(node));
  if (node.is_scalar()) return CaseLine(node.text, own);
  Mapping(node, FieldKind::kCase, own);
}

void IndexBuilder::Lets(const DocNode& node, int scope) {
  if (!node.is_map()) return;
  for (const DocEntry& entry : node.entries) {
    const std::string& key = entry.name();
    for (size_t begin = 0; begin < key.size();) {
      const size_t first = std::min(key.find_first_not_of(" \t,", begin), key.size());
      const size_t end = std::min(key.find_first_of(" \t,", first), key.size());
      if (end > first) {
        const std::string text = entry.value.is_scalar() ? entry.value.text.text : "...";
        Declare(entry.key.text.PlaceOf(first, end).begin, key.substr(first, end - first), scope,
                fmt::format("computed: `{}`", text));
      }
      begin = end + 1;
    }
  }
  for (const DocEntry& entry : node.entries) Expression(entry.value, scope);
}

}  // namespace qrewrite::lsp
