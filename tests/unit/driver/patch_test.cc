// What a replacement may not do to a graph, and what is kept beside it: rule text, graph text, result
// text. Every firing is verified.
#include <doctest/doctest.h>

#include <string>

#include "tests/support/rule_run.h"

using qrewrite::testing::Ran;
using qrewrite::testing::RunRules;

namespace {

struct Row {
  const char* what;
  const char* rules;
  const char* given;
  const char* result;  // "": unchanged
};

const Row kRows[] = {
    {"a node does not read a value of a branch from outside",
     R"(
rules:
  - name: r
    match: |
      a = Relu(x)
      b = Neg(x)
    replace: a = Add(b, x)
)",
     R"(x: float[2]
c: bool
a = Relu(x)
y = If<then_branch={
  b = Neg(x)
  t = Abs(b)
  return t
}, else_branch={
  e = Exp(x)
  return e
}>(c)
return a, y
)",
     ""},
    {"an inner value is not made of what lies behind it",
     R"(
rules:
  - name: r
    match: |
      t = Relu(x)
      y = Neg(t)
    replace: t = Abs(y)
)",
     "x: float[2]\ny = Neg(Relu(x))\n", ""},
    {"two new nodes have a subgraph each",
     R"(
rules:
  - name: r
    match: y = If<then_branch=t, else_branch=e>(c)
    where: uses(c) == 1
    replace: |
      a = If<then_branch=t, else_branch=e>(c)
      b = If<then_branch=e, else_branch=t>(c)
      y = Sub(a, b)
)",
     R"(x: float[2]
c: bool
y = If<then_branch={ t = Abs(x) }, else_branch={ e = Exp(x) }>(c)
)",
     R"(x: float[2]
c: bool
y_If = If<else_branch={
  e = Exp(x)
}, then_branch={
  t = Abs(x)
}>(c)
y_If_1 = If<else_branch={
  y_t = Abs(x)
}, then_branch={
  y_e = Exp(x)
}>(c)
y = Sub(y_If, y_If_1)
)"},
    {"a node that stays keeps its subgraphs",
     R"(
rules:
  - name: r
    match: y, z = If<then_branch=t, else_branch=e>(Not(c))
    where: uses(y) > 0
    replace: y, _ = If<then_branch=e, else_branch=t>(c)
)",
     R"(x: float[2]
c: bool
n = Not(c)
y, z = If<then_branch={
  t = Abs(x)
  u = Neg(x)
  return t, u
}, else_branch={
  e = Exp(x)
  f = Cos(x)
  return e, f
}>(n)
return y, z
)",
     R"(x: float[2]
c: bool
y = If<else_branch={
  y_t = Abs(x)
  y_u = Neg(x)
}, then_branch={
  y_e = Exp(x)
  y_f = Cos(x)
}>(c)
n = Not(c)
y_outputs, z = If<else_branch={
  e = Exp(x)
  f = Cos(x)
}, then_branch={
  t = Abs(x)
  u = Neg(x)
}>(n)
return y, z
)"},
    {"a node with subgraphs that is made again as it was is no change",
     R"(
rules:
  - name: r
    match: y... = n:If<then_branch=t, else_branch=e>(c)
    replace: y... = n<then_branch=t, else_branch=e>(c)
)",
     "x: float[2]\nc: bool\ny = If<then_branch={ t = Abs(x) }, else_branch={ e = Exp(x) }>(c)", ""},
    {"an output that the node lacks may be a step on the way to another",
     R"(
rules:
  - name: r
    match: y?, h? = RNN<hidden_size=_>(x, w, r)
    replace: |
      h = Tanh(MatMul(x, w))
      y = Unsqueeze(h, [0])
)",
     R"(x: float[1, 2, 3]
w: float[1, 3, 4]
r: float[1, 4, 4]
y = RNN<hidden_size=4>(x, w, r)
)",
     R"(x: float[1, 2, 3]
