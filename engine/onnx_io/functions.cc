#include "engine/onnx_io/functions.h"

#include <algorithm>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include <fmt/format.h>

#include "engine/base/diagnostics.h"
#include "engine/graph/find.h"
#include "engine/graph/node_text.h"

namespace qrewrite {
namespace {

std::string Shown(const OpName& function) { return "`" + Printable(function.text()) + "`"; }

class FunctionCheck {
 public:
  explicit FunctionCheck(const Graph& graph)
      : graph_(graph), functions_(LocalFunctions(graph)), calls_(graph.num_bodies()) {}

  Status Run() {
    if (functions_.empty()) return {};
    for (size_t i = 0; i < graph_.num_bodies(); ++i) {
      const Body& body = graph_.body(BodyId(i));
      if (body.kind != BodyKind::kFunction) continue;
      if (functions_.at(body.function) != BodyId(i)) {
        return Invalid(fmt::format("the model has two functions {}", Shown(body.function)));
      }
    }
    for (size_t n = 0; n < graph_.num_nodes(); ++n) {
      const auto function = functions_.find(graph_.op_name(graph_.op(NodeId(n))));
      if (function != functions_.end()) QR_RETURN_IF_ERROR(AddCall(NodeId(n), function->second));
    }
    return CheckLoops();
  }

 private:
  static Status Invalid(std::string message) {
    return {StatusCode::kInvalidModel, std::move(message)};
  }

  Status AddCall(NodeId n, BodyId function) {
    const Body& callee = graph_.body(function);
    for (const auto& [what, given, taken] :
         {std::tuple("inputs", graph_.num_inputs(n), callee.inputs.size()),
          std::tuple("outputs", graph_.num_outputs(n), callee.outputs.size())}) {
      if (given <= taken) continue;
      return Invalid(fmt::format("{} calls the function {} with {} {}, which has {}",
                                 NodeText(graph_, n), Shown(callee.function), given, what, taken));
    }
    BodyId caller = graph_.body_of(n);
    while (graph_.body(caller).parent.valid()) caller = graph_.body(caller).parent;
    calls_[caller.index].push_back(function);
    return {};
  }

  // Takes away, again and again, functions that call none that is left; what stays calls itself, or
  // one that does.
  Status CheckLoops() {
    std::vector<std::vector<BodyId>> callers(calls_.size());
    std::vector<size_t> open(calls_.size());  // calls to what is left
    std::vector<BodyId> done;
    for (const auto& [name, function] : functions_) {
      open[function.index] = calls_[function.index].size();
      for (const BodyId callee : calls_[function.index]) callers[callee.index].push_back(function);
      if (open[function.index] == 0) done.push_back(function);
    }
    for (size_t i = 0; i < done.size(); ++i) {
      for (const BodyId caller : callers[done[i].index]) {
        if (--open[caller.index] == 0) done.push_back(caller);
      }
    }
    if (done.size() == functions_.size()) return {};
    const auto left = [&](BodyId b) { return open[b.index] > 0; };
    BodyId at =
        std::ranges::find_if(functions_, [&](const auto& f) { return left(f.second); })->second;
    std::vector<bool> seen(calls_.size());
    std::vector<BodyId> way;  // of calls; it must come back to where it was
    while (!seen[at.index]) {
      seen[at.index] = true;
      way.push_back(at);
      at = *std::ranges::find_if(calls_[at.index], left);
    }
    way.erase(way.begin(), std::ranges::find(way, at));
    constexpr size_t kShown = 8;
    std::string text;
    for (size_t i = 0; i < std::min(way.size(), kShown); ++i) {
      text += Shown(graph_.body(way[i]).function) + " -> ";
    }
    text += way.size() > kShown ? "..." : Shown(graph_.body(at).function);
    return Invalid("functions may not call themselves: " + text);
  }

  const Graph& graph_;
  const std::map<OpName, BodyId> functions_;
  std::vector<std::vector<BodyId>> calls_;  // by the body whose nodes, or subgraphs, call
};

}  // namespace

Status CheckFunctions(const Graph& graph) { return FunctionCheck(graph).Run(); }

}  // namespace qrewrite
