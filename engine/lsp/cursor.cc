#include "engine/lsp/cursor.h"

#include <algorithm>
#include <cctype>

namespace qrewrite::lsp {
namespace {

constexpr std::string_view kWord = "qrCursorQr";

bool Has(const DocNode& node) {
  return node.is_scalar() && node.text.text.find(kWord) != std::string::npos;
}

// The mapping that stands in a list or mapping of this shape.
std::optional<FieldKind> ItemKind(Shape shape) {
  switch (shape) {
    case Shape::kPhases: return FieldKind::kPhase;
    case Shape::kRules: return FieldKind::kRule;
    case Shape::kWrites: return FieldKind::kWrite;
    case Shape::kTests: return FieldKind::kTest;
    case Shape::kParams: return FieldKind::kParam;
    case Shape::kSignatures: return FieldKind::kSignature;
    case Shape::kAttributes: return FieldKind::kAttribute;
    case Shape::kOutputs: return FieldKind::kOutput;
    case Shape::kConstants: return FieldKind::kConstantsConfig;
    case Shape::kExpect: return FieldKind::kExpectation;
    case Shape::kDefinitions:
    case Shape::kCases: return FieldKind::kCase;
    default: return std::nullopt;
  }
}

bool IsText(Shape shape) {
  switch (shape) {
    case Shape::kBody:
    case Shape::kExpr:
    case Shape::kConditions:
    case Shape::kCaseResult:
    case Shape::kCases:
    case Shape::kDefinitions:
    case Shape::kLets:
    case Shape::kRetypes:
    case Shape::kRecords:
    case Shape::kCounters:
    case Shape::kExpect: return true;
    default: return false;
  }
}

// Looks for the word in a tree, along the table of keys.
class Finder {
 public:
  using What = CursorPlace::What;

  std::optional<CursorPlace> Find(const DocNode& root) {
    Mapping(root, FieldKind::kFile);
    return std::move(found_);
  }

 private:
  void Mapping(const DocNode& node, FieldKind kind) {
    for (const DocEntry& entry : node.entries) {
      if (Has(entry.key)) return Key(node, kind);
      for (const Field* field : FieldsOf(kind)) {
        if (field->key == entry.name()) Value(entry.value, *field);
      }
    }
  }

  void Key(const DocNode& node, FieldKind kind) {
    found_ = {.what = What::kKey, .kind = kind};
    for (const DocEntry& entry : node.entries) {
      if (!Has(entry.key)) found_->keys.push_back(entry.name());
    }
  }

  void Text(const DocNode& node, const Field& field) {
    found_ = {.what = What::kText, .field = &field};
    found_->text = node.text.text.substr(0, node.text.text.find(kWord));
  }

  void Value(const DocNode& node, const Field& field) {
    const auto kind = ItemKind(field.shape);
    if (Has(node)) return Scalar(node, field);
    for (const DocNode& item : node.items) {
      if (Has(item)) {
        Scalar(item, field);
      } else if (item.is_map() && kind) {
        Mapping(item, *kind);
      }
    }
    if (!node.is_map()) return;
    const bool own_keys = field.shape == Shape::kConstants || field.shape == Shape::kExpect ||
                          field.shape == Shape::kCases;
    if (own_keys) return Mapping(node, *kind);
    for (const DocEntry& entry : node.entries) Named(entry, field, kind);
  }

  // An entry whose key is a name of the author.
  void Named(const DocEntry& entry, const Field& field, std::optional<FieldKind> kind) {
    if (Has(entry.key)) return NamedKey(entry, field);
    if (field.shape == Shape::kDefinitions) return Value(entry.value, *CasesField());
    if (field.shape == Shape::kRecords) {
      for (const DocEntry& column : entry.value.entries) {
        if (Has(column.value)) Text(column.value, field);
      }
      return;
    }
    if (field.shape == Shape::kSets) {
      for (const DocNode& item : entry.value.items) {
        if (Has(item)) found_ = {.what = What::kOperatorName, .field = &field};
      }
      for (const DocEntry& member : entry.value.entries) {
        if (Has(member.key)) found_ = {.what = What::kOperatorName, .field = &field};
      }
      return;
    }
    if (entry.value.is_map() && kind) return Mapping(entry.value, *kind);
    if (Has(entry.value) && kind) return Key({}, *kind);
    if (Has(entry.value)) Scalar(entry.value, field);
  }

