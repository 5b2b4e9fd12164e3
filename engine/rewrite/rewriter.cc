#include "engine/rewrite/rewriter.h"

#include <fmt/format.h>

#include "engine/match/words.h"
#include "engine/program/scalar.h"

namespace qrewrite {

Rewriter::Rewriter(Graph& graph, Interpreter& interpreter)
    : graph_(graph),
      in_(interpreter),
      nodes_(graph),
      constants_(graph),
      emitter_(graph, interpreter, nodes_, constants_),
      first_made_(graph.num_nodes()) {}

bool Rewriter::Reject(std::string reason) {
  in_.Note({}, {}, reason, MatchTrace::kRejected);
  rejected_ = std::move(reason);
  return false;
}

bool Rewriter::Mistyped(std::string reason) {
  mistyped_ = true;
  return Reject(std::move(reason));
}

bool Rewriter::Applies() {
  rejected_ = "the rule applies here";
  in_.Note({}, {}, rejected_, MatchTrace::kApplies);
  return false;
}

void Rewriter::Try(const CompiledRule& rule, NodeId anchor, Firing& firing) {
  firing.Clear();
  firing.node = anchor;
  rejected_.clear();
  mistyped_ = false;
  ended_ = false;
  Frame frame(rule.layout);
  in_.MatchRule(rule, anchor, frame, [&] {
    firing.fired = Apply(rule, anchor, frame, firing);
    if (firing.fired && in_.matched() != nullptr) firing.matched = *in_.matched();
    return firing.fired || ended_;
  });
  firing.steps = in_.steps();
  firing.exhausted = in_.exhausted();
  if (!firing.fired) firing.rejected = rejected_;
  firing.mistyped = !firing.fired && mistyped_;
}

MatchTrace Rewriter::Explain(const CompiledRule& rule, NodeId anchor, MatchTrace asked) {
  in_.set_trace(&asked);
  dry_run_ = true;
  Firing none;
  Try(rule, anchor, none);
  dry_run_ = false;
  if (asked.of_condition()) SeeWhole(rule, anchor, asked);
  in_.set_trace(nullptr);
  return asked;
}

// Where a condition alone stands in the way, all of the pattern is matched: some are asked when little is.
void Rewriter::SeeWhole(const CompiledRule& rule, NodeId anchor, MatchTrace& asked) {
  MatchTrace whole;
  const auto fits_with = [&](MatchTrace* trace) {
    Frame frame(rule.layout);
    in_.set_trace(trace);
    return in_.MatchRule(rule, anchor, frame, [] { return true; });
  };
  in_.set_rule_conditions(false);
  // First without one: a search that notes reasons makes every chain, however long.
  const bool fits = fits_with(nullptr) && fits_with(&whole);
  in_.set_rule_conditions(true);
  if (!fits || whole.depth <= asked.depth) return;
  asked.depth = whole.depth;
  asked.matched = whole.matched;
}

bool Rewriter::Apply(const CompiledRule& rule, NodeId anchor, Frame& frame, Firing& firing) {
  if (!Rewrites(*rule.rule)) {  // the driver reports it
    if (dry_run_) return Applies();
    if (found_) found_(rule, frame);
    return true;
  }
  may_alias_ = copies_bodies_ = false;
  const auto apply = [&](Share share) {
    if (ApplyOnce(rule, anchor, frame, firing, share)) return true;
    if (ended_ || fault_ != SharingFault::kBodies) return false;
    copies_bodies_ = true;
    return ApplyOnce(rule, anchor, frame, firing, share);
  };
  if (apply(rule.rule->share ? Share::kAll : Share::kNone)) return true;
  if (ended_) return false;
  // An equal node that reads what is redefined is none to build on; one that is another graph output
  // is, if nothing else will do.
  if (fault_ == SharingFault::kCycle) return apply(Share::kNone);
  if (fault_ != SharingFault::kAlias) return false;
  if (apply(Share::kInner)) return true;
  may_alias_ = true;
  return !ended_ && apply(Share::kAll);
}

bool Rewriter::ApplyOnce(const CompiledRule& rule, NodeId anchor, Frame& frame, Firing& firing,
                         Share share) {
  fault_ = SharingFault::kNone;
  mark_ = graph_.mark();
  in_.set_uses_mark(mark_.nodes, mark_.bodies);
  const Inputs redefined = MatchedOutputs(rule, frame);
  base_ = redefined.empty() ? ValueId() : redefined.front();
  const BodyId body = base_.valid() ? graph_.body_of(base_) : graph_.body_of(anchor);
  Redefinitions redefinitions;
  Retypes retypes;
  const bool typed = Retyped(rule, frame, retypes);
  emitter_.Begin(body,
                 {.share = share,
                  .check_types = in_.rules().check_types,
                  .copies_bodies = copies_bodies_,
                  .retypes = retypes},
                 base_, AsSpan(redefined));
  bool good = typed && Choose(rule, frame, redefinitions) && Check(rule, redefinitions, retypes);
  if (good && accept_) {
    if (std::string reason = accept_(rule, frame); !reason.empty())
      good = Reject(std::move(reason));
  }
  in_.set_uses_mark(SIZE_MAX, SIZE_MAX);
  if (good && dry_run_) good = Applies();
  if (!good) {
    mistyped_ |= emitter_.mistyped();
    graph_.Undo(mark_);
    in_.facts().Truncate(mark_.values);
    in_.TruncateFacts(mark_.values);
    return false;
  }
  Commit(rule, redefinitions, retypes, firing);
  return true;
}

// The values that the match found for the outputs that the rule redefines.
Inputs Rewriter::MatchedOutputs(const CompiledRule& rule, Frame& frame) const {
  Inputs values;
  for (const int s : rule.redefined) {
    for (const PatOut& out : rule.pattern.stmts[s].outs) {
      if (out.slot < 0) continue;
      if (const auto* v = frame[out.slot].get_if<ValueId>()) values.push_back(*v);
      if (const auto* list = frame[out.slot].get_if<List>()) {
        for (const Val& item : **list) {
          if (item.is<ValueId>()) values.push_back(item.get<ValueId>());
        }
      }
    }
  }
  return values;
}

// Emits the replacement of a rule or case, or that of the first of its cases that applies.
template <class RuleOrCase>
bool Rewriter::Choose(const RuleOrCase& from, Frame& frame, Redefinitions& redefinitions) {
  if (from.replace) return Replace(*from.replace, frame, redefinitions);
  bool good = false;
  const Val found = in_.ChooseCase(from.cases, frame, [&](const CompiledCase& c, Frame& f) {
    good = Choose(c, f, redefinitions);
  });
  return Applied(found, from.cases, frame) && good;
}

// Whether one of the cases was chosen.
bool Rewriter::Applied(const Val& found, const std::vector<CompiledCase>& cases, Frame& frame) {
  if (found.stops()) return Reject(in_.WhyIfAsked(found));
  return found.get<bool>() || Reject(Words(in_).NoCase(cases, frame));
}

bool Rewriter::AddRedefinition(const Val& old_value, const Val& new_value, const std::string& name,
                               Redefinitions& out) {
  if (old_value.absent()) return true;  // an output that the node did not have
  const auto* v = old_value.get_if<ValueId>();
  if (v == nullptr) return Reject(fmt::format("`{}` is no value of the graph", name));
  if (new_value.stops()) return Reject(in_.WhyIfAsked(new_value));
  if (new_value.absent()) return Reject(fmt::format("`{}` would become absent", name));
  if (const auto* by = new_value.get_if<ValueId>()) {
    out.push_back({*v, *by});
    return true;
  }
  const Val forced = in_.Force(new_value);
  if (!forced.is_number()) {
    return Reject(forced.stops() ? in_.WhyIfAsked(forced)
                                 : fmt::format("`{}` would become {}", name, Describe(forced)));
  }
  const Num number = forced.number();
  Val typed = number;
  if (number.weak) {  // a literal takes the type of the value it replaces
    const DType dtype = in_.facts().dtype(*v);
    typed = dtype == DType::kUndefined ? Interpreter::CastWeak(number)
                                       : Interpreter::CastNum(number, dtype);
    if (typed.stops()) return Reject(in_.WhyIfAsked(typed));
  }
  const ValueId constant = constants_.Get(graph_.body_of(*v), typed.get<Num>().t);
  out.push_back({*v, constant});
  return true;
}

bool Rewriter::Replace(const Replacement& text, Frame& frame, Redefinitions& redefinitions) {
  Vals results;
  if (!emitter_.Emit(text, frame, results)) return Reject(emitter_.reason());
  for (size_t k = 0; k < results.size(); ++k) {
    const std::string& name = text.wanted[k].name;
    const Val& old_value = frame[text.wanted[k].matched];
    const Val& new_value = results[k];
    const auto* old_list = old_value.get_if<List>();
    if (old_list == nullptr) {
      if (!AddRedefinition(old_value, new_value, name, redefinitions)) return false;
      continue;
    }
    const auto* new_list = new_value.get_if<List>();
    if (new_list == nullptr || (*new_list)->size() < (*old_list)->size()) {
      return Reject(fmt::format("`{}...` needs {} values", name, (*old_list)->size()));
    }
    for (size_t i = 0; i < (*old_list)->size(); ++i) {
      if (!AddRedefinition((**old_list)[i], (**new_list)[i], name, redefinitions)) return false;
    }
  }
  return true;
}

bool Rewriter::Retyped(const CompiledRule& rule, Frame& frame, Retypes& out) {
  for (const auto& [slot, code] : rule.retype) {
    const std::string& name = frame.name(slot);
    const auto* v = frame.value(slot);
    const Val type = in_.Eval(code, frame);
    const std::optional<DType> dtype = ElementTypeOf(type);
    if (v == nullptr || !dtype) {
      return Reject(type.stops() ? in_.WhyIfAsked(type)
                                 : fmt::format("retype of `{}`: no element type", name));
    }
    if (!graph_.IsInput(*v) && !graph_.IsOutput(*v)) {
      return Reject(fmt::format("retype: `{}` is neither input nor output of the graph", name));
    }
    out.emplace_back(*v, *dtype);
  }
  return true;
}

}  // namespace qrewrite