w: float[1, 3, 4]
r: float[1, 4, 4]
y_MatMul = MatMul(x, w)
y_Tanh = Tanh(y_MatMul)
y = Unsqueeze(y_Tanh, int64[1] [0])
)"},
    {"operands of a new node have the type that an input gets",
     R"(
rules:
  - name: r
    equivalence: rescaled
    match: f = DequantizeLinear(x, s, z)
    where: is_input(x) and dtype(x) == INT8
    let: {z2: 'u8(i64(z) + 128)'}
    replace: f = DequantizeLinear(x, s, z2)
    retype: {x: UINT8}
)",
     "x: int8[2]\nf = DequantizeLinear(x, 0.5, int8 3)\n",
     "x: uint8[2]\nf = DequantizeLinear(x, 0.5, uint8 131)\n"},
    {"an operand of the old type is none",
     R"(
rules:
  - name: r
    equivalence: rescaled
    match: f = DequantizeLinear(x, s, z)
    where: is_input(x) and dtype(x) == INT8
    replace: f = DequantizeLinear(x, s, Identity(z))
    retype: {x: UINT8}
)",
     "x: int8[2]\nf = DequantizeLinear(x, 0.5, int8 3)\n", ""},
    {"a node once more with another input takes its subgraphs along",
     R"(
rules:
  - name: r
    match: |
      d = Not(c)
      y = n:If<**_>(d)
    replace: y = Neg(n(d -> c))
)",
     R"(x: float[2]
c: bool
y = If<then_branch={ t = Abs(x) }, else_branch={ e = Exp(x) }>(Not(c))
)",
     R"(x: float[2]
c: bool
y_If = If<else_branch={
  e = Exp(x)
}, then_branch={
  t = Abs(x)
}>(c)
y = Neg(y_If)
)"},
    {"attributes that are passed on may be subgraphs",
     R"(
rules:
  - name: r
    match: |
      d = Not(c)
      y = If<then_branch=t, **a>(d)
    replace: y = Neg(If<then_branch=t, **a>(c))
)",
     R"(x: float[2]
c: bool
y = If<then_branch={ t = Abs(x) }, else_branch={ e = Exp(x) }>(Not(c))
)",
     R"(x: float[2]
c: bool
y_If = If<else_branch={
  e = Exp(x)
}, then_branch={
  t = Abs(x)
}>(c)
y = Neg(y_If)
)"},
    {"a replacement that is no match gives subgraphs back",
     R"(
rules:
  - name: wrong
    match: y = If<then_branch=t, else_branch=e>(c)
    replace: |
      a = If<then_branch=t, else_branch=e>(c)
      y = Concat<axis=0>(a, a)
  - name: right
    match: y = Sin(x)
    replace: y = Cos(x)
)",
     R"(x: float[2]
c: bool
y = If<then_branch={ t = Abs(x) }, else_branch={ e = Exp(x) }>(c)
z = Sin(y)
)",
     R"(x: float[2]
c: bool
y = If<else_branch={
  e = Exp(x)
}, then_branch={
  t = Abs(x)
}>(c)
z = Cos(y)
)"},
    {"a node of a branch reads what is around it",
     R"(
rules:
  - name: r
    match: |
      a = Relu(x)
      b = Neg(x)
    replace: b = Sub(a, x)
)",
     R"(x: float[2]
c: bool
a = Relu(x)
y = If<then_branch={
  b = Neg(x)
  t = Abs(b)
  return t
}, else_branch={
  e = Exp(x)
  return e
}>(c)
return a, y
)",
     R"(x: float[2]
