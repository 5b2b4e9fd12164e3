// The functions of the rule language (engine/expr/functions.inc documents them).
#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "engine/expr/functions.h"
#include "engine/fold/functions.h"
#include "engine/match/failure.h"
#include "engine/match/function_call.h"
#include "engine/match/logic.h"
#include "engine/program/scalar.h"

namespace qrewrite {
namespace {

Val FromTensor(Result<Tensor> t, bool weak = false) {
  if (!t.ok()) return FailureOf(t.status());
  return Num{*std::move(t), weak};
}

using Function = Val (*)(const FunctionCall&);

std::optional<int64_t> AsInt(Interpreter& in, const Val& val) { return in.Force(val).whole(); }

// --- absence and knowledge

Val Present(const FunctionCall& c) {
  return Each(c[0], [](const Val& x) { return x.stops() ? x : Val(!x.absent()); });
}

bool IsKnown(const Val& val) {
  const auto* list = val.get_if<List>();
  return list != nullptr ? std::ranges::all_of(**list, IsKnown) : !val.stops();
}

Val Known(const FunctionCall& c) { return IsKnown(c[0]); }

Val Sure(const FunctionCall& c) {
  const Val truth = c.in.Truth(c[0]);
  return truth.stops() ? Val(false) : truth;
}

// `[]` is a list of anything.
bool IsNothing(const Val& list) { return list.is_number() && list.size() == 0; }

Val AllOf(const FunctionCall& c) { return IsNothing(c[0]) ? Val(true) : c.in.Truth(c[0]); }

Val AnyOf(const FunctionCall& c) {
  if (const auto* list = c[0].get_if<List>()) {
    Val any = false;
    for (const Val& item : **list) any = Or(any, c.in.Truth(item));
    return any;
  }
  if (IsNothing(c[0])) return false;
  const Val forced = c[0].is<ValueId>() ? c.in.Force(c[0]) : c[0];
  const auto* number = forced.get_if<Num>();
  if (number == nullptr || number->t.dtype() != DType::kBool) return c.in.Truth(forced);
  const Result<Tensor> elements = number->t.Materialize();
  if (!elements.ok()) return FailureOf(elements.status());
  return std::ranges::any_of(elements->as<uint8_t>(), [](uint8_t e) { return e != 0; });
}

Val Fail(const FunctionCall& c) {
  return c[0].is<std::string>() ? Val(Failure{c[0].get<std::string>()}) : Val(Failure{"fail"});
}

// --- numbers

Val CastTo(const FunctionCall& c, const Val& x, DType dtype) {
  return Each(x, [&](const Val& item) -> Val {
    if (item.absent()) return item;
    if (const auto* v = item.get_if<ValueId>()) {
      // A value of that type already stays what it is, known or not.
      if (c.in.facts().dtype(*v) == dtype) return item;
    }
    const Val forced = c.in.Force(item);
    if (forced.stops()) return forced;
    if (!forced.is_number()) return Failure{fmt::format("cast of {}", Describe(forced))};
    return FromTensor(CastExact(forced.number().t, dtype));
  });
}

template <DType kDType>
Val CastFixed(const FunctionCall& c) {
  // `i64([k])`: a list is one tensor.
  if (c[0].is<List>()) {
    const Val whole = c.in.Force(c[0]);
    if (whole.is_number()) return CastTo(c, whole, kDType);
  }
  return CastTo(c, c[0], kDType);
}

Val Cast(const FunctionCall& c) {
  if (c[0].absent()) return c[0];
  if (c[1].stops() || c[1].absent()) return c[1];
  if (const std::optional<DType> dtype = ElementTypeOf(c[1])) return CastTo(c, c[0], *dtype);
  if (const auto number = AsInt(c.in, c[1]); number && IsKnownDType(static_cast<int>(*number))) {
    return CastTo(c, c[0], static_cast<DType>(*number));
  }
  return Failure{"cast: no element type"};
}

// Numbers one by one; what is absent stays absent.
template <class F>
Val OnNum(const FunctionCall& c, const Val& x, F f) {
  return Each(x, [&](const Val& item) -> Val {
    const Val forced = c.in.Force(item);
    if (forced.stops() || forced.absent()) return forced;
    if (!forced.is_number()) return Failure{fmt::format("{} is no number", Describe(forced))};
    return f(forced.number());
  });
}

Val RintOf(const FunctionCall& c) {
  return OnNum(c, c[0],
               [](const Num& n) { return FromTensor(RoundMode(n.t, "HALF_EVEN"), n.weak); });
}

Val RoundOf(const FunctionCall& c) {
  if (!c[1].is<std::string>()) return Failure{"round: the mode is a string"};
  return OnNum(c, c[0], [&](const Num& n) {
    return FromTensor(RoundMode(n.t, c[1].get<std::string>()), n.weak);
  });
}

Val Clip(const FunctionCall& c) {
  const Val x = c.in.Force(c[0]), lo = c.in.Force(c[1]), hi = c.in.Force(c[2]);
  for (const Val* v : {&x, &lo, &hi}) {
    if (v->stops()) return *v;
    if (!v->absent() && !v->is_number()) return Failure{"clip: not a number"};
  }
  if (x.absent()) return x;
  const Num least = lo.absent() ? Num() : lo.number(), most = hi.absent() ? Num() : hi.number();
  const Result<Num> clamped =
      Clamp(x.number(), lo.absent() ? nullptr : &least, hi.absent() ? nullptr : &most);
  if (!clamped.ok()) return FailureOf(clamped.status());
  return *clamped;
}

template <bool kMax>
Val Extreme(const FunctionCall& c) {
  if (const auto* list = c[0].get_if<List>()) {
    Val best;
    for (const Val& item : **list) {
      const FunctionCall one{c.in, c.frame, c.code, {item}};
      const Val part = Extreme<kMax>(one);
      if (part.stops()) return part;
      if (best.absent()) {
        best = part;
        continue;
      }
      const Val less = c.in.Compare(BinaryOp::kLt, best, part);
      if (less.stops()) return less;
      if (less.is<bool>() && less.get<bool>() == kMax) best = part;
    }
    return best;
  }
  if (c[0].is<int64_t>() || c[0].is<double>()) return c[0];
  if (const auto* ints = c[0].get_if<Ints>(); ints != nullptr && ints->n > 0) {
    return Val::Int(kMax ? *std::max_element(ints->begin(), ints->end())
                         : *std::min_element(ints->begin(), ints->end()));
  }
  return OnNum(c, c[0],
               [](const Num& n) { return FromTensor(kMax ? MaxOf(n.t) : MinOf(n.t), n.weak); });
}

template <bool kMax>
Val Limit(const FunctionCall& c) {
  const Val dtypes = DTypeOf(c);
  return Each(dtypes, [](const Val& x) -> Val {
    if (!x.is<DType>()) return x;
    const DType dtype = x.get<DType>();
    if (!IsInteger(dtype)) return Failure{fmt::format("{} is no integer type", Info(dtype).name)};
    return Val::Int(kMax ? IntMax(dtype) : IntMin(dtype));
  });
}

Val NearOf(const FunctionCall& c) {
  if (c[0].absent() || c[1].absent()) return Val();
  const Val a = c.in.Force(c[0]), b = c.in.Force(c[1]), r = c.in.Force(c[2]);
  for (const Val* v : {&a, &b, &r}) {
    if (v->stops()) return *v;
    if (!v->is_number()) return Failure{"near: not a number"};
  }
  const Result<std::vector<double>> rtol = ToDoubles(r.number().t);
  if (!rtol.ok() || rtol->size() != 1) return Failure{"near: the tolerance is one number"};
  const Result<bool> same = Near(a.number().t, b.number().t, (*rtol)[0]);
  return same.ok() ? Val(*same) : Unequal(same.status());
}

Val Len(const FunctionCall& c) {
  if (const auto* list = c[0].get_if<List>())
    return Val::Int(static_cast<int64_t>((*list)->size()));
  if (const auto* ints = c[0].get_if<Ints>()) return Val::Int(ints->n);
  if (const auto* v = c[0].get_if<ValueId>()) {  // its content need not be known
    const TypeInfo& type = c.in.facts().Type(*v);
    if (type.known_shape() && type.dims.size() == 1) return Val::Int(type.dims[0].size());
  }
  return OnNum(c, c[0], [](const Num& n) -> Val {
    if (n.t.rank() != 1) return Failure{"len: neither a list nor 1-D"};
    return Val::Int(n.t.size());
  });
}

Val UnpackOf(const FunctionCall& c) {
  const auto bits = AsInt(c.in, c[1]);
  if (!bits) return c[0].absent() ? c[0] : Val(Failure{"unpack: bits is one integer"});
  const bool high = c[2].is<std::string>() && c[2].get<std::string>() == "high";
  return OnNum(c, c[0], [&](const Num& n) { return FromTensor(Unpack(n.t, *bits, high)); });
}

Val Log2Of(const FunctionCall& c) {
  return OnNum(c, c[0], [](const Num& n) { return FromTensor(Log2(n.t), n.weak); });
}

Val OtherAxes(const FunctionCall& c) {
  const Val axes = c.in.Force(c[1]);
  for (const Val* v : {&c[0], &axes}) {
    if (v->stops() || v->absent()) return *v;
  }
  const auto rank = AsInt(c.in, c[0]);
  const auto left_out = axes.wholes();
  if (!rank || !left_out || *rank < 0 || *rank > 64) {
    return Failure{"other_axes: rank and axes are integers"};
  }
  std::vector<int64_t> others;
  for (int64_t axis = 0; axis < *rank; ++axis) {
    const bool out =
        std::ranges::any_of(*left_out, [&](int64_t a) { return axis == (a < 0 ? a + *rank : a); });
    if (!out) others.push_back(axis);
  }
  return Val::OfInts(others);
}

Val RepeatOf(const FunctionCall& c) {
  for (const size_t i : {0, 1}) {
    if (c[i].stops() || c[i].absent()) return c[i];
  }
  const auto number = AsInt(c.in, c[0]), times = AsInt(c.in, c[1]);
  if (!number || !times || *times < 0) return Failure{"repeat: k is an integer, n is one from 0"};
  if (!c.in.Step(static_cast<uint64_t>(*times))) return Failure{"too many steps"};
  return Val::OfInts(std::vector<int64_t>(static_cast<size_t>(*times), *number));
}

Val MembersOf(const FunctionCall& c) {
  if (c[0].stops() || c[0].absent() || c[0].is<List>()) return c[0];
  const Val forced = c[0].is<ValueId>() ? c.in.Force(c[0]) : c[0];
  if (forced.stops()) return forced;
  if (!forced.is_number()) return Failure{"members: a constant is needed"};
  const Num number = forced.number();
  if (number.t.rank() == 0) return Failure{"members: a scalar has none"};
  const int64_t count = number.t.dims()[0];
  if (!c.in.Step(static_cast<uint64_t>(count))) return Failure{"too many steps"};
  std::vector<Val> members;
  for (int64_t k = 0; k < count; ++k) {
    members.push_back(c.in.ItemOf(number, k));
    if (members.back().stops()) return members.back();
  }
  return Val::ListOf(std::move(members));
}

Val StretchOf(const FunctionCall& c) {
  if (c[0].absent()) return c[0];
  const auto times = AsInt(c.in, c[1]), axis = AsInt(c.in, c[2]);
  if (!times || !axis) return Failure{"stretch: n and axis are integers"};
  return OnNum(c, c[0],
               [&](const Num& n) { return FromTensor(Stretch(n.t, *times, *axis), n.weak); });
}

Val AlongOf(const FunctionCall& c) {
  if (c[0].absent()) return c[0];
  if (c[1].stops()) return c[1];
  const auto rank = AsInt(c.in, c[1]), axis = AsInt(c.in, c[2]);
  if (!rank || !axis) return Failure{"along: rank and axis are integers"};
  return OnNum(c, c[0], [&](const Num& n) { return FromTensor(Along(n.t, *rank, *axis), n.weak); });
}

const std::map<std::string_view, Function>& Table() {
  static const auto* const table = new std::map<std::string_view, Function>{
      {"all", AllOf},
      {"along", AlongOf},
      {"any", AnyOf},
      {"bf16", CastFixed<DType::kBfloat16>},
      {"cast", Cast},
      {"clip", Clip},
      {"const", IsConst},
      {"count", CountOf},
      {"dtype", DTypeOf},
      {"f16", CastFixed<DType::kFloat16>},
      {"f32", CastFixed<DType::kFloat>},
      {"f64", CastFixed<DType::kDouble>},
      {"fail", Fail},
      {"i16", CastFixed<DType::kInt16>},
      {"i32", CastFixed<DType::kInt32>},
      {"i64", CastFixed<DType::kInt64>},
      {"i8", CastFixed<DType::kInt8>},
      {"inner", InnerOf},
      {"is_input", IsInput},
      {"is_main_output", IsMainOutput},
      {"is_output", IsOutput},
      {"known", Known},
      {"len", Len},
      {"log2", Log2Of},
      {"max", Extreme<true>},
      {"members", MembersOf},
      {"min", Extreme<false>},
      {"name", NameOf},
      {"near", NearOf},
      {"op", OpOf},
      {"other_axes", OtherAxes},
      {"present", Present},
      {"qmax", Limit<true>},
      {"qmin", Limit<false>},
      {"rank", RankOf},
      {"repeat", RepeatOf},
      {"rint", RintOf},
      {"round", RoundOf},
      {"shape", ShapeOf},
      {"size", SizeOf},
      {"stretch", StretchOf},
      {"sure", Sure},
      {"takes", TakesOf},
      {"u16", CastFixed<DType::kUint16>},
      {"u32", CastFixed<DType::kUint32>},
      {"u64", CastFixed<DType::kUint64>},
      {"u8", CastFixed<DType::kUint8>},
      {"unpack", UnpackOf},
      {"uses", UsesOf},
  };
  return *table;
}

// The functions by number, as engine/expr/functions.h has them.
struct Entry {
  Function function;
  bool takes_anything;  // looks at what it is given even if that stops a computation
};

const std::vector<Entry>& Entries() {
  static const auto* const entries = [] {
    auto* table = new std::vector<Entry>();
    for (const FunctionInfo& info : Functions()) {
      const bool anything = info.name == "known" || info.name == "sure" || info.name == "present";
      table->push_back({Table().at(info.name), anything});
    }
    return table;
  }();
  return *entries;
}

}  // namespace

Val Interpreter::CallFunction(const Code& code, Frame& frame) {
  const Entry& entry = Entries()[static_cast<size_t>(code.index)];
  FunctionCall c{*this, frame, code, {}};
  c.args.reserve(code.num_kids);
  for (uint32_t i = 0; i < code.num_kids; ++i) {
    c.args.push_back(Eval(program_.kid(code, i), frame));
    if (c.args.back().stops() && !entry.takes_anything) return c.args.back();
  }
  return entry.function(c);
}

}  // namespace qrewrite
