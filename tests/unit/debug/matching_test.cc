#include "engine/debug/matching.h"

#include "tests/unit/api/api_support.h"

namespace qrewrite {
namespace {

// What the quantized activations of the second model stand for in the first: "name by method" each.
std::vector<std::string> Matched(const std::string& float_graph, const std::string& quantized_graph,
                                 const std::map<std::string, std::string>& map = {}) {
  const Model original = ModelOf(float_graph), quantized = ModelOf(quantized_graph);
  const Result<QuantizedValues> values = FindQuantizedValues(quantized);
  REQUIRE_MESSAGE(values.ok(), values.status().message());
  const Result<Absorbable> absorbable = FindAbsorbable(original);
  REQUIRE(absorbable.ok());
  const Result<Products> theirs = FindProducts(original), ours = FindProducts(quantized);
  REQUIRE(theirs.ok());
  REQUIRE(ours.ok());
  const Result<Matching> matching = MatchValues(NamedGraph(original), NamedGraph(quantized),
                                                *values, *absorbable, *theirs, *ours, map);
  if (!matching.ok()) return {matching.status().message()};
  std::vector<std::string> found;
  for (const auto& list : {matching->activations, matching->weights}) {
    for (const Counterpart& c : list)
      found.push_back(c.name.empty() ? "-" : c.name + " by " + c.method);
  }
  return found;
}

std::string Shown(const std::vector<std::string>& found) {
  std::string all;
  for (const std::string& one : found) all += (all.empty() ? "" : ", ") + one;
  return all;
}

TEST_CASE("Names: what quantizers of models append is taken away") {
  for (const auto& [name, bare] :
       {std::pair("a_QuantizeLinear_Input", "a"),
        {"a_QuantizeLinear_Output", "a"},
        {"a_DequantizeLinear_Output", "a"},
        {"a_DequantizeLinear_Output_1", "a"},
        {"a_quantized", "a"},
        {"q_output_a_1", "a"},
        {"dq_output_a.weight_2", "a.weight"},
        {"a_Transposed", "a"},
        {"a_QuantizeInput", "a"},
        {"a_1_QuantizeInput_quantized_MaxPool", "a_1"},
        {"a_QuantizeInput_quantized_Conv_x", "a_QuantizeInput_quantized_Conv_x"},
        {"a_quantized_Conv", "a_quantized_Conv"},
        {"a_1", "a_1"},
        {"_quantized", "_quantized"},
        {"a", "a"}}) {
    CHECK(WithoutSuffix(name) == bare);
  }
}

constexpr const char* kFloat =
    R"(g (float[1, 4] x) => (float[1, 2] y) <float[4, 2] w = {1, 2, 3, 4, 5, 6, 7, 8}> {
  c = MatMul(x, w)  y = Relu(c)
})";

