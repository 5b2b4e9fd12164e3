#include "engine/rewrite/emit.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "engine/base/diagnostics.h"
#include "engine/match/logic.h"

namespace qrewrite {

// The statements of a replacement, each emitted when its first output is asked for: the text of
// a rule has no order.
class Emitter::Statements : public NewValues {
 public:
  Statements(Emitter& emitter, const Replacement& text, Frame& frame)
      : emitter_(emitter), text_(text), frame_(frame), open_(text.stmts.size()) {
    for (const MakeStmt& stmt : text_.stmts) {
      for (const MakeStmt::Out& out : stmt.outs) {
        if (out.fresh >= 0) frame_.Unbind(out.fresh);
      }
    }
  }

  const Val& Get(int fresh, int matched) override {
    if (frame_.bound(fresh)) return frame_[fresh];
    for (size_t s = 0; s < text_.stmts.size(); ++s) {
      const MakeStmt& stmt = text_.stmts[s];
      const auto out = std::find_if(stmt.outs.begin(), stmt.outs.end(),
                                    [&](const MakeStmt::Out& o) { return o.fresh == fresh; });
      if (out == stmt.outs.end()) continue;
      if (open_[s]) {
        // `y = $like(f, y)`: inside its own definition a matched name is what it was.
        if (matched < 0) matched = out->matched;
        if (matched >= 0 && frame_.bound(matched)) return frame_[matched];
        frame_.Bind(fresh, Failure{fmt::format("`{}` is defined by itself", out->name)});
        break;
      }
      open_[s] = true;
      if (!emitter_.in_.HasStack()) {
        frame_.Bind(fresh, Failure{emitter_.in_.exhausted()});
        break;
      }
      EmitStatement(stmt);
      break;
    }
    return frame_[fresh];
  }

 private:
  // What the match bound to an output name; nullptr if it did not.
  const Val* Matched(const MakeStmt::Out& out) const {
    return out.matched >= 0 && frame_.bound(out.matched) ? &frame_[out.matched] : nullptr;
  }

  // How many of the results a list takes: at the end all that are left, else as many as were matched, or
  // what the other outputs leave.
  size_t Members(const MakeStmt& stmt, const MakeStmt::Out& list, size_t results) const {
    if (&list == &stmt.outs.back()) return results;
    const Val* const matched = Matched(list);
    if (matched != nullptr && matched->is<List>()) return matched->get<List>()->size();
    return results - std::min(results, stmt.outs.size() - 1);
  }

  void EmitStatement(const MakeStmt& stmt) {
    boost::container::small_vector<bool, 4> present;
    for (const MakeStmt::Out& out : stmt.outs) {
      const Val* matched = Matched(out);
      if (out.repeated) {
        const auto* list = matched == nullptr ? nullptr : matched->get_if<List>();
        const size_t count =
            list == nullptr ? emitter_.OutputsLike(stmt.value.value, frame_) : (*list)->size();
        for (size_t i = 0; i < count; ++i) {
          present.push_back(list == nullptr || !(**list)[i].absent());
        }
      } else {
        // One that the match did not have may be a step on the way to another.
        present.push_back(out.fresh >= 0 && (matched == nullptr || !matched->absent() || out.read));
      }
    }
    Vals results;
    if (stmt.value.repeated) {
      results = emitter_.Repeated(stmt.value, frame_);
    } else if (stmt.value.value.kind == Make::Kind::kCall) {
      results = emitter_.Call(*stmt.value.value.call, frame_, AsSpan(present));
    } else {
      results.push_back(emitter_.Value(stmt.value.value, frame_));
    }
    size_t at = 0;
    const bool stopped = results.size() == 1 && results[0].stops();
    for (const MakeStmt::Out& out : stmt.outs) {
      if (stopped) {
        if (out.fresh >= 0) frame_.Bind(out.fresh, results[0]);
      } else if (out.repeated) {
        const size_t begin = std::min(at, results.size());
        at = begin + std::min(Members(stmt, out, results.size()), results.size() - begin);
        if (out.fresh < 0) continue;
        frame_.Bind(out.fresh, Val::ListOf({results.begin() + static_cast<long>(begin),
                                            results.begin() + static_cast<long>(at)}));
      } else if (out.fresh < 0) {
        ++at;
      } else {
        frame_.Bind(out.fresh, at < results.size() ? results[at] : Val());
        ++at;
      }
    }
  }

