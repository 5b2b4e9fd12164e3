// ArgMax, ArgMin, TopK, Unique.
#include <algorithm>
#include <numeric>
#include <string>
#include <type_traits>

#include "engine/fold/types.h"

namespace qrewrite::fold {
namespace {

// A tensor as [outer, n, inner] around an axis.
struct Around {
  int64_t outer, n, inner;
};

Around SplitAt(const Dims& dims, int64_t axis) {
  const auto a = static_cast<size_t>(axis);
  return {CountRange(dims, 0, a), dims[a], CountRange(dims, a + 1, dims.size())};
}

// Whether x comes before y when the largest (smallest) is sought. NaN counts as the largest.
template <class T>
bool Before(T x, T y, bool largest) {
  if (x != x || y != y) return largest ? x != x && y == y : x == x && y != y;
  return largest ? x > y : x < y;
}

template <class T>
void ArgExtreme(const T* x, Around a, bool largest, bool last, int64_t* out) {
  for (int64_t o = 0; o < a.outer; ++o) {
    for (int64_t i = 0; i < a.inner; ++i) {
      const T* column = x + o * a.n * a.inner + i;
      int64_t best = 0;
      for (int64_t k = 1; k < a.n; ++k) {
        const T v = column[k * a.inner];
        const T b = column[best * a.inner];
        if (Before(v, b, largest) || (last && !Before(b, v, largest))) best = k;
      }
      *out++ = best;
    }
  }
}

Outputs Arg(const FoldCall& call) {
  QR_ASSIGN_OR_RETURN(const Tensor x, NeedBytes(call, 0));
  QR_ASSIGN_OR_RETURN(const int64_t axis, NormalAxis(call.attributes.Int("axis", 0), x.rank()));
  const bool last = call.attributes.Int("select_last_index", 0) != 0;
  Dims dims = x.dims();
  if (call.attributes.Int("keepdims", 1) == 1) {
    dims[static_cast<size_t>(axis)] = 1;
  } else {
    dims.erase(dims.begin() + axis);
  }
  const Around around = SplitAt(x.dims(), axis);
  if (around.n == 0) return Reason("{} of no elements", call.op);
  QR_ASSIGN_OR_RETURN(TensorBuffer buffer, TensorBuffer::Make(DType::kInt64, std::move(dims)));
  return One(VisitNumber(x.dtype(), [&](auto tag) -> Result<Tensor> {
    using T = typename decltype(tag)::type;
    ArgExtreme(x.as<T>().data(), around, call.op == "ArgMax", last, buffer.as<int64_t>().data());
    return std::move(buffer).Finish();
  }));
}

template <class T>
void TopOfColumn(const T* column, Around a, int64_t k, bool largest, T* values, int64_t* indices) {
  std::vector<int64_t> order(static_cast<size_t>(a.n));
  std::iota(order.begin(), order.end(), 0);
  // Equal values: the lower index first.
  std::stable_sort(order.begin(), order.end(), [&](int64_t p, int64_t q) {
    return Before(column[p * a.inner], column[q * a.inner], largest);
  });
  for (int64_t i = 0; i < k; ++i) {
    values[i * a.inner] = column[order[static_cast<size_t>(i)] * a.inner];
    indices[i * a.inner] = order[static_cast<size_t>(i)];
  }
}

Result<int64_t> TopCount(const FoldCall& call) {
  if (call.since < 10) return call.attributes.Int("k", -1);
  QR_ASSIGN_OR_RETURN(const Tensor k, Need(call, 1));
  return IntScalar(k);
}

Outputs TopK(const FoldCall& call) {
  QR_ASSIGN_OR_RETURN(const Tensor x, NeedBytes(call, 0));
  QR_ASSIGN_OR_RETURN(const int64_t k, TopCount(call));
  QR_ASSIGN_OR_RETURN(const int64_t axis, NormalAxis(call.attributes.Int("axis", -1), x.rank()));
  const Around a = SplitAt(x.dims(), axis);
  if (k < 0 || k > a.n) return Reason("TopK of {} elements wants {}", a.n, k);
  if (call.attributes.Int("sorted", 1) == 0) return Reason("the order of TopK is not defined");
  const bool largest = call.attributes.Int("largest", 1) != 0;
  Dims dims = x.dims();
  dims[static_cast<size_t>(axis)] = k;
  QR_ASSIGN_OR_RETURN(TensorBuffer values, TensorBuffer::Make(x.dtype(), dims));
  QR_ASSIGN_OR_RETURN(TensorBuffer indices, TensorBuffer::Make(DType::kInt64, dims));
  QR_RETURN_IF_ERROR(VisitNumber(x.dtype(), [&](auto tag) -> Status {
    using T = typename decltype(tag)::type;
    for (int64_t o = 0; o < a.outer; ++o) {
      for (int64_t i = 0; i < a.inner; ++i) {
        const int64_t at = o * k * a.inner + i;
        TopOfColumn(x.as<T>().data() + o * a.n * a.inner + i, a, k, largest,
                    values.as<T>().data() + at, indices.as<int64_t>().data() + at);
      }
    }
    return {};
  }));
  return std::vector<Tensor>{std::move(values).Finish(), std::move(indices).Finish()};
}

// --- slices along an axis, equal ones together

// Whether slice i comes before slice j, element by element.
template <class T>
bool SliceBefore(std::span<const T> x, Around a, int64_t i, int64_t j) {
  for (int64_t o = 0; o < a.outer; ++o) {
    for (int64_t k = 0; k < a.inner; ++k) {
      const T& p = x[static_cast<size_t>((o * a.n + i) * a.inner + k)];
      const T& q = x[static_cast<size_t>((o * a.n + j) * a.inner + k)];
      if (p != q) return p < q;
    }
  }
  return false;
}

// Slices that equal each other, the first one first.
using Groups = std::vector<std::vector<int64_t>>;

template <class T>
Result<Groups> Group(std::span<const T> x, Around a) {
  if constexpr (std::is_floating_point_v<T>) {
    // NaN equals nothing, not even itself: NumPy takes all for one, and ONNX says nothing.
    if (std::ranges::any_of(x, [](T v) { return v != v; })) return Reason("Unique of NaN");
  }
  std::vector<int64_t> order(static_cast<size_t>(a.n));
  std::iota(order.begin(), order.end(), 0);
  std::ranges::stable_sort(order, [&](int64_t i, int64_t j) { return SliceBefore(x, a, i, j); });
  Groups groups;
  for (const int64_t i : order) {
    if (groups.empty() || SliceBefore(x, a, groups.back()[0], i)) groups.emplace_back();
    groups.back().push_back(i);
  }
  return groups;
}

Result<Groups> GroupsOf(const Tensor& x, Around a) {
  if (x.is_string()) return Group(std::span<const std::string>(x.strings()), a);
  if (x.dtype() == DType::kBool) return Group(x.as<uint8_t>(), a);
  return VisitNumber(x.dtype(), [&](auto tag) -> Result<Groups> {
    return Group(x.as<typename decltype(tag)::type>(), a);
  });
}

Outputs Unique(const FoldCall& call) {
  QR_ASSIGN_OR_RETURN(Tensor x, NeedBytes(call, 0));
  int64_t axis = 0;
  if (call.attributes.Find("axis") == nullptr) {
    x = x.Reshaped({x.size()});
  } else {
    QR_ASSIGN_OR_RETURN(axis, NormalAxis(call.attributes.Int("axis", 0), x.rank()));
  }
  QR_ASSIGN_OR_RETURN(Groups groups, GroupsOf(x, SplitAt(x.dims(), axis)));
  if (call.attributes.Int("sorted", 1) == 0)
    std::ranges::sort(groups, {}, [](const std::vector<int64_t>& group) { return group[0]; });
  std::vector<int64_t> first, counts;
  std::vector<int64_t> inverse(static_cast<size_t>(x.dims()[static_cast<size_t>(axis)]));
  for (const std::vector<int64_t>& group : groups) {
    for (const int64_t i : group)
      inverse[static_cast<size_t>(i)] = static_cast<int64_t>(first.size());
    first.push_back(group[0]);
    counts.push_back(static_cast<int64_t>(group.size()));
  }
  const Tensor picked[] = {x, Tensor::Int64s(first)};
  QR_ASSIGN_OR_RETURN(const Tensor y, Part("Gather", 13, picked, {{"axis", axis}}));
  std::vector<Tensor> outputs{y, picked[1], Tensor::Int64s(inverse), Tensor::Int64s(counts)};
  outputs.resize(static_cast<size_t>(std::clamp(call.num_outputs, 1, 4)));
  return outputs;
}

}  // namespace

void RegisterOrder(KernelRegistry& registry) {
  Add(registry, "ArgMax", {}, InFloat(Arg));
  Add(registry, "ArgMin", {}, InFloat(Arg));
  Add(registry, "TopK", {.inputs = 2}, InFloat(TopK));
  Add(registry, "Unique", {.first = 11}, InFloat(Unique));
}

}  // namespace qrewrite::fold
