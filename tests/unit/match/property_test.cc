// The matcher against a naive one, written straight from the meaning of the language: all choices,
// no order, no plan. On random graphs both must find the same set of matches.
#include <map>
#include <random>
#include <set>

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "engine/match/interpreter.h"
#include "tests/support/rule_run.h"

namespace qrewrite {
namespace {

using Bindings = std::map<std::string, ValueId>;
const ValueId kAbsent;

void Names(const Expr& e, std::set<std::string>& names) {
  if (e.kind == Expr::Kind::kName && e.text != "_") names.insert(e.text);
  for (const Arg& a : e.call().args) Names(*a.value, names);
}

// Every way in which `v` fits the pattern `e`.
std::vector<Bindings> Naive(const Graph& g, const Expr& e, ValueId v, const Bindings& b) {
  if (e.kind == Expr::Kind::kName) {
    if (e.text == "_") return {b};
    const auto it = b.find(e.text);
    if (it != b.end()) return it->second == v ? std::vector<Bindings>{b} : std::vector<Bindings>{};
    Bindings more = b;
    more[e.text] = v;
    return {more};
  }
  std::vector<Bindings> out;
  const auto is_op = [&](NodeId n) {
    if (!n.valid()) return false;
    const std::string& name = g.op_name(g.op(n)).name;
    return std::any_of(e.call().refs.begin(), e.call().refs.end(),
                       [&](const Ref& r) { return r.name == name; });
  };
  if (e.call().quantifier == Quantifier::kStar) {
    for (ValueId at = v;; at = g.input(g.producer(at), 0)) {
      for (Bindings& found : Naive(g, *e.call().args[0].value, at, b)) out.push_back(found);
      if (!is_op(g.producer(at)) || g.num_inputs(g.producer(at)) != 1) return out;
    }
  }
  if (const NodeId n = g.producer(v); is_op(n) && g.num_inputs(n) == e.call().args.size()) {
    std::vector<std::vector<size_t>> orders = {{0, 1}};
    if (g.op_name(g.op(n)).name == "Add") orders.push_back({1, 0});
    for (const auto& order : orders) {
      std::vector<Bindings> some = {b};
      for (size_t i = 0; i < e.call().args.size(); ++i) {
        std::vector<Bindings> next;
        for (const Bindings& s : some) {
          for (Bindings& f : Naive(g, *e.call().args[i].value, g.input(n, order[i]), s))
            next.push_back(f);
        }
        some = next;
      }
      out.insert(out.end(), some.begin(), some.end());
    }
  }
  if (e.call().quantifier == Quantifier::kOptional) {
    for (Bindings found : Naive(g, *e.call().args[0].value, v, b)) {
      std::set<std::string> names, first;
      Names(*e.call().args[0].value, first);
      for (size_t i = 1; i < e.call().args.size(); ++i) Names(*e.call().args[i].value, names);
      const bool fits = std::all_of(names.begin(), names.end(), [&](const std::string& name) {
        return first.contains(name) || found.try_emplace(name, kAbsent).first->second == kAbsent;
      });
      if (fits) out.push_back(found);
    }
  }
  return out;
}

std::vector<Bindings> NaiveAll(const Graph& g, const BodyText& match) {
  std::vector<Bindings> all = {{}};
  for (const Stmt& stmt : match.stmts) {
    std::vector<Bindings> next;
    for (const Bindings& b : all) {
      for (size_t i = 0; i < g.num_values(); ++i) {
        const ValueId v(i);
        const auto bound = b.find(stmt.outs[0].name);
        if (!g.producer(v).valid() || (bound != b.end() && bound->second != v)) continue;
        Bindings with = b;
        with[stmt.outs[0].name] = v;
        for (Bindings& f : Naive(g, *stmt.value.value, v, with)) next.push_back(f);
      }
    }
    all = next;
  }
  return all;
}

class Random {
 public:
  explicit Random(uint32_t seed) : engine_(seed) {}
  int Below(int n) { return static_cast<int>(engine_() % static_cast<uint32_t>(n)); }

