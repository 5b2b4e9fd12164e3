// Lists: of integers that say how many, which ones, and what is added where; of numbers in order; of inputs.
#include <vector>

#include "engine/ops/node_signature.h"
#include "engine/prove/change.h"
#include "engine/prove/numbers.h"

namespace qrewrite {
namespace {

constexpr int64_t kLongestList = 16;

// What sizes, axes and pads are written in.
bool IsList(const Tensor& tensor) {
  const bool wide = IsInteger(tensor.dtype()) && Info(tensor.dtype()).bits >= 32;
  return wide && tensor.rank() == 1 && tensor.size() >= 2 && tensor.size() <= kLongestList;
}

}  // namespace

std::optional<bool> Change::ShorterList(size_t& step) {
  for (const ValueId v : constants_) {
    if (!IsList(*graph_.constant(v)) || !IsAmong(step, 2)) continue;
    std::optional<Numbers> numbers = Numbers::Of(*graph_.constant(v));
    if (!numbers) return false;
    std::vector<double>& values = numbers->values;
    values.erase(step == 0 ? values.begin() : values.end() - 1);
    numbers->dims = {static_cast<int64_t>(values.size())};
    return SetNumbers(v, *numbers);
  }
  return std::nullopt;
}

std::optional<bool> Change::OppositeEnds(size_t& step) {
  for (const ValueId v : constants_) {
    const Tensor& tensor = *graph_.constant(v);
    const auto half = static_cast<size_t>(tensor.size()) / 2;
    if (!IsList(tensor) || tensor.size() % 2 != 0 || !IsAmong(step, 2 * half)) continue;
    std::optional<Numbers> numbers = Numbers::Of(tensor);
    if (!numbers) return false;
    const size_t at = step / 2;
    const double front = step % 2 == 0 ? -1 : 1;
    numbers->values[at] = front;
    numbers->values[at + half] = -front;
    return SetNumbers(v, *numbers);
  }
  return std::nullopt;
}

std::optional<bool> Change::FirstAgain(size_t& step) {
  for (const NodeId n : nodes_) {
    const Signature* const s = SignatureOf(graph_, n, signatures_);
    if (s == nullptr || s->inputs.empty() || s->inputs.back().arity != Arity::kVariadic ||
        IsFixed(n))
      continue;
    const size_t first = s->inputs.size() - 1;
    // Of several types they come in threes: data, scale, zero point.
    const size_t together = s->inputs.back().homogeneous ? 1 : 3;
    const size_t count = graph_.num_inputs(n);
    if (count < first + 2 * together || count > size_t{kLongestList} || !IsAmong(step, 1)) continue;
    std::vector<ValueId> operands;
    for (size_t i = 0; i < count + together; ++i)
      operands.push_back(graph_.input(n, i < count ? i : first + i - count));
    ReadInstead(n, operands);
    return true;
  }
  return std::nullopt;
}

std::optional<bool> Change::Backwards(size_t& step) {
  for (const ValueId v : constants_) {
    const Tensor& tensor = *graph_.constant(v);
    if (tensor.rank() != 1 || tensor.size() < 2 || tensor.size() > kLongestList) continue;
    std::optional<Numbers> numbers = Numbers::Of(tensor);
    if (!numbers) continue;
    std::vector<double> backwards(numbers->values.rbegin(), numbers->values.rend());
    if (backwards == numbers->values || !IsAmong(step, 1)) continue;
    numbers->values = std::move(backwards);
    return SetNumbers(v, *numbers);
  }
  return std::nullopt;
}

}  // namespace qrewrite
