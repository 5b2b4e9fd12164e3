// Pattern search. Choices (commutativity, cases, optional and repeated parts, uses) are loops; what
// follows a choice is a continuation, so every combination is tried: the search is complete.
// The depth of the recursion is bounded by the size of the pattern, not by the model.
#include <algorithm>
#include <cmath>
#include <cstring>

#include <fmt/format.h>

#include "engine/base/diagnostics.h"
#include "engine/expr/parser.h"
#include "engine/match/interpreter.h"

namespace qrewrite {
namespace {

constexpr uint64_t kMaxSteps = 2'000'000;  // of one match from one anchor

std::string Where(const Graph& graph, NodeId n) {
  if (!n.valid()) return "no node";
  return fmt::format("{} `{}`", graph.op_name(graph.op(n)).text(), Printable(graph.name(n)));
}

// Distance of two floats of the same width in units in the last place.
template <class Bits, class Float>
int64_t UlpDistance(Float a, Float b) {
  Bits x, y;
  std::memcpy(&x, &a, sizeof a);
  std::memcpy(&y, &b, sizeof b);
  const Bits sign = Bits{1} << (sizeof(Bits) * 8 - 1);
  const auto key = [sign](Bits v) {
    return static_cast<int64_t>(v & sign ? static_cast<Bits>(0) - (v & ~sign) : v);
  };
  const int64_t distance = key(x) - key(y);
  return distance < 0 ? -distance : distance;
}

bool ElementEquals(DType dtype, double element, const Expr& literal) {
  const double wanted = literal.kind == Expr::Kind::kFloat
                            ? literal.float_value
                            : static_cast<double>(literal.int_value);
  if (IsInteger(dtype) || dtype == DType::kBool) return element == wanted;
  switch (dtype) {
    case DType::kDouble:
      return element == wanted ||
             (literal.ulps > 0 && UlpDistance<uint64_t>(element, wanted) <= literal.ulps);
    case DType::kFloat: {
      const float a = static_cast<float>(element), b = static_cast<float>(wanted);
      return a == b || (literal.ulps > 0 && UlpDistance<uint32_t>(a, b) <= literal.ulps);
    }
    default: {  // narrow floats: neighbours of the encoding
      const auto a = static_cast<int64_t>(EncodeFloat(dtype, element));
      const auto b = static_cast<int64_t>(EncodeFloat(dtype, wanted));
      return DecodeFloat(dtype, static_cast<uint32_t>(b)) == static_cast<float>(element) ||
             std::abs(a - b) <= literal.ulps;
    }
  }
}

}  // namespace

// One search. Holds no state of its own but references; the bindings are in the frame.
class MatchRun {
 public:
  using Next = FunctionRef<bool()>;
  explicit MatchRun(Interpreter& in) : in_(in), graph_(in.graph_), facts_(in.facts_) {}

  // The statements of `pattern` from `step` on; the anchor is matched already.
  bool Rest(const Pattern& pattern, size_t step, Frame& frame, Next next) {
    if (step == pattern.rest.size()) return next();
    const PlanStep& plan = pattern.rest[step];
    const PatStmt& stmt = pattern.stmts[plan.stmt];
    const auto then = [&] { return Rest(pattern, step + 1, frame, next); };
    if (plan.down) return Down(pattern, stmt, plan.slot, frame, then);
    const auto* v = frame.slots[plan.slot].get_if<ValueId>();
    if (v == nullptr) {
      return Fail(stmt.stmt->place, NodeId(),
                  fmt::format("`{}` is no value of the graph", frame.scope->names[plan.slot]));
    }
    return StatementAt(pattern, stmt, *v, frame, then);
  }

  bool Early(const Pattern& pattern, Frame& frame) {
    return std::all_of(pattern.early.begin(), pattern.early.end(),
                       [&](int w) { return Holds(*pattern.where[w].expr, frame); });
  }

  // The statement that makes `v`.
  bool StatementAt(const Pattern& pattern, const PatStmt& stmt, ValueId v, Frame& frame, Next next) {
    if (stmt.value.expr == nullptr) return next();  // names alone
    if (stmt.value.kind != PatArg::Kind::kCall) return Value(pattern, stmt.value, v, frame, next);
    const PatCall& call = *stmt.value.call;
    if (call.definition != nullptr || call.quantifier != Quantifier::kOne) {
      return Value(pattern, stmt.value, v, frame, next);
    }
    const NodeId n = graph_.producer(v);
    if (!n.valid()) {
      return Fail(stmt.stmt->place, n, fmt::format("`{}` has no producer", Printable(graph_.name(v))));
    }
    return Statement(pattern, stmt, n, frame, next);
  }

