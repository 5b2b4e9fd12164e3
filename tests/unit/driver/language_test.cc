// What the language promises where it is easy to get wrong: ways of the search, recursion, budgets,
// lists.
#include <doctest/doctest.h>

#include <string>

#include "tests/support/rule_run.h"
#include "tests/support/small_stack.h"

namespace qrewrite {
namespace {

using testing::Fires;
using testing::OnSmallStack;
using testing::RunRules;

std::string Chain(const std::string& op, int length) {
  std::string text = "x: float[2]\nv0 = Relu(x)\n";
  for (int i = 0; i < length; ++i) {
    text += "v" + std::to_string(i + 1) + " = " + op + "(v" + std::to_string(i) + ")\n";
  }
  return text + "y = Sigmoid(v" + std::to_string(length) + ")\nreturn y\n";
}

std::string Fact(const std::string& cases, const std::string& where) {
  return "define:\n" + cases + "rules:\n  - name: r\n    match: y = Sigmoid(x)\n    where: \"" +
         where + "\"\n    replace: y = Tanh(x)\n";
}

}  // namespace

TEST_CASE("A statement is reached by any name that leads to it") {
  const std::string rules = R"(
rules:
  - name: r
    match: |
      a = Mul(x, s)
      b = Sub(x, s)
    replace: b = Neg(a)
)";
  // Through x, through s, through either; a constant leads nowhere.
  CHECK(Fires(rules, "x: float[2]\na = Mul(x, 2.0)\nb = Sub(x, 2.0)\nreturn a, b"));
  CHECK(Fires(rules, "s: float[2]\na = Mul(3.0, s)\nb = Sub(3.0, s)\nreturn a, b"));
  CHECK(Fires(rules, "x: float[2]\ns: float[2]\na = Mul(x, s)\nb = Sub(x, s)\nreturn a, b"));
  CHECK_FALSE(Fires(rules, "x: float[2]\na = Mul(x, 2.0)\nb = Sub(x, 3.0)\nreturn a, b"));
}

TEST_CASE("An absent value leads nowhere, another name does") {
  const std::string rules = R"(
rules:
  - name: r
    match: |
      a = Clip(x, lo?, hi?)
      b = Max(x, lo?)
    replace: b = Neg(a)
)";
  CHECK(Fires(rules, "x: float[2]\na = Clip(x)\nb = Max(x)\nreturn a, b"));
}

TEST_CASE("Attributes that the pattern bound are passed on to an operator that is computed") {
  const auto after = [](const std::string& computed, const std::string& op,
                        const std::string& attributes) {
    const testing::Ran ran =
        RunRules("rules:\n  - name: r\n    match: y = Add(x, " + op + "<**a>(w))\n    let: {v: \"" +
                     computed + "\"}\n    replace: y = Sub(x, v)\n",
                 "x: float[2, 2]\nt = " + op + attributes +
                     "([[1.0, 2.0], [3.0, 4.0]])\ny = Add(x, t)\nreturn y\n");
    CHECK(ran.ok);
    return ran.graph;
  };
  const auto has = [](const std::string& text, const char* part) {
    INFO(text);
    return text.find(part) != std::string::npos;
  };
  CHECK(has(after("Transpose<**a>(w)", "Transpose", "<perm=[1, 0]>"), "[[1, 3], [2, 4]]"));
  // What the operator lacks stays a reason not to fire, unless it is the default.
  CHECK(has(after("Neg<**a>(w)", "Transpose", "<perm=[1, 0]>"), "Sub"));
  CHECK_FALSE(has(after("Neg<**a>(w)", "Transpose", "<perm=[0, 1]>"), "Sub"));
  CHECK_FALSE(has(after("Identity<**a>(w)", "Softmax", "<axis=0>"), "Sub"));
  CHECK(has(after("Softmax<**a>(w)", "LogSoftmax", ""), "Sub"));
}

TEST_CASE("Facts walk up long chains on small stacks") {
  const std::string rules = Fact(R"(
  depth(v):
    - v = Tanh(p) => $depth(p) + 1
    - => 0
)",
                                 "$depth(x) == 5000");
  bool fired = false;
  OnSmallStack([&] { fired = Fires(rules, Chain("Tanh", 5000)); });
  CHECK(fired);
}

