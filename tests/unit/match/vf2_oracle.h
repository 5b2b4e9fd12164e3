// All matches of plain patterns in a model, found by boost::vf2_subgraph_mono.
//
// The model as a labelled graph: vertices are values, nodes and attributes, edges say who reads,
// makes and has what. VF2 maps the vertices of a pattern to different vertices, but two places of a
// pattern may be the same thing of the model: so each thing is there once for each place that it
// could be. Constants of equal content count as the same value.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <boost/graph/adjacency_list.hpp>
#include <boost/graph/vf2_sub_graph_iso.hpp>

#include "engine/graph/graph.h"
#include "tests/unit/match/plain_patterns.h"

namespace qrewrite::oracle {

using Bindings = std::map<std::string, std::string>;  // name -> what it is, as text

// What the language leaves open makes a match possible, not certain: whether a constant that a
// statement makes connects it.
struct Matches {
  std::set<Bindings> certain, possible;
  std::set<std::string> features;  // that certain matches have
};

class ModelGraph {
 public:
  explicit ModelGraph(const Graph& g) : g_(g) {}

  // The content of a constant. Tests fold nothing but Constant and Neg.
  std::optional<std::vector<double>> Content(ValueId v) const {
    if (const Tensor* t = g_.constant(v)) return *ToDoubles(*t);
    const NodeId n = g_.producer(v);
    if (!n.valid()) return std::nullopt;
    if (Op(n) == "Constant") return *ToDoubles(*g_.attributes(n).TensorValue("value"));
    if (Op(n) != "Neg") return std::nullopt;
    auto content = Content(g_.input(n, 0));
    if (content) {
      for (double& d : *content) d = -d;
    }
    return content;
  }
  std::string Text(ValueId v) const {
    const auto content = Content(v);
    return content ? fmt::format("constant {}", fmt::join(*content, " "))
                   : "value " + std::string(g_.name(v));
  }

  void Add(const Plain& p, Matches& matches) const;

 private:
  struct Thing {
    ValueId value;
    NodeId node;  // of an attribute: whose it is
    std::string name, text;
  };
  using Labelled = boost::adjacency_list<boost::setS, boost::vecS, boost::bidirectionalS, int, int>;

  std::string Op(NodeId n) const { return g_.op_name(g_.op(n)).text(); }
  size_t Uses(ValueId v) const { return g_.num_uses(v); }

  // An attribute of a node as text, "" if there is none. Defaults are those of the test's operators.
  std::string Attr(NodeId n, const std::string& name) const {
    if (const AttrValue* value = g_.attributes(n).Find(name)) {
      if (const auto* i = std::get_if<int64_t>(value)) return std::to_string(*i);
      if (const auto* f = std::get_if<float>(value)) return std::to_string(*f);
      if (const auto* s = std::get_if<std::string>(value)) return "'" + *s + "'";
      return "other";
    }
    return Default(n, name);
  }
  std::string Default(NodeId n, const std::string& name) const {
    if (Op(n) == "acme.Gain" && name == "axis") return "1";
    if (Op(n) == "acme.Mix" && name == "alpha") return std::to_string(1.0F);
    return "";
  }