  // The statement with `n` as its node; outputs bind as the pattern lists them.
  bool Statement(const Pattern& pattern, const PatStmt& stmt, NodeId n, Frame& frame, Next next) {
    const PatCall& call = *stmt.value.call;
    if (call.definition != nullptr) {
      // The first output of the definition is a value that n makes.
      for (size_t i = 0; i < graph_.num_outputs(n); ++i) {
        const ValueId v = graph_.output(n, i);
        if (!v.valid()) continue;
        const bool found = Definition(pattern, call, v, frame, [&] {
          if (stmt.outs.empty() || stmt.outs[0].slot < 0) return next();
          return Bind(pattern, stmt.outs[0].slot, v, frame, stmt.stmt->place, next);
        });
        if (found) return true;
      }
      return false;
    }
    if (!call.ops.Accepts(graph_, graph_.op(n))) {
      return Fail(call.expr->place, n, fmt::format("the operator is {}", Where(graph_, n)));
    }
    return Outs(pattern, stmt.outs, 0, n, 0, -1, stmt, frame, [&](int named) {
      return Node(pattern, call, n, named < 0 ? 0 : named, frame, next);
    });
  }

 private:
  // --- outputs of a statement: out patterns [i..) against outputs [j..) of n
  bool Outs(const Pattern& pattern, const std::vector<PatOut>& outs, size_t i, NodeId n, size_t j,
            int named, const PatStmt& stmt, Frame& frame, FunctionRef<bool(int)> next) {
    const size_t count = graph_.num_outputs(n);
    const Place& place = stmt.stmt->place;
    if (i == outs.size()) {
      for (; j < count; ++j) {
        const ValueId v = graph_.output(n, j);
        if (v.valid() && in_.CountUses(v) > 0) {
          return Fail(place, n, fmt::format("output {} of {} is read but not in the pattern", j,
                                            Where(graph_, n)));
        }
      }
      return next(named);
    }
    const PatOut& out = outs[i];
    if (out.repeated) {
      const size_t least = out.slot < 0 && i + 1 < outs.size() ? 0 : count - std::min(j, count);
      for (size_t take = least; j + take <= count; ++take) {
        const auto then = [&] {
          return Outs(pattern, outs, i + 1, n, j + take, named < 0 && out.slot >= 0 ? int(j) : named,
                      stmt, frame, next);
        };
        if (out.slot < 0) {
          if (then()) return true;
          continue;
        }
        std::vector<Val> list;
        for (size_t k = j; k < j + take; ++k) {
          const ValueId v = graph_.output(n, k);
          list.push_back(v.valid() ? Val(v) : Val());
        }
        if (Bind(pattern, out.slot, Val::ListOf(std::move(list)), frame, place, then)) return true;
      }
      return false;
    }
    const ValueId v = j < count ? graph_.output(n, j) : ValueId();
    if (!v.valid() && !out.optional && out.slot >= 0) {
      return Fail(place, n, fmt::format("{} has no output {}", Where(graph_, n), j));
    }
    const auto then = [&] {
      return Outs(pattern, outs, i + 1, n, j + 1, named < 0 && out.slot >= 0 ? int(j) : named, stmt,
                  frame, next);
    };
    if (out.slot < 0) return then();
    return Bind(pattern, out.slot, v.valid() ? Val(v) : Val(), frame, place, then);
  }

  // --- a node whose operator and outputs fit: attributes, label, inputs
  bool Node(const Pattern& pattern, const PatCall& call, NodeId n, uint32_t output, Frame& frame,
            Next next) {
    const auto inputs = [&] { return Inputs(pattern, call, n, frame, next); };
    const auto attrs = [&] { return Attrs(pattern, call, 0, n, frame, inputs); };
    if (call.label < 0) return attrs();
    return Bind(pattern, call.label, LabelRef{n, output}, frame, call.expr->place, attrs);
  }

  // An operator as a value: its node must name `v` as first output, others unread.
  bool Operator(const Pattern& pattern, const PatCall& call, ValueId v, Frame& frame, Next next) {
    const NodeId n = graph_.producer(v);
    if (!n.valid()) {
      return Fail(call.expr->place, n,
                  fmt::format("`{}` is {}", Printable(graph_.name(v)),
                              graph_.constant(v) ? "a constant" : "an input"));
    }
    if (!call.ops.Accepts(graph_, graph_.op(n))) {
      return Fail(call.expr->place, n,
                  fmt::format("`{}` comes from {}", Printable(graph_.name(v)), Where(graph_, n)));
    }
    if (graph_.output_index(v) != 0) {
      return Fail(call.expr->place, n,
                  fmt::format("`{}` is not the first output of {}", Printable(graph_.name(v)),
                              Where(graph_, n)));
    }
    for (size_t j = 1; j < graph_.num_outputs(n); ++j) {
      const ValueId other = graph_.output(n, j);
      if (other.valid() && in_.CountUses(other) > 0) {
        return Fail(call.expr->place, n, fmt::format("output {} of {} is read but not in the pattern",
                                                     j, Where(graph_, n)));
      }
    }
    return Node(pattern, call, n, 0, frame, next);
  }

