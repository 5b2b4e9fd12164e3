// Printing: the inverse of parsing, over texts of real rule sets and over odd ones.
#include <doctest/doctest.h>

#include "engine/expr/names.h"
#include "tests/unit/expr/parse_support.h"

namespace qrewrite {
namespace {

const Text kCorpus[] = {
#include "tests/unit/expr/corpus.inc"
};

TEST_CASE("Printer: texts of the rule sets print as they are written") {
  for (const Text& text : kCorpus) {
    DiagnosticSink sink;
    const std::string_view written = Trimmed(text.text);
    CHECK_EQ(Trimmed(ParseAndPrint(text.kind, written, sink)), written);
    CHECK_EQ(Rendered(sink), "");
  }
}

struct Case {
  Kind kind;
  std::string_view text, printed;
};

TEST_CASE("Printer: normal spelling, which reads back as the same") {
  const Case cases[] = {
      {Kind::kExpr, "a+b*c-d", "a + b * c - d"},
      {Kind::kExpr, "(a+b)*c", "(a + b) * c"},
      {Kind::kExpr, "a-(b-c)", "a - (b - c)"},
      {Kind::kExpr, "a/(b*c)", "a / (b * c)"},
      {Kind::kExpr, "(a*b)/c", "a * b / c"},
      {Kind::kExpr, "(2**3)**2", "(2 ** 3) ** 2"},
      {Kind::kExpr, "2**(3**2)", "2 ** 3 ** 2"},
      {Kind::kExpr, "(-1)**2", "(-1) ** 2"},
      {Kind::kExpr, "-(1)", "-(1)"},
      {Kind::kExpr, "-(a+b)", "-(a + b)"},
      {Kind::kExpr, "-(1.5)", "-(1.5)"},
      {Kind::kExpr, "- -1", "--1"},
      {Kind::kExpr, "(a??b)??c", "(a ?? b) ?? c"},
      {Kind::kExpr, "(a ?? b) + c", "(a ?? b) + c"},
      {Kind::kExpr, "a ?? 0 == b", "(a ?? 0) == b"},
      {Kind::kExpr, "a and b or c", "(a and b) or c"},
      {Kind::kExpr, "a and (b or c)", "a and (b or c)"},
      {Kind::kExpr, "not (a or b)", "not (a or b)"},
      {Kind::kExpr, "not a == b", "not (a == b)"},
      {Kind::kExpr, "(a < b) == c", "(a < b) == c"},
      {Kind::kExpr, "(a if b else c) + 1", "(a if b else c) + 1"},
      {Kind::kExpr, "(a if b else c)[0]", "(a if b else c)[0]"},
      {Kind::kExpr, "(a if b else c) if d else e", "(a if b else c) if d else e"},
      {Kind::kExpr, "(a+b).c", "(a + b).c"},
      {Kind::kExpr, "x[ : , a : b+1 ]", "x[:, a:b + 1]"},
      {Kind::kExpr, "x[(n:F(y)):2]", "x[(n:F(y)):2]"},
      {Kind::kExpr, "x[[n:F(y)]]", "x[[n:F(y)]]"},
      {Kind::kExpr, "1.0", "1.0"},
      {Kind::kExpr, "1e38", "1e38"},
      {Kind::kExpr, "0.000001", "1e-6"},
      {Kind::kExpr, "1e16", "1e16"},
      {Kind::kExpr, "1 ~ 2ulp", "1 ~ 2ulp"},
      {Kind::kExpr, R"('a\'b\\c\d')", R"('a\'b\\c\\d')"},
      {Kind::kExpr, R"('\n\x01')", R"('\n\x01')"},
      {Kind::kExpr, "F< >( )", "F<>()"},
      {Kind::kExpr, "F<a = (x < 1)>(x)", "F<a=(x < 1)>(x)"},
      {Kind::kExpr, "F<a=(b if c else d)>(x)", "F<a=(b if c else d)>(x)"},
      {Kind::kExpr, "F(a=x,b->y,c?,d...)", "F(a=x, b -> y, c?, d...)"},
      {Kind::kExpr, "F((x , s?)...)", "F((x, s?)...)"},
      {Kind::kExpr, "F((a+b)...)", "F(a + b...)"},
      {Kind::kBody, "a,b?,_...=F(x);c=a", "a, b?, _... = F(x)\nc = a\n"},
      {Kind::kBody, "'in' = F(x)", "'in' = F(x)\n"},
      {Kind::kBody, "'no', 'a b', ok = F(x)", "'no', 'a b', ok = F(x)\n"},
      {Kind::kGraph, "x:float[ 1,N , ?, 'a b']", "x: float[1, N, ?, 'a b']\n"},
      {Kind::kGraph, "x: ?", "x: ?\n"},
      {Kind::kGraph, "x: ?[1]\ny: string[]\nz: double", "x: ?[1]\ny: string[]\nz: double\n"},
      {Kind::kGraph, "y=F(x)\nx: float", "x: float\ny = F(x)\n"},
      {Kind::kGraph, "return 'a b',c", "return 'a b', c\n"},
      {Kind::kGraph, "return", "return\n"},
      {Kind::kGraph, "return = F(x)", "return = F(x)\n"},
      {Kind::kGraph, "return: float", "return: float\n"},
      {Kind::kGraph, "float = Relu(float)", "float = Relu(float)\n"},
      {Kind::kGraph, "y = F(uint8 0)", "y = F(uint8 0)\n"},
      {Kind::kGraph, "y = float[2,2] [[1,2],[3,4]]", "y = float[2, 2] [[1, 2], [3, 4]]\n"},
      {Kind::kGraph, "y = float[] 1.5", "y = float[] 1.5\n"},
      {Kind::kGraph, "y = float [1, 2]", "y = float [1, 2]\n"},
      {Kind::kGraph, "y = float[64,3] ...", "y = float[64, 3] ...\n"},
      {Kind::kGraph, "y = float -inf; z = float[2] [nan,inf]",
       "y = float -inf\nz = float[2] [nan, inf]\n"},
      {Kind::kGraph, "y = zeros float[2]; z = ones int4[1]",
       "y = zeros float[2]\nz = ones int4[1]\n"},
      {Kind::kGraph, "y = random(7) float[2, 3]", "y = random(7) float[2, 3]\n"},
      {Kind::kGraph, "y = uint64 18446744073709551615", "y = uint64 18446744073709551615\n"},
      {Kind::kGraph, "y = string 'a'; z = bool[2] [true, false]",
       "y = string 'a'\nz = bool[2] [true, false]\n"},
      {Kind::kGraph, "y = F<a=inf, b=[-inf], c='s', d=float 1, e=..., f=['x']>(x)",
       "y = F<a=inf, b=[-inf], c='s', d=float 1, e=..., f=['x']>(x)\n"},
      {Kind::kGraph, "y = F<'odd name'=1>(x)", "y = F<'odd name'=1>(x)\n"},
      {Kind::kGraph, "y = 'aten::add'(x)", "y = 'aten::add'(x)\n"},
      {Kind::kGraph, "y = 'my node':F(x)", "y = 'my node':F(x)\n"},
      {Kind::kGraph, "y = If<then_branch={a=F(x);return a},else_branch={b=G(x)}>(c)",
       "y = If<then_branch={\n  a = F(x)\n  return a\n}, else_branch={\n  b = G(x)\n}>(c)\n"},
      {Kind::kGraph, "y = L<body=(i:int64,c,v:float[1])=>{w=If<t={u=F(v)}>(c)}>(n)\nz = F(y)",
       "y = L<body=(i: int64, c, v: float[1]) => {\n  w = If<t={\n    u = F(v)\n  }>(c)\n}>(n)\n"
       "z = F(y)\n"},
      {Kind::kGraph, "y = L<body=()=>{}>(n)", "y = L<body=() => {\n}>(n)\n"},
  };
  for (const Case& c : cases) {
    DiagnosticSink sink;
    const std::string printed = ParseAndPrint(c.kind, c.text, sink);
    CHECK_EQ(printed, c.printed);
    CHECK_EQ(ParseAndPrint(c.kind, printed, sink), c.printed);
    CHECK_EQ(Rendered(sink), "");
  }
}

TEST_CASE("Printer: the printed text is the same tree, and so is a copy") {
  for (const Text& text : kCorpus) {
    const SourceText source("t", std::string(text.text));
    DiagnosticSink sink;
    const Snippet snippet = WholeText(source);
    if (text.kind == Kind::kExpr) {
      const ExprPtr expr = ParseExpr(snippet, sink);
      const SourceText again("t", Print(*expr));
      CHECK(SameTree(*expr, *ParseExpr(WholeText(again), sink)));
      CHECK(SameTree(*expr, *Clone(*expr)));
    } else if (text.kind == Kind::kBody) {
      const BodyText body = ParseBody(snippet, sink);
      const SourceText again("t", Print(body));
      CHECK(SameTree(body, ParseBody(WholeText(again), sink)));
      for (const Stmt& stmt : body.stmts)
        CHECK(SameTree(*stmt.value.value, *Clone(*stmt.value.value)));
    }
  }
}

TEST_CASE("Printer: copies of nested bodies") {
  const SourceText source("t", "y = If<t={ a = F(x); return a }, e=(i: int64) => { b = G(i) }>(c)");
  DiagnosticSink sink;
  const BodyText body = ParseGraphText(WholeText(source), sink);
  const Expr& call = *body.stmts[0].value.value;
  const ExprPtr copy = Clone(call);
  CHECK(SameTree(call, *copy));
  copy->call().attrs[0].value->details().body->returns[0].name = "b";
  CHECK_FALSE(SameTree(call, *copy));
}

TEST_CASE("Names: what needs quotes") {
  CHECK_EQ(NameText("x"), "x");
  CHECK_EQ(NameText("FLOAT"), "'FLOAT'");
  CHECK_EQ(NameText("when"), "'when'");
  CHECK_EQ(NameText("on"), "'on'");
  CHECK_EQ(NameText("_"), "'_'");
  CHECK_EQ(NameText("1x"), "'1x'");
  CHECK_EQ(NameText(""), "''");
  CHECK_EQ(NameText("caf\xc3\xa9"), "'caf\xc3\xa9'");
  CHECK_EQ(OpNameText("com.microsoft.QGemm"), "com.microsoft.QGemm");
  CHECK_EQ(OpNameText("a.in.F"), "a.in.F");
  CHECK_EQ(OpNameText("aten::add"), "'aten::add'");
  CHECK_EQ(FloatText(0.1f), "0.1");
  CHECK_EQ(FloatText(0.1), "0.1");
  CHECK_EQ(FloatText(1e-7f), "1e-7");
  CHECK_EQ(FloatText(3.4028235e38f), "3.4028235e38");
  CHECK_EQ(FloatText(-0.0f), "-0.0");
}

}  // namespace
}  // namespace qrewrite
