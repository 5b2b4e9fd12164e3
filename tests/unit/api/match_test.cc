// Matches without rewriting: where, with which bindings, in which order, and how many.
#include <fmt/format.h>

#include <cstring>
#include <stdexcept>

#include "tests/unit/api/api_support.h"

namespace qrewrite {
namespace {

// "value w float[2]", "list (value a, value b)"
std::string Words(const Binding& b) {
  std::string words(Name(b.kind));
  if (!b.text.empty()) words += " " + b.text;
  if (b.constant) words += fmt::format(" #{}", b.constant->dtype());
  for (const NodeView& n : b.nodes) words += " " + n.op;
  for (const Binding& item : b.items) {
    words += fmt::format(" ({}{})", item.name.empty() ? "" : item.name + ": ", Words(item));
  }
  return words;
}

std::string Words(const RuleMatch& match) {
  std::string words = match.rule + ":";
  for (const NodeView& n : match.nodes) words += fmt::format(" {}", n.outputs[0]);
  for (const Binding& b : match.bindings) words += fmt::format("; {} = {}", b.name, Words(b));
  return words;
}

std::string AllWords(const Result<Matches>& found) {
  REQUIRE_MESSAGE(found.ok(), found.status().message());
  std::string words;
  for (const RuleMatch& match : found->matches) words += Words(match) + "\n";
  return words + (found->more ? "more\n" : "");
}

TEST_CASE("Match: every match of every rule, in the order of the graph, and nothing changes") {
  const Model model = ModelOf(kChain);
  const std::string before = *model.Serialize();
  CHECK(AllWords(Match(model, RulesOf(kTidy))) ==
        "double-relu: b a; y = value b; x = value x\n"
        "double-relu: c b; y = value c; x = value a\n");
  CHECK(*model.Serialize() == before);
  CHECK_FALSE(model.changed());
}

constexpr const char* kAll = R"yaml(qrewrite: 1
name: all
sets: {unary: [Relu, Neg]}
rules:
  - {name: node, match: "y = n:Conv<strides=s, **rest>(x, w, b?)", replace: y = x}
  - {name: chain, match: "y = Abs(c:@unary*(x))", replace: y = x}
  - {name: list, match: "y = Concat<axis=a>(xs...)", warn: a list}
  - {name: commutes, match: "y = Add(Neg(a), b)", replace: y = a}
)yaml";

TEST_CASE("Match: what names stand for") {
  const Model model = ModelOf(R"(g (float[1,3,8,8] x, float[2,3,3,3] w, float[4] p, float[4] q) =>
      (float[N] y, float[N] u, float[N] v, float[N] s) {
    y = Conv<pads = [1,1,1,1], strides = [2,2]>(x, w)
    r = Relu(p)  n = Neg(r)  u = Abs(n)
    v = Concat<axis = 0>(p, q)
    np = Neg(p)  s = Add(q, np)
  })");
  CHECK(AllWords(Match(model, RulesOf(kAll))) ==
        "node: y; y = value y; n = node Conv; s = constant #7; "
        "rest = attributes (pads: constant #7); x = value x; w = value w; b = absent\n"
        "chain: u; y = value u; c = chain; x = value n\n"
        "chain: u n; y = value u; c = chain Neg; x = value r\n"
        "chain: u n r; y = value u; c = chain Relu Neg; x = value p\n"
        "list: v; y = value v; a = constant #7; xs = list (value p) (value q)\n"
        "commutes: s np; y = value s; a = value p; b = value q\n");
}

TEST_CASE("Match: conditions that must hold, that do not matter, that are told of") {
  const Rules rules = RulesOf(R"yaml(qrewrite: 1
name: where
params: {most: {default: 2}}
rules:
  - name: r
    match: y = Add(x, c)
    where: [const(c), rank(x) < params.most, size(c) > 1]
    let: {twice: c + c}
    replace: y = Mul(x, twice)
)yaml");
  const Model model = ModelOf(R"(g (float[N] a, float[N,M] b, z) => (float[N] p, float[N,M] q, r)
    <float[2] w = {1, 2}, float s = {3}> { p = Add(a, w)  q = Add(b, s)  r = Add(z, s) })");
  using Conditions = MatchOptions::Conditions;
  CHECK(AllWords(Match(model, rules)) ==
        "r: p; y = value p; x = value a; c = value w #1; twice = constant #1\n");
  CHECK(AllWords(Match(model, rules, {.set = {{"most", "3"}}})).size() >
        AllWords(Match(model, rules)).size() - 1);
  // Without conditions Add has two ways to be read.
  const auto ignored = Match(model, rules, {.conditions = Conditions::kIgnore});
  CHECK(AllWords(ignored) ==
        "r: p; y = value p; x = value a; c = value w #1\n"
        "r: p; y = value p; x = value w #1; c = value a\n"
        "r: q; y = value q; x = value b; c = value s #1\n"
        "r: q; y = value q; x = value s #1; c = value b\n"
        "r: r; y = value r; x = value z; c = value s #1\n"
        "r: r; y = value r; x = value s #1; c = value z\n");
  const auto told = Match(model, rules, {.conditions = Conditions::kReport});
  REQUIRE(told.ok());
  REQUIRE(told->matches.size() == 6);
  const auto outcome = [&](size_t match, size_t condition) {
    return told->matches[match].conditions[condition].outcome;
  };
  CHECK(outcome(0, 0) == MatchCondition::Outcome::kHolds);
  CHECK(outcome(2, 1) == MatchCondition::Outcome::kFails);
  CHECK(outcome(2, 2) == MatchCondition::Outcome::kFails);
  const MatchCondition& rank = told->matches[4].conditions[1];
  CHECK(rank.outcome == MatchCondition::Outcome::kUnknown);
  CHECK(rank.text == "rank(x) < params.most");
  CHECK(rank.line == 7);
  CHECK(Contains(rank.why, "`z`"));
}

TEST_CASE("Match: the constants of bindings are what the model has") {
  const Model model =
      ModelOf("g (float[2] x) => (float[2] y) <float[2] w = {1, 2}> { y = Add(x, w) }");
  const auto found = Match(model, RulesOf(R"yaml(qrewrite: 1
name: r
rules: [{name: r, match: "y = Add(x, c)", where: const(c), replace: y = x}]
)yaml"));
  REQUIRE(found.ok());
  REQUIRE(found->matches.size() == 1);
  const Binding* c = found->matches[0].Find("c");
  REQUIRE(c != nullptr);
  const ConstTensor tensor = *c->constant->Read();
  CHECK(tensor.dims == std::vector<int64_t>{2});
  float second = 0;
  std::memcpy(&second, tensor.bytes.data() + 4, sizeof second);
  CHECK(second == 2);
  CHECK(found->matches[0].Find("no") == nullptr);
  CHECK(found->matches[0].file == "rules.yaml");
  CHECK(found->matches[0].line == 3);
}

TEST_CASE("Match: some rules, a bounded number, rule sets that phases use") {
  const Model model = ModelOf(kChain);
  const Rules rules = RulesOf(R"yaml(qrewrite: 1
name: two
rules:
  - {name: relu, match: y = Relu(x), replace: y = x}
  - {name: neg, match: y = Neg(x), replace: y = x}
)yaml");
  CHECK(AllWords(Match(model, rules, {.rules = {"neg"}})) == "neg: d; y = value d; x = value c\n");
  CHECK(AllWords(Match(model, rules, {.max_matches = 2})) ==
        "relu: a; y = value a; x = value x\nrelu: b; y = value b; x = value a\nmore\n");
  CHECK_FALSE(Match(model, rules, {.max_matches = 4})->more);
  const auto none = Match(model, rules, {.rules = {"nge"}});
  CHECK(none.status().code() == StatusCode::kUsage);
  CHECK(Contains(none.status().message(), "did you mean `neg`?"));
  CHECK(Match(model, rules, {.set = {{"no", "1"}}}).status().code() == StatusCode::kUsage);
}

TEST_CASE("Match: faults") {
  Model model = ModelOf(kChain);
  const Rules late = RulesOf(R"yaml(qrewrite: 1
name: late
opset: ">=18"
rules: [{name: r, match: y = Relu(x), replace: y = x}]
)yaml");
  CHECK(Match(model, late).status().code() == StatusCode::kUnsupported);
  auto functions = std::make_shared<FunctionRegistry>();
  REQUIRE(
      functions->AddPredicate("ask", [](auto) -> Result<bool> { throw std::runtime_error("gone"); })
          .ok());
  const Rules throws = RulesOf(R"yaml(qrewrite: 1
name: throws
rules: [{name: r, match: y = Relu(x), where: ask(1), replace: y = x}]
)yaml",
                               {.functions = functions});
  const auto found = Match(model, throws);
  CHECK(found.status().code() == StatusCode::kCallback);
  CHECK(Contains(found.status().message(), "function `ask` of the host threw an exception: gone"));
}

}  // namespace
}  // namespace qrewrite
