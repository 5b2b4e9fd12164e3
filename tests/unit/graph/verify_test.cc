// Verify finds what is broken, and random edits break nothing.
#include "engine/graph/verify.h"

#include <map>
#include <random>
#include <set>

#include <doctest/doctest.h>

#include "tests/support/graph_maker.h"

namespace qrewrite {
namespace {

TEST_CASE("Verify: an empty graph, and what a node may not read") {
  GraphMaker m;
  CHECK(Verify(m.graph).ok());
  const ValueId x = m.Input("x"), c = m.Input("c");
  ValueId t;
  const BodyId branch = m.Subgraph([&] { m.Output(t = m.Node("Neg", {x}, "t")); });
  const ValueId y = m.Node("If", {c}, "y", {{"then_branch", branch}});
  m.Output(y);
  CHECK(Verify(m.graph).ok());
  const ValueId z = m.Node("Add", {x, t}, "z");
  CHECK(Verify(m.graph).message() ==
        "error: input 1 of node `n_z` (#2, Add) reads value `t` (#2), which it cannot see");
  m.graph.SetInput(m.Producer(z), 1, m.graph.AddValue(m.body, "nowhere"));
  CHECK(
      Verify(m.graph).message() ==
      "error: input 1 of node `n_z` (#2, Add) reads value `nowhere` (#5), which nothing computes");
}

TEST_CASE("Verify: a name is that of one value in its body") {
  GraphMaker m;
  m.Input("x");
  m.Node("Neg", {m.Input("a")}, "x");
  CHECK(Verify(m.graph).message() ==
        "error: value `x` (#2) shares its name with another value of its body");
  GraphMaker n;
  n.Node("Neg", {n.Input("a")}, "");
  CHECK(Verify(n.graph).message() == "error: value `` (#1) has no name");
}

TEST_CASE("Verify: what bodies list") {
  GraphMaker m;
  const ValueId x = m.Input("x");
  m.graph.mutable_body(m.body).inputs.push_back(x);
  CHECK(Verify(m.graph).message() == "error: value `x` (#0) is listed twice as input");
  m.graph.mutable_body(m.body).inputs.clear();
  CHECK(Verify(m.graph).message() == "error: value `x` (#0) is no listed input");

  GraphMaker n;
  const BodyId orphan = n.graph.AddBody(BodyKind::kSubgraph, n.body);
  n.graph.mutable_body(orphan).name = "orphan";
  CHECK(Verify(n.graph).message() == "error: body `orphan` (#1) has lost its node");

  GraphMaker k;
  k.Node("Neg", {k.Input("x")}, "y");
  k.graph.mutable_body(k.body).nodes.clear();
  CHECK(Verify(k.graph).message() == "error: 1 nodes are alive, bodies list 0");
}

// Random edits of a graph with subgraphs; keeps the readers of each value in a plain table of its
// own, so that use lists are compared with something else than themselves.
class Editor {
 public:
  explicit Editor(uint32_t seed) : random_(seed) {
    m_.Input("x0");
    for (int i = 0; i < 4; ++i) m_.Constant("w" + std::to_string(i), i);
    for (int i = 0; i < 20; ++i) AddNode();
    for (int i = 0; i < 3; ++i) m_.Output(AnyVisible(m_.graph.main(), kAnywhere));
  }

  void Step() {
    switch (random_() % 8) {
      case 0:
      case 1: return AddNode();
      case 2: return ChangeInput();
      case 3: return RemoveDead();
      case 4: return Redefine();
      case 5: return ReplaceUses();
      case 6: return AddSubgraph();
      case 7: return ChangeOutput();
    }
  }

  void Check() {
    const Status status = Verify(m_.graph);
    REQUIRE_MESSAGE(status.ok(), status.message());
    std::map<ValueId, std::set<std::pair<uint32_t, size_t>>> readers, listed;
    for (size_t i = 0; i < m_.graph.num_nodes(); ++i) {
      const NodeId n(i);
      for (size_t k = 0; m_.graph.alive(n) && k < m_.graph.num_inputs(n); ++k) {
        const ValueId v = m_.graph.input(n, k);
        if (v.valid()) readers[v].emplace(n.index, k);
      }
    }
    for (size_t i = 0; i < m_.graph.num_values(); ++i) {
      for (const UseId u : m_.graph.uses(ValueId(i))) {
        const User user = m_.graph.user(u);
        if (!user.is_output()) listed[ValueId(i)].emplace(user.node.index, user.index);
      }
    }
    REQUIRE(readers == listed);
  }

  size_t alive_nodes() const {
    size_t count = 0;
    for (size_t i = 0; i < m_.graph.num_nodes(); ++i) count += m_.graph.alive(NodeId(i));
    return count;
  }

