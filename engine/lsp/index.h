// FileIndex: what the names of one rule file stand for and where they are used. Made from the
// document tree and the syntax trees of the texts in it, whether the file is correct or not: what
// cannot be read is left out.
//
// Names of the file (rules, `$definitions`, `@sets`, parameters) are told apart by kind and name;
// those that a rule, a case or a graph text binds also by the scope that binds them.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "engine/lsp/text.h"
#include "engine/rule/doc.h"
#include "engine/rule/fields.h"
#include "engine/rule/reader.h"

namespace qrewrite::lsp {

enum class NameKind : uint8_t {
  kRule,
  kDefinition,  // `$name`
  kSet,         // `@name`
  kParam,       // `params.name`
  kTable,       // of `record:`
  kRuleSet,     // of `use:`
  kOperator,
  kFunction,
  kLocal,      // bound in a rule, a case, a definition or a graph text
  kAttribute,  // of the operator `of`
  kInput,      // of the operator `of`: `x_scale=...`
  kKey,        // of the file format
  kInclude,
  kType,  // an element type
};

// The operators of a call, as they are written there.
using Operators = std::vector<std::string>;

struct Occurrence {
  static constexpr int kNowhere = -1;
  Span span;  // of the name without sigils
  NameKind kind = NameKind::kKey;
  bool defines = false;
  // `<axis>`: a local and an attribute under one name; a new name is written `axis=new`.
  bool shorthand = false;
  int scope = kNowhere;                 // kLocal: the scope that binds it, if one does
  FieldKind field = FieldKind::kFile;   // kKey: of which mapping
  std::string name;                     // as it is known: "Conv", "acme.Gain", "quant"
  std::string what;                     // where it defines: what it is bound to, as Markdown
  std::shared_ptr<const Operators> of;  // kAttribute, kInput; empty: unknown
};

// What binds names: a rule, a case, a graph text.
struct Scope {
  int parent = Occurrence::kNowhere;
  Span span;
  bool graph = false;                             // a graph text of a test
  bool signature = false;                         // of an operator: callers know the names, too
  bool damaged = false;                           // holds a text that cannot be read
  std::unordered_map<std::string, size_t> names;  // to the occurrence that defines it
};

// A thing with a name of its own in the file, for outlines.
struct Item {
  enum class Kind { kRule, kDefinition, kSet, kParam, kSignature, kPhase, kTest } kind;
  std::string name;
  std::string detail;
  Span span, name_span;
  int parent = -1;  // item; of a test its rule
};

// The versions of ai.onnx that a piece of the file is for.
struct OpsetRegion {
  Span span;
  int64_t min = 0, max = INT64_MAX;
  bool test = false;    // of a graph text
  bool stated = false;  // of a test that states its opset: what file and rule say does not matter
};

struct FileIndex {
  std::string path;
  SourcePtr source;
  std::shared_ptr<const Text> text;
  bool readable = false;  // there is a tree
  bool damaged = false;   // but without some lines, which are no YAML
  DocNode root;
  std::string name;  // of the rule set

  std::vector<Occurrence> occurrences;  // in order of their begin
  std::vector<Scope> scopes;
  std::vector<Item> items;
  std::vector<OpsetRegion> opsets;    // outer ones first
  std::vector<std::string> includes;  // paths

  std::vector<Param> params;
  std::vector<RawSet> sets;
  std::vector<Signature> signatures;

  // The occurrence at a cursor, the innermost; null if there is none.
  const Occurrence* At(size_t offset) const;
  int ScopeAt(size_t offset) const;  // the innermost; kNowhere outside of all
  const Item* ItemAt(size_t offset, Item::Kind kind) const;
  OpsetRegion OpsetAt(size_t offset) const;
  std::string_view TextOf(const Span& span) const {
    return std::string_view(text->content()).substr(span.begin, span.end - span.begin);
  }
};

std::shared_ptr<const FileIndex> MakeIndex(const std::string& path,
                                           std::shared_ptr<const Text> text);

// The tree of a file; lines that are no YAML are read as if they were empty, as long as these are
// few. Nothing if that does not help.
std::optional<DocNode> ReadTolerant(const std::string& path, SourcePtr& source);

// The bytes of all that a node holds.
Span Extent(const DocNode& node);

}  // namespace qrewrite::lsp