  Emitter& emitter_;
  const Replacement& text_;
  Frame& frame_;
  boost::container::small_vector<bool, 8> open_;
};

void Emitter::Begin(BodyId body, const Options& options, ValueId base,
                    std::span<const ValueId> redefined) {
  body_ = body;
  options_ = options;
  base_ = base;
  reason_.clear();
  reused_ = false;
  mistyped_ = false;
  first_new_ = graph_.num_nodes();
  first_value_ = graph_.num_values();
  redefined_.clear();
  for (const ValueId v : redefined) redefined_.insert(v);
  going_.clear();
  robbed_.clear();
  wishes_.clear();
  originals_.clear();
  depth_ = 0;
}

namespace {

constexpr std::array<bool, 1> kOne = {true};

}  // namespace

bool Emitter::Reject(std::string reason) {
  if (reason_.empty()) reason_ = std::move(reason);
  return false;
}

Vals Emitter::Fail(std::string reason, size_t outputs) {
  Reject(reason);
  return Vals(std::max<size_t>(outputs, 1), Val(Failure{std::move(reason)}));
}

bool Emitter::Emit(const Replacement& text, Frame& frame, Vals& results) {
  for (const MakeStmt::Out& out : text.wanted) {
    if (out.matched < 0 || !frame.bound(out.matched)) continue;
    const Val& matched = frame[out.matched];
    if (const auto* v = matched.get_if<ValueId>()) going_.insert(*v);
    const auto* list = matched.get_if<List>();
    for (size_t i = 0; list != nullptr && i < (*list)->size(); ++i) {
      if (const auto* v = (**list)[i].get_if<ValueId>()) going_.insert(*v);
    }
  }
  Statements statements(*this, text, frame);
  NewValues* const around = frame.fresh;
  frame.fresh = &statements;
  results.clear();
  for (const MakeStmt::Out& out : text.wanted) {
    results.push_back(out.fresh < 0 ? Val() : statements.Get(out.fresh, -1));
    if (!results.back().stops()) continue;
    if (reason_.empty()) reason_ = in_.WhyIfAsked(results.back());
    break;
  }
  frame.fresh = around;
  return results.empty() || !results.back().stops();
}

Val Emitter::Value(const Make& make, Frame& frame) {
  switch (make.kind) {
    case Make::Kind::kName:
      if (frame.fresh != nullptr) return frame.fresh->Get(make.fresh, make.slot);
      return in_.Eval(make.value, frame);
    case Make::Kind::kCode: return in_.Eval(make.value, frame);
    case Make::Kind::kCall: {
      Vals results = Call(*make.call, frame, kOne);
      return results.empty() ? Val() : results[0];
    }
    case Make::Kind::kCoalesce:
      return OrElse(Value(make.items[0], frame), [&] { return Value(make.items[1], frame); });
    case Make::Kind::kIf: {
      const Val condition = in_.Condition(make.value, frame);
      if (condition.stops()) return condition;
      return Value(make.items[condition.get<bool>() ? 0 : 1], frame);
    }
  }
  return {};
}

Vals Emitter::Call(const MakeCall& call, Frame& frame, std::span<const bool> present) {
  if (!in_.HasStack() || !in_.exhausted().empty()) return Fail(in_.exhausted(), present.size());
  switch (call.kind) {
    case MakeCall::Kind::kTemplate: return Template(call, frame, present.size());
    case MakeCall::Kind::kLabel: return Label(call, frame, present);
    case MakeCall::Kind::kOperator: break;
  }
  return Operator(call, frame, present);
}

// `t... = n<...>(...)` has as many outputs as node n.
size_t Emitter::OutputsLike(const Make& make, Frame& frame) {
  if (make.kind != Make::Kind::kCall || make.call->kind != MakeCall::Kind::kLabel) return 1;
  const Val head = in_.Slot(make.call->slot, frame);
  const auto* label = head.get_if<LabelRef>();
  return label == nullptr ? 1 : graph_.num_outputs(label->node);
}

// `n(...)`: what is called depends on what the match bound the name to.
Vals Emitter::Label(const MakeCall& call, Frame& frame, std::span<const bool> present) {
  const Val head = in_.Slot(call.slot, frame);
  if (const auto* body = head.get_if<BodyRef>()) return Inline(body->body, call, frame);
  if (const auto* chain = head.get_if<ChainRef>()) return Rebuild(*chain, call, frame);
  const auto* label = head.get_if<LabelRef>();
  if (label == nullptr || !call.arrows) return Operator(call, frame, present);
  // One output is asked for: the one that the match named.
  return Copy(label->node, call, frame, present.size() == 1 ? label->output : NodeIndex::kAll);
}

// --- templates

Vals Emitter::Template(const MakeCall& call, Frame& frame, size_t outputs) {
  const CompiledDefinition& d = in_.program().definition(call.definition);
  const Vals args = Written(call, frame);
  if (!args.empty() && args.back().stops()) return Fail(in_.WhyIfAsked(args.back()), outputs);
  if (++depth_ > kMaxRecursion) {
    in_.Exhaust(fmt::format("templates call each other more than {} times deep, at `${}`",
                            kMaxRecursion, d.definition->head.name));
  }
  Vals results;
  Val found = false;
  if (in_.exhausted().empty()) {
    found = in_.ChooseCase(d, AsSpan(args), body_, [&](const CompiledCase& c, Frame& inner) {
      results = TemplateCase(d, c, inner);
    });
  }
  --depth_;
  if (!in_.exhausted().empty()) return Fail(in_.exhausted(), outputs);
  if (found.stops()) return Fail(in_.WhyIfAsked(found), outputs);
  if (!found.get<bool>()) {
    return Fail(fmt::format("no case of ${} applies", d.definition->head.name), outputs);
  }
  return results;
}

Vals Emitter::TemplateCase(const CompiledDefinition& d, const CompiledCase& c, Frame& frame) {
  const size_t outputs = std::max<size_t>(d.definition->head.outs.size(), 1);
  if (c.make) {
    if (outputs > 1 && c.make->kind == Make::Kind::kCall) {
      const boost::container::small_vector<bool, 4> present(outputs, true);
      return Call(*c.make->call, frame, AsSpan(present));
    }
    return {Value(*c.make, frame)};
  }
  Vals results;
  if (c.replace) {
    if (!Emit(*c.replace, frame, results)) return Fail(reason_, outputs);
    return results;
  }
  const Val found = in_.ChooseCase(c.cases, frame, [&](const CompiledCase& nested, Frame& inner) {
    results = TemplateCase(d, nested, inner);
  });
  if (found.stops()) return Fail(in_.WhyIfAsked(found), outputs);
  if (!found.get<bool>()) return Fail("no case applies", outputs);
  return results;
}

}  // namespace qrewrite
