// TopologicalOrder: BGL's depth-first search over the reversed body.
#include <algorithm>
#include <tuple>

#include <boost/graph/depth_first_search.hpp>
#include <boost/graph/reverse_graph.hpp>

#include <fmt/format.h>

#include "engine/base/diagnostics.h"
#include "engine/graph/bgl.h"
#include "engine/graph/graph.h"

namespace qrewrite {
namespace {

// One byte a node of the body, by position.
struct BodyColors {
  const Graph* graph;
  std::vector<boost::default_color_type>* colors;
  using key_type = NodeId;
  using value_type = boost::default_color_type;
  using reference = boost::default_color_type&;
  using category = boost::lvalue_property_map_tag;
};
boost::default_color_type get(const BodyColors& map, NodeId n) {
  return (*map.colors)[map.graph->position(n)];
}
void put(const BodyColors& map, NodeId n, boost::default_color_type color) {
  (*map.colors)[map.graph->position(n)] = color;
}

struct OrderVisitor : boost::default_dfs_visitor {
  std::vector<NodeId>* order;
  std::optional<BodyEdge>* cycle;  // the first edge that closes one

  template <class G>
  void finish_vertex(NodeId n, const G&) {
    order->push_back(n);
  }
  template <class E, class G>
  void back_edge(const E& e, const G& g) {
    if (!*cycle) *cycle = BodyEdge{target(e, g), source(e, g)};
  }
};

std::string DescribeNode(const Graph& graph, NodeId n) {
  const std::string& name = graph.name(n);
  return fmt::format("{} ({})", name.empty() ? "unnamed node" : "`" + Printable(name) + "`",
                     graph.op_name(graph.op(n)).text());
}

// The shortest cycle through the edge `closing`, in the direction of the data.
std::string DescribeCycle(const BodyLinks& links, const BodyEdge& closing) {
  const Graph& graph = links.graph();
  // Upwards from the edge's source to its target; reader[n] is the node the search came from.
  std::unordered_map<NodeId, NodeId> reader = {{closing.from, NodeId()}};
  std::vector<NodeId> queue = {closing.from};
  for (size_t i = 0; i < queue.size() && !reader.contains(closing.to); ++i) {
    const auto [begin, end] = in_edges(queue[i], links);
    for (auto it = begin; it != end; ++it) {
      if (reader.try_emplace((*it).from, queue[i]).second) queue.push_back((*it).from);
    }
  }
  constexpr int kShown = 8;
  std::string text;
  int shown = 0;
  for (NodeId n = closing.to; n.valid(); n = reader[n]) {
    if (shown++ == kShown) return text + "...";
    text += DescribeNode(graph, n) + " -> ";
  }
  return text + DescribeNode(graph, closing.to);
}

// Nodes that no output needs, in an order that does not depend on the order in the file.
std::vector<NodeId> Leftovers(const Graph& graph, const std::vector<NodeId>& nodes,
                              const BodyColors& colors) {
  std::vector<NodeId> rest;
  std::copy_if(nodes.begin(), nodes.end(), std::back_inserter(rest),
               [&](NodeId n) { return get(colors, n) == boost::white_color; });
  const auto key = [&](NodeId n) {
    for (size_t i = 0; i < graph.num_outputs(n); ++i) {
      if (graph.output(n, i).valid()) {
        return std::pair<std::string_view, std::string_view>(graph.name(graph.output(n, i)), "");
      }
    }
    return std::pair<std::string_view, std::string_view>("", graph.name(n));
  };
  std::stable_sort(rest.begin(), rest.end(), [&](NodeId a, NodeId b) { return key(a) < key(b); });
  return rest;
}

}  // namespace

Result<std::vector<NodeId>> TopologicalOrder(const Graph& graph, BodyId body) {
  const BodyLinks links(graph, body);
  const boost::reverse_graph<BodyLinks, const BodyLinks&> upwards(links);
  std::vector<NodeId> nodes = graph.body(body).nodes;
  std::erase_if(nodes, [&](NodeId n) { return !graph.alive(n); });
  std::vector<boost::default_color_type> storage(graph.body(body).nodes.size(), boost::white_color);
  const BodyColors colors{&graph, &storage};
  std::vector<NodeId> order;
  order.reserve(nodes.size());
  std::optional<BodyEdge> cycle;
  OrderVisitor visitor;
  visitor.order = &order;
  visitor.cycle = &cycle;
  const auto visit = [&](NodeId n) {
    if (n.valid() && get(colors, n) == boost::white_color) {
      boost::depth_first_visit(upwards, n, visitor, colors);
    }
  };
  for (size_t i = 0; i < graph.body(body).outputs.size(); ++i) {
    visit(links.LocalProducer(graph.output(body, i)));
  }
  if (order.size() < nodes.size()) {
    for (const NodeId n : Leftovers(graph, nodes, colors)) visit(n);
  }
  if (cycle) {
    return Status(StatusCode::kInvalidModel,
                  "the graph has a cycle: " + DescribeCycle(links, *cycle));
  }
  return order;
}

}  // namespace qrewrite
