#include "engine/prove/scales.h"

#include <cmath>

#include "engine/api/constant.h"

namespace qrewrite {

std::set<double> ScalesOf(const Graph& graph) {
  constexpr int64_t kMostScales = 1024;
  std::set<double> scales;
  // Of any type: integers of 8 bits count as floats where types do not count.
  const auto add = [&](const Tensor* tensor) {
    if (tensor == nullptr || tensor->size() > kMostScales) return;
    const Result<std::vector<double>> values = ToDoubles(*tensor);
    if (!values.ok()) return;
    for (const double v : *values) {
      if (v != 0 && std::isfinite(v)) scales.insert(std::fabs(v));
    }
  };
  for (size_t i = 0; i < graph.num_values(); ++i)
    add(graph.alive(ValueId(i)) ? graph.constant(ValueId(i)) : nullptr);
  for (size_t i = 0; i < graph.num_nodes(); ++i) {
    if (!graph.alive(NodeId(i))) continue;
    for (const Attribute& a : graph.attributes(NodeId(i))) add(std::get_if<Tensor>(&a.value));
  }
  return scales;
}

std::set<int64_t> WholeScales(const Graph& graph) {
  constexpr double kMost = 0x1p53;
  std::set<int64_t> scales;
  for (const double v : ScalesOf(graph)) {
    if (v == std::trunc(v) && v > 1 && v < kMost) scales.insert(static_cast<int64_t>(v));
  }
  return scales;
}

void AddScales(const std::vector<Tensors>& samples, bool any_type, std::set<double>& scales) {
  constexpr size_t kMostProducts = 16;  // of one of run time: with more some would fit by chance
  const std::set<double> constants = scales.size() <= kMostProducts ? scales : std::set<double>();
  for (const Tensors& sample : samples) {
    for (const auto& [name, plain] : sample) {
      const Result<Tensor> tensor = FromPlain(plain);
      if (!tensor.ok() || tensor->size() != 1) continue;
      if (!any_type && !IsFloat(tensor->dtype())) continue;
      const Result<std::vector<double>> values = ToDoubles(*tensor);
      if (!values.ok() || !std::isfinite(values->front()) || values->front() == 0) continue;
      const double scale = std::fabs(values->front());
      scales.insert(scale);
      for (const double constant : constants) scales.insert(scale * constant);
    }
  }
}

}  // namespace qrewrite
