// TensorBuffer: uninitialized storage for a tensor that is about to be computed. A large result is
// neither cleared first nor copied at the end.
#pragma once

#include <cstddef>
#include <memory>
#include <span>

#include "engine/tensor/tensor.h"

namespace qrewrite {

// No computed tensor has more elements.
inline constexpr int64_t kMaxComputedElements = int64_t{1} << 31;
// The same for what this thread computes now: kMaxComputedElements, or less while a
// ComputedElementsLimit lives.
int64_t MaxComputedElements();
class ComputedElementsLimit {
 public:
  explicit ComputedElementsLimit(int64_t most);
  ~ComputedElementsLimit();
  ComputedElementsLimit(const ComputedElementsLimit&) = delete;
  ComputedElementsLimit& operator=(const ComputedElementsLimit&) = delete;

 private:
  int64_t before_;
};

class TensorBuffer {
 public:
  // Errors: too many elements, a negative dimension, no memory, a type without a fixed width.
  static Result<TensorBuffer> Make(DType dtype, Dims dims);

  DType dtype() const { return dtype_; }
  const Dims& dims() const { return dims_; }
  std::span<std::byte> bytes() { return {storage_.get(), size_}; }

  // REQUIRES: sizeof(T) * 8 == Info(dtype()).bits.
  template <class T>
  std::span<T> as() {
    QR_CHECK(Info(dtype_).bits == static_cast<int>(sizeof(T) * 8));
    return {reinterpret_cast<T*>(storage_.get()), size_ / sizeof(T)};
  }

  // The tensor, which takes the storage over.
  Tensor Finish() &&;

 private:
  TensorBuffer() = default;

  DType dtype_ = DType::kUndefined;
  Dims dims_;
  std::shared_ptr<std::byte[]> storage_;
  size_t size_ = 0;
};

}  // namespace qrewrite
