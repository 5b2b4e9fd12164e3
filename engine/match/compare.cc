// Comparison, membership and regular expressions: by value, over all elements, three-valued.
#include <algorithm>
#include <optional>

#include <fmt/format.h>
#include <re2/re2.h>

#include "engine/match/interpreter.h"
#include "engine/match/logic.h"

namespace qrewrite {
namespace {

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
Result<std::vector<Val>> Elements(const Tensor& t, bool distinct = false) {
  std::vector<Val> out;
  if (IsInteger(t.dtype())) {
    Result<std::vector<int64_t>> values = ToInt64s(t);
    if (values.ok()) {
      for (const int64_t v : distinct ? Distinct(*values) : *values) out.push_back(Val::Int(v));
      return out;
    }
  }
  QR_ASSIGN_OR_RETURN(const std::vector<double> values, ToDoubles(t));
  for (const double v : distinct ? Distinct(values) : values) out.push_back(Val::Float(v));
  return out;
}

Val DifferentLength(BinaryOp op) {
  return op == BinaryOp::kEq ? Val(false) : Val(Failure{"lists of different length"});
}

// Member by member; a single value is compared with each member. REQUIRES: one is a list.
Val CompareLists(Interpreter& in, BinaryOp op, const Val& a, const Val& b) {
  const auto* la = a.get_if<List>();
  const auto* lb = b.get_if<List>();
  const auto* n = la == nullptr ? a.get_if<Num>() : b.get_if<Num>();
  const size_t size = la != nullptr ? (*la)->size() : (*lb)->size();
  if (la != nullptr && lb != nullptr && (*la)->size() != (*lb)->size()) return DifferentLength(op);
  Val all = true;
  if (n != nullptr && n->t.rank() == 1) {  // a list of sizes beside numbers
    if (n->t.size() != static_cast<int64_t>(size)) return DifferentLength(op);
    const Result<std::vector<Val>> values = Elements(n->t);
    if (!values.ok()) return Failure{values.status().message()};
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

// Whether two things are the same that are no numbers; nullopt: their numbers decide.
std::optional<Val> CompareThings(Interpreter& in, const Val& a, const Val& b) {
  constexpr BinaryOp kEq = BinaryOp::kEq;
  const auto* sa = a.get_if<SymbolSize>();
  const auto* sb = b.get_if<SymbolSize>();
  if (sa != nullptr && sb != nullptr && sa->dim == sb->dim) return true;
  if (a.is<std::string>() && b.is<std::string>())
    return a.get<std::string>() == b.get<std::string>();
  if (a.is<DType>() && b.is<DType>()) return a.get<DType>() == b.get<DType>();
  // Attributes like `to` hold element types as numbers; operators are compared by name.
  if (a.is<DType>()) return in.Compare(kEq, Val::Int(static_cast<int64_t>(a.get<DType>())), b);
  if (b.is<DType>()) return in.Compare(kEq, a, Val::Int(static_cast<int64_t>(b.get<DType>())));
  if (a.is<OpName>()) return in.Compare(kEq, a.get<OpName>().text(), b);
  if (b.is<OpName>()) return in.Compare(kEq, a, b.get<OpName>().text());
  if (a.is<LabelRef>() && b.is<LabelRef>()) return a.get<LabelRef>().node == b.get<LabelRef>().node;
  if (a.is<BodyRef>() && b.is<BodyRef>()) return a.get<BodyRef>().body == b.get<BodyRef>().body;
  return std::nullopt;
}

}  // namespace

Val Interpreter::Compare(BinaryOp op, const Val& a, const Val& b) {
  if (op == BinaryOp::kNe) {
    if (a.absent() || b.absent()) return Absent();
    return Not(Compare(BinaryOp::kEq, a, b));
  }
  if (a.stops()) return a;
  if (b.stops()) return b;
  if (a.absent() || b.absent()) return Absent();
  const bool eq = op == BinaryOp::kEq;
  const auto* va = a.get_if<ValueId>();
  const auto* vb = b.get_if<ValueId>();
  if (eq && va != nullptr && vb != nullptr && *va == *vb) return true;
  if (a.is<List>() || b.is<List>()) return CompareLists(*this, op, a, b);
  if (eq) {
    if (std::optional<Val> same = CompareThings(*this, a, b)) return *std::move(same);
  }
  const Val x = Force(a), y = Force(b);
  if (x.stops()) return x;
  if (y.stops()) return y;
  if (!x.is<Num>() || !y.is<Num>()) {
    if (eq) return false;  // things of different kinds
    return Failure{fmt::format("{} and {} have no order", Describe(x), Describe(y))};
  }
  const Tensor& tx = x.get<Num>().t;
  const Tensor& ty = y.get<Num>().t;
  if (tx.is_string() || ty.is_string()) {
    if (!eq || tx.dtype() != ty.dtype())
      return eq ? Val(false) : Val(Failure{"strings have no order"});
    const Result<bool> same = BytesEqual(tx, ty);
    return same.ok() && *same;
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
  Result<Num> result = Apply(ToBinOp(op), x.get<Num>(), y.get<Num>());
  if (!result.ok()) {
    if (eq) return false;  // shapes that do not fit
    return Failure{result.status().diagnostics()[0].message};
  }
  return AllTrue(result->t);
}

Val Interpreter::EvalIn(const Val& element, const Val& list) {
  if (element.stops()) return element;
  if (list.stops()) return list;
  if (element.absent() || list.absent()) return Absent();
  if (const auto* many = element.get_if<List>()) {
    Val all = true;
    for (const Val& item : **many) all = And(all, EvalIn(item, list));
    return all;
  }
  std::vector<Val> members;
  if (const auto* l = list.get_if<List>()) {
    members = **l;
  } else {
    const Val forced = Force(list);
    if (forced.stops()) return forced;
    if (!forced.is<Num>()) return Failure{fmt::format("`in` {}", Describe(forced))};
    Result<std::vector<Val>> values = Elements(forced.get<Num>().t);
    if (!values.ok()) return Failure{values.status().message()};
    members = *std::move(values);
  }
  // A tensor is in a list if each of its elements is.
  const Val forced = Force(element);
  if (const auto* n = forced.get_if<Num>(); n != nullptr && n->t.size() > 1) {
    const Result<std::vector<Val>> distinct = Elements(n->t, /*distinct=*/true);
    if (!distinct.ok()) return Failure{distinct.status().message()};
    Val all = true;
    for (const Val& v : *distinct) all = And(all, EvalIn(v, list));
    return all;
  }
  Val any = false;
  for (const Val& member : members) any = Or(any, Truth(Compare(BinaryOp::kEq, element, member)));
  return any;
}

Val Interpreter::EvalMatches(const Val& text, const Val& regex) {
  if (text.stops()) return text;
  if (regex.stops()) return regex;
  if (text.absent() || regex.absent()) return Absent();
  if (const auto* list = text.get_if<List>()) {
    Val all = true;
    for (const Val& item : **list) all = And(all, EvalMatches(item, regex));
    return all;
  }
  if (!text.is<std::string>() || !regex.is<std::string>()) return Failure{"`=~` compares strings"};
  const re2::RE2 compiled(regex.get<std::string>(), re2::RE2::Quiet);
  if (!compiled.ok()) return Failure{"bad regular expression: " + compiled.error()};
  return re2::RE2::PartialMatch(text.get<std::string>(), compiled);
}

}  // namespace qrewrite
