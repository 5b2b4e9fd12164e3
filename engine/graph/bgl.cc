#include "engine/graph/bgl.h"

#include <algorithm>
#include <unordered_set>

#include <boost/graph/depth_first_search.hpp>
#include <boost/graph/reverse_graph.hpp>

namespace qrewrite {

NodeId BodyLinks::LocalReader(UseId use) const {
  const User user = graph_->user(use);
  if (user.body == body_) return user.node;  // an output of the body has no node
  return graph_->AncestorIn(body_, user.is_output() ? graph_->body(user.body).owner : user.node);
}

std::vector<NodeId> BodyLinks::Captured(NodeId node) const {
  std::vector<NodeId> producers;
  const auto add = [&](ValueId v) {
    if (const NodeId n = LocalProducer(v); n.valid()) producers.push_back(n);
  };
  std::vector<BodyId> todo = graph_->SubgraphsOf(node);
  std::reverse(todo.begin(), todo.end());
  while (!todo.empty()) {
    const BodyId inner = todo.back();
    todo.pop_back();
    for (const NodeId n : graph_->body(inner).nodes) {
      if (!graph_->alive(n)) continue;
      for (size_t i = 0; i < graph_->num_inputs(n); ++i) add(graph_->input(n, i));
      if (!graph_->HasSubgraphs(n)) continue;
      const std::vector<BodyId> deeper = graph_->SubgraphsOf(n);
      todo.insert(todo.end(), deeper.rbegin(), deeper.rend());
    }
    for (size_t i = 0; i < graph_->body(inner).outputs.size(); ++i) add(graph_->output(inner, i));
  }
  return producers;
}

BodyView::BodyView(const Graph& graph, BodyId body)
    : BodyLinks(graph, body), index_(graph.body(body).nodes.size()) {
  nodes_.reserve(index_.size());
  for (const NodeId n : graph.body(body).nodes) {
    if (!graph.alive(n)) continue;
    index_[graph.position(n)] = static_cast<uint32_t>(nodes_.size());
    nodes_.push_back(n);
  }
}

// --- edges into a node

BodyInEdgeIterator::BodyInEdgeIterator(const BodyLinks& links, NodeId node)
    : graph_(&links.graph()), body_(links.body()), node_(node), at_(0) {
  if (graph_->HasSubgraphs(node)) {
    captured_ = std::make_shared<const std::vector<NodeId>>(links.Captured(node));
  }
  Settle();
}

BodyInEdgeIterator BodyInEdgeIterator::End(const BodyLinks&, NodeId) { return {}; }

void BodyInEdgeIterator::Settle() {
  const auto slots = static_cast<uint32_t>(graph_->num_inputs(node_));
  for (; at_ < slots; ++at_) {
    from_ = BodyLinks(*graph_, body_).LocalProducer(graph_->input(node_, at_));
    if (from_.valid()) return;
  }
  if (captured_ && at_ - slots < captured_->size()) {
    from_ = (*captured_)[at_ - slots];
  } else {
    at_ = kEnd;
  }
}

// --- edges out of a node

BodyOutEdgeIterator::BodyOutEdgeIterator(const BodyLinks& links, NodeId node)
    : graph_(&links.graph()), body_(links.body()), node_(node) {
  const ValueId first = graph_->num_outputs(node) > 0 ? graph_->output(node, 0) : ValueId();
  if (first.valid()) use_ = *graph_->uses(first).begin();
  Settle();
}

BodyOutEdgeIterator BodyOutEdgeIterator::End(const BodyLinks&, NodeId) { return {}; }

void BodyOutEdgeIterator::increment() {
  use_ = graph_->NextUse(use_);
  Settle();
}

void BodyOutEdgeIterator::Settle() {
  while (true) {
    for (; use_.valid(); use_ = graph_->NextUse(use_)) {
      to_ = BodyLinks(*graph_, body_).LocalReader(use_);
      if (to_.valid()) return;
    }
    if (++output_ >= graph_->num_outputs(node_)) return;
    const ValueId v = graph_->output(node_, output_);
    if (v.valid()) use_ = *graph_->uses(v).begin();
  }
}

// --- all edges

BodyEdgeIterator::BodyEdgeIterator(const BodyView& view, size_t vertex)
    : view_(&view), vertex_(vertex) {
  if (vertex < view.nodes().size()) out_ = BodyOutEdgeIterator(view, view.nodes()[vertex]);
  Settle();
}

void BodyEdgeIterator::increment() {
  ++out_;
  Settle();
}

void BodyEdgeIterator::Settle() {
  while (out_ == BodyOutEdgeIterator() && vertex_ < view_->nodes().size()) {
    if (++vertex_ < view_->nodes().size()) {
      out_ = BodyOutEdgeIterator(*view_, view_->nodes()[vertex_]);
    }
  }
}

size_t num_edges(const BodyView& view) {
  const auto [begin, end] = edges(view);
  return static_cast<size_t>(std::distance(begin, end));
}

// --- algorithms

namespace {

// Colours of a search that sees a small part of a graph: what is not in the table is white.
struct SparseColors {
  std::unordered_map<NodeId, boost::default_color_type>* seen;
  using key_type = NodeId;
  using value_type = boost::default_color_type;
  using reference = boost::default_color_type;
  using category = boost::read_write_property_map_tag;
};
boost::default_color_type get(const SparseColors& colors, NodeId n) {
  const auto it = colors.seen->find(n);
  return it == colors.seen->end() ? boost::white_color : it->second;
}
void put(const SparseColors& colors, NodeId n, boost::default_color_type color) {
  (*colors.seen)[n] = color;
}

}  // namespace

bool DependsOn(const Graph& graph, BodyId body, const std::vector<NodeId>& from,
               const std::vector<NodeId>& targets, FunctionRef<bool(NodeId)> before) {
  const BodyLinks links(graph, body);
  const boost::reverse_graph<BodyLinks, const BodyLinks&> upwards(links);
  std::unordered_map<NodeId, boost::default_color_type> seen;
  const std::unordered_set<NodeId> wanted(targets.begin(), targets.end());
  bool found = false;
  const auto enough = [&](NodeId n, const auto&) {
    found |= wanted.contains(n);
    return found || before(n);
  };
  for (const NodeId n : from) {
    if (n.valid() && !found && !seen.contains(n)) {
      boost::depth_first_visit(upwards, n, boost::default_dfs_visitor(), SparseColors{&seen},
                               enough);
    }
  }
  return found;
}

}  // namespace qrewrite