TEST_CASE("Matching: by the same name and by suffix") {
  CHECK(Matched(kFloat, R"(g (float[1, 4] x) => (float[1, 2] y)
      <float s = {0.5}, uint8 z = {3}, int8[4, 2] w_quantized = {1, 2, 3, 4, 5, 6, 7, 8}, int8 wz = {0}> {
    xq = QuantizeLinear(x, s, z)  xf = DequantizeLinear(xq, s, z)
    wf = DequantizeLinear(w_quantized, s, wz)
    c_QuantizeLinear_Input = MatMul(xf, wf)
    cq = QuantizeLinear(c_QuantizeLinear_Input, s, z)  cf = DequantizeLinear(cq, s, z)
    y = Relu(cf)
  })") == std::vector<std::string>{"x by name", "c by suffix", "w by suffix"});
}

// Exporters fold a BatchNormalization into the Conv of the float model; what was trained with quantizers in between has both.
TEST_CASE("Matching: a node that the float model has folded") {
  const char* const folded = R"(g (float[1, 2, 3] x) => (float[1, 2, 3] y)
      <float[2, 2, 1] w = {1, 2, 3, 4}, float[2] b = {1, 2}> {
    c = Conv(x, w, b)  y = Relu(c)
  })";
  const auto quantized = [](const std::string& conv, const std::string& nodes) {
    return R"(g (float[1, 2, 3] x) => (float[1, 2, 3] y)
      <float s = {0.5}, uint8 z = {3}, int8[2, 2, 1] wq = {5, 2, 7, 4}, int8 wz = {0},
       float[2] k = {2, 3}, float[2] o = {0, 1}, float[2] v = {1, 1}, float t = {2}> {
    xq = QuantizeLinear(x, s, z)  xf = DequantizeLinear(xq, s, z)  wf = DequantizeLinear(wq, s, wz)
    )" + conv +
           " = Conv(xf, wf)  qq = QuantizeLinear(" + conv +
           R"(, s, z)  qf = DequantizeLinear(qq, s, z)
    )" + nodes +
           "}";
  };
  const std::string tail =
      " mq = QuantizeLinear(m, s, z)  mf = DequantizeLinear(mq, s, z)  y = Relu(mf) ";
  const std::vector<std::string> wanted = {"x by name", "-", "c by structure", "-"};
  const std::string norm = "m = BatchNormalization(qf, k, o, o, v)";
  CHECK(Matched(folded, quantized("p", norm + tail)) == wanted);
  CHECK(Matched(folded, quantized("c", norm + tail)) == wanted);  // one name for both says nothing
  CHECK(Matched(folded, quantized("p", "r = Mul(qf, k)  m = Add(r, o)" + tail)) == wanted);
  // What the user says holds.
  CHECK(Matched(folded, quantized("p", norm + tail), {{"c", "p"}}) ==
        std::vector<std::string>{"x by name", "c by map", "-", "w by structure"});
  // Not a node for channels, and one that both have.
  std::string alone = folded;
  alone.replace(alone.find(", b)"), 3, "");
  CHECK(Matched(alone, quantized("p", "m = Mul(qf, t)" + tail))[1] == "c by structure");
  CHECK(
      Matched(R"(g (float[1, 2, 3] x) => (float[1, 2, 3] y) <float[2, 2, 1] w = {1, 2, 3, 4},
      float[2] k = {2, 3}, float[2] o = {0, 1}, float[2] v = {1, 1}> {
    c = Conv(x, w)  n = BatchNormalization(c, k, o, o, v)  y = Relu(n)
  })",
              quantized("p", norm + tail)) ==
      std::vector<std::string>{"x by name", "c by structure", "n by structure", "w by structure"});
}

// SmoothQuant multiplies what a product reads by constants, and divides the weight by them.
TEST_CASE("Matching: operands that are scaled in one model alone") {
  const auto quantized = [](const std::string& weight) {
    return R"(g (float[1, 2] x) => (float[1, 2] y) <float s = {0.5}, uint8 z = {3}, int8 k = {0},
        float[2] f = {2, 4}, int8[2, 2] wq = )" +
           weight + R"(> {
      h = Relu(x)  m = Mul(h, f)  mq = QuantizeLinear(m, s, z)  mf = DequantizeLinear(mq, s, z)
      wf = DequantizeLinear(wq, s, k)  p = MatMul(mf, wf)
      pq = QuantizeLinear(p, s, z)  pf = DequantizeLinear(pq, s, z)  y = Tanh(pf)
    })";
  };
  const auto plain = [](const std::string& nodes) {
    return "g (float[1, 2] x) => (float[1, 2] y) <float[2, 2] w = {8, 16, 8, 24}, float[2] o = {9, "
           "0.1}> { r = Relu(x) " +
           nodes + "}";
  };
  const std::string one = plain("c = MatMul(r, w)  y = Tanh(c)");
  const std::string divided = "{8, 16, 4, 12}";
  CHECK(Shown(Matched(one, quantized(divided))) ==
        "r by structure, c by structure, w by structure");
  // A weight that is not divided: the product is another one.
  CHECK(Shown(Matched(one, quantized("{16, 32, 16, 48}"))) == "r by structure, -, -");
  // The float model has a product of its own with other constants: that is none of the scaled value.
  CHECK(Shown(Matched(plain("m_ = Mul(r, o)  c = MatMul(r, w)  d = Add(c, m_)  y = Tanh(d)"),
                      quantized(divided))) == "r by structure, c by structure, w by structure");
}