c: bool
a = Relu(x)
y = If<else_branch={
  e = Exp(x)
}, then_branch={
  b = Sub(a, x)
  t = Abs(b)
}>(c)
return a, y
)"},
    {"a node whose other output is redefined keeps the output that it must have",
     "rules: [{name: r, match: 'v, _ = TopK<**_>(x, k)', where: 'uses(v) > 0', replace: 'v = "
     "Relu(x)'}]",
     "x: float[4]\nv, i = TopK(x, [4])\na = Neg(v)\nb = Neg(i)\nreturn a, b",
     "x: float[4]\nv = Relu(x)\na = Neg(v)\nv_Values, i = TopK(x, int64[1] [4])\nb = "
     "Neg(i)\nreturn a, b\n"},
    {"but not one that it can do without",
     "rules: [{name: r, match: 'y, m = Dropout(x, ratio, t)', where: 'uses(m) > 0', replace: 'm = "
     "Greater(x, ratio)'}]",
     "x: float[4]\ny, m = Dropout(x, 0.5, true)\na = Neg(y)\nb = Not(m)\nreturn a, b",
     "x: float[4]\ny_const = float 0.5\ny, _ = Dropout(x, y_const, bool true)\na = Neg(y)\nm = "
     "Greater(x, y_const)\nb = Not(m)\n"},
    {"a body of two outputs is put in place",
     R"(
rules:
  - name: r
    match: y... = If<then_branch=t, else_branch=e>(c)
    cases:
      - when c == true => y... = t()
      - => y... = e()
)",
     R"(x: float[4]
