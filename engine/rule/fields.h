// The keys of rule files as a table (fields.inc), and Mapping, which reads a mapping by it:
// unknown, missing and ill-shaped keys are reported here and nowhere else.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/rule/doc.h"

namespace qrewrite {

enum class FieldKind : uint8_t {
#define QR_KIND(kind, words, doc) kind,
#include "engine/rule/fields.inc"
};

enum class Shape : uint8_t {
#define QR_SHAPE(shape, form, words, schema) shape,
#include "engine/rule/fields.inc"
};

struct ShapeInfo {
  uint8_t form = 0;  // bits of kScalar, kList, kMap
  std::string_view words;
  std::string_view schema;
};

struct Field {
  FieldKind kind;
  std::string_view key;
  Shape shape;
  bool required = false;
  std::string_view doc;
};

struct KindInfo {
  FieldKind kind;
  std::string_view words;
  std::string_view doc;
};

const ShapeInfo& Info(Shape shape);
std::span<const KindInfo> FieldKinds();
const std::vector<const Field*>& FieldsOf(FieldKind kind);  // in the order of the table

class Mapping {
 public:
  // `owner` names the mapping in messages: "rule `pair`". Afterwards only keys of the right shape
  // are seen. A node that is no mapping is reported and seen as empty.
  Mapping(const DocNode& node, FieldKind kind, std::string owner, DiagnosticSink& sink);

  const DocEntry* Entry(std::string_view key) const;
  const DocNode* Get(std::string_view key) const {
    const DocEntry* entry = Entry(key);
    return entry ? &entry->value : nullptr;
  }
  bool Has(std::string_view key) const { return Entry(key) != nullptr; }
  const std::string& owner() const { return owner_; }

 private:
  bool ShapeFits(const DocEntry& entry, const Field& field, DiagnosticSink& sink) const;

  std::string owner_;
  std::vector<const DocEntry*> entries_;
};

// "a list", "a mapping", "the text `x`", "nothing": for messages.
std::string Describe(const DocNode& node);

}  // namespace qrewrite