TEST_CASE("Facts that call each other, through parentheses and lets, on a small stack") {
  const std::string parentheses(60, '('), closed(60, ')');
  std::string lets;
  for (int i = 0; i < 15; ++i) {
    lets += "        l" + std::to_string(i) + ": " +
            (i == 0 ? std::string("$odd(p)") : "l" + std::to_string(i - 1)) + " + 0\n";
  }
  const std::string rules =
      Fact("  even(v):\n    - match: v = Tanh(p)\n      let:\n" + lets +
               "      is: l14 + 1\n    - => 0\n  odd(v):\n    - v = Tanh(p) => " + parentheses +
               "$even(p) + 1" + closed + "\n    - => 0\n",
           "$even(x) == 290");
  bool fired = false;
  OnSmallStack([&] { fired = Fires(rules, Chain("Tanh", 290)); });
  CHECK(fired);
}

TEST_CASE("Recursion over numbers has a stated depth") {
  const std::string count = R"(
  count(n):
    - when n == 0 => 0
    - => $count(n - 1) + 1
)";
  OnSmallStack([&] {
    CHECK(Fires(Fact(count, "$count(120) == 120"), Chain("Neg", 1)));
    const testing::Ran deep = RunRules(Fact(count, "$count(1000) == 1000"), Chain("Neg", 1));
    CHECK_FALSE(deep.ok);
    CHECK(deep.graph.find("rule `r` at Sigmoid") != std::string::npos);
    CHECK(deep.graph.find("`$count` calls itself more than 128 times deep") != std::string::npos);
  });
}

TEST_CASE("Conditions ask what is in a subgraph") {
  const auto fires = [](const std::string& condition) {
    const std::string rules =
        "sets: {heavy: [MatMul, Conv]}\nrules:\n  - name: r\n    match: y = If<then_branch=t, "
        "else_branch=e>(c)\n    where: " +
        condition + "\n    replace: y = Where(c, 1.0, 2.0)\n";
    return Fires(
        rules,
        "c: bool\nd: bool\nx: float\nm = MatMul(float[1] 1, float[1] 1)\ny = If<then_branch={ "
        "s = If<then_branch={ p = MatMul(float[1] 2, float[1] 1) }, else_branch={ q = Neg(x) "
        "}>(d)\n"
        "r = Relu(s) }, else_branch={ u = Neg(x) }>(c)\nreturn y, m");
  };
  CHECK(fires("count(@heavy, t) == 1 and count(@heavy, e) == 0 and count(@heavy) == 2"));
  CHECK_FALSE(fires("count(@heavy, t) == 0"));
  CHECK_FALSE(fires("count(@heavy, c) == 0"));  // no subgraph
}

TEST_CASE("What grows without end meets a budget that names the rule") {
  // Templates do not call themselves, but each other: twice, 60 times over.
  std::string trees = "  y = t0(x):\n    - => Tanh(x)\n";
  for (int i = 1; i <= 60; ++i) {
    const std::string inner = "$t" + std::to_string(i - 1) + "(x)";
    trees += "  y = t" + std::to_string(i) + "(x):\n    - => Add(" + inner + ", " + inner + ")\n";
  }
  struct Case {
    std::string cases;
    const char* where;
    const char* replace;
    const char* error;
  };
  const Case cases[] = {
      {"  fib(n):\n    - when n < 2 => n\n    - => $fib(n - 1) + $fib(n - 2)\n", "$fib(90) > 0",
       "y = Tanh(x)", "too many steps"},
      {"  twice(n, l):\n    - when n == 0 => l\n    - => $twice(n - 1, [l, l])\n",
       "$twice(60, [1, 2]) == $twice(60, [1, 3])", "y = Tanh(x)", "too many steps"},
      {trees, "rank(x) == 1", "y = $t60(x)", "makes more than 100003 nodes"},
  };
  for (const Case& c : cases) {
    const std::string yaml = "define:\n" + c.cases +
                             "rules:\n  - name: r\n    share: false\n    match: y = Sigmoid(x)\n" +
                             "    where: " + c.where + "\n    replace: " + c.replace + "\n";
    const testing::Ran ran = RunRules(yaml, Chain("Neg", 1));
    INFO(ran.graph);
    CHECK_FALSE(ran.ok);
    CHECK(ran.graph.find("rule `r` at Sigmoid") != std::string::npos);
    CHECK(ran.graph.find(c.error) != std::string::npos);
  }
}