a, b = If<then_branch={
  p = Relu(x)
  q = Neg(x)
  return p, q
}, else_branch={
  r = Neg(x)
  s = Abs(x)
  return r, s
}>(true)
z = Add(a, b)
)",
     "x: float[4]\na = Relu(x)\nb = Neg(x)\nz = Add(a, b)\n"},
    {"operands that do not broadcast",
     "rules: [{name: r, match: 'y = Reshape<allowzero=_>(MatMul(Reshape<allowzero=_>(a, _), "
     "Reshape<allowzero=_>(b, _)), s)', replace: 'y = MatMul(a, b)'}]",
     "a: float[2, 8, 5, 6]\nb: float[4, 4, 6, 5]\ny = Reshape(MatMul(Reshape(a, [2, 8, 5, 6]), "
     "Reshape(b, [2, 8, 6, 5])), [2, 8, 5, 5])",
     ""},
    {"those of a model that is wrong already may go on so",
     "rules: [{name: r, match: 'y = Sub(a, b)', replace: 'y = Add(a, Neg(b))'}]",
     "a: float[2, 3]\nb: float[4, 3]\ny = Sub(a, b)",
     "a: float[2, 3]\nb: float[4, 3]\ny_Neg = Neg(b)\ny = Add(a, y_Neg)\n"},
    {"a size that callers choose is no number",
     "rules: [{name: r, match: 'y = Add(Expand(x, s), z)', replace: 'y = Add(x, z)'}]",
     "x: float[3]\nz: float[M, 3]\ny = Add(Expand(x, [4, 3]), z)", ""},
    {"the same choice is the same size",
     "rules: [{name: r, match: 'y = Add(Expand(x, s), z)', replace: 'y = Add(x, z)'}]",
     "x: float[3]\nz: float[M, 3]\ny = Add(Expand(x, [1, 3]), z)",
     "x: float[3]\nz: float[M, 3]\ny = Add(x, z)\n"},
    {"a number is no size that callers choose",
     "rules: [{name: r, match: 'y = Relu(x)', where: 'is_input(x)', replace: 'y = Expand(Slice(x, "
     "[0], [1], [0]), [4, 3])'}]",
     "x: float[M, 3]\nt = Relu(x)\ny = Neg(t)", ""},
    {"a cycle through a node that a rule has made is one",
     R"(
rules:
  - {name: first, match: y = Abs(x), replace: y = Neg(x)}
  - name: r
    match: |
      t = Relu(x)
      y = Neg(t)
    replace: t = Sin(y)
)",
     "x: float[2]\ny = Abs(Relu(x))\n", "x: float[2]\ny_Relu = Relu(x)\ny = Neg(y_Relu)\n"},
    {"a reader that repeats its last input is asked for the new type of a later one",
     "rules: [{name: r, match: 'y = acme.Feed(x)', replace: 'y = x', retype: {x: INT8}}]",
     "x: float[2]\nz: float[2]\ny = acme.Feed(x)\ns = Sum(z, z, y)\n", ""},
    {"a reader without signature takes any type",
     "rules: [{name: r, match: 'y = acme.Feed(x)', replace: 'y = x', retype: {x: INT8}}]",
     "x: float[2]\ny = acme.Feed(x)\nz = acme.Use(y)\n", "x: int8[2]\nz = acme.Use(x)\n"},
    {"an output that is kept for an operator without signature",
     "rules: [{name: r, match: 'y, z = acme.Two(x)', where: 'uses(y) > 0', replace: 'y = "
     "Relu(x)'}]",
     "x: float[2]\ny, z = acme.Two(x)\na = Neg(y)\nb = Neg(z)\nreturn a, b",
     "x: float[2]\ny = Relu(x)\na = Neg(y)\ny_value, z = acme.Two(x)\nb = Neg(z)\nreturn a, b\n"},
    {"an output that is kept among those that repeat",
     "rules: [{name: r, match: 'a, b, c = Split<num_outputs=3>(x)', where: 'uses(c) > 0', replace: "
     "'c = Slice(x, [4], [6])'}]",
     "x: float[6]\na, b, c = Split<num_outputs=3>(x)\ny = Sum(a, b, c)\n",
     "x: float[6]\na, b, c_outputs = Split<num_outputs=3>(x)\nc = Slice(x, int64[1] [4], int64[1] "
     "[6])\ny = Sum(a, b, c)\nreturn y\n"},
    {"a fact that asked whether an output is read is asked again when it is not",
     R"(
define:
  first(v):
    - v = TopK<**_>(_, _) => true
rules:
  - {name: use, match: y = Relu(v), where: $first(v), replace: y = Abs(v)}
  - {name: free, match: 'y = Add(Cast<to=FLOAT>(i), z)', replace: y = Neg(z)}
)",
     "x: float[4]\nz: float[2]\nv, i = TopK(x, [2])\nr = Relu(v)\ny = Add(Cast<to=FLOAT>(i), "
     "z)\nreturn r, y",
     "x: float[4]\nz: float[2]\nv, i = TopK(x, int64[1] [2])\nr = Abs(v)\ny = Neg(z)\nreturn r, "
     "y\n"},
    {"names of names end: the number behind one is no part of it",
     "rules: [{name: r, match: y = Relu(x), replace: y = Exp(Neg(x))}]",
     "x: float[2]\na_Neg_Neg_Neg_Neg_Neg_3 = Relu(x)\n",
     "x: float[2]\na_Neg_Neg_Neg_Neg_Neg = Neg(x)\na_Neg_Neg_Neg_Neg_Neg_3 = "
     "Exp(a_Neg_Neg_Neg_Neg_Neg)\n"},
    {"a node of two outputs is copied with both",
     "rules: [{name: r, match: 'v, i = n:TopK<**_>(Abs(x), k)', replace: 'v, i = n(k -> [1])', "
     "where: 'k == 2'}]",
     "x: float[4]\nt = Abs(x)\nv, i = TopK(t, [2])\na = Neg(v)\nb = Neg(i)\nreturn a, b", ""},
};

const char* const kManyReaders = R"(
rules:
  - {name: left, match: y = Sin(x), refuse: no Sin here}
  - name: slow
    match: |
      a = Abs(x)
      b = Neg(x)
      c = Exp(x)
    where: rank(a) + rank(b) + rank(c) == 7
    replace: a = Neg(b)
phases:
  - {name: never, when: opset == 1, rules: [slow]}
  - {name: last, rules: [left]}
)";

