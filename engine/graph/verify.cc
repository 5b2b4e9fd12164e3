#include "engine/graph/verify.h"

#include <algorithm>
#include <unordered_set>

#include <fmt/format.h>

#include "engine/base/diagnostics.h"

namespace qrewrite {

// A friend of Graph: it reads the tables themselves, not what their accessors say.
class GraphVerifier {
 public:
  GraphVerifier(const Graph& graph, const std::unordered_set<ValueId>& carried)
      : g_(graph), carried_(carried) {}

  Status Run() {
    QR_RETURN_IF_ERROR(CheckBodies());
    QR_RETURN_IF_ERROR(CheckNodes());
    QR_RETURN_IF_ERROR(CheckUses());
    QR_RETURN_IF_ERROR(CheckValues());
    QR_RETURN_IF_ERROR(CheckNames());
    for (size_t i = 0; i < g_.num_bodies(); ++i) {
      if (!g_.body(BodyId(i)).alive) continue;
      if (auto order = TopologicalOrder(g_, BodyId(i)); !order.ok()) return order.status();
    }
    return {};
  }

 private:
  template <class... Args>
  static Status Broken(fmt::format_string<Args...> format, Args&&... args) {
    return {StatusCode::kInvalidModel, fmt::format(format, std::forward<Args>(args)...)};
  }
  std::string Show(ValueId v) const {
    return fmt::format("value `{}` (#{})", Printable(g_.name(v)), v.index);
  }
  std::string Show(NodeId n) const {
    return fmt::format("node `{}` (#{}, {})", Printable(g_.name(n)), n.index,
                       g_.op_name(g_.op(n)).text());
  }
  std::string Show(BodyId b) const {
    return fmt::format("body `{}` (#{})", Printable(g_.body(b).name), b.index);
  }
  std::string Show(const User& user) const {
    return user.is_output() ? fmt::format("output {} of {}", user.index, Show(user.body))
                            : fmt::format("input {} of {}", user.index, Show(user.node));
  }
  bool Exists(ValueId v) const { return v.index < g_.num_values() && g_.alive(v); }
  bool Exists(NodeId n) const { return n.index < g_.num_nodes() && g_.alive(n); }
  bool Exists(BodyId b) const { return b.index < g_.num_bodies() && g_.body(b).alive; }

  // What bodies list: nodes, inputs, constants, owners.
  Status CheckBodies() {
    size_t listed = 0;
    listed_input_.resize(g_.num_values());
    listed_constant_.resize(g_.num_values());
    for (size_t i = 0; i < g_.num_bodies(); ++i) {
      const BodyId b(i);
      const Body& body = g_.body(b);
      for (size_t at = 0; at < body.nodes.size(); ++at) {
        const NodeId n = body.nodes[at];
        if (!Exists(n)) continue;
        if (g_.body_of(n) != b || g_.position(n) != at) {
          return Broken("{} is listed by {}, where it does not belong", Show(n), Show(b));
        }
        ++listed;
      }
      if (!body.alive) continue;
      QR_RETURN_IF_ERROR(CheckListed(b, body.inputs, listed_input_, "input"));
      QR_RETURN_IF_ERROR(CheckListed(b, body.constants, listed_constant_, "constant"));
      QR_RETURN_IF_ERROR(CheckOwner(b));
    }
    const size_t alive = static_cast<size_t>(
        std::count_if(g_.nodes_.begin(), g_.nodes_.end(), [](const auto& n) { return n.alive; }));
    if (alive != listed) return Broken("{} nodes are alive, bodies list {}", alive, listed);
    return {};
  }

  Status CheckListed(BodyId b, const std::vector<ValueId>& values, std::vector<bool>& seen,
                     std::string_view what) {
    for (const ValueId v : values) {
      if (v.index >= g_.num_values()) return Broken("{} has an unknown {}", Show(b), what);
      if (what == "input" && !g_.IsInput(v)) continue;  // removed, see Graph::inputs()
      if (!g_.alive(v)) {
        if (what == "input") return Broken("{} has a dead {}", Show(b), what);
        continue;  // a tombstone
      }
      if (g_.body_of(v) != b) return Broken("{} is no {} of {}", Show(v), what, Show(b));
      if (seen[v.index]) return Broken("{} is listed twice as {}", Show(v), what);
      seen[v.index] = true;
    }
    return {};
  }

