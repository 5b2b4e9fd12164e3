// Zero points and types of quantizers, where constants keep their numbers otherwise: data fits as it did, or is on one side.
#include "engine/prove/change.h"

namespace qrewrite {

// Zero points of 8 bits and fewer, at the ends of their range and in its middle: data is on both sides of it, or on one.
std::optional<bool> Change::EndsAndMiddle(size_t& step) {
  std::set<ValueId> seen;
  for (const ValueId v : constants_) {
    const Tensor& tensor = *graph_.constant(v);
    const DType dtype = tensor.dtype();
    if (!IsInteger(dtype) || Info(dtype).bits > 8 || tensor.size() != 1 || seen.contains(v))
      continue;
    const std::vector<ValueId> all = EqualOnes(v);
    seen.insert(all.begin(), all.end());
    if (!IsAmong(step, 3)) continue;
    std::optional<Numbers> numbers = Numbers::Of(tensor);
    const auto low = static_cast<double>(IntMin(dtype)), high = static_cast<double>(IntMax(dtype));
    const double places[] = {low, (low + high + 1) / 2, high}, to = places[step];
    if (!numbers || numbers->values.front() == to) return false;
    numbers->values.front() = to;
    const Tensor moved = numbers->ToTensor();
    for (const ValueId c : all) {
      if (moved.valid()) graph_.SetConstant(c, moved);
    }
    return moved.valid();
  }
  return std::nullopt;
}

// Quantized values of the other signedness: zero points and stored integers lie where they did in the range of their type,
// so that data fits as it did.
std::optional<bool> Change::OtherSignedness(size_t& step) {
  constexpr std::pair<DType, DType> kTypes[] = {
      {DType::kUint8, DType::kInt8}, {DType::kInt8, DType::kUint8}, {DType::kUint4, DType::kInt4}};
  for (const auto& [from, to] : kTypes) {
    std::vector<ValueId> moved;
    for (const ValueId v : constants_) {
      if (graph_.constant(v)->dtype() == from) moved.push_back(v);
    }
    if (moved.empty() || !IsAmong(step, 1)) continue;
    const auto by = static_cast<double>(IntMin(to) - IntMin(from));
    for (const ValueId v : moved) {
      std::optional<Numbers> numbers = Numbers::Of(*graph_.constant(v));
      if (!numbers) return false;
      numbers->dtype = to;
      for (double& x : numbers->values) x += by;
      const Tensor tensor = numbers->ToTensor();
      if (!tensor.valid()) return false;
      graph_.SetConstant(v, tensor);
    }
    ChangeType(from, to, /*everywhere=*/true, {});
    return true;
  }
  return std::nullopt;
}

}  // namespace qrewrite
