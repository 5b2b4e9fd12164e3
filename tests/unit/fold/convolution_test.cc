// Sums of convolutions; tests/fold_oracle holds the kernels to ONNX Runtime.
#include <cmath>
#include <vector>

#include <doctest/doctest.h>

#include "engine/fold/kernel.h"

namespace qrewrite {
namespace {

std::vector<double> Conv(const Tensor& x, const Tensor& w, const Attributes& attributes) {
  const Tensor inputs[] = {x, w};
  const Outputs y = Fold(KernelRegistry::Evaluation(), {"", "Conv", 21, inputs, attributes});
  REQUIRE(y.ok());
  return *ToDoubles((*y)[0]);
}

Tensor Doubles(const Dims& dims, const std::vector<double>& values) {
  return *FromDoubles(DType::kDouble, dims, values);
}

TEST_CASE("Conv: zeros between the taps do not change the last digits") {
  constexpr int64_t kChannels = 4, kSize = 4, kFilters = 4;
  std::vector<double> x, w, dense;
  for (int64_t i = 0; i < kChannels * kSize; ++i) x.push_back(std::sin(static_cast<double>(i)));
  for (int64_t i = 0; i < kFilters * kChannels; ++i) {
    const double a = std::cos(static_cast<double>(i)), b = std::sqrt(static_cast<double>(i));
    w.insert(w.end(), {a, b});
    dense.insert(dense.end(), {a, 0, 0, b});
  }
  const Tensor data = Doubles({1, kChannels, kSize}, x);
  Attributes dilated;
  dilated.Set("dilations", std::vector<int64_t>{3});
  CHECK(Conv(data, Doubles({kFilters, kChannels, 2}, w), dilated) ==
        Conv(data, Doubles({kFilters, kChannels, 4}, dense), {}));
}

}  // namespace
}  // namespace qrewrite