TEST_CASE("Cases of templates and facts have patterns, also inside of a case") {
  const char* rules =
      "signatures: {q.J: {inputs: [x], outputs: [y]}, q.K: {inputs: ['xs...'], outputs: [y]}}\n"
      "define:\n"
      "  y = t(x):\n"
      "    - match: x = Relu(z)\n"
      "      cases:\n"
      "        - x = Relu(Abs(v)) => Neg(v)\n"
      "        - when $known(x) == 3 => Sin(z)\n"
      "    - x = Cos(z) when rank(z) == 1 => Exp(z)\n"
      "  known(x):\n"
      "    - match: x = Relu(z)\n"
      "      cases: ['x = Relu(Abs(v)) => 1', '=> 3']\n"
      "  third(_, _, x): {is: x}\n"
      "rules:\n"
      "  - {name: one, match: 'y = q.J(x)', where: '$third(1, 2, 3) == 3', replace: 'y = $t(x)'}\n"
      "  - {name: all, match: 'y = q.K(xs...)', replace: 'y = Sum($t(xs)...)'}\n";
  const auto result = [&](const std::string& statements) {
    const testing::Ran ran = RunRules(rules, "a: float[2]\nb: float[2, 1]\n" + statements);
    return ran.graph.substr(ran.graph.find("y = "));
  };
  CHECK(result("y = q.J(Relu(Abs(a)))") == "y = Neg(a)\n");
  CHECK(result("y = q.J(Relu(a))") == "y = Sin(a)\n");
  CHECK(result("y = q.J(Cos(a))") == "y = Exp(a)\n");
  CHECK(result("y = q.J(Cos(b))") == "y = q.J(y_Cos)\n");
  const std::string sum = RunRules(rules, "a: float[2]\ny = q.K(Relu(a), Cos(a))").graph;
  CHECK_MESSAGE(sum.find("Sin(a)") != std::string::npos, sum);
  CHECK_MESSAGE(sum.find("Exp(a)") != std::string::npos, sum);
}

TEST_CASE("A condition of a case may be about nothing but what is given") {
  const auto fires = [](const std::string& cases, int rank) {
    return Fires(Fact("  a(v):\n" + cases + std::to_string(rank) + "}\n    - => false\n", "$a(x)"),
                 "x: float[2]\nn = Neg(x)\nt = Relu(n)\ny = Sigmoid(t)\nreturn y");
  };
  for (const std::string cases : {"    - {match: v = Relu(_), is: true, when: rank(v) == ",
                                  "    - {match: v = Relu(u), is: true, when: rank(v) == ",
                                  "    - match: v = Relu(u)\n      cases:\n        - {match: v = "
                                  "Relu(Neg(_)), is: true, when: rank(v) == ",
                                  "    - match: v = Relu(u)\n      cases:\n        - {match: v = "
                                  "Relu(Neg(w)), is: true, when: rank(u) == "}) {
    CAPTURE(cases);
    CHECK(fires(cases, 1));
    CHECK_FALSE(fires(cases, 7));
  }
  for (const int rank : {1, 7}) {
    const std::string about =
        "  a(v):\n    - v when rank(v) == " + std::to_string(rank) + " => true\n";
    CHECK(Fires(Fact(about + "    - => false\n", "$a(x)"),
                "x: float[2]\ny = Sigmoid(x)\nreturn y") == (rank == 1));
    const std::string rules =
        "define:\n  y = sub(p):\n    - y = Relu(p) when rank(y) == " + std::to_string(rank) +
        "\nrules:\n  - {name: r, match: y = Sigmoid($sub(x)), replace: y = Tanh(x)}\n";
    CHECK(Fires(rules, "x: float[2]\nt = Relu(x)\ny = Sigmoid(t)\nreturn y") == (rank == 1));
  }
}