  void NamedKey(const DocEntry& entry, const Field& field) {
    if (field.shape == Shape::kRetypes) Text(entry.key, field);
    if (field.shape == Shape::kSettings) found_ = {.what = What::kParamName, .field = &field};
    if (field.shape == Shape::kSignatures) found_ = {.what = What::kWord, .field = &field};
  }

  void Scalar(const DocNode& node, const Field& field) {
    const auto kind = ItemKind(field.shape);
    if (IsText(field.shape)) return Text(node, field);
    if (kind) return Key({}, *kind);
    found_ = {.what = What::kName, .field = &field};
  }

  static const Field* CasesField() {
    for (const Field* field : FieldsOf(FieldKind::kRule)) {
      if (field->shape == Shape::kCases) return field;
    }
    return nullptr;
  }

  std::optional<CursorPlace> found_;
};

bool InWord(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '-'; }

// What would close the quotes and brackets that the line opens before the cursor.
std::string Closers(std::string_view line) {
  std::string closers;
  char quote = 0;
  for (size_t i = 0; i < line.size(); ++i) {
    const char c = line[i];
    if (quote != 0) {
      if (c == '\\' && quote == '"') ++i;
      if (c == quote) quote = 0;
    } else if ((c == '"' || c == '\'') && (i == 0 || !InWord(line[i - 1]))) {
      quote = c;
    } else if (c == '{' || c == '[') {
      closers.insert(closers.begin(), c == '{' ? '}' : ']');
    } else if ((c == '}' || c == ']') && closers.starts_with(c)) {
      closers.erase(0, 1);
    }
  }
  return quote == 0 ? closers : quote + closers;
}

// Is nothing but a word in front of the cursor, behind the beginning of an item or a mapping?
bool LooksLikeKey(std::string_view line, const std::string& closers) {
  while (!line.empty() && InWord(line.back()) && line.back() != '-') line.remove_suffix(1);
  if (line.ends_with('"')) return true;  // of JSON
  while (line.ends_with(' ')) line.remove_suffix(1);
  if (line.ends_with('{') || line.ends_with(',')) return closers.starts_with('}');
  return line.find_first_not_of(" -") == std::string_view::npos;
}

}  // namespace

bool IsCursorWord(std::string_view name) { return name.find(kWord) != std::string_view::npos; }

std::optional<CursorPlace> FindCursorPlace(const FileIndex& index, size_t offset) {
  const std::string& text = index.text->content();
  offset = std::min(offset, text.size());
  const size_t newline = offset == 0 ? std::string::npos : text.rfind('\n', offset - 1);
  const size_t begin = newline == std::string::npos ? 0 : newline + 1;
  const size_t end = std::min(text.find('\n', offset), text.size());
  const std::string line = text.substr(begin, offset - begin);
  const std::string head = text.substr(0, offset) + std::string(kWord);
  const std::string closers = Closers(line);
  struct Variant {
    std::string text;
    bool key;
  };
  std::vector<Variant> variants = {{head + text.substr(offset), false},
                                   {head + closers + text.substr(end), false}};
  const std::vector<Variant> keys = {{head + ":" + text.substr(offset), true},
                                     {head + ": 0" + closers + text.substr(end), true}};
  if (index.path.ends_with(".json") && closers.starts_with('"')) {
    // There a key is quoted; the editor may have typed the second quote.
    const size_t behind = offset + (text.substr(offset, 1) == "\"" ? 1 : 0);
    variants.push_back({head + "\": 0" + text.substr(behind), true});
    variants.push_back({head + "\": 0" + closers.substr(1) + text.substr(end), true});
  }
  variants.insert(LooksLikeKey(line, closers) ? variants.begin() : variants.end(), keys.begin(),
                  keys.end());
  for (Variant& variant : variants) {
    SourcePtr source = std::make_shared<SourceText>(index.path, variant.text);
    const auto root = ReadTolerant(index.path, source);
    if (!root) continue;
    auto place = Finder().Find(*root);
    if (!place || (variant.key && place->what != CursorPlace::What::kKey)) continue;
    size_t word = offset;
    const bool dashes = place->what == CursorPlace::What::kName;
    while (word > begin && InWord(text[word - 1]) && (dashes || text[word - 1] != '-')) --word;
    place->prefix = text.substr(word, offset - word);
    place->offset = offset;
    place->index = MakeIndex(index.path, std::make_shared<Text>(std::move(variant.text)));
    return place;
  }
  return std::nullopt;
}

}  // namespace qrewrite::lsp
