#include "engine/graph/bgl.h"

#include <map>
#include <sstream>

#include <doctest/doctest.h>
#include <boost/concept_check.hpp>
#include <boost/graph/graph_concepts.hpp>
#include <boost/graph/graphviz.hpp>
#include <boost/graph/isomorphism.hpp>
#include <boost/graph/topological_sort.hpp>

#include "tests/support/graph_maker.h"

namespace qrewrite {
namespace {

BOOST_CONCEPT_ASSERT((boost::BidirectionalGraphConcept<BodyLinks>));
BOOST_CONCEPT_ASSERT((boost::BidirectionalGraphConcept<BodyView>));
BOOST_CONCEPT_ASSERT((boost::AdjacencyGraphConcept<BodyView>));
BOOST_CONCEPT_ASSERT((boost::VertexListGraphConcept<BodyView>));
BOOST_CONCEPT_ASSERT((boost::EdgeListGraphConcept<BodyView>));
BOOST_CONCEPT_ASSERT(
    (boost::ReadablePropertyGraphConcept<BodyView, NodeId, boost::vertex_index_t>));
BOOST_CONCEPT_ASSERT((boost::ReadablePropertyGraphConcept<BodyView, NodeId, boost::vertex_name_t>));

// x -> a -> b -> y, a -> y twice; `a` is read by the branch of `z` as well. One node was removed.
struct Diamond : GraphMaker {
  ValueId a, b, y, z;
  BodyId branch;
  Diamond() {
    const ValueId x = Input("x");
    const ValueId gone = Node("Neg", {x}, "gone");
    a = Node("Relu", {x}, "a");
    b = Node("Neg", {a}, "b");
    y = Nodes("Sum", {a, b, x, a}, {"y", "y2"})[0];
    branch = Subgraph([&] { Output(Node("Add", {a, b}, "t")); });
    z = Node("If", {x}, "z", {{"then_branch", branch}});
    Output(y);
    Output(z);
    graph.RemoveNode(Producer(gone));
  }
  std::string Edges(auto range) const {
    std::string text;
    for (auto it = range.first; it != range.second; ++it) {
      text += (text.empty() ? "" : " ") + Names({(*it).from}) + ">" + Names({(*it).to});
    }
    return text;
  }
};

TEST_CASE("BodyView: vertices, edges and degrees") {
  const Diamond d;
  const BodyView view(d.graph, d.graph.main());
  CHECK(num_vertices(view) == 4);
  CHECK(d.Names(view.nodes()) == "a b y z");
  CHECK(d.Edges(out_edges(d.Producer(d.a), view)) == "a>b a>y a>y a>z");
  CHECK(d.Edges(in_edges(d.Producer(d.y), view)) == "a>y b>y a>y");
  CHECK(d.Edges(in_edges(d.Producer(d.z), view)) == "a>z b>z");
  CHECK(d.Edges(in_edges(d.Producer(d.a), view)).empty());
  CHECK(d.Edges(edges(view)) == "a>b a>y a>y a>z b>y b>z");
  CHECK(num_edges(view) == 6);
  CHECK(out_degree(d.Producer(d.a), view) == 4);
  CHECK(in_degree(d.Producer(d.y), view) == 3);
  CHECK(degree(d.Producer(d.b), view) == 3);
  for (size_t i = 0; i < view.nodes().size(); ++i) {
    CHECK(get(boost::vertex_index, view, view.nodes()[i]) == i);
  }
  CHECK(get(boost::vertex_name, view, d.Producer(d.a)) == "Relu");
}

TEST_CASE("BodyView: a subgraph is a graph of its own, captures stay outside") {
  const Diamond d;
  const BodyView view(d.graph, d.branch);
  CHECK(num_vertices(view) == 1);
  CHECK(num_edges(view) == 0);
  CHECK(d.Names(view.nodes()) == "t");
}

TEST_CASE("BodyView: an empty body") {
  const GraphMaker m;
  const BodyView view(m.graph, m.graph.main());
  CHECK(num_vertices(view) == 0);
  CHECK(num_edges(view) == 0);
}

TEST_CASE("BodyView: stock topological_sort") {
  const Diamond d;
  const BodyView view(d.graph, d.graph.main());
  std::vector<NodeId> order;
  boost::topological_sort(view, std::back_inserter(order));
  std::reverse(order.begin(), order.end());
  REQUIRE(order.size() == 4);
  std::map<NodeId, size_t> place;
  for (size_t i = 0; i < order.size(); ++i) place[order[i]] = i;
  for (auto [it, end] = edges(view); it != end; ++it) CHECK(place[(*it).from] < place[(*it).to]);
}

bool Isomorphic(const GraphMaker& a, const GraphMaker& b) {
  const BodyView left(a.graph, a.graph.main()), right(b.graph, b.graph.main());
  return boost::isomorphism(left, right);
}

TEST_CASE("BodyView: stock isomorphism") {
  const auto make = [](bool swapped, bool longer) {
    GraphMaker m;
    const ValueId x = m.Input("x");
    ValueId a, b;
    if (swapped) {
      b = m.Node("Relu", {x}, "b");
      a = m.Node("Neg", {x}, "a");
    } else {
      a = m.Node("Neg", {x}, "a");
      b = m.Node("Relu", {x}, "b");
    }
    if (longer) b = m.Node("Neg", {a}, "c");
    m.Output(m.Node("Add", {a, b}, "y"));
    return m;
  };
  CHECK(Isomorphic(make(false, false), make(true, false)));
  CHECK(Isomorphic(make(false, true), make(true, true)));
  CHECK(!Isomorphic(make(false, false), make(false, true)));
}

TEST_CASE("DependsOn: through nodes and subgraphs, itself included") {
  const Diamond d;
  const auto depends = [&](ValueId from, ValueId target) {
    return DependsOn(d.graph, d.graph.main(), {d.Producer(from)}, {d.Producer(target)});
  };
  CHECK(depends(d.y, d.a));
  CHECK(depends(d.z, d.b));
  CHECK(depends(d.b, d.b));
  CHECK(!depends(d.a, d.b));
  CHECK(!depends(d.y, d.z));
  CHECK(!DependsOn(d.graph, d.graph.main(), {}, {d.Producer(d.a)}));
  CHECK(!DependsOn(d.graph, d.graph.main(), {d.Producer(d.a), NodeId()}, {NodeId()}));
  CHECK(DependsOn(d.graph, d.graph.main(), {d.Producer(d.a), d.Producer(d.z)},
                  {d.Producer(d.y), d.Producer(d.b)}));
}

TEST_CASE("DependsOn: a search at the top of a long chain stays there") {
  GraphMaker m;
  ValueId v = m.Input("x");
  const ValueId first = m.Node("Neg", {v}, "first");
  v = first;
  for (int i = 0; i < 200000; ++i) v = m.Node("Neg", {v}, "v");
  for (int i = 0; i < 100000; ++i) {
    CHECK_FALSE(DependsOn(m.graph, m.body, {m.Producer(first)}, {m.Producer(v)}));
  }
  CHECK(DependsOn(m.graph, m.body, {m.Producer(v)}, {m.Producer(first)}));
}

}  // namespace
}  // namespace qrewrite