TEST_CASE("Lists of lists are compared as wholes by `in`") {
  const auto holds = [](const std::string& condition) {
    return Fires("rules:\n  - name: r\n    match: y = Sigmoid(x)\n    where: \"" + condition +
                     "\"\n    replace: y = Tanh(x)\n",
                 "x: float[2, 3]\ny = Sigmoid(x)");
  };
  CHECK(holds("[2, 3] in [[2, 3], [4]]"));
  CHECK(holds("shape(x) in [[2, 3], [4]]"));
  CHECK_FALSE(holds("[1, 1, 1] in [[1, 1], [1]]"));
  CHECK_FALSE(holds("2 in [[2, 3], [4]]"));
  CHECK(holds("[2, 3] in [1, 2, 3]"));  // of a plain list: each member
  CHECK(holds("2 in [1, 2, 3]"));
}

TEST_CASE("A constant of one axis is a list beside lists") {
  const auto fires = [](const std::string& condition, const std::string& shape = "[0, 8]") {
    return Fires(
        "rules:\n  - name: r\n    match: y = Sigmoid(Reshape(x, to))\n    let: {n: \"to[1]\"}\n    "
        "where: \"" +
            condition + "\"\n    replace: y = Tanh(x)\n",
        "x: float[2, 8]\nt: int64[2]\ny = Sigmoid(Reshape(x, " + shape + "))");
  };
  for (const std::string same : {"[0, n]", "[to[0], to[1]]", "[0, max(to)]", "[0, n * 1]",
                                 "[0, i64(n)]", "[0, shape(x)[1]]"}) {
    CAPTURE(same);
    CHECK(fires("to == " + same));
    CHECK(fires(same + " == to"));
    CHECK(fires("to <= " + same));
    CHECK_FALSE(fires("to != " + same));
    CHECK_FALSE(fires("not (to == " + same + ")"));
  }
  CHECK_FALSE(fires("to == [1, n]"));
  CHECK_FALSE(fires("to == [0, n, n]"));
  CHECK(fires("to != [0, n, n]"));
  CHECK(fires("to in [[0, 8], [1]]"));
  CHECK(fires("to in [[1], [0, n]]"));
  CHECK(fires("[0, 8] in [to, [1, 2]]"));
  CHECK(fires("[to, [3]] == [[0, 8], [3]]"));
  CHECK_FALSE(fires("to in [[0], [8]]"));
  CHECK_FALSE(fires("[to, [3]] == [[0, 7], [3]]"));
  // What nobody knows is in no list, and it is not known that it is not.
  CHECK_FALSE(fires("to in [[0, 8], [1]]", "t"));
  CHECK_FALSE(fires("not (to in [[0, 8], [1]])", "t"));
  CHECK_FALSE(fires("to != [0, size(x)]", "t"));
}

TEST_CASE("An operator is in a set") {
  const auto fires = [](const std::string& set, const std::string& condition,
                        const std::string& op) {
    return Fires("sets: {some: " + set +
                     "}\nrules:\n  - name: r\n    match: y = n:!Abs(x)\n    where: \"" + condition +
                     "\"\n    replace: y = Abs(x)\n",
                 "x: float[2]\ny = " + op + "(x)");
  };
  CHECK(fires("[Neg, Sin]", "op(n) in @some", "Neg"));
  CHECK_FALSE(fires("[Neg, Sin]", "op(n) in @some", "Relu"));
  CHECK(fires("[Neg, Sin]", "not (op(n) in @some)", "Relu"));
  CHECK_FALSE(fires("[Neg, Sin]", "not (op(n) in @some)", "Neg"));
  CHECK(fires("['acme.*']", "op(n) in @some", "acme.Gain"));
  CHECK_FALSE(fires("['acme.*']", "op(n) in @some", "acne.Gain"));
}