  Status CheckOwner(BodyId b) {
    const Body& body = g_.body(b);
    if (body.kind != BodyKind::kSubgraph) {
      return body.owner.valid() ? Broken("{} is no subgraph but has an owner", Show(b)) : Status();
    }
    if (!Exists(body.owner)) return Broken("{} has lost its node", Show(b));
    const std::vector<BodyId> owned = g_.SubgraphsOf(body.owner);
    if (std::count(owned.begin(), owned.end(), b) != 1) {
      return Broken("{} is not (only) once an attribute of {}", Show(b), Show(body.owner));
    }
    if (body.parent != g_.body_of(body.owner)) {
      return Broken("{} is not inside the body of {}", Show(b), Show(body.owner));
    }
    return {};
  }

  // Slots, outputs and subgraphs of every node.
  Status CheckNodes() {
    std::vector<uint32_t> counts(g_.num_ops());
    for (size_t i = 0; i < g_.num_nodes(); ++i) {
      const OpId op = g_.op(NodeId(i));
      if (g_.alive(NodeId(i)) && op.index < counts.size()) ++counts[op.index];
    }
    if (counts != g_.op_nodes_) return Broken("the nodes of an operator are miscounted");
    size_t constants = 0;
    for (size_t i = 0; i < g_.num_values(); ++i) constants += g_.constant(ValueId(i)) != nullptr;
    if (constants != g_.num_constants()) return Broken("the constants are miscounted");
    for (size_t i = 0; i < g_.num_nodes(); ++i) {
      const NodeId n(i);
      if (!g_.alive(n)) continue;
      if (g_.op(n).index >= g_.num_ops()) return Broken("node #{} has no operator", i);
      if (!Exists(g_.body_of(n))) return Broken("{} is in a removed body", Show(n));
      const Graph::Node& node = g_.nodes_[i];
      for (uint32_t k = 0; k < node.num_inputs; ++k) {
        const Graph::Use& use = g_.uses_[node.first_input + k];
        if (use.is_output || use.user != i) {
          return Broken("input {} of {} is the slot of something else", k, Show(n));
        }
        slots_ += use.value.valid();
      }
      for (uint32_t k = 0; k < node.num_outputs; ++k) {
        const ValueId v = g_.output(n, k);
        if (!v.valid()) continue;
        if (!Exists(v)) return Broken("output {} of {} is a removed value", k, Show(n));
        if (g_.producer(v) != n || g_.output_index(v) != k || g_.body_of(v) != g_.body_of(n)) {
          return Broken("{} does not know that it is output {} of {}", Show(v), k, Show(n));
        }
      }
      QR_RETURN_IF_ERROR(CheckSubgraphs(n));
    }
    return {};
  }

  Status CheckSubgraphs(NodeId n) {
    bool any = false;
    for (const Attribute& a : g_.attributes(n)) {
      const auto* many = std::get_if<std::vector<BodyId>>(&a.value);
      any |= std::holds_alternative<BodyId>(a.value) || (many && !many->empty());
    }
    if (any != g_.HasSubgraphs(n)) return Broken("{} has lost count of its subgraphs", Show(n));
    for (const BodyId b : g_.SubgraphsOf(n)) {
      if (!Exists(b)) return Broken("{} holds a removed subgraph", Show(n));
      if (g_.body(b).kind != BodyKind::kSubgraph || g_.body(b).owner != n) {
        return Broken("{} holds {}, which belongs to another node", Show(n), Show(b));
      }
    }
    return {};
  }