// x has `count` readers of each kind.
std::string ManyReaders(int count) {
  std::string text = "x: float[2]\ns = Sin(x)\n", list = "s";
  for (int i = 0; i < count; ++i) {
    for (const char* op : {"Abs", "Neg", "Exp"}) {
      const std::string name = op + std::to_string(i);
      text += name + " = " + op + "(x)\n";
      list += ", " + name;
    }
  }
  return text + "return " + list + "\n";
}

}  // namespace

TEST_CASE("What a replacement does to a graph") {
  for (const Row& row : kRows) {
    CAPTURE(row.what);
    const Ran ran = RunRules(row.rules, row.given);
    CHECK_MESSAGE(ran.ok, ran.graph);
    if (*row.result == '\0') {
      CHECK_MESSAGE(!ran.report.changed, ran.graph);
    } else {
      CHECK(ran.graph == row.result);
    }
  }
}

TEST_CASE("An explanation that takes too many steps is none, and no error") {
  const Ran ran = RunRules(kManyReaders, ManyReaders(160));
  CHECK_FALSE(ran.ok);
  CHECK(ran.graph.find("no Sin here") != std::string::npos);
  CHECK(ran.graph.find("too many steps") == std::string::npos);
}

TEST_CASE(
    "An opset upgrade raises the IR version, but from 3, where initializers cannot be overridden") {
  const auto rules = qrewrite::LoadRulesText("t.yaml", R"(
qrewrite: 1
name: t
phases: [{name: up, to_opset: 24, rules: []}]
)");
  REQUIRE(rules.ok());
  const auto inference = qrewrite::MakeOnnxInference();
  const std::pair<int64_t, int64_t> versions[] = {{3, 12}, {7, 12}, {12, 12}, {13, 13}};
  for (const auto& [before, after] : versions) {
    qrewrite::Graph graph = qrewrite::testing::MakeGraph("x: float[2]\ny = Relu(x)", **rules, 13);
    graph.ir_version = before;
    const auto ran = Run(graph, *Compile(*rules), {}, {.inference = inference.get()});
    REQUIRE(ran.ok());
    CHECK(graph.ir_version == after);
  }
}

TEST_CASE("A search that takes too many steps ends an opset upgrade, too") {
  const Ran ran = RunRules(R"(
rules:
  - name: slow
    match: |
      a = Abs(x)
      b = Neg(x)
      c = Exp(x)
    where: rank(a) + rank(b) + rank(c) == 7
    replace: a = Neg(b)
phases: [{name: up, to_opset: 22, rules: [slow]}]
)",
                           ManyReaders(1600));
  CHECK_FALSE(ran.ok);
  CHECK_MESSAGE(ran.graph.find("rule `slow` at Exp") != std::string::npos, ran.graph);
  CHECK(ran.graph.find("too many steps") != std::string::npos);
}

TEST_CASE("What is known of a value stays known when nothing is of the node that takes its place") {
  const std::string rules = R"(
rules:
  - name: attention
    match: y = Erf(x)
    replace: y = com.microsoft.MultiHeadAttention<num_heads=2>(x, x, x)
  - name: relu
    match: y = Relu(x)
    where: rank(x) == 3 and dtype(x) == FLOAT and shape(x)[1] == 4
    replace: y = Abs(x)
  - name: later
    match: y = Neg(Abs(x))
    where: shape(x)[2] == 16
    replace: y = Neg(x)
)";
  for (const std::string batch : {"2", "B", "?"}) {
    CAPTURE(batch);
    const Ran ran = RunRules(rules, "x: float[" + batch + ", 4, 16]\ny = Neg(Relu(Erf(x)))");
    REQUIRE_MESSAGE(ran.ok, ran.graph);
    CHECK_MESSAGE(ran.graph.find("Relu(") == std::string::npos, ran.graph);
    CHECK_MESSAGE(ran.graph.find("Abs(") == std::string::npos, ran.graph);
  }
}
