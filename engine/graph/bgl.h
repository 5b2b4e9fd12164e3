// A body of a Graph as a Boost.Graph model, so that BGL's algorithms run on it.
//
// Vertices are the live nodes of the body. An edge goes from the node that produces a value to each
// node that reads it; a reader inside a subgraph counts as the node of this body that owns it. One
// edge a read, so parallel edges occur. Constants and inputs are no vertices.
//
//   BodyLinks   BidirectionalGraph, AdjacencyGraph; costs nothing to make, for searches that stay
//               local
//   BodyView    VertexListGraph and EdgeListGraph as well, with property maps; making one lists the
//               nodes of the body
//
// Edges are read off the operand slots and use lists of the graph while an iterator advances; do
// not change the graph meanwhile.
#pragma once

#include <cstddef>
#include <iterator>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <boost/graph/adjacency_iterator.hpp>
#include <boost/graph/graph_traits.hpp>
#include <boost/graph/properties.hpp>
#include <boost/iterator/iterator_facade.hpp>
#include <boost/property_map/property_map.hpp>

#include "engine/base/function_ref.h"
#include "engine/graph/graph.h"

namespace qrewrite {

class BodyLinks {
 public:
  BodyLinks(const Graph& graph, BodyId body) : graph_(&graph), body_(body) {}

  const Graph& graph() const { return *graph_; }
  BodyId body() const { return body_; }

  // The node of this body that produces `v`, or an invalid id.
  NodeId LocalProducer(ValueId v) const {
    return v.valid() && graph_->body_of(v) == body_ ? graph_->producer(v) : NodeId();
  }
  // The node of this body that reads through `use`, itself or in a subgraph, or an invalid id.
  NodeId LocalReader(UseId use) const;
  // Producers in this body of what the subgraphs of `node` read, in order of their nodes.
  std::vector<NodeId> Captured(NodeId node) const;

 private:
  const Graph* graph_;
  BodyId body_;
};

class BodyView : public BodyLinks {
 public:
  BodyView(const Graph& graph, BodyId body);

  const std::vector<NodeId>& nodes() const { return nodes_; }
  size_t index(NodeId node) const { return index_[graph().position(node)]; }

