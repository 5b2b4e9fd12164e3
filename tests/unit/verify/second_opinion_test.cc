// What a second runtime says where the first one finds a difference.
#include "qrewrite/verify.h"

#include <cstring>
#include <span>

#include <fmt/format.h>

#include "tests/unit/api/api_support.h"

namespace qrewrite {
namespace {

Tolerance Tol(const std::string& text) {
  const Result<Tolerance> tolerance = Tolerance::Parse(text);
  REQUIRE_MESSAGE(tolerance.ok(), tolerance.status().message());
  return *tolerance;
}

TEST_CASE("A difference of a rounding that the second runtime does not see is the first one's") {
  const std::unique_ptr<Evaluator> kernels = BuiltinKernels();
  // A runtime whose kernel for Neg behind an Identity gives numbers that are `factor` times as large.
  const auto rounding = [&](const std::string& factor) {
    const auto load = [&kernels, factor](const std::string& bytes,
                                         const std::vector<std::string>&) -> Result<HostRun> {
      const bool other = bytes.find("Identity") != std::string::npos;
      const std::string k = other ? factor : "1";
      return HostRun([&kernels, k](const Tensors& inputs) -> Result<Tensors> {
        const Model model = ModelOf("g (float[N] x) => (float[N] y) <float k = {" + k +
                                    "}> { n = Neg(x)  y = Mul(n, k) }");
        return (*kernels->Load(model))->Run(inputs);
      });
    };
    return HostEvaluator("rounding", load);
  };
  const Model a = ModelOf("g (float[N] x) => (float[N] y) { y = Neg(x) }");
  const Model b = ModelOf("g (float[N] x) => (float[N] y) { i = Identity(x)  y = Neg(i) }");
  const auto judge = [&](const std::string& factor, const Model& other) {
    const auto runtime = rounding(factor);
    const auto report =
        Verify(a, other, *runtime, {.tolerance = Tol("exact"), .second = kernels.get()});
    REQUIRE_MESSAGE(report.ok(), report.status().message());
    return *report;
  };
  const VerifyReport near = judge("1.0000002", b);
  CHECK(near.verdict == Verdict::kInconclusive);
  CHECK(near.outputs[0].why.starts_with("rounding rounds otherwise (13"));
  CHECK(judge("1.0001", b).verdict == Verdict::kDiverged);  // 80 dB: no rounding
  // The models do differ.
  const Model third = ModelOf(
      "g (float[N] x) => (float[N] y) <float k = {1.0000002}> { i = Identity(x)  n = Neg(i)  y = "
      "Mul(n, k) }");
  CHECK(judge("1.0000002", third).verdict == Verdict::kDiverged);
}

TEST_CASE("What the first runtime gets wrong of the first model is no fault of the second") {
  const std::unique_ptr<Evaluator> kernels = BuiltinKernels();
  // A runtime that is 24 dB off with models without an Identity, and 28 dB when it is asked once more.
  int calls = 0;
  const auto saturating = HostEvaluator(
      "saturating",
      [&](const std::string& bytes, const std::vector<std::string>&) -> Result<HostRun> {
        const bool other = bytes.find("Identity") != std::string::npos;
        return HostRun([&, other](const Tensors& inputs) -> Result<Tensors> {
          const std::string k = other ? "1" : ++calls <= 5 ? "1.06" : "1.04";
          const Model model = ModelOf("g (float[N] x) => (float[N] y) <float k = {" + k +
                                      "}> { n = Neg(x)  y = Mul(n, k) }");
          return (*kernels->Load(model))->Run(inputs);
        });
      });
  const Model a = ModelOf("g (float[N] x) => (float[N] y) { y = Neg(x) }");
  const auto judge = [&](const char* other, const char* tolerance) {
    calls = 0;
    const auto report = Verify(a, ModelOf(other), *saturating,
                               {.tolerance = Tol(tolerance), .second = kernels.get()});
    REQUIRE_MESSAGE(report.ok(), report.status().message());
    return *report;
  };
  const char* same = "g (float[N] x) => (float[N] y) { i = Identity(x)  y = Neg(i) }";
  const VerifyReport report = judge(same, "sqnr:30");
  CHECK(report.verdict == Verdict::kInconclusive);
  CHECK(report.outputs[0].why.ends_with("cannot tell the two apart"));
  CHECK(judge(same, "close").verdict ==
        Verdict::kDiverged);  // no decibels that were too many to ask for
  const char* wrong =
      "g (float[N] x) => (float[N] y) <float k = {1.1}> { i = Identity(x)  n = Neg(i)  y = Mul(n, "
      "k) }";
  CHECK(judge(wrong, "sqnr:30").verdict == Verdict::kDiverged);
}

TEST_CASE("A constant that is another is one also where the runtimes disagree as much") {
  const std::unique_ptr<Evaluator> kernels = BuiltinKernels();
  // A runtime that makes half as much of any model.
  const auto half = HostEvaluator(
      "half",
      [&](const std::string& bytes, const std::vector<std::string>& inside) -> Result<HostRun> {
        const auto model = Model::Parse(bytes);
        if (!model.ok()) return model.status();
        QR_ASSIGN_OR_RETURN(std::shared_ptr<Session> session, kernels->Load(*model, inside));
        return HostRun([session](const Tensors& inputs) -> Result<Tensors> {
          QR_ASSIGN_OR_RETURN(Tensors made, session->Run(inputs));
          for (auto& [name, tensor] : made) {
            std::vector<float> numbers(tensor.bytes.size() / sizeof(float));
            std::memcpy(numbers.data(), tensor.bytes.data(), tensor.bytes.size());
            for (float& number : numbers) number /= 2;
            const auto kept = std::make_shared<std::vector<float>>(std::move(numbers));
            tensor.bytes = ConstBytes(std::as_bytes(std::span(*kept)), kept);
          }
          return made;
        });
      });
  const auto judge = [&](const char* other, const char* tolerance) {
    const Model a = ModelOf(
        "g (float[8] x) => (float[8] y) <float k = {2}> { m = Mul(x, k)  n = Neg(m) "
        " y = Abs(n) }");
    const auto report =
        Verify(a, ModelOf(other), *kernels, {.tolerance = Tol(tolerance), .second = half.get()});
    REQUIRE_MESSAGE(report.ok(), report.status().message());
    return *report;
  };
  const char* constant =
      "g (float[8] x) => (float[8] y) <float k = {2.2}> { m = Mul(x, k)  n = Neg(m)  y = Abs(n) }";
  const VerifyReport changed = judge(constant, "close");
  CHECK(changed.verdict == Verdict::kDiverged);
  CHECK_MESSAGE(
      changed.outputs[0].why.find("but Mul `m` reads the same numbers") != std::string::npos,
      changed.Text());
  CHECK(judge(constant, "sqnr:25").verdict == Verdict::kDiverged);
  // What rewrites made of it has other operators: nobody knows.
  const char* rewritten =
      "g (float[8] x) => (float[8] y) <float k = {0.45}> { m = Div(x, k)  n = Neg(m)  y = Abs(n) }";
  CHECK(judge(rewritten, "sqnr:60").verdict == Verdict::kInconclusive);
}

TEST_CASE("What is no number in the second model alone is no noise") {
  const std::unique_ptr<Evaluator> kernels = BuiltinKernels();
  const auto rounding = HostEvaluator(
      "rounding", [&](const std::string&, const std::vector<std::string>&) -> Result<HostRun> {
        return HostRun([&](const Tensors& inputs) -> Result<Tensors> {
          const Model model =
              ModelOf("g (float[N] x) => (float[N] y) <float k = {-1.0000002}> { y = Mul(x, k) }");
          return (*kernels->Load(model))->Run(inputs);
        });
      });
  const Model a = ModelOf("g (float[N] x) => (float[N] y) { y = Neg(x) }");
  const Model b = ModelOf(
      "g (float[N] x) => (float[N] y) <float z = {0}> { n = Neg(x)  o = Mul(x, z)  p = Div(o, o)  "
      "y = Add(n, p) }");
  const auto report = Verify(a, b, *kernels, {.tolerance = Tol("close"), .second = rounding.get()});
  REQUIRE_MESSAGE(report.ok(), report.status().message());
  CHECK(report->verdict == Verdict::kDiverged);
  CHECK(report->outputs[0].not_numbers == report->outputs[0].elements);
}

// Halves, which lie between two steps of a quantizer of scale 1.
Samples Halves() {
  const auto get = [](size_t) -> Result<Tensors> {
    static constexpr float kNumbers[] = {0.5F, 1.5F, 2.5F, 3.25F, -4.5F, 5.75F, 6.5F, -7.5F};
    const ConstBytes bytes(std::as_bytes(std::span(kNumbers)), nullptr);
    return Tensors{{"x", {.dtype = 1, .dims = {8}, .bytes = bytes}}};
  };
  return {.count = 1, .origin = "halves", .get = get};
}

TEST_CASE(
    "Steps that a rounding in front of a quantizer changes are no fault of the second model") {
  const std::unique_ptr<Evaluator> kernels = BuiltinKernels();
  const auto text = [&](const std::string& front) {
    return fmt::format(
        "g (float[8] x) => (float[8] y) <float s = {{1}}, int8 z = {{0}}, int8 o = {{1}}, "
        "float k = {{-1.0000002}}> {{ {}  y = DequantizeLinear(q, s, z) }}",
        front);
  };
  const auto judge = [&](const std::string& front, const char* tolerance) {
    const Model a = ModelOf(text("n = Neg(x)  q = QuantizeLinear(n, s, z)"));
    const auto report =
        Verify(a, ModelOf(text(front)), *kernels,
               {.tolerance = Tol(tolerance), .inputs = Halves(), .second = kernels.get()});
    REQUIRE_MESSAGE(report.ok(), report.status().message());
    return *report;
  };
  const VerifyReport near = judge("n = Mul(x, k)  q = QuantizeLinear(n, s, z)", "sqnr:80");
  CHECK(near.outputs[0].unequal > 0);
  CHECK(near.verdict == Verdict::kInconclusive);
  CHECK(near.outputs[0].why.starts_with("from QuantizeLinear"));
  // The kernels themselves see it, and the tolerance does not allow it.
  CHECK(judge("n = Mul(x, k)  q = QuantizeLinear(n, s, z)", "exact").verdict == Verdict::kDiverged);
  // Another zero point is not a rounding.
  CHECK(judge("n = Mul(x, k)  q = QuantizeLinear(n, s, o)", "sqnr:80").verdict ==
        Verdict::kDiverged);
  // Nor is a quantizer that makes other steps of the same numbers.
  CHECK(judge("n = Neg(x)  c = Ceil(n)  q = QuantizeLinear(c, s, z)", "sqnr:80").verdict ==
        Verdict::kDiverged);
}

TEST_CASE("A runtime that rounds otherwise in front of a quantizer makes other steps") {
  const std::unique_ptr<Evaluator> kernels = BuiltinKernels();
  const auto judge = [&](const std::string& factor) {
    const auto load = [&](const std::string& bytes,
                          const std::vector<std::string>&) -> Result<HostRun> {
      const std::string k = bytes.find("Identity") != std::string::npos ? factor : "1";
      return HostRun([&kernels, k](const Tensors& inputs) -> Result<Tensors> {
        const Model model = ModelOf(
            "g (float[8] x) => (float[8] y, float[8] n, int8[8] q) <float s = {1}, int8 z = {0}, "
            "float k = {" +
            k +
            "}> { m = Neg(x)  n = Mul(m, k)  q = QuantizeLinear(n, s, z)  y = DequantizeLinear(q, "
            "s, z) }");
        return (*kernels->Load(model))->Run(inputs);
      });
    };
    const auto runtime = HostEvaluator("rounding", load);
    const char* rest = "q = QuantizeLinear(n, s, z)  y = DequantizeLinear(q, s, z) }";
    const char* head = "g (float[8] x) => (float[8] y) <float s = {1}, int8 z = {0}> { ";
    const Model a = ModelOf(fmt::format("{}n = Neg(x)  {}", head, rest));
    const Model b = ModelOf(fmt::format("{}i = Identity(x)  n = Neg(i)  {}", head, rest));
    const auto report = Verify(
        a, b, *runtime, {.tolerance = Tol("exact"), .inputs = Halves(), .second = kernels.get()});
    REQUIRE_MESSAGE(report.ok(), report.status().message());
    return report->verdict;
  };
  CHECK(judge("1.0000002") == Verdict::kInconclusive);
  CHECK(judge("1.001") == Verdict::kDiverged);
}

TEST_CASE("Each output is judged on the sample in which it differs most") {
  const std::unique_ptr<Evaluator> kernels = BuiltinKernels();
  // A runtime that gets p of models without an Identity wrong where x is positive, and q where it is negative, and less so.
  const auto saturating = HostEvaluator(
      "saturating",
      [&](const std::string& bytes, const std::vector<std::string>&) -> Result<HostRun> {
        const bool other = bytes.find("Identity") != std::string::npos;
        return HostRun([&kernels, other](const Tensors& inputs) -> Result<Tensors> {
          float x = 0;
          std::memcpy(&x, inputs.at("x").bytes.data(), sizeof x);
          const char* const p = other || x < 0 ? "1" : "2";
          const char* const q = other || x > 0 ? "1" : "1.5";
          const Model model =
              ModelOf(fmt::format("g (float[4] x) => (float[4] p, float[4] q) <float k = {{{}}}, "
                                  "float l = {{{}}}> {{ n = Neg(x)  p = Mul(n, k)  "
                                  "q = Mul(n, l) }}",
                                  p, q));
          return (*kernels->Load(model))->Run(inputs);
        });
      });
  const auto get = [](size_t i) -> Result<Tensors> {
    static constexpr float kNumbers[2][4] = {{1, 2, 3, 4}, {-1, -2, -3, -4}};
    const ConstBytes bytes(std::as_bytes(std::span(kNumbers[i])), nullptr);
    return Tensors{{"x", {.dtype = 1, .dims = {4}, .bytes = bytes}}};
  };
  const Model a = ModelOf("g (float[4] x) => (float[4] p, float[4] q) { p = Neg(x)  q = Neg(x) }");
  const Model b = ModelOf(
      "g (float[4] x) => (float[4] p, float[4] q) { i = Identity(x)  p = Neg(i)  q = Neg(i) }");
  const auto report = Verify(a, b, *saturating,
                             {.tolerance = Tol("sqnr:30"),
                              .inputs = Samples{.count = 2, .origin = "two", .get = get},
                              .second = kernels.get()});
  REQUIRE_MESSAGE(report.ok(), report.status().message());
  CHECK(report->outputs[0].worst_sample == 0);
  CHECK(report->outputs[1].worst_sample == 1);
  for (const OutputComparison& output : report->outputs)
    CHECK(output.verdict == Verdict::kInconclusive);
  CHECK(report->verdict == Verdict::kInconclusive);
}

}  // namespace
}  // namespace qrewrite
