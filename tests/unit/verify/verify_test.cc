// Verify and Bisect on small models, in ONNX Runtime and in the library's own kernels.
#include "qrewrite/verify.h"

#include <cmath>
#include <cstring>

#include <fmt/format.h>

#include "engine/verify/compare.h"
#include "tests/unit/api/api_support.h"

namespace qrewrite {
namespace {

std::unique_ptr<Evaluator> Ort(bool optimize = false) {
  Result<std::unique_ptr<Evaluator>> evaluator = OnnxRuntime({.optimize = optimize});
  REQUIRE_MESSAGE(evaluator.ok(), evaluator.status().message());
  return *std::move(evaluator);
}

Tolerance Tol(const std::string& text) {
  const Result<Tolerance> tolerance = Tolerance::Parse(text);
  REQUIRE_MESSAGE(tolerance.ok(), tolerance.status().message());
  return *tolerance;
}

VerifyReport Compare(const std::string& a, const std::string& b,
                     const VerifyOptions& options = {}) {
  const std::unique_ptr<Evaluator> evaluator = Ort();
  const Result<VerifyReport> report = Verify(ModelOf(a), ModelOf(b), *evaluator, options);
  REQUIRE_MESSAGE(report.ok(), report.status().message());
  return *report;
}

std::string Fault(const std::string& a, const std::string& b, const VerifyOptions& options = {}) {
  const std::unique_ptr<Evaluator> evaluator = BuiltinKernels();
  const Result<VerifyReport> report = Verify(ModelOf(a), ModelOf(b), *evaluator, options);
  return report.ok() ? "" : report.status().diagnostics()[0].message;
}

constexpr const char* kGain =
    R"(g (float[N, 4] x) => (float[N, 4] y) <float k = {3}> { y = Mul(x, k) })";
// 3 * x, rounded once more.
constexpr const char* kSum =
    R"(g (float[N, 4] x) => (float[N, 4] y) { d = Add(x, x)  y = Add(d, x) })";
constexpr const char* kOther =
    R"(g (float[N, 4] x) => (float[N, 4] y) <float k = {3.5}> { y = Mul(x, k) })";

TEST_CASE("Tolerances as text and back; others are refused") {
  for (const char* text : {"exact", "ulp:4", "lsb:1", "lsb:2@0.25", "0.001,1e-06", "sqnr:35.5"}) {
    CHECK(Tol(text).Text() == text);
  }
  CHECK(Tol("close").Text() == "0.0001,1e-05");
  for (const char* text : {"", "ulp", "ulp:", "ulp:-1", "lsb:1@2", "lsb:1@x", "1e-3", "1e-3,",
                           "nan,1", "sqnr:inf", "same"}) {
    CAPTURE(text);
    CHECK_FALSE(Tolerance::Parse(text).ok());
  }
}

TEST_CASE("Verify: the verdict follows the tolerance") {
  CHECK(Compare(kGain, kGain).verdict == Verdict::kExact);
  CHECK(Compare(kGain, kSum).verdict != Verdict::kDiverged);
  CHECK(Compare(kGain, kOther).verdict == Verdict::kDiverged);
  const struct {
    const char* tolerance;
    Verdict verdict;
  } rows[] = {{"exact", Verdict::kDiverged},     {"0.17,0", Verdict::kWithin},
              {"0.16,0", Verdict::kDiverged},    {"sqnr:15.5", Verdict::kWithin},
              {"sqnr:15.6", Verdict::kDiverged}, {"ulp:9000000", Verdict::kWithin},
              {"ulp:100", Verdict::kDiverged}};
  for (const auto& row : rows) {  // 3.5 instead of 3: 20 log10 6 = 15.563 dB
    CAPTURE(row.tolerance);
    CHECK(Compare(kGain, kOther, {.tolerance = Tol(row.tolerance)}).verdict == row.verdict);
  }
  const VerifyReport report = Compare(kGain, kOther);
  const OutputComparison& y = report.outputs.at(0);
  CHECK(y.sqnr_db == doctest::Approx(20 * std::log10(6)));
  CHECK(y.max_rel == doctest::Approx(0.5 / 3));
  CHECK(y.cosine == doctest::Approx(1));
  CHECK(y.worst_index.size() == 2);
  CHECK(y.worst_b == doctest::Approx(y.worst_a * 3.5 / 3));
}

TEST_CASE("What proves nothing is inconclusive") {
  const char* constant = R"(g (float[4] x) => (float[4] y) <float k = {0}> { y = Mul(x, k) })";
  const char* nan =
      R"(g (float[4] x) => (float[4] y) <float k = {0}> { z = Mul(x, k)  y = Div(z, z) })";
  CHECK(Compare(constant, constant).verdict == Verdict::kInconclusive);
  CHECK(Compare(nan, nan).verdict == Verdict::kInconclusive);
  CHECK(Compare(constant, nan).verdict == Verdict::kDiverged);
  const VerifyReport report = Compare(nan, nan);
  CHECK(report.outputs.at(0).unequal == 0);  // NaN equals NaN
  CHECK(report.outputs.at(0).why == "the first model gives no finite number");
}

TEST_CASE("Inputs fit what the model does with them") {
  const char* bert = R"(g (int64[B, S] ids, int64[B, S] mask) => (float[B, S, 2] y)
    <float[3, 2] table = {1, 2, 3, 4, 5, 6}, int64[1] last = {2}> {
      e = Gather<axis = 0>(table, ids)  m = Unsqueeze(mask, last)  f = Cast<to = 1>(m)  y = Mul(e, f)
    })";
  const VerifyReport report = Compare(bert, bert, {.samples = 8});
  CHECK(report.verdict == Verdict::kExact);
  CHECK(report.samples == 8);

