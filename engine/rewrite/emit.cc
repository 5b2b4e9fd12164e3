#include "engine/rewrite/emit.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "engine/base/diagnostics.h"

namespace qrewrite {
namespace {

constexpr int kMaxDepth = 200;  // of templates that call each other

bool IsFunction(const Expr& expr) {
  if (expr.kind != Expr::Kind::kCall || expr.refs.size() != 1) return false;
  const std::string& head = expr.refs[0].name;
  return expr.refs[0].kind == Ref::Kind::kName && head.find('.') == std::string::npos &&
         !head.empty() && head[0] >= 'a' && head[0] <= 'z';
}

}  // namespace

// The statements of a replacement, each emitted when its first output is asked for: the text of
// a rule has no order.
class Emitter::Locals : public LocalNames {
 public:
  Locals(Emitter& emitter, const BodyText& text, Frame& frame)
      : emitter_(emitter), text_(text), frame_(frame), around_(frame.locals) {}

  const Val* FindLocal(std::string_view name) override {
    if (const auto it = values_.find(name); it != values_.end()) return &it->second;
    for (const Stmt& stmt : text_.stmts) {
      const bool defines = std::any_of(stmt.outs.begin(), stmt.outs.end(),
                                       [&](const OutArg& o) { return o.name == name; });
      if (!defines) continue;
      if (!open_.insert(&stmt).second) {
        // `y = $like(f, y)`: inside its own definition a matched name is what it was.
        if (const Val* before = Matched(std::string(name))) return before;
        values_[std::string(name)] = Failure{fmt::format("`{}` is defined by itself", name)};
        return &values_.find(name)->second;
      }
      EmitStatement(stmt);
      return &values_.find(name)->second;
    }
    return around_ == nullptr ? nullptr : around_->FindLocal(name);
  }

 private:
  // What the match bound to an output name; nullptr if it did not.
  const Val* Matched(const std::string& name) {
    for (Frame* f = &frame_; f != nullptr; f = f->parent) {
      const int slot = f->scope->Find(name);
      if (slot >= 0 && f->state[slot] == Frame::kBound) return &f->slots[slot];
    }
    return nullptr;
  }

  void EmitStatement(const Stmt& stmt) {
    std::vector<bool> present;
    for (const OutArg& out : stmt.outs) {
      const Val* matched = Matched(out.name);
      if (out.repeated) {
        const auto* list = matched == nullptr ? nullptr : matched->get_if<List>();
        const size_t count = list == nullptr ? 1 : (*list)->size();
        for (size_t i = 0; i < count; ++i) {
          present.push_back(list == nullptr || !(**list)[i].absent());
        }
      } else {
        present.push_back(out.name != "_" && (matched == nullptr || !matched->absent()));
      }
    }
    const Expr& value = *stmt.value.value;
    std::vector<Val> results;
    if (stmt.value.repeated) {
      results = emitter_.Repeated(stmt.value, frame_);
    } else if (value.kind == Expr::Kind::kCall && !IsFunction(value)) {
      results = emitter_.Call(value, frame_, present);
    } else {
      results = {emitter_.Value(value, frame_)};
    }
    size_t at = 0;
    for (const OutArg& out : stmt.outs) {
      if (out.repeated) {
        std::vector<Val> list(results.begin() + static_cast<long>(std::min(at, results.size())),
                              results.end());
        at = results.size();
        if (list.size() == 1 && list[0].stops()) {
          values_[out.name] = list[0];
        } else {
          values_[out.name] = Val::ListOf(std::move(list));
        }
        continue;
      }
      values_[out.name] = at < results.size() ? results[at] : Val();
      if (results.size() == 1 && results[0].stops()) values_[out.name] = results[0];
      ++at;
    }
  }

