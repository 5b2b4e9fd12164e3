// Operators without a kernel run as what the onnx library says they compute; ONNX Runtime gives the same.
#include <cmath>
#include <cstring>
#include <utility>

#include "qrewrite/evaluator.h"
#include "tests/unit/api/api_support.h"

namespace qrewrite {
namespace {

constexpr int kFloat = 1;

ConstTensor Floats(const std::vector<int64_t>& dims, float from) {
  int64_t count = 1;
  for (const int64_t d : dims) count *= d;
  std::vector<float> values;
  for (int64_t i = 0; i < count; ++i) {
    values.push_back(from + 0.75F * std::sin(1.7F * static_cast<float>(i)));
  }
  const auto bytes = std::as_bytes(std::span(values));
  return {kFloat, dims, std::vector<std::byte>(bytes.begin(), bytes.end())};
}

std::vector<float> ValuesOf(const ConstTensor& tensor) {
  std::vector<float> values(tensor.bytes.size() / sizeof(float));
  if (!values.empty()) std::memcpy(values.data(), tensor.bytes.data(), tensor.bytes.size());
  return values;
}

Result<Tensors> RunOn(Evaluator& evaluator, const Model& model, const Tensors& inputs) {
  QR_ASSIGN_OR_RETURN(const std::unique_ptr<Session> session, evaluator.Load(model, {}));
  return session->Run(inputs);
}

TEST_CASE("Operators that are functions of others give what ONNX Runtime gives") {
  const std::string head = "g (float[2, 3, 4, 4] x) => (float y) ";
  const std::string angles = head +
                             "<float[4, 2] c = {1, 0.5, -0.5, 0.25, 0, 1, 0.75, -1}, "
                             "int64[2, 4] p = {0, 1, 2, 3, 3, 3, 0, 1}> ";
  const std::pair<int, std::string> cases[] = {
      {21, head + "{ y = Celu<alpha = 0.5>(x) }"},
      {21, head + "{ y = Celu(x) }"},
      {21, head + "{ y = ThresholdedRelu<alpha = 0.25>(x) }"},
      {21, head + "{ y = Mish(x) }"},
      {21, head + "{ y = Shrink<lambd = 0.25, bias = 0.125>(x) }"},
      {23, head + "<float[4] w = {1, 2, 0.5, 3}> { y = RMSNormalization(x, w) }"},
      {23, head + "<float[4, 4] w = {1, 2, 1, 2, 1, 2, 1, 2, 1, 2, 1, 2, 1, 2, 1, 2}> "
                  "{ y = RMSNormalization<axis = -2, epsilon = 0.01>(x, w) }"},
      {23, head + "{ y = Attention(x, x, x) }"},
      {23, head + "{ y = Attention<is_causal = 1, scale = 0.25, softcap = 2.0>(x, x, x) }"},
      {23, head + "{ y = Attention(x, x, x, x) }"},
      {23, head + "<float zero = {0}> { m = Greater(x, zero) y = Attention(x, x, x, m) }"},
      {23, head + "<int64[1] axis = {1}> { k = ReduceMax(x, axis) y = Attention(x, k, k) }"},
      {23,
       "g (float[2, 3, 4, 4] x) => (float y) <int64[3] s = {2, 12, 4}> "
       "{ z = Reshape(x, s) y = Attention<q_num_heads = 2, kv_num_heads = 2>(z, z, z) }"},
      {23, head + "{ y, k, v = Attention<is_causal = 1>(x, x, x, , x, x) }"},
      {23, head + "{ a, y, v = Attention(x, x, x, , x, x) }"},
      {23, head + "{ a, k, v, y = Attention<softcap = 1.5>(x, x, x, , x, x) }"},
      {23, head + "{ a, k, v, y = Attention<qk_matmul_output_mode = 3>(x, x, x, , x, x) }"},
      {24, head + "<int64[2] n = {4, 2}> { y = Attention<is_causal = 1>(x, x, x, , , , n) }"},
      {23, angles + "{ y = RotaryEmbedding(x, c, c, p) }"},
      {23, angles + "{ y = RotaryEmbedding<interleaved = 1>(x, c, c, p) }"},
      {23, head +
               "<float[4, 1] c = {1, 0.5, -0.5, 0.25}, int64[2, 4] p = {0, 1, 2, 3, 3, 3, 0, 1}> "
               "{ y = RotaryEmbedding<rotary_embedding_dim = 2>(x, c, c, p) }"},
      {18, head + "<int64[2] s = {2, 9}> { y = CenterCropPad<axes = [1, -1]>(x, s) }"},
  };
  Result<std::unique_ptr<Evaluator>> ort = OnnxRuntime();
  REQUIRE_MESSAGE(ort.ok(), ort.status().message());
  const std::unique_ptr<Evaluator> builtin = BuiltinKernels();
  for (const auto& one : cases) {
    CAPTURE(one.second);
    const Model model = ModelOf(one.second, one.first);
    const Tensors inputs = {{"x", Floats({2, 3, 4, 4}, 0.125F)}};
    const Result<Tensors> wanted = RunOn(**ort, model, inputs);
    const Result<Tensors> got = RunOn(*builtin, model, inputs);
    REQUIRE_MESSAGE(wanted.ok(), wanted.status().message());
    REQUIRE_MESSAGE(got.ok(), got.status().message());
    const std::vector<float> a = ValuesOf(wanted->at("y")), b = ValuesOf(got->at("y"));
    REQUIRE(a.size() == b.size());
    for (size_t i = 0; i < a.size(); ++i) CHECK(b[i] == doctest::Approx(a[i]).epsilon(1e-4));
  }
}

TEST_CASE("Attributes of a call reach what its function calls, anew for each call") {
  const Model model = ModelOf(R"(g (float[3] x) => (float[3] y) {
  a = own.Soft<by = 1.0>(x)
  b = own.Soft<by = 0.25>(x)
  y = Sub(a, b)
}
<domain: "own", opset_import: ["" : 21]>
Soft <by> (x) => (y) { y = Celu<alpha: float = @by>(x) })",
                              21);
  const std::unique_ptr<Evaluator> builtin = BuiltinKernels();
  const Result<Tensors> got = RunOn(*builtin, model, {{"x", Floats({3}, -1)}});
  REQUIRE_MESSAGE(got.ok(), got.status().message());
  const std::vector<float> x = ValuesOf(Floats({3}, -1)), y = ValuesOf(got->at("y"));
  const auto celu = [](float v, float by) { return v > 0 ? v : by * std::expm1(v / by); };
  for (size_t i = 0; i < x.size(); ++i) {
    CHECK(y[i] == doctest::Approx(celu(x[i], 1) - celu(x[i], 0.25F)).epsilon(1e-4));
  }
}