  // A scalar is a length or a step, never 0.
  const char* step =
      R"(g (float[4] x, int64 step) => (float[4] y) { f = Cast<to = 1>(step)  y = Mul(x, f) })";
  const char* one = R"(g (float[4] x, int64 step) => (float[4] y) { y = Identity(x) })";
  CHECK(Compare(step, one, {.samples = 8, .tolerance = Tol("exact")}).verdict == Verdict::kExact);

  // A quantizer that rounds halves up instead of to even differs at ties alone.
  const char* even =
      R"(g (float[64] x) => (uint8[64] q) <float s = {0.5}, uint8 z = {10}> { q = QuantizeLinear(x, s, z) })";
  const char* up = R"(g (float[64] x) => (uint8[64] q)
    <float s = {0.5}, float half = {0.5}, float z = {10}, float lo = {0}, float hi = {255}> {
      d = Div(x, s)  h = Add(d, half)  r = Floor(h)  t = Add(r, z)  c = Clip(t, lo, hi)  q = Cast<to = 2>(c)
    })";
  CHECK(Compare(even, up, {.samples = 1, .tolerance = Tol("exact")}).verdict == Verdict::kExact);
  CHECK(Compare(even, up, {.samples = 2, .tolerance = Tol("exact")}).verdict == Verdict::kDiverged);
  CHECK(Compare(even, up, {.samples = 2, .tolerance = Tol("lsb:1")}).verdict == Verdict::kWithin);

  // What only numbers out of the quantizer's range show.
  const char* pair = R"(g (float[64] x) => (float[64] y) <float s = {0.5}, uint8 z = {10}> {
      q = QuantizeLinear(x, s, z)  y = DequantizeLinear(q, s, z) })";
  const char* none = R"(g (float[64] x) => (float[64] y) { y = Identity(x) })";
  CHECK(Compare(pair, none, {.samples = 3, .tolerance = Tol("0,0.3")}).verdict ==
        Verdict::kDiverged);
  CHECK(Compare(pair, none, {.samples = 3, .tolerance = Tol("0,0.3"), .ranges = {{"x", {-5, 100}}}})
            .verdict == Verdict::kWithin);
}

// `gain` * x, quantized or not.
std::string Inside(const char* gain, bool quantized) {
  const std::string scale =
      fmt::format("float k = {{{}}}, float s = {{0.1}}, uint8 z = {{128}}", gain);
  return "g (float[4, 16] x) => (float[4, 16] y) <" + scale + "> { m = Mul(x, k)  " +
         (quantized ? "q = QuantizeLinear(m, s, z)  y = DequantizeLinear(q, s, z) }"
                    : "y = Identity(m) }");
}

