// The matcher against Boost's VF2: random patterns of the whole language on random graphs with
// constants, missing inputs, attributes and bodies. Both must find the same set of matches.
#include <random>

#include <doctest/doctest.h>

#include "engine/match/interpreter.h"
#include "tests/support/rule_run.h"
#include "tests/unit/match/plain_expander.h"
#include "tests/unit/match/vf2_oracle.h"

namespace qrewrite {
namespace {

using oracle::Bindings;

constexpr const char* kHead = R"(qrewrite: 1
name: t
signatures:
  acme.Mix: {inputs: [x, "bias?", "gain?"], attributes: {alpha: 1.0}, outputs: [y, "mask?"]}
  acme.Join: {inputs: [f, "xs..."], outputs: [y]}
  acme.Gain: {inputs: [x], attributes: {axis: 1, unit: "string?"}, outputs: [y]}
sets: {unary: [Relu, Neg]}
define:
  y = nop(x):
    - y = Identity(x)
    - y = Add(x, 0.5)
  y = twice(x):
    - y = Neg(Neg(x))
    - match: |
        t = Relu(x)
        y = Neg(t)
  y = scaled(x, s):
    - y = Mul(x, s)
    - y = acme.Mix(x, s?)
rules:
  - name: r
    warn: found
    match: |
)";

// Graphs and patterns of one case draw from the same few operators, so that they meet.
class Random {
 public:
  enum Family { kUnary, kAdd, kSub, kMul, kMix, kJoin, kGain, kSplit, kIf, kFamilies };

  explicit Random(uint32_t seed) : engine_(seed) {
    for (int k = 0; k < 2 + Below(2); ++k) families_.push_back(Below(kFamilies));
    families_.push_back(Below(3));
  }
  int Below(int n) { return static_cast<int>(engine_() % static_cast<uint32_t>(n)); }
  bool Chance(int of) { return Below(of) == 0; }
  const char* Any(std::initializer_list<const char*> texts) {
    return texts.begin()[Below(static_cast<int>(texts.size()))];
  }
  int Family() { return families_[static_cast<size_t>(Below(static_cast<int>(families_.size())))]; }

  // --- graphs

  // Constants: two of equal content, one behind a Constant node, and at most one that is computed.
  std::string GraphText() {
    values_ = {"i0", "i1"};
    constants_ = {"k0", "k1", "k2", "k3"};
    count_ = 0;
    std::string text =
        "i0: float[2]\ni1: float[2]\nc: bool\nk0 = float 0.5\nk1 = float 0.5\n"
        "k2 = float[2] [1, 3]\nk3 = float[2] 4\n";
    if (Chance(2)) text += "k4 = Constant<value=float 0.5>()\n", constants_.push_back("k4");
    if (Chance(2)) text += "k5 = Neg(k0)\n", constants_.push_back("k5");
    const int nodes = 4 + Below(5);
    for (int k = 0; k < nodes; ++k) text += NodeText("");
    return text;
  }
  std::string Value() { return values_[values_.size() - 1 - Back()]; }
  size_t Back() {
    return static_cast<size_t>(Below(std::min(5, static_cast<int>(values_.size()))));
  }
  std::string Operand() {
    return Chance(3) ? constants_[static_cast<size_t>(Below(static_cast<int>(constants_.size())))]
                     : Value();
  }
  std::string New() {
    values_.push_back("v" + std::to_string(count_++));
    return values_.back();
  }
  std::string NodeText(const std::string& indent) {
    std::string out;
    switch (Family()) {
      case kUnary: out = fmt::format("{}({})", Any({"Relu", "Neg", "Identity"}), Value()); break;
      case kAdd:
      case kSub:
      case kMul: {
        std::string a = Value(), b = Operand();
        if (Chance(2)) std::swap(a, b);
        out = fmt::format("{}({}, {})", Any({"Add", "Sub", "Mul"}), a, b);
        break;
      }
      case kMix: {
        const std::string head =
            Any({"acme.Mix", "acme.Mix", "acme.Mix<alpha=1.0>", "acme.Mix<alpha=2.0>"});
        const std::string x = Value();
        out = head + "(" + x;
        if (Chance(2))
          out += ", " + (Chance(4) ? "absent" : Operand());
        else if (Chance(3))
          out += ", absent, " + Operand();
        out += ")";
        if (!Chance(3)) break;
        const std::string y = New();
        return fmt::format("{}{}, {} = {}\n", indent, y, New(), out);
      }
      case kJoin: {
        out = "acme.Join(" + Value();
        const std::string same = Chance(3) ? Value() : "";
        for (int k = Below(4); k > 0; --k) {
          const std::string x = Operand();
          out += ", " + (same.empty() ? x : fmt::format("Add({}, {})", x, same));
        }
        out += ")";
        break;
      }
      case kGain:
        out = fmt::format("acme.Gain{}({})",
                          Any({"", "<axis=0>", "<axis=1>", "<unit='dB'>", "<axis=0, unit='dB'>"}),
                          Value());
        break;
      case kSplit: {
        const std::string x = Value(), y = New(), z = New();
        const std::string split =
            fmt::format("{}{}, {} = Split<num_outputs=2>({})\n", indent, y, z, x);
        if (!Chance(3)) return split;
        return split + fmt::format("{}{} = acme.Join({}, {}, {})\n", indent, New(), x, y, z);
      }
      case kIf: {
        if (!indent.empty()) return NodeText(indent);
        // Values of a body end with it; the constants and what is outside can be read inside.
        const std::vector<std::string> outside = values_;
        std::string bodies;
        for (const char* branch : {"then_branch", "else_branch"}) {
          bodies += fmt::format("{}{}={{\n", bodies.empty() ? "" : ", ", branch);
          for (int k = 1 + Below(2); k > 0; --k) bodies += NodeText("  ");
          bodies += fmt::format("  return {} }}", values_.back());
          values_ = outside;
        }
        return fmt::format("{} = If<{}>(c)\n", New(), bodies);
      }
    }
    return fmt::format("{}{} = {}\n", indent, New(), out);
  }

