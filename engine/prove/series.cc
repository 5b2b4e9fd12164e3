#include "engine/prove/series.h"

#include <utility>

#include <fmt/format.h>

#include "engine/api/constant.h"

namespace qrewrite {

std::map<std::string, Series> SeriesOf(const std::vector<Tensors>& samples) {
  std::map<std::string, Series> all;
  for (const Tensors& sample : samples) {
    for (const auto& [name, plain] : sample) {
      const Result<Tensor> tensor = FromPlain(plain);
      if (!tensor.ok()) continue;
      Result<std::vector<double>> values = ToDoubles(*tensor);
      if (!values.ok()) continue;
      Series& series = all[name];
      series.dims.push_back(tensor->dims());
      series.samples.push_back(*std::move(values));
    }
  }
  return all;
}

size_t IndexAlong(const Dims& dims, size_t axis, size_t i) {
  if (axis >= dims.size()) return 0;
  size_t behind = 1;
  for (size_t k = axis + 1; k < dims.size(); ++k) behind *= static_cast<size_t>(dims[k]);
  return i / behind % static_cast<size_t>(dims[axis]);
}

std::string At(const std::string& name, size_t i, double before, double after) {
  return fmt::format("`{}`: element {} is {} before and {} after", name, i, before, after);
}

}  // namespace qrewrite
