#include "engine/prove/seven_bits.h"

#include <algorithm>
#include <cstdlib>
#include <optional>
#include <utility>

#include "engine/api/constant.h"

namespace qrewrite {
namespace {

constexpr int64_t kMostOfWeights = 64;

// Integers of eight bits as such of seven. nullopt: they are none, or are of seven.
std::optional<Tensor> OfSevenBits(const Tensor& tensor) {
  if (tensor.dtype() != DType::kInt8) return std::nullopt;
  Result<std::vector<int64_t>> numbers = ToInt64s(tensor);
  const auto is_small = [](int64_t x) { return std::abs(x) <= kMostOfWeights; };
  if (!numbers.ok() || std::ranges::all_of(*numbers, is_small)) return std::nullopt;
  for (int64_t& x : *numbers) x /= 2;
  Result<Tensor> halved = FromInt64s(DType::kInt8, tensor.dims(), *numbers);
  return halved.ok() ? std::optional(*std::move(halved)) : std::nullopt;
}

}  // namespace

bool NarrowConstants(Graph& graph) {
  bool any = false;
  for (size_t i = 0; i < graph.num_values(); ++i) {
    const ValueId v(i);
    const Tensor* const tensor = graph.alive(v) ? graph.constant(v) : nullptr;
    const std::optional<Tensor> narrow = tensor != nullptr ? OfSevenBits(*tensor) : std::nullopt;
    if (!narrow) continue;
    graph.SetConstant(v, *narrow);
    any = true;
  }
  for (size_t i = 0; i < graph.num_nodes(); ++i) {
    const NodeId n(i);
    if (!graph.alive(n)) continue;
    const Attributes attributes = graph.attributes(n);
    for (const Attribute& a : attributes) {
      const auto* const tensor = std::get_if<Tensor>(&a.value);
      const std::optional<Tensor> narrow = tensor != nullptr ? OfSevenBits(*tensor) : std::nullopt;
      if (!narrow) continue;
      graph.SetAttribute(n, std::string(a.name), *narrow);
      any = true;
    }
  }
  return any;
}

bool HasInputOfEightBits(const Graph& graph) {
  return std::ranges::any_of(graph.inputs(), [&](ValueId v) {
    return graph.constant(v) == nullptr && graph.declared(v).dtype == DType::kInt8;
  });
}

Status NarrowInputs(std::vector<Tensors>& inputs) {
  for (Tensors& sample : inputs) {
    for (auto& [name, plain] : sample) {
      if (static_cast<DType>(plain.dtype) != DType::kInt8) continue;
      QR_ASSIGN_OR_RETURN(const Tensor tensor, FromPlain(plain));
      const std::optional<Tensor> narrow = OfSevenBits(tensor);
      if (!narrow) continue;
      QR_ASSIGN_OR_RETURN(plain, ToPlain(*narrow));
    }
  }
  return {};
}

}  // namespace qrewrite
