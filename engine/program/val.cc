#include "engine/program/val.h"

#include <algorithm>

#include <fmt/format.h>

#include "engine/fold/element.h"

namespace qrewrite {

// --- what values own

template <class F>
void Val::WithOwner(F f) const {
  [&]<size_t... kI>(std::index_sequence<kI...>) {
    const auto with = [&]<class T>(size_t type) {
      static_assert(sizeof(T) <= kBytes && alignof(T) <= kAlign);
      if (type_ == type) f(std::type_identity<T>());
    };
    (with.template operator()<std::tuple_element_t<kFirstOwner + kI, Types>>(kFirstOwner + kI),
     ...);
  }
  (std::make_index_sequence<kNumTypes - kFirstOwner>());
}

void Val::CopyOwner(const Val& other) {
  WithOwner([&]<class T>(std::type_identity<T>) { new (bytes_) T(*other.Held<T>()); });
}

void Val::MoveOwner(Val& other) noexcept {
  WithOwner([&]<class T>(std::type_identity<T>) {
    new (bytes_) T(std::move(*const_cast<T*>(other.Held<T>())));
  });
}

void Val::DestroyOwner() {
  WithOwner([&]<class T>(std::type_identity<T>) { std::destroy_at(Held<T>()); });
}

// --- numbers

Val Val::OfInts(std::span<const int64_t> values) {
  if (values.size() > Ints::kMax) {
    return Num{Tensor::Int64s(std::vector<int64_t>(values.begin(), values.end())), true};
  }
  Ints ints;
  ints.n = static_cast<uint32_t>(values.size());
  std::copy(values.begin(), values.end(), ints.v.begin());
  return ints;
}

Num Val::number() const {
  if (const auto* n = get_if<Num>()) return *n;
  if (const auto* i = get_if<int64_t>()) return {Tensor::Int64Scalar(*i), true};
  if (const auto* d = get_if<double>()) return {Tensor::DoubleScalar(*d), true};
  const Ints& ints = get<Ints>();
  return {Tensor::Int64s(std::vector<int64_t>(ints.begin(), ints.end())), true};
}

int Val::rank() const {
  if (const auto* n = get_if<Num>()) return n->t.rank();
  return is<Ints>() ? 1 : 0;
}

int64_t Val::size() const {
  if (const auto* n = get_if<Num>()) return n->t.size();
  const auto* ints = get_if<Ints>();
  return ints != nullptr ? ints->n : 1;
}

std::optional<int64_t> Val::whole() const {
  if (const auto* i = get_if<int64_t>()) return *i;
  if (const auto* n = get_if<Num>()) {
    if (n->t.size() != 1) return std::nullopt;
    const std::optional<Element> e = OnlyElement(n->t, n->weak);
    if (e) return e->is_float ? std::nullopt : std::optional(e->i);
  }
  const std::optional<std::vector<int64_t>> all = wholes();
  return all && all->size() == 1 ? std::optional(all->front()) : std::nullopt;
}

std::optional<std::vector<int64_t>> Val::wholes() const {
  if (const auto* i = get_if<int64_t>()) return std::vector<int64_t>{*i};
  if (const auto* ints = get_if<Ints>()) return std::vector<int64_t>(ints->begin(), ints->end());
  const auto* n = get_if<Num>();
  if (n == nullptr || !IsInteger(n->t.dtype())) return std::nullopt;
  Result<std::vector<int64_t>> values = ToInt64s(n->t);
  if (!values.ok()) return std::nullopt;
  return *std::move(values);
}

Members::Members(std::vector<Val> values) : std::vector<Val>(std::move(values)) {
  for (const Val& member : *this) {
    if (const auto* list = member.get_if<List>()) depth = std::max(depth, (*list)->depth + 1);
  }
}

Val Val::ListOf(std::vector<Val> values) {
  auto members = std::make_shared<const Members>(std::move(values));
  if (members->depth <= kMaxListDepth) return List(std::move(members));
  return Failure{fmt::format("lists are nested deeper than {}", kMaxListDepth)};
}

std::string_view Describe(const Val& val) {
  if (val.is_number()) return val.rank() == 0 ? "a number" : "a tensor";
  if (val.is<bool>()) return "a condition";
  if (val.is<Absent>()) return "absent";
  if (val.is<std::string>()) return "a string";
  if (val.is<DType>()) return "an element type";
  if (val.is<ValueId>()) return "a value of the graph";
  if (val.is<LabelRef>()) return "a node";
  if (val.is<ChainRef>()) return "a chain";
  if (val.is<List>()) return "a list";
  if (val.is<SymbolSize>()) return "a symbolic size";
  return "something else";
}

Val FromLiteral(const Literal& literal) {
  struct Visitor {
    Val operator()(std::monostate) const { return {}; }
    Val operator()(bool b) const { return b; }
    Val operator()(int64_t i) const { return Val::Int(i); }
    Val operator()(double d) const { return Val::Float(d); }
    Val operator()(const std::string& s) const { return s; }
    Val operator()(const std::vector<int64_t>& v) const { return Val::OfInts(v); }
    Val operator()(const std::vector<double>& v) const {
      return Num{Tensor::Of<double>(DType::kDouble, {static_cast<int64_t>(v.size())}, v), true};
    }
    Val operator()(const std::vector<std::string>& v) const {
      return Val::ListOf({v.begin(), v.end()});
    }
  };
  return std::visit(Visitor(), literal);
}

}  // namespace qrewrite
