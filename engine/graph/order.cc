// TopologicalOrder: a depth-first search over the body, against the direction of the data.
#include "engine/graph/order.h"

#include <algorithm>
#include <optional>
#include <unordered_map>
#include <utility>

#include "engine/base/diagnostics.h"
#include "engine/graph/bgl.h"
#include "engine/graph/graph.h"
#include "engine/graph/node_text.h"

namespace qrewrite {
namespace {

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
    text += NodeText(graph, n) + " -> ";
  }
  return text + NodeText(graph, closing.to);
}

// Depth-first search upwards, from readers to producers. Not that of BGL: its frames are ten times
// as large, and a long chain lies on the stack as a whole.
class Search {
 public:
  Search(const Graph& graph, BodyId body)
      : graph_(graph), links_(graph, body), states_(graph.body(body).nodes.size()) {
    order_.reserve(states_.size());
  }

  bool IsNew(NodeId n) const { return states_[graph_.position(n)] == State::kNew; }
  const std::optional<BodyEdge>& cycle() const { return cycle_; }  // the edge that closes one
  std::vector<NodeId> TakeOrder() { return std::move(order_); }
  size_t found() const { return order_.size(); }

  // Adds what `root` needs and has not been added, then `root`. Stops at a cycle.
  void Visit(NodeId root) {
    if (!root.valid() || !IsNew(root)) return;
    Enter(root);
    while (!stack_.empty() && !cycle_) {
      const NodeId n = stack_.back().node;
      const NodeId producer = NextProducer();
      if (!producer.valid()) {
        Leave();
      } else if (IsNew(producer)) {
        Enter(producer);
      } else if (states_[graph_.position(producer)] == State::kOpen) {
        cycle_ = BodyEdge{producer, n};
      }
    }
  }

 private:
  enum class State : uint8_t { kNew, kOpen, kDone };
  struct Frame {
    NodeId node;
    uint32_t first, next;  // producers of what the node reads: indices into `needed_`
  };

  // All inputs are looked at now: on the way back, their values would have left the cache.
  void Enter(NodeId n) {
    states_[graph_.position(n)] = State::kOpen;
    const auto first = static_cast<uint32_t>(needed_.size());
    stack_.push_back({.node = n, .first = first, .next = first});
    for (size_t i = 0; i < graph_.num_inputs(n); ++i) {
      const NodeId producer = links_.LocalProducer(graph_.input(n, i));
      if (producer.valid()) needed_.push_back(producer);
    }
    if (!graph_.HasSubgraphs(n)) return;
    const std::vector<NodeId> captured = links_.Captured(n);
    needed_.insert(needed_.end(), captured.begin(), captured.end());
  }

  void Leave() {
    const Frame& frame = stack_.back();
    states_[graph_.position(frame.node)] = State::kDone;
    order_.push_back(frame.node);
    needed_.resize(frame.first);
    stack_.pop_back();
  }

  // Of the topmost frame: the next node that it needs, invalid at the end.
  NodeId NextProducer() {
    Frame& frame = stack_.back();
    return frame.next < needed_.size() ? needed_[frame.next++] : NodeId();
  }

  const Graph& graph_;
  const BodyLinks links_;
  std::vector<State> states_;  // by position
  std::vector<Frame> stack_;
  std::vector<NodeId> needed_;  // of the frames on the stack
  std::vector<NodeId> order_;
  std::optional<BodyEdge> cycle_;
};

// Nodes that no output needs, in an order that does not depend on the order in the file.
std::vector<NodeId> Leftovers(const Graph& graph, BodyId body, const Search& search) {
  std::vector<NodeId> rest;
  for (const NodeId n : graph.body(body).nodes) {
    if (graph.alive(n) && search.IsNew(n)) rest.push_back(n);
  }
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
  Search search(graph, body);
  for (size_t i = 0; i < graph.body(body).outputs.size(); ++i) {
    search.Visit(links.LocalProducer(graph.output(body, i)));
  }
  if (!search.cycle() && search.found() < graph.body(body).nodes.size()) {
    for (const NodeId n : Leftovers(graph, body, search)) search.Visit(n);
  }
  if (search.cycle()) {
    return Status(StatusCode::kInvalidModel,
                  "the graph has a cycle: " + DescribeCycle(links, *search.cycle()));
  }
  return search.TakeOrder();
}

Result<std::vector<NodeId>> NodesInOrder(const Graph& graph) {
  std::vector<NodeId> order;
  // A body's nodes; those of a subgraph come before the node that holds it.
  struct Open {
    std::vector<NodeId> nodes;
    size_t next = 0;
    bool entered = false;  // the subgraphs of nodes[next] are done
  };
  const auto walk = [&](BodyId root) -> Status {
    std::vector<Open> stack;
    QR_ASSIGN_OR_RETURN(std::vector<NodeId> nodes, TopologicalOrder(graph, root));
    stack.push_back({std::move(nodes)});
    while (!stack.empty()) {
      Open& top = stack.back();
      if (top.next == top.nodes.size()) {
        stack.pop_back();
        continue;
      }
      const NodeId n = top.nodes[top.next];
      if (!top.entered && graph.HasSubgraphs(n)) {
        top.entered = true;
        const std::vector<BodyId> bodies = graph.SubgraphsOf(n);
        for (auto b = bodies.rbegin(); b != bodies.rend(); ++b) {
          QR_ASSIGN_OR_RETURN(std::vector<NodeId> inner, TopologicalOrder(graph, *b));
          stack.push_back({std::move(inner)});
        }
        continue;
      }
      order.push_back(n);
      top.entered = false;
      ++top.next;
    }
    return {};
  };
  QR_RETURN_IF_ERROR(walk(graph.main()));
  for (size_t b = 1; b < graph.num_bodies(); ++b) {
    const Body& body = graph.body(BodyId(b));
    if (body.alive && body.kind == BodyKind::kFunction) QR_RETURN_IF_ERROR(walk(BodyId(b)));
  }
  return order;
}

}  // namespace qrewrite