  // --- patterns

  std::string Name() { return Any({"a", "b", "d"}); }
  std::string Label() { return Chance(6) ? fmt::format("n{}:", ++labels_) : ""; }
  std::string Argument(int depth) {
    if (depth > 0 && Chance(3)) return Call(depth, true);
    if (Chance(9)) return Any({"0.5", "4", "-0.5"});
    return Chance(7) ? "_" : Name();
  }
  std::string Call(int depth, bool nested) {
    const auto arg = [&] { return Argument(depth - 1); };
    const std::string often = nested && Chance(4) ? "?" : "";
    if (Chance(6)) {
      const std::string x = arg();
      switch (Below(3)) {
        case 0: return fmt::format("$nop({})", x);
        case 1: return fmt::format("$twice({})", x);
        default: return fmt::format("$scaled({}, {})", x, Name());
      }
    }
    switch (Family()) {
      case kUnary:
        if (nested && Chance(3)) return Chain();
        if (nested && Chance(8)) return "!@unary<**_>(_...)";
        return Label() + Any({"Relu", "Neg", "Relu|Neg", "@unary", "Identity|@unary"}) + often +
               "(" + arg() + ")";
      case kAdd: return Label() + "Add" + often + "(" + arg() + ", " + arg() + ")";
      case kSub:
        return Label() + Any({"Sub", "Add|Sub"}) + often + "(" + arg() + ", " + arg() + ")";
      case kMul: return Any({"Mul", "Add|Mul"}) + often + "(" + arg() + ", " + arg() + ")";
      case kMix: {
        const std::string head =
            Label() + "acme.Mix" + often + Any({"", "<**_>", "<alpha=_>", "<alpha=q>", "<**m>"});
        if (Chance(4)) return fmt::format("{}({}, absent, {})", head, arg(), Name());
        if (Chance(4)) return fmt::format("{}({}, gain={})", head, arg(), Name());
        return fmt::format("{}({}, {}{})", head, arg(), Name(), Chance(4) ? "" : "?");
      }
      case kJoin: {
        const std::string rest =
            Any({"xs...", "xs...", "ys...", "_...", "Neg(xs)...", "$nop(xs)...", "Add?(xs, ys)...",
                 "(xs, ys)...", "Add(xs, a)...", "Add?(xs, b)...", "(xs, a)...", "Mul(xs, xs)..."});
        if (Chance(4)) return fmt::format("acme.Join(_..., {}, _...)", Name());
        return fmt::format("acme.Join({}, {})", arg(), rest);
      }
      case kGain:
        return fmt::format("acme.Gain{}{}({})", often,
                           Any({"<axis>", "<axis=p>", "<axis=1>", "<axis=_>", "", "<**_>",
                                "<axis=p, unit=u?>", "<unit=_>"}),
                           arg());
      case kSplit: return fmt::format("Split<**_>({}, _...)", arg());
      default: return "If<**_>(_)";
    }
  }
  std::string Chain() {
    const std::string label = Chance(2) ? fmt::format("n{}:", ++labels_) : "";
    const char* many = Any({"*", "+"});
    switch (Family()) {
      case kGain: return fmt::format("{}acme.Gain{}<axis=_>({})", label, many, Name());
      case kMix: return fmt::format("{}acme.Mix{}<**_>({}, _...)", label, many, Name());
      case kAdd: return fmt::format("{}Add|Relu|Neg{}({}, _...)", label, many, Name());
      default: return fmt::format("{}@unary{}({})", label, many, Name());
    }
  }
  std::string Statement(const std::string& out, int depth) {
    const int family = Family();
    if (family == kSplit && Chance(2)) {
      return fmt::format("{} = Split<**_>({}, _...)",
                         Any({"_..., b, _...", "a, b", "xs...", "xs...", "_, a", "a, _..."}),
                         Name());
    }
    if (family == kMix && Chance(2)) {
      return fmt::format("{}, {} = acme.Mix<**_>({}, b?, _?)", out, Any({"m?", "a?", "_"}), Name());
    }
    return out + " = " + Call(depth, false);
  }
  // Two readers of the same two names.
  std::string PairText() {
    const auto reader = [&] {
      const std::string a = Any({"a", "a", "Relu(a)", "Neg?(a)"});
      if (Chance(5)) return fmt::format("{}({})", Any({"$twice", "$nop"}), a);
      switch (Family()) {
        case kMix: return "acme.Mix(" + a + ", b?)";
        case kJoin: return fmt::format("acme.Join({}, {})", a, Any({"xs...", "b, xs..."}));
        case kSplit: return std::string("acme.Mix(a, _?, b?)");
        case kSub: return fmt::format("{}({}, b)", Any({"Sub", "Add|Sub"}), a);
        default: return fmt::format("{}({}, b)", Any({"Add", "Mul", "Add|Mul|Sub"}), a);
      }
    };
    const std::string y = reader();
    return fmt::format("      y = {}\n      {} = {}\n", y, Any({"z", "z", "b"}), reader());
  }
  // A chain below a node, or beside one that shares a name with it.
  std::string ChainText() {
    const std::string chain = Chain();
    if (!Chance(3)) return fmt::format("      y = {}({})\n", Any({"Relu|Neg", "@unary"}), chain);
    return fmt::format("      y = {}\n      {} = @unary({})\n", chain, Any({"z", "b"}), Name());
  }
  // A list that two statements share, or a value that is the same in each member.
  std::string ListText() {
    const std::string join = fmt::format("acme.Join({}, {})", Any({"_", "a"}),
                                         Any({"xs...", "xs...", "Neg?(xs)...", "Add(xs, b)...",
                                              "Add?(b, xs)...", "(xs, b)...", "Add(xs, xs)..."}));
    const std::string other = Any({"xs... = Split<**_>(a, _...)", "z = acme.Join(_, xs...)",
                                   "b = @unary(_)", "z = Add|Mul(b, _)"});
    return fmt::format("      y = {}\n      {}\n", join, other);
  }
  std::string PatternText() {
    if (Chance(4)) return PairText();
    if (Chance(4)) return ChainText();
    if (Chance(4)) return ListText();
    const int more = Chance(3) ? 0 : 1 + Below(2);
    const int depth =
        more == 0 || Chance(3) ? 2 : 1;  // names in several statements meet more often
    std::string text = "      " + Statement("y", depth) + "\n";
    for (int k = 0; k < more; ++k) {
      const std::string out = Chance(3) ? std::string(1, "zw"[k]) : Name();
      text += "      " + (Chance(6) ? out + " = " + Chain() : Statement(out, depth)) + "\n";
    }
    return text;
  }