  bool Attrs(const Pattern& pattern, const PatCall& call, size_t i, NodeId n, Frame& frame, Next next) {
    if (i == call.attrs.size()) {
      if (!call.has_rest) return NoOtherAttrs(call, n) && next();
      if (call.rest < 0) return next();
      AttrRest rest{.node = n, .mentioned = {}};
      for (const PatAttr& a : call.attrs) rest.mentioned.push_back(a.name);
      return Bind(pattern, call.rest, std::move(rest), frame, call.expr->place, next);
    }
    const PatAttr& attr = call.attrs[i];
    const auto then = [&] { return Attrs(pattern, call, i + 1, n, frame, next); };
    const Val value = in_.AttributeOf(n, attr.name);
    if (value.absent()) {
      if (attr.kind == PatAttr::Kind::kAny) return then();  // `x=_`: any value, none too
      if (!attr.optional) {
        return Fail(call.expr->place, n,
                    fmt::format("{} has no attribute `{}`", Where(graph_, n), attr.name));
      }
      return attr.slot < 0 ? then() : Bind(pattern, attr.slot, Val(), frame, call.expr->place, then);
    }
    switch (attr.kind) {
      case PatAttr::Kind::kAny: return then();
      case PatAttr::Kind::kName:
        return Bind(pattern, attr.slot, value, frame, call.expr->place, then);
      case PatAttr::Kind::kCompare: {
        const Val same = in_.Compare(BinaryOp::kEq, value, in_.Eval(*attr.value, frame));
        if (const bool* b = same.get_if<bool>(); b != nullptr && *b) return then();
        return Fail(attr.value->place, n,
                    fmt::format("attribute `{}` of {} differs", attr.name, Where(graph_, n)));
      }
    }
    return false;
  }

  bool NoOtherAttrs(const PatCall& call, NodeId n) {
    for (const Attribute& a : graph_.attributes(n)) {
      const bool mentioned = std::any_of(call.attrs.begin(), call.attrs.end(),
                                         [&](const PatAttr& p) { return p.name == a.name; });
      if (!mentioned && !in_.IsDefault(n, a)) {
        return Fail(call.expr->place, n,
                    fmt::format("{} has attribute `{}`, which the pattern does not mention and which "
                                "is not at its default",
                                Where(graph_, n), Printable(a.name)));
      }
    }
    return true;
  }

  // --- inputs
  bool Inputs(const Pattern& pattern, const PatCall& call, NodeId n, Frame& frame, Next next) {
    std::vector<ValueId> inputs(graph_.num_inputs(n));
    for (size_t i = 0; i < inputs.size(); ++i) inputs[i] = graph_.input(n, i);
    while (!inputs.empty() && !inputs.back().valid()) inputs.pop_back();
    std::vector<const PatArg*> args;
    std::vector<std::pair<const PatArg*, size_t>> named;
    const Signature* signature = nullptr;
    for (const PatArg& a : call.args) {
      if (a.input.empty()) {
        args.push_back(&a);
        continue;
      }
      if (signature == nullptr) signature = SignatureOf(graph_, in_.rules_.signatures, n);
      const int index = signature == nullptr ? -1 : signature->InputIndex(a.input);
      if (index < 0) {
        return Fail(call.expr->place, n,
                    fmt::format("{} has no input `{}`", Where(graph_, n), a.input));
      }
      named.emplace_back(&a, static_cast<size_t>(index));
    }
    const auto try_order = [&] {
      if (named.empty()) return Args(pattern, args, 0, inputs, 0, call, n, frame, next);
      return Named(pattern, named, 0, args, inputs, call, n, frame, next);
    };
    if (try_order()) return true;
    if (inputs.size() != 2 || args.size() != 2 || args[0]->repeated || args[1]->repeated) return false;
    if (!inputs[0].valid() || inputs[0] == inputs[1]) return false;
    signature = SignatureOf(graph_, in_.rules_.signatures, n);
    if (signature == nullptr || !signature->commutative) return false;
    std::swap(inputs[0], inputs[1]);
    return try_order();
  }

  // Inputs that the pattern names; each is taken out of what the positional arguments see.
  bool Named(const Pattern& pattern, const std::vector<std::pair<const PatArg*, size_t>>& named,
             size_t i, const std::vector<const PatArg*>& args, std::vector<ValueId> inputs,
             const PatCall& call, NodeId n, Frame& frame, Next next) {
    if (i == named.size()) return Args(pattern, args, 0, inputs, 0, call, n, frame, next);
    const auto [arg, index] = named[i];
    const ValueId v = index < inputs.size() ? inputs[index] : ValueId();
    if (index < inputs.size()) inputs[index] = ValueId();
    return One(pattern, *arg, v, call, n, frame, [&] {
      return Named(pattern, named, i + 1, args, inputs, call, n, frame, next);
    });
  }

