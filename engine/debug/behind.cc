#include "engine/debug/behind.h"

#include <algorithm>

namespace qrewrite {
namespace {

std::set<std::string> ReadersOf(const NamedGraph& graph, const std::vector<ValueId>& values) {
  std::set<std::string> ops;
  for (const ValueId v : values) ops.merge(ReaderOps(graph, v));
  return ops;
}

void AddValuesOf(const NamedGraph& graph, const QuantizedActivation& a,
                 std::vector<ValueId>& values) {
  for (const std::string& name : {a.source, a.q}) values.push_back(graph.Find(name));
  for (const std::string& name : a.restored) values.push_back(graph.Find(name));
}

// Does an operator read the activation? Quantizers and other orders of axes are none.
bool IsRead(const NamedGraph& graph, const QuantizedValues& values, const QuantizedActivation& a) {
  const Graph& g = graph.graph();
  const std::string quantizer = graph.OpOf(graph.Find(a.quantizer));
  for (const std::string& name : a.restored) {
    const ValueId v = graph.Find(name);
    if (!v.valid()) continue;
    for (const UseId use : g.uses(v)) {
      const User user = g.user(use);
      if (user.is_output() || g.num_outputs(user.node) == 0) continue;
      const ValueId result = g.output(user.node, 0);
      if (!result.valid() || values.moved.contains(graph.Name(result))) continue;
      if (graph.OpOf(result) != quantizer) return true;
    }
  }
  return false;
}

// The one node that reads `v`, if `v` is no output and all else that the node reads are constants.
NodeId OnlyReader(const NamedGraph& graph, ValueId v) {
  const Graph& g = graph.graph();
  if (g.num_uses(v) != 1 || g.IsOutput(v)) return {};
  const NodeId n = g.user(*g.uses(v).begin()).node;
  if (!n.valid() || g.body_of(n) != g.main() || g.num_outputs(n) != 1) return {};
  for (size_t i = 0; i < g.num_inputs(n); ++i) {
    const ValueId input = g.input(n, i);
    if (input.valid() && input != v && graph.IsActivation(input)) return {};
  }
  return n;
}

}  // namespace

ValueId OnlyResult(const NamedGraph& graph, ValueId v) {
  const NodeId n = OnlyReader(graph, v);
  return n.valid() ? graph.graph().output(n, 0) : ValueId();
}

std::set<std::string> ReaderOps(const NamedGraph& graph, ValueId v) {
  std::set<std::string> ops;
  if (!v.valid()) return ops;
  for (const UseId use : graph.graph().uses(v)) {
    const User user = graph.graph().user(use);
    if (!user.is_output()) ops.insert(graph.graph().op_name(graph.graph().op(user.node)).text());
  }
  return ops;
}

std::set<std::string> ReaderOps(const NamedGraph& graph, const QuantizedValues& values,
                                const QuantizedActivation& a) {
  constexpr size_t kMostValues = 64;
  const Graph& g = graph.graph();
  std::vector<ValueId> todo;
  AddValuesOf(graph, a, todo);
  for (size_t at = 0; at < todo.size() && at < kMostValues && !values.moved.empty(); ++at) {
    if (!todo[at].valid()) continue;
    for (const UseId use : g.uses(todo[at])) {
      const User user = g.user(use);
      if (user.is_output() || g.num_outputs(user.node) == 0) continue;
      const ValueId result = g.output(user.node, 0);
      if (!result.valid() || !values.moved.contains(graph.Name(result))) continue;
      todo.push_back(result);
      for (const QuantizedActivation& other : values.activations) {
        if (other.source == g.name(result)) AddValuesOf(graph, other, todo);
      }
    }
  }
  return ReadersOf(graph, todo);
}

ValueId BehindAbsorbed(const NamedGraph& float_graph, ValueId v, const NamedGraph& quantized,
                       const QuantizedValues& values, const QuantizedActivation& a) {
  const std::set<std::string> readers = ReaderOps(quantized, values, a);
  const Graph& g = float_graph.graph();
  const ValueId start = v;
  for (NodeId n = OnlyReader(float_graph, v); n.valid(); n = OnlyReader(float_graph, v)) {
    if (readers.contains(g.op_name(g.op(n)).text()) || !g.output(n, 0).valid()) return v;
    v = g.output(n, 0);
  }
  // Where the quantized model's next operator is not behind these nodes, they are not folded; behind the last
  // ones is none.
  const std::set<std::string> next = ReadersOf(float_graph, {v});
  const bool leads_on = std::any_of(next.begin(), next.end(),
                                    [&](const std::string& op) { return readers.contains(op); });
  return leads_on || (next.empty() && !IsRead(quantized, values, a)) ? v : start;
}

}  // namespace qrewrite