TEST_CASE("An approximation is judged where the quantizers inside lose least") {
  // 20 times what lies in -4..4 leaves -12.8..12.7.
  for (const char* tolerance : {"sqnr:8", "sqnr:20"}) {
    CAPTURE(tolerance);
    const VerifyReport report =
        Compare(Inside("20", true), Inside("20", false), {.tolerance = Tol(tolerance)});
    CHECK(report.verdict == Verdict::kWithin);
    CHECK(report.notes.back().find("of 5 samples are nearer to 0") != std::string::npos);
  }
  // What differs everywhere differs there too, and numbers that were given stay.
  CHECK(Compare(Inside("20", true), Inside("8", false), {.tolerance = Tol("sqnr:8")}).verdict ==
        Verdict::kDiverged);
  CHECK(Compare(Inside("20", true), Inside("20", false),
                {.tolerance = Tol("sqnr:8"), .ranges = {{"x", {-4, 4}}}})
            .verdict == Verdict::kDiverged);
  // Nothing is made smaller where that is no help, or nobody asks for decibels.
  CHECK(Compare(Inside("0.001", true), Inside("0.001", false), {.tolerance = Tol("sqnr:8")})
            .verdict == Verdict::kDiverged);
  CHECK(Compare(Inside("20", true), Inside("20", false), {.tolerance = Tol("lsb:1")}).verdict ==
        Verdict::kDiverged);
}

TEST_CASE("What is equal at its bounds is looked at nearer to 0") {
  const auto model = [](const char* plus) {
    return fmt::format(
        "g (float[2] x) => (float[2] y) <float k = {{60}}, float p = {{{}}}, "
        "float s = {{0.01}}, int8 z = {{0}}> {{ m = Mul(x, k)  a = Add(m, p)  "
        "q = QuantizeLinear(a, s, z)  y = DequantizeLinear(q, s, z) }}",
        plus);
  };
  CHECK(Compare(model("0"), model("0")).verdict == Verdict::kExact);
  CHECK(Compare(model("0"), model("0.6")).verdict == Verdict::kDiverged);
}

TEST_CASE("An approximation may round ties otherwise") {
  const char* even =
      "g (float[N, 64] x) => (float[N, 64] y) <float s = {1}> { q = QuantizeLinear(x, s)  y = "
      "DequantizeLinear(q, s) }";
  const char* up =
      "g (float[N, 64] x) => (float[N, 64] y) <float h = {0.5}, float a = {0}, float b = {255}> { "
      "s = Add(x, h)  f = Floor(s)  y = Clip(f, a, b) }";
  const char* down =
      "g (float[N, 64] x) => (float[N, 64] y) <float a = {0}, float b = {255}> { f = Floor(x)  y = "
      "Clip(f, a, b) }";
  const VerifyReport report = Compare(even, up, {.tolerance = Tol("sqnr:60")});
  CHECK(report.verdict == Verdict::kExact);
  CHECK(report.notes.back().starts_with("samples half-way between steps were replaced"));
  CHECK(Compare(even, up, {.tolerance = Tol("exact")}).verdict == Verdict::kDiverged);
  // Other samples differ, too: then all count.
  const VerifyReport other = Compare(even, down, {.tolerance = Tol("sqnr:60")});
  CHECK(other.verdict == Verdict::kDiverged);
  CHECK_FALSE(other.notes.back().starts_with("samples half-way between steps were"));
}

TEST_CASE("Integers that approximations chose are no proof of a fault") {
  const auto cast = [](const char* gain, const char* type) {
    return fmt::format(
        "g (float[16, 16] x) => ({1}[16, 16] y) <float k = {{{0}}}> {{ m = Mul(x, k)  y = "
        "Cast<to={2}>(m) }}",
        gain, type, type == std::string("int64") ? 7 : 3);
  };
  const VerifyOptions options{.tolerance = Tol("sqnr:60")};
  const VerifyReport report = Compare(cast("1", "int64"), cast("1.02", "int64"), options);
  CHECK(report.verdict == Verdict::kInconclusive);
  CHECK(report.outputs[0].why.find("integers differ, which approximations may have chosen") !=
        std::string::npos);
  CHECK(Compare(cast("1", "int64"), cast("5", "int64"), options).verdict == Verdict::kDiverged);
  CHECK(Compare(cast("1", "int8"), cast("1.02", "int8"), options).verdict == Verdict::kDiverged);
  CHECK(Compare(cast("1", "int64"), cast("1.02", "int64"), {.tolerance = Tol("exact")}).verdict ==
        Verdict::kDiverged);
}