TEST_CASE("all, any, log2, other_axes, repeat") {
  const auto holds = [](const std::string& condition) {
    return Fires(
        "define:\n  wide(v):\n    - v = Relu(_) => true\n    - => false\nrules:\n  - "
        "name: r\n    match: y = "
        "Sum(xs...)\n    where: \"" +
            condition + "\"\n    replace: y = Max(xs...)\n",
        "x: float[2]\nw: float[2]\ny = Sum(Relu(x), w)");
  };
  CHECK_FALSE(holds("all($wide(xs))"));
  CHECK(holds("any($wide(xs))"));
  CHECK(holds("all([1 < 2, true])"));
  CHECK_FALSE(holds("any([1 > 2, false])"));
  CHECK(holds("all([]) and not any([])"));
  CHECK(holds("any(Equal([1, 2], 2)) and not all(Equal([1, 2], 2))"));
  CHECK_FALSE(holds("any(Equal([1, 2], 3))"));
  CHECK(holds("log2(8) == 3 and log2(f32(0.25)) == -2 and dtype(log2(f32(2))) == FLOAT"));
  CHECK(holds("log2(2 ** 40) == 40 and log2([2, 4])[1] == 2"));
  CHECK(holds("other_axes(4, [1]) == [0, 2, 3] and other_axes(3, [-1, 0]) == [1]"));
  CHECK(holds("len(other_axes(1, 0)) == 0"));
  CHECK(holds("repeat(1, 3) == [1, 1, 1] and len(repeat(0, 7)) == 7 and repeat(-2, 7) == -2"));
  CHECK(holds("len(repeat(1, 0)) == 0 and not known(repeat(1, -1)) and not known(repeat(0.5, 2))"));
}

TEST_CASE("Outputs of a body are no outputs of the main graph") {
  const auto outputs = [](const std::string& where, const std::string& graph) {
    return RunRules(
               "rules: [{name: r, match: y = Relu(x), where: " + where + ", replace: y = Neg(x)}]",
               graph)
        .graph;
  };
  const std::string graph =
      "c: bool\nx: float[2]\ny = If<then_branch={ t = Relu(x) }, else_branch={ e = Abs(x) }>(c)\n"
      "z = Relu(x)\nreturn y, z";
  const auto fired = [&](const std::string& where) {
    const std::string after = outputs(where, graph);
    return std::pair(after.find("t = Neg(x)") != std::string::npos,
                     after.find("z = Neg(x)") != std::string::npos);
  };
  CHECK(fired("is_output(y)") == std::pair(true, true));
  CHECK(fired("is_main_output(y)") == std::pair(false, true));
  // A body may give a value from outside of it.
  const std::string outside = outputs("is_main_output(y)",
                                      "c: bool\nx: float[2]\nv = Relu(x)\ny = If<then_branch={ "
                                      "return v }, else_branch={ e = Abs(x) }>(c)");
  CHECK(outside.find("v = Relu(x)") != std::string::npos);
}

TEST_CASE("A condition that does not hold is told with what it compares") {
  const struct {
    const char *where, *told;
  } rows[] = {
      {"rank(x) == 4", "`rank(x) == 4` is false: `rank(x)` is 2"},
      {"const(w) and w > 2", "`w > 2` is false: `w` is [1, 3]"},
      {"shape(x)[1] in [1, 3]", "`shape(x)[1] in [1, 3]` is false: `shape(x)[1]` is 2"},
      {"not dtype(x) == FLOAT", "`not (dtype(x) == FLOAT)` is false: `dtype(x)` is FLOAT"},
      {"name(x) =~ 'a' or axis == 0",
       "`name(x) =~ 'a' or axis == 0` is false: `name(x)` is 'x', `axis` is 1"},
      {"half == 1.5", "`half == 1.5` is false: `half` is [0.5, 1.5]"},
      {"is_output(x)", "`is_output(x)` is false: `x` is read by acme.Op `y`"},
      {"shape(x)[0] == 3", "`shape(x)[0] == 3`: size N is not known"},
  };
  for (const auto& row : rows) {
    const std::string rules =
        std::string("rules:\n  - name: r\n    match: y = acme.Op<axis=_, axis2=axis>(x, w)\n") +
        "    let: {half: w / 2.0}\n    where: \"" + row.where + "\"\n    replace: y = Neg(x)\n" +
        "  - {name: stop, match: \"y = acme.Op<**_>(_...)\", refuse: not here}\n";
    const testing::Ran ran = RunRules(
        "signatures: {acme.Op: {inputs: [x, w], attributes: {axis: 1, axis2: 1}, outputs: [y]}}\n" +
            rules,
        "x: float[N, 2]\ny = acme.Op(x, float[2] [1, 3])");
    CAPTURE(row.where);
    CAPTURE(ran.graph);
    CHECK(ran.graph.find(std::string("rule `r` came nearest: ") + row.told + " (test.yaml") !=
          std::string::npos);
  }
}

