#include "engine/driver/function_types.h"

#include <map>
#include <set>
#include <vector>

#include "engine/graph/find.h"
#include "engine/rewrite/edit.h"

namespace qrewrite {
namespace {

// More than a few rounds are rare, and what is left is unknown, not wrong.
constexpr int kRounds = 4;
// Each but the last refuses what the one before assumed in vain.
constexpr int kAttempts = 4;

// A function may be called with what it returned itself, as an activation is in each layer. So
// calls of which nothing is known yet are left out at first; what is assumed then must agree with all
// calls in the end. That is enough: no call runs before those that its inputs come from.
class FunctionTypes {
 public:
  FunctionTypes(Graph& graph, Facts& facts)
      : graph_(graph), facts_(facts), functions_(LocalFunctions(graph)) {}

  void State() {
    if (functions_.empty()) return;
    Plan();
    for (int attempt = 0; attempt < kAttempts; ++attempt) {
      Assume();
      if (Holds()) return;
      TakeBack();
    }
  }

 private:
  // Callers before what they call, and what they call before their results.
  struct Step {
    BodyId body;
    bool enter;
  };

  // Follows the calls from the main graph, depth first.
  void Plan() {
    struct Open {
      BodyId body;
      size_t next;  // of its nodes
    };
    std::set<BodyId> seen;
    std::vector<Open> open = {{graph_.main(), 0}};
    const auto enter = [&](BodyId b) {
      if (!seen.insert(b).second) return;
      if (graph_.body(b).kind == BodyKind::kFunction) steps_.push_back({b, true});
      open.push_back({b, 0});
    };
    while (!open.empty()) {
      Open& at = open.back();
      const BodyId b = at.body;
      if (at.next == graph_.body(b).nodes.size()) {
        if (graph_.body(b).kind == BodyKind::kFunction) steps_.push_back({b, false});
        open.pop_back();
        continue;
      }
      const NodeId n = graph_.body(b).nodes[at.next++];
      if (!graph_.alive(n)) continue;
      const auto function = functions_.find(graph_.op_name(graph_.op(n)));
      if (function != functions_.end() && IsRead(n)) {
        calls_[function->second].push_back(n);
        enter(function->second);
      }
      if (!graph_.HasSubgraphs(n)) continue;
      for (const BodyId inner : graph_.SubgraphsOf(n)) enter(inner);
    }
  }

  // Calls that nobody reads go at the end, whatever types they have.
  bool IsRead(NodeId n) const {
    for (size_t i = 0; i < graph_.num_outputs(n); ++i) {
      const ValueId v = graph_.output(n, i);
      if (v.valid() && graph_.num_uses(v) > 0) return true;
    }
    return false;
  }

  void Assume() {
    for (int round = 0; round < kRounds; ++round) {
      bool found = false;
      for (const Step& step : steps_) {
        found = (step.enter ? StateInputs(step.body) : StateResults(step.body)) || found;
      }
      if (!found) return;
    }
  }

  bool Holds() {
    bool holds = true;
    for (const auto& [b, calls] : calls_) {
      const std::vector<ValueId>& inputs = graph_.body(b).inputs;
      for (size_t i = 0; i < inputs.size(); ++i) {
        if (!stated_.contains(inputs[i])) continue;
        if (OfCalls(calls, i, true).dtype == graph_.declared(inputs[i]).dtype) continue;
        refused_.insert(inputs[i]);
        holds = false;
      }
    }
    return holds;
  }

  void TakeBack() {
    for (const auto& [v, said] : stated_) {
      AssumeType(graph_, v, said);
      facts_.Retyped(v);
    }
    stated_.clear();
  }

  bool StateInputs(BodyId b) {
    bool found = false;
    const std::vector<ValueId>& inputs = graph_.body(b).inputs;
    for (size_t i = 0; i < inputs.size(); ++i) {
      if (refused_.contains(inputs[i])) continue;
      found = State(inputs[i], OfCalls(calls_[b], i, false)) || found;
    }
    return found;
  }

  // What the calls give as the input `i`; kUndefined if they differ, or if the type of one that
  // counts is not known. A shape is that of the only call.
  TypeInfo OfCalls(const std::vector<NodeId>& calls, size_t i, bool all) {
    TypeInfo type;
    for (const NodeId n : calls) {
      if (i >= graph_.num_inputs(n) || !graph_.input(n, i).valid()) return {};
      const TypeInfo given = facts_.Type(graph_.input(n, i));
      if (!given.is_tensor) return {};
      if (given.dtype == DType::kUndefined) {
        if (all) return {};
      } else if (type.dtype == DType::kUndefined) {
        type = calls.size() == 1 ? given : TypeInfo{.dtype = given.dtype};
      } else if (given.dtype != type.dtype) {
        return {};
      }
    }
    return type;
  }

  bool StateResults(BodyId b) {
    bool found = false;
    for (size_t i = 0; i < graph_.body(b).outputs.size(); ++i) {
      if (!graph_.output(b, i).valid()) continue;
      const DType dtype = facts_.dtype(graph_.output(b, i));
      for (const NodeId n : calls_[b]) {
        if (i >= graph_.num_outputs(n) || !graph_.output(n, i).valid()) continue;
        found = State(graph_.output(n, i), {.dtype = dtype}) || found;
      }
    }
    return found;
  }

  bool State(ValueId v, const TypeInfo& type) {
    if (type.dtype == DType::kUndefined) return false;
    const TypeInfo& said = graph_.declared(v);
    if (!said.is_tensor || said.dtype != DType::kUndefined) return false;
    stated_.emplace(v, said);
    AssumeType(graph_, v, type);
    facts_.Retyped(v);
    return true;
  }

  Graph& graph_;
  Facts& facts_;
  const std::map<OpName, BodyId> functions_;
  std::map<BodyId, std::vector<NodeId>> calls_;
  std::vector<Step> steps_;
  std::map<ValueId, TypeInfo> stated_;  // what was declared before
  std::set<ValueId> refused_;
};

}  // namespace

void StateFunctionTypes(Graph& graph, Facts& facts) { FunctionTypes(graph, facts).State(); }

}  // namespace qrewrite
