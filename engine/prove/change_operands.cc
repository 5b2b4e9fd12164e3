// What nodes read, or may read: zero points that are absent, one number that stands for several, one value twice.
#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "engine/prove/change.h"

namespace qrewrite {
namespace {

constexpr double kFewSteps = 3;  // leave the data of a quantizer where it is, nearly

bool IsNarrow(DType dtype) { return IsInteger(dtype) && Info(dtype).bits <= 8; }

// Steps of quantizers keep their numbers; other integers are what data was measured for.
bool MoveZeroPoints(Numbers& numbers) {
  if (!IsNarrow(numbers.dtype)) return false;
  const auto middle = static_cast<double>(IntMin(numbers.dtype) + IntMax(numbers.dtype)) / 2;
  for (double& value : numbers.values) value += value < middle ? kFewSteps : -kFewSteps;
  return true;
}

}  // namespace

std::optional<bool> Change::EqualWeights(size_t& step) {
  constexpr double kSteps[] = {0, 1, -1, 2, -2};
  constexpr double kParts[] = {1, 0.75, 0.5, 0.875, 0.625};
  for (const ValueId v : constants_) {
    const Tensor& tensor = *graph_.constant(v);
    const bool narrow = IsNarrow(tensor.dtype());
    if (tensor.dims().size() < 2 || (!narrow && !IsFloat(tensor.dtype()))) continue;
    std::optional<Numbers> numbers = Numbers::Of(tensor);
    if (!numbers || numbers->values.size() < 2 || numbers->values.front() == 0) continue;
    const auto is_first = [&](double x) { return x == numbers->values.front(); };
    if (!std::ranges::all_of(numbers->values, is_first) || !IsAmong(step, 1)) continue;
    for (size_t i = 0; i < numbers->values.size(); ++i) {
      double& x = numbers->values[i];
      const size_t way = i % std::size(kSteps);
      x = narrow ? std::clamp(x + kSteps[way], static_cast<double>(IntMin(tensor.dtype())),
                              static_cast<double>(IntMax(tensor.dtype())))
                 : x * kParts[way];
    }
    const Tensor other = numbers->ToTensor();
    if (other.valid()) graph_.SetConstant(v, other);
    return other.valid();
  }
  return std::nullopt;
}

std::optional<bool> Change::AddZeroPoint(size_t& step) {
  for (const NodeId n : nodes_) {
    for (const size_t at : AbsentInputs(n)) {
      if (IsFixed(n) || !IsAmong(step, 1)) continue;
      const Tensor some = SomeOperand(n, at);
      std::optional<Numbers> numbers = some.valid() ? Numbers::Of(some) : std::nullopt;
      if (!numbers || !IsNarrow(numbers->dtype)) return false;
      numbers->dims.clear();
      numbers->values = {kFewSteps};
      return AddInputAt(n, at, numbers->ToTensor());
    }
  }
  return std::nullopt;
}

std::optional<bool> Change::OperandApart(size_t& step) {
  for (const NodeId n : nodes_) {
    for (size_t i = 0; i < graph_.num_inputs(n); ++i) {
      const ValueId v = graph_.input(n, i);
      const Tensor* const shared = v.valid() ? graph_.constant(v) : nullptr;
      if (shared == nullptr || graph_.num_uses(v) < 2 || !IsAmong(step, 1)) continue;
      std::optional<Numbers> numbers = Numbers::Of(*shared);
      if (!numbers) return false;
      const auto base = static_cast<uint64_t>(dice_.Integer(0, INT64_MAX));
      const bool other = words_.keeps_numbers ? MoveZeroPoints(*numbers)
                                              : numbers->Shake(base, words_.keeps_whole);
      const Tensor tensor = numbers->ToTensor();
      if (!other || !tensor.valid()) return false;
      const std::string name(graph_.FreshName(Name(v).empty() ? "own" : Name(v)));
      graph_.SetInput(n, i, graph_.AddConstant(graph_.body_of(n), name, tensor));
      return true;
    }
  }
  return std::nullopt;
}

// Zero points of such sums stay 0.
std::optional<bool> Change::LargeSums(size_t& step) {
  constexpr double kFactor = 64, kMost = 0x1p20;
  constexpr size_t kOften = 3;  // with other values of an attribute each time
  const auto grow = [&](ValueId v) {
    std::optional<Numbers> numbers = Numbers::Of(*graph_.constant(v));
    if (!numbers) return false;
    for (double& x : numbers->values) x = std::clamp(x * kFactor, -kMost, kMost);
    const Tensor tensor = numbers->ToTensor();
    if (tensor.valid()) graph_.SetConstant(v, tensor);
    return tensor.valid();
  };
  std::vector<ValueId> sums;
  for (const ValueId v : constants_) {
    if (graph_.constant(v)->dtype() != DType::kInt32) continue;
    const std::optional<Numbers> numbers = Numbers::Of(*graph_.constant(v));
    const auto is_zero = [](double x) { return x == 0; };
    if (!numbers || std::ranges::all_of(numbers->values, is_zero)) continue;
    sums.push_back(v);
    if (IsAmong(step, 1)) return grow(v);
  }
  if (sums.empty()) return std::nullopt;
  for (const AttributePlace& place : AttributePlaces()) {
    if (!IsAmong(step, kOften)) continue;
    bool any = ChangeAttribute(place);
    for (const ValueId v : sums) any = grow(v) && any;
    return any;
  }
  return std::nullopt;
}

// An operator of the pattern reads one value twice: what is moved off it may be moved off both. Operators with attributes
// mostly want another shape of each operand.
std::optional<bool> Change::TwiceTheSame(size_t& step) {
  const auto& ops = words_.of_pattern;
  for (const NodeId n : nodes_) {
    const OpName& op = graph_.op_name(graph_.op(n));
    const Signature* const s = signatures_.Find(op.domain, op.name, graph_.OpsetOf(n, op.domain));
    const bool plain = s != nullptr && s->attributes.empty() && !IsFixed(n);
    if (!plain || std::ranges::find(ops, op) == ops.end()) continue;
    for (size_t i = 1; i < graph_.num_inputs(n); ++i) {
      const ValueId first = graph_.input(n, 0), other = graph_.input(n, i);
      if (!first.valid() || !other.valid() || first == other || !IsAmong(step, 1)) continue;
      graph_.SetInput(n, i, first);
      return true;
    }
  }
  return std::nullopt;
}

}  // namespace qrewrite
