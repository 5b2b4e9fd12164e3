// Moving elements without looking at them: any type, whole bytes for sub-byte ones.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/fold/support.h"
#include "engine/fold/types.h"

namespace qrewrite::fold {

// Read access to the elements of a materialized tensor as units of `width()` bytes. Elements below
// 8 bits are unpacked to a byte each.
class ElementReader {
 public:
  static Result<ElementReader> Open(const Tensor& tensor);
  size_t width() const { return width_; }
  const std::byte* data() const { return data_; }

 private:
  Tensor tensor_;
  std::vector<uint8_t> unpacked_;
  const std::byte* data_ = nullptr;
  size_t width_ = 1;
};

// The counterpart: room for the elements of a new tensor.
class ElementWriter {
 public:
  static Result<ElementWriter> Make(DType dtype, Dims dims);
  size_t width() const { return width_; }
  std::byte* data() { return data_; }
  Result<Tensor> Finish() &&;

 private:
  explicit ElementWriter(TensorBuffer buffer) : buffer_(std::move(buffer)) {}

  TensorBuffer buffer_;
  std::vector<uint8_t> unpacked_;
  std::byte* data_ = nullptr;
  size_t width_ = 1;
};

// Calls f(Tag<T>{}) with an unsigned type of `width` bytes: 1, 2, 4, 8 or 16.
struct Unit16 {
  uint64_t low, high;
};
template <class F>
auto VisitWidth(size_t width, F&& f) {
  switch (width) {
    case 1: return f(Tag<uint8_t>{});
    case 2: return f(Tag<uint16_t>{});
    case 4: return f(Tag<uint32_t>{});
    case 8: return f(Tag<uint64_t>{});
    default: return f(Tag<Unit16>{});
  }
}

// An arrangement of a tensor's elements: element (i0, i1, ..) of the result is element
// offset + i0 * strides[0] + .. of the source. Strides may be 0 (repeat) or negative (reverse).
struct StridedView {
  Dims dims;
  std::vector<int64_t> strides;
  int64_t offset = 0;
};

// The rearranged tensor, under `dims` (which may group the view's dimensions otherwise). Reads only
// elements inside the source. REQUIRES: the view stays inside the source; equal counts.
Result<Tensor> CopyStrided(const Tensor& source, const StridedView& view, Dims dims);

}  // namespace qrewrite::fold