  std::string GraphText() {
    std::string text = "i0: float[2]\ni1: float[2]\n";
    std::vector<std::string> values = {"i0", "i1"};
    const int count = 3 + Below(6);
    for (int k = 0; k < count; ++k) {
      const std::string& a = values[Below(static_cast<int>(values.size()))];
      const std::string& b = values[Below(static_cast<int>(values.size()))];
      const std::string name = "v" + std::to_string(k);
      const int op = Below(4);
      text += op < 2 ? fmt::format("{} = {}({})\n", name, op ? "Neg" : "Relu", a)
                     : fmt::format("{} = {}({}, {})\n", name, op == 2 ? "Add" : "Sub", a, b);
      values.push_back(name);
    }
    return text;
  }

  std::string Name() { return std::string(1, "abc"[Below(3)]); }
  std::string Argument(int depth) {
    if (depth == 0 || Below(3) == 0) return Below(6) == 0 ? "_" : Name();
    return Call(depth, Below(4) == 0);
  }
  std::string Call(int depth, bool quantified) {
    switch (Below(5)) {
      case 0:
        return std::string("Relu") + (quantified ? "*" : "") + "(" + Argument(depth - 1) + ")";
      case 1:
        return std::string("Neg|Relu") + (quantified && optional_ ? "?" : "") + "(" +
               Argument(depth - 1) + ")";
      case 2: return "Sub(" + Argument(depth - 1) + ", " + Argument(depth - 1) + ")";
      case 3:
        return std::string("Add") + (quantified && optional_ ? "?" : "") + "(" +
               Argument(depth - 1) + ", " + Argument(depth - 1) + ")";
      default: return "Add|Sub(" + Argument(depth - 1) + ", " + Argument(depth - 1) + ")";
    }
  }
  // One statement, or two that share a value: upwards (`a = ...`) or downwards (`z = ...(.. a
  // ..)`). Two statements have no optional steps: a skipped step could be all that connects them.
  std::string PatternText() {
    const bool one = Below(2) == 0;
    optional_ = one;
    const std::string first = "y = " + Call(3, false);
    if (one) return first;
    return Below(2) == 0 ? first + "\n" + Name() + " = " + Call(1, false)
                         : first + "\nz = " + Call(2, false);
  }

 private:
  std::mt19937 engine_;
  bool optional_ = true;
};

}  // namespace

TEST_CASE("The matcher finds exactly what a naive matcher finds") {
  int compared = 0, found = 0;
  for (uint32_t seed = 1; seed <= 6000; ++seed) {
    Random random(seed);
    const std::string pattern = random.PatternText();
    std::string yaml = "qrewrite: 1\nname: t\nrules:\n  - name: r\n    match: |\n      ";
    for (const char c : pattern) yaml += c == '\n' ? std::string("\n      ") : std::string(1, c);
    const auto rules = LoadRulesText("t.yaml", yaml + "\n    warn: found\n");
    if (!rules.ok()) continue;  // disconnected statements and the like are errors of the file
    Graph graph = testing::MakeGraph(random.GraphText(), **rules);
    const Rule& rule = (*rules)->rules[0];
    std::set<Bindings> expected;
    for (const Bindings& b : NaiveAll(graph, rule.match)) expected.insert(b);

    Facts facts(graph, (*rules)->signatures, KernelRegistry::Builtin(), nullptr);
    const Params params;
    const HostFunctions hosts;
    const auto program = Compile(*rules);
    Interpreter interpreter(graph, *program, facts, KernelRegistry::Builtin(), params, hosts);
    const CompiledRule* compiled = program->FindRule(rule);
    std::set<Bindings> got;
    for (size_t n = 0; n < graph.num_nodes(); ++n) {
      Frame frame(compiled->layout);
      interpreter.MatchRule(*compiled, NodeId(n), frame, [&] {
        Bindings b;
        for (size_t s = 0; s < compiled->layout.names.size(); ++s) {
          const auto* v = frame[static_cast<int>(s)].get_if<ValueId>();
          b[compiled->layout.names[s]] = v != nullptr ? *v : kAbsent;
        }
        got.insert(b);
        return false;  // the next one
      });
    }
    ++compared;
    found += !expected.empty();
    INFO(pattern);
    INFO(PrintGraph(graph, graph.main()));
    REQUIRE(got == expected);
  }
  CHECK(compared > 2000);
  CHECK(found > 500);
}

}  // namespace qrewrite