TEST_CASE("Numbers that Sigmoid does not resolve say nothing in decibels") {
  const auto sigmoid = [](const char* away) {
    return fmt::format(
        "g (float[N, 4] x) => (float[N, 4] y) <float k = {{{}}}>"
        "{{ r = Tanh(x)  t = Add(r, k)  y = Sigmoid(t) }}",
        away);
  };
  const VerifyOptions options{.tolerance = Tol("sqnr:50")};
  // sigmoid(-17) is 4e-8, and a step of what is added up on the way 6e-8.
  const VerifyReport tiny = Compare(sigmoid("-18"), sigmoid("-17.5"), options);
  CHECK(tiny.verdict == Verdict::kInconclusive);
  CHECK(tiny.outputs[0].why.find("which Sigmoid and Softmax do not resolve") != std::string::npos);
  CHECK(Compare(sigmoid("-9"), sigmoid("-8.5"), options).verdict == Verdict::kDiverged);
  CHECK(Compare(sigmoid("-18"), sigmoid("-12"), options).verdict == Verdict::kDiverged);
  const VerifyOptions exact{.tolerance = Tol("exact")};
  CHECK(Compare(sigmoid("-18"), sigmoid("-17.5"), exact).verdict == Verdict::kDiverged);
}

TEST_CASE("The same seed gives the same numbers; another one others") {
  const auto worst = [](uint64_t seed) {
    return Compare(kGain, kOther, {.seed = seed}).outputs[0].worst_a;
  };
  CHECK(worst(0) == worst(0));
  CHECK(worst(0) != worst(1));
}

TEST_CASE("Names, scales and types that differ") {
  const char* renamed = R"(g (float[N, 4] u) => (float[N, 4] v) <float k = {3}> { v = Mul(u, k) })";
  CHECK(Compare(kGain, renamed, {.names = {{"x", "u"}, {"y", "v"}}}).verdict == Verdict::kExact);
  const char* sixfold = R"(g (float[N, 4] x) => (float[N, 4] y) <float k = {6}> { y = Mul(x, k) })";
  CHECK(Compare(kGain, sixfold, {.scales = {{"y", 2}}}).verdict == Verdict::kExact);
  const char* bytes =
      R"(g (uint8[8] x) => (float[8] y) <float k = {3}> { f = Cast<to = 1>(x)  y = Mul(f, k) })";
  const char* floats = R"(g (float[8] x) => (float[8] y) <float k = {3}> { y = Mul(x, k) })";
  const VerifyReport report = Compare(bytes, floats);
  CHECK(report.verdict == Verdict::kExact);
  CHECK(report.notes[0] ==
        "input `x` is UINT8, and FLOAT in the second model: it gets the same numbers");
}

TEST_CASE("Integers of 64 bits that are one number in double precision differ") {
  const auto with = [](const char* k) {
    return fmt::format(
        "g (int64[2] x) => (int64[3] y) <int64[1] k = {{{}}}> {{ y = Concat<axis = 0>(x, k) }}", k);
  };
  const std::string a = with("1152921504606846976"), b = with("1152921504606846977");
  const VerifyReport report = Compare(a, b);
  CHECK(report.outputs[0].unequal == report.samples);
  CHECK(report.outputs[0].max_abs == 1);
  CHECK(Compare(a, a).verdict == Verdict::kExact);
}

TEST_CASE("Another shape is another result") {
  const char* wide = R"(g (float[N, 4] x) => (float[N, 8] y) { y = Concat<axis = 1>(x, x) })";
  const VerifyReport report = Compare(kGain, wide);
  CHECK(report.verdict == Verdict::kDiverged);
  CHECK(report.outputs[0].why == "shapes [2, 4] and [2, 8]");
  CHECK(report.outputs[0].other_shape);
  CHECK(report.outputs[0].dtype_a == static_cast<int>(DType::kFloat));
  CHECK(report.outputs[0].dtype_b == static_cast<int>(DType::kFloat));
  CHECK(report.Text().find("DIVERGED\n  shapes [2, 4] and [2, 8]\n") != std::string::npos);
  const std::string json = report.Json();
  CHECK(json.find(R"("other_shape": true)") != std::string::npos);
  for (const char* key : {"max_abs", "max_rel", "max_ulp", "sqnr_db", "cosine"}) {
    CAPTURE(key);
    CHECK(json.find(fmt::format(R"("{}": null)", key)) != std::string::npos);
  }
  CHECK(Compare(kGain, kGain).Json().find(R"("cosine": 1.0)") != std::string::npos);
  CHECK(report.worst_inputs.contains("x"));
}