  // Use lists: together they link every slot that reads something, once.
  Status CheckUses() {
    for (size_t i = 0; i < g_.num_bodies(); ++i) {
      const Body& body = g_.body(BodyId(i));
      for (size_t k = 0; k < body.outputs.size(); ++k) {
        const Graph::Use& use = g_.uses_[body.outputs[k].index];
        const User user = g_.user(body.outputs[k]);
        if (!use.is_output || user.body != BodyId(i) || user.index != k) {
          return Broken("output {} of {} is the slot of something else", k, Show(BodyId(i)));
        }
        slots_ += use.value.valid();
      }
    }
    size_t linked = 0;
    for (size_t i = 0; i < g_.num_values(); ++i) {
      const ValueId v(i);
      const Graph::Value& value = g_.values_[i];
      uint32_t uses = 0, output_uses = 0;
      UseId previous;  // of the first one: the last one
      if (value.first_use.valid()) previous = g_.uses_[value.first_use.index].previous;
      const UseId last = previous;
      for (UseId u = value.first_use; u.valid(); u = g_.NextUse(u)) {
        if (u.index >= g_.uses_.size() || uses == value.num_uses) {
          return Broken("the use list of {} does not end", Show(v));
        }
        const Graph::Use& use = g_.uses_[u.index];
        if (use.value != v || use.previous != previous) {
          return Broken("the use list of {} is broken at {}", Show(v), Show(g_.user(u)));
        }
        QR_RETURN_IF_ERROR(CheckRead(v, g_.user(u)));
        previous = u;
        ++uses;
        output_uses += use.is_output;
      }
      if (uses != value.num_uses || output_uses != value.num_output_uses || previous != last) {
        return Broken("{} has lost count of its uses", Show(v));
      }
      linked += uses;
    }
    if (linked != slots_) return Broken("{} slots read a value, {} are linked", slots_, linked);
    return {};
  }

  Status CheckRead(ValueId v, const User& user) {
    if (!g_.alive(v)) return Broken("{} reads {}, which was removed", Show(user), Show(v));
    if (user.node.valid() && !Exists(user.node)) {
      return Broken("{} is read by a removed node (#{})", Show(v), user.node.index);
    }
    if (!Exists(user.body)) return Broken("{} is read in a removed body", Show(v));
    if (!g_.Encloses(g_.body_of(v), user.body)) {
      return Broken("{} reads {}, which it cannot see", Show(user), Show(v));
    }
    return {};
  }

  // Where every value comes from.
  Status CheckValues() {
    for (size_t i = 0; i < g_.num_values(); ++i) {
      const ValueId v(i);
      if (!g_.alive(v)) continue;
      const NodeId n = g_.producer(v);
      const bool given = g_.constant(v) || g_.IsInput(v);
      if (n.valid()) {
        if (!Exists(n)) return Broken("{} comes from a removed node (#{})", Show(v), n.index);
        if (g_.output_index(v) >= g_.num_outputs(n) || g_.output(n, g_.output_index(v)) != v) {
          return Broken("{} is no output of {}", Show(v), Show(n));
        }
        if (given) return Broken("{} is computed but also an input or constant", Show(v));
      } else if (!given && g_.num_uses(v) > 0 && !carried_.contains(v)) {
        return Broken("{} reads {}, which nothing computes", Show(g_.user(*g_.uses(v).begin())),
                      Show(v));
      }
      if (g_.IsInput(v) != listed_input_[i]) return Broken("{} is no listed input", Show(v));
      if (g_.constant(v) && !listed_constant_[i]) {
        return Broken("{} is not among the constants of its body", Show(v));
      }
    }
    return {};
  }

  // A name means one value in a body.
  Status CheckNames() {
    std::vector<std::unordered_set<std::string_view>> names(g_.num_bodies());
    for (size_t i = 0; i < g_.num_values(); ++i) {
      const ValueId v(i);
      const bool defined = g_.producer(v).valid() || g_.constant(v) || g_.IsInput(v);
      if (!g_.alive(v) || !defined) continue;
      if (g_.name(v).empty()) return Broken("{} has no name", Show(v));
      if (!names[g_.body_of(v).index].insert(g_.name(v)).second) {
        return Broken("{} shares its name with another value of its body", Show(v));
      }
    }
    return {};
  }

  const Graph& g_;
  const std::unordered_set<ValueId>& carried_;
  size_t slots_ = 0;  // that read a value
  std::vector<bool> listed_input_, listed_constant_;
};

Status Verify(const Graph& graph, const std::unordered_set<ValueId>& carried) {
  return GraphVerifier(graph, carried).Run();
}

std::unordered_set<ValueId> CarriedValues(const Graph& graph) {
  std::unordered_set<ValueId> carried;
  for (size_t i = 0; i < graph.num_values(); ++i) {
    const ValueId v(i);
    const bool read = graph.alive(v) && graph.num_uses(v) > 0;
    const bool made = graph.producer(v).valid() || graph.IsInput(v) || graph.constant(v) != nullptr;
    if (read && !made) carried.insert(v);
  }
  return carried;
}

}  // namespace qrewrite