  bool Args(const Pattern& pattern, const std::vector<const PatArg*>& args, size_t i,
            const std::vector<ValueId>& inputs, size_t j, const PatCall& call, NodeId n, Frame& frame,
            Next next) {
    if (i == args.size()) {
      for (; j < inputs.size(); ++j) {
        if (inputs[j].valid()) {
          return Fail(call.expr->place, n, fmt::format("{} has input {}, which is not in the pattern",
                                                       Where(graph_, n), j));
        }
      }
      return next();
    }
    const PatArg& arg = *args[i];
    if (arg.repeated) {
      const size_t group = arg.kind == PatArg::Kind::kGroup ? arg.group.size() : 1;
      const size_t left = inputs.size() - std::min(j, inputs.size());
      // As many inputs as there are; fewer only if more arguments follow.
      size_t after = 0;
      for (size_t k = i + 1; k < args.size(); ++k) after += !args[k]->optional && !args[k]->repeated;
      const bool last = i + 1 == args.size();
      for (size_t count = last ? (left + group - 1) / group : 0; count * group + after <= left + group - 1;
           ++count) {
        const size_t end = std::min(j + count * group, inputs.size());
        const auto then = [&] { return Args(pattern, args, i + 1, inputs, end, call, n, frame, next); };
        if (arg.kind == PatArg::Kind::kAny ? then()
                                           : Repeat(pattern, arg, inputs, j, end, call, n, frame, then)) {
          return true;
        }
        if (last) break;
      }
      return false;
    }
    const ValueId v = j < inputs.size() ? inputs[j] : ValueId();
    return One(pattern, arg, v, call, n, frame,
               [&] { return Args(pattern, args, i + 1, inputs, j + 1, call, n, frame, next); });
  }

  // One argument against one input, which may be absent.
  bool One(const Pattern& pattern, const PatArg& arg, ValueId v, const PatCall& call, NodeId n,
           Frame& frame, Next next) {
    if (v.valid()) return Value(pattern, arg, v, frame, next);
    if (arg.optional || (arg.kind == PatArg::Kind::kAny && arg.repeated)) {
      return BindAbsent(pattern, arg.inner, 0, frame, call.expr->place, next);
    }
    return Fail(call.expr->place, n, fmt::format("{} lacks an input of the pattern", Where(graph_, n)));
  }

  // inputs[j..end) against the members of a repeated argument; its names become lists.
  bool Repeat(const Pattern& pattern, const PatArg& arg, const std::vector<ValueId>& inputs, size_t j,
              size_t end, const PatCall& call, NodeId n, Frame& frame, Next next) {
    std::vector<std::vector<Val>> lists(arg.inner.size());
    return Member(pattern, arg, inputs, j, end, call, n, lists, frame, next);
  }

  bool Member(const Pattern& pattern, const PatArg& arg, const std::vector<ValueId>& inputs, size_t j,
              size_t end, const PatCall& call, NodeId n, std::vector<std::vector<Val>>& lists,
              Frame& frame, Next next) {
    if (j >= end) return BindLists(pattern, arg, 0, lists, frame, next);
    // The members' own bindings are not conditions' business: only the lists are.
    static const Pattern* const kNoConditions = new Pattern();
    const auto collect = [&](size_t used) {
      std::vector<Val> saved(arg.inner.size());
      for (size_t k = 0; k < arg.inner.size(); ++k) {
        saved[k] = frame.slots[arg.inner[k]];
        lists[k].push_back(saved[k]);
        frame.Unbind(arg.inner[k]);
      }
      const bool found =
          Member(pattern, arg, inputs, j + used, end, call, n, lists, frame, next);
      for (size_t k = 0; k < arg.inner.size(); ++k) {
        lists[k].pop_back();
        if (!found) frame.Bind(arg.inner[k], saved[k]);
      }
      return found;
    };
    if (arg.kind != PatArg::Kind::kGroup) {
      return One(*kNoConditions, arg, inputs[j], call, n, frame, [&] { return collect(1); });
    }
    return GroupMember(*kNoConditions, arg, 0, inputs, j, call, n, frame,
                       [&] { return collect(arg.group.size()); });
  }

  bool GroupMember(const Pattern& pattern, const PatArg& arg, size_t k,
                   const std::vector<ValueId>& inputs, size_t j, const PatCall& call, NodeId n,
                   Frame& frame, Next next) {
    if (k == arg.group.size()) return next();
    const ValueId v = j + k < inputs.size() ? inputs[j + k] : ValueId();
    const auto then = [&] {
      return GroupMember(pattern, arg, k + 1, inputs, j, call, n, frame, next);
    };
    return One(pattern, arg.group[k], v, call, n, frame, then);
  }

  bool BindLists(const Pattern& pattern, const PatArg& arg, size_t k,
                 std::vector<std::vector<Val>>& lists, Frame& frame, Next next) {
    if (k == arg.inner.size()) return next();
    return Bind(pattern, arg.inner[k], Val::ListOf(lists[k]), frame, arg.expr->place,
                [&] { return BindLists(pattern, arg, k + 1, lists, frame, next); });
  }

