#include "engine/lsp/completion.h"

#include <algorithm>
#include <filesystem>
#include <set>

#include <fmt/format.h>

#include "engine/api/rules_impl.h"
#include "engine/expr/functions.h"
#include "engine/lsp/completion_text.h"
#include "engine/lsp/cursor.h"
#include "engine/lsp/describe.h"

namespace qrewrite::lsp {
namespace {

std::vector<std::string> WordsFor(const Field& field) {
  if (field.key == "equivalence")
    return {"exact", "ulp(1)", "lsb(1)", "approx(30dB)", "rescaled", "none"};
  if (field.key == "rename") return {"A-Za-z0-9_"};
  if (field.kind == FieldKind::kAttribute && field.key == "type") {
    return {"int", "float", "string", "tensor", "ints", "floats", "strings", "graph"};
  }
  switch (field.shape) {
    case Shape::kBool: return {"true", "false"};
    case Shape::kAll:
    case Shape::kNamesOrAll: return {"all"};
    case Shape::kChecks: return {"checked", "unchecked"};
    case Shape::kOneOfTypes: return {"bool", "int", "float", "string", "path", "regex", "bytes"};
    case Shape::kExpect: return {"unchanged"};
    case Shape::kOpset: return {"\">=13\""};
    default: return {};
  }
}

void AddKeys(const CursorPlace& place, Items& items) {
  const bool json = place.index->path.ends_with(".json");
  for (const Field* field : FieldsOf(place.kind)) {
    if (std::find(place.keys.begin(), place.keys.end(), field->key) != place.keys.end()) continue;
    const std::string key(field->key);
    items.Add({.label = key,
               .kind = ItemKind::kKey,
               .detail = std::string(Info(field->shape).words),
               .insert = json ? key : key + ": ",
               .what = static_cast<int>(place.kind),
               .first = field->required});
  }
}

// The rule files beside this one.
// What can be included: the files beside this one, and shipped rule sets by their name.
void AddFiles(const FileIndex& index, Items& items) {
  for (std::string& name : ShippedRuleNames()) {
    if (name != index.name) items.Add({.label = std::move(name), .kind = ItemKind::kWord});
  }
  namespace fs = std::filesystem;
  constexpr int kMost = 500;
  const fs::path own(index.path);
  std::error_code error;
  int count = 0;
  for (fs::directory_iterator it(own.parent_path(), error), end; !error && it != end;
       it.increment(error)) {
    if (++count > kMost) return;
    const std::string ending = it->path().extension().string();
    if (it->path() == own || (ending != ".yaml" && ending != ".yml" && ending != ".json")) continue;
    items.Add({.label = it->path().filename().string(), .kind = ItemKind::kFile});
  }
}

void AddNames(const CursorPlace& place, const Known& known, Items& items) {
  const Field& field = *place.field;
  for (std::string& word : WordsFor(field)) {
    items.Add({.label = std::move(word), .kind = ItemKind::kWord, .first = true});
  }
  const auto all = [&](NameKind kind, ItemKind as) {
    for (const Definition& d : known.All(kind))
      items.Add({.label = d.occurrence->name, .kind = as});
  };
  if (field.key == "include") return AddFiles(*place.index, items);
  if (field.key == "rules") return all(NameKind::kRule, ItemKind::kRule);
  if (field.key == "json" || field.key == "table") return all(NameKind::kTable, ItemKind::kWord);
  if (field.key == "use") {
    for (const auto& file : known.files()) {
      if (file->path != place.index->path)
        items.Add({.label = file->name, .kind = ItemKind::kWord});
    }
  }
  const bool operators =
      field.key == "keep" || field.key == "fold" || field.key == "write_defaults";
  if (operators) AddOperatorNames(known, place.index->OpsetAt(place.offset), /*sets=*/true, items);
}

}  // namespace

Json Complete(Workspace& workspace, const FileIndex& index, size_t offset) {
  Json list = {{"isIncomplete", false}, {"items", Json::array()}};
  const auto place = FindCursorPlace(index, offset);
  if (!place) return list;
  auto files = workspace.WithIncludes(index.path);
  if (files.empty()) return list;
  files.front() = place->index;  // as it is with a word at the cursor
  const Known known(std::move(files));
  Items items;
  std::string prefix = place->prefix;
  switch (place->what) {
    case CursorPlace::What::kKey:
      AddKeys(*place, items);
      // What begins a case may be a line of the language as well.
      if (place->kind == FieldKind::kCase) AddLocals(*place, items);
      break;
    case CursorPlace::What::kText: AddText(*place, known, prefix, items); break;
    case CursorPlace::What::kName: AddNames(*place, known, items); break;
    case CursorPlace::What::kOperatorName:
      AddOperatorNames(known, place->index->OpsetAt(place->offset), /*sets=*/true, items);
      break;
    case CursorPlace::What::kParamName: AddParams(known, items); break;
    case CursorPlace::What::kWord: break;
  }
  if (place->what == CursorPlace::What::kText && place->field != nullptr) {
    const bool whole = place->text.size() == prefix.size();
    for (std::string& word : WordsFor(*place->field)) {
      if (whole) items.Add({.label = std::move(word), .kind = ItemKind::kWord, .first = true});
    }
  }
  const size_t begin = offset - std::min(offset, prefix.size());
  const Range range{index.text->At(begin), index.text->At(offset)};
  for (const CompletionItem& item : items.all()) {
    list["items"].push_back(ItemJson(item, range, index.path, begin));
  }
  return list;
}

Json ResolveCompletion(Workspace& workspace, const Json& item) {
  Json resolved = item;
  if (!item.contains("data")) return resolved;
  const Json& data = item.at("data");
  const std::string path = data.at("path").get<std::string>();
  const std::string name = data.at("name").get<std::string>();
  const auto index = workspace.Index(path);
  if (index == nullptr) return resolved;
  const Known known(workspace.WithIncludes(path));
  const OpsetRegion region = index->OpsetAt(data.at("offset").get<size_t>());
  std::string text;
  switch (static_cast<ItemKind>(data.at("kind").get<int>())) {
    case ItemKind::kKey:
      text = DescribeKey(static_cast<FieldKind>(data.at("what").get<int>()), name);
      break;
    case ItemKind::kOperator: text = DescribeOperator(known, name, region); break;
    case ItemKind::kFunction: text = DescribeFunction(name); break;
    case ItemKind::kAttribute:
      text = DescribeAttribute(known, data.at("of").get<Operators>(), name, region);
      break;
    case ItemKind::kInput:
      text = DescribeInput(known, data.at("of").get<Operators>(), name, region);
      break;
    case ItemKind::kSet:
      if (const RawSet* set = known.FindSet(name)) text = DescribeSet(*set);
      break;
    case ItemKind::kParam:
      if (const Param* param = known.FindParam(name)) text = DescribeParam(*param);
      break;
    case ItemKind::kDefinition:
      text = Describe(known, *index, {.kind = NameKind::kDefinition, .name = name});
      break;
    case ItemKind::kRule:
    case ItemKind::kLocal:
    case ItemKind::kFile:
    case ItemKind::kWord: break;
  }
  if (!text.empty()) resolved["documentation"] = {{"kind", "markdown"}, {"value", text}};
  return resolved;
}

}  // namespace qrewrite::lsp
