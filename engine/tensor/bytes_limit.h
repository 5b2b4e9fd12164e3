// How much memory one computed tensor may take. Files hold larger ones, and lazy tensors of any size are written part by
// part; what rules compute on the way to a decision is bounded.
#pragma once

#include <cstdint>

namespace qrewrite {

// While one lives, no tensor of more bytes is computed on this thread: TensorBuffer::Make() says that it is too large.
class ComputedBytesLimit {
 public:
  explicit ComputedBytesLimit(uint64_t most);
  ~ComputedBytesLimit();
  ComputedBytesLimit(const ComputedBytesLimit&) = delete;
  ComputedBytesLimit& operator=(const ComputedBytesLimit&) = delete;

 private:
  uint64_t before_;
};

}  // namespace qrewrite
