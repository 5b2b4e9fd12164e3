// How many values Debug() holds at once.
#include "engine/evaluate/groups.h"

#include <algorithm>

#include "engine/api/constant.h"
#include "qrewrite/debug.h"
#include "tests/unit/api/api_support.h"

namespace qrewrite {
namespace {

// The built-in kernels, which count the bytes that a run gives, and the runs.
class Counting : public Evaluator {
 public:
  std::string Name() const override { return "counting"; }
  Result<std::unique_ptr<Session>> Load(const Model& model,
                                        const std::vector<std::string>& observe) override {
    Result<std::unique_ptr<Session>> session = kernels_->Load(model, observe);
    if (!session.ok()) return session;
    return std::unique_ptr<Session>(std::make_unique<Counted>(*std::move(session), *this));
  }

  uint64_t most = 0;  // bytes of one run
  int runs = 0;

 private:
  class Counted : public Session {
   public:
    Counted(std::unique_ptr<Session> session, Counting& owner)
        : session_(std::move(session)), owner_(owner) {}
    Result<Tensors> Run(const Tensors& inputs) override {
      Result<Tensors> outputs = session_->Run(inputs);
      if (!outputs.ok()) return outputs;
      uint64_t bytes = 0;
      for (const auto& [name, value] : *outputs) bytes += value.bytes.size();
      owner_.most = std::max(owner_.most, bytes);
      ++owner_.runs;
      return outputs;
    }

   private:
    std::unique_ptr<Session> session_;
    Counting& owner_;
  };

