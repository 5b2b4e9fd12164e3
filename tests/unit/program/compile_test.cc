// The compiler: what patterns, expressions and names of rules become.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include "engine/expr/parser.h"
#include "engine/program/program.h"
#include "engine/rule/loader.h"

namespace qrewrite {
namespace {

std::shared_ptr<const Program> CompileText(const std::string& rules) {
  const auto loaded = LoadRulesText("t.yaml", "qrewrite: 1\nname: t\n" + rules);
  REQUIRE_MESSAGE(loaded.ok(), loaded.status().message());
  return Compile(*loaded);
}

const CompiledRule& OnlyRule(const Program& program) {
  return *program.FindRule(program.rules().rules[0]);
}

// "anchor 1; 0 up t; 2 down x"
std::string Plan(const std::string& match, const std::string& leads_to = "warn: found") {
  std::string yaml = "rules:\n  - name: r\n    " + leads_to + "\n    match: |\n      ";
  for (const char c : match) yaml += c == ';' ? std::string("\n     ") : std::string(1, c);
  const auto program = CompileText(yaml + "\n");
  const CompiledRule& rule = OnlyRule(*program);
  std::string text = fmt::format("anchor {}", rule.pattern.anchor);
  for (const Way& way : rule.pattern.ways) {
    text += fmt::format("; {} {} {}", way.stmt, way.down ? "down" : "up",
                        rule.layout.names[static_cast<size_t>(way.slot)]);
  }
  return text;
}

std::string Text(const Val& v) {
  if (v.absent()) return "absent";
  if (const auto* i = v.get_if<int64_t>()) return std::to_string(*i);
  if (const auto* d = v.get_if<double>()) return fmt::format("{}f", *d);
  if (const auto* b = v.get_if<bool>()) return *b ? "true" : "false";
  if (const auto* s = v.get_if<std::string>()) return "'" + *s + "'";
  if (const auto* n = v.get_if<Ints>()) {
    return fmt::format("ints({})", fmt::join(n->begin(), n->end(), " "));
  }
  return std::string(Describe(v));
}

// Code as text; a name with its slot.
std::string Text(const Program& program, const Layout& layout, CodeId id) {
  const Code& code = program.code(id);
  std::vector<std::string> kids;
  for (size_t i = 0; i < code.num_kids; ++i) {
    kids.push_back(Text(program, layout, program.kid(code, i)));
  }
  const std::string inside = fmt::format("({})", fmt::join(kids, ", "));
  switch (code.op) {
    case CodeOp::kConstant: return Text(code.constant);
    case CodeOp::kName:
      return fmt::format("{}@{}", layout.names[static_cast<size_t>(code.slot)], code.slot);
    case CodeOp::kList: return "list" + inside;
    case CodeOp::kArithmetic: return "arithmetic" + inside;
    case CodeOp::kCompare: return "compare" + inside;
    case CodeOp::kFunction: return "function" + inside;
    case CodeOp::kOpset: return "opset";
    case CodeOp::kNot: return "not" + inside;
    default: return "other" + inside;
  }
}

// What `k` of `let` becomes; x and s are names of the match, in slots 1 and 2.
std::string Expression(const std::string& text) {
  const auto program = CompileText(
      "rules:\n  - name: r\n    warn: found\n    match: y = Mul(x, s)\n    let: {k: \"" + text +
      "\"}\n    where: k == k\n");
  const Layout& layout = OnlyRule(*program).layout;
  return Text(*program, layout, layout.lets[0].value);
}

using Rows = std::vector<std::pair<const char*, const char*>>;

}  // namespace

TEST_CASE("A search begins where most is above it") {
  const Rows rows = {
      {"y = Relu(x)", "anchor 0"},
      {"t = Relu(x); y = Neg(t)", "anchor 1; 0 up t"},
      {"y = Neg(t); t = Relu(x)", "anchor 0; 1 up t"},
      // two readers of one value: of equals the last
      {"y = Neg(x); z = Relu(x)", "anchor 1; 0 down x"},
      // two names in common are two ways: either may lead nowhere when it is known
      {"y = Add(x, k); z = Sub(x, k)", "anchor 1; 0 down x; 0 down k"},
      {"y = Clip(x, lo?); z = Add(x, lo)", "anchor 1; 0 down x; 0 down lo"},
      // upwards first
      {"t = Relu(x); y = Add(t, x)", "anchor 1; 0 up t; 0 down x"},
      {"a = Relu(x); b = Neg(x); y = Add(a, b)", "anchor 2; 0 up a; 1 up b; 0 down x; 1 down x"},
      // a chain has no node to begin at
      {"x = Relu(w); t = Neg*(x); y = Relu(t)", "anchor 2; 0 up x; 1 up t; 1 down x"},
      {"y = Relu(x); t = Neg*(x)", "anchor 0; 1 down x"},
      // nested names are ways, too, and lists; labels and attributes are none
      {"y = Add(Relu(x), k); z = Neg(x)", "anchor 1; 0 down x"},
      {"y = Concat<axis>(a, xs...); z = Concat<axis>(a, xs...)", "anchor 1; 0 down a; 0 down xs"},
      {"xs... = Split(a, _); y = Concat<axis>(xs...)", "anchor 1; 0 up xs"},
  };
  for (const auto& [match, plan] : rows) {
    INFO(match);
    CHECK(Plan(match) == plan);
  }
  // of equals one that gathers readers, not one that hands them on
  CHECK(Plan("y = Neg(x); z = Neg(x)", "replace: z = y") == "anchor 0; 1 down x");
  CHECK(Plan("y = Neg(x); z = Neg(x)", "replace: y = z") == "anchor 1; 0 down x");
  CHECK(Plan("y = Neg(x); z = Neg(x)", "replace: z = Relu(y)") == "anchor 1; 0 down x");
  CHECK(Plan("y = Neg(x); z = Exp(y)", "replace: z = y") == "anchor 1; 0 up y");
}

TEST_CASE("What is constant in an expression is computed when rules are compiled") {
  const Rows rows = {
      {"1", "1"},
      {"-1", "-1"},
      {"-1.5", "-1.5f"},
      {"2 * 3 + 1", "7"},
      {"7 // 2 - 7 % 4", "0"},
      {"1.5 * 2", "3f"},
      {"1 / 4.0", "0.25f"},
      {"[1, 2]", "ints(1 2)"},
      {"[1, -2, 1 + 2]", "ints(1 -2 3)"},
      {"[1, x]", "list(1, x@1)"},
      {"[1.5, 2]", "list(1.5f, 2)"},
      {"'text'", "'text'"},
      {"true", "true"},
      {"2 ** 31", "2147483648"},
      // what fails waits until it is asked
      {"2 ** 64", "arithmetic(2, 64)"},
      {"1 // 0", "arithmetic(1, 0)"},
      {"9223372036854775807 + 1", "arithmetic(9223372036854775807, 1)"},
      {"-x", "arithmetic(-1, x@1)"},
      {"x + (1 + 2)", "arithmetic(x@1, 3)"},
      {"not x == s", "not(compare(x@1, s@2))"},
      {"rank(x) - 1", "arithmetic(function(x@1), 1)"},
      {"opset + y", "arithmetic(opset, y@0)"},
  };
  for (const auto& [expression, code] : rows) {
    INFO(expression);
    CHECK(Expression(expression) == code);
  }
}

TEST_CASE("Conditions wait for the names that they need, through lets") {
  const auto program = CompileText(
      "rules:\n  - name: r\n    warn: found\n    match: y = Mul(x, s)\n"
      "    let: {k: s + 1, l: k * 2}\n    where: [rank(x) == 2, l == 4, opset > 3, k == x]\n");
  const CompiledRule& rule = OnlyRule(*program);
  std::string needs;
  for (const PatWhere& w : rule.pattern.where) {
    for (const int slot : w.needs) needs += rule.layout.names[static_cast<size_t>(slot)] + " ";
    needs += w.watched ? "watched; " : "early; ";
  }
  CHECK(needs == "x watched; s watched; early; x s watched; ");
  REQUIRE(rule.pattern.early.size() == 1);
  CHECK(rule.pattern.early[0] == rule.pattern.where[2].code);
}

TEST_CASE(
    "What has no names is asked before there is a search, also as a part and when it computes") {
  const auto program = CompileText(
      "rules:\n  - name: r\n    warn: found\n    match: |\n      t = Neg(x)\n      y = Mul(t, s)\n"
      "    where: [rank(x) == 2 and (opset > 3 and s == 1), 'Add(1, 2) == 3']\n");
  const Pattern& pattern = OnlyRule(*program).pattern;
  REQUIRE(pattern.where.size() == 4);  // two, and of the first what x and s alone decide
  CHECK(pattern.where[1].part);
  CHECK(pattern.where[2].part);
  REQUIRE(pattern.early.size() == 2);
  CHECK(program->code(pattern.early[0]).op == CodeOp::kCompare);
  CHECK(pattern.early[1] == pattern.where[3].code);
}

TEST_CASE(
    "What `and` joins is one condition; in a rule parts about readers are tried sooner, too") {
  const auto conditions = [](const std::string& where) {
    const auto program = CompileText(
        "rules:\n  - name: r\n    warn: found\n    match: y = Mul(x, s)\n    where: " + where +
        "\n");
    const CompiledRule& rule = OnlyRule(*program);
    std::string text;
    for (const PatWhere& w : rule.pattern.where) {
      text += (w.part ? "part of it: " : "") + Print(*w.expr) + ", needs";
      for (const int slot : w.needs) text += " " + rule.layout.names[static_cast<size_t>(slot)];
      text += "; ";
    }
    return text;
  };
  CHECK(conditions("rank(x) == 2 and (uses(y) > 1 and uses(s) == 1)") ==
        "rank(x) == 2 and (uses(y) > 1 and uses(s) == 1), needs y x s; "
        "part of it: uses(y) > 1, needs y; part of it: uses(s) == 1, needs s; ");
  CHECK(conditions("uses(x) == rank(s) and (uses(y) == 1 or uses(x) == 1)") ==
        "uses(x) == rank(s) and (uses(y) == 1 or uses(x) == 1), needs y x s; ");
  CHECK(conditions("uses(x) == 1") == "uses(x) == 1, needs x; ");
}

TEST_CASE("A chain ends where the rule wants one reader") {
  const auto ends = [](const std::string& chain, const std::string& condition) {
    const auto program = CompileText("rules:\n  - name: r\n    warn: found\n    match: y = Relu(" +
                                     chain + ")\n    where: " + condition + "\n");
    return OnlyRule(*program).pattern.stmts[0].value.call->args[0].call->alone.valid();
  };
  CHECK(ends("c:Neg*(x)", "uses(inner(c)) == 1"));
  CHECK(ends("c:Neg+(x)", "rank(y) == 2 and (uses(inner(c)) == 1 and rank(x) == 2)"));
  CHECK_FALSE(ends("c:Neg*(x)", "rank(y) == 2 or uses(inner(c)) == 1"));
  CHECK_FALSE(ends("c:Neg*(x)", "not uses(inner(c)) == 1"));
  CHECK_FALSE(ends("c:Neg*(x)", "uses(inner(c)) == 2"));
  CHECK_FALSE(ends("c:Neg*(x)", "uses(inner(c)) >= 1"));
  CHECK_FALSE(ends("c:Neg*(x)", "uses(x) == 1"));
}

TEST_CASE("Each case of a definition has slots of its own behind the parameters and results") {
  const auto program = CompileText(R"yaml(define:
  y = scaled(x, s):
    - y = Mul(x, s)
    - match: |
        t = Neg(x)
        y = Div(t, k)
      let: {s: 1.0 / k}
  size_of(v):
    - v = Relu(p) => rank(p)
    - => 0
rules:
  - {name: r, match: "y = $scaled(x, s)", where: $size_of(x) == 1 and rank(s) == 0, warn: found}
)yaml");
  const auto names = [&](int definition) {
    std::string text;
    for (const CompiledCase& c : program->definition(definition).cases) {
      text += fmt::format("{}; ", fmt::join(c.layout->names, " "));
    }
    return text;
  };
  CHECK(names(0) == "x s y; x s y t k; ");
  CHECK(names(1) == "v p; v; ");
  CHECK(program->definition(0).num_params == 2);
  const Layout& second = *program->definition(0).cases[1].layout;
  REQUIRE(second.let_of[1] == 0);  // the parameter is computed
  CHECK(Text(*program, second, second.lets[0].value) == "arithmetic(1f, k@4)");
  CHECK(program->definition(1).looks_at == std::vector<bool>{true});
}

TEST_CASE("Cases of a rule see its names; what one of them names is its own") {
  const auto program = CompileText(R"(rules:
  - name: r
    match: y = Mul(x, s)
    let: {k: s + 1}
    cases:
      - {when: t == 1, let: {t: k + 1}, replace: y = Relu(x)}
      - {when: t == 2, let: {t: k + 2}, replace: y = Neg(x)}
)");
  const CompiledRule& rule = OnlyRule(*program);
  REQUIRE(rule.cases.size() == 2);
  std::vector<std::string> conditions, lets;
  for (const CompiledCase& c : rule.cases) {
    conditions.push_back(Text(*program, rule.layout, c.pattern.where[0].code));
  }
  for (const Layout::Let& let : rule.layout.lets) {
    lets.push_back(Text(*program, rule.layout, let.value));
  }
  CHECK(fmt::format("{}", fmt::join(conditions, "; ")) ==
        "compare(t@4, 1); compare(t@6, 2)");  // 5: the new y
  CHECK(fmt::format("{}", fmt::join(lets, "; ")) ==
        "arithmetic(s@2, 1); arithmetic(k@3, 1); arithmetic(k@3, 2)");
}

TEST_CASE("In front of `...` a name is a member of its list") {
  const auto program = CompileText(
      "rules:\n  - name: r\n    match: y = Concat<axis>(xs...)\n"
      "    replace: y = Concat<axis=axis>(Mul(xs, 2.0)...)\n");
  const CompiledRule& rule = OnlyRule(*program);
  const MakeArg& arg = rule.replace->stmts[0].value.value.call->args[0];
  CHECK(arg.repeated);
  REQUIRE(arg.members.size() == 1);
  const int list = arg.members[0].list.slot, member = arg.members[0].slot;
  CHECK(list != member);
  CHECK(rule.layout.names[static_cast<size_t>(list)] == "xs");
  const Make& operand = arg.value.call->args[0].value;
  CHECK(program->code(operand.value).op == CodeOp::kMember);
  CHECK(program->code(operand.value).slot == member);
}

}  // namespace qrewrite