// tf2onnx: the integers of one operator have the name of what the last one behind them makes in the float model.
TEST_CASE("Matching: integers with the name of another value") {
  const auto quantized = [](const std::string& nodes) {
    return "g (float[1, 4] x) => (float[1, 4] y) <float s = {0.5}, uint8 z = {3}> { e = Tanh(x)  "
           "d = QuantizeLinear(e, s, z)  df = DequantizeLinear(d, s, z) " +
           nodes + "}";
  };
  const char* const plain =
      "g (float[1, 4] x) => (float[1, 4] y) { t = Tanh(x)  n = Neg(t)  d = Abs(n)  y = Exp(d) }";
  CHECK(Shown(Matched(plain, quantized("m = Neg(df)  mq = QuantizeLinear(m, s, z)  mf = "
                                       "DequantizeLinear(mq, s, z)  k = Abs(mf)  kq = "
                                       "QuantizeLinear(k, s, z)  kf = DequantizeLinear(kq, s, z)  "
                                       "y = Exp(kf)"))) ==
        "t by structure, n by structure, d by structure");
  // What lies between is nowhere in the quantized model: it may have become part of the operator.
  CHECK(Shown(Matched(plain, quantized("y = Exp(df)"))) == "d by name");
}

// What a producer adds in a product or behind it is one value; the product alone is none of the other model.
TEST_CASE("Matching: addends in products and behind them") {
  const auto model = [](const std::string& nodes) {
    const std::string stored = nodes.starts_with("xq")
                                   ? R"(int8[4, 2] wq = {2, 4, 6, 8, 10, 12, 14, 16},
       int8[4, 2] vq = {16, 4, 6, 8, 10, 12, 14, 2},)"
                                   : "";
    return R"(g (float[1, 4] x, float[1, 2] r) => (float[1, 2] y)
      <float s = {0.5}, uint8 z = {3}, int8 wz = {0}, )" +
           stored + R"(
       float[4, 2] w = {1, 2, 3, 4, 5, 6, 7, 8}, float[2, 4] t = {1, 3, 5, 7, 2, 4, 6, 8},
       float[2] b = {1, 2}, float[2] o = {2, 1}, float[2] n = {0, 0}, int64[2] two = {1, 2}> {
    )" + nodes +
           "}";
  };
  const std::string head =
      "xq = QuantizeLinear(x, s, z)  xf = DequantizeLinear(xq, s, z)  wf = DequantizeLinear(wq, s, "
      "wz) ";
  const auto read = [](const std::string& v) {
    return v + "q = QuantizeLinear(" + v + ", s, z)  " + v + "f = DequantizeLinear(" + v +
           "q, s, z) ";
  };
  const std::string tanh = "y = Tanh(af)";
  // behind it in the quantized model; the weight is turned, the addend has other axes
  CHECK(Shown(Matched(model("c = Gemm <transB = 1> (x, t, b)  y = Tanh(c)"),
                      model(head + "p = MatMul(xf, wf) " + read("p") +
                            " e = Reshape(b, two)  a = Add(pf, e) " + read("a") + tanh))) ==
        "x by name, -, c by structure, t by structure");
  // in it
  CHECK(Shown(Matched(model("c = MatMul(x, w)  d = Add(b, c)  y = Tanh(d)"),
                      model(head + "a = Gemm(xf, wf, b) " + read("a") + tanh))) ==
        "x by name, d by structure, w by structure");
  // an addend that is computed, of two sums of the product
  CHECK(Shown(Matched(
            model("u = Neg(r)  c = MatMul(x, w)  d = Add(c, r)  e = Add(c, u)  y = Mul(d, e)"),
            model(head + "k = Neg(r)  a = Gemm(xf, wf, k) " + read("a") + tanh))) ==
        "x by name, e by structure, w by structure");
  CHECK(Shown(Matched(model("c = Gemm(x, w, r)  y = Tanh(c)"),
                      model(head + "p = MatMul(xf, wf)  a = Add(r, p) " + read("a") + tanh))) ==
        "x by name, c by structure, w by structure");
  // Another addend, another weight, and a sum of something else behind the whole: none is taken for the other.
  CHECK(Shown(Matched(model("c = Gemm(x, w, b)  y = Tanh(c)"),
                      model(head + "p = MatMul(xf, wf) " + read("p") + " a = Add(pf, o) " +
                            read("a") + tanh))) == "x by name, -, -, w by structure");
  CHECK(Shown(Matched(
            model("c = Gemm(x, w, b)  y = Tanh(c)"),
            model(head + "vf = DequantizeLinear(vq, s, wz)  p = MatMul(xf, vf)  a = Add(p, b) " +
                  read("a") + tanh))) == "x by name, -, -, -");
  CHECK(Shown(Matched(model("c = Gemm(x, w, b)  d = Add(c, r)  y = Tanh(d)"),
                      model(head + "p = Gemm(xf, wf) " + read("p") + " a = Add(pf, r) " +
                            read("a") + tanh))) == "x by name, -, -, w by structure");
  // An addend of zeros is none.
  CHECK(Shown(Matched(model("c = Gemm(x, w, n)  y = Tanh(c)"),
                      model(head + "a = Gemm(xf, wf) " + read("a") + tanh))) ==
        "x by name, c by structure, w by structure");
}

