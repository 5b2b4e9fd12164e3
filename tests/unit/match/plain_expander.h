// Expander: writes a `match` out into plain patterns (plain_patterns.h).
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "tests/unit/match/plain_patterns.h"

namespace qrewrite::oracle {

class Expander {
 public:
  static constexpr size_t kMaxPlains = 600;
  static constexpr size_t kMaxInputs = 4, kMaxOutputs = 2;  // of the nodes that tests make

  // No chain is longer than `longest`.
  Expander(const RuleSet& rules, size_t longest) : rules_(rules), longest_(longest) {}

  // Empty if there are too many.
  Plains Match(const BodyText& body) {
    Plains all = Statements({Plain()}, body, {});
    return too_many_ ? Plains() : all;
  }
  bool too_many() const { return too_many_; }

 private:
  // Names of a definition's case and of one member of a list are apart from others; but what stands in front of no
  // dots, too, is the same in each member.
  struct Scope {
    std::string prefix, suffix;
    int stmt = -1;                       // -1: no place by which statements are connected
    std::set<std::string> outside = {};  // names in front of no dots
    std::string outer_suffix = {};       // theirs
    int outer_stmt = -1;
    std::string Key(const std::string& name) const {
      return prefix + name + (outside.contains(name) ? outer_suffix : suffix);
    }
  };

  template <class F>
  Plains ForAll(const Plains& plains, F next) {
    Plains out;
    for (const Plain& p : plains) {
      for (Plain& q : next(p)) out.push_back(std::move(q));
      if (out.size() > kMaxPlains) too_many_ = true;
      if (too_many_) return {};
    }
    return out;
  }

  // --- building blocks

  static int AddVertex(Plain& p, PlainVertex vertex) {
    p.vertices.push_back(std::move(vertex));
    return static_cast<int>(p.vertices.size()) - 1;
  }
  static int AddValue(Plain& p, int node, PlainEdge::Kind kind, size_t index) {
    const int v = AddVertex(p, {});
    p.edges.push_back({.kind = kind, .from = node, .to = v, .index = index, .name = ""});
    return v;
  }
  static void Same(Plain& p, int a, int b) {
    if (a != b) p.edges.push_back({.kind = PlainEdge::Kind::kSame, .from = a, .to = b});
  }
  static void Bind(Plain& p, const std::string& name, int vertex, const Scope& s, bool made) {
    if (name == "_") return;
    Plain::Name& known = p.names[s.Key(name)];
    if (known.vertex < 0) known.vertex = vertex;
    Same(p, known.vertex, vertex);
    const int stmt = s.outside.contains(name) ? s.outer_stmt : s.stmt;
    if (stmt >= 0) p.occurrences.push_back({s.Key(name), stmt, made, vertex});
  }
  static void BindAbsent(Plain& p, const std::string& name, const Scope& s) {
    if (name == "_" || name.empty()) return;
    p.names[s.Key(name)].absent = true;
    p.absences.push_back({s.Key(name), s.stmt, false});
    p.features.insert("absent");
  }
  static bool BindList(Plain& p, const std::string& name, const std::vector<int>& list,
                       const Scope& s, bool made) {
    const std::string key = s.Key(name);
    for (size_t i = 0; s.stmt >= 0 && i < list.size(); ++i) {
      if (list[i] < 0) continue;
      p.occurrences.push_back({key + "[" + std::to_string(i) + "]", s.stmt, made, list[i]});
    }
    Plain::Name& known = p.names[key];
    if (known.is_list) {
      if (known.list.size() != list.size()) return false;
      p.features.insert("list again");
      for (size_t i = 0; i < list.size(); ++i) {
        if ((known.list[i] < 0) != (list[i] < 0)) return false;
        if (list[i] >= 0) Same(p, known.list[i], list[i]);
      }
      return true;
    }
    known.is_list = true;
    known.list = list;
    p.features.insert("list");
    return true;
  }
  static bool Is(const Expr& e, const char* name) {
    return e.kind == Expr::Kind::kName && e.text == name;
  }

  // --- statements

  Plains Statements(Plains plains, const BodyText& body, Scope s) {
    const bool outer = s.prefix.empty();
    s.outside = NamesOutside(body);
    s.outer_suffix = s.suffix;
    for (size_t k = 0; k < body.stmts.size(); ++k) {
      if (outer) s.stmt = s.outer_stmt = static_cast<int>(k);
      plains = ForAll(plains, [&](const Plain& p) { return Statement(p, body.stmts[k], s); });
    }
    return plains;
  }

