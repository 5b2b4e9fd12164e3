// RunWatch: tells an observer what a run does, and knows whether the run has to end before its end.
// One a run, shared with the rule sets that a rule set uses.
//
// Without an observer and a number of rewrites to stop after, nothing here does any work. A run that
// was stopped goes on to no further change; whoever changes the graph looks at stopped().
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/driver/report.h"
#include "engine/graph/graph.h"
#include "engine/match/interpreter.h"
#include "engine/rewrite/rewriter.h"
#include "engine/rule/ast.h"
#include "qrewrite/observer.h"
#include "qrewrite/status.h"

namespace qrewrite {

// In the same order; a node that two statements match is one.
std::vector<NodeId> UniqueNodes(const std::vector<NodeId>& nodes);
// The names in it live as long as the graph.
NodeView ViewOf(const Graph& graph, NodeId n);

class RunWatch {
 public:
  // The referents outlive this object. `observer` may be null.
  RunWatch(const Graph& graph, Observer* observer, std::optional<int64_t> stop_after,
           RunReport& report)
      : graph_(graph), observer_(observer), stop_after_(stop_after), report_(report) {}

  bool wanted() const { return observer_ != nullptr; }
  bool stopped() const { return report_.stopped; }
  void Stop() { report_.stopped = true; }
  // No further rewrite is allowed.
  bool at_limit() const { return stop_after_ && report_.rewrites >= *stop_after_; }

  // Errors of what follows: kCancelled, kCallback.
  Status Phase(const RuleSet& rules, const qrewrite::Phase& phase, bool ends);
  Status Sweep(bool ends, size_t nodes, int64_t fired);
  // Before each node that a phase looks at.
  Status Visit(size_t done, size_t total) {
    if (observer_ == nullptr || done % kProgressStep != 0 || done == 0) return {};
    return Progress(done, total);
  }
  // A match of `rule`, the nodes of matched_nodes() with what `frame` binds, is about to be committed.
  void BeforeFiring(const CompiledRule& compiled, Interpreter& in, const Frame& frame);
  // It was (the last one that BeforeFiring was told of); or the rule only warns or refuses.
  Status Fired(const RuleSet& rules, const Rule& rule, const Firing& firing);

  // Where the interpreter notes the nodes of a match.
  std::vector<NodeId>& matched_nodes() { return matched_nodes_; }

 private:
  static constexpr size_t kProgressStep = 256;

  // Asked behind an exception: an observer may be several functions.
  auto Who() const {
    return [this] { return observer_->Name(); };
  }
  Status Progress(size_t done, size_t total);
  template <class Call>
  Status Ask(Call&& call);
  std::vector<NodeView> Views(const std::vector<NodeId>& nodes) const;
  std::string Text(const std::vector<NodeId>& nodes) const;
  std::vector<NodeId> Makers(const Firing& firing) const;
  std::vector<NodeId> NodesNear(const std::vector<NodeId>& nodes,
                                const std::vector<ValueId>& values) const;
  void AddConstants(const std::vector<NodeId>& nodes);

  const Graph& graph_;
  Observer* observer_;
  std::optional<int64_t> stop_after_;
  RunReport& report_;

  struct Place {
    std::string_view set, phase;
    int sweeps = 0;
  };
  std::vector<Place> places_;  // phases that have begun, innermost last
  std::vector<NodeId> matched_nodes_;
  std::vector<NodeView> matched_;  // of the match that is about to be committed
  bool wants_text_ = false;
  std::string before_;
  std::vector<NodeView> near_;               // what stands next to it
  std::vector<std::string_view> constants_;  // inputs that hold constants
  std::vector<BindingText> bindings_;
  Status fault_;  // of what was asked meanwhile
};

}  // namespace qrewrite
