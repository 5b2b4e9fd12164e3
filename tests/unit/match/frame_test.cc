// Frames and lets: names of a rule that are computed when they are asked for.
#include "engine/match/frame.h"

#include <doctest/doctest.h>

#include "engine/match/interpreter.h"
#include "tests/support/rule_run.h"

namespace qrewrite {

TEST_CASE("Frame: slots are bound and unbound; only graph values count as such") {
  Layout layout;
  layout.names = {"x", "k"};
  layout.let_of = {-1, -1};
  Frame frame(layout);
  CHECK_FALSE(frame.bound(0));
  CHECK(frame.value(0) == nullptr);
  frame.Bind(0, ValueId(3u));
  frame.Bind(1, Val::Int(2));
  REQUIRE(frame.value(0) != nullptr);
  CHECK(*frame.value(0) == ValueId(3u));
  CHECK(frame.bound(1));
  CHECK(frame.value(1) == nullptr);
  frame.Unbind(0);
  CHECK_FALSE(frame.bound(0));
  CHECK(frame[0].absent());
  frame.Bind(0, Val());  // absent is something, too
  CHECK(frame.bound(0));
}

TEST_CASE("Frame: lets are forgotten together, and nothing else is") {
  Layout layout;
  layout.names = {"x", "a", "lo", "hi"};
  layout.let_of = {-1, 0, 1, 1};
  layout.lets = {{CodeId(), {1}}, {CodeId(), {2, 3}}};
  Frame frame(layout);
  CHECK(frame.let(0) == nullptr);
  CHECK(frame.let(2) == frame.let(3));
  frame.Bind(0, Val::Int(1));
  frame.BeginLet(1);
  CHECK(frame.state(1) == Frame::kEvaluating);
  CHECK_FALSE(frame.bound(1));
  frame.BindLet(1, Val::Int(2));
  frame.BindLet(2, Val::Int(3));
  frame.BindLet(3, Val::Int(4));
  CHECK(frame[3].get<int64_t>() == 4);
  frame.ForgetLets();
  CHECK(frame.bound(0));
  for (const int slot : {1, 2, 3}) CHECK_FALSE(frame.bound(slot));
}

TEST_CASE("Lets: computed from what is bound now, anew for each match") {
  const auto rules = LoadRulesText("t.yaml", R"(qrewrite: 1
name: t
rules:
  - name: r
    match: y = Add(x, k)
    where: twice > 2
    let: {sum: twice + k, twice: k * 2, "lo, hi": "[0, twice]"}
    warn: found
)");
  REQUIRE_MESSAGE(rules.ok(), rules.status().message());
  // As written `k` is 1, swapped it is 3: `twice` of the first order must not stay.
  const Graph graph = testing::MakeGraph("y = Add(3, 1)\n", **rules);
  const auto program = Compile(*rules);
  Facts facts(graph, (*rules)->signatures, KernelRegistry::Builtin(), nullptr);
  const Params params;
  const HostFunctions hosts;
  Interpreter in(graph, *program, facts, KernelRegistry::Builtin(), params, hosts);
  const CompiledRule& rule = *program->FindRule((*rules)->rules[0]);
  Frame frame(rule.layout);
  std::map<std::string, double> lets;
  const bool found = in.MatchRule(rule, NodeId(size_t{0}), frame, [&] {
    for (size_t s = 0; s < rule.layout.names.size(); ++s) {
      const int slot = static_cast<int>(s);
      if (frame.let(slot) == nullptr) continue;
      const Val number = in.Force(in.Slot(slot, frame));
      REQUIRE(number.is_number());
      lets[rule.layout.names[s]] = (*ToDoubles(number.number().t))[0];
    }
    return true;
  });
  CHECK(found);
  CHECK(lets == std::map<std::string, double>{{"hi", 6}, {"lo", 0}, {"sum", 9}, {"twice", 6}});
}

}  // namespace qrewrite