  bool LiteralFits(const Expr& literal, ValueId v) const {
    const auto content = Content(v);
    const double wanted = literal.kind == Expr::Kind::kFloat
                              ? literal.float_value
                              : static_cast<double>(literal.int_value);
    return content &&
           std::all_of(content->begin(), content->end(), [&](double d) { return d == wanted; });
  }
  bool OperatorFits(const PlainVertex& p, NodeId n) const {
    const bool named =
        std::any_of(p.call->call().refs.begin(), p.call->call().refs.end(), [&](const Ref& ref) {
          if (ref.kind == Ref::Kind::kSet) return Op(n) == "Relu" || Op(n) == "Neg";  // @unary
          return ref.name == Op(n);
        });
    return named != p.call->call().negated && (!p.swapped || Op(n) == "Add" || Op(n) == "Mul");
  }
  bool NodeFits(const Plain& plain, int index, NodeId n) const {
    const PlainVertex& p = plain.vertices[index];
    if (!OperatorFits(p, n)) return false;
    std::set<size_t> read = p.free_inputs, made = p.free_outputs;
    for (const PlainEdge& e : plain.edges) {
      if (e.from == index && e.kind == PlainEdge::Kind::kInput) read.insert(e.index);
    }
    for (size_t i = 0; i < g_.num_inputs(n); ++i) {
      if (g_.input(n, i).valid() && i < p.free_inputs_from && !read.contains(i)) return false;
    }
    for (size_t i = 0; i < g_.num_outputs(n); ++i) {
      const bool there = g_.output(n, i).valid();
      if (there && p.missing_outputs.contains(i)) return false;
      if (there && i < p.free_outputs_from && !made.contains(i) && Uses(g_.output(n, i)) > 0) {
        return false;
      }
    }
    if (p.num_outputs >= 0 && static_cast<int>(g_.num_outputs(n)) != p.num_outputs) return false;
    for (const Attribute& a : g_.attributes(n)) {
      const bool free = p.any_attrs || p.free_attrs.contains(a.name);
      if (!free && Attr(n, a.name) != Default(n, a.name)) return false;
    }
    for (const std::string& name : p.absent_attrs) {
      if (!Attr(n, name).empty()) return false;
    }
    return std::all_of(p.equal_attrs.begin(), p.equal_attrs.end(), [&](const auto& a) {
      return Attr(n, a.first) == std::to_string(a.second->int_value);  // tests compare integers
    });
  }

  std::vector<Thing> Candidates(const Plain& p, int index) const {
    std::vector<Thing> things;
    const PlainVertex& vertex = p.vertices[index];
    for (size_t i = 0; i < g_.num_values() && vertex.sort == PlainVertex::Sort::kValue; ++i) {
      const ValueId v(i);
      if (!g_.alive(v) || (vertex.literal != nullptr && !LiteralFits(*vertex.literal, v))) continue;
      things.push_back({.value = v, .node = {}, .name = "", .text = Text(v)});
    }
    for (size_t i = 0; i < g_.num_nodes() && vertex.sort != PlainVertex::Sort::kValue; ++i) {
      const NodeId n(i);
      if (!g_.alive(n)) continue;
      if (vertex.sort == PlainVertex::Sort::kNode) {
        if (NodeFits(p, index, n))
          things.push_back({.value = {}, .node = n, .name = "", .text = ""});
        continue;
      }
      for (const char* name : {"axis", "alpha", "unit"}) {
        if (Attr(n, name).empty()) continue;
        things.push_back({.value = {}, .node = n, .name = name, .text = Attr(n, name)});
      }
    }
    return things;
  }

  bool Joined(const PlainEdge& e, const Thing& from, const Thing& to) const {
    switch (e.kind) {
      case PlainEdge::Kind::kSame: return from.text == to.text;
      case PlainEdge::Kind::kAttribute: return from.node == to.node && to.name == e.name;
      case PlainEdge::Kind::kInput:
        return e.index < g_.num_inputs(from.node) && g_.input(from.node, e.index) == to.value;
      case PlainEdge::Kind::kOutput:
        return e.index < g_.num_outputs(from.node) && g_.output(from.node, e.index) == to.value;
    }
    return false;
  }

  void Report(const Plain& p, const std::vector<const Thing*>& at, Matches& matches) const;
  bool Connected(const Plain& p, const std::vector<const Thing*>& at, bool perhaps) const;