  // --- a value against an argument pattern
  bool Value(const Pattern& pattern, const PatArg& arg, ValueId v, Frame& frame, Next next) {
    if (++in_.steps_ > kMaxSteps) {
      in_.exhausted_ = true;
      return false;
    }
    switch (arg.kind) {
      case PatArg::Kind::kAny: return next();
      case PatArg::Kind::kName: return Bind(pattern, arg.slot, v, frame, arg.expr->place, next);
      case PatArg::Kind::kLiteral: return Literal(*arg.literal, v) && next();
      case PatArg::Kind::kGroup: return false;  // the checker refuses a group without dots
      case PatArg::Kind::kCall: break;
    }
    const PatCall& call = *arg.call;
    switch (call.quantifier) {
      case Quantifier::kOne:
        if (call.definition != nullptr) return Definition(pattern, call, v, frame, next);
        return Operator(pattern, call, v, frame, next);
      case Quantifier::kOptional:
        if (call.definition != nullptr ? Definition(pattern, call, v, frame, next)
                                       : Operator(pattern, call, v, frame, next)) {
          return true;
        }
        return Skip(pattern, call, v, frame, next);
      case Quantifier::kStar: return Chain(pattern, call, v, 0, frame, next);
      case Quantifier::kPlus: return Chain(pattern, call, v, 1, frame, next);
    }
    return false;
  }

  // `Op?(x, ...)` without the operator: the value is its first argument, its other names are absent.
  bool Skip(const Pattern& pattern, const PatCall& call, ValueId v, Frame& frame, Next next) {
    std::vector<int> absent;
    if (call.label >= 0) absent.push_back(call.label);
    if (call.rest >= 0) absent.push_back(call.rest);
    for (const PatAttr& a : call.attrs) {
      if (a.slot >= 0) absent.push_back(a.slot);
    }
    for (size_t i = 1; i < call.args.size(); ++i) {
      absent.insert(absent.end(), call.args[i].inner.begin(), call.args[i].inner.end());
    }
    return Value(pattern, call.args[0], v, frame, [&] {
      return BindAbsent(pattern, absent, 0, frame, call.expr->place, next);
    });
  }

  // `c:Op*<..>(x, _...)`: steps through first inputs, shortest first.
  bool Chain(const Pattern& pattern, const PatCall& call, ValueId end, size_t least, Frame& frame,
             Next next) {
    std::vector<NodeId> nodes;  // from the end upwards
    ValueId at = end;
    while (true) {
      if (nodes.size() >= least) {
        ChainRef chain{.nodes = {nodes.rbegin(), nodes.rend()}, .start = at, .end = end};
        const auto first = [&] { return Value(pattern, call.args[0], at, frame, next); };
        if (call.label < 0 ? first()
                           : Bind(pattern, call.label, std::move(chain), frame, call.expr->place, first)) {
          return true;
        }
      }
      if (++in_.steps_ > kMaxSteps) {
        in_.exhausted_ = true;
        return false;
      }
      const NodeId n = graph_.producer(at);
      if (!n.valid() || !call.ops.Accepts(graph_, graph_.op(n)) || graph_.num_inputs(n) == 0 ||
          !graph_.input(n, 0).valid()) {
        return false;
      }
      if (!StepFits(call, n, frame)) return false;
      nodes.push_back(n);
      at = graph_.input(n, 0);
    }
  }

  // Attributes and further inputs of one step of a chain; names in them are not bound.
  bool StepFits(const PatCall& call, NodeId n, Frame& frame) {
    for (const PatAttr& a : call.attrs) {
      if (a.kind != PatAttr::Kind::kCompare) continue;
      const Val same = in_.Compare(BinaryOp::kEq, in_.AttributeOf(n, a.name), in_.Eval(*a.value, frame));
      const bool* b = same.get_if<bool>();
      if (b == nullptr || !*b) return false;
    }
    if (!call.has_rest && !NoOtherAttrs(call, n)) return false;
    size_t allowed = call.args.size();
    for (const PatArg& a : call.args) {
      if (a.repeated) return true;
    }
    for (; allowed < graph_.num_inputs(n); ++allowed) {
      if (graph_.input(n, allowed).valid()) return false;
    }
    return true;
  }

