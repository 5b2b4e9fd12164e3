// A body of a Graph as a Boost.Graph model: VertexListGraph, EdgeListGraph and BidirectionalGraph with
// property maps.
//
// Vertices are the live nodes of the body. An edge goes from the node that produces a value to each
// node that reads it; a reader inside a subgraph counts as the node of this body that owns it. One
// edge a read, so parallel edges occur. Constants and inputs are no vertices.
//
// The view holds no state but the list of vertices; do not change the graph while iterating.
#pragma once

#include <cstddef>
#include <iterator>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <boost/graph/graph_traits.hpp>
#include <boost/graph/properties.hpp>
#include <boost/iterator/iterator_facade.hpp>
#include <boost/property_map/property_map.hpp>

#include "engine/graph/graph.h"

namespace qrewrite {

class BodyView {
 public:
  BodyView(const Graph& graph, BodyId body);

  const Graph& graph() const { return *graph_; }
  BodyId body() const { return body_; }
  const std::vector<NodeId>& nodes() const { return nodes_; }

  // What a node reads, subgraphs included: the producers in this body, in order of the inputs, then
  // of the subgraphs' nodes and outputs.
  std::vector<NodeId> ReadFrom(NodeId node) const;
  // The nodes of this body that read an output of `node`, in order of outputs and uses.
  std::vector<NodeId> ReadBy(NodeId node) const;

 private:
  const Graph* graph_;
  BodyId body_;
  std::vector<NodeId> nodes_;
};

struct BodyEdge {
  NodeId from, to;
  friend bool operator==(const BodyEdge&, const BodyEdge&) = default;
};

// Edges of one vertex; the list is made when the range is, and shared by its iterators.
class BodyEdgeIterator
    : public boost::iterator_facade<BodyEdgeIterator, BodyEdge, boost::forward_traversal_tag, BodyEdge> {
 public:
  BodyEdgeIterator() = default;
  BodyEdgeIterator(std::shared_ptr<const std::vector<BodyEdge>> edges, size_t at)
      : edges_(std::move(edges)), at_(at) {}

 private:
  friend class boost::iterator_core_access;
  BodyEdge dereference() const { return (*edges_)[at_]; }
  bool equal(const BodyEdgeIterator& other) const { return at_ == other.at_; }
  void increment() { ++at_; }

  std::shared_ptr<const std::vector<BodyEdge>> edges_;
  size_t at_ = 0;
};

using BodyEdgeRange = std::pair<BodyEdgeIterator, BodyEdgeIterator>;
using BodyVertexRange =
    std::pair<std::vector<NodeId>::const_iterator, std::vector<NodeId>::const_iterator>;

BodyEdgeRange out_edges(NodeId node, const BodyView& view);
BodyEdgeRange in_edges(NodeId node, const BodyView& view);
BodyEdgeRange edges(const BodyView& view);
size_t num_edges(const BodyView& view);
inline BodyVertexRange vertices(const BodyView& view) {
  return {view.nodes().begin(), view.nodes().end()};
}
inline size_t num_vertices(const BodyView& view) { return view.nodes().size(); }
inline NodeId source(const BodyEdge& edge, const BodyView&) { return edge.from; }
inline NodeId target(const BodyEdge& edge, const BodyView&) { return edge.to; }
inline size_t out_degree(NodeId node, const BodyView& view) { return view.ReadBy(node).size(); }
inline size_t in_degree(NodeId node, const BodyView& view) { return view.ReadFrom(node).size(); }
inline size_t degree(NodeId node, const BodyView& view) {
  return in_degree(node, view) + out_degree(node, view);
}

// Property map vertex -> index below Graph::num_nodes().
struct NodeIndexMap {
  using key_type = NodeId;
  using value_type = size_t;
  using reference = size_t;
  using category = boost::readable_property_map_tag;
};
inline size_t get(NodeIndexMap, NodeId node) { return node.index; }
inline NodeIndexMap get(boost::vertex_index_t, const BodyView&) { return {}; }

// Property map vertex -> operator name (graphviz labels, isomorphism in tests).
struct NodeOpMap {
  const Graph* graph = nullptr;
  using key_type = NodeId;
  using value_type = std::string;
  using reference = std::string;
  using category = boost::readable_property_map_tag;
};
inline std::string get(const NodeOpMap& map, NodeId node) {
  return map.graph->op_name(map.graph->op(node)).text();
}
inline NodeOpMap get(boost::vertex_name_t, const BodyView& view) { return {&view.graph()}; }

// The body in Graphviz form, operators as labels (write_graphviz over this view).
std::string Graphviz(const Graph& graph, BodyId body);

// Is one of `targets` among the nodes that `from` (nodes of one body) needs, directly or through
// others? Nodes of subgraphs count as their owners.
bool DependsOn(const Graph& graph, BodyId body, const std::vector<NodeId>& from,
               const std::vector<NodeId>& targets);

}  // namespace qrewrite

template <>
struct boost::graph_traits<qrewrite::BodyView> {
  using vertex_descriptor = qrewrite::NodeId;
  using edge_descriptor = qrewrite::BodyEdge;
  using directed_category = boost::bidirectional_tag;
  using edge_parallel_category = boost::allow_parallel_edge_tag;
  struct traversal_category : boost::bidirectional_graph_tag,
                              boost::vertex_list_graph_tag,
                              boost::edge_list_graph_tag {};
  using vertex_iterator = std::vector<qrewrite::NodeId>::const_iterator;
  using out_edge_iterator = qrewrite::BodyEdgeIterator;
  using in_edge_iterator = qrewrite::BodyEdgeIterator;
  using edge_iterator = qrewrite::BodyEdgeIterator;
  using vertices_size_type = size_t;
  using edges_size_type = size_t;
  using degree_size_type = size_t;
  static qrewrite::NodeId null_vertex() { return {}; }
};
template <>
struct boost::property_map<qrewrite::BodyView, boost::vertex_index_t> {
  using type = qrewrite::NodeIndexMap;
  using const_type = qrewrite::NodeIndexMap;
};
template <>
struct boost::property_map<qrewrite::BodyView, boost::vertex_name_t> {
  using type = qrewrite::NodeOpMap;
  using const_type = qrewrite::NodeOpMap;
};