TEST_CASE("What cannot be compared is said") {
  const char* two = R"(g (float[N, 4] x, float[4] w) => (float[N, 4] y) { y = Mul(x, w) })";
  const char* out = R"(g (float[N, 4] x) => (float[N, 4] z) { z = Relu(x) })";
  CHECK(Fault(kGain, two) ==
        "the first model has no input `w` of the second one (--map A=B names it)");
  CHECK(Fault(kGain, out) == "the second model has no output `y` (--map y=B names it)");
  CHECK(Fault(kGain, kGain, {.samples = 0}) == "at least one sample is needed");
  CHECK(Fault(kGain, kGain, {.shapes = {{"z", {1, 4}}}}) == "the model has no input `z`");
  CHECK(Fault(kGain, kGain, {.shapes = {{"x", {1}}}}) ==
        "input `x` has rank 2, but 1 sizes are given");
  CHECK(Fault(kGain, kGain, {.ranges = {{"x", {1, 0}}}}) ==
        "1,0 is no range of input `x`, which is FLOAT");
  CHECK(Fault(kGain, kGain, {.names = {{"q", "r"}}}) ==
        "the first model has no input or output `q`");
  const char* unknown = R"(g (float[4] x) => (float[4] y) { y = acme.Gain(x) })";
  CHECK(Fault(kGain, unknown).starts_with("input `x` has rank 2, and 1 in the second model"));
}

TEST_CASE("Where the first model differs from itself as much, the verdict is open") {
  const char* plain = R"(g (float[64] x) => (float[64] y) { y = Exp(x) })";
  const std::unique_ptr<Evaluator> ort = Ort(), kernels = BuiltinKernels();
  // A second runtime that is as far from the first as the second model is.
  const auto wrong = HostEvaluator(
      "noisy", [&](const std::string&, const std::vector<std::string>&) -> Result<HostRun> {
        return HostRun([&](const Tensors& inputs) -> Result<Tensors> {
          const Model model = ModelOf(
              R"(g (float[64] x) => (float[64] y) <float k = {1.001}> { e = Exp(x)  y = Mul(e, k) })");
          auto session = kernels->Load(model);
          return (*session)->Run(inputs);
        });
      });
  const Model a = ModelOf(plain);
  const Model b = ModelOf(
      R"(g (float[64] x) => (float[64] y) <float k = {1.0005}> { e = Exp(x)  y = Mul(e, k) })");
  CHECK(Verify(a, b, *ort, {.second = kernels.get()})->verdict == Verdict::kDiverged);
  CHECK(Verify(a, b, *ort, {.second = wrong.get()})->verdict == Verdict::kInconclusive);
  CHECK(Verify(a, b, *ort, {.noise = wrong.get()})->verdict == Verdict::kInconclusive);
  CHECK(Verify(a, b, *ort, {.noise = ort.get()})->verdict == Verdict::kDiverged);
}

