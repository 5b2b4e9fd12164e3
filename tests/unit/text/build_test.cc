// Text in, graph out, shown as text again.
#include <doctest/doctest.h>

#include "tests/unit/text/text_support.h"

namespace qrewrite {
namespace {

struct Case {
  std::string_view text, printed;
};

TEST_CASE("BuildGraph: nodes, inputs and outputs") {
  const Case cases[] = {
      {"x: float[1,N]\ny = Relu(x)", "x: float[1, N]\ny = Relu(x)\n"},
      {"y = Relu(x)\nx: float", "x: float\ny = Relu(x)\n"},
      {"y = Neg(t)\nt = Relu(x)\nx: float", "x: float\nt = Relu(x)\ny = Neg(t)\n"},
      {"x: float\ny = Neg(Relu(x))", "x: float\ny_Relu = Relu(x)\ny = Neg(y_Relu)\n"},
      {"x: float\ny_Relu = Exp(x)\ny = Neg(Relu(y_Relu))",
       "x: float\ny_Relu = Exp(x)\ny_Relu_2 = Relu(y_Relu)\ny = Neg(y_Relu_2)\n"},
      {"x: float\ny = x", "x: float\ny = Identity(x)\n"},
      {"x: float\na, b = Split<num_outputs=2>(x)", "x: float\na, b = Split<num_outputs=2>(x)\n"},
      {"x: float\na, _ = Split<num_outputs=2>(x)", "x: float\na = Split<num_outputs=2>(x)\n"},
      {"x: float\n_, b = Split<num_outputs=2>(x)", "x: float\n_, b = Split<num_outputs=2>(x)\n"},
      {"x: float\nt = Relu(x)\ny = Neg(t)\nreturn y, t",
       "x: float\nt = Relu(x)\ny = Neg(t)\nreturn y, t\n"},
      {"x: float\ny = Neg(x)\nz = Relu(x)\nreturn z, y", "x: float\nz = Relu(x)\ny = Neg(x)\n"},
      {"x: float\nreturn x", "x: float\nreturn x\n"},
      {"x: float", "x: float\n"},
      {"x: ?\ns: ?[2, ?]\ny = Add(x, s)", "x: ?\ns: ?[2, ?]\ny = Add(x, s)\n"},
      {"x: float['batch size', N]\ny = Relu(x)", "x: float['batch size', N]\ny = Relu(x)\n"},
      {"x: float\ny = Resize<mode='nearest'>(x, absent, float[1] [2])",
       "x: float\ny = Resize<mode='nearest'>(x, absent, float[1] [2])\n"},
      {"x: float\ny = Clip(x, max=6.0)", "x: float\ny = Clip(x, absent, 6.0)\n"},
      {"x: float\ny = Clip(x, absent, absent)", "x: float\ny = Clip(x)\n"},
      {"'x:0': float\n'a/b:0' = Relu('x:0')\n'when' = Neg('a/b:0')",
       "'x:0': float\n'a/b:0' = Relu('x:0')\n'when' = Neg('a/b:0')\n"},
      {"x: float\ny = com.microsoft.Gelu(x)", "x: float\ny = com.microsoft.Gelu(x)\n"},
      {"x: float\ny = ai.onnx.Relu(x)", "x: float\ny = Relu(x)\n"},
      {"x: float\ny = my.domain.Op<k=1, f=2.5, s='t', l=[1, 2]>(x)",
       "x: float\ny = my.domain.Op<f=2.5, k=1, l=[1, 2], s='t'>(x)\n"},
      {"x: float\ny = 'aten::add'(x)",
       "g:2:5: error[QR0305]: unknown operator `aten::add`\n"
       " 2 | y = 'aten::add'(x)\n"
       "   |     ^^^^^^^^^^^ other domains need no signature: "
       "`my.domain.Op(x)`"},
      {"x: float\ny = 'my.d.aten::add'(x)", "x: float\ny = 'my.d.aten::add'(x)\n"},
  };
  for (const Case& c : cases) {
    CHECK_EQ(Rebuilt(c.text), c.printed);
    if (!c.printed.starts_with("g:")) CHECK_EQ(Rebuilt(c.printed), c.printed);
  }
}

TEST_CASE("BuildGraph: untyped literals take the type of their partners") {
  const Case cases[] = {
      {"x: float\ny = Add(x, 1)", "x: float\ny = Add(x, 1.0)\n"},
      {"x: float16\ny = Add(x, 0.5)", "x: float16\ny = Add(x, float16 0.5)\n"},
      {"x: int8\ny = Add(1, x)", "x: int8\ny = Add(int8 1, x)\n"},
      {"x: float\ny = Reshape(x, [1, -1])", "x: float\ny = Reshape(x, int64[2] [1, -1])\n"},
      {"x: float\ny = Reshape(x, [])", "x: float\ny = Reshape(x, int64[0] [])\n"},
      {"y = Add(1, 2.5)", "y = Add(1.0, 2.5)\n"},
      {"y = Add(1, 2)", "y = Add(int64 1, int64 2)\n"},
      {"y = Sqrt(4)", "y = Sqrt(4.0)\n"},
      {"y = Not(true)", "y = Not(bool true)\n"},
      {"x: float\ny = QuantizeLinear(x, 0.1, uint8 0)",
       "x: float\ny = QuantizeLinear(x, 0.1, uint8 0)\n"},
      {"x: uint8\ny = DequantizeLinear(x, 0.1, 3)",
       "x: uint8\ny = DequantizeLinear(x, 0.1, uint8 3)\n"},
      // Through inference, and through a name.
      {"x: float\nh = Cast<to=FLOAT16>(x)\ny = Mul(h, 2)",
       "x: float\nh = Cast<to=FLOAT16>(x)\ny = Mul(h, float16 2)\n"},
      {"x: float\ny = Mul(q, z)\nz = 2\nq = Cast<to=INT32>(x)",
       "x: float\nq = Cast<to=INT32>(x)\ny = Mul(q, int32 2)\n"},
      {"z: uint8\nz = 7\nx: float\ny = QuantizeLinear(x, 0.5, z)",
       "x: float\ny = QuantizeLinear(x, 0.5, uint8 7)\n"},
      {"x: float\ny = Concat<axis=0>(x, [1, 2])",
       "x: float\ny = Concat<axis=0>(x, float[2] [1, 2])\n"},
      {"x: float\ny = Mul(x, [[1, 2], [3, 4]])",
       "x: float\ny = Mul(x, float[2, 2] [[1, 2], [3, 4]])\n"},
      {"x: ?\ny = com.x.F(x, 1, 2.5, ['a'])",
       "x: ?\ny = com.x.F(x, int64 1, 2.5, string[1] ['a'])\n"},
      {"y = [1, 2]", "y = int64[2] [1, 2]\n"},
      {"y = 'a'",
       "g:1:5: error[QR0301]: `a` is not defined\n 1 | y = 'a'\n"
       "   |     ^^^ an input is declared: `a: float[1, N]`"},
  };
  for (const Case& c : cases) CHECK_EQ(Rebuilt(c.text), c.printed);
}

TEST_CASE("BuildGraph: typed literals of every type") {
  const Case cases[] = {
      {"y = float[2, 2] [[1, 2.5], [-0.0, 1e-7]]", "y = float[2, 2] [[1, 2.5], [-0.0, 1e-7]]\n"},
      {"y = float[2,2] [1, 2, 3, 4]", "y = float[2, 2] [[1, 2], [3, 4]]\n"},
      {"y = float[2,2] 3", "y = float[2, 2] [[3, 3], [3, 3]]\n"},
      {"y = float [[1], [2]]", "y = float[2, 1] [[1], [2]]\n"},
      {"y = float[] 1", "y = float 1\n"},
      {"y = float[3] [inf, -inf, nan]", "y = float[3] [inf, -inf, nan]\n"},
      {"y = float 0.1", "y = float 0.1\n"},
      {"y = double[2] [0.1, 1e300]", "y = double[2] [0.1, 1e300]\n"},
      {"y = float16[2] [0.5, 65504]", "y = float16[2] [0.5, 65504]\n"},
      {"y = bfloat16[2] [1, 3.140625]", "y = bfloat16[2] [1, 3.140625]\n"},
      {"y = float8e4m3fn[3] [1, 448, 0.001953125]", "y = float8e4m3fn[3] [1, 448, 0.001953125]\n"},
      {"y = float8e5m2[2] [1.5, -57344]", "y = float8e5m2[2] [1.5, -57344]\n"},
      {"y = float8e4m3fnuz[1] [240]", "y = float8e4m3fnuz[1] [240]\n"},
      {"y = float8e5m2fnuz[1] [-2]", "y = float8e5m2fnuz[1] [-2]\n"},
      {"y = float4e2m1[3] [0.5, 6, -1.5]", "y = float4e2m1[3] [0.5, 6, -1.5]\n"},
      {"y = int4[3] [-8, 0, 7]", "y = int4[3] [-8, 0, 7]\n"},
      {"y = uint4[3] [0, 15, 9]", "y = uint4[3] [0, 15, 9]\n"},
      {"y = int2[5] [-2, -1, 0, 1, 1]", "y = int2[5] [-2, -1, 0, 1, 1]\n"},
      {"y = uint2 3", "y = uint2 3\n"},
      {"y = int8[2] [-128, 127]", "y = int8[2] [-128, 127]\n"},
      {"y = uint8 255", "y = uint8 255\n"},
      {"y = int16 -32768", "y = int16 -32768\n"},
      {"y = uint16 65535", "y = uint16 65535\n"},
      {"y = int32 -2147483648", "y = int32 -2147483648\n"},
      {"y = uint32 4294967295", "y = uint32 4294967295\n"},
      {"y = int64 -9223372036854775808", "y = int64 -9223372036854775808\n"},
      {"y = uint64[2] [0, 18446744073709551615]", "y = uint64[2] [0, 18446744073709551615]\n"},
      {"y = bool[3] [true, 0, 1]", "y = bool[3] [true, false, true]\n"},
      {"y = string[2] ['a\\'b', '']", "y = string[2] ['a\\'b', '']\n"},
      {"y = zeros int4[3]", "y = int4[3] [0, 0, 0]\n"},
      {"y = ones bfloat16[2]", "y = bfloat16[2] [1, 1]\n"},
      {"y = zeros complex64[1]",
       "g:1:5: error[QR0313]: there is no `zeros` of complex64\n"
       " 1 | y = zeros complex64[1]\n   |     ^^^^^^^^^^^^^^^^^^"},
      {"y = float[0] []", "y = float[0] []\n"},
      {"y = int4[2, 0] []", "y = int4[2, 0] []\n"},
      {"y = zeros float[17]", "y = float[17] ...\n"},
  };
  for (const Case& c : cases) CHECK_EQ(Rebuilt(c.text), c.printed);
}

TEST_CASE("BuildGraph: random content depends on shape and seed alone") {
  const std::string once = Rebuilt("y = random float[2, 3]");
  CHECK_EQ(once, Rebuilt("y = random float[2, 3]"));
  CHECK_NE(once, Rebuilt("y = random(1) float[2, 3]"));
  CHECK_NE(once, Rebuilt("y = random float[3, 2]"));
  CHECK_EQ(Rebuilt("y = random(3) uint4[4]"), "y = uint4[4] [8, 5, 0, 4]\n");
}

TEST_CASE("BuildGraph: attributes have the kinds of the signature") {
  const Case cases[] = {
      {"x: float\ny = Elu<alpha=1>(x)", "x: float\ny = Elu<alpha=1.0>(x)\n"},
      {"x: float\ny = Cast<to=INT4>(x)", "x: float\ny = Cast<to=INT4>(x)\n"},
      {"x: float\ny = Cast<to=7>(x)", "x: float\ny = Cast<to=INT64>(x)\n"},
      {"x: float\ny = MaxPool<kernel_shape=[2, 2], ceil_mode=true>(x)",
       "x: float\ny = MaxPool<ceil_mode=1, kernel_shape=[2, 2]>(x)\n"},
      {"y = Constant<value=uint8[2] [1, 2]>()", "y = Constant<value=uint8[2] [1, 2]>()\n"},
      {"y = Constant<value_floats=[1, 2]>()", "y = Constant<value_floats=[1.0, 2.0]>()\n"},
      {"y = Constant<value_float=-inf>()", "y = Constant<value_float=-inf>()\n"},
      {"y = Constant<value_strings=['a', 'b']>()", "y = Constant<value_strings=['a', 'b']>()\n"},
      {"y = Constant<value_string='a\\nb'>()", "y = Constant<value_string='a\\nb'>()\n"},
      {"s: int64[1]\ny = ConstantOfShape<value=0.5>(s)",
       "s: int64[1]\ny = ConstantOfShape<value=float 0.5>(s)\n"},
      {"x: ?\ny = c.F<t=float[1] [2], l=[float 1, int8 2], e=[]>(x)",
       "x: ?\ny = c.F<e=[], l=[float 1, int8 2], t=float[1] [2]>(x)\n"},
  };
  for (const Case& c : cases) {
    CHECK_EQ(Rebuilt(c.text), c.printed);
    CHECK_EQ(Rebuilt(c.printed), c.printed);
  }
}

TEST_CASE("BuildGraph: nested bodies") {
  const Case cases[] = {
      {"c: bool\nx: float[2]\ny = If<then_branch={ a = Relu(x) }, else_branch={ b = Neg(x) }>(c)",
       "c: bool\nx: float[2]\n"
       "y = If<else_branch={\n  b = Neg(x)\n}, then_branch={\n  a = Relu(x)\n}>(c)\n"},
      // Captured by an inner body, a value is no output; neither is one that a body hands on.
      {"c: bool\nx: float\nt = Exp(x)\ny = If<then_branch={ return t }, else_branch={ b = Neg(t) "
       "}>(c)",
       "c: bool\nx: float\nt = Exp(x)\n"
       "y = If<else_branch={\n  b = Neg(t)\n}, then_branch={\n  return t\n}>(c)\n"},
      {"n: int64\nv: float[1]\n"
       "y, s = Loop<body=(i: int64, go: bool, u: float[1]) => {\n"
       "  w = Mul(u, 0.5)\n  g = Identity(go)\n  o = Sqrt(w)\n  return g, w, o\n}>(n, true, v)",
       "n: int64\nv: float[1]\n"
       "y, s = Loop<body=(i: int64, go: bool, u: float[1]) => {\n"
       "  g = Identity(go)\n  w = Mul(u, 0.5)\n  o = Sqrt(w)\n  return g, w, o\n"
       "}>(n, bool true, v)\n"},
      // Inputs as declarations; bodies in bodies; the same name in two bodies; constants inside.
      {"c: bool\nx: float\n"
       "y = If<then_branch={ t = If<then_branch={ t2 = Add(x, 1) }, else_branch={ k = ones "
       "float[1] }>(c) },"
       " else_branch={ t = Neg(x) }>(c)",
       "c: bool\nx: float\ny = If<else_branch={\n  t = Neg(x)\n}, then_branch={\n"
       "  t = If<else_branch={\n    k = float[1] [1]\n  }, then_branch={\n    t2 = Add(x, 1.0)\n  "
       "}>(c)\n"
       "}>(c)\n"},
      {"v: float[1]\ny = Scan<num_scan_inputs=1, body={ a: float; b = Relu(a); return b }>(v)",
       "v: float[1]\ny = Scan<body=(a: float) => {\n  b = Relu(a)\n}, num_scan_inputs=1>(v)\n"},
      // A large constant read inside has its line outside, where it lives.
      {"c: bool\nw = zeros float[40]\ny = If<then_branch={ a = Relu(w) }, else_branch={ b = Neg(w) "
       "}>(c)",
       "c: bool\nw = float[40] ...\n"
       "y = If<else_branch={\n  b = Neg(w)\n}, then_branch={\n  a = Relu(w)\n}>(c)\n"},
  };
  for (const Case& c : cases) {
    CHECK_EQ(Rebuilt(c.text), c.printed);
    if (c.printed.find("...") == c.printed.npos) CHECK_EQ(Rebuilt(c.printed), c.printed);
  }
  Graph graph;
  CHECK_EQ(Build(cases[0].text, graph), "");
  CHECK_EQ(graph.num_bodies(), 3);
  const NodeId owner = graph.body(graph.main()).nodes[0];
  CHECK_EQ(graph.body(BodyId(1u)).owner, owner);
  CHECK_EQ(graph.body(BodyId(2u)).parent, graph.main());
}

TEST_CASE("BuildGraph: imports the domains that are used") {
  Graph graph;
  CHECK_EQ(Build("x: float\ny = com.microsoft.Gelu(qr.Mine(x))", graph, {.opset = {{"", 13}}}), "");
  CHECK_EQ(graph.opset(),
           std::map<std::string, int64_t>{{"", 13}, {"com.microsoft", 1}, {"qr", 1}});
  CHECK(graph.ir_version > 0);
  Graph other;
  CHECK_EQ(Build("x: float", other, {.opset = {{"my", 4}}}), "");
  CHECK_EQ(other.opset(), std::map<std::string, int64_t>{{"", 21}, {"my", 4}});
  CHECK_EQ(Rebuilt("x: float\ny = Clip<min=0>(x)", {}, {.opset = {{"", 6}}}),
           "x: float\ny = Clip<min=0.0>(x)\n");
}

TEST_CASE("BuildGraph: labels name nodes") {
  Graph graph;
  CHECK_EQ(Build("x: float\ny = 'a/relu':Relu(x)", graph), "");
  CHECK_EQ(graph.name(graph.body(graph.main()).nodes[0]), "a/relu");
  CHECK_EQ(PrintGraph(graph, graph.main(), {.node_names = true}),
           "x: float\ny = 'a/relu':Relu(x)\n");
  CHECK_EQ(PrintGraph(graph, graph.main()), "x: float\ny = Relu(x)\n");
}

TEST_CASE("BuildGraph: signatures of a rule file") {
  Signatures signatures(&Signatures::Builtin());
  Signature own;
  own.op = {"", "Mine"};
  own.inputs = {{.name = "x"}, {.name = "k"}};
  own.min_inputs = own.max_inputs = 2;
  own.min_outputs = own.max_outputs = 1;
  own.outputs = {{.name = "y"}};
  own.attributes = {{.name = "div", .kind = AttrKind::kTensor}};
  own.from_rule_file = true;
  signatures.Add(own);
  Graph graph;
  CHECK_EQ(Build("x: float\ny = Mine<div=int32 4>(k=1, x=x)", graph, {}, signatures), "");
  CHECK_EQ(PrintGraph(graph, graph.main()), "x: float\ny = Mine<div=int32 4>(x, int64 1)\n");
}

}  // namespace
}  // namespace qrewrite