 private:
  static constexpr uint32_t kAnywhere = 0xffffffffu;

  // A value that `body` sees and that something computes; of the nodes only those below `limit`, so
  // that no cycle arises (nodes only read from nodes of smaller numbers).
  ValueId AnyVisible(BodyId body, uint32_t limit) {
    const Graph& g = m_.graph;
    while (true) {
      const ValueId v(static_cast<size_t>(random_() % g.num_values()));
      const NodeId n = g.producer(v);
      const bool given = g.constant(v) || g.IsInput(v);
      if (!g.alive(v) || !g.Encloses(g.body_of(v), body) || !(n.valid() || given)) continue;
      if (n.valid() && Rank(n) >= limit) continue;
      return v;
    }
  }
  // Ranks grow along every edge. That of a node is its number, or that of the node whose value it
  // took over; in a subgraph, that of the outermost owner.
  uint32_t Rank(NodeId n) const {
    n = m_.graph.AncestorIn(m_.graph.main(), n);
    const auto it = rank_.find(n);
    return it == rank_.end() ? n.index : it->second;
  }

  NodeId AnyNode() {
    while (true) {
      const NodeId n(static_cast<size_t>(random_() % m_.graph.num_nodes()));
      if (m_.graph.alive(n)) return n;
    }
  }

  void AddNode() {
    std::vector<ValueId> inputs;
    for (int i = static_cast<int>(random_() % 3); i >= 0; --i) {
      inputs.push_back(random_() % 8 == 0 ? ValueId() : AnyVisible(m_.graph.main(), kAnywhere));
    }
    m_.Nodes("Op", inputs,
             {std::string(m_.graph.FreshName("v")), std::string(m_.graph.FreshName("v"))});
  }

  void AddSubgraph() {
    const ValueId read = AnyVisible(m_.graph.main(), kAnywhere);
    const BodyId branch = m_.Subgraph([&] {
      const ValueId t = m_.Node("Neg", {read}, std::string(m_.graph.FreshName("t")));
      const BodyId inner = m_.Subgraph([&] {
        m_.Output(m_.Node("Add", {t, read}, m_.graph.FreshName("u")));
      });
      m_.Output(m_.Node("If", {t}, m_.graph.FreshName("i"), {{"then_branch", inner}}));
    });
    m_.Node("If", {read}, m_.graph.FreshName("if"), {{"then_branch", branch}});
  }

  void ChangeInput() {
    const NodeId n = AnyNode();
    if (m_.graph.num_inputs(n) == 0 || m_.graph.body_of(n) != m_.graph.main()) return;
    const size_t i = random_() % m_.graph.num_inputs(n);
    m_.graph.SetInput(n, i, random_() % 6 == 0 ? ValueId() : AnyVisible(m_.graph.main(), Rank(n)));
  }

  void ChangeOutput() {
    m_.graph.SetOutput(m_.graph.main(), random_() % 3, AnyVisible(m_.graph.main(), kAnywhere));
  }

  void RemoveDead() {
    const NodeId n = AnyNode();
    if (!m_.graph.HasReaders(n)) m_.graph.RemoveNode(n);
  }

  // A value changes hands; its readers do not notice.
  void Redefine() {
    const NodeId n = AnyNode();
    if (m_.graph.body_of(n) != m_.graph.main() || m_.graph.num_outputs(n) == 0) return;
    const ValueId v = m_.graph.output(n, 0);
    if (!v.valid()) return;
    const ValueId input = AnyVisible(m_.graph.main(), Rank(n));
    const ValueId fresh = m_.Node("New", {input}, m_.graph.FreshName("new"));
    m_.graph.SetProducer(v, m_.graph.producer(fresh), 0);
    rank_[m_.graph.producer(v)] = Rank(n);
  }

  void ReplaceUses() {
    const ValueId from = AnyVisible(m_.graph.main(), kAnywhere);
    if (!m_.graph.producer(from).valid()) return;
    if (m_.graph.body_of(from) != m_.graph.main()) return;
    m_.graph.ReplaceUses(from, AnyVisible(m_.graph.main(), Rank(m_.graph.producer(from))));
  }

  std::mt19937 random_;
  GraphMaker m_;
  std::map<NodeId, uint32_t> rank_;
};

TEST_CASE("Verify: thousands of random edits break no invariant") {
  for (uint32_t seed = 1; seed <= 10; ++seed) {
    CAPTURE(seed);
    Editor editor(seed);
    for (int step = 0; step < 1000; ++step) {
      editor.Step();
      editor.Check();
    }
    CHECK(editor.alive_nodes() > 20);
  }
}

}  // namespace
}  // namespace qrewrite
