#include "engine/tensor/tensor.h"

#include <algorithm>
#include <limits>

#include <doctest/doctest.h>

#include "engine/tensor/buffer.h"
#include "engine/tensor/bytes_limit.h"

namespace qrewrite {
namespace {

std::vector<std::byte> Bytes(std::initializer_list<int> values) {
  std::vector<std::byte> out;
  for (const int v : values) out.push_back(static_cast<std::byte>(v));
  return out;
}

TEST_CASE("Tensor: counts of untrusted shapes") {
  CHECK(Count({}) == 1);
  CHECK(Count({2, 0, 3}) == 0);
  CHECK(CheckedCount({2, 3}) == 6);
  CHECK(!CheckedCount({-1, 0}));
  CHECK(!CheckedCount({INT64_MAX, INT64_MAX}));
  CHECK(CheckedCount({INT64_MAX, INT64_MAX, 0}) == 0);
  CHECK(!CheckedCount({3}, 2));
}

TEST_CASE("Tensor: sub-byte elements, low part first") {
  struct Row {
    DType dtype;
    std::vector<int64_t> values;
    std::vector<std::byte> bytes;
  };
  const Row rows[] = {
      {DType::kInt4, {1, -8, 7}, Bytes({0x81, 0x07})},
      {DType::kUint4, {1, 15, 7, 2}, Bytes({0xf1, 0x27})},
      {DType::kInt2, {1, -2, -1, 0, 1}, Bytes({0b00111001, 0b01})},
      {DType::kUint2, {3, 2, 1}, Bytes({0b00011011})},
  };
  for (const Row& row : rows) {
    CAPTURE(Info(row.dtype).name);
    const Dims dims{static_cast<int64_t>(row.values.size())};
    const Tensor t = *FromInt64s(row.dtype, dims, row.values);
    CHECK(std::ranges::equal(t.bytes(), row.bytes));
    CHECK(*ToInt64s(t) == row.values);
  }
}

TEST_CASE("Tensor: six-bit floats are a bit stream") {
  const std::vector<double> values{0, 0.125, 7.5, -7.5, 1};
  const Tensor t = *FromDoubles(DType::kFloat6E2M3, {5}, values);
  REQUIRE(t.byte_size() == 4);
  // 0, 1, 31, 63, 8 as 6-bit codes
  CHECK(std::ranges::equal(t.bytes(), Bytes({0x40, 0xf0, 0xfd, 0x08})));
  CHECK(*ToDoubles(t) == values);
}

TEST_CASE("Tensor: conversions name the value that does not fit") {
  const std::vector<int64_t> big{1, 128};
  const auto r = FromInt64s(DType::kInt8, {2}, big);
  REQUIRE(!r.ok());
  CHECK(r.status().message().find("128 is not a value of type INT8") != std::string::npos);
  const std::vector<double> half{0.5};
  CHECK(!FromDoubles(DType::kInt32, {1}, half).ok());
  const std::vector<double> nan{std::numeric_limits<double>::quiet_NaN()};
  CHECK(!FromDoubles(DType::kInt64, {1}, nan).ok());
  CHECK(FromDoubles(DType::kFloat16, {1}, nan).ok());
  CHECK(!ToInt64s(Tensor::FloatScalar(1)).ok());
  CHECK(!ToDoubles(Tensor::Strings({1}, {"a"})).ok());
}

TEST_CASE("Tensor: keys say how content was made") {
  const std::vector<float> large(5000, 1.0f);
  const Tensor a = Tensor::Of<float>(DType::kFloat, {5000}, large);
  const Tensor b = Tensor::Of<float>(DType::kFloat, {5000}, large);
  CHECK(a.key() != b.key());
  CHECK(a.key() == Tensor(a).key());
  CHECK(a.Reshaped({50, 100}).key() == a.Reshaped({50, 100}).key());
  CHECK(a.Reshaped({50, 100}).key() != a.key());
  CHECK(a.WithKey(7).key() == 7);
  CHECK(Tensor::Int64s({1, 2}).key() == Tensor::Int64s({1, 2}).key());
  CHECK(Tensor::Int64s({1, 2}).key() != Tensor::Int64s({1, 3}).key());
  CHECK(Tensor::Int64s({1}).key() != Tensor::Int64Scalar(1).key());
  CHECK(Tensor::Int64s({1, 2}).Reshaped({2, 1}).key() ==
        Tensor::Of<int64_t>(DType::kInt64, {2, 1}, std::vector<int64_t>{1, 2}).key());
  CHECK(*BytesEqual(a, b));
}

TEST_CASE("Tensor: lazy ones are computed when asked") {
  int runs = 0;
  const Tensor lazy = Tensor::Lazy(DType::kInt64, {2}, 42, [&runs]() -> Result<Tensor> {
    ++runs;
    return Tensor::Int64s({5, 6});
  });
  CHECK(lazy.is_lazy());
  CHECK(lazy.lazy_steps() == 1);
  CHECK(runs == 0);
  const Tensor turned = lazy.Reshaped({2, 1});
  CHECK(turned.is_lazy());
  CHECK(*ToInt64s(turned) == std::vector<int64_t>{5, 6});
  CHECK(runs == 1);
  const Tensor done = *lazy.Materialize();
  CHECK(!done.is_lazy());
  CHECK(done.key() == 42);

  const Tensor broken = Tensor::Lazy(DType::kInt64, {2}, 1, []() -> Result<Tensor> {
    return Status(StatusCode::kUnsupported, "no");
  });
  CHECK(!broken.Materialize().ok());
  CHECK(!BytesEqual(broken, lazy).ok());
}

TEST_CASE("Tensor: unaligned views are aligned by Materialize") {
  for (const size_t count : {1, 8}) {
    const std::vector<float> values(count, 2.5f);
    auto file = std::make_shared<std::vector<std::byte>>(1 + 4 * count);
    std::memcpy(file->data() + 1, values.data(), 4 * count);
    const Tensor view = Tensor::View(DType::kFloat, {static_cast<int64_t>(count)}, file,
                                     std::span<const std::byte>(*file).subspan(1));
    const Tensor aligned = *view.Materialize();
    CHECK(std::ranges::equal(aligned.as<float>(), values));
    CHECK(aligned.key() == view.key());
  }
}

TEST_CASE("Tensor: a few bytes lie in the record, in each copy of it") {
  const std::vector<int64_t> values = {3, 4};
  Tensor small = Tensor::Int64s(values);
  const Tensor reshaped = small.Reshaped({2, 1});
  const Tensor shared = small;
  CHECK(shared.bytes().data() == small.bytes().data());
  small = Tensor();
  CHECK(*ToInt64s(reshaped) == values);
  CHECK(*ToInt64s(shared) == values);
}

TEST_CASE("Tensor: strings count what they take") {
  const Tensor strings = Tensor::Strings({2}, {std::string(1000, 'a'), ""});
  CHECK(strings.byte_size() >= 1000);
  CHECK(strings.byte_size() < 1200);
  CHECK(strings.Reshaped({2, 1}).byte_size() == strings.byte_size());
}

TEST_CASE("Tensor: parts of a lazy one go to the sink in order, a failing sink ends it") {
  const auto compute = []() -> Result<Tensor> { return Tensor::Int64s({5, 6}); };
  const auto stream = [](Tensor::Sink sink) -> Status {
    for (const int64_t v : {5, 6}) {
      QR_RETURN_IF_ERROR(sink(std::as_bytes(std::span(&v, 1))));
    }
    return {};
  };
  for (const bool parts : {false, true}) {
    const Tensor lazy =
        Tensor::Lazy(DType::kInt64, {2}, 42, compute, 1, parts ? stream : Tensor::Stream())
            .Reshaped({1, 2});
    std::vector<std::byte> all;
    int calls = 0;
    const auto collect = [&](std::span<const std::byte> bytes) -> Status {
      ++calls;
      all.insert(all.end(), bytes.begin(), bytes.end());
      return {};
    };
    CHECK(lazy.WriteTo(collect).ok());
    CHECK(calls == (parts ? 2 : 1));
    CHECK(std::ranges::equal(all, Tensor::Int64s({5, 6}).bytes()));
    calls = 0;
    const auto fail = [&](std::span<const std::byte>) -> Status {
      ++calls;
      return {StatusCode::kIo, "full"};
    };
    CHECK(lazy.WriteTo(fail).code() == StatusCode::kIo);
    CHECK(calls == 1);
  }
}

TEST_CASE("TensorBuffer: refuses what is too large or has no width") {
  CHECK(!TensorBuffer::Make(DType::kFloat, {int64_t{1} << 32}).ok());
  CHECK(!TensorBuffer::Make(DType::kFloat, {-1}).ok());
  CHECK(!TensorBuffer::Make(DType::kString, {1}).ok());
  CHECK(TensorBuffer::Make(DType::kFloat, {0}).ok());
}

TEST_CASE("TensorBuffer: while a limit lives nothing larger is computed") {
  {
    const ComputedBytesLimit limit(16);
    CHECK(TensorBuffer::Make(DType::kFloat, {4}).ok());
    CHECK(!TensorBuffer::Make(DType::kFloat, {5}).ok());
    {
      const ComputedBytesLimit inner(8);
      CHECK(!TensorBuffer::Make(DType::kFloat, {4}).ok());
    }
    CHECK(TensorBuffer::Make(DType::kFloat, {4}).ok());
  }
  CHECK(TensorBuffer::Make(DType::kFloat, {5}).ok());
}

}  // namespace
}  // namespace qrewrite
