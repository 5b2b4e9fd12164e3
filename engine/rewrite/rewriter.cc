#include "engine/rewrite/rewriter.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "engine/base/diagnostics.h"
#include "engine/graph/bgl.h"

namespace qrewrite {

Rewriter::Rewriter(Graph& graph, Interpreter& interpreter)
    : graph_(graph),
      in_(interpreter),
      nodes_(graph),
      constants_(graph),
      emitter_(graph, interpreter, nodes_, constants_) {}

bool Rewriter::Reject(std::string reason) {
  in_.Note({}, {}, reason, 1 << 20);  // a replacement that failed is further than any pattern
  rejected_ = std::move(reason);
  return false;
}

Firing Rewriter::Try(const CompiledRule& rule, NodeId anchor) {
  Firing firing;
  firing.node = anchor;
  rejected_.clear();
  Frame frame(rule.layout);
  in_.MatchRule(rule, anchor, frame, [&] {
    firing.fired = Apply(rule, anchor, frame, firing);
    return firing.fired;
  });
  if (!firing.fired) firing.rejected = rejected_;
  return firing;
}

MatchTrace Rewriter::Explain(const CompiledRule& rule, NodeId anchor, NodeId watched) {
  MatchTrace trace;
  trace.watched = watched;
  in_.set_trace(&trace);
  options_.dry_run = true;
  Try(rule, anchor);
  options_.dry_run = false;
  in_.set_trace(nullptr);
  return trace;
}

bool Rewriter::Apply(const CompiledRule& rule, NodeId anchor, Frame& frame, Firing& firing) {
  const bool replaces = rule.rule->replace || !rule.rule->cases.empty();
  if (!replaces) return true;  // refuse or warn: the driver reports it
  if (ApplyOnce(rule, anchor, frame, firing, rule.rule->share)) return true;
  // An equal node that reads what is redefined is none that the patch can build on.
  return shared_cycle_ && ApplyOnce(rule, anchor, frame, firing, /*share=*/false);
}

bool Rewriter::ApplyOnce(const CompiledRule& rule, NodeId anchor, Frame& frame, Firing& firing,
                         bool share) {
  shared_cycle_ = false;
  mark_ = graph_.mark();
  in_.set_uses_mark(mark_.nodes);
  pending_records_.clear();
  std::vector<Redefinition> redefinitions;
  std::vector<std::pair<ValueId, DType>> retypes;
  BodyId body = graph_.body_of(anchor);
  std::vector<ValueId> redefined;
  for (const int s : rule.redefined) {
    for (const PatOut& out : rule.pattern.stmts[s].outs) {
      if (out.slot < 0) continue;
      if (const auto* v = frame[out.slot].get_if<ValueId>()) redefined.push_back(*v);
      if (const auto* list = frame[out.slot].get_if<List>()) {
        for (const Val& item : **list) {
          if (item.is<ValueId>()) redefined.push_back(item.get<ValueId>());
        }
      }
    }
  }
  base_ = redefined.empty() ? ValueId() : redefined.front();
  if (base_.valid()) body = graph_.body_of(base_);
  emitter_.Begin(body, {.share = share, .check_types = in_.rules().check_types}, base_, redefined);
  bool good = false;
  if (rule.replace) {
    good = Replace(*rule.replace, frame, redefinitions);
  } else {
    const std::function<bool(const CompiledCase&, Frame&)> outcome = [&](const CompiledCase& c,
                                                                         Frame& f) {
      if (c.replace) return Replace(*c.replace, f, redefinitions);
      bool inner = false;
      in_.ChooseCase(c.cases, f,
                     [&](const CompiledCase& nested, Frame& g) { inner = outcome(nested, g); });
      return inner;
    };
    const Val found = in_.ChooseCase(
        rule.cases, frame, [&](const CompiledCase& c, Frame& f) { good = outcome(c, f); });
    if (found.stops()) Reject(in_.Why(found));
  }
  good = good && Retypes(rule, frame, retypes) && Records(rule, frame) &&
         Check(rule, redefinitions, retypes);
  if (good) Count(rule, frame, firing);
  in_.set_uses_mark(SIZE_MAX);
  if (good && options_.dry_run) good = Reject("the rule applies here");
  if (!good) {
    graph_.Undo(mark_);
    in_.facts().Truncate(mark_.values);
    in_.TruncateFacts(mark_.values);
    return false;
  }
  Commit(redefinitions, retypes, firing);
  return true;
}

bool Rewriter::AddRedefinition(const Val& old_value, const Val& new_value, const std::string& name,
                               std::vector<Redefinition>& out) {
  if (old_value.absent()) return true;  // an output that the node did not have
  const auto* v = old_value.get_if<ValueId>();
  if (v == nullptr) return Reject(fmt::format("`{}` is no value of the graph", name));
  if (new_value.stops()) return Reject(in_.Why(new_value));
  if (new_value.absent()) return Reject(fmt::format("`{}` would become absent", name));
  if (const auto* by = new_value.get_if<ValueId>()) {
    out.push_back({*v, *by});
    return true;
  }
  const Val forced = in_.Force(new_value);
  if (!forced.is_number()) {
    return Reject(forced.stops() ? in_.Why(forced)
                                 : fmt::format("`{}` would become {}", name, Describe(forced)));
  }
  const Num number = forced.number();
  Val typed = number;
  if (number.weak) {  // a literal takes the type of the value it replaces
    const DType dtype = in_.facts().dtype(*v);
    typed = dtype == DType::kUndefined ? Interpreter::CastWeak(number)
                                       : Interpreter::CastNum(number, dtype);
    if (typed.stops()) return Reject(in_.Why(typed));
  }
  const ValueId constant = constants_.Get(graph_.body_of(*v), typed.get<Num>().t);
  out.push_back({*v, constant});
  return true;
}

bool Rewriter::Replace(const Replacement& text, Frame& frame,
                       std::vector<Redefinition>& redefinitions) {
  std::vector<Val> results;
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

bool Rewriter::Retypes(const CompiledRule& rule, Frame& frame,
                       std::vector<std::pair<ValueId, DType>>& out) {
  for (const auto& [slot, code] : rule.retype) {
    const std::string& name = frame.name(slot);
    const auto* v = frame.value(slot);
    const Val dtype = in_.Eval(code, frame);
    if (v == nullptr || !dtype.is<DType>()) {
      return Reject(dtype.stops() ? in_.Why(dtype)
                                  : fmt::format("retype of `{}`: no element type", name));
    }
    if (!graph_.IsInput(*v) && !graph_.IsOutput(*v)) {
      return Reject(fmt::format("retype: `{}` is neither input nor output of the graph", name));
    }
    out.emplace_back(*v, dtype.get<DType>());
  }
  return true;
}

bool Rewriter::Records(const CompiledRule& rule, Frame& frame) {
  for (const CompiledRule::Record& record : rule.records) {
    RecordRow row{.table = record.table, .of = {}, .columns = {}};
    for (const auto& [column, code] : record.columns) {
      Val value = in_.Eval(code, frame);
      if (value.stops()) return Reject(fmt::format("record `{}`: {}", column, in_.Why(value)));
      if (column == "of") {
        if (!value.is<ValueId>()) return Reject("record: `of` is a value of the graph");
        row.of = value.get<ValueId>();
        continue;
      }
      if (value.is<ValueId>() || value.is<List>()) value = in_.Force(value);
      if (value.stops()) return Reject(fmt::format("record `{}`: {}", column, in_.Why(value)));
      row.columns.emplace_back(column, std::move(value));
    }
    pending_records_.push_back(std::move(row));
  }
  return true;
}

// Conditions of counters see the graph as it was before the firing; what is unknown does not count.
void Rewriter::Count(const CompiledRule& rule, Frame& frame, Firing& firing) {
  firing.counted.clear();
  for (const CodeId when : rule.counters) {
    const Val truth = when.valid() ? in_.Condition(when, frame) : Val(true);
    const bool* counts = truth.get_if<bool>();
    firing.counted.push_back(counts != nullptr && *counts);
  }
}

// --- the patch as a whole

bool Rewriter::Check(const CompiledRule& rule, const std::vector<Redefinition>& redefinitions,
                     const std::vector<std::pair<ValueId, DType>>& retypes) {
  std::set<ValueId> seen;
  bool all_same = true;
  for (const Redefinition& r : redefinitions) {
    if (!seen.insert(r.value).second) return Reject("an output is redefined twice");
    all_same &= r.value == r.by;
    if (graph_.body_of(r.value) != graph_.body_of(redefinitions[0].value)) {
      return Reject("the redefined outputs lie in different bodies");
    }
    if (!graph_.Encloses(graph_.body_of(r.by), graph_.body_of(r.value))) {
      return Reject(fmt::format("`{}` is not visible where `{}` is", graph_.name(r.by),
                                graph_.name(r.value)));
    }
  }
  if (all_same && retypes.empty()) return Reject("the result would equal what was there");
  const bool read = std::any_of(redefinitions.begin(), redefinitions.end(),
                                [&](const Redefinition& r) { return in_.CountUses(r.value) > 0; });
  if (!read && retypes.empty()) return Reject("nothing reads what it redefines");
  for (const Redefinition& r : redefinitions) {
    if (r.value == r.by) continue;
    const bool retyped = std::any_of(retypes.begin(), retypes.end(), [&](const auto& t) {
      return t.first == r.value || t.first == r.by;
    });
    if (!CheckType(r, retyped)) return false;
    const NodeId old_producer = graph_.producer(r.value);
    const bool is_new = graph_.producer(r.by).valid() && graph_.producer(r.by).index >= mark_.nodes;
    if (!is_new && graph_.IsOutput(r.value) && !graph_.constant(r.by) && !CanRename(r) &&
        old_producer.valid() && graph_.op_name(graph_.op(old_producer)) == OpName{"", "Identity"} &&
        graph_.input(old_producer, 0) == r.by) {
      return Reject("it would leave the Identity that is there");
    }
  }
  if (!CheckReaders(redefinitions, retypes)) return false;
  // Only a rule that walked down, or that redefines several nodes, can make a cycle; or one that
  // uses a node again which reads what is redefined.
  const bool risky = rule.redefined.size() > 1 || rule.pattern.walks_down;
  const bool cycle = (risky && MakesCycle(redefinitions, /*kept=*/false)) ||
                     (emitter_.reused() && MakesCycle(redefinitions, /*kept=*/true));
  shared_cycle_ = cycle && emitter_.reused();
  return !cycle || Reject("it would make a cycle");
}

std::string Rewriter::ShapeText(const TypeInfo& type) const {
  std::vector<std::string> dims;
  for (const Dim dim : type.dims) {
    dims.push_back(dim.known()      ? std::to_string(dim.size())
                   : dim.symbolic() ? graph_.symbol_name(dim)
                                    : "?");
  }
  return fmt::format("[{}]", fmt::join(dims, ", "));
}

bool Rewriter::CheckType(const Redefinition& r, bool retyped) {
  const TypeInfo before = in_.facts().Type(r.value);
  const TypeInfo after = in_.facts().Type(r.by);
  if (in_.rules().check_types && !retyped && before.dtype != DType::kUndefined &&
      after.dtype != DType::kUndefined && before.dtype != after.dtype) {
    return Reject(fmt::format("`{}` would change from {} to {}", graph_.name(r.value),
                              Info(before.dtype).name, Info(after.dtype).name));
  }
  if (!before.has_rank || !after.has_rank) return true;
  bool same = before.dims.size() == after.dims.size();
  for (size_t i = 0; same && i < before.dims.size(); ++i) {
    same = !before.dims[i].known() || !after.dims[i].known() || before.dims[i] == after.dims[i];
  }
  return same || Reject(fmt::format("the shape of `{}` would change from {} to {}",
                                    graph_.name(r.value), ShapeText(before), ShapeText(after)));
}

// Who reads a value of a new type must be able to.
bool Rewriter::CheckReaders(const std::vector<Redefinition>& redefinitions,
                            const std::vector<std::pair<ValueId, DType>>& retypes) {
  if (!in_.rules().check_types) return true;
  for (const Redefinition& r : redefinitions) {
    const auto retype = std::find_if(retypes.begin(), retypes.end(), [&](const auto& t) {
      return t.first == r.value || t.first == r.by;
    });
    if (retype == retypes.end()) continue;
    for (const UseId u : graph_.uses(r.value)) {
      const User user = graph_.user(u);
      if (user.is_output() || user.node.index >= mark_.nodes) continue;
      const Signature* s = SignatureOf(graph_, in_.rules().signatures, user.node);
      if (s == nullptr || s->inputs.empty()) continue;
      const int var = s->inputs[std::min<size_t>(user.index, s->inputs.size() - 1)].type_var;
      if (var < 0 || s->types[var].Allows(retype->second)) continue;
      return Reject(fmt::format("{} cannot read `{}` as {}",
                                graph_.op_name(graph_.op(user.node)).text(), graph_.name(r.value),
                                Info(retype->second).name));
    }
  }
  return true;
}

// What new nodes and aliases read must not depend on what is redefined.
bool Rewriter::MakesCycle(const std::vector<Redefinition>& redefinitions, bool kept) {
  std::vector<NodeId> taps, targets;
  const BodyId body = graph_.body_of(redefinitions[0].value);
  for (size_t n = mark_.nodes; n < graph_.num_nodes(); ++n) {
    for (size_t i = 0; i < graph_.num_inputs(NodeId(n)); ++i) {
      const ValueId v = graph_.input(NodeId(n), i);
      if (!v.valid() || !graph_.producer(v).valid() || graph_.producer(v).index >= mark_.nodes)
        continue;
      const bool redefined = std::any_of(redefinitions.begin(), redefinitions.end(),
                                         [&](const Redefinition& r) { return r.value == v; });
      if (kept && redefined) continue;
      const NodeId in_body = graph_.AncestorIn(body, graph_.producer(v));
      if (in_body.valid()) taps.push_back(in_body);
    }
  }
  for (const Redefinition& r : redefinitions) {
    if (r.value == r.by) continue;
    const NodeId producer = graph_.producer(r.by);
    if (producer.valid() && producer.index < mark_.nodes && graph_.body_of(producer) == body) {
      taps.push_back(producer);
    }
    if (graph_.producer(r.value).valid()) targets.push_back(graph_.producer(r.value));
  }
  return DependsOn(graph_, body, taps, targets);
}

}  // namespace qrewrite