  Emitter& emitter_;
  const BodyText& text_;
  Frame& frame_;
  LocalNames* around_;
  std::map<std::string, Val, std::less<>> values_;
  std::set<const Stmt*> open_;
};

void Emitter::Begin(BodyId body, const Options& options, ValueId base,
                    std::vector<ValueId> redefined) {
  body_ = body;
  options_ = options;
  base_ = base;
  reason_.clear();
  reused_ = false;
  redefined_ = std::move(redefined);
  first_new_ = graph_.num_nodes();
  wishes_.clear();
  depth_ = 0;
}

std::vector<Val> Emitter::Fail(std::string reason, size_t outputs) {
  if (reason_.empty()) reason_ = reason;
  return std::vector<Val>(std::max<size_t>(outputs, 1), Val(Failure{std::move(reason)}));
}

bool Emitter::Emit(const BodyText& text, Frame& frame, const std::vector<std::string>& wanted,
                   std::map<std::string, Val>& results) {
  Locals locals(*this, text, frame);
  LocalNames* const around = frame.locals;
  frame.locals = &locals;
  bool good = true;
  for (const std::string& name : wanted) {
    const Val* value = locals.FindLocal(name);
    if (value == nullptr) continue;
    if (value->stops()) {
      if (reason_.empty()) reason_ = value->why();
      good = false;
      break;
    }
    results[name] = *value;
  }
  frame.locals = around;
  return good;
}

Val Emitter::Value(const Expr& expr, Frame& frame) {
  switch (expr.kind) {
    case Expr::Kind::kName:
      // As an input, a name that the replacement defines is the new value.
      if (frame.locals != nullptr) {
        if (const Val* local = frame.locals->FindLocal(expr.text)) return *local;
      }
      return in_.Lookup(expr.text, frame);
    case Expr::Kind::kCall: {
      if (IsFunction(expr)) {
        // A label of a node or chain, or a subgraph, is called like a function.
        const Val head = in_.Lookup(expr.refs[0].name, frame);
        if (!head.is<LabelRef>() && !head.is<ChainRef>() && !head.is<BodyRef>()) {
          return in_.Eval(expr, frame);
        }
      }
      std::vector<Val> results = Call(expr, frame, {true});
      return results.empty() ? Val() : results[0];
    }
    case Expr::Kind::kGroup: return Value(*expr.args[0].value, frame);
    case Expr::Kind::kBinary:
      if (expr.binary == BinaryOp::kCoalesce) {
        const Val left = Value(*expr.items[0], frame);
        return left.absent() ? Value(*expr.items[1], frame) : left;
      }
      return in_.Eval(expr, frame);
    case Expr::Kind::kIf: {
      const Val condition = in_.Truth(in_.Eval(*expr.items[1], frame));
      if (condition.stops()) return condition;
      return Value(*expr.items[condition.get<bool>() ? 0 : 2], frame);
    }
    default: return in_.Eval(expr, frame);
  }
}

std::vector<Val> Emitter::Call(const Expr& expr, Frame& frame, const std::vector<bool>& present) {
  if (expr.refs[0].kind == Ref::Kind::kDefinition) return Template(expr, frame, present.size());
  const std::string& name = expr.refs[0].name;
  if (name.find('.') == std::string::npos) {
    const Val head = IsFunction(expr) ? in_.Lookup(name, frame) : Val();
    if (const auto* body = head.get_if<BodyRef>()) return Inline(body->body, expr, frame);
    if (const auto* chain = head.get_if<ChainRef>()) return Rebuild(*chain, expr, frame);
    const bool arrow = std::any_of(expr.args.begin(), expr.args.end(),
                                   [](const Arg& a) { return a.label_kind == Arg::Label::kArrow; });
    if (const auto* label = head.get_if<LabelRef>(); label != nullptr && arrow) {
      std::vector<Val> outputs = Copy(label->node, expr, frame);
      // One output is asked for: the one that the match named.
      if (present.size() == 1 && label->output < outputs.size()) return {outputs[label->output]};
      return outputs;
    }
    if (IsFunction(expr) && !head.is<LabelRef>()) return {in_.Eval(expr, frame)};
  }
  return Operator(expr, frame, present);
}

// --- templates

std::vector<Val> Emitter::Template(const Expr& expr, Frame& frame, size_t outputs) {
  const CompiledDefinition* d = in_.definition(expr.refs[0].name);
  if (d == nullptr) return Fail("unknown definition $" + expr.refs[0].name, outputs);
  std::vector<Val> args;
  for (const Arg& a : expr.args) {
    args.push_back(Value(*a.value, frame));
    if (args.back().stops()) return Fail(args.back().why(), outputs);
  }
  if (++depth_ > kMaxDepth) return Fail("templates call each other too deeply", outputs);
  std::vector<Val> results;
  const Val found = in_.ChooseCase(
      d->cases, nullptr, args, body_,
      [&](const CompiledCase& c, Frame& inner) { results = TemplateCase(*d, c, inner); });
  --depth_;
  if (found.stops()) return Fail(found.why(), outputs);
  if (!found.get<bool>()) {
    return Fail(fmt::format("no case of ${} applies", d->definition->head.name), outputs);
  }
  return results;
}

std::vector<Val> Emitter::TemplateCase(const CompiledDefinition& d, const CompiledCase& c,
                                       Frame& frame) {
  const Outcome& outcome = c.source->outcome;
  const size_t outputs = std::max<size_t>(d.definition->head.outs.size(), 1);
  if (outcome.is) {
    const Expr& value = *outcome.is->value;
    if (outputs > 1 && value.kind == Expr::Kind::kCall) {
      return Call(value, frame, std::vector<bool>(outputs, true));
    }
    return {Value(value, frame)};
  }
  if (outcome.replace) {
    std::vector<std::string> wanted;
    for (const OutArg& o : d.definition->head.outs) wanted.push_back(o.name);
    std::map<std::string, Val> results;
    if (!Emit(*outcome.replace, frame, wanted, results)) return Fail(reason_, outputs);
    std::vector<Val> out;
    for (const std::string& name : wanted) out.push_back(results[name]);
    return out;
  }
  std::vector<Val> results;
  const Val found = in_.ChooseCase(
      c.cases, &frame, {}, body_,
      [&](const CompiledCase& nested, Frame& inner) { results = TemplateCase(d, nested, inner); });
  if (found.stops()) return Fail(found.why(), outputs);
  if (!found.get<bool>()) return Fail("no case applies", outputs);
  return results;
}

// --- arguments

std::vector<Val> Emitter::Repeated(const Arg& arg, Frame& frame) {
  std::vector<std::string> names;
  CollectNames(*arg.value, names);
  SlotNames scope;
  std::vector<List> lists;
  for (const std::string& name : names) {
    if (scope.Find(name) >= 0) continue;
    Val value;
    if (frame.locals != nullptr) {
      if (const Val* local = frame.locals->FindLocal(name)) value = *local;
    }
    if (value.absent()) value = in_.Lookup(name, frame);
    if (!value.is<List>()) continue;
    scope.Add(name);
    lists.push_back(value.get<List>());
  }
  if (lists.empty()) return Fail("nothing in front of `...` is a list");
  std::vector<Val> out;
  for (size_t k = 0; k < lists[0]->size(); ++k) {
    Frame member(scope, &frame);
    member.locals = nullptr;  // the members of lists go before names of the replacement
    for (size_t l = 0; l < lists.size(); ++l) {
      if (lists[l]->size() != lists[0]->size()) return Fail("lists of different length");
      member.Bind(static_cast<int>(l), (*lists[l])[k]);
    }
    if (arg.value->kind == Expr::Kind::kGroup) {
      for (const Arg& a : arg.value->args) out.push_back(Value(*a.value, member));
    } else {
      out.push_back(Value(*arg.value, member));
    }
  }
  return out;
}

bool Emitter::Arguments(const Expr& expr, Frame& frame, const Signature* signature,
                        std::vector<Val>& args) {
  size_t next = 0;
  const auto set = [&](size_t index, Val value) {
    if (args.size() <= index) args.resize(index + 1);
    args[index] = std::move(value);
  };
  for (const Arg& arg : expr.args) {
    if (arg.repeated) {
      for (Val& value : Repeated(arg, frame)) set(next++, std::move(value));
    } else if (arg.label_kind == Arg::Label::kInput) {
      const int index = signature == nullptr ? -1 : signature->InputIndex(arg.label);
      if (index < 0) {
        Fail(fmt::format("the operator has no input `{}`", arg.label));
        return false;
      }
      set(static_cast<size_t>(index), Value(*arg.value, frame));
    } else {
      set(next++, Value(*arg.value, frame));
    }
  }
  for (const Val& value : args) {
    if (value.stops()) {
      Fail(value.why());
      return false;
    }
  }
  return true;
}

bool Emitter::Operands(const Head& head, const std::vector<Val>& args,
                       std::vector<ValueId>& inputs) {
  std::vector<Num> numbers(args.size());
  inputs.assign(args.size(), ValueId());
  for (size_t i = 0; i < args.size(); ++i) {
    if (args[i].absent()) continue;
    if (const auto* v = args[i].get_if<ValueId>()) {
      inputs[i] = *v;
      continue;
    }
    if (args[i].is<std::string>()) {
      inputs[i] = constants_.Get(body_, Tensor::Strings({}, {args[i].get<std::string>()}));
      continue;
    }
    const Val forced = in_.Force(args[i]);
    const auto* n = forced.get_if<Num>();
    if (n == nullptr) {
      Fail(forced.stops()
               ? forced.why()
               : fmt::format("{} cannot be an input of {}", Describe(forced), head.op.text()));
      return false;
    }
    numbers[i] = *n;
  }
  const std::string why = in_.UnifyWeak(head.signature, numbers, [&](size_t j) {
    return j < inputs.size() && inputs[j].valid() ? in_.facts().dtype(inputs[j])
                                                  : DType::kUndefined;
  });
  if (!why.empty()) {
    Fail(why);
    return false;
  }
  for (size_t i = 0; i < args.size(); ++i) {
    if (!numbers[i].t.valid()) continue;
    // Numbers that nothing gave a type to are float and int64, as everywhere in ONNX.
    const bool untyped = numbers[i].weak && numbers[i].t.dtype() == DType::kDouble;
    const Val typed = untyped ? in_.CastWeak(numbers[i]) : Val(numbers[i]);
    if (typed.stops()) {
      Fail(typed.why());
      return false;
    }
    inputs[i] = constants_.Get(body_, typed.get<Num>().t);
    if (head.signature != nullptr && !head.signature->inputs.empty()) {
      const size_t f = std::min(i, head.signature->inputs.size() - 1);
      wishes_.try_emplace(inputs[i], head.signature->inputs[f].name);
    } else {
      wishes_.try_emplace(inputs[i], "const");
    }
  }
  while (!inputs.empty() && !inputs.back().valid()) inputs.pop_back();
  return true;
}

}  // namespace qrewrite