TEST_CASE("What came nearest is the order of operands that got furthest") {
  const testing::Ran ran = RunRules(R"(
rules:
  - name: r
    match: y = Add(Relu(Neg(x)), w)
    where: rank(w) == 3
    replace: y = Sub(w, x)
  - {name: stop, match: 'y = Add(_, _)', refuse: not here}
)",
                                    "x: float[2]\nw: float[2]\ny = Add(w, Relu(Neg(x)))");
  CAPTURE(ran.graph);
  CHECK(ran.graph.find("`rank(w) == 3` is false: `rank(w)` is 1") != std::string::npos);
}

TEST_CASE("Nodes that a rule refuses for one reason are one error") {
  std::string graph = "x: float[2]\nz: float[2, 2]\nc = Cos(x)\nd = Sin(z)\n";
  for (int i = 0; i < 60; ++i) graph += "y" + std::to_string(i) + " = Sin(x)\n";
  const testing::Ran ran = RunRules(R"(
rules:
  - {name: near, match: y = Sin(x), where: 'rank(x) == 1 and is_output(x)', replace: y = x}
  - {name: stop, match: y = Sin|Cos(x), refuse: not here}
)",
                                    graph);
  CHECK_FALSE(ran.ok);
  size_t told = 0;
  for (size_t at = 0; (at = ran.graph.find(": not here (rule", at)) != std::string::npos; ++at)
    ++told;
  CAPTURE(ran.graph);
  CHECK(told == 3);  // two reasons of Sin, one of Cos
  CHECK(ran.graph.find("`) and 55 more: not here (rule `stop`)") != std::string::npos);
  CHECK(ran.graph.find("`is_output(x)` is false") != std::string::npos);
  CHECK(ran.graph.find("`rank(x) == 1` is false: `rank(x)` is 2") != std::string::npos);
}

TEST_CASE("A fact of a value, called for a list of values, is a list") {
  const std::string rules = R"(
define:
  nonneg(v):
    - v = Relu(_) => true
    - => false
rules:
  - name: r
    match: y = Sum(xs...)
    where: $nonneg(xs)
    replace: y = Max(xs...)
)";
  CHECK(Fires(rules, "x: float[2]\ny = Sum(Relu(x), Relu(Neg(x)))"));
  CHECK_FALSE(Fires(rules, "x: float[2]\ny = Sum(Relu(x), Neg(x))"));
}

TEST_CASE("What a fact drew from a value is forgotten when that value is made otherwise") {
  // `b` sees that `a` turned the Neg below into a Relu.
  const std::string rules = R"(
define:
  nonneg(v):
    - v = Relu(_) => true
    - v = Identity(p) => $nonneg(p)
    - => false
rules:
  - name: b
    match: y = Abs(x)
    where: $nonneg(x)
    replace: y = x
  - name: a
    match: |
      m = Neg(x)
      y = Abs(Identity(m))
    replace: m = Relu(x)
)";
  const testing::Ran ran =
      RunRules(rules, "x: float[2]\nm = Neg(x)\ni = Identity(m)\ny = Abs(i)\nz = Sigmoid(y)");
  CHECK(ran.graph.find("Abs") == std::string::npos);
}

TEST_CASE("A set may have very many members, and each its data") {
  std::string rules = "sets:\n  s:\n";
  for (int i = 0; i < 40'000; ++i)
    rules += "    acme.Op" + std::to_string(i) + ": {k: " + std::to_string(i) + "}\n";
  rules += R"(
signatures:
  acme.Op2: {inputs: [x], outputs: {y: {shape: shape(x), dtype: dtype(x)}}}
  acme.Op39999: {inputs: [x], outputs: {y: {shape: shape(x), dtype: dtype(x)}}}
rules:
  - name: r
    match: y = n:@s(x)
    replace: y = Add(x, f32(n.k))
)";
  const testing::Ran ran =
      RunRules(rules, "x: float[2]\ny = acme.Op39999(x)\nz = acme.Op2(x)\nreturn y, z");
  CHECK(ran.graph.find("y = Add(x, 39999.0)") != std::string::npos);
  CHECK(ran.graph.find("z = Add(x, 2.0)") != std::string::npos);
}

}  // namespace qrewrite
