// Reading and writing elements of any numeric type a chunk at a time, as float, double, int64 or
// uint64: conversions of large tensors need no second copy of them.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "engine/tensor/buffer.h"
#include "engine/tensor/tensor.h"

namespace qrewrite::fold {

// A multiple of 8, so that chunks of packed types begin at a byte; small enough for the first
// cache.
inline constexpr int64_t kChunk = 4096;

// bool counts as an integer. Strings and complex numbers are not numeric.
bool IsNumeric(DType dtype);

// Reads elements as To: float kinds as float or double, integers and bool as anything.
template <class To>
class ChunkReader {
 public:
  // REQUIRES: a materialized numeric tensor.
  explicit ChunkReader(Tensor tensor);
  // Elements begin .. begin + out.size() - 1. REQUIRES: begin % 8 == 0, or the type is not packed.
  void Read(int64_t begin, std::span<To> out) const;

 private:
  Tensor tensor_;
  std::vector<To> table_;  // by pattern: of types of at most 8 bits that are no plain integers
};

struct WriteOptions {
  bool saturate = true;  // float8: the largest finite value instead of NaN or infinity
  const char* e8m0_rounding = "nearest";  // or "up", "down"
};

// Writes values of type From. To integers: they are cut to the type's bits, floats towards zero
// first; to bool: whether not 0; to floats: rounded to nearest even (float16 and smaller: by way of
// float, as ONNX Runtime does it).
template <class From>
class ChunkWriter {
 public:
  explicit ChunkWriter(TensorBuffer& buffer, WriteOptions options = {})
      : buffer_(buffer), options_(options) {}
  // As for Read. Returns false if a float is not in the range of an integer type.
  bool Write(int64_t begin, std::span<const From> values);

 private:
  bool WriteInteger(int64_t begin, std::span<const From> values);
  void WriteNarrow(int64_t begin, std::span<const From> values);
  void WritePatterns(int64_t begin, std::span<const uint8_t> patterns);

  TensorBuffer& buffer_;
  WriteOptions options_;
};

}  // namespace qrewrite::fold