  std::unique_ptr<Evaluator> kernels_ = BuiltinKernels();
};

// `count` operators in a row, as float model or with a quantizer behind each. 256 numbers each.
Model Chain(int count, bool quantized) {
  std::string text =
      "g (float[N, 64] x) => (float[N, 64] y) <float s = {0.05}, uint8 z = {128}> {\n";
  std::string last = "x";
  for (int i = 0; i < count; ++i) {
    const std::string n = std::to_string(i);
    text += "a" + n + (i % 2 == 0 ? " = Sin(" : " = Tanh(") + last + ")\n";
    last = "a" + n;
    if (!quantized) continue;
    text += "q" + n + " = QuantizeLinear(a" + n + ", s, z)\nd" + n + " = DequantizeLinear(q" + n +
            ", s, z)\n";
    last = "d" + n;
  }
  return ModelOf(text + "y = Neg(" + last + ")\n}");
}

Samples Rows(const Model& model, size_t count) {
  Samples samples = RandomSamples(model, count, 0);
  samples.get = [inner = samples.get](size_t i) -> Result<Tensors> {
    QR_ASSIGN_OR_RETURN(const Tensors one, inner(i));
    QR_ASSIGN_OR_RETURN(const Tensor row, FromPlain(one.at("x")));
    QR_ASSIGN_OR_RETURN(const std::vector<double> numbers, ToDoubles(row));
    std::vector<float> rows;
    for (int k = 0; k < 4; ++k) rows.insert(rows.end(), numbers.begin(), numbers.end());
    Tensors sample;
    QR_ASSIGN_OR_RETURN(sample["x"], ToPlain(Tensor::Of<float>(DType::kFloat, {4, 64}, rows)));
    return sample;
  };
  return samples;
}

TEST_CASE("Debug: the values in memory are those of a few tensors of one sample") {
  constexpr int kValues = 24;
  constexpr uint64_t kOne = 4 * 64 * sizeof(float);
  const Model original = Chain(kValues, false), quantized = Chain(kValues, true);
  for (const bool isolate : {false, true}) {
    Counting at_once, in_groups, more_samples;
    const Result<DebugReport> wanted =
        Debug(original, quantized, at_once, Rows(original, 2), {.isolate = isolate});
    REQUIRE_MESSAGE(wanted.ok(), wanted.status().message());
    CHECK(at_once.most > kValues * kOne);
    const DebugOptions options{.isolate = isolate, .most_bytes = 8 * kOne};
    const Result<DebugReport> got =
        Debug(original, quantized, in_groups, Rows(original, 2), options);
    REQUIRE_MESSAGE(got.ok(), got.status().message());
    CHECK(in_groups.most <= 9 * kOne);  // and the output, which every run gives
    CHECK(in_groups.runs > at_once.runs);
    REQUIRE(Debug(original, quantized, more_samples, Rows(original, 20), options).ok());
    CHECK(more_samples.most == in_groups.most);
    // the numbers are the same
    CHECK(got->Json() == wanted->Json());
  }
}

// Groups of all sizes give the numbers of one pass.
void CheckGroups(const Model& original, const Model& quantized, const Samples& samples) {
  const auto report = [&](uint64_t most_bytes) {
    const Result<DebugReport> got = Debug(original, quantized, *BuiltinKernels(), samples,
                                          {.isolate = true, .most_bytes = most_bytes});
    REQUIRE_MESSAGE(got.ok(), got.status().message());
    return got->Json();
  };
  const std::string wanted = report(UINT64_MAX);
  CHECK(wanted.find("another size") != std::string::npos);
  CHECK(wanted.find("could not be run") == std::string::npos);
  for (const uint64_t most_bytes : {1, 1200, 2400}) CHECK(report(most_bytes) == wanted);
}

TEST_CASE("Debug: groups give what one pass gives behind an operand of another size") {
  // `a` has twice the size in the float model: the operator of `b` is run on the values of `p`.
  const Model original = ModelOf(
      "g (float[1, 64] x) => (float[1, 64] y) { p = Sin(x)  a = Concat<axis = 0>(p, p)  r = "
      "ReduceMean<axes = [0], keepdims = 1>(a)  b = Tanh(r)  c = Exp(b)  y = Neg(c) }");
  const Model quantized = ModelOf(
      "g (float[1, 64] x) => (float[1, 64] y) <float s = {0.05}, uint8 z = {128}> { p = Sin(x)  "
      "pq = QuantizeLinear(p, s, z)  pd = DequantizeLinear(pq, s, z)  a = Sinh(pd)  aq = "
      "QuantizeLinear(a, s, z)  ad = DequantizeLinear(aq, s, z)  r = ReduceMean<axes = [0], "
      "keepdims = 1>(ad)  b = Tanh(r)  bq = QuantizeLinear(b, s, z)  bd = DequantizeLinear(bq, s, "
      "z)  c = Exp(bd)  cq = QuantizeLinear(c, s, z)  cd = DequantizeLinear(cq, s, z)  y = "
      "Neg(cd) }");
  CheckGroups(original, quantized, RandomSamples(original, 2, 0));
}

TEST_CASE("Debug: groups give what one pass gives where sizes differ from the second sample on") {
  // `a` has one row in the float model, in the quantized one as many as the sample.
  const Model original = ModelOf(
      "g (float[N, 64] x) => (float[1, 64] y) { p = Sin(x)  a = ReduceMean<axes = [0], keepdims = "
      "1>(p)  r = ReduceMean<axes = [0], keepdims = 1>(a)  b = Tanh(r)  y = Neg(b) }");
  const Model quantized = ModelOf(
      "g (float[N, 64] x) => (float[1, 64] y) <float s = {0.05}, uint8 z = {128}> { p = Sin(x)  "
      "pq = QuantizeLinear(p, s, z)  pd = DequantizeLinear(pq, s, z)  a = Sinh(pd)  aq = "
      "QuantizeLinear(a, s, z)  ad = DequantizeLinear(aq, s, z)  r = ReduceMean<axes = [0], "
      "keepdims = 1>(ad)  b = Tanh(r)  bq = QuantizeLinear(b, s, z)  bd = DequantizeLinear(bq, s, "
      "z)  y = Neg(bd) }");
  const Samples one = RandomSamples(original, 2, 0), four = Rows(original, 2);
  Samples samples = one;
  samples.get = [&](size_t i) { return i == 0 ? one.get(i) : four.get(i); };
  CheckGroups(original, quantized, samples);
}

TEST_CASE("GroupsOf: neighbours up to a size") {
  using Groups = std::vector<std::vector<size_t>>;
  CHECK(GroupsOf({}, 10) == Groups{{}});
  CHECK(GroupsOf({4, 6, 1}, 10) == Groups{{0, 1}, {2}});
  CHECK(GroupsOf({40, 6, 40}, 10) == Groups{{0}, {1}, {2}});
}

TEST_CASE("ValueSizes: open sizes are those of the sample, unknown ones the largest") {
  const Model model = ModelOf(
      "g (float[N, 64] x) => (float[M] y) { a = Abs(x)  n = NonZero(a)  c = Cast<to = 1>(n)  y = "
      "ReduceSum<keepdims = 0>(c) }");
  const std::vector<float> numbers(3 * 64);
  const Result<ConstTensor> x = ToPlain(Tensor::Of<float>(DType::kFloat, {3, 64}, numbers));
  REQUIRE(x.ok());
  ValueSizes sizes(model, {{"x", *x}});
  CHECK(sizes.Bytes("nothing") == 0);
  CHECK(sizes.Bytes("a") == 3 * 64 * 4);
  CHECK(sizes.Bytes("n") == 3 * 64 * 4);
}

}  // namespace
}  // namespace qrewrite
