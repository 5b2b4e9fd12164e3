#include "engine/lsp/outline.h"

#include <algorithm>
#include <optional>

#include <fmt/format.h>

namespace qrewrite::lsp {
namespace {

// SymbolKind of the protocol.
int SymbolKind(Item::Kind kind) {
  switch (kind) {
    case Item::Kind::kRule: return 12;       // function
    case Item::Kind::kDefinition: return 6;  // method
    case Item::Kind::kSet: return 10;        // enumeration
    case Item::Kind::kParam: return 13;      // variable
    case Item::Kind::kSignature: return 5;   // class
    case Item::Kind::kPhase: return 24;      // event
    case Item::Kind::kTest: return 7;        // property
  }
  return 13;
}

constexpr const char* kTokenTypes[] = {"function", "class", "variable", "parameter", "property",
                                       "macro",    "enum",  "type",     "keyword",   "namespace"};

// Index into kTokenTypes; nothing: the editor's own colours for YAML are enough.
std::optional<int> TokenType(const Occurrence& o) {
  switch (o.kind) {
    case NameKind::kFunction: return 0;
    case NameKind::kOperator: return 1;
    case NameKind::kLocal: return o.shorthand ? std::nullopt : std::optional(2);
    case NameKind::kParam: return 3;
    case NameKind::kAttribute:
    case NameKind::kInput: return 4;
    case NameKind::kDefinition: return 5;
    case NameKind::kSet: return 6;
    case NameKind::kType: return 7;
    case NameKind::kKey: return 8;
    case NameKind::kRule:
    case NameKind::kTable:
    case NameKind::kRuleSet: return 9;
    case NameKind::kInclude: return std::nullopt;
  }
  return std::nullopt;
}

Json Lens(const FileIndex& index, const Item& item, std::string title, Json arguments) {
  return {
      {"range", ToJson(index.text->At(item.name_span))},
      {"command",
       {{"title", std::move(title)}, {"command", kRunTests}, {"arguments", std::move(arguments)}}}};
}

}  // namespace

Json DocumentSymbols(const FileIndex& index) {
  const auto symbol = [&](const Item& item) -> Json {
    Json json = {{"name", item.name.empty() ? "?" : item.name},
                 {"kind", SymbolKind(item.kind)},
                 {"range", ToJson(index.text->At(item.span))},
                 {"selectionRange", ToJson(index.text->At(item.name_span))}};
    if (!item.detail.empty()) json["detail"] = item.detail;
    return json;
  };
  std::vector<Json> symbols;
  std::vector<size_t> top(index.items.size(), 0);  // of an item without parent: its symbol
  for (size_t i = 0; i < index.items.size(); ++i) {
    const Item& item = index.items[i];
    if (item.parent >= 0) {
      symbols[top[item.parent]]["children"].push_back(symbol(item));
    } else {
      top[i] = symbols.size();
      symbols.push_back(symbol(item));
    }
  }
  return symbols;
}

Json CodeLenses(const FileIndex& index, const std::string& uri) {
  Json lenses = Json::array();
  std::vector<int> tests(index.items.size(), 0);
  for (const Item& item : index.items) {
    if (item.kind == Item::Kind::kTest && item.parent >= 0) ++tests[item.parent];
  }
  for (size_t i = 0; i < index.items.size(); ++i) {
    const Item& item = index.items[i];
    if (item.kind == Item::Kind::kRule && tests[i] > 0) {
      const std::string title =
          tests[i] == 1 ? "run 1 test" : fmt::format("run {} tests", tests[i]);
      lenses.push_back(Lens(index, item, title, {uri, item.name, ""}));
    } else if (item.kind == Item::Kind::kTest) {
      const std::string rule = item.parent >= 0 ? index.items[item.parent].name : "";
      lenses.push_back(Lens(index, item, "run this test", {uri, rule, item.name}));
    }
  }
  return lenses;
}

Json TokenLegend() { return {{"tokenTypes", kTokenTypes}, {"tokenModifiers", {"declaration"}}}; }

Json SemanticTokens(const FileIndex& index) {
  Json data = Json::array();
  Position last;
  uint32_t end = 0;
  for (const Occurrence& o : index.occurrences) {
    const auto type = TokenType(o);
    if (!type || o.span.begin < end) continue;
    const Range range = index.text->At(o.span);
    if (range.start.line != range.end.line) continue;
    const int lines = range.start.line - last.line;
    const int columns = range.start.character - (lines == 0 ? last.character : 0);
    for (const int number :
         {lines, columns, range.end.character - range.start.character, *type, o.defines ? 1 : 0}) {
      data.push_back(number);
    }
    last = range.start;
    end = o.span.end;
  }
  return {{"data", std::move(data)}};
}

}  // namespace qrewrite::lsp
