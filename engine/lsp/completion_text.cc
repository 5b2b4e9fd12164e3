#include "engine/lsp/completion_text.h"

#include <algorithm>
#include <cctype>

#include <fmt/format.h>

#include "engine/expr/functions.h"
#include "engine/expr/lexer.h"
#include "engine/expr/names.h"
#include "engine/lsp/describe.h"
#include "engine/rule/literal.h"

namespace qrewrite::lsp {
namespace {

// CompletionItemKind of the protocol.
int KindNumber(ItemKind kind) {
  switch (kind) {
    case ItemKind::kKey: return 10;      // property
    case ItemKind::kOperator: return 7;  // class
    case ItemKind::kFunction: return 3;  // function
    case ItemKind::kAttribute:
    case ItemKind::kInput: return 5;       // field
    case ItemKind::kSet: return 13;        // enumeration
    case ItemKind::kParam: return 21;      // constant
    case ItemKind::kDefinition: return 2;  // method
    case ItemKind::kRule: return 18;       // reference
    case ItemKind::kLocal: return 6;       // variable
    case ItemKind::kFile: return 17;       // file
    case ItemKind::kWord: return 14;       // keyword
  }
  return 1;
}

bool InName(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '.'; }

// What stands around the cursor in its statement.
struct Around {
  char opener = 0;              // the innermost open bracket: `(`, `<`, `[`; 0: none
  Operators operators;          // in front of it
  bool value = false;           // behind `=` or `->` of an attribute or argument
  std::string attribute;        // whose value it is
  std::set<std::string> given;  // attributes and inputs that are named there already
  bool assigned = false;        // `=` of the statement was passed
  bool definition = false;      // the head in front of the bracket is `$name`
};

// The head in front of token `open`: `n:A|@b|com.microsoft.C`.
void TakeHead(const std::vector<Token>& tokens, size_t open, Around& around) {
  std::string name;
  for (size_t i = open; i-- > 0;) {
    const Token& token = tokens[i];
    if (tokens[i + 1].space_before) break;
    if (token.kind == TokenKind::kName || token.text == ".") {
      name.insert(0, token.text);
    } else if (token.text == "|" || token.text == ":") {
      if (!name.empty()) around.operators.push_back(name);
      name.clear();
      if (token.text == ":") return;
    } else if (token.text == "@") {
      around.operators.push_back("@" + name);
      name.clear();
    } else if (token.text == "$") {
      around.definition = true;
      return;
    } else if (token.text != "?" && token.text != "*" && token.text != "+" && token.text != "!") {
      break;
    }
  }
  if (!name.empty()) around.operators.push_back(name);
}

Around LookAround(const std::vector<Token>& tokens) {
  struct Open {
    size_t token;
    bool value = false;
    std::string attribute;
    std::set<std::string> given;
  };
  std::vector<Open> open;
  bool assigned = false;
  for (size_t i = 0; i < tokens.size() && tokens[i].kind != TokenKind::kEnd; ++i) {
    const std::string_view text = tokens[i].text;
    const bool glued = i > 0 && !tokens[i].space_before &&
                       (tokens[i - 1].kind == TokenKind::kName || tokens[i - 1].text == "?" ||
                        tokens[i - 1].text == "*" || tokens[i - 1].text == "+");
    if ((tokens[i].newline_before && open.empty()) || text == ";" || text == "=>") {
      open.clear();
      assigned = text == "=>";
    }
    if (text == "(" || text == "[" || (text == "<" && glued)) {
      open.push_back({.token = i});
    } else if (text == ")" || text == "]" || text == ">") {
      if (!open.empty()) open.pop_back();
    } else if (open.empty()) {
      assigned |= text == "=" || text == "when";
    } else if (text == ",") {
      open.back().value = false;
    } else if (text == "=" || text == "->") {
      open.back().value = true;
      if (i > 0) open.back().attribute = tokens[i - 1].text;
      if (i > 0) open.back().given.insert(open.back().attribute);
    } else if (tokens[i].kind == TokenKind::kName && !open.back().value) {
      open.back().given.insert(std::string(text));
    }
  }
  Around around{.assigned = assigned || !open.empty()};
  if (open.empty()) return around;
  const Open& inner = open.back();
  around.opener = tokens[inner.token].text[0];
  around.value = inner.value;
  if (inner.value && around.opener == '<') around.attribute = inner.attribute;
  around.given = inner.given;
  size_t head = inner.token;
  // `Op<...>(`: the head stands in front of the attributes.
  if (around.opener == '(' && head > 0 && tokens[head - 1].text == ">") {
    int depth = 0;
    while (head-- > 0) {
      if (tokens[head].text == ">") ++depth;
      if (tokens[head].text == "<" && --depth == 0) break;
    }
  }
  TakeHead(tokens, head, around);
  return around;
}

void AddFunctions(Items& items) {
  for (const FunctionInfo& info : Functions()) {
    items.Add({.label = std::string(info.name),
               .kind = ItemKind::kFunction,
               .detail = fmt::format("({})", info.params)});
  }
}

void AddWords(std::initializer_list<const char*> words, Items& items) {
  for (const char* word : words) items.Add({.label = word, .kind = ItemKind::kWord});
}

// Element types as the text writes them: INT8, in graph texts int8.
void AddTypes(bool graph, Items& items) {
  for (int i = 1; i < kNumDTypes; ++i) {
    const DTypeInfo& info = Info(static_cast<DType>(i));
    items.Add({.label = std::string(graph ? info.text_name : info.name),
               .kind = ItemKind::kWord,
               .detail = "element type"});
  }
  if (graph) AddWords({"zeros", "ones", "random", "absent"}, items);
}

void AddOf(const CursorPlace& place, const Known& known, const Around& around, bool inputs,
           Items& items) {
  const OpsetRegion region = place.index->OpsetAt(place.offset);
  for (const std::string& op : known.Members(around.operators)) {
    const Signature* signature = known.FindSignature(op, region);
    if (signature == nullptr) continue;
    for (const FormalValue& input : signature->inputs) {
      if (!inputs || around.given.contains(input.name)) continue;
      items.Add({.label = input.name + "=",
                 .kind = ItemKind::kInput,
                 .detail = "input of " + op,
                 .of = {op}});
    }
    for (const FormalAttribute& attribute : signature->attributes) {
      if (inputs || around.given.contains(attribute.name)) continue;
      items.Add({.label = attribute.name,
                 .kind = ItemKind::kAttribute,
                 .detail = AttributeType(attribute),
                 .of = {op},
                 .first = true});
    }
  }
}

// Behind `mode=`: what the attribute may be, where that is known.
void AddTextsOf(const CursorPlace& place, const Known& known, const Around& around, Items& items) {
  const OpsetRegion region = place.index->OpsetAt(place.offset);
  for (const std::string& op : known.Members(around.operators)) {
    const Signature* const signature = known.FindSignature(op, region);
    const FormalAttribute* const formal =
        signature != nullptr ? signature->FindAttribute(around.attribute) : nullptr;
    if (formal == nullptr) continue;
    for (const std::string& text : formal->texts) {
      items.Add({.label = QuoteString(text),
                 .kind = ItemKind::kWord,
                 .detail = fmt::format("{} of {}", around.attribute, op),
                 .first = true});
    }
  }
}

// `n.`: what the set of the node with that label says of its operator. False if there is no such label.
bool AddMembers(const CursorPlace& place, const Known& known, const std::string& label,
                Items& items) {
  const FileIndex& index = *place.index;
  const Occurrence* bound = nullptr;
  for (int scope = index.ScopeAt(place.offset); scope != Occurrence::kNowhere && bound == nullptr;
       scope = index.scopes[scope].parent) {
    const auto found = index.scopes[scope].names.find(label);
    if (found != index.scopes[scope].names.end()) bound = &index.occurrences[found->second];
  }
  if (bound == nullptr) return false;
  // The operators follow the label.
  const std::string_view rest = std::string_view(index.text->content()).substr(bound->span.end);
  const std::string head(rest.substr(0, std::min(rest.find_first_of("(<\n"), rest.size())));
  if (!head.starts_with(':')) return false;
  const std::string text = head.substr(1) + "(";
  const Around around = LookAround(Lex(text));
  for (const std::string& op : around.operators) {
    if (!op.starts_with('@')) continue;
    const RawSet* set = known.FindSet(std::string_view(op).substr(1));
    if (set == nullptr) continue;
    for (const RawMember& member : set->members) {
      for (const auto& [key, value] : member.member.data) {
        items.Add({.label = key,
                   .kind = ItemKind::kWord,
                   .detail = "of the set: " + LiteralText(value),
                   .first = true});
      }
    }
  }
  return true;
}

void AddNamed(NameKind kind, ItemKind as, const Known& known, Items& items) {
  for (const Definition& d : known.All(kind)) {
    if (!IsCursorWord(d.occurrence->name)) items.Add({.label = d.occurrence->name, .kind = as});
  }
}

// True if the text in front of the word alone says what it is.
bool AddBySigil(const CursorPlace& place, const Known& known, std::string_view before,
                std::string& prefix, Items& items) {
  if (before.ends_with('$')) {
    AddNamed(NameKind::kDefinition, ItemKind::kDefinition, known, items);
    return true;
  }
  if (before.ends_with('@')) {
    AddNamed(NameKind::kSet, ItemKind::kSet, known, items);
    return true;
  }
  const size_t dot = prefix.find('.');
  if (dot == std::string::npos) return false;
  const std::string owner = prefix.substr(0, dot);
  Items members;
  if (owner == "params") {
    AddParams(known, members);
  } else if (!AddMembers(place, known, owner, members)) {
    return false;  // a domain
  }
  prefix = prefix.substr(dot + 1);
  items = std::move(members);
  return true;
}

}  // namespace

void AddLocals(const CursorPlace& place, Items& items) {
  const FileIndex& index = *place.index;
  for (int scope = index.ScopeAt(place.offset); scope != Occurrence::kNowhere;
       scope = index.scopes[scope].parent) {
    std::vector<std::string> names;
    for (const auto& [name, occurrence] : index.scopes[scope].names) names.push_back(name);
    std::sort(names.begin(), names.end());
    for (const std::string& name : names) {
      if (IsCursorWord(name)) continue;
      const Occurrence& bound = index.occurrences[index.scopes[scope].names.at(name)];
      items.Add({.label = name, .kind = ItemKind::kLocal, .detail = bound.what, .first = true});
    }
  }
}

Json ItemJson(const CompletionItem& item, const Range& range, const std::string& path,
              size_t offset) {
  const std::string& text = item.insert.empty() ? item.label : item.insert;
  Json json = {{"label", item.label},
               {"kind", KindNumber(item.kind)},
               {"sortText", (item.first ? "0" : "1") + item.label},
               {"textEdit", {{"range", ToJson(range)}, {"newText", text}}}};
  if (!item.detail.empty()) json["detail"] = item.detail;
  std::string name = item.label;
  if (item.kind == ItemKind::kInput) name.pop_back();
  json["data"] = {{"path", path},
                  {"offset", offset},
                  {"kind", static_cast<int>(item.kind)},
                  {"name", name},
                  {"what", item.what}};
  if (!item.of.empty()) json["data"]["of"] = item.of;
  return json;
}

void AddOperatorNames(const Known& known, const OpsetRegion& region, bool sets, Items& items) {
  if (sets) {
    for (const Definition& d : known.All(NameKind::kSet)) {
      items.Add({.label = "@" + d.occurrence->name, .kind = ItemKind::kSet});
    }
  }
  for (const OpName& op : known.signatures().Names()) {
    const bool versions = op.domain.empty() && region.max != INT64_MAX;
    const Signature* there = versions ? known.signatures().Find(op.domain, op.name, region.max)
                                      : known.signatures().Newest(op.domain, op.name);
    if (there == nullptr || (there->deprecated && there->since <= region.min)) continue;
    items.Add({.label = op.text(), .kind = ItemKind::kOperator});
  }
}

void AddParams(const Known& known, Items& items) {
  for (const Definition& d : known.All(NameKind::kParam)) {
    if (IsCursorWord(d.occurrence->name)) continue;
    items.Add({.label = d.occurrence->name, .kind = ItemKind::kParam, .first = true});
  }
}

void AddText(const CursorPlace& place, const Known& known, std::string& prefix, Items& items) {
  std::string_view before = place.text;
  size_t word = before.size();
  while (word > 0 && InName(before[word - 1])) --word;
  prefix = std::string(before.substr(word));
  before = before.substr(0, word);
  if (AddBySigil(place, known, before, prefix, items)) return;

  const std::string text(before);
  const Around around = LookAround(Lex(text));
  const bool graph = place.field->kind == FieldKind::kTest;
  const bool pattern = place.field->key == "match";
  const bool body = pattern || graph || place.field->shape == Shape::kBody;
  if (before.ends_with("**")) return AddLocals(place, items);
  if (around.opener == '<' && !around.value) {
    AddOf(place, known, around, /*inputs=*/false, items);
    if (!graph) items.Add({.label = "**_", .kind = ItemKind::kWord, .detail = "any others"});
    return;
  }
  if (around.opener == '(' && !around.value && body && !graph) {
    AddOf(place, known, around, /*inputs=*/true, items);
  }
  if (!around.attribute.empty()) AddTextsOf(place, known, around, items);
  AddLocals(place, items);
  const bool cases =
      place.field->shape == Shape::kCases || place.field->shape == Shape::kDefinitions;
  if (cases && around.opener == 0) AddWords({"when"}, items);
  if (graph || around.value || !pattern) AddTypes(graph, items);
  if (!around.assigned && body) return;  // the name of an output
  if (!graph && !pattern) {
    AddFunctions(items);
    if (!known.All(NameKind::kParam).empty()) AddWords({"params"}, items);
    AddWords(
        {"absent", "true", "false", "inf", "nan", "opset", "not", "and", "or", "in", "if", "else"},
        items);
  }
  AddOperatorNames(known, place.index->OpsetAt(place.offset), /*sets=*/false, items);
}

}  // namespace qrewrite::lsp