  const Graph& g_;
};

inline void ModelGraph::Add(const Plain& p, Matches& matches) const {
  Labelled small(p.vertices.size()), large;
  std::vector<Thing> things;  // vertices of `large`
  std::vector<std::pair<size_t, size_t>> range;
  for (size_t i = 0; i < p.vertices.size(); ++i) {
    small[i] = static_cast<int>(i);
    const size_t begin = things.size();
    for (Thing& t : Candidates(p, static_cast<int>(i))) {
      things.push_back(std::move(t));
      boost::add_vertex(static_cast<int>(i), large);
    }
    if (things.size() == begin) return;
    range.emplace_back(begin, things.size());
  }
  for (size_t k = 0; k < p.edges.size(); ++k) {
    const PlainEdge& e = p.edges[k];
    const int label = static_cast<int>(e.kind);
    boost::add_edge(e.from, e.to, label, small);
    bool any = false;
    for (size_t a = range[e.from].first; a < range[e.from].second; ++a) {
      for (size_t b = range[e.to].first; b < range[e.to].second; ++b) {
        if (Joined(e, things[a], things[b])) boost::add_edge(a, b, label, large), any = true;
      }
    }
    if (!any) return;
  }
  const auto found = [&](const auto& to_large, const auto&) {
    std::vector<const Thing*> at;
    for (size_t i = 0; i < p.vertices.size(); ++i) at.push_back(&things[get(to_large, i)]);
    Report(p, at, matches);
    return true;  // go on
  };
  boost::vf2_subgraph_mono(
      small, large, found, get(boost::vertex_index, small), get(boost::vertex_index, large),
      boost::vertex_order_by_mult(small), [&](auto a, auto b) { return small[a] == large[b]; },
      [&](auto a, auto b) { return small[a] == large[b]; });
}

// Statements are one pattern if they share values that are no constants. `perhaps`: or a constant
// that one of them makes.
inline bool ModelGraph::Connected(const Plain& p, const std::vector<const Thing*>& at,
                                  bool perhaps) const {
  std::map<int, int> group;
  for (const auto& o : p.occurrences) group[o.stmt] = o.stmt;
  for (const auto& a : p.occurrences) {
    for (const auto& b : p.occurrences) {
      if (a.name != b.name) continue;
      const Thing& shared = *at[a.vertex];
      if (Content(shared.value) && !(perhaps && (a.made || b.made))) continue;
      const int from = group[a.stmt], to = group[b.stmt];
      for (auto& [stmt, of] : group) of = of == from ? to : of;
    }
  }
  return std::all_of(group.begin(), group.end(),
                     [&](const auto& g) { return g.second == group.begin()->second; });
}

inline void ModelGraph::Report(const Plain& p, const std::vector<const Thing*>& at,
                               Matches& matches) const {
  if (!Connected(p, at, true)) return;
  const bool certain = Connected(p, at, false);
  std::set<std::string> features = p.features;
  Bindings bindings;
  for (const auto& [key, name] : p.names) {
    if (key.find_first_of("$#") != std::string::npos) continue;
    const bool there = name.vertex >= 0 || name.is_list || p.labels.contains(key);
    if (there && name.absent) return;  // what is absent in one place is so in all
    std::string& text = bindings[key];
    if (name.vertex >= 0) text = at[name.vertex]->text;
    if (name.vertex < 0 && !name.is_list) text = "absent";
    if (!name.is_list) continue;
    std::vector<std::string> members;
    for (const int v : name.list) members.push_back(v < 0 ? "absent" : at[v]->text);
    text = fmt::format("[{}]", fmt::join(members, ", "));
  }
  for (const auto& [key, nodes] : p.labels) {
    std::vector<uint32_t> ids;
    for (const int n : nodes) ids.push_back(at[n]->node.index);
    const char* kind = p.chains.contains(key) ? "chain" : p.rests.contains(key) ? "rest" : "node";
    bindings[key] = fmt::format("{} {}", kind, fmt::join(ids, " "));
  }
  for (const Thing* t : at) {
    if (t->node.valid() && g_.body_of(t->node) != g_.main()) features.insert("body");
  }
  // Two statements with two names in common, of which one is no way to the other.
  std::map<std::pair<int, int>, std::pair<bool, bool>> common;  // open, closed
  std::map<std::pair<int, int>, bool> lists_alone;
  const auto count = [&](const auto& places, bool absent) {
    for (const auto& a : places) {
      for (const auto& b : places) {
        if (a.name != b.name || a.stmt < 0 || a.stmt >= b.stmt) continue;
        const bool closed = absent || Content(at[a.vertex]->value).has_value();
        (closed ? common[{a.stmt, b.stmt}].second : common[{a.stmt, b.stmt}].first) = true;
        lists_alone.try_emplace({a.stmt, b.stmt}, true).first->second &= a.name.ends_with("]");
        if (closed) features.insert(absent ? "absent shared" : "constant shared");
      }
    }
  };
  count(p.occurrences, false);
  count(p.absences, true);
  for (const auto& [stmts, alone] : lists_alone) {
    if (alone) features.insert("list connects");
  }
  for (const auto& [stmts, ways] : common) {
    if (ways.first && ways.second) features.insert("one of two ways");
  }
  matches.possible.insert(bindings);
  if (!certain) return;
  matches.certain.insert(bindings);
  matches.features.insert(features.begin(), features.end());
}

}  // namespace qrewrite::oracle
