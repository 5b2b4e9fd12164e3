#include "engine/verify/dependence.h"

#include <unordered_set>
#include <utility>
#include <vector>

#include "engine/api/model_impl.h"
#include "qrewrite/match.h"

namespace qrewrite {
namespace {

// Names of what is made of sizes alone.
std::set<std::string> SizesOf(const Model& model, const Rules* roles) {
  std::set<std::string> sizes;
  if (roles == nullptr) return sizes;
  const Result<Matches> found = Match(model, *roles, {.rules = {"sizes"}, .max_matches = 100'000});
  if (!found.ok()) return sizes;  // beyond the opsets of the rules
  for (const RuleMatch& match : found->matches) {
    if (const Binding* made = match.Find("n"); made != nullptr) sizes.insert(made->text);
  }
  return sizes;
}

// Whether the first value that `n` makes is one of `names`.
bool IsOneOf(const std::set<std::string>& names, const Graph& graph, NodeId n) {
  const ValueId made = graph.num_outputs(n) > 0 ? graph.output(n, 0) : ValueId();
  return made.valid() && names.contains(std::string(graph.name(made)));
}

}  // namespace

std::set<std::string> OutputsOfInputs(const Model& model, const Rules* roles) {
  const std::set<std::string> sizes = SizesOf(model, roles);
  const Graph& graph = std::as_const(*model.impl().file).graph();
  std::unordered_set<ValueId> reached;
  std::unordered_set<NodeId> passed;
  std::vector<ValueId> open;
  const auto reach = [&](ValueId v) {
    if (v.valid() && reached.insert(v).second) open.push_back(v);
  };
  for (const ValueId v : graph.inputs()) {
    if (graph.constant(v) == nullptr) reach(v);
  }
  while (!open.empty()) {
    const ValueId v = open.back();
    open.pop_back();
    for (const UseId use : graph.uses(v)) {
      const User user = graph.user(use);
      if (!user.is_output() && IsOneOf(sizes, graph, user.node)) continue;
      // Who reads in a body, or is what a body gives back, counts as the node that holds it.
      const NodeId reader = graph.AncestorIn(
          graph.main(), user.is_output() ? graph.body(user.body).owner : user.node);
      if (!reader.valid() || !passed.insert(reader).second) continue;
      for (size_t i = 0; i < graph.num_outputs(reader); ++i) reach(graph.output(reader, i));
    }
  }
  std::set<std::string> names;
  for (size_t i = 0; i < graph.body(graph.main()).outputs.size(); ++i) {
    const ValueId v = graph.output(graph.main(), i);
    if (reached.contains(v)) names.emplace(graph.name(v));
  }
  return names;
}

}  // namespace qrewrite
