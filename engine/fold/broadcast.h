// Broadcasting of up to three operands: shapes, and loops over rows in which each operand either
// stands still or moves by one element.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <initializer_list>
#include <vector>

#include "engine/base/function_ref.h"
#include "engine/fold/support.h"

namespace qrewrite::fold {

// The common shape. Errors: dimensions that do not fit.
Result<Dims> BroadcastShape(const Dims& a, const Dims& b);

class BroadcastLoop {
 public:
  static constexpr size_t kMaxOperands = 3;
  struct Row {
    int64_t out;                           // offset of the row in the result
    std::array<int64_t, kMaxOperands> in;  // and in the operands
  };

  static Result<BroadcastLoop> Make(std::initializer_list<const Dims*> operands);

  const Dims& shape() const { return shape_; }
  int64_t row_length() const { return extents_.back(); }
  int64_t step(size_t operand) const { return strides_[operand].back(); }  // 0 or 1

  void ForEachRow(FunctionRef<void(const Row&)> visit) const;

 private:
  void AddDimension(int64_t extent, const std::vector<int64_t>& strides);

  Dims shape_;
  size_t operands_ = 0;
  std::vector<int64_t> extents_;  // of merged dimensions; at least one
  std::array<std::vector<int64_t>, kMaxOperands> strides_;
};

// out[i] = op(a[i], b[i]) along a row whose operands move by `step_a` and `step_b`.
template <class A, class B, class Out, class Op>
void BinaryRow(const A* a, int64_t step_a, const B* b, int64_t step_b, Out* out, int64_t n, Op op) {
  if (step_a == 1 && step_b == 1) {
    for (int64_t i = 0; i < n; ++i) out[i] = static_cast<Out>(op(a[i], b[i]));
  } else if (step_a == 1) {
    const B y = *b;
    for (int64_t i = 0; i < n; ++i) out[i] = static_cast<Out>(op(a[i], y));
  } else if (step_b == 1) {
    const A x = *a;
    for (int64_t i = 0; i < n; ++i) out[i] = static_cast<Out>(op(x, b[i]));
  } else {
    std::fill(out, out + n, static_cast<Out>(op(*a, *b)));
  }
}

// The whole of it: two materialized operands with elements A and B, a result of `dtype` with
// elements Out.
template <class A, class B, class Out, class Op>
Result<Tensor> BinaryLoop(const Tensor& a, const Tensor& b, DType dtype, Op op) {
  QR_ASSIGN_OR_RETURN(const BroadcastLoop loop, BroadcastLoop::Make({&a.dims(), &b.dims()}));
  QR_ASSIGN_OR_RETURN(TensorBuffer buffer, TensorBuffer::Make(dtype, loop.shape()));
  const A* x = a.as<A>().data();
  const B* y = b.as<B>().data();
  Out* out = buffer.as<Out>().data();
  loop.ForEachRow([&](const BroadcastLoop::Row& row) {
    BinaryRow(x + row.in[0], loop.step(0), y + row.in[1], loop.step(1), out + row.out,
              loop.row_length(), op);
  });
  return std::move(buffer).Finish();
}

}  // namespace qrewrite::fold
