// Tensor: an immutable constant. A cheap handle; copies share the data.
//
// The bytes lie in one of three places:
//   view    in the mapped model file (weights are not copied on load); may be unaligned
//   owned   in memory that the tensor shares; a few bytes lie in the tensor's own record
//   lazy    nowhere yet: a function that computes them. Folded weights stay lazy until they are
//           written, so memory stays near the largest tensor.
// Element layout is ONNX raw_data: little endian, row-major, sub-byte types packed low part first.
//
// A large tensor has an identity (`key`) that says how it was made: two lazy tensors with equal
// keys hold equal bytes.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "engine/base/check.h"
#include "engine/base/function_ref.h"
#include "engine/base/ref_count.h"
#include "engine/tensor/dtype.h"
#include "qrewrite/status.h"

namespace qrewrite {

using Dims = std::vector<int64_t>;

// Product of dims. REQUIRES: none negative and the product fits int64 (readers check untrusted ones
// with CheckedCount).
int64_t Count(const Dims& dims);
// Product of dims, or nullopt if one is negative or the product exceeds `limit`.
std::optional<int64_t> CheckedCount(const Dims& dims, int64_t limit = int64_t{1} << 48);

class Tensor {
 public:
  using Compute = std::function<Result<Tensor>()>;
  // Takes packed bytes, part by part and in order.
  using Sink = FunctionRef<Status(std::span<const std::byte>)>;
  using Stream = std::function<Status(Sink)>;

  Tensor() = default;  // no tensor; only assignment and valid() are allowed
  bool valid() const { return data_ != nullptr; }

  DType dtype() const { return data_->dtype; }
  const Dims& dims() const { return data_->dims; }
  int rank() const { return static_cast<int>(data_->dims.size()); }
  int64_t size() const { return data_->count; }  // number of elements
  // Of strings: what they take in memory; unknown, and 0, of lazy ones.
  uint64_t byte_size() const {
    return is_string() ? string_bytes() : PackedBytes(dtype(), static_cast<uint64_t>(size()));
  }

  bool is_lazy() const { return data_->kind == Kind::kLazy; }
  // Work behind a lazy tensor; 0 for others. Who makes lazy tensors of lazy tensors keeps it small,
  // because nothing is remembered: a shared operand is computed again for each reader.
  int64_t lazy_steps() const { return is_lazy() ? lazy().steps : 0; }
  bool is_string() const { return dtype() == DType::kString; }

  // The packed bytes; may be unaligned. REQUIRES: !is_lazy(), !is_string().
  std::span<const std::byte> bytes() const {
    QR_CHECK(!is_lazy() && !is_string());
    return data_->bytes();
  }
  const std::vector<std::string>& strings() const {
    QR_CHECK(data_->kind == Kind::kStrings);
    return *static_cast<const Texts&>(*data_).strings;
  }

  // This tensor with its bytes in memory, aligned for its type. Computes a lazy tensor (the result
  // is not remembered: who needs it twice keeps it). Errors: what the computation reports.
  Result<Tensor> Materialize() const;

  // Gives the packed bytes to `sink`; a lazy tensor that can be computed in parts is never in
  // memory as a whole. Errors: of the computation and of `sink`. REQUIRES: !is_string().
  Status WriteTo(Sink sink) const;

  // Typed access to byte-sized and wider elements. REQUIRES: a materialized tensor, sizeof(T) * 8
  // == Info(dtype()).bits. bool is uint8_t, float16 and bfloat16 are uint16_t.
  template <class T>
  std::span<const T> as() const {
    QR_CHECK(Info(dtype()).bits == static_cast<int>(sizeof(T) * 8));
    const std::span<const std::byte> b = bytes();
    QR_CHECK(reinterpret_cast<uintptr_t>(b.data()) % alignof(T) == 0 || b.empty());
    return {reinterpret_cast<const T*>(b.data()), b.size() / sizeof(T)};
  }

  // Identity of the content: equal for tensors made in the same way; two different views of equal
  // bytes may have different keys. Small tensors (see kSmallBytes) have a key of their content.
  uint64_t key() const { return data_->key; }
  static constexpr uint64_t kSmallBytes = 4096;

  // A tensor on `bytes`, which `owner` keeps alive. REQUIRES: bytes.size() == PackedBytes(...).
  static Tensor View(DType dtype, Dims dims, std::shared_ptr<const void> owner,
                     std::span<const std::byte> bytes);
  static Tensor Own(DType dtype, Dims dims, std::vector<std::byte> bytes);
  static Tensor Strings(Dims dims, std::vector<std::string> strings);
  // `key` must say how the content is computed: operator, attributes, keys of the inputs. `steps`
  // is the number of lazy computations that this one runs, itself included. `stream`, if any, makes
  // the same bytes in parts.
  static Tensor Lazy(DType dtype, Dims dims, uint64_t key, Compute compute, int64_t steps = 1,
                     Stream stream = nullptr);

