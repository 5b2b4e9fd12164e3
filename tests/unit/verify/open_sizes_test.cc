// Sizes for what a model leaves open, and the numbers of inputs that count rows.
#include "engine/verify/open_sizes.h"

#include <cstring>

#include <fmt/format.h>

#include "tests/unit/api/api_support.h"

namespace qrewrite {
namespace {

// The sizes that are chosen for a model, or why there are none.
std::string Chosen(const std::string& text) {
  const Model model = ModelOf(text);
  const Result<InputMaker> maker = InputMaker::Make(model, {});
  REQUIRE_MESSAGE(maker.ok(), maker.status().message());
  const std::unique_ptr<Evaluator> kernels = BuiltinKernels();
  const Result<std::unique_ptr<Session>> session = kernels->Load(model);
  REQUIRE_MESSAGE(session.ok(), session.status().message());
  const auto sizes = ChooseSizes(*maker, **session, 2);
  return sizes.ok() ? Text(*sizes) : sizes.status().diagnostics()[0].hint;
}

std::vector<int64_t> Integers(const InputMaker& maker, const char* name, int index,
                              InputMaker::Sizes sizes) {
  const Result<Tensors> sample = maker.Sample(index, sizes);
  REQUIRE_MESSAGE(sample.ok(), sample.status().message());
  const ConstTensor& tensor = sample->at(name);
  std::vector<int64_t> values(tensor.bytes.size() / sizeof(int64_t));
  std::memcpy(values.data(), tensor.bytes.data(), tensor.bytes.size());
  return values;
}

}  // namespace

TEST_CASE("Small sizes come first; what does not run with them gets larger ones") {
  CHECK(Chosen("g (float[N, L] x) => (float[N, L] y) { y = Neg(x) }") == "2 and 3");
  CHECK(Chosen("g (float[N, L] x, float[N, M] z) => (float[N, L] y) { y = Add(x, z) }") ==
        "2 or 3");
  CHECK(Chosen("g (float[N, 1, L] x) => (float[N, 1, P] y)"
               "{ y = MaxPool<kernel_shape = [50]>(x) }") == "64 and 96, the first 1");
  CHECK(Chosen("g (float[N, 1, L] x) => (float[N, 1, P] y)"
               "{ y = MaxPool<kernel_shape = [500]>(x) }") == "512 and 576, the first 1");
}

TEST_CASE("Sizes with which the model makes one number of everything are not chosen") {
  // Sums of windows of 100 that begin at 20: nothing lies there of 2, 3, 16 or 24.
  const char* windows =
      "g (float[N, L] x) => (float[N] y) <int64[1] from = {20}, int64[1] to = {120}, int64[1] axes "
      "= {1}>"
      "{ s = Slice(x, from, to, axes)  y = ReduceSum<keepdims = 0>(s, axes) }";
  CHECK(Chosen(windows) == "16 or 24");  // one of the two has something there
  const char* zeros = "g (float[N, L] x) => (float[N, L] y) <float k = {0}> { y = Mul(x, k) }";
  CHECK(Chosen(zeros) == "2 and 3");
}

TEST_CASE("A model that runs with no size says what was tried") {
  const std::string hint = Chosen(
      "g (float[N, 1, L] x) => (float[N, P] y) <int64[2] shape = {-1, 100001}>"
      "{ y = Reshape(x, shape) }");
  CHECK(hint ==
        "sizes that the model leaves open were 2 and 3; 2 or 3; 16 or 24; 1; 64 and 96, the first "
        "1; 64, the first 1; 256 and 320, the first 1; 256, the first 1; 512 and 576, the first 1; "
        "512, the first 1; 4096 and 6144, the first 1; 16384 and 24576, the first 1; say fitting "
        "ones (--shape x=1x128)");
}

TEST_CASE("Integers, one for each row of another input, are lengths of rows") {
  const auto make = [](const char* text) {
    Result<InputMaker> maker = InputMaker::Make(ModelOf(text), {});
    REQUIRE_MESSAGE(maker.ok(), maker.status().message());
    return *std::move(maker);
  };
  const InputMaker lengths = make(
      "g (float[N, L, 8] x, int64[N] n) => (float[N, L, 8] y, int64[N] m)"
      "{ y = Neg(x)  m = Neg(n) }");
  for (int index = 0; index < 6; ++index) {
    for (const int64_t n : Integers(lengths, "n", index, {64, 96, false, 4})) {
      CHECK(n >= 32);
      CHECK(n <= 96);
    }
  }
  CHECK(Integers(lengths, "n", 0, {64, 96, false, 4}).size() == 4);
  const InputMaker mask = make(
      "g (float[N, 8] x, int64[M] n) => (float[N, 8] y, int64[M] m) { y = Neg(x)  m = Neg(n) }");
  for (const int64_t n : Integers(mask, "n", 0, {64, 96})) CHECK(n <= 1);
}

}  // namespace qrewrite