TEST_CASE(
    "Inputs that only the second model rounds have whole steps where a rewrite would diverge") {
  const Result<Rules> rules = Rules::Parse("tidy.yaml", kTidy);
  REQUIRE_MESSAGE(rules.ok(), rules.status().message());
  const auto quantized = [](const std::string& result) {
    return "g (float[64] x) => (float[64] y) <float s = {1}, int8 z = {0}, float k = {1.5}> { "
           "q = QuantizeLinear(x, s, z)  f = DequantizeLinear(q, s, z)  " +
           result + " }";
  };
  const std::string plain = "g (float[64] x) => (float[64] y) { y = Neg(x) }";
  const std::string other =
      "g (float[64] x) => (float[64] y) <float s = {0.7}, int8 z = {0}> { "
      "q = QuantizeLinear(x, s, z)  f = DequantizeLinear(q, s, z)  y = Neg(f) }";
  VerifyOptions options{.tolerance = Tol("sqnr:60"), .semantics = {*rules}};
  const auto verdict = [&](const std::string& a, const std::string& b) {
    return Compare(a, b, options).verdict;
  };
  const VerifyReport report = Compare(plain, quantized("y = Neg(f)"), options);
  CHECK(report.verdict == Verdict::kExact);
  CHECK(std::ranges::any_of(report.notes, [](const std::string& note) {
    return note.starts_with("`x` has whole steps");
  }));
  CHECK(verdict(plain, quantized("n = Neg(f)  y = Mul(n, k)")) == Verdict::kDiverged);
  CHECK(verdict(other, quantized("y = Neg(f)")) == Verdict::kDiverged);  // both round it
  options.tolerance = Tol("exact");
  CHECK(verdict(plain, quantized("y = Neg(f)")) == Verdict::kDiverged);
  // A model that is compared with what a quantizer of models made of it.
  options = {.tolerance = Tol("sqnr:60")};
  CHECK(verdict(plain, quantized("y = Neg(f)")) == Verdict::kDiverged);
}

TEST_CASE("The sample of the largest difference is kept, in the layout of ONNX's tests") {
  const VerifyReport report = Compare(kGain, kOther);
  const std::vector<SideFile> files = report.Repro(ModelOf(kGain), ModelOf(kGain), "repro");
  REQUIRE(files.size() == 2);
  CHECK(files[0].path == "repro/test_data_set_0/input_0.pb");
  CHECK(files[1].path == "repro/test_data_set_0/output_0.pb");
  onnx::TensorProto x, y;
  REQUIRE(x.ParseFromString(files[0].bytes));
  REQUIRE(y.ParseFromString(files[1].bytes));
  CHECK(x.name() == "x");
  CHECK(x.dims_size() == 2);
  float first = 0, result = 0;
  std::memcpy(&first, x.raw_data().data(), sizeof first);
  std::memcpy(&result, y.raw_data().data(), sizeof result);
  CHECK(result == 3 * first);
}

TEST_CASE("What is beyond the tolerance is shown, not a larger difference within it") {
  const auto floats = [](std::vector<float> values) {
    return Tensor::Of<float>(DType::kFloat, {2}, values);
  };
  const Tolerance near = Tol("1e-3,0");
  OutputSums sums("y", true);
  REQUIRE(sums.Add(0, floats({1000, 1}), floats({1000, 1.25}), 1, near).ok());
  REQUIRE(sums.Add(1, floats({1000, 1}), floats({1000.5, 1}), 1, near).ok());
  CHECK_FALSE(sums.is_worst());
  const OutputComparison y = sums.Finish(near);
  CHECK(y.verdict == Verdict::kDiverged);
  CHECK(y.worst_sample == 0);
  CHECK(y.worst_index == std::vector<int64_t>{1});
  CHECK(y.max_abs == 0.5);
}

constexpr const char* kWrongRules = R"yaml(qrewrite: 1
name: wrong
rules:
  - name: neg-neg
    match: y = Neg(Neg(x))
    replace: y = x
  - name: abs
    match: y = Abs(x)
    replace: y = Relu(x)
)yaml";

TEST_CASE("Bisect names the first rewrite that makes a difference") {
  const Result<Rules> rules = Rules::Parse("wrong.yaml", kWrongRules);
  REQUIRE(rules.ok());
  const std::unique_ptr<Evaluator> ort = Ort();
  const Model model = ModelOf(R"(g (float[8] x) => (float[8] y) {
      a = Neg(x)  b = Neg(a)  c = Abs(b)  d = Neg(c)  e = Neg(d)  f = Sin(e)  g1 = Neg(f)  y = Neg(g1)
    })");
  const Result<BisectReport> report = Bisect(model, *rules, {}, *ort);
  REQUIRE_MESSAGE(report.ok(), report.status().message());
  CHECK(report->rewrites == 4);
  CHECK(report->rule == "abs");
  CHECK(report->bad == report->good + 1);
  CHECK(report->before.find("Abs(") != std::string::npos);
  CHECK(report->after.find("Relu(") != std::string::npos);
  CHECK(report->comparison.verdict == Verdict::kDiverged);

  const Model fine =
      ModelOf(R"(g (float[8] x) => (float[8] y) { a = Neg(x)  b = Neg(a)  y = Sin(b) })");
  CHECK(Bisect(fine, *rules, {}, *ort)->bad == 0);
}