 private:
  std::mt19937 engine_;
  std::vector<int> families_;
  std::vector<std::string> values_, constants_;
  int count_ = 0, labels_ = 0;
};

std::string Text(const Val& val, const oracle::ModelGraph& model) {
  if (val.absent()) return "absent";
  if (const auto* v = val.get_if<ValueId>()) return model.Text(*v);
  if (const auto* l = val.get_if<LabelRef>()) return fmt::format("node {}", l->node.index);
  if (const auto* r = val.get_if<AttrRest>()) return fmt::format("rest {}", r->node.index);
  if (const auto* i = val.get_if<int64_t>()) return std::to_string(*i);
  if (const auto* d = val.get_if<double>()) return std::to_string(static_cast<float>(*d));
  if (const auto* s = val.get_if<std::string>()) return "'" + *s + "'";
  if (const auto* c = val.get_if<ChainRef>()) {
    std::vector<uint32_t> ids;
    for (const NodeId n : c->nodes) ids.push_back(n.index);
    return fmt::format("chain {}", fmt::join(ids, " "));
  }
  const auto* list = val.get_if<List>();
  if (list == nullptr) return "something else";
  std::vector<std::string> members;
  for (const Val& member : **list) members.push_back(Text(member, model));
  return fmt::format("[{}]", fmt::join(members, ", "));
}

std::set<Bindings> Found(const Graph& graph, const Program& program,
                         const oracle::ModelGraph& model) {
  Facts facts(graph, program.rules().signatures, KernelRegistry::Builtin(), nullptr);
  const Params params;
  const HostFunctions hosts;
  Interpreter interpreter(graph, program, facts, KernelRegistry::Builtin(), params, hosts);
  const CompiledRule& rule = *program.FindRule(program.rules().rules[0]);
  std::set<Bindings> found;
  for (size_t n = 0; n < graph.num_nodes(); ++n) {
    if (!graph.alive(NodeId(n))) continue;
    Frame frame(rule.layout);
    interpreter.MatchRule(rule, NodeId(n), frame, [&] {
      Bindings b;
      for (size_t s = 0; s < rule.layout.names.size(); ++s) {
        b[rule.layout.names[s]] = Text(frame[static_cast<int>(s)], model);
      }
      found.insert(b);
      return false;  // the next one
    });
  }
  return found;
}

std::string Lines(const std::set<Bindings>& matches) {
  std::string text;
  for (const Bindings& b : matches) {
    for (const auto& [name, what] : b) text += fmt::format("{} = {}; ", name, what);
    text += "\n";
  }
  return text;
}

}  // namespace