  bool Literal(const Expr& literal, ValueId v) {
    const Tensor* t = facts_.Constant(v);
    if (t == nullptr) return Fail(literal.place, graph_.producer(v), facts_.WhyNotConstant(v));
    if (t->size() == 0) return Fail(literal.place, NodeId(), "an empty tensor equals no literal");
    Tensor tensor = *t;
    if (literal.kind == Expr::Kind::kString) {
      if (!tensor.is_string()) return false;
      const Result<Tensor> m = tensor.Materialize();
      return m.ok() && std::all_of(m->strings().begin(), m->strings().end(),
                                   [&](const std::string& s) { return s == literal.text; });
    }
    if (tensor.is_string()) return false;
    const auto fits = [&](const Tensor& part) {
      const Result<std::vector<double>> values = ToDoubles(part);
      return values.ok() && std::all_of(values->begin(), values->end(), [&](double e) {
        return literal.kind == Expr::Kind::kBool ? e == static_cast<double>(literal.int_value)
                                                 : ElementEquals(part.dtype(), e, literal);
      });
    };
    // A large tensor is seldom a literal: its first element decides most of the time.
    if (tensor.size() > 4096 && !tensor.is_lazy() && Info(tensor.dtype()).bits >= 8) {
      const size_t width = static_cast<size_t>(Info(tensor.dtype()).bits / 8);
      const Tensor first = Tensor::View(tensor.dtype(), {}, nullptr, tensor.bytes().first(width));
      if (!fits(first)) return Fail(literal.place, NodeId(), "the constant differs from the literal");
    }
    return fits(tensor) ||
           Fail(literal.place, NodeId(),
                fmt::format("constant `{}` differs from the literal", Printable(graph_.name(v))));
  }

  // --- `$name(args)` as a sub-pattern: its cases are alternatives, all tried
  bool Definition(const Pattern& pattern, const PatCall& call, ValueId v, Frame& frame, Next next) {
    const CompiledDefinition* d = in_.definition(call.definition->head.name);
    const size_t num_params = d->definition->head.params.size();
    for (const CompiledCase& c : d->cases) {
      Frame inner(c.scope);
      inner.body = frame.body;
      inner.Bind(static_cast<int>(num_params), v);  // the first output
      if (!Early(c.pattern, inner)) continue;
      const bool found = Rest(c.pattern, 0, inner, [&] {
        return WatchGiven(c, static_cast<int>(num_params), inner) &&
               DefinitionArgs(pattern, call, c, 0, inner, frame, next);
      });
      if (found) return true;
    }
    return false;
  }

  // Conditions on the given output alone: no binding of the search triggers them.
  bool WatchGiven(const CompiledCase& c, int output, Frame& inner) {
    return std::all_of(c.pattern.where.begin(), c.pattern.where.end(), [&](const PatWhere& w) {
      return w.needs != std::vector<int>{output} || Holds(*w.expr, inner);
    });
  }

  bool DefinitionArgs(const Pattern& pattern, const PatCall& call, const CompiledCase& c, size_t i,
                      Frame& inner, Frame& frame, Next next) {
    if (i == call.args.size()) return next();
    const PatArg& arg = call.args[i];
    const Val value = in_.Lookup(c.scope.names[i], inner);
    const auto then = [&] { return DefinitionArgs(pattern, call, c, i + 1, inner, frame, next); };
    const Place& place = call.expr->place;
    if (value.stops()) return Fail(place, NodeId(), value.why());
    if (arg.kind == PatArg::Kind::kAny) return then();
    if (value.absent()) {
      if (arg.kind == PatArg::Kind::kName) return Bind(pattern, arg.slot, value, frame, place, then);
      return arg.optional && BindAbsent(pattern, arg.inner, 0, frame, place, then);
    }
    if (const auto* v = value.get_if<ValueId>()) return Value(pattern, arg, *v, frame, then);
    if (arg.kind == PatArg::Kind::kName) return Bind(pattern, arg.slot, value, frame, place, then);
    if (arg.kind != PatArg::Kind::kLiteral) {
      return Fail(place, NodeId(), "a computed value has no producer to match");
    }
    const Val same = in_.Compare(BinaryOp::kEq, value, in_.Eval(*arg.literal, frame));
    const bool* b = same.get_if<bool>();
    return b != nullptr && *b && then();
  }

  // --- statements below: from a bound value down to their node
  bool Down(const Pattern& pattern, const PatStmt& stmt, int slot, Frame& frame, Next next) {
    const auto* from = frame.slots[slot].get_if<ValueId>();
    if (from == nullptr || facts_.Constant(*from) != nullptr) {
      return Fail(stmt.stmt->place, NodeId(), "statements are not connected through a constant");
    }
    std::vector<ValueId> roots;
    Climb(stmt.value, slot, *from, frame, roots);
    std::vector<NodeId> nodes;
    for (const ValueId v : roots) {
      const NodeId n = graph_.producer(v);
      if (n.valid() && std::find(nodes.begin(), nodes.end(), n) == nodes.end()) nodes.push_back(n);
    }
    for (const NodeId n : nodes) {
      if (stmt.value.call->definition == nullptr && stmt.value.call->quantifier == Quantifier::kOne) {
        if (Statement(pattern, stmt, n, frame, next)) return true;
        continue;
      }
      for (const ValueId v : roots) {
        if (graph_.producer(v) != n) continue;
        const bool found = Value(pattern, stmt.value, v, frame, [&] {
          return Bind(pattern, stmt.outs[0].slot, v, frame, stmt.stmt->place, next);
        });
        if (found) return true;
      }
    }
    return false;
  }

