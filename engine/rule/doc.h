// The document tree: what YAML and JSON files are to the loader. Every node knows its place, and
// every scalar knows for each byte of its text where in the file that byte stands, so that an error
// in an expression inside a block scalar points at its exact column.
//
// External interface: ReadYaml, ReadJson, Scalar, JoinLines. The readers report all they refuse
// (duplicate keys, anchors, tags, ambiguous words, excessive nesting) and return nothing after a
// syntax error.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/base/diagnostics.h"
#include "engine/base/name_map.h"
#include "engine/base/source.h"

namespace qrewrite {

struct DocEntry;

struct DocNode {
  enum class Kind : uint8_t { kScalar, kList, kMap };
  enum class Style : uint8_t { kPlain, kQuoted, kBlock };

  Kind kind = Kind::kScalar;
  Style style = Style::kPlain;  // kScalar; numbers, true, false and null of JSON are plain
  Place place;   // what is shown for the whole: a scalar, or where a list or map begins
  Snippet text;  // kScalar
  std::vector<DocNode> items;     // kList
  std::vector<DocEntry> entries;  // kMap, in file order, keys unique

  bool is_scalar() const { return kind == Kind::kScalar; }
  bool is_list() const { return kind == Kind::kList; }
  bool is_map() const { return kind == Kind::kMap; }
  const DocEntry* Find(std::string_view key) const;  // REQUIRES: is_map()
};

struct DocEntry {
  DocNode key;  // always a scalar
  DocNode value;
  const std::string& name() const { return key.text.text; }
};

inline const DocEntry* DocNode::Find(std::string_view key) const {
  for (const DocEntry& entry : entries) {
    if (entry.name() == key) return &entry;
  }
  return nullptr;
}

// What a scalar means by the YAML 1.2 core schema. Quoted and block scalars are texts.
struct Scalar {
  enum class Kind : uint8_t { kNull, kBool, kInt, kFloat, kString };
  Kind kind = Kind::kString;
  bool bool_value = false;
  int64_t int_value = 0;
  double float_value = 0;
};
// An integer beyond int64 is a kFloat. REQUIRES: node.is_scalar().
Scalar ResolveScalar(const DocNode& node);
bool IsNull(const DocNode& node);  // a scalar that says nothing: `key:`, ~, null

// A text of several lines may be a list of lines: they become one text in `joined`; a scalar has its
// own. REQUIRES: a scalar or a list of scalars.
const Snippet& JoinLines(const DocNode& node, Snippet& joined);

// So many faults that nobody reads further ones: what takes long to tell is not told any more.
inline bool Many(const DiagnosticSink& sink) { return sink.diagnostics().size() >= 500; }

// Limits of one file, against texts that would cost too much.
inline constexpr int kMaxDocDepth = 64;
inline constexpr size_t kMaxDocNodes = 200'000;
inline constexpr size_t kMaxDocBytes = size_t{16} << 20;

// `source` must outlive the tree.
// Without `tests` the blocks `tests:` may be left out of the tree.
std::optional<DocNode> ReadYaml(const SourceText& source, DiagnosticSink& sink, bool tests = true);
std::optional<DocNode> ReadJson(const SourceText& source, DiagnosticSink& sink);

// --- shared by the readers
// True if the text is UTF-8 without NUL and not too large; else an error is reported.
bool CheckBytes(const SourceText& source, DiagnosticSink& sink);
// Reports `010`, `on`, `off`, `yes`, `no` where they are not quoted.
void CheckPlainScalar(const DocNode& node, DiagnosticSink& sink);
inline constexpr size_t kUsualEntries = 4;  // of a mapping: room for them is made at once
// The keys of one mapping while it is read.
class KeySet {
 public:
  // False, with an error, if the mapping has the key already. REQUIRES: key.is_scalar().
  bool Add(const DocNode& key, DiagnosticSink& sink);

 private:
  NameMap<Place, kUsualEntries> keys_;  // where each stands
  bool another_item_ = false;
};

}  // namespace qrewrite
