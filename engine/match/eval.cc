// Expressions: names, arithmetic, comparison, three-valued logic, lists.
#include <algorithm>

#include <fmt/format.h>
#include <re2/re2.h>

#include "engine/base/diagnostics.h"
#include "engine/fold/arith.h"
#include "engine/match/interpreter.h"

namespace qrewrite {
namespace {

constexpr int kMaxDepth = 300;  // of definitions that call each other

BinOp ToBinOp(BinaryOp op) {
  switch (op) {
    case BinaryOp::kAdd: return BinOp::kAdd;
    case BinaryOp::kSub: return BinOp::kSub;
    case BinaryOp::kMul: return BinOp::kMul;
    case BinaryOp::kDiv: return BinOp::kDiv;
    case BinaryOp::kFloorDiv: return BinOp::kFloorDiv;
    case BinaryOp::kMod: return BinOp::kMod;
    case BinaryOp::kPow: return BinOp::kPow;
    case BinaryOp::kEq: return BinOp::kEqual;
    case BinaryOp::kNe: return BinOp::kNotEqual;
    case BinaryOp::kLt: return BinOp::kLess;
    case BinaryOp::kLe: return BinOp::kLessEqual;
    case BinaryOp::kGt: return BinOp::kGreater;
    default: return BinOp::kGreaterEqual;
  }
}

bool IsComparison(BinaryOp op) { return op >= BinaryOp::kEq && op <= BinaryOp::kGe; }

// Every element of a bool tensor.
Val AllTrue(const Tensor& t) {
  const Result<std::vector<int64_t>> values = ToInt64s(t);
  if (!values.ok()) return Failure{values.status().message()};
  return std::all_of(values->begin(), values->end(), [](int64_t b) { return b != 0; });
}

Val FromResult(Result<Num> result) {
  if (!result.ok()) return Failure{result.status().diagnostics()[0].message};
  return *std::move(result);
}

// Kleene's and/or over Val conditions.
Val And(const Val& a, const Val& b) {
  if (const bool* x = a.get_if<bool>(); x != nullptr && !*x) return false;
  if (const bool* y = b.get_if<bool>(); y != nullptr && !*y) return false;
  if (a.stops()) return a;
  return b;
}
Val Or(const Val& a, const Val& b) {
  if (const bool* x = a.get_if<bool>(); x != nullptr && *x) return true;
  if (const bool* y = b.get_if<bool>(); y != nullptr && *y) return true;
  if (a.stops()) return a;
  return b;
}
Val Not(const Val& a) {
  if (const bool* x = a.get_if<bool>()) return !*x;
  return a;
}

}  // namespace

Interpreter::Interpreter(const Graph& graph, const RuleSet& rules, Facts& facts,
                         const KernelRegistry& kernels, const Params& params,
                         const HostFunctions& hosts)
    : graph_(graph), rules_(rules), facts_(facts), kernels_(kernels), params_(params), hosts_(hosts) {
  for (const Definition& d : rules.definitions) {
    definitions_[d.head.name] = CompileDefinition(rules, d);
  }
  facts_.SetStatedTypes([this](NodeId n, const Signature& s) { return StatedTypes(n, s); });
}

const CompiledDefinition* Interpreter::definition(std::string_view name) {
  const auto it = definitions_.find(name);
  return it == definitions_.end() ? nullptr : it->second.get();
}

Val Interpreter::Lookup(std::string_view name, Frame& frame) {
  LocalNames* locals = nullptr;
  for (Frame* f = &frame; f != nullptr; f = f->parent) {
    if (f->locals != nullptr) locals = f->locals;
    const int slot = f->scope->Find(name);
    if (slot < 0) continue;
    if (f->state[slot] == Frame::kBound) return f->slots[slot];
    if (f->scope->lets.count(slot)) return EvalLet(slot, *f);
    if (locals != nullptr) break;  // an output that only the replacement defines
    return Failure{fmt::format("`{}` is not bound here", name)};
  }
  if (locals != nullptr) {
    if (const Val* local = locals->FindLocal(name)) return *local;
  }
  if (name == "opset") return Val::Int(graph_.OpsetOf(frame.body, ""));
  return Failure{fmt::format("`{}` is not bound here", name)};
}

Val Interpreter::EvalLet(int slot, Frame& frame) {
  if (frame.state[slot] == Frame::kEvaluating) {
    return Failure{fmt::format("`{}` is defined by itself", frame.scope->names[slot])};
  }
  const auto [let, position] = frame.scope->lets.at(slot);
  frame.state[slot] = Frame::kEvaluating;
  const Val whole = Eval(*let->value, frame);
  frame.state[slot] = Frame::kUnbound;
  if (position < 0) {
    frame.Bind(slot, whole);
    return whole;
  }
  // `lo, hi: ...` takes a list apart.
  std::vector<Val> parts(let->names.size(), whole);
  if (!whole.stops() && !whole.absent()) {
    std::vector<Val> items;
    if (const auto* list = whole.get_if<List>()) {
      items = **list;
    } else if (const auto* n = whole.get_if<Num>(); n != nullptr && n->t.rank() == 1) {
      for (int64_t i = 0; i < n->t.size() && i < 64; ++i) {
        const Tensor index = Tensor::Int64Scalar(i);
        const std::vector<Tensor> inputs = {n->t, index};
        const Attributes none;
        const Outputs item = Fold(kernels_, {.domain = "", .op = "Gather", .since = 13,
                                             .inputs = inputs, .attributes = none});
        items.push_back(item.ok() ? Val(Num{(*item)[0], n->weak})
                                  : Val(Failure{item.status().message()}));
      }
    }
    if (items.size() != parts.size()) {
      items.assign(parts.size(), Failure{fmt::format("{} names, but {} parts", parts.size(),
                                                     items.size())});
    }
    parts = std::move(items);
  }
  for (size_t i = 0; i < parts.size(); ++i) frame.Bind(frame.scope->Find(let->names[i]), parts[i]);
  return parts[position];
}

Val Interpreter::Eval(const Expr& expr, Frame& frame) {
  switch (expr.kind) {
    case Expr::Kind::kInt: return Val::Int(expr.int_value);
    case Expr::Kind::kFloat: return Val::Float(expr.float_value);
    case Expr::Kind::kString: return expr.text;
    case Expr::Kind::kBool: return expr.int_value != 0;
    case Expr::Kind::kAbsent: return Absent();
    case Expr::Kind::kName: return Lookup(expr.text, frame);
    case Expr::Kind::kDType: return expr.dtype;
    case Expr::Kind::kSet: {
      const OpSet* set = rules_.FindSet(expr.text);
      return set == nullptr ? Val(Failure{"unknown set @" + expr.text}) : Val(set);
    }
    case Expr::Kind::kList: return EvalList(expr, frame);
    case Expr::Kind::kIndex: return EvalIndex(expr, frame);
    case Expr::Kind::kMember: {
      const Expr& base = *expr.items[0];
      if (base.kind == Expr::Kind::kName && base.text == "params") {
        const auto it = params_.find(expr.text);
        return it == params_.end() ? Val(Failure{"unknown parameter " + expr.text}) : it->second;
      }
      return SetData(base.text, expr.text, frame);
    }
    case Expr::Kind::kUnary: {
      const Val operand = Eval(*expr.items[0], frame);
      if (expr.unary == UnaryOp::kNot) return Not(Truth(operand));
      return Arithmetic(BinaryOp::kMul, Val::Int(-1), operand);
    }
    case Expr::Kind::kIf: {
      const Val condition = Truth(Eval(*expr.items[1], frame));
      if (condition.stops()) return condition;
      return Eval(*expr.items[condition.get<bool>() ? 0 : 2], frame);
    }
    case Expr::Kind::kBinary: return EvalLogic(expr, frame);
    case Expr::Kind::kCall: {
      if (!expr.refs.empty() && expr.refs[0].kind == Ref::Kind::kDefinition) {
        const CompiledDefinition* d = definition(expr.refs[0].name);
        std::vector<Val> args;
        for (const Arg& a : expr.args) args.push_back(Eval(*a.value, frame));
        if (d == nullptr) return Failure{"unknown definition $" + expr.refs[0].name};
        return CallDefinition(*d, std::move(args), frame.body);
      }
      const std::string& head = expr.refs[0].name;
      const bool function = expr.refs.size() == 1 && head.find('.') == std::string::npos &&
                            !head.empty() && std::islower(static_cast<unsigned char>(head[0]));
      return function ? CallFunction(expr, frame) : EvalOperator(expr, frame);
    }
    default: return Failure{"this has no value"};
  }
}

Val Interpreter::EvalLogic(const Expr& expr, Frame& frame) {
  const Expr& left = *expr.items[0];
  const Expr& right = *expr.items[1];
  switch (expr.binary) {
    case BinaryOp::kAnd: {
      const Val a = Truth(Eval(left, frame));
      if (const bool* x = a.get_if<bool>(); x != nullptr && !*x) return false;
      return And(a, Truth(Eval(right, frame)));
    }
    case BinaryOp::kOr: {
      const Val a = Truth(Eval(left, frame));
      if (const bool* x = a.get_if<bool>(); x != nullptr && *x) return true;
      return Or(a, Truth(Eval(right, frame)));
    }
    case BinaryOp::kCoalesce: {
      const Val a = Eval(left, frame);
      return a.absent() ? Eval(right, frame) : a;
    }
    case BinaryOp::kIn: return EvalIn(Eval(left, frame), Eval(right, frame));
    case BinaryOp::kMatches: return EvalMatches(Eval(left, frame), Eval(right, frame));
    default: break;
  }
  const Val a = Eval(left, frame);
  const Val b = Eval(right, frame);
  return IsComparison(expr.binary) ? Compare(expr.binary, a, b) : Arithmetic(expr.binary, a, b);
}

Val Interpreter::Truth(const Val& val) {
  if (val.stops() || val.is<bool>()) return val;
  if (val.absent()) return false;
  if (const auto* n = val.get_if<Num>()) {
    if (n->t.dtype() == DType::kBool) return AllTrue(n->t);
    return Failure{"a number is no condition"};
  }
  if (val.is<ValueId>()) {
    const Val forced = Force(val);
    return forced.is<ValueId>() ? Val(Failure{"no condition"}) : Truth(forced);
  }
  if (const auto* list = val.get_if<List>()) {
    Val all = true;
    for (const Val& item : **list) all = And(all, Truth(item));
    return all;
  }
  return Failure{fmt::format("{} is no condition", Describe(val))};
}

Val Interpreter::Force(const Val& val) {
  if (const auto* v = val.get_if<ValueId>()) {
    const Tensor* t = facts_.Constant(*v);
    if (t == nullptr) return Unknown{facts_.WhyNotConstant(*v)};
    return Num{*t, false};
  }
  if (const bool* b = val.get_if<bool>()) return Num{Tensor::Bool(*b), false};
  if (const auto* list = val.get_if<List>()) return Concat(**list);
  if (val.is<SymbolSize>()) {
    return Unknown{fmt::format("size {} is not known", graph_.symbol_name(val.get<SymbolSize>().dim))};
  }
  return val;
}

// Scalars as one 1-D tensor of the type they share.
Val Interpreter::Concat(const std::vector<Val>& items) {
  if (items.empty()) return Num{Tensor::Int64s({}), true};
  std::vector<Tensor> parts;
  Val common = Val::Int(0);
  bool weak = true;
  for (const Val& item : items) {
    const Val forced = Force(item);
    if (forced.stops()) return forced;
    const auto* n = forced.get_if<Num>();
    if (n == nullptr || n->t.size() != 1) return Failure{"a list of other things than numbers"};
    weak &= n->weak;
    parts.push_back(n->t.Reshaped({1}));
    // Adding 0 in turn finds the type that holds them all.
    common = Arithmetic(BinaryOp::kAdd, common,
                        Arithmetic(BinaryOp::kMul, Num{n->t.Reshaped({}), n->weak}, Val::Int(0)));
    if (common.stops()) return common;
  }
  const DType dtype = common.get<Num>().t.dtype();
  if (IsFloat(dtype)) {
    std::vector<double> values;
    for (const Tensor& t : parts) {
      const Result<std::vector<double>> v = ToDoubles(t);
      if (!v.ok()) return Failure{v.status().message()};
      values.push_back((*v)[0]);
    }
    Result<Tensor> t = FromDoubles(dtype, {static_cast<int64_t>(values.size())}, values);
    return t.ok() ? Val(Num{*t, weak}) : Val(Failure{t.status().message()});
  }
  std::vector<int64_t> values;
  for (const Tensor& t : parts) {
    const Result<std::vector<int64_t>> v = ToInt64s(t);
    if (!v.ok()) return Failure{v.status().message()};
    values.push_back((*v)[0]);
  }
  return Num{Tensor::Int64s(values), weak};
}

Val Interpreter::EvalList(const Expr& expr, Frame& frame) {
  std::vector<Val> items;
  bool numbers = true;
  for (const ExprPtr& item : expr.items) {
    items.push_back(Eval(*item, frame));
    if (items.back().stops()) return items.back();
    const auto* n = items.back().get_if<Num>();
    numbers &= n != nullptr && n->weak && n->t.rank() == 0;
  }
  return numbers ? Concat(items) : Val::ListOf(std::move(items));
}

Val Interpreter::Arithmetic(BinaryOp op, const Val& a, const Val& b) {
  if (a.stops()) return a;
  if (b.stops()) return b;
  if (a.absent() || b.absent()) return Absent();
  const auto* la = a.get_if<List>();
  const auto* lb = b.get_if<List>();
  if (la != nullptr || lb != nullptr) {  // member by member
    const size_t n = la != nullptr ? (*la)->size() : (*lb)->size();
    const auto* other = la == nullptr ? a.get_if<Num>() : b.get_if<Num>();
    if (la != nullptr && lb != nullptr && (*la)->size() != (*lb)->size()) {
      return Failure{"lists of different length"};
    }
    if (other != nullptr && other->t.rank() == 1 &&
        other->t.size() == static_cast<int64_t>(n)) {
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
  if (!x.is<Num>() || !y.is<Num>()) {
    return Failure{fmt::format("arithmetic with {} and {}", Describe(x), Describe(y))};
  }
  return FromResult(Apply(ToBinOp(op), x.get<Num>(), y.get<Num>()));
}

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
  const auto* la = a.get_if<List>();
  const auto* lb = b.get_if<List>();
  if (la != nullptr || lb != nullptr) {
    const auto* n = la == nullptr ? a.get_if<Num>() : b.get_if<Num>();
    const size_t size = la != nullptr ? (*la)->size() : (*lb)->size();
    if (la != nullptr && lb != nullptr && (*la)->size() != (*lb)->size()) return !eq ? Val(Failure{"lists of different length"}) : Val(false);
    if (n != nullptr && n->t.rank() == 1) {  // a list of sizes beside numbers
      if (n->t.size() != static_cast<int64_t>(size)) return false;
      const Result<std::vector<double>> values = ToDoubles(n->t);
      if (!values.ok()) return Failure{values.status().message()};
      Val all = true;
      for (size_t i = 0; i < size; ++i) {
        const Val item = Val::Float((*values)[i]);
        all = And(all, la != nullptr ? Compare(op, (**la)[i], item) : Compare(op, item, (**lb)[i]));
      }
      return all;
    }
    Val all = true;
    for (size_t i = 0; i < size; ++i) {
      all = And(all, Truth(Compare(op, la != nullptr ? (**la)[i] : a, lb != nullptr ? (**lb)[i] : b)));
    }
    return all;
  }
  if (eq) {
    const auto* sa = a.get_if<SymbolSize>();
    const auto* sb = b.get_if<SymbolSize>();
    if (sa != nullptr && sb != nullptr && sa->dim == sb->dim) return true;
    if (a.is<std::string>() && b.is<std::string>()) return a.get<std::string>() == b.get<std::string>();
    if (a.is<DType>() && b.is<DType>()) return a.get<DType>() == b.get<DType>();
    // Attributes like `to` hold element types as numbers; operators are compared by name.
    if (a.is<DType>()) return Compare(op, Val::Int(static_cast<int64_t>(a.get<DType>())), b);
    if (b.is<DType>()) return Compare(op, a, Val::Int(static_cast<int64_t>(b.get<DType>())));
    if (a.is<OpName>()) return Compare(op, a.get<OpName>().text(), b);
    if (b.is<OpName>()) return Compare(op, a, b.get<OpName>().text());
    if (a.is<LabelRef>() && b.is<LabelRef>()) return a.get<LabelRef>().node == b.get<LabelRef>().node;
    if (a.is<BodyRef>() && b.is<BodyRef>()) return a.get<BodyRef>().body == b.get<BodyRef>().body;
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
    if (!eq || tx.dtype() != ty.dtype()) return eq ? Val(false) : Val(Failure{"strings have no order"});
    const Result<bool> same = BytesEqual(tx, ty);
    return same.ok() && *same;
  }
  if (eq) {
    const bool lists = tx.rank() == 1 && ty.rank() == 1 && !IsFloat(tx.dtype()) && !IsFloat(ty.dtype());
    if (lists && tx.size() != ty.size()) return false;
    if (tx.key() == ty.key() && tx.dtype() == ty.dtype() && tx.dims() == ty.dims() && tx.is_lazy()) {
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
    const Result<std::vector<double>> values = ToDoubles(forced.get<Num>().t);
    if (!values.ok()) return Failure{values.status().message()};
    for (const double v : *values) members.push_back(Val::Float(v));
  }
  // A tensor is in a list if each of its elements is.
  const Val forced = Force(element);
  if (const auto* n = forced.get_if<Num>(); n != nullptr && n->t.size() > 1) {
    const Result<std::vector<double>> values = ToDoubles(n->t);
    if (!values.ok()) return Failure{values.status().message()};
    std::vector<double> distinct = *values;
    std::sort(distinct.begin(), distinct.end());
    distinct.erase(std::unique(distinct.begin(), distinct.end()), distinct.end());
    Val all = true;
    for (const double v : distinct) all = And(all, EvalIn(Val::Float(v), list));
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

Val Interpreter::EvalIndex(const Expr& expr, Frame& frame) {
  Val base = Eval(*expr.items[0], frame);
  if (base.stops() || base.absent()) return base;
  const auto* list = base.get_if<List>();
  if (list == nullptr) {
    base = Force(base);
    if (base.stops() || base.absent()) return base;
    if (!base.is<Num>()) return Failure{fmt::format("{} cannot be indexed", Describe(base))};
    return SliceTensor(base.get<Num>(), expr, frame);
  }
  if (expr.subscripts.size() != 1) return Failure{"a list has one index"};
  const Subscript& s = expr.subscripts[0];
  const int64_t n = static_cast<int64_t>((*list)->size());
  const auto bound = [&](const ExprPtr& e, int64_t open) -> Val {
    if (!e) return Val::Int(open);
    return Force(Eval(*e, frame));
  };
  const Val start = bound(s.start, 0), stop = bound(s.stop, n);
  for (const Val* v : {&start, &stop}) {
    if (v->stops() || v->absent()) return *v;
    if (!v->is<Num>() || v->get<Num>().t.size() != 1) return Failure{"an index is one integer"};
  }
  const Result<std::vector<int64_t>> from = ToInt64s(start.get<Num>().t);
  const Result<std::vector<int64_t>> to = ToInt64s(stop.get<Num>().t);
  if (!from.ok() || !to.ok()) return Failure{"an index is one integer"};
  int64_t a = (*from)[0], b = (*to)[0];
  if (a < 0) a += n;
  if (!s.slice) {
    if (a < 0 || a >= n) return Failure{fmt::format("index {} of a list of {}", (*from)[0], n)};
    return (**list)[a];
  }
  if (b < 0) b += n;
  a = std::clamp<int64_t>(a, 0, n);
  b = std::clamp<int64_t>(b, a, n);
  return Val::ListOf({(*list)->begin() + a, (*list)->begin() + b});
}

Val Interpreter::SliceTensor(const Num& base, const Expr& expr, Frame& frame) {
  Tensor t = base.t;
  const Attributes none;
  int64_t axis = 0;
  for (const Subscript& s : expr.subscripts) {
    if (axis >= t.rank()) return Failure{"too many indices"};
    const auto number = [&](const ExprPtr& e, int64_t open) -> Val {
      return e ? Force(Eval(*e, frame)) : Val::Int(open);
    };
    const Val start = number(s.start, 0), stop = number(s.stop, INT64_MAX);
    for (const Val* v : {&start, &stop}) {
      if (v->stops() || v->absent()) return *v;
      if (!v->is<Num>() || !IsInteger(v->get<Num>().t.dtype()) ||
          v->get<Num>().t.size() != 1) {
        return Failure{"an index is one integer"};
      }
    }
    if (!s.start && !s.stop) {
      ++axis;
      continue;
    }
    const Result<std::vector<int64_t>> a = ToInt64s(start.get<Num>().t);
    const Result<std::vector<int64_t>> b = ToInt64s(stop.get<Num>().t);
    if (!a.ok() || !b.ok()) return Failure{"an index is one integer"};
    std::vector<Tensor> inputs;
    Attributes attributes;
    if (s.slice) {
      inputs = {t, Tensor::Int64s({(*a)[0]}), Tensor::Int64s({(*b)[0]}), Tensor::Int64s({axis})};
    } else {
      inputs = {t, Tensor::Int64Scalar((*a)[0])};
      attributes.Set("axis", axis);
    }
    const Outputs out = Fold(kernels_, {.domain = "", .op = s.slice ? "Slice" : "Gather", .since = 13,
                                        .inputs = inputs, .attributes = attributes});
    if (!out.ok()) return Failure{out.status().diagnostics()[0].message};
    t = (*out)[0];
    if (s.slice) ++axis;
  }
  return Num{t, base.weak};
}

Val Interpreter::CallDefinition(const CompiledDefinition& d, std::vector<Val> args, BodyId body) {
  const ValueId* only = args.size() == 1 ? args[0].get_if<ValueId>() : nullptr;
  const std::pair key(&d, only != nullptr ? *only : ValueId());
  if (only != nullptr) {
    if (const auto it = memo_.find(key); it != memo_.end()) return it->second;
  }
  if (depth_ >= kMaxDepth) {
    return Unknown{fmt::format("${} calls itself too deeply", d.definition->head.name)};
  }
  ++depth_;
  Val result;
  const std::function<Val(const CompiledCase&, Frame&)> outcome = [&](const CompiledCase& c,
                                                                      Frame& frame) -> Val {
    if (c.source->outcome.is) return Eval(*c.source->outcome.is->value, frame);
    if (c.cases.empty()) return Failure{"this definition gives nodes, not a value"};
    Val inner;
    const Val found = ChooseCase(c.cases, &frame, {}, body, [&](const CompiledCase& nested, Frame& f) {
      inner = outcome(nested, f);
    });
    if (found.stops()) return found;
    return found.get<bool>() ? inner : Val(Unknown{"no case applies"});
  };
  // Outputs of a template used as a function are no parameters here.
  const Val found = ChooseCase(d.cases, nullptr, args, body,
                               [&](const CompiledCase& c, Frame& f) { result = outcome(c, f); });
  --depth_;
  if (found.stops()) {
    result = found;
  } else if (!found.get<bool>()) {
    result = Unknown{fmt::format("no case of ${} applies", d.definition->head.name)};
  }
  if (only != nullptr) memo_[key] = result;
  return result;
}

}  // namespace qrewrite