 private:
  std::vector<NodeId> nodes_;
  std::vector<uint32_t> index_;  // by position in the body
};

struct BodyEdge {
  NodeId from, to;
  friend bool operator==(const BodyEdge&, const BodyEdge&) = default;
};

// Edges into one node: in order of its inputs, then of what its subgraphs read.
class BodyInEdgeIterator : public boost::iterator_facade<BodyInEdgeIterator, BodyEdge,
                                                         boost::forward_traversal_tag, BodyEdge> {
 public:
  BodyInEdgeIterator() = default;
  BodyInEdgeIterator(const BodyLinks& links, NodeId node);  // the first edge
  static BodyInEdgeIterator End(const BodyLinks& links, NodeId node);

 private:
  friend class boost::iterator_core_access;
  static constexpr uint32_t kEnd = 0xffffffffu;

  BodyEdge dereference() const { return {from_, node_}; }
  bool equal(const BodyInEdgeIterator& other) const { return at_ == other.at_; }
  void increment() {
    ++at_;
    Settle();
  }
  void Settle();  // goes to the next slot that is an edge, from `at_` on

  const Graph* graph_ = nullptr;
  BodyId body_;
  NodeId node_, from_;
  uint32_t at_ = kEnd;  // operand slot, then index into what is captured behind them
  std::shared_ptr<const std::vector<NodeId>> captured_;  // only of nodes with subgraphs
};

// Edges out of one node: in order of its outputs and their uses.
class BodyOutEdgeIterator : public boost::iterator_facade<BodyOutEdgeIterator, BodyEdge,
                                                          boost::forward_traversal_tag, BodyEdge> {
 public:
  BodyOutEdgeIterator() = default;
  BodyOutEdgeIterator(const BodyLinks& links, NodeId node);  // the first edge
  static BodyOutEdgeIterator End(const BodyLinks& links, NodeId node);

 private:
  friend class boost::iterator_core_access;

  BodyEdge dereference() const { return {node_, to_}; }
  bool equal(const BodyOutEdgeIterator& other) const { return use_ == other.use_; }
  void increment();
  void Settle();  // goes to the next use that is an edge, from `use_` on

  const Graph* graph_ = nullptr;
  BodyId body_;
  NodeId node_, to_;
  uint32_t output_ = 0;
  UseId use_;  // invalid at the end
};

// All edges: those out of each vertex in turn.
class BodyEdgeIterator : public boost::iterator_facade<BodyEdgeIterator, BodyEdge,
                                                       boost::forward_traversal_tag, BodyEdge> {
 public:
  BodyEdgeIterator() = default;
  BodyEdgeIterator(const BodyView& view, size_t vertex);

 private:
  friend class boost::iterator_core_access;

  BodyEdge dereference() const { return *out_; }
  bool equal(const BodyEdgeIterator& other) const {
    return vertex_ == other.vertex_ && out_ == other.out_;
  }
  void increment();
  void Settle();  // skips vertices without edges

  const BodyView* view_ = nullptr;
  size_t vertex_ = 0;
  BodyOutEdgeIterator out_;
};

inline std::pair<BodyOutEdgeIterator, BodyOutEdgeIterator> out_edges(NodeId node,
                                                                     const BodyLinks& links) {
  return {BodyOutEdgeIterator(links, node), BodyOutEdgeIterator::End(links, node)};
}
inline std::pair<BodyInEdgeIterator, BodyInEdgeIterator> in_edges(NodeId node,
                                                                  const BodyLinks& links) {
  return {BodyInEdgeIterator(links, node), BodyInEdgeIterator::End(links, node)};
}
using BodyAdjacencyIterator =
    boost::adjacency_iterator_generator<BodyLinks, NodeId, BodyOutEdgeIterator>::type;
inline std::pair<BodyAdjacencyIterator, BodyAdjacencyIterator> adjacent_vertices(
    NodeId node, const BodyLinks& links) {
  const auto [begin, end] = out_edges(node, links);
  return {BodyAdjacencyIterator(begin, &links), BodyAdjacencyIterator(end, &links)};
}
inline size_t out_degree(NodeId node, const BodyLinks& links) {
  const auto [begin, end] = out_edges(node, links);
  return static_cast<size_t>(std::distance(begin, end));
}
inline size_t in_degree(NodeId node, const BodyLinks& links) {
  const auto [begin, end] = in_edges(node, links);
  return static_cast<size_t>(std::distance(begin, end));
}
inline size_t degree(NodeId node, const BodyLinks& links) {
  return in_degree(node, links) + out_degree(node, links);
}
inline NodeId source(const BodyEdge& edge, const BodyLinks&) { return edge.from; }
inline NodeId target(const BodyEdge& edge, const BodyLinks&) { return edge.to; }

inline auto vertices(const BodyView& view) {
  return std::pair(view.nodes().begin(), view.nodes().end());
}
inline size_t num_vertices(const BodyView& view) { return view.nodes().size(); }
inline std::pair<BodyEdgeIterator, BodyEdgeIterator> edges(const BodyView& view) {
  return {BodyEdgeIterator(view, 0), BodyEdgeIterator(view, view.nodes().size())};
}
size_t num_edges(const BodyView& view);

// Property map vertex -> index below num_vertices().
struct NodeIndexMap {
  const BodyView* view = nullptr;
  using key_type = NodeId;
  using value_type = size_t;
  using reference = size_t;
  using category = boost::readable_property_map_tag;
};
inline size_t get(const NodeIndexMap& map, NodeId node) { return map.view->index(node); }
inline NodeIndexMap get(boost::vertex_index_t, const BodyView& view) { return {&view}; }
inline size_t get(boost::vertex_index_t, const BodyView& view, NodeId node) {
  return view.index(node);
}

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
inline std::string get(boost::vertex_name_t, const BodyView& view, NodeId node) {
  return get(NodeOpMap{&view.graph()}, node);
}

// Is one of `targets` among the nodes that `from` (nodes of one body) needs, directly or through
// others, or `from` itself? Nodes of subgraphs count as their owners. Costs what lies upstream of
// `from`, at most; a target that is found ends the search, and nodes for which `before` holds (they are
// known to need no target) are not looked behind.
bool DependsOn(
    const Graph& graph, BodyId body, const std::vector<NodeId>& from,
    const std::vector<NodeId>& targets,
    FunctionRef<bool(NodeId)> before = [](NodeId) { return false; });

}  // namespace qrewrite

template <>
struct boost::graph_traits<qrewrite::BodyLinks> {
  using vertex_descriptor = qrewrite::NodeId;
  using edge_descriptor = qrewrite::BodyEdge;
  using directed_category = boost::bidirectional_tag;
  using edge_parallel_category = boost::allow_parallel_edge_tag;
  struct traversal_category : boost::bidirectional_graph_tag, boost::adjacency_graph_tag {};
  using adjacency_iterator = qrewrite::BodyAdjacencyIterator;
  using out_edge_iterator = qrewrite::BodyOutEdgeIterator;
  using in_edge_iterator = qrewrite::BodyInEdgeIterator;
  using degree_size_type = size_t;
  using vertex_iterator = void;
  using edge_iterator = void;
  using vertices_size_type = size_t;
  using edges_size_type = size_t;
  static qrewrite::NodeId null_vertex() { return {}; }
};
template <>
struct boost::graph_traits<qrewrite::BodyView> : boost::graph_traits<qrewrite::BodyLinks> {
  struct traversal_category : boost::bidirectional_graph_tag,
                              boost::adjacency_graph_tag,
                              boost::vertex_list_graph_tag,
                              boost::edge_list_graph_tag {};
  using vertex_iterator = std::vector<qrewrite::NodeId>::const_iterator;
  using edge_iterator = qrewrite::BodyEdgeIterator;
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
