// Pad against its definition, element by element, at once and streamed.
#include <algorithm>

#include <doctest/doctest.h>

#include "engine/base/dice.h"
#include "engine/fold/kernel.h"

namespace qrewrite {
namespace {

struct Padding {
  Dims dims;
  std::vector<int64_t> pads;  // before each axis, then behind each
};

Dims Padded(const Padding& p) {
  Dims dims = p.dims;
  for (size_t a = 0; a < dims.size(); ++a) dims[a] += p.pads[a] + p.pads[a + dims.size()];
  return dims;
}

// The elements of 0, 1, 2, .. under `p`, with 99 around them.
std::vector<int64_t> Defined(const Padding& p) {
  const Dims dims = Padded(p);
  std::vector<int64_t> out;
  for (int64_t o = 0; o < Count(dims); ++o) {
    int64_t rest = o, at = 0, stride = 1;
    bool inside = true;
    for (size_t a = dims.size(); a-- > 0;) {
      const int64_t i = rest % dims[a] - p.pads[a];
      rest /= dims[a];
      inside = inside && i >= 0 && i < p.dims[a];
      at += i * stride;
      stride *= p.dims[a];
    }
    out.push_back(inside ? at % 100 : 99);
  }
  return out;
}

Tensor Counted(DType dtype, const Dims& dims) {
  std::vector<int64_t> values(static_cast<size_t>(Count(dims)));
  for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<int64_t>(i % 100);
  return *FromInt64s(dtype, dims, values);
}

// One that gives its bytes in parts of `elements`.
Tensor InParts(const Tensor& whole, size_t elements) {
  const size_t bytes = elements * static_cast<size_t>(Info(whole.dtype()).bits) / 8;
  return Tensor::Lazy(
      whole.dtype(), whole.dims(), 77, [whole] { return whole; }, 1,
      [whole, bytes](Tensor::Sink sink) -> Status {
        for (std::span<const std::byte> left = whole.bytes(); !left.empty();) {
          const size_t n = std::min(bytes, left.size());
          QR_RETURN_IF_ERROR(sink(left.first(n)));
          left = left.subspan(n);
        }
        return {};
      });
}

std::vector<int64_t> Streamed(const Tensor& t) {
  std::vector<std::byte> bytes;
  CHECK(t.WriteTo([&bytes](std::span<const std::byte> part) {
           bytes.insert(bytes.end(), part.begin(), part.end());
           return Status();
         }).ok());
  return *ToInt64s(Tensor::Own(t.dtype(), t.dims(), std::move(bytes)));
}

void Check(DType dtype, const Padding& p, size_t part) {
  const Tensor pads = Tensor::Int64s(p.pads);
  const Tensor fill = *FromInt64s(dtype, {}, std::vector<int64_t>{99});
  const std::vector<Tensor> inputs{InParts(Counted(dtype, p.dims), part), pads, fill};
  const Attributes none;
  const auto fold = [&](uint64_t lazy) {
    return (*Fold(KernelRegistry::Builtin(), {"", "Pad", 13, inputs, none}, {.lazy = lazy}))[0];
  };
  const std::vector<int64_t> defined = Defined(p);
  CHECK(*ToInt64s(fold(uint64_t{1} << 40)) == defined);
  const Tensor lazy = fold(0);
  CHECK(lazy.dims() == Padded(p));
  CHECK(Streamed(lazy) == defined);
}

TEST_CASE("Pad: as defined") {
  const std::vector<Padding> paddings{
      {{}, {}},
      {{5}, {0, 0}},
      {{5}, {2, 3}},
      {{4, 3, 1, 1}, {0, 0, 0, 0, 0, 0, 0, 1}},    // rows of one element
      {{50, 60, 1, 1}, {0, 0, 0, 0, 0, 0, 0, 1}},  // in more than one block
      {{3, 2, 3, 3}, {0, 0, 1, 1, 0, 0, 1, 1}},    // around images
      {{2, 2, 40, 7}, {1, 0, 3, 2, 0, 2, 0, 5}},   // all around
      {{2, 3, 4}, {1, 0, 0, 2, 0, 0}},             // long rows
      {{3, 9000}, {1, 2, 0, 0}},                   // beyond what is gathered
      {{2, 3}, {0, 40000, 3, 0}},                  // more padding than data
      {{3, 4}, {-1, 2, 1, -3}},                    // cut off
      {{2, 0, 3}, {1, 1, 0, 0, 0, 2}},             // no data at all
  };
  for (const DType dtype : {DType::kInt8, DType::kInt16, DType::kInt32, DType::kInt64}) {
    for (const Padding& p : paddings) {
      for (const size_t part : {size_t{1}, size_t{7}, size_t{100000}}) Check(dtype, p, part);
    }
  }
}

TEST_CASE("Pad: as defined, at random") {
  Dice dice(7);
  for (int i = 0; i < 300; ++i) {
    Padding p;
    const auto rank = static_cast<size_t>(dice.Below(5));
    for (size_t a = 0; a < rank; ++a) p.dims.push_back(1 + static_cast<int64_t>(dice.Below(6)));
    for (size_t a = 0; a < 2 * rank; ++a) {
      p.pads.push_back(dice.Below(2) == 0 ? 0 : static_cast<int64_t>(dice.Below(4)));
    }
    Check(DType::kInt16, p, 1 + dice.Below(20));
  }
}

}  // namespace
}  // namespace qrewrite
