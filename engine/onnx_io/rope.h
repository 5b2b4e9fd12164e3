// Rope: a message to be written, as a sequence of pieces: slices of the source, bytes made now, and
// tensors whose bytes come when they are written. Its size is known before a byte is written, which
// the wire format needs: a message is preceded by its length.
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <vector>

#include "engine/base/function_ref.h"
#include "engine/tensor/tensor.h"
#include "qrewrite/status.h"

namespace qrewrite {

// Owns what the pieces of the ropes of one model refer to.
class RopeStorage {
 public:
  RopeStorage() = default;
  RopeStorage(const RopeStorage&) = delete;
  RopeStorage& operator=(const RopeStorage&) = delete;

  std::string_view Keep(std::string_view bytes);  // a copy that stays where it is
  uint32_t Keep(const Tensor& tensor);
  const Tensor& tensor(uint32_t index) const { return tensors_[index]; }

 private:
  std::deque<std::string> chunks_;
  std::vector<Tensor> tensors_;
};

class Rope {
 public:
  explicit Rope(RopeStorage& storage) : storage_(&storage) {}

  uint64_t size() const { return size_; }
  void AddSlice(std::string_view bytes);  // must outlive the rope
  void AddCopy(std::string_view bytes) { AddSlice(storage_->Keep(bytes)); }
  void AddBytesOf(const Tensor& tensor);  // its packed bytes
  void AddMessage(int field, const Rope& content);
  void AddMessage(int field, std::string_view content);  // copied
  void AddRope(const Rope& other);

  // Calls `write` with the bytes in order. Lazy tensors are computed one at a time. Errors: of
  // computing and of `write`.
  Status WriteTo(FunctionRef<Status(std::string_view)> write) const;

  RopeStorage& storage() const { return *storage_; }

 private:
  static constexpr uint32_t kNoTensor = 0xffffffffu;
  struct Piece {
    const char* data;
    uint64_t size;
    uint32_t tensor;
  };

  RopeStorage* storage_;
  std::vector<Piece> pieces_;
  uint64_t size_ = 0;
};

// Calls `write` with the packed bytes of `tensor`, which it computes if need be.
Status WriteTensorBytes(const Tensor& tensor, FunctionRef<Status(std::string_view)> write);

}  // namespace qrewrite
