#include "engine/debug/order.h"

#include <algorithm>
#include <numeric>

namespace qrewrite {
namespace {

bool IsPermutation(const std::vector<int64_t>& perm) {
  std::vector<int64_t> sorted = perm, axes(perm.size());
  std::ranges::sort(sorted);
  std::iota(axes.begin(), axes.end(), 0);
  return sorted == axes;
}

// Elements of a tensor with the sizes `dims`, its axes moved: axis k of the result is axis perm[k].
std::vector<double> Transposed(const std::vector<double>& values, const Dims& dims,
                               const std::vector<int64_t>& perm) {
  std::vector<int64_t> strides(dims.size(), 1);
  for (size_t k = dims.size(); k-- > 1;) strides[k - 1] = strides[k] * dims[k];
  std::vector<int64_t> index(dims.size(), 0);
  std::vector<double> result(values.size());
  for (double& element : result) {
    int64_t at = 0;
    for (size_t k = 0; k < perm.size(); ++k) at += index[k] * strides[static_cast<size_t>(perm[k])];
    element = values[static_cast<size_t>(at)];
    for (size_t k = perm.size(); k-- > 0;) {  // the next element, the last axis first
      if (++index[k] < dims[static_cast<size_t>(perm[k])]) break;
      index[k] = 0;
    }
  }
  return result;
}

Order Inverse(const Order& order) {
  Order inverse(order.size());
  for (size_t k = 0; k < order.size(); ++k)
    inverse[static_cast<size_t>(order[k])] = static_cast<int64_t>(k);
  return inverse;
}

}  // namespace

std::optional<Order> Moved(const Order& order, const std::vector<int64_t>& perm) {
  if (!IsPermutation(perm) || (!order.empty() && order.size() != perm.size())) return std::nullopt;
  Order moved = perm;
  if (!order.empty()) {
    for (size_t k = 0; k < perm.size(); ++k) moved[k] = order[static_cast<size_t>(perm[k])];
  }
  if (std::ranges::is_sorted(moved)) moved.clear();
  return moved;
}

std::optional<Order> MovedBack(const std::vector<int64_t>& perm) {
  if (!IsPermutation(perm)) return std::nullopt;
  return Moved({}, Inverse(perm));
}

std::optional<Order> OrderOfSizes(const Dims& quantized, const Dims& wanted) {
  if (quantized.size() != wanted.size()) return std::nullopt;
  Order order;
  std::vector<bool> taken(wanted.size(), false);
  for (const int64_t size : quantized) {
    if (size != 1 && std::ranges::count(wanted, size) != 1) return std::nullopt;
    size_t k = 0;
    while (k < wanted.size() && (taken[k] || wanted[k] != size)) ++k;
    if (k == wanted.size()) return std::nullopt;
    taken[k] = true;
    order.push_back(static_cast<int64_t>(k));
  }
  return order;
}

Dims InFloatOrder(const Dims& dims, const Order& order) {
  Dims in_order = dims;
  for (size_t k = 0; k < order.size(); ++k) in_order[static_cast<size_t>(order[k])] = dims[k];
  return in_order;
}

std::vector<double> InFloatOrder(const std::vector<double>& values, const Dims& dims,
                                 const Order& order) {
  return Transposed(values, dims, Inverse(order));
}

Result<Tensor> InOrder(const Tensor& value, const Order& order) {
  if (order.size() != value.dims().size())
    return Status(StatusCode::kUnsupported, "a value with other axes");
  QR_ASSIGN_OR_RETURN(const std::vector<double> numbers, ToDoubles(value));
  Dims dims(order.size());
  for (size_t k = 0; k < order.size(); ++k) dims[k] = value.dims()[static_cast<size_t>(order[k])];
  return FromDoubles(value.dtype(), dims, Transposed(numbers, value.dims(), order));
}

}  // namespace qrewrite
