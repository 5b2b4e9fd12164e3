// Softmax, LogSoftmax, Hardmax.
#include <cmath>
#include <limits>

#include "engine/fold/types.h"

namespace qrewrite::fold {
namespace {

template <class T>
void Column(const T* x, T* out, int64_t n, int64_t step, bool log) {
  T top = -std::numeric_limits<T>::infinity();
  for (int64_t i = 0; i < n; ++i) top = std::fmax(top, x[i * step]);
  double sum = 0;
  for (int64_t i = 0; i < n; ++i) sum += std::exp(static_cast<double>(x[i * step] - top));
  for (int64_t i = 0; i < n; ++i) {
    const double shifted = x[i * step] - top;
    out[i * step] = static_cast<T>(log ? shifted - std::log(sum) : std::exp(shifted) / sum);
  }
}

// 1 for the first of the largest, 0 for the others. NaN is no largest one.
template <class T>
void HardColumn(const T* x, T* out, int64_t n, int64_t step) {
  int64_t top = 0;
  for (int64_t i = 1; i < n; ++i) {
    const T v = x[i * step], best = x[top * step];
    if (v > best || (std::isnan(best) && !std::isnan(v))) top = i;
  }
  for (int64_t i = 0; i < n; ++i) out[i * step] = i == top ? T{1} : T{0};
}

Outputs Softmax(const FoldCall& call) {
  QR_ASSIGN_OR_RETURN(const Tensor x, NeedBytes(call, 0));
  const bool along_one_axis = call.since >= 13;
  QR_ASSIGN_OR_RETURN(const int64_t axis,
                      NormalAxis(call.attributes.Int("axis", along_one_axis ? -1 : 1), x.rank()));
  const auto a = static_cast<size_t>(axis);
  // Before version 13 everything from the axis on is one row.
  const size_t end = along_one_axis ? a + 1 : x.dims().size();
  const int64_t outer = CountRange(x.dims(), 0, a);
  const int64_t n = CountRange(x.dims(), a, end);
  const int64_t inner = CountRange(x.dims(), end, x.dims().size());
  QR_ASSIGN_OR_RETURN(TensorBuffer buffer, TensorBuffer::Make(x.dtype(), x.dims()));
  return One(VisitFloat(x.dtype(), [&](auto tag) -> Result<Tensor> {
    using T = typename decltype(tag)::type;
    for (int64_t c = 0; n > 0 && c < outer * inner; ++c) {
      const int64_t first = c / inner * n * inner + c % inner;
      const T* const from = x.as<T>().data() + first;
      T* const to = buffer.as<T>().data() + first;
      if (call.op == "Hardmax") {
        HardColumn(from, to, n, inner);
      } else {
        Column(from, to, n, inner, call.op == "LogSoftmax");
      }
    }
    return std::move(buffer).Finish();
  }));
}

}  // namespace

void RegisterSoftmax(KernelRegistry& registry) {
  Add(registry, "Softmax", {}, InFloat(Softmax));
  Add(registry, "LogSoftmax", {}, InFloat(Softmax));
  Add(registry, "Hardmax", {}, InFloat(Softmax));
}

}  // namespace qrewrite::fold
