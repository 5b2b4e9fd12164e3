// Attributes of a node: ONNX's attribute kinds as C++ values, kept sorted by name. A copy shares the
// list until one of the two changes.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "engine/base/ids.h"
#include "engine/base/ref_count.h"
#include "engine/tensor/tensor.h"

namespace qrewrite {

// Numbers are those of onnx.AttributeProto.AttributeType.
enum class AttrKind : uint8_t {
  kUndefined = 0,
  kFloat = 1,
  kInt = 2,
  kString = 3,
  kTensor = 4,
  kGraph = 5,
  kFloats = 6,
  kInts = 7,
  kStrings = 8,
  kTensors = 9,
  kGraphs = 10,
  kSparseTensor = 11,
  kSparseTensors = 12,
  kTypeProto = 13,
  kTypeProtos = 14,
};

// An attribute of a function body that takes the value of the function's attribute `name`.
struct AttrReference {
  std::string name;
  AttrKind kind = AttrKind::kUndefined;
  friend bool operator==(const AttrReference&, const AttrReference&) = default;
};

// A kind that is carried but never looked into (sparse tensors, type protos): its serialized
// AttributeProto.
struct AttrOpaque {
  AttrKind kind = AttrKind::kUndefined;
  std::string bytes;
  friend bool operator==(const AttrOpaque&, const AttrOpaque&) = default;
};

using AttrValue = std::variant<std::monostate, float, int64_t, std::string, Tensor, BodyId,
                               std::vector<float>, std::vector<int64_t>, std::vector<std::string>,
                               std::vector<Tensor>, std::vector<BodyId>, AttrReference, AttrOpaque>;

AttrKind KindOf(const AttrValue& value);
// By value; tensors by dtype, shape and bytes; subgraphs by identity.
bool Equal(const AttrValue& a, const AttrValue& b);

struct Attribute {
  std::string name;
  AttrValue value;
};

class Attributes {
 public:
  Attributes() = default;
  Attributes(std::initializer_list<Attribute> list) {
    for (const Attribute& a : list) Set(a.name, a.value);
  }

  bool empty() const { return list_ == nullptr; }
  size_t size() const { return list_ == nullptr ? 0 : list_->items.size(); }
  const Attribute* begin() const { return list_ == nullptr ? nullptr : list_->items.data(); }
  const Attribute* end() const { return begin() + size(); }

  const AttrValue* Find(std::string_view name) const;  // null if absent
  void Set(std::string_view name, AttrValue value);    // replaces
  bool Erase(std::string_view name);

  // Typed reads with a fallback for an absent attribute (or one of another kind).
  int64_t Int(std::string_view name, int64_t fallback) const;
  float Float(std::string_view name, float fallback) const;
  std::string_view String(std::string_view name, std::string_view fallback) const;
  const std::vector<int64_t>* Ints(std::string_view name) const;  // null if absent
  const std::vector<float>* Floats(std::string_view name) const;
  const Tensor* TensorValue(std::string_view name) const;

  // Surely equal, because they share one list.
  bool IsSameAs(const Attributes& other) const { return list_ == other.list_; }

  // Equal attributes have equal hashes, except for large tensors, which count by their key.
  uint64_t Hash() const;

  friend bool operator==(const Attributes& a, const Attributes& b);

 private:
  struct List {
    RefCount owners = {};
    std::vector<Attribute> items;  // sorted by name
    static void Destroy(const List* list) { delete list; }
  };
  std::vector<Attribute>& Own();  // this object's alone

  RefPtr<List> list_;  // null if empty
};

}  // namespace qrewrite
