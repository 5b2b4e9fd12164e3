// Completion inside texts of the language, and the items that all of completion makes.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "engine/lsp/cursor.h"
#include "engine/lsp/known.h"

namespace qrewrite::lsp {

enum class ItemKind {
  kKey,
  kOperator,
  kFunction,
  kAttribute,
  kInput,
  kSet,
  kParam,
  kDefinition,
  kRule,
  kLocal,
  kFile,
  kWord
};

struct CompletionItem {
  std::string label;
  ItemKind kind = ItemKind::kWord;
  std::string detail;
  std::string insert;  // "": the label
  int what = 0;        // kKey: the FieldKind
  Operators of;        // kAttribute, kInput
  bool first = false;  // before the others
};

// Items, each label once.
class Items {
 public:
  void Add(CompletionItem item) {
    if (!item.label.empty() && seen_.insert(item.label).second) all_.push_back(std::move(item));
  }
  const std::vector<CompletionItem>& all() const { return all_; }

 private:
  std::vector<CompletionItem> all_;
  std::set<std::string> seen_;
};

Json ItemJson(const CompletionItem& item, const Range& range, const std::string& path,
              size_t offset);

// Operators that some opset of the region has; with the sets, if these are wanted.
void AddOperatorNames(const Known& known, const OpsetRegion& region, bool sets, Items& items);
// Names bound at the place, the innermost first.
void AddLocals(const CursorPlace& place, Items& items);
void AddParams(const Known& known, Items& items);
// What may stand in a text; `prefix` becomes what the item replaces: "com.micro" for operators.
void AddText(const CursorPlace& place, const Known& known, std::string& prefix, Items& items);

}  // namespace qrewrite::lsp