  Plains Statement(Plain p, const Stmt& stmt, const Scope& s) {
    const Expr& call = *stmt.value.value;
    if (call.call().quantifier != Quantifier::kOne ||
        call.call().refs[0].kind == Ref::Kind::kDefinition) {
      const int v = AddVertex(p, {});
      Bind(p, stmt.outs[0].name, v, s, true);
      return Value(p, call, v, s);
    }
    const int n = AddVertex(p, {.sort = PlainVertex::Sort::kNode, .call = &call});
    return ForAll(Outs(p, stmt.outs, 0, n, 0, s),
                  [&](const Plain& q) { return Node(q, call, n, s); });
  }

  // outs[i..) against outputs from `at` on.
  Plains Outs(const Plain& p, const OutArgs& outs, size_t i, int n, size_t at, const Scope& s) {
    if (i == outs.size()) return {p};
    const OutArg& out = outs[i];
    const auto then = [&](const Plain& q, size_t next) { return Outs(q, outs, i + 1, n, next, s); };
    Plains all;
    if (out.repeated && out.name == "_" && i + 1 == outs.size()) {
      Plain q = p;
      q.vertices[n].free_outputs_from = at;
      return {q};
    }
    for (size_t count = 0; out.repeated && at + count <= kMaxOutputs; ++count) {
      Plain q = p;
      std::vector<int> list;
      for (size_t k = at; k < at + count; ++k) {
        q.vertices[n].free_outputs.insert(k);
        if (out.name != "_") list.push_back(AddValue(q, n, PlainEdge::Kind::kOutput, k));
      }
      if (out.name != "_") {
        q.vertices[n].num_outputs = static_cast<int>(at + count);
        if (!BindList(q, out.name, list, s, true)) continue;
      }
      for (Plain& r : then(q, at + count)) all.push_back(r);
    }
    if (out.repeated) return all;
    Plain q = p;
    q.vertices[n].free_outputs.insert(at);
    if (out.name == "_") return then(q, at + 1);
    Bind(q, out.name, AddValue(q, n, PlainEdge::Kind::kOutput, at), s, true);
    all = then(q, at + 1);
    if (!out.optional) return all;
    q = p;
    q.vertices[n].missing_outputs.insert(at);
    BindAbsent(q, out.name, s);
    for (Plain& r : then(q, at + 1)) all.push_back(r);
    return all;
  }

  // --- the value `v` against an argument

  Plains Value(Plain p, const Expr& e, int v, const Scope& s) {
    if (e.kind == Expr::Kind::kName) {
      Bind(p, e.text, v, s, false);
      return {p};
    }
    if (e.kind != Expr::Kind::kCall) {
      p.vertices[v].literal = &e;
      p.features.insert("literal");
      return {p};
    }
    if (e.call().quantifier == Quantifier::kStar || e.call().quantifier == Quantifier::kPlus) {
      return Chain(p, e, v, s);
    }
    Plains all =
        e.call().refs[0].kind == Ref::Kind::kDefinition ? Definition(p, e, v, s) : Op(p, e, v, s);
    if (e.call().quantifier == Quantifier::kOptional) {
      for (Plain& q : Skip(p, e, v, s)) all.push_back(std::move(q));
    }
    return all;
  }

  Plains Op(Plain p, const Expr& e, int v, const Scope& s) {
    const int n = AddVertex(p, {.sort = PlainVertex::Sort::kNode, .call = &e, .free_outputs = {0}});
    p.edges.push_back({.kind = PlainEdge::Kind::kOutput, .from = n, .to = v});
    return Node(p, e, n, s);
  }

  Plains Skip(const Plain& p, const Expr& e, int v, const Scope& s) {
    std::set<std::string> absent;
    for (size_t i = 1; i < e.call().args.size(); ++i) NamesOf(*e.call().args[i].value, absent);
    if (!e.call().label.empty()) absent.insert(e.call().label);
    for (const AttrArg& a : e.call().attrs) {
      if (!a.value || a.rest) absent.insert(a.name);
      if (a.value && a.value->kind == Expr::Kind::kName) absent.insert(a.value->text);
    }
    std::set<std::string> there;
    NamesOf(*e.call().args[0].value, there);
    for (const std::string& name : there) absent.erase(name);
    return ForAll(Value(p, *e.call().args[0].value, v, s), [&](Plain q) {
      for (const std::string& name : absent) BindAbsent(q, name, s);
      q.features.insert("skipped step");
      return Plains{q};
    });
  }