// tf2onnx has the name of a TFLite operator at the Conv in one model and at the integers behind the Clip in the other.
TEST_CASE("Matching: one name for operators that were fused") {
  const char* const plain =
      R"(g (float[1, 4] x) => (float[1, 2] y) <float[4, 2] w = {1, 2, 3, 4, 5, 6, 7, 8}, float[2] b = {1, 2}> {
    d = MatMul(x, w)  a = Add(d, b)  r = Relu(a)  y = Tanh(r)
  })";
  const auto quantized = [](const std::string& nodes) {
    return R"(g (float[1, 4] x) => (float[1, 2] y)
      <float s = {0.5}, int8 z = {3}, int8[4, 2] k = {1, 2, 3, 4, 5, 6, 7, 8}, int8 kz = {0}, int8[2] l = {1, 2}> {
    kf = DequantizeLinear(k, s, kz)  lf = DequantizeLinear(l, s, kz)
    )" + nodes +
           " df = DequantizeLinear(d, s, z)  y = Tanh(df) }";
  };
  const auto with_weights = [](std::string first) {
    return std::vector<std::string>{std::move(first), "w by structure", "b by structure"};
  };
  CHECK(
      Matched(plain,
              quantized(
                  "m = MatMul(x, kf)  n = Add(m, lf)  o = Relu(n)  d = QuantizeLinear(o, s, z)")) ==
      with_weights("r by name"));
  CHECK(
      Matched(plain, quantized("m = MatMul(x, kf)  n = Add(m, lf)  d = QuantizeLinear(n, s, z)")) ==
      with_weights("a by name"));
  // the value of that name is what is quantized
  CHECK(
      Matched(plain, quantized("d_ = MatMul(x, kf)  n = Add(d_, lf)  d = QuantizeLinear(d_, s, z)"))
          .front() == "d by name");
  // operators that the float model does not have there
  CHECK(Matched(plain,
                quantized(
                    "m = MatMul(x, kf)  n = Mul(m, lf)  o = Relu(n)  d = QuantizeLinear(o, s, z)"))
            .front() == "d by name");
  // not beyond what was quantized before
  CHECK(Matched(plain, quantized("m = MatMul(x, kf)  n = Add(m, lf)  q = QuantizeLinear(n, s, z)  "
                                 "f = DequantizeLinear(q, s, z) "
                                 "o = Relu(f)  d = QuantizeLinear(o, s, z)"))
            .back() == "b by structure");
}

