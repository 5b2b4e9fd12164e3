#include "engine/driver/watch.h"

#include <map>
#include <unordered_set>

#include "engine/base/callback.h"
#include "engine/text/graph_text.h"

namespace qrewrite {

std::vector<NodeId> UniqueNodes(const std::vector<NodeId>& nodes) {
  std::vector<NodeId> unique;
  std::unordered_set<NodeId> seen;
  for (const NodeId n : nodes) {
    if (seen.insert(n).second) unique.push_back(n);
  }
  return unique;
}

NodeView ViewOf(const Graph& graph, NodeId n) {
  const auto name = [&](ValueId v) { return v.valid() ? graph.name(v) : std::string_view(); };
  NodeView view{.op = graph.op_name(graph.op(n)).text(), .name = graph.name(n)};
  for (size_t i = 0; i < graph.num_inputs(n); ++i) view.inputs.push_back(name(graph.input(n, i)));
  for (size_t i = 0; i < graph.num_outputs(n); ++i) {
    view.outputs.push_back(name(graph.output(n, i)));
  }
  return view;
}

// Calls the observer; its answer as what becomes of the run.
template <class Call>
Status RunWatch::Ask(Call&& call) {
  const Result<Observer::Answer> answer = CallHost(Who(), std::forward<Call>(call));
  if (!answer.ok()) return answer.status();
  if (*answer == Observer::Answer::kStop) Stop();
  if (*answer != Observer::Answer::kCancel) return {};
  return {StatusCode::kCancelled, "the run was cancelled"};
}

Status RunWatch::Phase(const RuleSet& rules, const qrewrite::Phase& phase, bool ends) {
  if (observer_ == nullptr) return {};
  if (ends) {
    places_.pop_back();
  } else {
    places_.push_back({rules.name, phase.name});
  }
  return Ask([&] {
    return observer_->OnPhase(
        {.set = rules.name, .phase = phase.name, .ends = ends, .rewrites = report_.rewrites});
  });
}

Status RunWatch::Sweep(bool ends, size_t nodes, int64_t fired) {
  if (observer_ == nullptr) return {};
  Place& at = places_.back();
  if (!ends) ++at.sweeps;
  return Ask([&] {
    return observer_->OnSweep({.set = at.set,
                               .phase = at.phase,
                               .number = at.sweeps,
                               .ends = ends,
                               .nodes = static_cast<int64_t>(nodes),
                               .fired = fired});
  });
}

Status RunWatch::Progress(size_t done, size_t total) {
  const Place& at = places_.back();
  return Ask([&] {
    return observer_->OnProgress({.set = at.set,
                                  .phase = at.phase,
                                  .done = static_cast<int64_t>(done),
                                  .total = static_cast<int64_t>(total),
                                  .rewrites = report_.rewrites});
  });
}

std::vector<NodeView> RunWatch::Views(const std::vector<NodeId>& nodes) const {
  std::vector<NodeView> views;
  for (const NodeId n : nodes) views.push_back(ViewOf(graph_, n));
  return views;
}

std::string RunWatch::Text(const std::vector<NodeId>& nodes) const {
  std::map<BodyId, std::vector<NodeId>> by_body;
  for (const NodeId n : nodes) by_body[graph_.body_of(n)].push_back(n);
  std::string text;
  for (const auto& [body, some] : by_body) text += PrintGraph(graph_, body, {.only = some});
  return text;
}

// What a firing made, and what else makes the values that it redefined.
std::vector<NodeId> RunWatch::Makers(const Firing& firing) const {
  std::vector<NodeId> nodes = firing.created;
  for (const ValueId v : firing.redefined) {
    const NodeId maker = graph_.alive(v) ? graph_.producer(v) : NodeId();
    if (maker.valid()) nodes.push_back(maker);
  }
  return UniqueNodes(nodes);
}

// Producers of what the nodes read, and a few readers of each value that they make, and of `values`.
std::vector<NodeId> RunWatch::NodesNear(const std::vector<NodeId>& nodes,
                                        const std::vector<ValueId>& values) const {
  constexpr size_t kReaders = 3, kMost = 16;
  std::unordered_set<NodeId> seen(nodes.begin(), nodes.end());
  std::vector<NodeId> near;
  const auto add = [&](NodeId n, BodyId body) {
    const bool fits = n.valid() && near.size() < kMost && graph_.body_of(n) == body;
    if (fits && seen.insert(n).second) near.push_back(n);
  };
  const auto add_readers = [&](ValueId v) {
    size_t readers = 0;
    for (const UseId u : graph_.uses(v)) {
      if (++readers > kReaders) break;
      if (!graph_.user(u).is_output()) add(graph_.user(u).node, graph_.body_of(v));
    }
  };
  for (const NodeId n : nodes) {
    for (size_t i = 0; i < graph_.num_inputs(n); ++i) {
      const ValueId v = graph_.input(n, i);
      if (v.valid()) add(graph_.producer(v), graph_.body_of(n));
    }
    for (size_t i = 0; i < graph_.num_outputs(n); ++i) {
      if (graph_.output(n, i).valid()) add_readers(graph_.output(n, i));
    }
  }
  for (const ValueId v : values) {
    if (graph_.alive(v)) add_readers(v);
  }
  return near;
}

void RunWatch::AddConstants(const std::vector<NodeId>& nodes) {
  for (const NodeId n : nodes) {
    for (size_t i = 0; i < graph_.num_inputs(n); ++i) {
      const ValueId v = graph_.input(n, i);
      if (v.valid() && graph_.constant(v) != nullptr) constants_.push_back(graph_.name(v));
    }
  }
}

void RunWatch::BeforeFiring(const CompiledRule& compiled, Interpreter& in, const Frame& frame) {
  if (observer_ == nullptr) return;
  const Rule& rule = *compiled.rule;
  const std::vector<NodeId> nodes = UniqueNodes(matched_nodes_);
  const Result<bool> wants = CallHost(Who(), [&] { return observer_->WantsText(rule.name); });
  fault_ = wants.status();
  wants_text_ = wants.ok() && *wants;
  before_ = wants_text_ ? Text(nodes) : std::string();
  matched_ = Views(nodes);
  near_.clear();
  constants_.clear();
  bindings_.clear();
  if (!wants_text_) return;
  // Words are computed on a copy: what a `let` becomes by the way is not the rule's business.
  Frame copy = frame;
  for (auto& [name, text] : in.InWords(compiled.pattern, copy, /*lets=*/true)) {
    bindings_.push_back({std::move(name), std::move(text)});
  }
  const std::vector<NodeId> near = NodesNear(nodes, {});
  near_ = Views(near);
  AddConstants(nodes);
  AddConstants(near);
}

Status RunWatch::Fired(const RuleSet& rules, const Rule& rule, const Firing& firing) {
  if (observer_ == nullptr) return {};
  QR_RETURN_IF_ERROR(fault_);
  const SourceSpan place = rule.place.span();
  FiringEvent event{.set = rules.name, .rule = rule.name, .file = place.file, .line = place.line};
  std::string before, after;
  if (firing.changed) {
    event.number = report_.rewrites;
    event.matched = std::move(matched_);
    event.created = Views(firing.created);
    before = std::move(before_);
    if (wants_text_) {
      const std::vector<NodeId> makers = Makers(firing);
      after = Text(makers);
      const std::vector<NodeId> near = NodesNear(makers, firing.redefined);
      AddConstants(makers);
      AddConstants(near);
      event.makers = Views(makers);
      event.near_before = std::move(near_);
      event.near_after = Views(near);
      event.constants = std::move(constants_);
      event.bindings = std::move(bindings_);
    }
  } else {
    const std::vector<NodeId> nodes = UniqueNodes(firing.matched);
    event.matched = Views(nodes);
    const Result<bool> wants = CallHost(Who(), [&] { return observer_->WantsText(rule.name); });
    QR_RETURN_IF_ERROR(wants.status());
    if (*wants) before = after = Text(nodes);
  }
  event.before = before;
  event.after = after;
  return Ask([&] { return observer_->OnFiring(event); });
}

}  // namespace qrewrite
