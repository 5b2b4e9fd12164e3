#include "engine/onnx_io/rope.h"

#include <algorithm>
#include <utility>

#include "engine/onnx_io/wire.h"

namespace qrewrite {
namespace {

constexpr size_t kChunk = size_t{1} << 16;
constexpr size_t kFewPieces = 32;  // are copied

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

uint32_t RopeStorage::Keep(Pieces pieces) {
  ropes_.push_back(std::move(pieces));
  return static_cast<uint32_t>(ropes_.size() - 1);
}

void Rope::AddSlice(std::string_view bytes) {
  if (bytes.empty()) return;
  size_ += bytes.size();
  if (!pieces_.empty()) {
    Piece& last = pieces_.back();
    if (last.kind == Piece::Kind::kBytes && last.data + last.size == bytes.data()) {
      last.size += bytes.size();
      return;
    }
  }
  pieces_.push_back({.data = bytes.data(), .size = bytes.size()});
}

void Rope::AddBytesOf(const Tensor& tensor) {
  if (tensor.byte_size() == 0) return;
  size_ += tensor.byte_size();
  pieces_.push_back(
      {.size = tensor.byte_size(), .index = storage_->Keep(tensor), .kind = Piece::Kind::kTensor});
}

void Rope::AddRope(Rope&& other) {
  size_ += other.size_;
  if (other.pieces_.size() <= kFewPieces) {
    pieces_.insert(pieces_.end(), other.pieces_.begin(), other.pieces_.end());
  } else {
    pieces_.push_back({.size = other.size_,
                       .index = storage_->Keep(std::move(other.pieces_)),
                       .kind = Piece::Kind::kRope});
  }
}

void Rope::AddMessage(int field, Rope&& content) {
  std::string header;
  PutBytesHeader(header, field, content.size());
  AddCopy(header);
  AddRope(std::move(content));
}

void Rope::AddMessage(int field, std::string_view content) {
  std::string header;
  PutBytesHeader(header, field, content.size());
  AddCopy(header);
  AddCopy(content);
}

Status Rope::WriteTo(FunctionRef<Status(std::string_view)> write) const {
  struct Level {
    const RopeStorage::Pieces* pieces;
    size_t next = 0;
  };
  std::vector<Level> levels = {{&pieces_}};
  while (!levels.empty()) {
    Level& level = levels.back();
    if (level.next == level.pieces->size()) {
      levels.pop_back();
      continue;
    }
    const Piece& piece = (*level.pieces)[level.next++];
    switch (piece.kind) {
      case Piece::Kind::kBytes:
        QR_RETURN_IF_ERROR(write({piece.data, static_cast<size_t>(piece.size)}));
        break;
      case Piece::Kind::kTensor:
        QR_RETURN_IF_ERROR(WriteTensorBytes(storage_->tensor(piece.index), write));
        break;
      case Piece::Kind::kRope: levels.push_back({&storage_->pieces(piece.index)}); break;
    }
  }
  return {};
}

Status WriteTensorBytes(const Tensor& tensor, FunctionRef<Status(std::string_view)> write) {
  return tensor.WriteTo([&](std::span<const std::byte> bytes) { return write(AsText(bytes)); });
}

}  // namespace qrewrite
