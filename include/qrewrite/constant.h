// Constants of models and of functions: ConstTensor, plain data; Constant, a handle that yields it
// on demand.
//
// Neither copies what lies in memory already: weights of a model stay in the mapped file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "qrewrite/status.h"

namespace qrewrite {

// Immutable bytes with whoever keeps them alive; a copy is cheap and shares them. They are valid as
// long as one copy lives, whatever becomes of the model that they come from, but no longer than a
// host's own memory that has no owner (Bytes of model.h).
class ConstBytes {
 public:
  ConstBytes() = default;
  ConstBytes(
      std::vector<std::byte> bytes)  // NOLINT(google-explicit-constructor): moved, not copied
      : ConstBytes(std::make_shared<const std::vector<std::byte>>(std::move(bytes))) {}
  // A view; without an owner it must outlive every copy.
  ConstBytes(std::span<const std::byte> view, std::shared_ptr<const void> owner)
      : view_(view), owner_(std::move(owner)) {}

  const std::byte* data() const { return view_.data(); }
  size_t size() const { return view_.size(); }
  bool empty() const { return view_.empty(); }
  const std::byte* begin() const { return view_.data(); }
  const std::byte* end() const { return view_.data() + view_.size(); }
  std::byte operator[](size_t i) const { return view_[i]; }
  const std::shared_ptr<const void>& owner() const { return owner_; }
  operator std::span<const std::byte>() const { return view_; }  // NOLINT: it is one

 private:
  explicit ConstBytes(std::shared_ptr<const std::vector<std::byte>> bytes)
      : view_(*bytes), owner_(std::move(bytes)) {}

  std::span<const std::byte> view_;
  std::shared_ptr<const void> owner_;
};

// `dtype` is ONNX's number (TensorProto.DataType); `bytes` are as in TensorProto.raw_data: little
// endian, row-major, types below 8 bit packed low part first. What the library gives is aligned for its
// type.
struct ConstTensor {
  int dtype = 0;
  std::vector<int64_t> dims;
  ConstBytes bytes;
};

// A constant whose bytes may lie in a file, or be nowhere yet: what a rewrite computes of large weights
// is computed when it is read. Type and shape are known at once.
class Constant {
 public:
  int dtype() const;
  const std::vector<int64_t>& dims() const;
  uint64_t byte_size() const;  // of strings: 0
  // What lies in memory or in a mapped file is not copied, unless it is not aligned there; what has to
  // be computed first is computed at each call. kUnsupported: strings. Other errors are those of the computation.
  Result<ConstTensor> Read() const;
  // kUnsupported: no strings.
  Result<std::vector<std::string>> ReadStrings() const;

  struct Impl;  // engine/api/constant.h
  explicit Constant(std::shared_ptr<const Impl> impl) : impl_(std::move(impl)) {}

 private:
  std::shared_ptr<const Impl> impl_;
};

}  // namespace qrewrite