TEST_CASE(
    "Matching: of operators that read one value the one with the same constants and attributes") {
  const auto found = [](const std::string& first, const std::string& second, const std::string& m,
                        const std::string& n) {
    return Matched(
        "g (float[2, 2] x) => (float[2] y, float[2] z) <int64[1] one = {1}, int64[1] two = {2}> "
        "{ a = " +
            first + " b = " + second + " y = Tanh(a)  z = Sin(b) }",
        "g (float[2, 2] x) => (float[2] y, float[2] z) <float s = {0.5}, int8 k = {3}, int64[1] p "
        "= {1}, int64[1] q = {2}> "
        "{ i = QuantizeLinear(x, s, k)  f = DequantizeLinear(i, s, k)"
        "  m = " +
            m +
            " mq = QuantizeLinear(m, s, k)  mf = DequantizeLinear(mq, s, k)"
            "  n = " +
            n +
            " nq = QuantizeLinear(n, s, k)  nf = DequantizeLinear(nq, s, k)  y = Neg(mf)  z = "
            "Abs(nf) }");
  };
  const std::vector<std::string> same{"x by name", "a by structure", "b by structure"};
  const std::vector<std::string> other{"x by name", "b by structure", "a by structure"};
  CHECK(found("Slice(x, one, two)", "Slice(x, two, two)", "Slice(f, p, q)", "Slice(f, q, q)") ==
        same);
  CHECK(found("Slice(x, one, two)", "Slice(x, two, two)", "Slice(f, q, q)", "Slice(f, p, q)") ==
        other);
  CHECK(found("ReduceMax <axes = [0]> (x)", "ReduceMax <axes = [1]> (x)",
              "ReduceMax <axes = [0]> (f)", "ReduceMax <axes = [1]> (f)") == same);
  CHECK(found("ReduceMax <axes = [0]> (x)", "ReduceMax <axes = [1]> (x)",
              "ReduceMax <axes = [1]> (f)", "ReduceMax <axes = [0]> (f)") == other);
}

TEST_CASE(
    "Matching: by place in the graph; a Relu that the quantizer stands for is looked through") {
  CHECK(Matched(kFloat, R"(g (float[1, 4] in) => (float[1, 2] out)
      <float s = {0.5}, uint8 z = {0}, int8[4, 2] k = {1, 2, 3, 4, 5, 6, 7, 8}, int8 kz = {0}> {
    q1 = QuantizeLinear(in, s, z)  f1 = DequantizeLinear(q1, s, z)
    kf = DequantizeLinear(k, s, kz)
    m = MatMul(f1, kf)
    q2 = QuantizeLinear(m, s, z)  out = DequantizeLinear(q2, s, z)
  })") == std::vector<std::string>{"x by structure", "y by structure", "w by structure"});
}

TEST_CASE(
    "Matching: a Relu that the quantized model has is no part of the quantized value before it") {
  CHECK(Matched(kFloat, R"(g (float[1, 4] in) => (float[1, 2] out)
      <float s = {0.5}, uint8 z = {3}, int8[4, 2] k = {1, 2, 3, 4, 5, 6, 7, 8}, int8 kz = {0}> {
    kf = DequantizeLinear(k, s, kz)
    m = MatMul(in, kf)
    q2 = QuantizeLinear(m, s, z)  f2 = DequantizeLinear(q2, s, z)
    out = Relu(f2)
  })") == std::vector<std::string>{"c by structure", "w by structure"});
}

TEST_CASE(
    "Matching: a Relu behind a quantizer that leaves out negative numbers counts for the "
    "quantizer") {
  const auto matched = [](const std::string& zero, const std::string& more) {
    return Matched(kFloat, R"(g (float[1, 4] x) => (float[1, 2] y)
      <float s = {0.5}, uint8 z = {)" +
                               zero +
                               R"(}, int8[4, 2] k = {1, 2, 3, 4, 5, 6, 7, 8}, int8 kz = {0}> {
    kf = DequantizeLinear(k, s, kz)
    c = MatMul(x, kf)
    q = QuantizeLinear(c, s, z)  f = DequantizeLinear(q, s, z))" +
                               more + "}")[0];
  };
  CHECK(matched("0", " y = Relu(f)") == "y by name");
  CHECK(matched("3", " y = Relu(f)") == "c by name");
  CHECK(matched("0", " r = Relu(f) n = Neg(f) y = Add(r, n)") == "c by name");
}

TEST_CASE("Matching: branches with one operator are told apart by their weights") {
  CHECK(Matched(R"(g (float[1, 2] x) => (float[1, 2] a, float[1, 2] b)
      <float[2, 2] v = {1, 0, 0, 1}, float[2, 2] w = {0, 8, 8, 0}> {
    a = MatMul(x, v)  b = MatMul(x, w)
  })",
                R"(g (float[1, 2] in) => (float[1, 2] p, float[1, 2] q)
      <float one = {1}, int8 z = {0}, int8[2, 2] k = {0, 8, 8, 0}, int8[2, 2] m = {1, 0, 0, 1}> {
    kf = DequantizeLinear(k, one, z)  mf = DequantizeLinear(m, one, z)
    r = MatMul(in, kf)  rq = QuantizeLinear(r, one, z)  p = DequantizeLinear(rq, one, z)
    t = MatMul(in, mf)  tq = QuantizeLinear(t, one, z)  q = DequantizeLinear(tq, one, z)
  })") == std::vector<std::string>{"b by structure", "a by structure", "w by structure",
                                   "v by structure"});
}

