// Grammar: what each production reads as, and that printing is its inverse.
#include <doctest/doctest.h>

#include "tests/unit/expr/parse_support.h"

namespace qrewrite {
namespace {

std::string Dump(const Expr& e);

std::string DumpArg(const Arg& arg) {
  std::string out;
  if (arg.label_kind == Arg::Label::kInput) out = arg.label + "=";
  if (arg.label_kind == Arg::Label::kArrow) out = arg.label + "->";
  return out + Dump(*arg.value) + (arg.optional ? "?" : "") + (arg.repeated ? "..." : "");
}

std::string DumpCall(const Expr& e) {
  std::string out = "{";
  if (!e.call().label.empty()) out += "label " + e.call().label + " ";
  if (e.call().negated) out += "none of ";
  for (const Ref& ref : e.call().refs) {
    if (&ref != &e.call().refs[0]) out += " or ";
    out += ref.kind == Ref::Kind::kSet ? "set " : ref.kind == Ref::Kind::kDefinition ? "def " : "";
    out += ref.name;
  }
  const char* quantifiers[] = {"", " optional", " star", " plus"};
  out += quantifiers[static_cast<int>(e.call().quantifier)];
  if (!e.call().attrs.empty() || e.call().empty_attrs) {
    out += " <";
    for (const AttrArg& attr : e.call().attrs) {
      if (&attr != &e.call().attrs[0]) out += " ";
      out += (attr.rest ? "**" : "") + attr.name;
      if (attr.value) out += "=" + Dump(*attr.value);
      if (attr.optional) out += "?";
    }
    out += ">";
  }
  for (const Arg& arg : e.call().args) out += " " + DumpArg(arg);
  return out + "}";
}

std::string DumpItems(const std::vector<ExprPtr>& items) {
  std::string out;
  for (const ExprPtr& item : items) out += " " + Dump(*item);
  return out;
}

// Every operator with its operands in parentheses.
std::string Dump(const Expr& e) {
  const char* binary[] = {"+", "-",  "*", "/",  "//", "%",  "**",  "==", "!=",
                          "<", "<=", ">", ">=", "in", "=~", "and", "or", "??"};
  switch (e.kind) {
    case Expr::Kind::kInt:
      return std::to_string(e.int_value) + (e.ulps ? fmt::format("~{}", e.ulps) : "");
    case Expr::Kind::kFloat:
      return fmt::format("{}f", e.float_value) + (e.ulps ? fmt::format("~{}", e.ulps) : "");
    case Expr::Kind::kString: return "'" + e.text + "'";
    case Expr::Kind::kBool: return e.int_value ? "true" : "false";
    case Expr::Kind::kAbsent: return "absent";
    case Expr::Kind::kName: return e.text;
    case Expr::Kind::kDType: return "type:" + std::string(Info(e.dtype).text_name);
    case Expr::Kind::kSet: return "set:" + e.text;
    case Expr::Kind::kCall: return DumpCall(e);
    case Expr::Kind::kGroup: {
      std::string out = "group(";
      for (const Arg& arg : e.call().args)
        out += (&arg == &e.call().args[0] ? "" : " ") + DumpArg(arg);
      return out + ")";
    }
    case Expr::Kind::kList: return "[" + DumpItems(e.items) + " ]";
    case Expr::Kind::kUnary:
      return fmt::format("({} {})", e.unary == UnaryOp::kNot ? "not" : "neg", Dump(*e.items[0]));
    case Expr::Kind::kBinary:
      return fmt::format("({}{})", binary[static_cast<int>(e.binary)], DumpItems(e.items));
    case Expr::Kind::kIf: return fmt::format("(if{})", DumpItems(e.items));
    case Expr::Kind::kMember: return fmt::format("(. {} {})", Dump(*e.items[0]), e.text);
    case Expr::Kind::kIndex: {
      std::string out = "(at " + Dump(*e.items[0]);
      for (const Subscript& s : e.details().subscripts) {
        out += " " + (s.start ? Dump(*s.start) : "") + (s.slice ? ":" : "") +
               (s.stop ? Dump(*s.stop) : "");
      }
      return out + ")";
    }
    case Expr::Kind::kTyped: return "typed";
    case Expr::Kind::kBody: return "body";
  }
  return "?";
}

std::string DumpExpr(std::string_view text) {
  const SourceText source("t", std::string(text));
  DiagnosticSink sink;
  const ExprPtr expr = ParseExpr(WholeText(source), sink);
  return expr ? Dump(*expr) : Rendered(sink);
}

std::string DumpBody(std::string_view text, bool graph = false) {
  const SourceText source("t", std::string(text));
  DiagnosticSink sink;
  const Snippet snippet = WholeText(source);
  const BodyText body = graph ? ParseGraphText(snippet, sink) : ParseBody(snippet, sink);
  std::string out = Rendered(sink);
  for (const Stmt& stmt : body.stmts) {
    if (!out.empty()) out += "; ";
    for (const OutArg& o : stmt.outs) {
      if (&o != &stmt.outs[0]) out += " ";
      out += o.name + (o.optional ? "?" : "") + (o.repeated ? "..." : "");
    }
    out += " := " + DumpArg(stmt.value);
  }
  return out;
}

struct Case {
  std::string_view text, tree;
};

TEST_CASE("Parser: operators bind as the grammar says") {
  const Case cases[] = {
      {"a + b * c", "(+ a (* b c))"},
      {"a * b + c", "(+ (* a b) c)"},
      {"a - b - c", "(- (- a b) c)"},
      {"a / b // c % d", "(% (// (/ a b) c) d)"},
      {"(a + b) * c", "(* (+ a b) c)"},
      {"-a ** 2", "(neg (** a 2))"},
      {"2 ** -1", "(** 2 -1)"},
      {"2 ** 3 ** 2", "(** 2 (** 3 2))"},
      {"-1 ** 2", "(neg (** 1 2))"},
      {"(-1) ** 2", "(** -1 2)"},
      {"-a.b", "(neg (. a b))"},
      {"- 1", "-1"},
      {"a - -1", "(- a -1)"},
      {"--1", "(neg -1)"},
      {"-(1)", "(neg 1)"},
      {"-x[0]", "(neg (at x 0))"},
      {"-1[0]", "(neg (at 1 0))"},
      {"a ?? b ?? c", "(?? a (?? b c))"},
      {"a ?? b + c", "(?? a (+ b c))"},
      {"a ?? b == c", "(== (?? a b) c)"},
      {"a == b and c < d", "(and (== a b) (< c d))"},
      {"a or b and c", "(or a (and b c))"},
      {"a and b and c", "(and (and a b) c)"},
      {"not a == b", "(not (== a b))"},
      {"not not a", "(not (not a))"},
      {"not a and b", "(and (not a) b)"},
      {"a if b else c", "(if a b c)"},
      {"a if b else c if d else e", "(if a b (if c d e))"},
      {"(a if b else c) if d else e", "(if (if a b c) d e)"},
      {"a or b if c or d else e or f", "(if (or a b) (or c d) (or e f))"},
      {"x in [1, 2]", "(in x [ 1 2 ])"},
      {"name(x) =~ '/enc/'", "(=~ {name x} '/enc/')"},
      {"a != b", "(!= a b)"},
      {"a <= b", "(<= a b)"},
      {"a >= b", "(>= a b)"},
      {"a <= b or a > b", "(or (<= a b) (> a b))"},
      {"(a < b) == (c < d)", "(== (< a b) (< c d))"},
  };
  for (const Case& c : cases) CHECK_EQ(DumpExpr(c.text), c.tree);
}

TEST_CASE("Parser: atoms") {
  const Case cases[] = {
      {"0", "0"},
      {"9223372036854775807", "9223372036854775807"},
      {"-9223372036854775808", "-9223372036854775808"},
      {"1.5", "1.5f"},
      {"1e-5", "1e-05f"},
      {"1E+2", "100f"},
      {"2.5e3", "2500f"},
      {"1e-400", "0f"},
      {"1.4142135 ~ 4ulp", "1.4142135f~4"},
      {"1 ~ 2 ulp", "1~2"},
      {"-0.5 ~ 1ulp", "-0.5f~1"},
      {"'abc'", "'abc'"},
      {R"('it\'s')", "'it's'"},
      {R"('a\\b')", R"('a\b')"},
      {R"('\d+\.')", R"('\d+\.')"},
      {R"('\x41\t')", "'A\t'"},
      {"''", "''"},
      {"true", "true"},
      {"false", "false"},
      {"absent", "absent"},
      {"INT8", "type:int8"},
      {"FLOAT8E4M3FN", "type:float8e4m3fn"},
      {"BFLOAT16", "type:bfloat16"},
      {"x", "x"},
      {"_x1", "_x1"},
      {"opset", "opset"},
      {"params.to", "(. params to)"},
      {"n.axis.in", "(. (. n axis) in)"},
      {"@moves", "set:moves"},
      {"[]", "[ ]"},
      {"[1, [2], 'a']", "[ 1 [ 2 ] 'a' ]"},
      {"[1, 2,]", "[ 1 2 ]"},
      {"((a))", "a"},
      {"x[0]", "(at x 0)"},
      {"x[:4]", "(at x :4)"},
      {"x[1:]", "(at x 1:)"},
      {"x[a:b]", "(at x a:b)"},
      {"x[:, :k]", "(at x : :k)"},
      {"x[-1][0]", "(at (at x -1) 0)"},
      {"f(x)[0].y", "(. (at {f x} 0) y)"},
      {"x # a comment", "x"},
      {"f(\n  a,  # one\n  b\n)", "{f a b}"},
      {"a\n  + b", "(+ a b)"},
  };
  for (const Case& c : cases) CHECK_EQ(DumpExpr(c.text), c.tree);
}

TEST_CASE("Parser: calls") {
  const Case cases[] = {
      {"f()", "{f}"},
      {"Relu(x)", "{Relu x}"},
      {"com.microsoft.QGemm(x, w)", "{com.microsoft.QGemm x w}"},
      {"n.op<**a>(x)", "{n.op <**a> x}"},
      {"$range(x)", "{def range x}"},
      {"@dynamic(x)", "{set dynamic x}"},
      {"n:@moves<**_>(x)", "{label n set moves <**_> x}"},
      {"n:!@deeploy<**_>(_...)", "{label n none of set deeploy <**_> _...}"},
      {"!Relu|Clip(x)", "{none of Relu or Clip x}"},
      {"n:Conv|Gemm|@integer(x)", "{label n Conv or Gemm or set integer x}"},
      {"A|com.x.B<axis?>(x)", "{A or com.x.B <axis?> x}"},
      {"Cast?<to=_>(x)", "{Cast optional <to=_> x}"},
      {"Add?(x, 0)", "{Add optional x 0}"},
      {"c:@moves*<**_>(q, _...)", "{label c set moves star <**_> q _...}"},
      {"@moves+(x)", "{set moves plus x}"},
      {"Relu*(x)", "{Relu star x}"},
      {"x * (y)", "(* x y)"},
      {"n<>(x)", "{n <> x}"},
      {"n(q -> f(q))", "{n q->{f q}}"},
      {"QLinearConv(x, x_scale=xs, w=w)", "{QLinearConv x x_scale=xs w=w}"},
      {"f(x?)", "{f x?}"},
      {"f(xs...)", "{f xs...}"},
      {"f((x, s, z)...)", "{f group(x s z)...}"},
      {"f(y, (x, $scalar(s), z?)...)", "{f y group(x {def scalar s} z?)...}"},
      {"f((x)...)", "{f x...}"},
      {"f((x?)...)", "{f group(x?)...}"},
      {"f((a + b))", "{f (+ a b)}"},
      {"f((a + b) * c)", "{f (* (+ a b) c)}"},
      {"f($bias(b, bs)?)", "{f {def bias b bs}?}"},
      {"f(DQ(x, s)...)", "{f {DQ x s}...}"},
      {"f(a == b)", "{f (== a b)}"},
      {"f(a if b else c)", "{f (if a b c)}"},
      {"F<axis, axes=a?, k=1 + 2, **r>(x)", "{F <axis axes=a? k=(+ 1 2) **r> x}"},
      {"F<b=(x < y)>(x)", "{F <b=(< x y)> x}"},
      {"F<in=1, if=2>(x)", "{F <in=1 if=2> x}"},
      {"F<a=x ?? 1>(x)", "{F <a=(?? x 1)> x}"},
      {"F<\n  a=1,\n  b=2\n>(x)", "{F <a=1 b=2> x}"},
      {"x[(n:F(x))]", "(at x {label n F x})"},
      {"x[f(n:F(x))]", "(at x {f {label n F x}})"},
      {"f(@a, @b)", "{f set:a set:b}"},
      {"f(a, b,)", "{f a b}"},
  };
  for (const Case& c : cases) CHECK_EQ(DumpExpr(c.text), c.tree);
}

TEST_CASE("Parser: statements") {
  const Case cases[] = {
      {"y = Relu(x)", "y := {Relu x}"},
      {"y = x", "y := x"},
      {"a, b? = F(x)", "a b? := {F x}"},
      {"_..., t, _... = F(x)", "_... t _... := {F x}"},
      {"y... = Split(x)", "y... := {Split x}"},
      {"_ = F()", "_ := {F}"},
      {"a = F(x)\nb = G(a)", "a := {F x}; b := {G a}"},
      {"a = F(x); b = G(a);", "a := {F x}; b := {G a}"},
      {"\n\n# comment\na = F(x)  # another\n\n", "a := {F x}"},
      {"a = F(x,\n      y)\nb = G(a)", "a := {F x y}; b := {G a}"},
      {"a = F(\n  k=x,\n  z)\nb = G(a)", "a := {F k=x z}; b := {G a}"},
      {"a = F<k=1,\n  l=2>(x)\nb = G(a)", "a := {F <k=1 l=2> x}; b := {G a}"},
      {"a =\n b",
       "t:1:4: error[QR0204]: expected a value, found the end of the line\n"
       " 1 | a =\n   |    ^\n"
       "t:2:3: error[QR0204]: expected `=`, found the end of the text\n"
       " 2 |  b\n   |   ^ a statement is `y = Op(x)`"},
      {"'a/b:0' = F(x)", "a/b:0 := {F x}"},
      {"y = t()...", "y := {t}..."},
      {"a\t=\tF(x)\r\nb = G(a)\r\n", "a := {F x}; b := {G a}"},
      {"", ""},
      {"# nothing", ""},
  };
  for (const Case& c : cases) CHECK_EQ(DumpBody(c.text), c.tree);
  // A string is a string in rules and, as an input, a name in graphs.
  CHECK_EQ(DumpBody("y = F('a/b')"), "y := {F 'a/b'}");
  CHECK_EQ(DumpBody("y = F('a/b')", true), "y := {F a/b}");
  CHECK_EQ(DumpBody("y = F<m='a/b'>('c')", true), "y := {F <m='a/b'> c}");
  CHECK_EQ(DumpBody("y = 'aten::add'<k=1>(x)", true), "y := {aten::add <k=1> x}");
}

TEST_CASE("Parser: one-line cases") {
  const auto parts = [](std::string_view text) {
    const SourceText source("t", std::string(text));
    DiagnosticSink sink;
    const CaseLine line = ParseCaseLine(WholeText(source), sink);
    std::string out = Rendered(sink);
    if (line.match) out += "match " + Print(*line.match) + ";";
    if (line.when) out += "when " + Dump(*line.when) + ";";
    if (line.is) out += "is " + DumpArg(*line.is) + ";";
    if (line.replace) out += "replace " + Print(*line.replace) + ";";
    return out;
  };
  CHECK_EQ(parts("v = Relu(x) => $f(x)"), "match v = Relu(x);is {def f x};");
  CHECK_EQ(parts("v when const(v) => 1"), "match v;when {const v};is 1;");
  CHECK_EQ(parts("v => 1"), "match v;is 1;");
  CHECK_EQ(parts("=> x"), "is x;");
  CHECK_EQ(parts("=> y = x"), "replace y = x;");
  CHECK_EQ(parts("=> y... = e()"), "replace y... = e();");
  CHECK_EQ(parts("=> a, b? = F(x)"), "replace a, b? = F(x);");
  CHECK_EQ(parts("=> a == b"), "is (== a b);");
  CHECK_EQ(parts("y = Identity(x)"), "match y = Identity(x);");
  CHECK_EQ(parts("y = Mul(x, 1) when shape(y) == shape(x)"),
           "match y = Mul(x, 1);when (== {shape y} {shape x});");
  CHECK_EQ(parts("_..., t, _... = Split(_) => x if a else b"),
           "match _..., t, _... = Split(_);is (if x a b);");
  CHECK_EQ(parts("when a => y = x"), "when a;replace y = x;");
}

TEST_CASE("Parser: heads of definitions") {
  const auto parts = [](std::string_view text) {
    const SourceText source("t", std::string(text));
    DiagnosticSink sink;
    const DefinitionHead head = ParseDefinitionHead(WholeText(source), sink);
    std::string out = Rendered(sink);
    for (const OutArg& o : head.outs) out += o.name + (o.repeated ? "... " : " ");
    out += head.name + ":";
    for (const std::string& p : head.params) out += " " + p;
    return out + (head.variadic ? "..." : "");
  };
  CHECK_EQ(parts("range(x)"), "range: x");
  CHECK_EQ(parts("y = clip(x, lo, hi)"), "y clip: x lo hi");
  CHECK_EQ(parts("y, m = two(x)"), "y m two: x");
  CHECK_EQ(parts("y... = all(x, xs...)"), "y... all: x xs...");
  CHECK_EQ(parts("none()"), "none:");
}

TEST_CASE("Parser: places point at what was written") {
  const SourceText source("t", "y = Relu(x + 1)\nz = Foo<axis=2>(y)");
  DiagnosticSink sink;
  const BodyText body = ParseBody(WholeText(source), sink);
  const auto text = [&](const Place& p) { return source.text().substr(p.begin, p.end - p.begin); };
  CHECK_EQ(text(body.stmts[0].place), "y = Relu(x + 1)");
  CHECK_EQ(text(body.stmts[0].value.value->call().args[0].place), "x + 1");
  const Expr& foo = *body.stmts[1].value.value;
  CHECK_EQ(text(foo.place), "Foo<axis=2>(y)");
  CHECK_EQ(text(foo.call().refs[0].place), "Foo");
  CHECK_EQ(text(foo.call().attrs[0].place), "axis=2");
  CHECK_EQ(body.stmts[1].place.span().line, 2);
}

}  // namespace
}  // namespace qrewrite
