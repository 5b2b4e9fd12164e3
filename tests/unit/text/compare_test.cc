// SameGraph: what counts as the same, and how a difference reads.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include "tests/unit/text/text_support.h"

namespace qrewrite {
namespace {

// "" if the graphs of both texts are the same.
std::string Difference(std::string_view expected, std::string_view found, bool defaults = false) {
  Graph a, b;
  std::string messages = Build(expected, a) + Build(found, b);
  if (!messages.empty()) return messages;
  std::string difference;
  const bool same =
      defaults ? SameGraph(a, b, Signatures::Builtin(), &difference) : SameGraph(a, b, &difference);
  CHECK_EQ(same, difference.empty());
  return difference;
}

TEST_CASE("SameGraph: inner names, order and dead nodes do not matter") {
  CHECK_EQ(Difference("x: float\nt = Relu(x)\ny = Neg(t)", "x: float\ny = Neg(u)\nu = Relu(x)"),
           "");
  CHECK_EQ(Difference("a: float\nb: float\ny = Add(a, b)\nz = Relu(a)",
                      "b: float\na: float\nz = Relu(a)\ny = Add(a, b)"),
           "");
  CHECK_EQ(Difference("x: float\ny = Add(x, 1)", "x: float\nk = 1.0\ny = n1:Add(x, k)"), "");
  CHECK_EQ(Difference("x: float\ny = Neg(x)", "x: float\nd = Exp(x)\ny = Neg(x)\nreturn y"), "");
  CHECK_EQ(Difference("x: float[N]\ny = Neg(x)", "x: float\ny = Neg(x)"), "");
  CHECK_EQ(Difference("x: float\ny = Clip(x, absent, absent)", "x: float\ny = Clip(x)"), "");
}

TEST_CASE("SameGraph: names and types of inputs and outputs count") {
  CHECK_EQ(Difference("x: float\ny = Neg(x)", "w: float\ny = Neg(w)"),
           "different inputs\n  expected: x\n  found:    w");
  CHECK_EQ(Difference("x: float\ny = Neg(x)", "x: float\n'z 1' = Neg(x)"),
           "different outputs\n  expected: y\n  found:    'z 1'");
  CHECK_EQ(Difference("x: float[1, N]\ny = Neg(x)", "x: int8[1, M]\ny = Neg(x)"),
           "input x has another type\n  expected: float[1, N]\n  found:    int8[1, M]");
  CHECK_EQ(Difference("x: float[1, N]\ny = Neg(x)", "x: float[1, M]\ny = Neg(x)"),
           "input x has another type\n  expected: float[1, N]\n  found:    float[1, M]");
  CHECK_EQ(Difference("x: float\ny: uint8\ny = a.F(x)", "x: float\ny: int8\ny = a.F(x)"),
           "output y has another type\n  expected: uint8\n  found:    int8");
  CHECK_EQ(Difference("x: float\ny: uint8\ny = a.F(x)", "x: float\ny = a.F(x)"), "");
}

TEST_CASE("SameGraph: where graphs differ") {
  struct Case {
    std::string_view expected, found, difference;
  };
  const Case cases[] = {
      {"x: float\ny = Neg(Relu(x))", "x: float\ny = Neg(Exp(x))",
       "output `y`, input 0 of Neg: different operators\n"
       "  expected: y_Relu = Relu(x)\n  found:    y_Exp = Exp(x)"},
      {"x: float\ny = Clip(x, 0, 25.5)", "x: float\ny = Clip(x, 0, 25)",
       "output `y`, input 2 of Clip: different constants\n"
       "  expected: y_const_2 = float 25.5\n  found:    y_const_2 = float 25"},
      {"x: float\ny = Add(x, 1)", "x: float\ny = Add(x, [1])",
       "output `y`, input 1 of Add: different constants\n"
       "  expected: y_const = float 1\n  found:    y_const = float[1] [1]"},
      {"x: float\ny = Elu<alpha=2>(x)", "x: float\ny = Elu(x)",
       "output `y`: attribute `alpha` differs\n"
       "  expected: y = Elu<alpha=2.0>(x)\n  found:    y = Elu(x)"},
      {"x: float\ny = Clip(x, 0)", "x: float\ny = Clip(x)",
       "output `y`, input 1 of Clip: one is absent\n"
       "  expected: y_const = float 0\n  found:    absent"},
      {"x: float\ny = Add(x, x)", "x: float\ny = Add(x, Relu(x))",
       "output `y`, input 1 of Add: another value is read here\n"
       "  expected: x: float (an input)\n  found:    y_Relu = Relu(x)"},
      {"x: float\na, b = Split<num_outputs=2>(x)\ny = Neg(a)\nreturn y",
       "x: float\na, b = Split<num_outputs=2>(x)\ny = Neg(b)\nreturn y",
       "output `y`, input 0 of Neg: different outputs of the same operator\n"
       "  expected: a, b = Split<num_outputs=2>(x)\n"
       "  found:    a, b = Split<num_outputs=2>(x)"},
      {"x: float\ny = Add(Clip(x, 0.0), Clip(x, 0.0))", "x: float\nt = Clip(x, 0.0)\ny = Add(t, t)",
       "output `y`, input 1 of Add: one node is made of two equal ones; write it once, or `share: "
       "false` in the rule\n"
       "  expected: y_Clip_2 = Clip(x, 0.0)\n  found:    t = Clip(x, 0.0)"},
      // One node read twice is not two equal nodes.
      {"x: float\nt = Relu(x)\ny = Add(t, t)", "x: float\ny = Add(Relu(x), Relu(x))",
       "output `y`, input 1 of Add: another value is read here\n"
       "  expected: t = Relu(x)\n  found:    y_Relu_2 = Relu(x)"},
      {"c: bool\nx: float\ny = If<then_branch={ a = Relu(x) }, else_branch={ b = Neg(x) }>(c)",
       "c: bool\nx: float\ny = If<then_branch={ a = Relu(x) }, else_branch={ b = Exp(x) }>(c)",
       "output `y`, output 0 of a body of If: different operators\n"
       "  expected: b = Neg(x)\n  found:    b = Exp(x)"},
      {"c: bool\nx: float\ny = If<then_branch={ a = Relu(x) }, else_branch={ b = Neg(x) }>(c)",
       "c: bool\nx: float\ny = If<then_branch={ a = Relu(x) }, else_branch={ b = Neg(x); d = "
       "Exp(x) }>(c)",
       "output `y`: attribute `else_branch` differs\n"
       "  expected: y = If<else_branch={\n"
       "              b = Neg(x)\n            }, then_branch={\n"
       "              a = Relu(x)\n            }>(c)\n"
       "  found:    y = If<else_branch={\n"
       "              b = Neg(x)\n              d = Exp(x)\n            }, then_branch={\n"
       "              a = Relu(x)\n            }>(c)"},
  };
  for (const Case& c : cases) {
    CHECK_EQ(Difference(c.expected, c.found), c.difference);
    CHECK_NE(Difference(c.found, c.expected), "");
    CHECK_EQ(Difference(c.expected, c.expected), "");
    CHECK_EQ(Difference(c.found, c.found), "");
  }
}

TEST_CASE("SameGraph: defaults count as absent when signatures are given") {
  const std::string_view stated = "x: float\nw: float\ny = Gemm<alpha=1, transB=1>(x, w)";
  const std::string_view silent = "x: float\nw: float\ny = Gemm<transB=1>(x, w)";
  CHECK_NE(Difference(stated, silent), "");
  CHECK_EQ(Difference(stated, silent, true), "");
  CHECK_EQ(Difference(silent, stated, true), "");
  CHECK_NE(Difference(silent, "x: float\nw: float\ny = Gemm(x, w)", true), "");
}

TEST_CASE("SameGraph: nested bodies by position, captured values by identity") {
  CHECK_EQ(Difference("n: int64\nv: float\ny = Loop<body=(i: int64, c: bool, u: float) => {\n"
                      "  w = Mul(u, v)\n  d = Identity(c)\n  return d, w\n}>(n, true, v)",
                      "n: int64\nv: float\ny = Loop<body=(k: int64, e: bool, p: float) => {\n"
                      "  d = Identity(e)\n  q = Mul(p, v)\n  return d, q\n}>(n, true, v)"),
           "");
  CHECK_NE(Difference("c: bool\nx: float\nt = Relu(x)\n"
                      "y = If<then_branch={ a = Neg(t) }, else_branch={ b = Exp(t) }>(c)",
                      "c: bool\nx: float\nt = Relu(x)\n"
                      "y = If<then_branch={ a = Neg(t) }, else_branch={ b = Exp(x) }>(c)"),
           "");
}

TEST_CASE("SameGraph: long chains need no recursion") {
  std::string text = "x0: float\n";
  for (int i = 0; i < 20000; ++i) text += fmt::format("x{} = Relu(x{})\n", i + 1, i);
  CHECK_EQ(Difference(text, text), "");
  CHECK_NE(Difference(text, "x0: float\nx20000 = Relu(x0)"), "");
}

}  // namespace
}  // namespace qrewrite
