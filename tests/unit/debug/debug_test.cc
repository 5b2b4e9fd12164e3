// Debug with evaluators that do not return what the model says.
#include "qrewrite/debug.h"

#include "engine/api/constant.h"
#include "tests/unit/api/api_support.h"

namespace qrewrite {
namespace {

// The built-in kernels; of `value` only the first elements are returned, as one row.
class Short : public Evaluator {
 public:
  Short(std::string value, int64_t elements) : value_(std::move(value)), elements_(elements) {}
  std::string Name() const override { return "short"; }
  Result<std::unique_ptr<Session>> Load(const Model& model,
                                        const std::vector<std::string>& observe) override {
    Result<std::unique_ptr<Session>> session = kernels_->Load(model, observe);
    if (!session.ok()) return session;
    return std::unique_ptr<Session>(std::make_unique<Cut>(*std::move(session), *this));
  }

 private:
  class Cut : public Session {
   public:
    Cut(std::unique_ptr<Session> session, const Short& owner)
        : session_(std::move(session)), owner_(owner) {}
    Result<Tensors> Run(const Tensors& inputs) override {
      Result<Tensors> outputs = session_->Run(inputs);
      if (!outputs.ok() || !outputs->contains(owner_.value_)) return outputs;
      const std::vector<float> ones(static_cast<size_t>(owner_.elements_), 1);
      const Result<ConstTensor> cut =
          ToPlain(Tensor::Of<float>(DType::kFloat, {owner_.elements_}, ones));
      if (!cut.ok()) return cut.status();
      (*outputs)[owner_.value_] = *cut;
      return outputs;
    }

   private:
    std::unique_ptr<Session> session_;
    const Short& owner_;
  };

  std::unique_ptr<Evaluator> kernels_ = BuiltinKernels();
  std::string value_;
  int64_t elements_;
};

TEST_CASE("Debug: a value of another size, where the axes have another order, is not read beyond") {
  const Model original = ModelOf(
      "g (float[1, 512, 128, 128] x) => (float[1, 512, 128, 128] y) { r = Relu(x)  y = Neg(r) }");
  const Model quantized = ModelOf(R"(g (float[1, 512, 128, 128] x) => (float[1, 512, 128, 128] y)
      <float s = {0.05}, int8 z = {0}> {
    r = Relu(x)  t = Transpose<perm = [0, 2, 3, 1]>(r)
    tq = QuantizeLinear(t, s, z)  tf = DequantizeLinear(tq, s, z)
    b = Transpose<perm = [0, 3, 1, 2]>(tf)  y = Neg(b)
  })");
  const Samples samples = RandomSamples(original, 1, 0);
  Short whole("", 0), cut("t", 128 * 128);
  const Result<DebugReport> before = Debug(original, quantized, whole, samples);
  REQUIRE_MESSAGE(before.ok(), before.status().message());
  REQUIRE(before->activations.size() == 1);
  CHECK(before->activations[0].name == "r");
  CHECK(before->activations[0].local.db.value_or(0) > 20);
  CHECK(before->activations[0].saturation_percent.value_or(100) < 1);
  const Result<DebugReport> after = Debug(original, quantized, cut, samples);
  REQUIRE_MESSAGE(after.ok(), after.status().message());
  REQUIRE(after->activations.size() == 1);
  CHECK_FALSE(after->activations[0].local.db);
  CHECK_FALSE(after->activations[0].saturation_percent);
  CHECK(after->activations[0].cumulative.db == before->activations[0].cumulative.db);
}

}  // namespace
}  // namespace qrewrite