TEST_CASE("What a session spelled out serves inputs of another size") {
  const Model model = ModelOf("g (float[N] x) => (float[N] y) { y = Mish(x) }", 23);
  const std::unique_ptr<Evaluator> builtin = BuiltinKernels();
  Result<std::unique_ptr<Session>> session = builtin->Load(model, {});
  REQUIRE(session.ok());
  for (const int64_t size : {2, 5, 0, 2}) {
    const Result<Tensors> got = (*session)->Run({{"x", Floats({size}, 0)}});
    REQUIRE_MESSAGE(got.ok(), got.status().message());
    CHECK(got->at("y").dims == std::vector<int64_t>{size});
  }
}

TEST_CASE("Operators that nobody spells out are told") {
  const Model model = ModelOf(
      "g (float[1, 1, 2, 2] x, float[1, 5] r) => (float[1, 1, 1, 1] y) "
      "{ y = MaxRoiPool<pooled_shape = [1, 1]>(x, r) }",
      21);
  const Result<Tensors> got =
      RunOn(*BuiltinKernels(), model, {{"x", Floats({1, 1, 2, 2}, 0)}, {"r", Floats({1, 5}, 0)}});
  REQUIRE(!got.ok());
  CHECK(got.status().message().find("MaxRoiPool `y`: there is no built-in kernel") !=
        std::string::npos);
}

}  // namespace
}  // namespace qrewrite
