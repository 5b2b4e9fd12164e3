#include "engine/onnx_io/rope.h"

#include <algorithm>

#include "engine/onnx_io/wire.h"

namespace qrewrite {
namespace {

constexpr size_t kChunk = size_t{1} << 16;

std::string_view AsText(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

}  // namespace

std::string_view RopeStorage::Keep(std::string_view bytes) {
  // A chunk never grows beyond its capacity, so what is in it never moves.
  if (chunks_.empty() || chunks_.back().capacity() - chunks_.back().size() < bytes.size()) {
    chunks_.emplace_back().reserve(std::max(kChunk, bytes.size()));
  }
  std::string& chunk = chunks_.back();
  const size_t begin = chunk.size();
  chunk += bytes;
  return std::string_view(chunk).substr(begin);
}

uint32_t RopeStorage::Keep(const Tensor& tensor) {
  tensors_.push_back(tensor);
  return static_cast<uint32_t>(tensors_.size() - 1);
}

void Rope::AddSlice(std::string_view bytes) {
  if (bytes.empty()) return;
  size_ += bytes.size();
  if (!pieces_.empty()) {
    Piece& last = pieces_.back();
    if (last.tensor == kNoTensor && last.data + last.size == bytes.data()) {
      last.size += bytes.size();
      return;
    }
  }
  pieces_.push_back({bytes.data(), bytes.size(), kNoTensor});
}

void Rope::AddBytesOf(const Tensor& tensor) {
  if (tensor.byte_size() == 0) return;
  size_ += tensor.byte_size();
  pieces_.push_back({nullptr, tensor.byte_size(), storage_->Keep(tensor)});
}

void Rope::AddRope(const Rope& other) {
  pieces_.insert(pieces_.end(), other.pieces_.begin(), other.pieces_.end());
  size_ += other.size_;
}

void Rope::AddMessage(int field, const Rope& content) {
  std::string header;
  PutBytesHeader(header, field, content.size());
  AddCopy(header);
  AddRope(content);
}

void Rope::AddMessage(int field, std::string_view content) {
  std::string header;
  PutBytesHeader(header, field, content.size());
  AddCopy(header);
  AddCopy(content);
}

Status Rope::WriteTo(FunctionRef<Status(std::string_view)> write) const {
  for (const Piece& piece : pieces_) {
    if (piece.tensor == kNoTensor) {
      QR_RETURN_IF_ERROR(write({piece.data, static_cast<size_t>(piece.size)}));
    } else {
      QR_RETURN_IF_ERROR(WriteTensorBytes(storage_->tensor(piece.tensor), write));
    }
  }
  return {};
}

Status WriteTensorBytes(const Tensor& tensor, FunctionRef<Status(std::string_view)> write) {
  return tensor.WriteTo([&](std::span<const std::byte> bytes) { return write(AsText(bytes)); });
}

}  // namespace qrewrite