  // Values that `arg` may be if the name in `slot` is `from`: over the uses, level by level.
  void Climb(const PatArg& arg, int slot, ValueId from, Frame& frame, std::vector<ValueId>& out) {
    if (arg.kind == PatArg::Kind::kName) {
      if (arg.slot == slot) out.push_back(from);
      return;
    }
    if (arg.kind == PatArg::Kind::kGroup) {
      for (const PatArg& a : arg.group) Climb(a, slot, from, frame, out);
      return;
    }
    if (arg.kind != PatArg::Kind::kCall) return;
    const PatCall& call = *arg.call;
    std::vector<ValueId> below;
    for (size_t i = 0; i < call.args.size(); ++i) {
      const std::vector<int>& inner = call.args[i].inner;
      if (std::find(inner.begin(), inner.end(), slot) == inner.end()) continue;
      if (call.definition != nullptr) {
        ClimbDefinition(call, i, slot, from, frame, out);
      } else {
        Climb(call.args[i], slot, from, frame, below);
      }
    }
    if (call.definition != nullptr) return;
    if (call.quantifier != Quantifier::kOne && call.quantifier != Quantifier::kPlus) {
      out.insert(out.end(), below.begin(), below.end());
    }
    const bool many = call.quantifier == Quantifier::kStar || call.quantifier == Quantifier::kPlus;
    for (size_t i = 0; i < below.size(); ++i) {
      std::vector<ValueId> made;
      Readers(call.ops, below[i], made);
      out.insert(out.end(), made.begin(), made.end());
      if (many) below.insert(below.end(), made.begin(), made.end());
    }
  }

  void ClimbDefinition(const PatCall& call, size_t param, int slot, ValueId from, Frame& frame,
                       std::vector<ValueId>& out) {
    std::vector<ValueId> below;
    Climb(call.args[param], slot, from, frame, below);
    const CompiledDefinition* d = in_.definition(call.definition->head.name);
    const int root = static_cast<int>(d->definition->head.params.size());
    for (const CompiledCase& c : d->cases) {
      for (const PatStmt& stmt : c.pattern.stmts) {
        const bool is_root = std::any_of(stmt.outs.begin(), stmt.outs.end(),
                                         [&](const PatOut& o) { return o.slot == root; });
        if (!is_root) continue;
        Frame inner(c.scope);
        for (const ValueId v : below) Climb(stmt.value, static_cast<int>(param), v, inner, out);
      }
    }
  }

  void Readers(const OpTest& ops, ValueId v, std::vector<ValueId>& out) {
    std::vector<NodeId> seen;
    for (const UseId u : graph_.uses(v)) {
      const User user = graph_.user(u);
      if (user.is_output() || !ops.Accepts(graph_, graph_.op(user.node))) continue;
      if (std::find(seen.begin(), seen.end(), user.node) != seen.end()) continue;
      seen.push_back(user.node);
      for (size_t i = 0; i < graph_.num_outputs(user.node); ++i) {
        if (graph_.output(user.node, i).valid()) {
          out.push_back(graph_.output(user.node, i));
          break;
        }
      }
    }
  }

  // --- bindings
  bool Bind(const Pattern& pattern, int slot, Val value, Frame& frame, const Place& place, Next next) {
    if (frame.state[slot] == Frame::kBound) {
      const Val& bound = frame.slots[slot];
      if (bound.absent() && value.absent()) return next();
      const Val same = in_.Compare(BinaryOp::kEq, bound, value);
      if (const bool* b = same.get_if<bool>(); b != nullptr && *b) return next();
      return Fail(place, NodeId(), fmt::format("`{}` is something else", frame.scope->names[slot]));
    }
    frame.Bind(slot, std::move(value));
    bool good = true;
    if (slot < static_cast<int>(pattern.watch.size())) {
      for (const int w : pattern.watch[slot]) {
        const PatWhere& where = pattern.where[w];
        const bool all = std::all_of(where.needs.begin(), where.needs.end(), [&](int s) {
          return frame.state[s] != Frame::kUnbound;
        });
        if (all && !Holds(*where.expr, frame)) {
          good = false;
          break;
        }
      }
    }
    if (good && next()) return true;
    frame.Unbind(slot);
    ResetLets(frame);
    return false;
  }

  // A let may have been computed from a binding that is gone.
  static void ResetLets(Frame& frame) {
    for (const auto& [slot, let] : frame.scope->lets) frame.Unbind(slot);
  }

  bool BindAbsent(const Pattern& pattern, const std::vector<int>& slots, size_t i, Frame& frame,
                  const Place& place, Next next) {
    if (i == slots.size()) return next();
    const auto then = [&] { return BindAbsent(pattern, slots, i + 1, frame, place, next); };
    if (frame.state[slots[i]] == Frame::kBound) return then();  // named elsewhere as well
    return Bind(pattern, slots[i], Val(), frame, place, then);
  }