TEST_CASE("Bisect steps over what cannot be run") {
  const Result<Rules> rules = Rules::Parse("private.yaml", R"yaml(qrewrite: 1
name: private
signatures:
  qr.Half: {inputs: [x], outputs: {y: {shape: shape(x), dtype: dtype(x)}}}
phases:
  - {name: one, rules: [half]}
  - {name: two, rules: [third]}
rules:
  - name: half
    match: y = Abs(x)
    replace: y = qr.Half(x)
  - name: third
    match: y = qr.Half(x)
    replace: y = Neg(x)
)yaml");
  REQUIRE_MESSAGE(rules.ok(), rules.status().message());
  const std::unique_ptr<Evaluator> ort = Ort();
  const Model model = ModelOf(R"(g (float[8] x) => (float[8] y) { a = Abs(x)  y = Sin(a) })");
  const Result<BisectReport> report = Bisect(model, *rules, {}, *ort);
  REQUIRE_MESSAGE(report.ok(), report.status().message());
  CHECK(report->bad == 2);
  CHECK(report->good == 0);
  CHECK(report->Text().starts_with("the first bad rewrite is one of 1 to 2 of 2"));
}

TEST_CASE("Floats of an output may be whole numbers in steps") {
  const char* numbers =
      "g (float[N, 4] x) => (float[N, 4] y) <float k = {0.3}> { r = Round(x)  y = Mul(r, k) }";
  const char* whole = "g (float[N, 4] x) => (float[N, 4] y) { y = Round(x) }";
  const float step = 0.3F;
  const VerifyReport report =
      Compare(numbers, whole, {.tolerance = Tol("exact"), .units = {{"y", {.scale = {step}}}}});
  CHECK(report.verdict == Verdict::kExact);
  CHECK(report.notes.front() == "output `y` is in the second model steps of 0.3 from 0");
  CHECK(Compare(numbers, whole, {.tolerance = Tol("sqnr:6")}).verdict == Verdict::kDiverged);
}

TEST_CASE("Integers stand for numbers in units, of each channel too") {
  constexpr const char* kReal =
      R"(g (float[2, 3, 4] x) => (float[2, 3, 4] y)
         <float[3] s = {0.5, 0.25, 0.125}, int8[3] z = {0, 3, -7}>
         { q = QuantizeLinear<axis = 1>(x, s, z)  y = DequantizeLinear<axis = 1>(q, s, z) })";
  constexpr const char* kWhole = "g (int8[2, 3, 4] x) => (int8[2, 3, 4] y) { y = Identity(x) }";
  const Unit unit{.scale = {0.5, 0.25, 0.125}, .zero_point = {0, 3, -7}};
  const VerifyReport same = Compare(kReal, kWhole, {.units = {{"x", unit}, {"y", unit}}});
  CHECK(same.verdict == Verdict::kExact);
  Unit other = unit;
  other.zero_point[2] = -8;
  const VerifyReport moved = Compare(kReal, kWhole, {.units = {{"x", unit}, {"y", other}}});
  CHECK(moved.verdict == Verdict::kDiverged);
  CHECK(moved.outputs[0].worst_index[1] == 2);
  CHECK(moved.outputs[0].max_abs == 0.125);
  Unit narrow = unit;
  narrow.lo = -4, narrow.hi = 3;
  CHECK(Compare(kReal, kWhole, {.units = {{"x", narrow}, {"y", unit}}}).verdict ==
        Verdict::kDiverged);
  CHECK(Fault(kReal, kWhole, {.units = {{"x", {.scale = {1, 2}}}}}) ==
        "input `x`: a unit of 2 scales and 1 zero points for [2, 3, 4]");
  CHECK(Fault(kReal, kWhole, {.units = {{"x", {.scale = {0}}}}}) ==
        "`x`: a unit has scales above 0 and zero points that are finite");
  CHECK(Fault(kReal, kWhole, {.units = {{"y", {.zero_point = {}}}}}) ==
        "`y`: a unit has scales above 0 and zero points that are finite");
  CHECK(Fault(kReal, kWhole, {.units = {{"v", unit}}}) ==
        "the first model has no input or output `v`");
}

}  // namespace
}  // namespace qrewrite
