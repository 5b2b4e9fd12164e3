// The functions of the rule language (engine/expr/functions.inc documents them).
#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "engine/fold/functions.h"
#include "engine/match/function_call.h"

namespace qrewrite {
namespace {

Val FromTensor(Result<Tensor> t, bool weak = false) {
  if (!t.ok()) return Failure{t.status().diagnostics()[0].message};
  return Num{*std::move(t), weak};
}

using Function = Val (*)(const FunctionCall&);

std::optional<int64_t> AsInt(Interpreter& in, const Val& val) {
  const Val forced = in.Force(val);
  const auto* n = forced.get_if<Num>();
  if (n == nullptr || n->t.size() != 1 || !IsInteger(n->t.dtype())) return std::nullopt;
  const Result<std::vector<int64_t>> values = ToInt64s(n->t);
  if (!values.ok()) return std::nullopt;
  return (*values)[0];
}

// --- absence and knowledge

Val Present(const FunctionCall& c) { return c[0].stops() ? c[0] : Val(!c[0].absent()); }

Val Known(const FunctionCall& c) {
  if (c[0].is<ValueId>()) return true;
  return !c[0].is<Unknown>() && !c[0].is<Failure>();
}

Val Sure(const FunctionCall& c) {
  const Val truth = c.in.Truth(c[0]);
  return truth.stops() ? Val(false) : truth;
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
    const auto* n = forced.get_if<Num>();
    if (n == nullptr) return Failure{fmt::format("cast of {}", Describe(forced))};
    return FromTensor(CastExact(n->t, dtype));
  });
}

template <DType kDType>
Val CastFixed(const FunctionCall& c) {
  // `i64([k])`: a list is one tensor.
  if (c[0].is<List>()) {
    const Val whole = c.in.Force(c[0]);
    if (whole.is<Num>()) return CastTo(c, whole, kDType);
  }
  return CastTo(c, c[0], kDType);
}

Val Cast(const FunctionCall& c) {
  if (c[0].absent()) return c[0];
  if (c[1].stops() || c[1].absent()) return c[1];
  if (const auto* dtype = c[1].get_if<DType>()) return CastTo(c, c[0], *dtype);
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
    const auto* n = forced.get_if<Num>();
    if (n == nullptr) return Failure{fmt::format("{} is no number", Describe(forced))};
    return f(*n);
  });
}

Val RintOf(const FunctionCall& c) {
  return OnNum(c, c[0], [](const Num& n) { return FromTensor(RoundMode(n.t, "ROUND"), n.weak); });
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
    if (!v->absent() && !v->is<Num>()) return Failure{"clip: not a number"};
  }
  if (x.absent()) return x;
  const Result<Num> clamped = Clamp(x.get<Num>(), lo.get_if<Num>(), hi.get_if<Num>());
  if (!clamped.ok()) return Failure{clamped.status().diagnostics()[0].message};
  return *clamped;
}

template <bool kMax>
Val Extreme(const FunctionCall& c) {
  if (const auto* list = c[0].get_if<List>()) {
    Val best;
    for (const Val& item : **list) {
      FunctionCall one{c.in, c.frame, {item}};
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
    if (!v->is<Num>()) return Failure{"near: not a number"};
  }
  const Result<std::vector<double>> rtol = ToDoubles(r.get<Num>().t);
  if (!rtol.ok() || rtol->size() != 1) return Failure{"near: the tolerance is one number"};
  const Result<bool> same = Near(a.get<Num>().t, b.get<Num>().t, (*rtol)[0]);
  return same.ok() && *same;
}

Val Len(const FunctionCall& c) {
  if (const auto* list = c[0].get_if<List>())
    return Val::Int(static_cast<int64_t>((*list)->size()));
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
      {"along", AlongOf},
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
      {"is_output", IsOutput},
      {"known", Known},
      {"len", Len},
      {"max", Extreme<true>},
      {"min", Extreme<false>},
      {"name", NameOf},
      {"near", NearOf},
      {"op", OpOf},
      {"present", Present},
      {"qmax", Limit<true>},
      {"qmin", Limit<false>},
      {"rank", RankOf},
      {"rint", RintOf},
      {"round", RoundOf},
      {"shape", ShapeOf},
      {"size", SizeOf},
      {"stretch", StretchOf},
      {"sure", Sure},
      {"u16", CastFixed<DType::kUint16>},
      {"u32", CastFixed<DType::kUint32>},
      {"u64", CastFixed<DType::kUint64>},
      {"u8", CastFixed<DType::kUint8>},
      {"unpack", UnpackOf},
      {"uses", UsesOf},
  };
  return *table;
}

// These look at what they are given even if it stops a computation.
bool TakesAnything(std::string_view name) {
  return name == "known" || name == "sure" || name == "present";
}

}  // namespace

Val Interpreter::CallFunction(const Expr& call, Frame& frame) {
  const std::string& name = call.refs[0].name;
  FunctionCall c{*this, frame, {}};
  for (const Arg& a : call.args) {
    c.args.push_back(Eval(*a.value, frame));
    if (c.args.back().stops() && !TakesAnything(name)) return c.args.back();
  }
  if (const auto it = Table().find(name); it != Table().end()) return it->second(c);
  const auto host = hosts_.find(name);
  if (host == hosts_.end()) return Failure{"unknown function " + name};
  std::vector<Tensor> tensors;
  for (const Val& a : c.args) {
    const Val forced = Force(a);
    if (forced.stops() || forced.absent()) return forced;
    if (!forced.is<Num>()) return Failure{fmt::format("{} is given {}", name, Describe(forced))};
    tensors.push_back(forced.get<Num>().t);
  }
  Result<Tensor> out = host->second(tensors);
  return FromTensor(std::move(out));
}

}  // namespace qrewrite
