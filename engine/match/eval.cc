// Expressions: names, arithmetic, comparison, three-valued logic, lists.
#include <algorithm>

#include <fmt/format.h>

#include "engine/base/diagnostics.h"
#include "engine/fold/arith.h"
#include "engine/match/interpreter.h"
#include "engine/match/logic.h"

namespace qrewrite {
namespace {

constexpr int kMaxDepth = 300;  // of definitions that call each other

bool IsComparison(BinaryOp op) { return op >= BinaryOp::kEq && op <= BinaryOp::kGe; }

Val FromResult(Result<Num> result) {
  if (!result.ok()) return Failure{result.status().diagnostics()[0].message};
  return *std::move(result);
}

}  // namespace

Interpreter::Interpreter(const Graph& graph, const RuleSet& rules, Facts& facts,
                         const KernelRegistry& kernels, const Params& params,
                         const HostFunctions& hosts)
    : graph_(graph),
      rules_(rules),
      facts_(facts),
      kernels_(kernels),
      params_(params),
      hosts_(hosts) {
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
        const Outputs item =
            Fold(kernels_,
                 {.domain = "", .op = "Gather", .since = 13, .inputs = inputs, .attributes = none});
        items.push_back(item.ok() ? Val(Num{(*item)[0], n->weak})
                                  : Val(Failure{item.status().message()}));
      }
    }
    if (items.size() != parts.size()) {
      items.assign(parts.size(),
                   Failure{fmt::format("{} names, but {} parts", parts.size(), items.size())});
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
    return Unknown{
        fmt::format("size {} is not known", graph_.symbol_name(val.get<SymbolSize>().dim))};
  }
  return val;
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
    if (other != nullptr && other->t.rank() == 1 && other->t.size() == static_cast<int64_t>(n)) {
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
    const Val found =
        ChooseCase(c.cases, &frame, {}, body,
                   [&](const CompiledCase& nested, Frame& f) { inner = outcome(nested, f); });
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