  // A tensor of host values. REQUIRES: sizeof(T) * 8 == Info(dtype).bits, values.size() ==
  // Count(dims).
  template <class T>
  static Tensor Of(DType dtype, Dims dims, std::span<const T> values) {
    QR_CHECK(Info(dtype).bits == static_cast<int>(sizeof(T) * 8));
    const std::span<const std::byte> bytes = std::as_bytes(values);
    if (bytes.size() <= kInPlace) return InPlace(dtype, std::move(dims), bytes);
    return Own(dtype, std::move(dims), {bytes.begin(), bytes.end()});
  }
  static Tensor Int64s(const std::vector<int64_t>& values);  // 1-D
  static Tensor Int64Scalar(int64_t value);                  // rank 0
  static Tensor FloatScalar(float value);
  static Tensor DoubleScalar(double value);
  static Tensor Bool(bool value);

  // The same data under another shape. REQUIRES: Count(dims) == size().
  Tensor Reshaped(Dims dims) const;

  // The same tensor, identified by how it was made. No effect on small ones: content is theirs.
  Tensor WithKey(uint64_t key) const;

 private:
  static constexpr size_t kInPlace = 16;  // bytes that lie in the record itself

  // A model has as many small constants as nodes: each kind of record has what it needs, no more.
  enum class Kind : uint8_t { kHere, kOutside, kLazy, kStrings };
  struct Data {
    RefCount owners = {};
    DType dtype = DType::kUndefined;
    Kind kind = Kind::kHere;
    uint8_t num_here = 0;  // bytes, kHere
    Dims dims = {};
    int64_t count = 0;
    uint64_t key = 0;

    std::span<const std::byte> bytes() const;  // REQUIRES: kHere or kOutside
    static void Destroy(const Data* data);
  };
  struct Here : Data {
    alignas(8) std::array<std::byte, kInPlace> place = {};
  };
  struct Outside : Data {
    std::shared_ptr<const void> owner = {};
    std::span<const std::byte> view = {};  // in what `owner` keeps alive
  };
  struct Computed : Data {
    Compute compute = {};
    Stream stream = {};
    int64_t steps = 0;
  };
  struct Texts : Data {
    std::shared_ptr<const std::vector<std::string>> strings = {};
    uint64_t string_bytes = 0;
  };

  // A record of type T, its head filled in; its tensor comes with Finish.
  template <class T>
  static std::unique_ptr<T> Start(Kind kind, DType dtype, Dims dims, uint64_t key);
  template <class T>
  static Tensor Finish(std::unique_ptr<T> record) {
    return Tensor(RefPtr<const Data>(record.release()));
  }
  explicit Tensor(RefPtr<const Data> data) : data_(std::move(data)) {}
  static Tensor InPlace(DType dtype, Dims dims, std::span<const std::byte> bytes);
  Tensor With(Dims dims, uint64_t key) const;  // the same data
  const Computed& lazy() const { return static_cast<const Computed&>(*data_); }
  uint64_t string_bytes() const {
    return data_->kind == Kind::kStrings ? static_cast<const Texts&>(*data_).string_bytes : 0;
  }

  RefPtr<const Data> data_;
};

inline std::span<const std::byte> Tensor::Data::bytes() const {
  if (kind == Kind::kHere) return std::span(static_cast<const Here*>(this)->place).first(num_here);
  return static_cast<const Outside*>(this)->view;
}

// Decoding to host numbers, any numeric type (bool as 0/1, sub-byte unpacked, half and 8-bit floats
// widened exactly). Materialize first; errors are those of materializing or "not a numeric tensor".
Result<std::vector<double>> ToDoubles(const Tensor& tensor);  // int64 beyond 2^53 is rounded
Result<std::vector<int64_t>> ToInt64s(const Tensor& tensor);  // REQUIRES an integer or bool type

// Single elements from packed little-endian storage of `bits` < 8 wide elements to a byte each and
// back. REQUIRES: spans of PackedBytes and `count` bytes; pack: values below 2^bits.
void UnpackBits(std::span<const std::byte> packed, int bits, std::span<uint8_t> out);
void PackBits(std::span<const uint8_t> values, int bits, std::span<std::byte> out);

// Encoding. `FromDoubles` rounds to nearest even; integers must be exact and in range, floats that
// overflow become infinite (NaN for kinds without infinity). Errors name the value that does not
// fit.
Result<Tensor> FromDoubles(DType dtype, Dims dims, std::span<const double> values);
Result<Tensor> FromInt64s(DType dtype, Dims dims, std::span<const int64_t> values);

// One element of the narrow float kinds, exactly; and the nearest-even encoding. `saturate` as in
// ONNX Cast for float8: out of range becomes the largest finite value instead of infinity/NaN.
float DecodeFloat(DType dtype, uint32_t bits);
uint32_t EncodeFloat(DType dtype, double value, bool saturate = true);

// Equal dtype, shape and bytes. Materializes if needed.
Result<bool> BytesEqual(const Tensor& a, const Tensor& b);

uint64_t HashBytes(std::span<const std::byte> bytes, uint64_t seed = 0);
// One to one in `a` and in `b`: small numbers (ids of bodies, axes) with one partner do not collide.
inline uint64_t HashMix(uint64_t a, uint64_t b) {
  a = (a ^ (a >> 32)) * 0x9e3779b97f4a7c15ull;
  uint64_t h = a ^ (a >> 29) ^ (b * 0xff51afd7ed558ccdull);
  h = (h ^ (h >> 32)) * 0xc4ceb9fe1a85ec53ull;
  return h ^ (h >> 29);
}

}  // namespace qrewrite
