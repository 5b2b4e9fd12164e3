// Rewriter: a patch that was checked becomes part of the graph; names, and what dies with it.
#include <algorithm>
#include <map>

#include <fmt/format.h>
#include <boost/container/small_vector.hpp>

#include "engine/rewrite/edit.h"
#include "engine/rewrite/rewriter.h"

namespace qrewrite {

namespace {

// `name` without what made it another one: "y" of "y_3".
std::string_view WithoutNumber(std::string_view name) {
  const size_t end = name.find_last_not_of("0123456789");
  const bool numbered = end != name.npos && end + 1 < name.size() && name[end] == '_';
  return numbered ? name.substr(0, end) : name;
}

// "base_suffix". Names of names would grow with each step of a long rewrite: a suffix that is there
// five times is not repeated, and of a long base only the beginning counts.
std::string DerivedName(std::string_view base, std::string_view suffix) {
  constexpr size_t kMostRepeats = 5, kLongest = 160;
  const std::string_view stem = WithoutNumber(base);
  std::string_view rest = stem;
  size_t repeats = 0;
  for (; repeats < kMostRepeats && rest.ends_with(suffix); ++repeats) {
    rest.remove_suffix(suffix.size());
    if (!rest.ends_with('_')) break;
    rest.remove_suffix(1);
  }
  if (repeats == kMostRepeats) return std::string(stem);
  if (base.size() > kLongest) {
    size_t end = kLongest;
    while (end > 0 && (static_cast<unsigned char>(base[end]) & 0xc0) == 0x80) --end;  // UTF-8
    base = base.substr(0, end);
  }
  std::string name;
  name.reserve(base.size() + 1 + suffix.size());
  return name.append(base).append(1, '_').append(suffix);
}

}  // namespace

bool Rewriter::CanRename(const Redefinition& r) const {
  return graph_.producer(r.by).valid() && graph_.body_of(r.by) == graph_.body_of(r.value) &&
         !graph_.IsOutput(r.by);
}

void Rewriter::MoveReaders(ValueId from, ValueId to) {
  boost::container::small_vector<NodeId, 8> readers;
  for (const UseId u : graph_.uses(from)) {
    if (!graph_.user(u).is_output()) readers.push_back(graph_.user(u).node);
  }
  graph_.ReplaceUses(from, to);
  for (const NodeId n : readers) {
    nodes_.Add(n);
    in_.facts().Reread(n);
  }
}

// Returns the value that stands for `r.value` from now on.
ValueId Rewriter::CommitOne(const Redefinition& r, Firing& firing) {
  const NodeId producer = graph_.producer(r.by);
  const bool is_new = producer.valid() && producer.index >= mark_.nodes;
  // A value that an earlier redefinition of this patch took over has another name by now.
  const bool fresh = is_new && r.by.index >= mark_.values && graph_.alive(r.by);
  if (fresh || (graph_.IsOutput(r.value) && CanRename(r))) {
    MoveReaders(r.by, r.value);
    graph_.SetProducer(r.value, producer, graph_.output_index(r.by));
    in_.facts().Redefined(r.value);
    firing.redefined.push_back(r.value);
    return r.value;
  }
  if (!graph_.IsOutput(r.value)) {
    MoveReaders(r.value, r.by);
    firing.redefined.push_back(r.by);
    return r.by;
  }
  if (const Tensor* tensor = graph_.constant(r.by);
      tensor != nullptr && !graph_.Overridable(r.by)) {
    MakeConstant(graph_, r.value, Tensor(*tensor));
    in_.facts().Redefined(r.value);
    firing.redefined.push_back(r.value);
    return r.value;
  }
  const ValueId out = graph_.AddValue(graph_.body_of(r.value), "");
  const NodeId identity =
      graph_.AddNode(graph_.body_of(r.value), graph_.InternOp("", "Identity"),
                     std::vector<ValueId>{r.by}, std::vector<ValueId>{out}, {}, "");
  graph_.SetProducer(r.value, identity, 0);
  in_.facts().Redefined(r.value);
  nodes_.Add(identity);
  firing.redefined.push_back(r.value);
  return r.value;
}

// New nodes may read what is redefined (`y = Relu(n(x -> x))`): they go on reading the former
// value, which gets an id of its own. Invalid if there are none.
ValueId Rewriter::KeepForNewNodes(ValueId v) {
  if (!graph_.producer(v).valid()) return {};
  boost::container::small_vector<User, 8> readers;
  for (const UseId u : graph_.uses(v)) {
    const User user = graph_.user(u);
    if (IsNew(user)) readers.push_back(user);
  }
  if (readers.empty()) return {};
  const ValueId kept = graph_.AddValue(graph_.body_of(v), "");
  for (const User& user : readers) {
    if (user.is_output()) {
      graph_.SetOutput(user.body, user.index, kept);
    } else {
      graph_.SetInput(user.node, user.index, kept);
      nodes_.Add(user.node);
    }
  }
  return kept;
}

// What readers of `r.value` will find changed in its type.
std::optional<Facts::Retype> Rewriter::RetypeOf(const Redefinition& r) {
  Facts& facts = in_.facts();
  const DType was = facts.dtype(r.value), is = facts.dtype(r.by);
  const bool both = was != DType::kUndefined && is != DType::kUndefined;
  if (both && was != is) return Facts::Retype::kOther;
  const bool more = facts.TypeUnknown(r.value) && facts.Type(r.value) != facts.Type(r.by);
  return more ? std::optional(Facts::Retype::kFirst) : std::nullopt;
}

void Rewriter::Commit(const CompiledRule& rule, const Redefinitions& redefinitions,
                      const Retypes& retypes, Firing& firing) {
  boost::container::small_vector<Former, 2> formers;
  maybe_dead_.clear();
  const bool keeps_numbers = rule.rule->KeepsNumbers() && retypes.empty();
  if (!keeps_numbers) nodes_.ForgetFormers();
  boost::container::small_vector<ValueId, 4> other;  // values of which facts may be untrue
  // Where a value went: later redefinitions by the same value follow it, if there are any.
  std::map<ValueId, ValueId> moved;
  for (Redefinition r : redefinitions) {
    if (const auto it = moved.find(r.by); it != moved.end()) r.by = it->second;
    if (r.value == r.by) continue;
    const ValueId by = r.by;
    const NodeId producer = graph_.producer(r.value);
    const uint32_t index = graph_.output_index(r.value);
    const auto retype = RetypeOf(r);
    const ValueId kept = KeepForNewNodes(r.value);
    std::vector<NodeId> readers;  // that will read another type
    if (retype) in_.facts().AddReaders(r.value, readers);
    const bool keeps_type = in_.rules().check_types && retypes.empty();
    if (retype == Facts::Retype::kFirst && keeps_type) in_.facts().KeepType(r.value, r.by);
    const ValueId now = CommitOne(r, firing);
    // Who only got more readers is what it was: facts look upwards. But where a node has several
    // outputs they may have looked at which of them are read.
    const NodeId maker = graph_.producer(now);
    if (now != by || (maker.valid() && graph_.num_outputs(maker) > 1)) other.push_back(now);
    if (retype && now == by) in_.facts().InputsRetyped(std::move(readers), *retype);
    if (retype && now != by) in_.facts().Retyped(now, *retype);
    if (producer.valid()) {
      formers.push_back({producer, index, r.value, now});
      maybe_dead_.push_back(producer);
    }
    if (kept.valid()) {
      graph_.SetProducer(kept, producer, index);
    } else if (keeps_numbers && IsMade(producer)) {
      nodes_.Remember(producer, now);
    }
    if (now != r.value) nodes_.Moved(r.value, now);
    if (!graph_.alive(by)) {
      if (redefinitions.size() > 1) moved[by] = r.value;
      nodes_.Moved(by, r.value);
    }
  }
  CommitTypes(retypes);
  RankNewNodes(AsSpan(formers));
  for (const Former& f : formers) in_.ForgetFacts(f.value);
  for (const ValueId v : other) in_.ForgetFacts(v);
  for (size_t n = mark_.nodes; n < graph_.num_nodes(); ++n) maybe_dead_.emplace_back(n);
  RemoveDead(graph_, maybe_dead_, &firing.released);
  ForgetReaders(firing.released);
  for (const Former& f : formers) KeepRequiredOutput(f.node, f.index, f.value);
  NameNewValues();
  for (size_t i = mark_.nodes; i < graph_.num_nodes(); ++i) {
    const NodeId n(i);
    if (!graph_.alive(n)) continue;
    if (!formers.empty()) graph_.Inherit(n, formers.front().node);
    firing.created.push_back(n);
  }
  firing.changed = true;
}

// A fact may have looked at whether the other outputs of a node are read.
void Rewriter::ForgetReaders(const std::vector<ValueId>& released) {
  const auto forget = [&](ValueId v) {
    if (!v.valid() || !graph_.alive(v)) return;
    const NodeId n = graph_.producer(v);
    if (n.valid() && graph_.num_outputs(n) > 1) in_.ForgetFacts(v);
  };
  for (const ValueId v : released) forget(v);
  for (size_t n = mark_.nodes; n < graph_.num_nodes(); ++n) {
    if (!graph_.alive(NodeId(n))) continue;
    for (size_t i = 0; i < graph_.num_inputs(NodeId(n)); ++i) forget(graph_.input(NodeId(n), i));
  }
}

// Whether a rule made `n`, and again would make the same of the same inputs.
bool Rewriter::IsMade(NodeId n) const {
  if (!n.valid() || n.index < first_made_ || graph_.num_outputs(n) != 1) return false;
  const Signature* s = in_.NodeSignature(n);
  return !graph_.HasSubgraphs(n) && (s == nullptr || s->deterministic);
}

void Rewriter::SetOrder(const std::vector<NodeId>& order) {
  ranks_.assign(graph_.num_nodes(), 0);
  for (size_t i = 0; i < order.size(); ++i) ranks_[order[i].index] = static_cast<uint32_t>(i);
  ordered_ = true;
}

// Who reads a redefined value came behind its former producer; where that is not far enough any more,
// the order ends.
void Rewriter::RankNewNodes(std::span<const Former> formers) {
  ranks_.resize(graph_.num_nodes());
  for (size_t i = mark_.nodes; i < graph_.num_nodes(); ++i) {
    const NodeId n(i);
    for (size_t k = 0; k < graph_.num_inputs(n); ++k) {
      const ValueId v = graph_.input(n, k);
      if (v.valid() && graph_.producer(v).valid()) {
        ranks_[i] = std::max(ranks_[i], rank(graph_.producer(v)));
      }
    }
    // What subgraphs read is not looked for.
    if (graph_.HasSubgraphs(n)) ordered_ = false;
  }
  for (const Former& f : formers) {
    const NodeId maker = graph_.producer(f.now);
    if (maker.valid() && rank(maker) > rank(f.node)) ordered_ = false;
  }
}

void Rewriter::CommitTypes(const Retypes& retypes) {
  for (const auto& [v, dtype] : retypes) {
    TypeInfo type = graph_.declared(v);
    type.dtype = dtype;
    DeclareType(graph_, v, type);
    in_.facts().Retyped(v);
  }
  if (!retypes.empty()) in_.ForgetDefaults();
}

// A node that lives on for its other outputs goes on making output `index`, under another name,
// unless the operator can do without.
void Rewriter::KeepRequiredOutput(NodeId n, uint32_t index, ValueId former) {
  if (!graph_.alive(n) || graph_.output(n, index).valid()) return;
  const Signature* s = in_.NodeSignature(n);
  const bool known = s != nullptr && !s->outputs.empty();
  const FormalValue* formal =
      known ? &s->outputs[std::min<size_t>(index, s->outputs.size() - 1)] : nullptr;
  if (formal != nullptr && formal->arity == Arity::kOptional) return;
  const std::string wish =
      fmt::format("{}_{}", graph_.name(former), formal != nullptr ? formal->name : "value");
  const ValueId stand_in = graph_.AddValue(graph_.body_of(n), graph_.FreshName(wish));
  graph_.SetProducer(stand_in, n, index);
  in_.StandsIn(stand_in);
}

// A copy is called as its original where that is gone, and where in another body no node is called so. Names of nodes
// may stand in several bodies, and only one copy takes each.
void Rewriter::NameCopy(NodeId copy, NodeId original) {
  const std::string_view name = graph_.name(original);
  const bool moved = graph_.body_of(copy) != graph_.body_of(original);
  const bool takes = !graph_.alive(original) &&
                     !(moved && emitter_.HasName(graph_.body_of(copy), name)) &&
                     inherited_.insert(name).second;
  graph_.SetName(copy, takes ? name : graph_.FreshNodeName(name));
}

void Rewriter::NameNewValues() {
  for (size_t i = mark_.values; i < graph_.num_values(); ++i) {
    const ValueId v(i);
    if (!graph_.alive(v) || !graph_.name(v).empty()) continue;
    const std::string_view wish = emitter_.wish(v);
    const std::string_view suffix = wish.empty() ? "value" : wish;
    const std::string_view base = base_.valid() ? graph_.name(base_) : "value";
    graph_.Rename(v, graph_.FreshName(DerivedName(base, suffix)));
  }
  for (size_t i = mark_.nodes; i < graph_.num_nodes(); ++i) {
    const NodeId n(i);
    if (!graph_.alive(n) || !graph_.name(n).empty()) continue;
    const NodeId original = emitter_.original(n);
    if (original.valid() && !graph_.name(original).empty()) {
      NameCopy(n, original);
      continue;
    }
    for (size_t k = 0; k < graph_.num_outputs(n); ++k) {
      if (!graph_.output(n, k).valid()) continue;
      graph_.SetName(n, graph_.FreshNodeName(graph_.name(graph_.output(n, k))));
      break;
    }
  }
}

}  // namespace qrewrite
