#include "engine/debug/behind.h"

#include <algorithm>

namespace qrewrite {
namespace {

// What a product is known by; no operator is called so.
std::string MarkOf(const Product& product) { return "product " + product.kind; }

// Marks of the products that multiply `v` by a weight.
std::set<std::string> ProductsOf(const NamedGraph& graph, const Products& products, ValueId v) {
  std::set<std::string> marks;
  if (!v.valid()) return marks;
  const Graph& g = graph.graph();
  for (const UseId use : g.uses(v)) {
    const User user = g.user(use);
    if (user.is_output() || g.num_outputs(user.node) != 1 || !g.output(user.node, 0).valid())
      continue;
    const auto found = products.products.find(graph.Name(g.output(user.node, 0)));
    if (found != products.products.end() && found->second.x == graph.Name(v))
      marks.insert(MarkOf(found->second));
  }
  return marks;
}

void AddValuesOf(const NamedGraph& graph, const QuantizedActivation& a,
                 std::vector<ValueId>& values) {
  for (const std::string& name : {a.source, a.q}) values.push_back(graph.Find(name));
  for (const std::string& name : a.restored) values.push_back(graph.Find(name));
}

// The activation as it is read, also in another order of its axes, quantized once more or not.
std::vector<ValueId> ValuesOf(const NamedGraph& graph, const QuantizedValues& values,
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
  return todo;
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
  std::set<std::string> ops;
  for (const ValueId v : ValuesOf(graph, values, a)) ops.merge(ReaderOps(graph, v));
  return ops;
}

ValueId BehindAbsorbed(const NamedGraph& float_graph, const Products& float_products, ValueId v,
                       const NamedGraph& quantized, const Products& quantized_products,
                       const QuantizedValues& values, const QuantizedActivation& a) {
  std::set<std::string> readers;
  for (const ValueId read : ValuesOf(quantized, values, a)) {
    readers.merge(ReaderOps(quantized, read));
    readers.merge(ProductsOf(quantized, quantized_products, read));
  }
  const auto is_read_on = [&](ValueId value) {
    std::set<std::string> next = ReaderOps(float_graph, value);
    next.merge(ProductsOf(float_graph, float_products, value));
    return std::ranges::any_of(next, [&](const std::string& op) { return readers.contains(op); });
  };
  const Graph& g = float_graph.graph();
  const ValueId start = v;
  for (NodeId n = OnlyReader(float_graph, v); n.valid(); n = OnlyReader(float_graph, v)) {
    if (is_read_on(v) || !g.output(n, 0).valid()) return v;
    v = g.output(n, 0);
  }
  // Where the quantized model's next operator is not behind these nodes, they are not folded; behind the last
  // ones is none.
  const bool is_last = ReaderOps(float_graph, v).empty();
  return is_read_on(v) || (is_last && !IsRead(quantized, values, a)) ? v : start;
}

}  // namespace qrewrite