TEST_CASE("The matcher finds exactly what VF2 finds") {
  int compared = 0, exact = 0;
  std::map<std::string, int> seen;
  for (uint32_t seed = 1; seed <= 5000; ++seed) {
    Random random(seed);
    const std::string pattern = random.PatternText();
    const auto rules = LoadRulesText("t.yaml", kHead + pattern);
    if (!rules.ok()) continue;  // disconnected statements and the like are errors of the file
    oracle::Expander expander(**rules, 4);
    const oracle::Plains plains = expander.Match((*rules)->rules[0].match);
    if (expander.too_many()) continue;
    const auto program = Compile(*rules);
    for (int k = 0; k < 3; ++k) {
      const Graph graph = testing::MakeGraph(random.GraphText(), **rules);
      const oracle::ModelGraph model(graph);
      oracle::Matches expected;
      for (const oracle::Plain& p : plains) model.Add(p, expected);
      const std::set<Bindings> found = Found(graph, *program, model);
      INFO(seed, "\n", pattern, PrintGraph(graph, graph.main()));
      INFO("found\n", Lines(found), "certain\n", Lines(expected.certain));
      CHECK(std::includes(found.begin(), found.end(), expected.certain.begin(),
                          expected.certain.end()));
      CHECK(std::includes(expected.possible.begin(), expected.possible.end(), found.begin(),
                          found.end()));
      ++compared;
      exact += expected.certain == expected.possible;
      for (const std::string& feature : expected.features) ++seen[feature];
      seen["match"] += !expected.certain.empty();
    }
  }
  CHECK(compared > 3000);
  CHECK(exact > compared * 9 / 10);
  // Each feature of the language had its share of the matches.
  const std::map<std::string, int> wanted = {
      {"match", 800},       {"constant shared", 80}, {"one of two ways", 80}, {"absent", 50},
      {"absent shared", 8}, {"skipped step", 50},    {"attribute", 20},       {"body", 100},
      {"chain", 20},        {"definition", 60},      {"label", 50},           {"list", 50},
      {"list again", 5},    {"literal", 10},         {"same in members", 5},  {"list connects", 5}};
  for (const auto& [feature, least] : wanted) {
    INFO(feature);
    CHECK(seen[feature] >= least);
  }
}

}  // namespace qrewrite