  Plains Chain(const Plain& p, const Expr& e, int end, const Scope& s) {
    Plains all;
    Plain q = p;
    std::vector<int> nodes;
    int at = end;
    for (size_t length = 0; length <= longest_; ++length) {
      if (length > 0 || e.call().quantifier == Quantifier::kStar) {
        Plain r = q;
        if (!e.call().label.empty()) {
          r.labels[s.Key(e.call().label)] = {nodes.rbegin(), nodes.rend()};
          r.chains.insert(s.Key(e.call().label));
        }
        if (length > 1) r.features.insert("chain");
        for (Plain& done : Value(r, *e.call().args[0].value, at, s)) all.push_back(std::move(done));
      }
      PlainVertex node{.sort = PlainVertex::Sort::kNode, .call = &e, .free_outputs = {0}};
      for (const AttrArg& a : e.call().attrs) {
        node.any_attrs |= a.rest;
        node.free_attrs.insert(a.name);
      }
      const int n = AddVertex(q, node);
      nodes.push_back(n);
      q.edges.push_back({.kind = PlainEdge::Kind::kOutput, .from = n, .to = at});
      at = AddValue(q, n, PlainEdge::Kind::kInput, 0);
      for (size_t i = 1; i < e.call().args.size(); ++i) {  // `_` or `_...`
        if (e.call().args[i].repeated) {
          q.vertices[n].free_inputs_from = i;
        } else {
          AddValue(q, n, PlainEdge::Kind::kInput, i);
        }
      }
    }
    return all;
  }

  Plains Definition(const Plain& p, const Expr& e, int v, const Scope& s) {
    const qrewrite::Definition& d = *rules_.FindDefinition(e.call().refs[0].name);
    Plains all;
    for (const Case& c : d.cases) {
      Scope inner{.prefix = "$" + std::to_string(++calls_) + ".", .suffix = s.suffix};
      Plain q = p;
      q.features.insert("definition");
      Bind(q, d.head.outs[0].name, v, inner, false);
      Plains found = Statements({q}, *c.match, inner);
      for (size_t i = 0; i < e.call().args.size(); ++i) {
        found = ForAll(found, [&](const Plain& r) {
          return Argument(r, e.call().args[i], r.names.at(inner.Key(d.head.params[i])), s);
        });
      }
      all.insert(all.end(), found.begin(), found.end());
    }
    return all;
  }

  // An argument of a definition against what its parameter is.
  Plains Argument(Plain p, const Arg& arg, const Plain::Name& given, const Scope& s) {
    if (!given.absent) return Value(p, *arg.value, given.vertex, s);
    if (arg.value->kind != Expr::Kind::kName && !arg.optional) return {};
    std::set<std::string> names;
    NamesOf(*arg.value, names);
    for (const std::string& name : names) BindAbsent(p, name, s);
    return {p};
  }

  // --- attributes and inputs of the node `n`

  Plains Node(Plain p, const Expr& e, int n, const Scope& s) {
    if (!e.call().label.empty()) p.labels[s.Key(e.call().label)] = {n}, p.features.insert("label");
    Plains plains = {p};
    for (const AttrArg& a : e.call().attrs) {
      plains = ForAll(plains, [&](const Plain& q) { return Attr(q, a, n, s); });
    }
    return ForAll(plains, [&](const Plain& q) { return Inputs(q, e, n, s); });
  }

  Plains Attr(Plain p, const AttrArg& a, int n, const Scope& s) {
    PlainVertex& node = p.vertices[n];
    if (a.rest) {
      node.any_attrs = true;
      if (a.name == "_") return {p};
      p.labels[s.Key(a.name)] = {n};
      p.rests.insert(s.Key(a.name));
      return {p};
    }
    node.free_attrs.insert(a.name);
    if (a.value && Is(*a.value, "_")) return {p};
    if (a.value && a.value->kind != Expr::Kind::kName) {
      node.equal_attrs[a.name] = a.value.get();
      return {p};
    }
    const std::string& name = a.value ? a.value->text : a.name;
    Plain q = p;
    const int v = AddVertex(q, {.sort = PlainVertex::Sort::kAttribute});
    q.edges.push_back(
        {.kind = PlainEdge::Kind::kAttribute, .from = n, .to = v, .index = 0, .name = a.name});
    Scope unconnected = s;
    unconnected.stmt = unconnected.outer_stmt = -1;
    Bind(q, name, v, unconnected, false);
    q.features.insert("attribute");
    if (!a.optional) return {q};
    p.vertices[n].absent_attrs.insert(a.name);
    BindAbsent(p, name, unconnected);
    return {q, p};
  }

