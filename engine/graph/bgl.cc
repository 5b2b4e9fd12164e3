#include "engine/graph/bgl.h"

#include <algorithm>
#include <memory>
#include <sstream>

#include <boost/graph/depth_first_search.hpp>
#include <boost/graph/graphviz.hpp>
#include <boost/graph/reverse_graph.hpp>

#include <fmt/format.h>

#include "engine/base/diagnostics.h"

namespace qrewrite {
namespace {

// What the subgraphs of `node` read from `body` itself.
void CollectCaptures(const Graph& graph, BodyId body, NodeId node, std::vector<NodeId>& out) {
  std::vector<BodyId> todo = graph.SubgraphsOf(node);
  std::reverse(todo.begin(), todo.end());
  const auto add = [&](ValueId v) {
    if (v.valid() && graph.producer(v).valid() && graph.body_of(v) == body) {
      out.push_back(graph.producer(v));
    }
  };
  while (!todo.empty()) {
    const BodyId inner = todo.back();
    todo.pop_back();
    for (const NodeId n : graph.body(inner).nodes) {
      if (!graph.alive(n)) continue;
      for (size_t i = 0; i < graph.num_inputs(n); ++i) add(graph.input(n, i));
      const std::vector<BodyId> deeper = graph.SubgraphsOf(n);
      todo.insert(todo.end(), deeper.rbegin(), deeper.rend());
    }
    for (size_t i = 0; i < graph.body(inner).outputs.size(); ++i) add(graph.output(inner, i));
  }
}

BodyEdgeRange MakeRange(std::vector<BodyEdge> edges) {
  const auto shared = std::make_shared<const std::vector<BodyEdge>>(std::move(edges));
  return {BodyEdgeIterator(shared, 0), BodyEdgeIterator(shared, shared->size())};
}

}  // namespace

BodyView::BodyView(const Graph& graph, BodyId body) : graph_(&graph), body_(body) {
  for (const NodeId n : graph.body(body).nodes) {
    if (graph.alive(n)) nodes_.push_back(n);
  }
}

std::vector<NodeId> BodyView::ReadFrom(NodeId node) const {
  std::vector<NodeId> out;
  for (size_t i = 0; i < graph_->num_inputs(node); ++i) {
    const ValueId v = graph_->input(node, i);
    if (v.valid() && graph_->producer(v).valid() && graph_->body_of(v) == body_) {
      out.push_back(graph_->producer(v));
    }
  }
  CollectCaptures(*graph_, body_, node, out);
  return out;
}

std::vector<NodeId> BodyView::ReadBy(NodeId node) const {
  std::vector<NodeId> out;
  for (size_t i = 0; i < graph_->num_outputs(node); ++i) {
    const ValueId v = graph_->output(node, i);
    if (!v.valid()) continue;
    for (const UseId u : graph_->uses(v)) {
      const User user = graph_->user(u);
      const NodeId reader = user.is_output()
                                ? (user.body == body_ ? NodeId()
                                                      : graph_->AncestorIn(body_, graph_->body(user.body).owner))
                                : graph_->AncestorIn(body_, user.node);
      if (reader.valid()) out.push_back(reader);
    }
  }
  return out;
}

BodyEdgeRange out_edges(NodeId node, const BodyView& view) {
  std::vector<BodyEdge> edges;
  for (const NodeId reader : view.ReadBy(node)) edges.push_back({node, reader});
  return MakeRange(std::move(edges));
}

BodyEdgeRange in_edges(NodeId node, const BodyView& view) {
  std::vector<BodyEdge> edges;
  for (const NodeId producer : view.ReadFrom(node)) edges.push_back({producer, node});
  return MakeRange(std::move(edges));
}

BodyEdgeRange edges(const BodyView& view) {
  std::vector<BodyEdge> all;
  for (const NodeId n : view.nodes()) {
    for (const NodeId reader : view.ReadBy(n)) all.push_back({n, reader});
  }
  return MakeRange(std::move(all));
}

size_t num_edges(const BodyView& view) {
  size_t count = 0;
  for (const NodeId n : view.nodes()) count += view.ReadBy(n).size();
  return count;
}

std::string Graphviz(const Graph& graph, BodyId body) {
  const BodyView view(graph, body);
  std::ostringstream out;
  boost::write_graphviz(out, view, boost::make_label_writer(NodeOpMap{&graph}),
                        boost::default_writer(), boost::default_writer(), NodeIndexMap());
  return out.str();
}

namespace {

// Colours of a depth-first search, one byte a node id of the whole graph.
struct ColorMap {
  std::vector<boost::default_color_type>* colors;
  using key_type = NodeId;
  using value_type = boost::default_color_type;
  using reference = boost::default_color_type&;
  using category = boost::lvalue_property_map_tag;
};
boost::default_color_type get(const ColorMap& map, NodeId n) { return (*map.colors)[n.index]; }
void put(const ColorMap& map, NodeId n, boost::default_color_type c) { (*map.colors)[n.index] = c; }

struct OrderVisitor : boost::default_dfs_visitor {
  std::vector<NodeId>* order;
  std::optional<BodyEdge>* cycle;
  template <class G>
  void finish_vertex(NodeId n, const G&) {
    order->push_back(n);
  }
  template <class E, class G>
  void back_edge(const E& e, const G& g) {
    if (!*cycle) *cycle = BodyEdge{source(e, g), target(e, g)};
  }
};

std::string DescribeNode(const Graph& graph, NodeId n) {
  const std::string& name = graph.name(n);
  return fmt::format("{} ({})", name.empty() ? "unnamed node" : "`" + Printable(name) + "`",
                     graph.op_name(graph.op(n)).text());
}

// The nodes of a cycle that the back edge closes, for a message.
std::string DescribeCycle(const Graph& graph, const BodyView& view, const BodyEdge& back) {
  // Search upwards from the node that closes the cycle to the one that opened it.
  std::vector<NodeId> parent(graph.num_nodes());
  std::vector<NodeId> queue = {back.to};
  std::vector<bool> seen(graph.num_nodes());
  for (size_t i = 0; i < queue.size() && !seen[back.from.index]; ++i) {
    for (const NodeId p : view.ReadFrom(queue[i])) {
      if (seen[p.index]) continue;
      seen[p.index] = true;
      parent[p.index] = queue[i];
      queue.push_back(p);
    }
  }
  std::string text;
  NodeId n = back.from;
  for (int shown = 0; shown < 8; ++shown) {
    text += (text.empty() ? "" : " -> ") + DescribeNode(graph, n);
    if (n == back.to || !parent[n.index].valid()) return text;
    n = parent[n.index];
  }
  return text + " -> ...";
}

}  // namespace

Result<std::vector<NodeId>> TopologicalOrder(const Graph& graph, BodyId body) {
  const BodyView view(graph, body);
  const boost::reverse_graph<BodyView, const BodyView&> upwards(view);
  std::vector<boost::default_color_type> colors(graph.num_nodes(), boost::white_color);
  std::vector<NodeId> order;
  order.reserve(view.nodes().size());
  std::optional<BodyEdge> back;
  OrderVisitor visitor;
  visitor.order = &order;
  visitor.cycle = &back;
  const auto visit = [&](NodeId n) {
    if (n.valid() && colors[n.index] == boost::white_color) {
      boost::depth_first_visit(upwards, n, visitor, ColorMap{&colors});
    }
  };
  for (size_t i = 0; i < graph.body(body).outputs.size(); ++i) {
    const ValueId v = graph.output(body, i);
    if (v.valid() && graph.body_of(v) == body) visit(graph.producer(v));
  }
  for (const NodeId n : view.nodes()) visit(n);
  if (back) {
    return Status(StatusCode::kInvalidModel,
                  "the graph has a cycle: " + DescribeCycle(graph, view, *back));
  }
  return order;
}

bool DependsOn(const Graph& graph, BodyId body, const std::vector<NodeId>& from,
               const std::vector<NodeId>& targets) {
  const BodyView view(graph, body);
  const boost::reverse_graph<BodyView, const BodyView&> upwards(view);
  std::vector<boost::default_color_type> colors(graph.num_nodes(), boost::white_color);
  for (const NodeId n : from) {
    if (n.valid() && colors[n.index] == boost::white_color) {
      boost::depth_first_visit(upwards, n, boost::default_dfs_visitor(), ColorMap{&colors});
    }
  }
  return std::any_of(targets.begin(), targets.end(), [&](NodeId n) {
    return n.valid() && colors[n.index] != boost::white_color;
  });
}

}  // namespace qrewrite
