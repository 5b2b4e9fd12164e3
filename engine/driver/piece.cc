#include "engine/driver/piece.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "engine/base/diagnostics.h"
#include "engine/graph/find.h"
#include "engine/graph/node_text.h"
#include "engine/graph/order.h"

namespace qrewrite {
namespace {

NodeId NodeNamed(const Graph& graph, const std::string& name) {
  NodeId by_output;
  for (size_t i = 0; i < graph.num_nodes(); ++i) {
    const NodeId n(i);
    if (!graph.alive(n)) continue;
    if (graph.name(n) == name) return n;
    const auto same = [&](std::string_view other) { return other == name; };
    if (!by_output.valid() && AnyName(graph, n, same)) by_output = n;
  }
  return by_output;
}

// What `from` leads to (down), or what leads to it, itself included.
std::set<NodeId> Reached(const Graph& graph, NodeId from, bool down) {
  std::set<NodeId> seen = {from};
  std::vector<NodeId> todo = {from};
  const auto add = [&](NodeId n) {
    if (n.valid() && seen.insert(n).second) todo.push_back(n);
  };
  while (!todo.empty()) {
    const NodeId n = todo.back();
    todo.pop_back();
    for (size_t i = 0; !down && i < graph.num_inputs(n); ++i) {
      if (graph.input(n, i).valid()) add(graph.producer(graph.input(n, i)));
    }
    for (size_t i = 0; down && i < graph.num_outputs(n); ++i) {
      if (!graph.output(n, i).valid()) continue;
      for (const UseId u : graph.uses(graph.output(n, i))) {
        if (!graph.user(u).is_output()) add(graph.user(u).node);
      }
    }
  }
  return seen;
}

Result<std::set<NodeId>> Chosen(const Graph& graph, const std::vector<std::string>& specs) {
  std::set<NodeId> chosen;
  const auto find = [&](const std::string& name) -> Result<NodeId> {
    const NodeId n = NodeNamed(graph, name);
    if (n.valid()) return n;
    return Status(StatusCode::kUsage,
                  fmt::format("no node and no value of a node is named `{}`", Printable(name)));
  };
  for (const std::string& spec : specs) {
    const size_t dots = NodeNamed(graph, spec).valid() ? std::string::npos : spec.find("..");
    QR_ASSIGN_OR_RETURN(const NodeId first, find(spec.substr(0, dots)));
    if (dots == std::string::npos) {
      chosen.insert(first);
      continue;
    }
    QR_ASSIGN_OR_RETURN(const NodeId last, find(spec.substr(dots + 2)));
    const std::set<NodeId> down = Reached(graph, first, true), up = Reached(graph, last, false);
    const size_t before = chosen.size();
    std::ranges::set_intersection(down, up, std::inserter(chosen, chosen.end()));
    if (chosen.size() == before) {
      return Status(StatusCode::kUsage, fmt::format("no way leads from {} to {}",
                                                    NodeText(graph, first), NodeText(graph, last)));
    }
  }
  return chosen;
}

// Nodes that share no value with the first: a pattern has no way to these. Numbers are written in place.
Status CheckOnePiece(const Graph& graph, const std::set<NodeId>& nodes) {
  std::map<ValueId, std::vector<NodeId>> at;
  const auto is_number = [&](ValueId v) {
    return graph.constant(v) != nullptr && graph.constant(v)->size() == 1;
  };
  const auto values_of = [&](NodeId n) {
    std::vector<ValueId> values;
    for (size_t i = 0; i < graph.num_inputs(n); ++i) values.push_back(graph.input(n, i));
    for (size_t i = 0; i < graph.num_outputs(n); ++i) values.push_back(graph.output(n, i));
    std::erase_if(values, [&](ValueId v) { return !v.valid() || is_number(v); });
    return values;
  };
  for (const NodeId n : nodes) {
    for (const ValueId v : values_of(n)) at[v].push_back(n);
  }
  std::set<NodeId> seen = {*nodes.begin()};
  std::vector<NodeId> todo = {*nodes.begin()};
  while (!todo.empty()) {
    const NodeId n = todo.back();
    todo.pop_back();
    for (const ValueId v : values_of(n)) {
      for (const NodeId other : std::exchange(at[v], {})) {
        if (seen.insert(other).second) todo.push_back(other);
      }
    }
  }
  const auto apart = std::ranges::find_if(nodes, [&](NodeId n) { return !seen.contains(n); });
  if (apart == nodes.end()) return {};
  return Status(StatusCode::kUsage,
                fmt::format("{} and {} are not one piece: no value leads from one to the other",
                            NodeText(graph, *nodes.begin()), NodeText(graph, *apart)));
}

// In order. Patterns have one graph, without subgraphs.
Result<std::vector<NodeId>> InOrder(const Graph& graph, const std::set<NodeId>& nodes) {
  QR_ASSIGN_OR_RETURN(const std::vector<NodeId> all, NodesInOrder(graph));
  std::vector<NodeId> order;
  for (const NodeId n : all) {
    if (!nodes.contains(n)) continue;
    if (graph.op_name(graph.op(n)).text() == "Constant") continue;  // its value is one
    if (graph.HasSubgraphs(n)) {
      return Status(StatusCode::kUnsupported,
                    fmt::format("{} has a subgraph; patterns have none", NodeText(graph, n)));
    }
    if (!order.empty() && graph.body_of(n) != graph.body_of(order[0])) {
      return Status(StatusCode::kUsage, fmt::format("{} and {} lie in different graphs",
                                                    NodeText(graph, order[0]), NodeText(graph, n)));
    }
    order.push_back(n);
  }
  if (order.empty()) return Status(StatusCode::kUsage, "there is no operator among these nodes");
  return order;
}

}  // namespace

Result<std::vector<NodeId>> PieceNamed(const Graph& graph, const std::vector<std::string>& specs) {
  if (specs.empty()) return Status(StatusCode::kUsage, "no nodes are named");
  QR_ASSIGN_OR_RETURN(const std::set<NodeId> nodes, Chosen(graph, specs));
  QR_RETURN_IF_ERROR(CheckOnePiece(graph, nodes));
  return InOrder(graph, nodes);
}

}  // namespace qrewrite
