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

// A part of a rope.
struct RopePiece {
  enum class Kind : uint8_t { kBytes, kTensor, kRope };
  const char* data = nullptr;  // kBytes
  uint64_t size = 0;           // in bytes
  uint32_t index = 0;          // kTensor, kRope: in the storage
  Kind kind = Kind::kBytes;
};

// Owns what the pieces of the ropes of one model refer to.
class RopeStorage {
 public:
  using Pieces = std::vector<RopePiece>;

  RopeStorage() = default;
  RopeStorage(const RopeStorage&) = delete;
  RopeStorage& operator=(const RopeStorage&) = delete;

  std::string_view Keep(std::string_view bytes);  // a copy that stays where it is
  uint32_t Keep(const Tensor& tensor);
  const Tensor& tensor(uint32_t index) const { return tensors_[index]; }
  uint32_t Keep(Pieces pieces);
  const Pieces& pieces(uint32_t index) const { return ropes_[index]; }

 private:
  std::deque<std::string> chunks_;
  std::vector<Tensor> tensors_;
  std::deque<Pieces> ropes_;
};

class Rope {
 public:
  explicit Rope(RopeStorage& storage) : storage_(&storage) {}

  uint64_t size() const { return size_; }
  void AddSlice(std::string_view bytes);  // must outlive the rope
  void AddCopy(std::string_view bytes) { AddSlice(storage_->Keep(bytes)); }
  void AddBytesOf(const Tensor& tensor);  // its packed bytes
  void AddMessage(int field, Rope&& content);
  void AddMessage(int field, std::string_view content);  // copied
  void AddRope(
      Rope&&
          other);  // a long one becomes one piece: what is nested is not listed anew at each level

  // Calls `write` with the bytes in order. Lazy tensors are computed one at a time. Errors: of
  // computing and of `write`.
  Status WriteTo(FunctionRef<Status(std::string_view)> write) const;

  RopeStorage& storage() const { return *storage_; }

 private:
  using Piece = RopePiece;

  RopeStorage* storage_;
  RopeStorage::Pieces pieces_;
  uint64_t size_ = 0;
};

// Calls `write` with the packed bytes of `tensor`, which it computes if need be.
Status WriteTensorBytes(const Tensor& tensor, FunctionRef<Status(std::string_view)> write);

}  // namespace qrewrite
