#include "engine/tensor/attribute.h"

#include <algorithm>
#include <bit>

namespace qrewrite {
namespace {

// Floats are compared by their bits, so that NaN equals itself and 0 differs from -0.
bool SameFloat(float a, float b) {
  return std::bit_cast<uint32_t>(a) == std::bit_cast<uint32_t>(b);
}

bool SameTensor(const Tensor& a, const Tensor& b) {
  if (!a.valid() || !b.valid()) return a.valid() == b.valid();
  const Result<bool> same = BytesEqual(a, b);
  return same.ok() && *same;
}

struct Comparer {
  template <class A, class B>
  bool operator()(const A&, const B&) const {
    return false;
  }
  template <class T>
  bool operator()(const T& a, const T& b) const {
    return a == b;
  }
  bool operator()(float a, float b) const { return SameFloat(a, b); }
  bool operator()(const std::vector<float>& a, const std::vector<float>& b) const {
    return std::ranges::equal(a, b, SameFloat);
  }
  bool operator()(const Tensor& a, const Tensor& b) const { return SameTensor(a, b); }
  bool operator()(const std::vector<Tensor>& a, const std::vector<Tensor>& b) const {
    return std::ranges::equal(a, b, SameTensor);
  }
};

template <class T>
uint64_t HashRaw(const std::vector<T>& values) {
  return HashBytes(std::as_bytes(std::span(values)), values.size());
}

uint64_t HashText(std::string_view text) {
  return HashBytes(std::as_bytes(std::span(text)), text.size());
}

struct Hasher {
  uint64_t operator()(std::monostate) const { return 0; }
  uint64_t operator()(float v) const { return std::bit_cast<uint32_t>(v); }
  uint64_t operator()(int64_t v) const { return static_cast<uint64_t>(v); }
  uint64_t operator()(const std::string& v) const { return HashText(v); }
  uint64_t operator()(const Tensor& v) const { return v.valid() ? v.key() : 0; }
  uint64_t operator()(BodyId v) const { return v.index; }
  uint64_t operator()(const std::vector<float>& v) const { return HashRaw(v); }
  uint64_t operator()(const std::vector<int64_t>& v) const { return HashRaw(v); }
  uint64_t operator()(const AttrReference& v) const {
    return HashMix(HashText(v.name), static_cast<uint64_t>(v.kind));
  }
  uint64_t operator()(const AttrOpaque& v) const { return HashText(v.bytes); }
  template <class T>
  uint64_t operator()(const std::vector<T>& list) const {
    uint64_t h = list.size();
    for (const T& v : list) h = HashMix(h, (*this)(v));
    return h;
  }
};

auto LowerBound(auto& list, std::string_view name) {
  return std::lower_bound(
      list.begin(), list.end(), name,
      [](const Attribute& a, std::string_view n) { return a.name.compare(n) < 0; });
}

template <class T>
const T* TypedFind(const Attributes& attributes, std::string_view name) {
  const AttrValue* value = attributes.Find(name);
  return value == nullptr ? nullptr : std::get_if<T>(value);
}

}  // namespace

AttrKind KindOf(const AttrValue& value) {
  struct Kinds {
    AttrKind operator()(std::monostate) const { return AttrKind::kUndefined; }
    AttrKind operator()(float) const { return AttrKind::kFloat; }
    AttrKind operator()(int64_t) const { return AttrKind::kInt; }
    AttrKind operator()(const std::string&) const { return AttrKind::kString; }
    AttrKind operator()(const Tensor&) const { return AttrKind::kTensor; }
    AttrKind operator()(BodyId) const { return AttrKind::kGraph; }
    AttrKind operator()(const std::vector<float>&) const { return AttrKind::kFloats; }
    AttrKind operator()(const std::vector<int64_t>&) const { return AttrKind::kInts; }
    AttrKind operator()(const std::vector<std::string>&) const { return AttrKind::kStrings; }
    AttrKind operator()(const std::vector<Tensor>&) const { return AttrKind::kTensors; }
    AttrKind operator()(const std::vector<BodyId>&) const { return AttrKind::kGraphs; }
    AttrKind operator()(const AttrReference& v) const { return v.kind; }
    AttrKind operator()(const AttrOpaque& v) const { return v.kind; }
  };
  return std::visit(Kinds{}, value);
}

bool Equal(const AttrValue& a, const AttrValue& b) { return std::visit(Comparer{}, a, b); }

const AttrValue* Attributes::Find(std::string_view name) const {
  const Attribute* at = LowerBound(*this, name);
  return at != end() && at->name == name ? &at->value : nullptr;
}

std::vector<Attribute>& Attributes::Own() {
  if (list_ == nullptr) {
    list_ = RefPtr(new List());
  } else if (!list_->owners.IsOne()) {
    list_ = RefPtr(new List(*list_));
  }
  return list_->items;
}

void Attributes::Set(std::string_view name, AttrValue value) {
  std::vector<Attribute>& list = Own();
  const auto it = LowerBound(list, name);
  if (it != list.end() && it->name == name) {
    it->value = std::move(value);
  } else {
    list.insert(it, {std::string(name), std::move(value)});
  }
}

bool Attributes::Erase(std::string_view name) {
  if (Find(name) == nullptr) return false;
  std::vector<Attribute>& list = Own();
  list.erase(LowerBound(list, name));
  if (list.empty()) list_ = {};
  return true;
}

int64_t Attributes::Int(std::string_view name, int64_t fallback) const {
  const auto* value = TypedFind<int64_t>(*this, name);
  return value == nullptr ? fallback : *value;
}

float Attributes::Float(std::string_view name, float fallback) const {
  const auto* value = TypedFind<float>(*this, name);
  return value == nullptr ? fallback : *value;
}

std::string_view Attributes::String(std::string_view name, std::string_view fallback) const {
  const auto* value = TypedFind<std::string>(*this, name);
  return value == nullptr ? fallback : std::string_view(*value);
}

const std::vector<int64_t>* Attributes::Ints(std::string_view name) const {
  return TypedFind<std::vector<int64_t>>(*this, name);
}

const std::vector<float>* Attributes::Floats(std::string_view name) const {
  return TypedFind<std::vector<float>>(*this, name);
}

const Tensor* Attributes::TensorValue(std::string_view name) const {
  return TypedFind<Tensor>(*this, name);
}

uint64_t Attributes::Hash() const {
  uint64_t h = size();
  for (const Attribute& a : *this) {
    h = HashMix(h, HashText(a.name));
    h = HashMix(h, a.value.index());
    h = HashMix(h, std::visit(Hasher{}, a.value));
  }
  return h;
}

bool operator==(const Attributes& a, const Attributes& b) {
  const auto same = [](const Attribute& x, const Attribute& y) {
    return x.name == y.name && Equal(x.value, y.value);
  };
  return a.IsSameAs(b) || std::equal(a.begin(), a.end(), b.begin(), b.end(), same);
}

}  // namespace qrewrite