  Plains Inputs(const Plain& p, const Expr& e, int n, const Scope& s) {
    std::vector<const Arg*> args;
    for (const Arg& a : e.call().args) args.push_back(&a);
    Plains all = Args(p, e, args, 0, n, 0, s);
    if (args.size() != 2 || args[0]->repeated || args[1]->repeated) return all;
    Plain q = p;
    q.vertices[n].swapped = true;
    for (Plain& r : Args(q, e, {args[1], args[0]}, 0, n, 0, s)) all.push_back(std::move(r));
    return all;
  }

  // args[i..) against inputs from `at` on.
  Plains Args(const Plain& p, const Expr& e, const std::vector<const Arg*>& args, size_t i, int n,
              size_t at, const Scope& s) {
    if (i == args.size()) return {p};
    const Arg& arg = *args[i];
    const auto then = [&](const Plain& q, size_t next) {
      return Args(q, e, args, i + 1, n, next, s);
    };
    if (arg.label_kind == Arg::Label::kInput) {
      const OpName op = SplitOpName(e.call().refs[0].name);
      at = static_cast<size_t>(rules_.signatures.Newest(op.domain, op.name)->InputIndex(arg.label));
    }
    if (arg.value->kind == Expr::Kind::kAbsent) return then(p, at + 1);
    if (arg.repeated) {
      if (Is(*arg.value, "_") && i + 1 == args.size()) {
        Plain q = p;
        q.vertices[n].free_inputs_from = at;
        return {q};
      }
      Plains all;
      const size_t width =
          arg.value->kind == Expr::Kind::kGroup ? arg.value->call().args.size() : 1;
      for (size_t count = 0; at + count * width <= kMaxInputs; ++count) {
        for (const Plain& q : Members(p, *arg.value, count, width, n, at, s)) {
          for (Plain& r : then(q, at + count * width)) all.push_back(std::move(r));
        }
      }
      return all;
    }
    Plain q = p;
    const int v = AddValue(q, n, PlainEdge::Kind::kInput, at);
    Plains all =
        ForAll(Value(q, *arg.value, v, s), [&](const Plain& r) { return then(r, at + 1); });
    if (!arg.optional) return all;
    q = p;
    std::set<std::string> names;
    NamesOf(*arg.value, names);
    for (const std::string& name : names) BindAbsent(q, name, s);
    for (Plain& r : then(q, at + 1)) all.push_back(std::move(r));
    return all;
  }

  // `count` members of a repeated argument; names that stand in front of dots alone become lists.
  Plains Members(const Plain& p, const Expr& e, size_t count, size_t width, int n, size_t at,
                 const Scope& s) {
    if (Is(e, "_")) {
      Plain q = p;
      for (size_t k = 0; k < count; ++k) q.vertices[n].free_inputs.insert(at + k);
      return {q};
    }
    std::set<std::string> names;
    NamesOf(e, names);
    const auto outside = [&](const std::string& name) { return s.outside.contains(name); };
    const bool shares = std::erase_if(names, outside) > 0;
    if (shares && count == 0) return Plains();  // nothing says what it is
    const auto member = [&](size_t k) {
      Scope inner = s;
      inner.suffix += "#" + std::to_string(k);
      inner.stmt = -1;
      return inner;
    };
    Plains plains = {p};
    for (size_t k = 0; k < count; ++k) {
      for (size_t w = 0; w < width; ++w) {
        const Expr& one = e.kind == Expr::Kind::kGroup ? *e.call().args[w].value : e;
        plains = ForAll(plains, [&](Plain q) {
          const int v = AddValue(q, n, PlainEdge::Kind::kInput, at + k * width + w);
          return Value(q, one, v, member(k));
        });
      }
    }
    return ForAll(plains, [&](Plain q) {
      if (shares && count > 1) q.features.insert("same in members");
      for (const std::string& name : names) {
        std::vector<int> list;
        for (size_t k = 0; k < count; ++k) {
          list.push_back(q.names[member(k).Key(name)].vertex);
          q.names.erase(member(k).Key(name));
        }
        if (!BindList(q, name, list, s, false)) return Plains();
      }
      return Plains{q};
    });
  }

  const RuleSet& rules_;
  size_t longest_;
  int calls_ = 0;
  bool too_many_ = false;
};

}  // namespace qrewrite::oracle