  bool Holds(const Expr& condition, Frame& frame) {
    const Val truth = in_.Truth(in_.Eval(condition, frame));
    if (const bool* b = truth.get_if<bool>()) {
      return *b || (in_.trace_ != nullptr && Fail(condition.place, NodeId(), fmt::format("`{}` is false", Print(condition))));
    }
    if (truth.is<Unknown>()) in_.unknown_ = truth.why();
    return in_.trace_ != nullptr &&
           Fail(condition.place, NodeId(), fmt::format("`{}`: {}", Print(condition), truth.why()));
  }

  bool Fail(const Place& place, NodeId n, std::string_view reason) {
    if (in_.trace_ != nullptr) in_.Note(place, n, reason);
    return false;
  }

  Interpreter& in_;
  const Graph& graph_;
  Facts& facts_;
};

bool Interpreter::MatchRule(const CompiledRule& rule, NodeId anchor, Frame& frame,
                            FunctionRef<bool()> accept) {
  steps_ = 0;
  frame.body = graph_.body_of(anchor);
  MatchRun run(*this);
  if (!run.Early(rule.pattern, frame)) return false;
  const PatStmt& stmt = rule.pattern.stmts[rule.pattern.anchor];
  return run.Statement(rule.pattern, stmt, anchor, frame, [&] {
    return run.Rest(rule.pattern, 0, frame, [&] {
      // Statements whose outputs the rule redefines match different nodes.
      std::vector<NodeId> nodes;
      for (const int s : rule.redefined) {
        for (const PatOut& out : rule.pattern.stmts[s].outs) {
          if (out.slot < 0) continue;
          const auto* v = frame.slots[out.slot].get_if<ValueId>();
          if (v == nullptr) continue;
          nodes.push_back(graph_.producer(*v));
          break;
        }
      }
      std::sort(nodes.begin(), nodes.end());
      if (std::adjacent_find(nodes.begin(), nodes.end()) != nodes.end()) return false;
      return accept();
    });
  });
}

Val Interpreter::ChooseCase(const std::vector<CompiledCase>& cases, Frame* around,
                            const std::vector<Val>& given, BodyId body,
                            FunctionRef<void(const CompiledCase&, Frame&)> chosen) {
  MatchRun run(*this);
  for (const CompiledCase& c : cases) {
    Frame frame(c.scope, around);
    frame.body = body;
    frame.locals = around != nullptr ? around->locals : nullptr;
    for (size_t i = 0; i < given.size(); ++i) frame.Bind(static_cast<int>(i), given[i]);
    bool taken = false;
    const auto take = [&] {
      taken = true;
      chosen(c, frame);
      return true;
    };
    if (!c.has_match) {
      Val condition = true;
      for (const PatWhere& w : c.pattern.where) {
        const Val truth = Truth(Eval(*w.expr, frame));
        if (truth.stops() || !truth.get<bool>()) {
          condition = truth;
          if (!truth.stops()) break;  // false, whatever the others are
        }
      }
      if (condition.stops()) return condition;
      if (condition.get<bool>()) take();
    } else {
      unknown_.clear();
      const bool possible = std::all_of(c.pattern.rest.begin(), c.pattern.rest.end(), [&](const PlanStep& s) {
        return frame.state[s.slot] != Frame::kBound || frame.slots[s.slot].is<ValueId>();
      });
      if (possible && run.Early(c.pattern, frame)) {
        run.Rest(c.pattern, 0, frame, [&] {
          for (const PatWhere& w : c.pattern.where) {
            // Others were tried when the search bound the last of their names.
            if (!w.needs.empty() && w.needs.back() >= static_cast<int>(given.size())) continue;
            const Val truth = Truth(Eval(*w.expr, frame));
            if (truth.is<Unknown>()) unknown_ = truth.why();
            if (truth.stops() || !truth.get<bool>()) return false;
          }
          return take();
        });
      }
      if (!taken && !unknown_.empty()) return Unknown{std::exchange(unknown_, "")};
    }
    if (taken) return true;
  }
  return false;
}

int64_t Interpreter::CountUses(ValueId v, const std::function<bool(NodeId)>& of) const {
  if (!of && uses_mark_ == SIZE_MAX) return graph_.num_uses(v);
  int64_t count = 0;
  for (const UseId u : graph_.uses(v)) {
    const User user = graph_.user(u);
    if (!user.is_output() && user.node.index >= uses_mark_) continue;
    if (of && (user.is_output() || !of(user.node))) continue;
    ++count;
  }
  return count;
}

void Interpreter::Note(const Place& place, NodeId node, std::string_view reason, int depth) {
  if (trace_ == nullptr) return;
  if (depth < 0) depth = static_cast<int>(steps_);
  if (depth < trace_->depth) return;
  *trace_ = {depth, place, node, std::string(reason)};
}

}  // namespace qrewrite