TEST_CASE("Matching: integers that are cast to their own type are the same") {
  CHECK(Matched(kFloat, R"(g (float[1, 4] in) => (float[1, 2] out)
      <float s = {0.5}, uint8 z = {3}, int8[4, 2] k = {1, 2, 3, 4, 5, 6, 7, 8}, int8 kz = {0}> {
    q1 = QuantizeLinear(in, s, z)  p1 = Cast <to: int = 2> (q1)  f1 = DequantizeLinear(p1, s, z)
    kf = DequantizeLinear(k, s, kz)
    m = MatMul(f1, kf)  r = Relu(m)
    q2 = QuantizeLinear(r, s, z)  p2 = Cast <to: int = 2> (q2)  out = DequantizeLinear(p2, s, z)
  })") == std::vector<std::string>{"x by structure", "y by structure", "w by structure"});
}

TEST_CASE(
    "Matching: a name that a quantized operator kept is that of what its quantizer stands for") {
  const auto matched = [](const char* zero) {
    return Matched(
        kFloat,
        std::string(R"(g (float[1, 4] x) => (float[1, 2] out) <float s = {0.5}, uint8 z = {)") +
            zero + R"(}, int8[4, 2] k = {1, 2, 3, 4, 5, 6, 7, 8}, int8 kz = {0}> {
      kf = DequantizeLinear(k, s, kz)
      m = MatMul(x, kf)
      c_quantized = QuantizeLinear(m, s, z)  out = DequantizeLinear(c_quantized, s, z)
    })");
  };
  CHECK(matched("0")[0] == "y by suffix");
  CHECK(matched("3")[0] == "c by suffix");  // it holds negative numbers
}

constexpr const char* kRenamed = R"(g (float[1, 4] x) => (float[1, 2] out)
    <float s = {0.5}, uint8 z = {3}> {
  n = Neg(x)  q = QuantizeLinear(n, s, z)  f = DequantizeLinear(q, s, z)
  out = Tanh(f)
})";

TEST_CASE("Matching: what the user says holds; what is not there is an error") {
  CHECK(Matched(kFloat, kRenamed) == std::vector<std::string>{"-"});
  for (const char* name : {"n", "q", "f"}) {
    CHECK(Matched(kFloat, kRenamed, {{"c", name}}) == std::vector<std::string>{"c by map"});
  }
  CHECK(Matched(kFloat, kRenamed, {{"no", "n"}})[0] == "error: the float model has no value `no`");
  CHECK(Matched(kFloat, kRenamed, {{"c", "out"}})[0] ==
        "error: the quantized model has no quantized value `out`");
}

}  // namespace
}  // namespace qrewrite
