// What code computes with: arithmetic, comparison and membership, by value, over all elements,
// three-valued. Scalars stay in their Val; tensors go through engine/fold/arith.h.
#include <algorithm>
#include <optional>

#include <fmt/format.h>

#include "engine/fold/cast.h"
#include "engine/fold/element.h"
#include "engine/graph/same_bodies.h"
#include "engine/match/failure.h"
#include "engine/match/interpreter.h"
#include "engine/match/logic.h"
#include "engine/program/scalar.h"

namespace qrewrite {
namespace {

Val FromResult(const Result<Num>& result) {
  if (!result.ok()) return FailureOf(result.status());
  return *result;
}

template <class T>
std::vector<T> Distinct(std::vector<T> values) {
  // NaN has no place in an order, and one stands for all.
  const auto nan = std::partition(values.begin(), values.end(), [](T v) { return v == v; });
  std::sort(values.begin(), nan);
  values.erase(std::unique(values.begin(), nan),
               nan == values.end() ? nan : std::prev(values.end()));
  return values;
}

// The elements of a tensor as numbers; integers exactly, unless they are beyond int64.
Result<std::vector<Val>> Elements(const Val& number, bool distinct = false) {
  if (std::optional<std::vector<int64_t>> values = number.wholes()) {
    if (distinct) values = Distinct(*std::move(values));
    return std::vector<Val>(values->begin(), values->end());
  }
  const Num floats = number.number();
  QR_ASSIGN_OR_RETURN(std::vector<double> values, ToDoubles(floats.t));
  if (distinct) values = Distinct(std::move(values));
  if (floats.weak) return std::vector<Val>(values.begin(), values.end());
  std::vector<Val> elements;  // of the type that they have
  for (const double value : values) {
    QR_ASSIGN_OR_RETURN(Tensor t, fold::CastTensor(Tensor::DoubleScalar(value), floats.t.dtype()));
    elements.emplace_back(Num{std::move(t), false});
  }
  return elements;
}

template <class T>
bool AllIn(const std::vector<T>& numbers, std::vector<T> members) {
  std::erase_if(members,
                [](T member) { return member != member; });  // NaN has no place in an order
  std::ranges::sort(members);
  return std::ranges::all_of(numbers, [&](T number) {
    return number == number && std::ranges::binary_search(members, number);
  });
}

// The floats of a number as doubles; of literals as they are beside `other`.
Result<std::vector<double>> FloatsBeside(const Num& number, const Num& other) {
  const bool rounded = number.weak && !other.weak && IsFloat(other.t.dtype());
  if (!rounded) return ToDoubles(number.t);
  QR_ASSIGN_OR_RETURN(const Tensor t, fold::CastTensor(number.t, other.t.dtype()));
  return ToDoubles(t);
}

// Whether each number of `element` is one of `list`: in n log n, where both are whole numbers or both are floats.
std::optional<Val> EachIn(const Val& element, const Val& list) {
  const std::optional<std::vector<int64_t>> wholes = element.wholes(), members = list.wholes();
  if (wholes && members) return Val(AllIn(*wholes, *members));
  if (wholes || members) return std::nullopt;
  const Num x = element.number(), y = list.number();
  const Result<std::vector<double>> a = FloatsBeside(x, y), b = FloatsBeside(y, x);
  if (!a.ok() || !b.ok()) return FailureOf(a.ok() ? b.status() : a.status());
  return Val(AllIn(*a, *b));
}

Val DifferentLength(BinaryOp op) {
  return op == BinaryOp::kEq ? Val(false) : Val(Failure{"lists of different length"});
}

const Tensor* ConstantOf(Interpreter& in, const Val& val) {
  const auto* v = val.get_if<ValueId>();
  return v != nullptr ? in.facts().Constant(*v) : nullptr;
}

// Beside lists a constant of one axis is one, too.
bool HoldsLists(Interpreter& in, const Val& val) {
  const auto is_member = [&](const Val& v) {
    const Tensor* const t = ConstantOf(in, v);
    return IsListLike(v) || v.stops() || (t != nullptr && t->rank() == 1);
  };
  const auto* list = val.get_if<List>();
  return list != nullptr && std::ranges::any_of(**list, IsListLike) &&
         std::ranges::all_of(**list, is_member);
}

// Whether `val` is a constant of sizes (or of axes) and `other` a list of computed ones: `to == [0, to[1]]`. Others, zero
// points, say, stand beside each member of a list.
bool AreSizes(Interpreter& in, const Val& val, const Val& other) {
  const Tensor* const t = ConstantOf(in, val);
  const auto* list = other.get_if<List>();
  if (t == nullptr || list == nullptr || (*list)->empty()) return false;
  const auto is_size = [](const Val& v) {
    return (v.is_number() && v.rank() == 0) || v.is<SymbolSize>() || v.stops();
  };
  return t->rank() == 1 && (t->dtype() == DType::kInt64 || t->dtype() == DType::kInt32) &&
         std::ranges::all_of(**list, is_size);
}

// Member by member; what is no list is compared with each member, and so is a list that holds none
// where the members are lists. REQUIRES: one is a list.
Val CompareLists(Interpreter& in, BinaryOp op, const Val& a, const Val& b) {
  const auto* la = a.get_if<List>();
  const auto* lb = b.get_if<List>();
  const bool deep = HoldsLists(in, a);
  if (deep != HoldsLists(in, b) && IsListLike(a) && IsListLike(b)) {
    Val all = true;
    for (const Val& member : deep ? **la : **lb) {
      all = And(all, in.Truth(deep ? in.Compare(op, member, b) : in.Compare(op, a, member)));
    }
    return all;
  }
  const Val& other = la == nullptr ? a : b;
  const size_t size = la != nullptr ? (*la)->size() : (*lb)->size();
  if (la != nullptr && lb != nullptr && (*la)->size() != (*lb)->size()) return DifferentLength(op);
  Val all = true;
  if (other.is_number() && other.rank() == 1) {  // a list of sizes beside numbers
    if (other.size() != static_cast<int64_t>(size)) return DifferentLength(op);
    const Result<std::vector<Val>> values = Elements(other);
    if (!values.ok()) return FailureOf(values.status());
    for (size_t i = 0; i < size; ++i) {
      const Val& item = (*values)[i];
      all = And(all,
                la != nullptr ? in.Compare(op, (**la)[i], item) : in.Compare(op, item, (**lb)[i]));
    }
    return all;
  }
  for (size_t i = 0; i < size; ++i) {
    all =
        And(all,
            in.Truth(in.Compare(op, la != nullptr ? (**la)[i] : a, lb != nullptr ? (**lb)[i] : b)));
  }
  return all;
}

bool IsTexts(const Val& val) {
  if (val.is<std::string>()) return true;
  const auto* list = val.get_if<List>();
  return list != nullptr && !(*list)->empty() &&
         std::ranges::all_of(**list, [](const Val& v) { return v.is<std::string>(); });
}

// A constant of texts as a text, or a list of them; other things, and texts of several axes, as they are.
Val AsTexts(Interpreter& in, const Val& val) {
  const Tensor* tensor = nullptr;
  if (const auto* v = val.get_if<ValueId>()) tensor = in.facts().Constant(*v);
  if (const auto* n = val.get_if<Num>()) tensor = &n->t;
  if (tensor == nullptr || !tensor->is_string() || tensor->rank() > 1) return val;
  const auto& texts = tensor->strings();
  if (tensor->rank() == 0) return std::string(texts[0]);
  return Val::ListOf({texts.begin(), texts.end()});
}

bool Mentioned(const AttrRest& rest, const std::string& name) {
  return std::ranges::find(*rest.mentioned, name) != rest.mentioned->end();
}

// What the pattern does not mention of either node, by value; an attribute that is not there has its default.
bool SameRest(Interpreter& in, const AttrRest& a, const AttrRest& b) {
  const auto same = [&](const AttrRest& one, const AttrRest& other) {
    return std::ranges::all_of(in.graph().attributes(one.node), [&](const Attribute& attribute) {
      if (Mentioned(one, attribute.name)) return true;
      const AttrValue* const there = in.graph().attributes(other.node).Find(attribute.name);
      if (there != nullptr && Equal(attribute.value, *there)) return true;
      return in.Step() && in.Same(Interpreter::FromAttribute(attribute.value),
                                  in.AttributeOf(other.node, attribute.name));
    });
  };
  return same(a, b) && same(b, a);
}

// Whether two things are the same that are no numbers; nullopt: their numbers decide.
std::optional<Val> CompareThings(Interpreter& in, const Val& a, const Val& b) {
  constexpr BinaryOp kEq = BinaryOp::kEq;
  const auto* sa = a.get_if<SymbolSize>();
  const auto* sb = b.get_if<SymbolSize>();
  if (sa != nullptr && sb != nullptr && sa->dim == sb->dim) return true;
  if (a.is<std::string>() && b.is<std::string>())
    return a.get<std::string>() == b.get<std::string>();
  // Attributes like `to` hold element types as numbers, plain data their names.
  const bool names = a.is<std::string>() || b.is<std::string>();
  const bool types =
      a.is<DType>() || b.is<DType>() || (names && (a.is<int64_t>() || b.is<int64_t>()));
  if (const std::optional<DType> x = types ? ElementTypeOf(a) : std::nullopt) {
    if (const std::optional<DType> y = ElementTypeOf(b)) return *x == *y;
    return in.Compare(kEq, Val::Int(static_cast<int64_t>(*x)), b);
  }
  if (const std::optional<DType> y = types ? ElementTypeOf(b) : std::nullopt) {
    return in.Compare(kEq, a, Val::Int(static_cast<int64_t>(*y)));
  }
  if (a.is<LabelRef>() && b.is<LabelRef>()) return a.get<LabelRef>().node == b.get<LabelRef>().node;
  if (a.is<AttrRest>() && b.is<AttrRest>())
    return SameRest(in, a.get<AttrRest>(), b.get<AttrRest>());
  if (a.is<BodyRef>() && b.is<BodyRef>()) {
    return SameBodies(in.graph(), a.get<BodyRef>().body, b.get<BodyRef>().body,
                      [&] { return in.Step(); });
  }
  return std::nullopt;
}

// Of which one has several elements, or is a string: all of them.
Val CompareTensors(BinaryOp op, const Num& nx, const Num& ny) {
  const bool eq = op == BinaryOp::kEq;
  const Tensor &tx = nx.t, &ty = ny.t;
  if (tx.is_string() || ty.is_string()) {
    if (!eq || tx.dtype() != ty.dtype())
      return eq ? Val(false) : Val(Failure{"strings have no order"});
    const Result<bool> same = BytesEqual(tx, ty);
    return same.ok() ? Val(*same) : Unequal(same.status());
  }
  if (eq) {
    const bool lists =
        tx.rank() == 1 && ty.rank() == 1 && !IsFloat(tx.dtype()) && !IsFloat(ty.dtype());
    if (lists && tx.size() != ty.size()) return false;
    if (tx.key() == ty.key() && tx.dtype() == ty.dtype() && tx.dims() == ty.dims() &&
        tx.is_lazy()) {
      return true;
    }
  }
  if (const std::optional<bool> all = CompareFew(ToBinOp(op), nx, ny)) return *all;
  Result<Num> result = Apply(ToBinOp(op), nx, ny);
  if (!result.ok()) {
    if (eq) return Unequal(result.status());
    return FailureOf(result.status());
  }
  return AllTrue(result->t);
}

}  // namespace

Val Interpreter::Force(const Val& val) {
  if (const auto* v = val.get_if<ValueId>()) {
    const Tensor* t = facts_.Constant(*v);
    if (t == nullptr) return Unknown{Reason(Reason::Kind::kNotConstant, "", *v)};
    return Num{*t, false};
  }
  if (const bool* b = val.get_if<bool>()) return Num{Tensor::Bool(*b), false};
  if (const auto* list = val.get_if<List>()) return Concat(**list);
  if (const auto* size = val.get_if<SymbolSize>()) {
    return Unknown{Reason(Reason::Kind::kSymbol, "", ValueId(), size->dim.symbol())};
  }
  return val;
}

Val Interpreter::Arithmetic(BinaryOp op, const Val& a, const Val& b) {
  if (a.stops()) return a;
  if (b.stops()) return b;
  if (a.absent() || b.absent()) return Absent();
  if (std::optional<Val> scalar = ScalarArithmetic(op, a, b)) return *std::move(scalar);
  const auto* la = a.get_if<List>();
  const auto* lb = b.get_if<List>();
  if (la != nullptr || lb != nullptr) {  // member by member
    const size_t n = la != nullptr ? (*la)->size() : (*lb)->size();
    if (!Step(n)) return Failure{"too many steps"};
    if (la != nullptr && lb != nullptr && (*la)->size() != (*lb)->size()) {
      return Failure{"lists of different length"};
    }
    const Val& other = la == nullptr ? a : b;
    if (other.is_number() && other.rank() == 1 && other.size() == static_cast<int64_t>(n)) {
      const Val whole = Force(la != nullptr ? a : b);  // a list of n beside a tensor of n
      return la != nullptr ? Arithmetic(op, whole, b) : Arithmetic(op, a, whole);
    }
    std::vector<Val> out;
    for (size_t i = 0; i < n; ++i) {
      out.push_back(Arithmetic(op, la != nullptr ? (**la)[i] : a, lb != nullptr ? (**lb)[i] : b));
      if (out.back().stops()) return out.back();
    }
    return Val::ListOf(std::move(out));
  }
  const Val x = Force(a), y = Force(b);
  if (x.stops()) return x;
  if (y.stops()) return y;
  if (!x.is_number() || !y.is_number()) {
    return Failure{fmt::format("arithmetic with {} and {}", Describe(x), Describe(y))};
  }
  return FromResult(Apply(ToBinOp(op), x.number(), y.number()));
}

bool Interpreter::Equal(const Val& a, const Val& b) {
  const Val same = Compare(BinaryOp::kEq, a, b);
  const bool* equal = same.get_if<bool>();
  return equal != nullptr && *equal;
}

Val Interpreter::Compare(BinaryOp op, const Val& a, const Val& b) {
  if (op == BinaryOp::kNe) {
    if (a.absent() || b.absent()) return Absent();
    return Not(Compare(BinaryOp::kEq, a, b));
  }
  if (a.stops()) return a;
  if (b.stops()) return b;
  if (a.absent() || b.absent()) return Absent();
  if (const std::optional<bool> scalar = ScalarCompare(op, a, b)) return *scalar;
  const bool eq = op == BinaryOp::kEq;
  if (IsTexts(a) != IsTexts(b)) {
    const Val x = AsTexts(*this, a), y = AsTexts(*this, b);
    if (IsTexts(x) && IsTexts(y)) return Compare(op, x, y);
  }
  const auto* va = a.get_if<ValueId>();
  const auto* vb = b.get_if<ValueId>();
  if (eq && va != nullptr && vb != nullptr && *va == *vb) return true;
  if (a.is<List>() || b.is<List>()) {
    const auto* list = a.is<List>() ? a.get_if<List>() : b.get_if<List>();
    if (!Step((*list)->size())) return Failure{"too many steps"};
    return CompareLists(*this, op, AreSizes(*this, a, b) ? Force(a) : a,
                        AreSizes(*this, b, a) ? Force(b) : b);
  }
  if (eq) {
    if (std::optional<Val> same = CompareThings(*this, a, b)) return *std::move(same);
  }
  const Val x = Force(a), y = Force(b);
  if (x.stops()) return x;
  if (y.stops()) return y;
  if (!x.is_number() || !y.is_number()) {
    if (eq) return false;  // things of different kinds
    return Failure{fmt::format("{} and {} have no order", Describe(x), Describe(y))};
  }
  // What a value of the graph holds may be one number, too.
  if (const std::optional<bool> scalar = ScalarCompare(op, x, y)) return *scalar;
  return CompareTensors(op, x.number(), y.number());
}

bool Interpreter::Same(const Val& a, const Val& b) {
  if (a.absent() || b.absent()) return a.absent() && b.absent();
  const auto* va = a.get_if<ValueId>();
  const auto* vb = b.get_if<ValueId>();
  if (va != nullptr && vb != nullptr) {
    if (*va == *vb) return true;
    const Tensor* x = facts_.Constant(*va);
    const Tensor* y = x == nullptr ? nullptr : facts_.Constant(*vb);
    if (y == nullptr) return false;
    // One element is one element, whatever its rank: producers write scales as [] and as [1].
    const bool single = x->size() == 1 && y->size() == 1;
    const Result<bool> same = BytesEqual(*x, single ? y->Reshaped(x->dims()) : *y);
    return same.ok() && *same;
  }
  const auto* la = a.get_if<List>();
  const auto* lb = b.get_if<List>();
  if (la != nullptr && lb != nullptr) {
    return Step((*la)->size()) &&
           std::ranges::equal(**la, **lb, [&](const Val& x, const Val& y) { return Same(x, y); });
  }
  // An attribute beside a constant: by value, and each element once.
  const Val x = Force(a), y = Force(b);
  if (x.is_number() && y.is_number() && x.size() != y.size()) return false;
  return Equal(x, y);
}

namespace {

// `[2, 3] in [[2, 3], [4]]`: members that are lists are compared as wholes.
Val IsInWholes(Interpreter& in, const Val& element, const std::vector<Val>& members) {
  const Val whole = element.is<ValueId>() ? in.Force(element) : element;
  if (whole.stops()) return whole;
  Val any = false;
  for (const Val& member : members) {
    const Val other = member.is<ValueId>() ? in.Force(member) : member;
    if (!other.stops() && IsListLike(other) != IsListLike(whole)) continue;
    any = Or(any, in.Truth(in.Compare(BinaryOp::kEq, whole, other)));
  }
  return any;
}

// Whether an element equals one of the members.
Val IsOneOfMembers(Interpreter& in, const Val& element, std::span<const Val> members) {
  if (!in.Step(members.size())) return Failure{"too many steps"};
  Val any = false;
  for (const Val& member : members)
    any = Or(any, in.Truth(in.Compare(BinaryOp::kEq, element, member)));
  return any;
}

bool AreTypes(const std::vector<Val>& members) {
  return std::ranges::all_of(members, [](const Val& m) { return m.is<DType>(); });
}

}  // namespace

Val Interpreter::EvalIn(const Val& element, const Val& list) {
  if (element.stops()) return element;
  if (list.stops()) return list;
  if (element.absent() || list.absent()) return Absent();
  if (!Step()) return Failure{"too many steps"};
  if (const auto* const set = list.get_if<const OpSet*>()) {
    const auto* const op = element.get_if<std::string>();
    if (op == nullptr) return Failure{fmt::format("{} is no operator", Describe(element))};
    return (*set)->Find(SplitOpName(*op)) != nullptr;
  }
  const auto* members = list.get_if<List>();
  const auto* dtype = element.get_if<DType>();
  if (dtype != nullptr && members != nullptr && AreTypes(**members))
    return std::ranges::any_of(**members, [&](const Val& m) { return m.get<DType>() == *dtype; });
  if (members != nullptr && std::ranges::any_of(**members, IsListLike))
    return IsInWholes(*this, element, **members);
  if (members != nullptr && IsTexts(list) && !IsTexts(element)) {
    const Val texts = AsTexts(*this, element);
    if (IsTexts(texts)) return EvalIn(texts, list);
  }
  if (const auto* many = element.get_if<List>()) {
    Val all = true;
    for (const Val& item : **many) all = And(all, EvalIn(item, list));
    return all;
  }
  const Val listed = members == nullptr ? Force(list) : list;
  if (listed.stops()) return listed;
  if (members == nullptr && !listed.is_number())
    return Failure{fmt::format("`in` {}", Describe(listed))};
  const Val forced = Force(element);
  if (forced.is_number() && forced.size() > 1) {  // if each of its elements is
    if (members == nullptr) {
      if (std::optional<Val> all = EachIn(forced, listed)) return *std::move(all);
    }
    const Result<std::vector<Val>> distinct = Elements(forced, /*distinct=*/true);
    if (!distinct.ok()) return FailureOf(distinct.status());
    Val all = true;
    for (const Val& v : *distinct) all = And(all, EvalIn(v, listed));
    return all;
  }
  if (members != nullptr) return IsOneOfMembers(*this, element, **members);
  const Result<std::vector<Val>> numbers = Elements(listed);
  if (!numbers.ok()) return FailureOf(numbers.status());
  return IsOneOfMembers(*this, element, *numbers);
}

}  // namespace qrewrite
