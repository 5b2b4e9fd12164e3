#include "engine/tensor/tensor.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <new>
#include <utility>

#include <fmt/format.h>

#include "engine/tensor/buffer.h"
#include "engine/tensor/bytes_limit.h"

namespace qrewrite {
namespace {

thread_local int64_t most_computed = kMaxComputedElements;
thread_local uint64_t most_bytes = UINT64_MAX;

}  // namespace

int64_t MaxComputedElements() { return most_computed; }

ComputedElementsLimit::ComputedElementsLimit(int64_t most)
    : before_(std::exchange(most_computed, most)) {}
ComputedElementsLimit::~ComputedElementsLimit() { most_computed = before_; }

ComputedBytesLimit::ComputedBytesLimit(uint64_t most) : before_(std::exchange(most_bytes, most)) {}
ComputedBytesLimit::~ComputedBytesLimit() { most_bytes = before_; }

namespace {

// A key that no other tensor has. Only equality of keys matters, so the order in which threads draw
// them shows nowhere.
uint64_t UniqueKey() {
  static std::atomic<uint64_t> next{1};
  return HashMix(0x6c61726765ull, next.fetch_add(1, std::memory_order_relaxed));
}

uint64_t TypeHash(DType dtype, const Dims& dims) {
  return HashBytes(std::as_bytes(std::span(dims)), static_cast<uint64_t>(dtype));
}

uint64_t ContentKey(DType dtype, const Dims& dims, std::span<const std::byte> bytes) {
  if (bytes.size() > Tensor::kSmallBytes) return UniqueKey();
  return HashBytes(bytes, TypeHash(dtype, dims));
}

uint64_t Multiply(uint64_t a, uint64_t b) {
  const auto product = static_cast<unsigned __int128>(a) * b;
  return static_cast<uint64_t>(product) ^ static_cast<uint64_t>(product >> 64);
}

size_t AlignmentOf(DType dtype) {
  const int bits = Info(dtype).bits;
  return bits <= 8 ? 1 : std::min<size_t>(static_cast<size_t>(bits) / 8, alignof(double));
}

}  // namespace

int64_t Count(const Dims& dims) {
  const std::optional<int64_t> count = CheckedCount(dims, INT64_MAX);
  QR_CHECK(count.has_value());
  return *count;
}

std::optional<int64_t> CheckedCount(const Dims& dims, int64_t limit) {
  int64_t count = 1;
  bool empty = false;
  for (const int64_t d : dims) {
    if (d < 0) return std::nullopt;
    empty = empty || d == 0;
  }
  if (empty) return 0;  // whatever the other dimensions are
  for (const int64_t d : dims) {
    if (__builtin_mul_overflow(count, d, &count) || count > limit) return std::nullopt;
  }
  return count;
}

void Tensor::Data::Destroy(const Data* data) {
  switch (data->kind) {
    case Kind::kHere: delete static_cast<const Here*>(data); return;
    case Kind::kOutside: delete static_cast<const Outside*>(data); return;
    case Kind::kLazy: delete static_cast<const Computed*>(data); return;
    case Kind::kStrings: delete static_cast<const Texts*>(data); return;
  }
}

template <class T>  // NOLINTNEXTLINE(performance-unnecessary-value-param): it is moved
std::unique_ptr<T> Tensor::Start(Kind kind, DType dtype, Dims dims, uint64_t key) {
  auto record = std::make_unique<T>();
  record->dtype = dtype;
  record->kind = kind;
  record->count = Count(dims);
  record->dims = std::move(dims);
  record->key = key;
  return record;
}

Tensor Tensor::InPlace(DType dtype, Dims dims, std::span<const std::byte> bytes) {
  const uint64_t key = ContentKey(dtype, dims, bytes);
  auto record = Start<Here>(Kind::kHere, dtype, std::move(dims), key);
  if (!bytes.empty()) std::memcpy(record->place.data(), bytes.data(), bytes.size());
  record->num_here = static_cast<uint8_t>(bytes.size());
  return Finish(std::move(record));
}

Tensor Tensor::With(Dims dims, uint64_t key) const {
  const auto copy = [&]<class T>(const T& record) {
    auto made = std::make_unique<T>(record);
    made->count = Count(dims);
    made->dims = std::move(dims);
    made->key = key;
    return Finish(std::move(made));
  };
  switch (data_->kind) {
    case Kind::kHere: return copy(static_cast<const Here&>(*data_));
    case Kind::kOutside: return copy(static_cast<const Outside&>(*data_));
    case Kind::kLazy: return copy(lazy());
    case Kind::kStrings: return copy(static_cast<const Texts&>(*data_));
  }
  return *this;
}

Result<Tensor> Tensor::Materialize() const {
  Tensor t = *this;
  while (t.is_lazy()) {
    QR_ASSIGN_OR_RETURN(Tensor computed, t.lazy().compute());
    QR_CHECK(computed.valid() && computed.dtype() == dtype() && computed.dims() == dims());
    t = std::move(computed);
  }
  if (t.is_string()) return t;
  const std::span<const std::byte> b = t.data_->bytes();
  const bool aligned = reinterpret_cast<uintptr_t>(b.data()) % AlignmentOf(dtype()) == 0;
  // The bytes of a lazy tensor are known by how they were made.
  if (aligned) return t.data_->key == key() ? t : t.With(dims(), key());
  QR_ASSIGN_OR_RETURN(TensorBuffer copy, TensorBuffer::Make(dtype(), dims()));
  std::memcpy(copy.bytes().data(), b.data(), b.size());
  return std::move(copy).Finish().With(dims(), key());
}

Status Tensor::WriteTo(Sink sink) const {
  if (!is_lazy()) return sink(bytes());
  if (lazy().stream != nullptr) return lazy().stream(sink);
  QR_ASSIGN_OR_RETURN(const Tensor computed, Materialize());
  return sink(computed.bytes());
}

Tensor Tensor::View(DType dtype, Dims dims, std::shared_ptr<const void> owner,
                    std::span<const std::byte> bytes) {
  QR_CHECK(bytes.size() == PackedBytes(dtype, static_cast<uint64_t>(Count(dims))));
  if (bytes.size() <= kInPlace) return InPlace(dtype, std::move(dims), bytes);
  const uint64_t key = ContentKey(dtype, dims, bytes);
  auto record = Start<Outside>(Kind::kOutside, dtype, std::move(dims), key);
  record->owner = std::move(owner);
  record->view = bytes;
  return Finish(std::move(record));
}

Tensor Tensor::Own(DType dtype, Dims dims, std::vector<std::byte> bytes) {
  auto owner = std::make_shared<const std::vector<std::byte>>(std::move(bytes));
  const std::span<const std::byte> view = *owner;
  return View(dtype, std::move(dims), std::move(owner), view);
}

Tensor Tensor::Strings(Dims dims, std::vector<std::string> strings) {
  QR_CHECK(static_cast<int64_t>(strings.size()) == Count(dims));
  uint64_t key = TypeHash(DType::kString, dims);
  uint64_t string_bytes = 0;
  for (const std::string& s : strings) {
    key = HashMix(key, HashBytes(std::as_bytes(std::span(s)), s.size()));
    string_bytes += sizeof(std::string) + s.size();
  }
  auto record = Start<Texts>(Kind::kStrings, DType::kString, std::move(dims), key);
  record->strings = std::make_shared<const std::vector<std::string>>(std::move(strings));
  record->string_bytes = string_bytes;
  return Finish(std::move(record));
}

Tensor Tensor::Lazy(DType dtype, Dims dims, uint64_t key, Compute compute, int64_t steps,
                    Stream stream) {
  QR_CHECK(compute != nullptr);
  auto record = Start<Computed>(Kind::kLazy, dtype, std::move(dims), key);
  record->compute = std::move(compute);
  record->stream = std::move(stream);
  record->steps = steps;
  return Finish(std::move(record));
}

Tensor Tensor::Int64s(const std::vector<int64_t>& values) {
  return Of<int64_t>(DType::kInt64, {static_cast<int64_t>(values.size())}, values);
}

Tensor Tensor::Int64Scalar(int64_t value) {
  return Of<int64_t>(DType::kInt64, {}, std::span(&value, 1));
}

Tensor Tensor::FloatScalar(float value) {
  return Of<float>(DType::kFloat, {}, std::span(&value, 1));
}

Tensor Tensor::DoubleScalar(double value) {
  return Of<double>(DType::kDouble, {}, std::span(&value, 1));
}

Tensor Tensor::Bool(bool value) {
  const uint8_t byte = value ? 1 : 0;
  return Of<uint8_t>(DType::kBool, {}, std::span(&byte, 1));
}

Tensor Tensor::Reshaped(Dims dims) const {
  QR_CHECK(Count(dims) == size());
  if (dims == data_->dims) return *this;
  if (is_lazy()) {
    auto compute = [base = *this, dims]() -> Result<Tensor> {
      QR_ASSIGN_OR_RETURN(const Tensor t, base.Materialize());
      return t.Reshaped(dims);
    };
    const uint64_t key = HashMix(data_->key, TypeHash(dtype(), dims));
    return Lazy(dtype(), std::move(dims), key, std::move(compute), lazy_steps(), lazy().stream);
  }
  const bool large = is_string() || data_->bytes().size() > kSmallBytes;
  const uint64_t key = large ? HashMix(data_->key, TypeHash(dtype(), dims))
                             : ContentKey(dtype(), dims, data_->bytes());
  return With(std::move(dims), key);
}

Tensor Tensor::WithKey(uint64_t key) const {
  if (!is_lazy() && (is_string() || byte_size() <= kSmallBytes)) return *this;
  return With(dims(), key);
}

Result<TensorBuffer> TensorBuffer::Make(DType dtype, Dims dims) {
  if (Info(dtype).bits == 0) {
    return Status(StatusCode::kUnsupported,
                  fmt::format("a tensor of type {} cannot be computed", Info(dtype).name));
  }
  const std::optional<int64_t> count = CheckedCount(dims, MaxComputedElements());
  if (!count) {
    return Status(StatusCode::kUnsupported,
                  fmt::format("the result would have the shape [{}], which is too large",
                              fmt::join(dims, ", ")));
  }
  TensorBuffer buffer;
  buffer.dtype_ = dtype;
  buffer.dims_ = std::move(dims);
  buffer.size_ = PackedBytes(dtype, static_cast<uint64_t>(*count));
  if (buffer.size_ > most_bytes) {
    return Status(
        StatusCode::kUnsupported,
        fmt::format("the result would have {} bytes, the limit is {}", buffer.size_, most_bytes));
  }
  std::byte* storage = new (std::nothrow) std::byte[buffer.size_];
  if (storage == nullptr) {
    return Status(StatusCode::kLimit,
                  fmt::format("no memory for a result of {} bytes", buffer.size_));
  }
  buffer.storage_.reset(storage);
  return buffer;
}

Tensor TensorBuffer::Finish() && {
  const std::span<const std::byte> view = bytes();
  return Tensor::View(dtype_, std::move(dims_), std::move(storage_), view);
}

Result<bool> BytesEqual(const Tensor& a, const Tensor& b) {
  if (a.dtype() != b.dtype() || a.dims() != b.dims()) return false;
  if (!a.is_string() && a.key() == b.key() && a.byte_size() > Tensor::kSmallBytes) return true;
  QR_ASSIGN_OR_RETURN(const Tensor x, a.is_lazy() ? a.Materialize() : Result<Tensor>(a));
  QR_ASSIGN_OR_RETURN(const Tensor y, b.is_lazy() ? b.Materialize() : Result<Tensor>(b));
  if (x.is_string()) return x.strings() == y.strings();
  return std::ranges::equal(x.bytes(), y.bytes());
}

uint64_t HashBytes(std::span<const std::byte> bytes, uint64_t seed) {
  constexpr uint64_t kA = 0xa0761d6478bd642full;
  constexpr uint64_t kB = 0xe7037ed1a0b428dbull;
  constexpr size_t kLanes = 4, kLong = 4096;
  size_t i = 0;
  const auto add = [&](uint64_t& h) {
    uint64_t word = 0;
    std::memcpy(&word, bytes.data() + i, 8);
    h = Multiply(h ^ kB, word ^ kA);
    h = (h << 23) | (h >> 41);
    i += 8;
  };
  uint64_t h = Multiply(seed ^ kA, bytes.size() ^ kB);
  if (bytes.size() >= kLong) {
    // Each product waits for the one before: in turns, four take the time of one.
    std::array<uint64_t, kLanes> lanes = {h, h ^ kA, h ^ kB, ~h};
    while (i + 8 * kLanes <= bytes.size()) {
      for (uint64_t& lane : lanes) add(lane);
    }
    for (const uint64_t lane : lanes) {
      h = Multiply(h ^ kB, lane ^ kA);
      h = (h << 23) | (h >> 41);
    }
  }
  while (i + 8 <= bytes.size()) add(h);
  uint64_t tail = 0;
  if (i < bytes.size()) std::memcpy(&tail, bytes.data() + i, bytes.size() - i);
  h = Multiply(h ^ kB, tail ^ kA);
  return Multiply(h ^ bytes.size(), kB);
}

}  // namespace qrewrite
