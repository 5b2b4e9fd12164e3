#include "engine/fold/functions.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <limits>

#include "engine/fold/broadcast.h"
#include "engine/fold/cast.h"
#include "engine/fold/element.h"
#include "engine/fold/layout.h"

namespace qrewrite {
namespace {

using fold::MaybeLazy;
using fold::Name;
using fold::Reason;
using fold::ShapeText;

uint64_t KeyOf(std::string_view function, const Tensor& t, int64_t p = 0, int64_t q = 0) {
  uint64_t key = HashBytes(std::as_bytes(std::span(function)), function.size());
  key = HashMix(key, t.key());
  key = HashMix(key, static_cast<uint64_t>(p));
  return HashMix(key, static_cast<uint64_t>(q));
}

Result<Tensor> UnpackNow(const Tensor& packed, Dims dims, int bits, bool high_first) {
  QR_ASSIGN_OR_RETURN(const Tensor t, packed.Materialize());
  QR_ASSIGN_OR_RETURN(TensorBuffer buffer, TensorBuffer::Make(DType::kUint8, std::move(dims)));
  uint8_t* out = buffer.as<uint8_t>().data();
  const int parts = 8 / bits;
  const auto mask = static_cast<uint32_t>((1 << bits) - 1);
  for (const uint32_t byte : t.as<uint8_t>()) {
    for (int p = 0; p < parts; ++p) {
      const int place = high_first ? parts - 1 - p : p;
      *out++ = static_cast<uint8_t>((byte >> (place * bits)) & mask);
    }
  }
  return std::move(buffer).Finish();
}

}  // namespace

Result<Tensor> Unpack(const Tensor& bytes, int64_t bits, bool high_first) {
  if (bytes.dtype() != DType::kUint8) return Reason("unpack of {}", Name(bytes.dtype()));
  if (bytes.rank() == 0) return Reason("unpack of a scalar");
  if (bits != 1 && bits != 2 && bits != 4 && bits != 8) return Reason("unpack of {} bits", bits);
  QR_RETURN_IF_ERROR(fold::CheckInput(bytes));
  Dims dims = bytes.dims();
  dims.back() *= 8 / bits;
  const uint64_t key = KeyOf("unpack", bytes, bits, high_first ? 1 : 0);
  return MaybeLazy({DType::kUint8, dims}, key, bytes.lazy_steps(),
                   [=] { return UnpackNow(bytes, dims, static_cast<int>(bits), high_first); });
}

Result<Tensor> Stretch(const Tensor& tensor, int64_t n, int64_t axis) {
  QR_RETURN_IF_ERROR(fold::CheckInput(tensor));
  QR_ASSIGN_OR_RETURN(const int64_t a, fold::NormalAxis(axis, tensor.rank()));
  Dims dims = tensor.dims();
  if (n < 0 ||
      __builtin_mul_overflow(dims[static_cast<size_t>(a)], n, &dims[static_cast<size_t>(a)])) {
    return Reason("stretch {} times", n);
  }
  if (tensor.is_string()) return Reason("stretch of strings");
  // The repetition is a dimension of its own behind the axis, with stride 0.
  fold::StridedView view{tensor.dims(), fold::Strides(tensor.dims()), 0};
  view.dims.insert(view.dims.begin() + a + 1, n);
  view.strides.insert(view.strides.begin() + a + 1, 0);
  return MaybeLazy({tensor.dtype(), dims}, KeyOf("stretch", tensor, n, a), tensor.lazy_steps(),
                   [=] { return fold::CopyStrided(tensor, view, dims); });
}

Result<Tensor> Along(const Tensor& vector, int64_t rank, int64_t axis) {
  if (vector.rank() > 1) return Reason("along: the shape is {}", ShapeText(vector.dims()));
  if (rank < 0 || rank > 64) return Reason("along: rank {}", rank);
  QR_ASSIGN_OR_RETURN(const int64_t a, fold::NormalAxis(axis, rank));
  Dims dims(static_cast<size_t>(rank), 1);
  dims[static_cast<size_t>(a)] = vector.size();
  return vector.Reshaped(std::move(dims));
}

namespace {

using Rounding = double (*)(double);

double HalfUp(double x) { return std::round(x); }
double HalfDown(double x) {
  if (!(std::fabs(x) < 0x1p52)) return x;  // whole already, and the subtraction would round
  return std::copysign(std::ceil(std::fabs(x) - 0.5), x);
}
double AwayFromZero(double x) { return std::copysign(std::ceil(std::fabs(x)), x); }

Result<Rounding> FindRounding(std::string_view mode) {
  if (mode == "HALF_EVEN") return Rounding([](double x) { return std::nearbyint(x); });
  if (mode == "CEIL") return Rounding([](double x) { return std::ceil(x); });
  if (mode == "FLOOR") return Rounding([](double x) { return std::floor(x); });
  if (mode == "UP") return Rounding(AwayFromZero);
  if (mode == "DOWN") return Rounding([](double x) { return std::trunc(x); });
  if (mode == "HALF_UP") return Rounding(HalfUp);
  if (mode == "HALF_DOWN") return Rounding(HalfDown);
  return Reason("`{}` is no rounding mode", mode);
}

// Results of rounding are exact in the type of the argument, so the way through double is too.
Result<Tensor> RoundNow(const Tensor& x, Rounding round) {
  QR_ASSIGN_OR_RETURN(const Tensor t, x.Materialize());
  QR_ASSIGN_OR_RETURN(TensorBuffer buffer, TensorBuffer::Make(t.dtype(), t.dims()));
  const fold::ChunkReader<double> reader(t);
  fold::ChunkWriter<double> writer(buffer);
  std::array<double, fold::kChunk> chunk;
  for (int64_t begin = 0; begin < t.size(); begin += fold::kChunk) {
    const auto n = static_cast<size_t>(std::min(fold::kChunk, t.size() - begin));
    reader.Read(begin, std::span(chunk).first(n));
    for (double& v : std::span(chunk).first(n)) v = round(v);
    writer.Write(begin, std::span(chunk).first(n));
  }
  return std::move(buffer).Finish();
}

}  // namespace

Result<Tensor> Log2(const Tensor& x) {
  if (!IsFloat(x.dtype()) && !IsInteger(x.dtype())) return Reason("log2 of {}", Name(x.dtype()));
  QR_ASSIGN_OR_RETURN(std::vector<double> values, ToDoubles(x));
  for (double& v : values) v = std::log2(v);
  return FromDoubles(IsFloat(x.dtype()) ? x.dtype() : DType::kDouble, x.dims(), values);
}

Result<Tensor> RoundMode(const Tensor& x, std::string_view mode) {
  QR_ASSIGN_OR_RETURN(const Rounding round, FindRounding(mode));
  if (IsInteger(x.dtype())) return x;
  if (!IsFloat(x.dtype())) return Reason("round of {}", Name(x.dtype()));
  const uint64_t key = HashMix(KeyOf("round", x), HashBytes(std::as_bytes(std::span(mode))));
  return MaybeLazy({x.dtype(), x.dims()}, key, x.lazy_steps(), [=] { return RoundNow(x, round); });
}

namespace {

// Whether every value of `from` is one of `to`, so that no value has to be looked at.
bool AlwaysExact(DType from, DType to) {
  if (from == to) return true;
  if (from == DType::kBool) return true;
  if (to == DType::kBool) return false;
  if (IsInteger(from) && IsInteger(to)) {
    return IntMin(from) >= IntMin(to) && IntMax(from) <= IntMax(to) &&
           !(from == DType::kUint64 && to != DType::kUint64);
  }
  const int from_bits = Info(from).bits;
  if (IsFloat(from)) {
    if (to == DType::kDouble || to == DType::kFloat) return from_bits <= Info(to).bits;
    return false;
  }
  // Integers in a float: the significand must hold all their bits.
  if (to == DType::kDouble) return from_bits <= 32;
  if (to == DType::kFloat) return from_bits <= 16;
  return (to == DType::kFloat16 || to == DType::kBfloat16) && from_bits <= 8;
}

Status Differs(const auto& value, DType dtype) {
  return Reason("{} is not a value of type {}", value, Name(dtype));
}

// Types of 4 and 6 bits have neither infinity nor NaN to show an overflow: their largest value.
double LargestWithoutInfinity(DType dtype) {
  const int bits = Info(dtype).bits;
  if (!IsFloat(dtype) || bits >= 8) return std::numeric_limits<double>::infinity();
  return DecodeFloat(dtype, (1u << (bits - 1)) - 1);
}

// Compares the converted values with the source's; the first that is not the same is named.
template <class Via>
Status CheckSame(const Tensor& from, const Tensor& to) {
  const fold::ChunkReader<Via> before(from);
  const fold::ChunkReader<Via> after(to);
  std::array<Via, fold::kChunk> x;
  std::array<Via, fold::kChunk> y;
  const bool rounds = IsFloat(from.dtype()) && IsFloat(to.dtype());
  const double top = LargestWithoutInfinity(to.dtype());
  for (int64_t begin = 0; begin < from.size(); begin += fold::kChunk) {
    const auto n = static_cast<size_t>(std::min(fold::kChunk, from.size() - begin));
    before.Read(begin, std::span(x).first(n));
    after.Read(begin, std::span(y).first(n));
    for (size_t i = 0; i < n; ++i) {
      if constexpr (std::is_floating_point_v<Via>) {
        const bool same_class =
            std::isfinite(x[i]) == std::isfinite(y[i]) && std::isnan(x[i]) == std::isnan(y[i]);
        if (rounds && (!same_class || std::fabs(x[i]) > top)) return Differs(x[i], to.dtype());
      }
      if (!rounds && !(x[i] == y[i])) return Differs(x[i], to.dtype());
    }
  }
  return {};
}

// int64 and uint64 beside floats: back and forth, as the float may be beyond the integers.
Status CheckIntegerInFloat(const Tensor& from, const Tensor& to) {
  QR_ASSIGN_OR_RETURN(const std::vector<int64_t> x, ToInt64s(from));
  QR_ASSIGN_OR_RETURN(const std::vector<double> y, ToDoubles(to));
  for (size_t i = 0; i < x.size(); ++i) {
    if (!(std::fabs(y[i]) < 0x1p63) || static_cast<int64_t>(y[i]) != x[i]) {
      return Differs(x[i], to.dtype());
    }
  }
  return {};
}

// The first value that is no integer of the type, for the message.
Status NameMisfit(const Tensor& x, DType dtype) {
  QR_ASSIGN_OR_RETURN(const std::vector<double> values, ToDoubles(x));
  for (const double v : values) {
    const bool whole = std::trunc(v) == v;
    const double lo = static_cast<double>(IntMin(dtype));
    // One past the end: a power of two, which double holds exactly.
    const double end = dtype == DType::kUint64 ? 0x1p64 : static_cast<double>(IntMax(dtype)) + 1;
    const bool past = dtype == DType::kInt64 ? v >= 0x1p63 : v >= end;
    if (!whole || v < lo || past) return Differs(v, dtype);
  }
  return Reason("a value of type {} is not one of {}", Name(x.dtype()), Name(dtype));
}

Result<Tensor> CastChecked(const Tensor& x, DType dtype) {
  QR_ASSIGN_OR_RETURN(const Tensor t, x.Materialize());
  const bool float_to_integer = IsFloat(t.dtype()) && IsInteger(dtype);
  const Result<Tensor> result = fold::CastTensor(t, dtype, {.saturate = false});
  if (!result.ok()) return float_to_integer ? NameMisfit(t, dtype) : result.status();
  if (AlwaysExact(t.dtype(), dtype)) return result;
  if (float_to_integer) {
    const Status same = CheckSame<double>(t, *result);
    if (!same.ok()) return same;
    return result;
  }
  if (IsFloat(t.dtype())) {
    QR_RETURN_IF_ERROR(CheckSame<double>(t, *result));
  } else if (IsFloat(dtype)) {
    QR_RETURN_IF_ERROR(CheckIntegerInFloat(t, *result));
  } else {
    // Between integers: a sign may flip while the 64 bits stay the same.
    QR_RETURN_IF_ERROR(CheckSame<double>(t, *result));
    QR_RETURN_IF_ERROR(CheckSame<int64_t>(t, *result));
  }
  return result;
}

}  // namespace

Result<Tensor> CastExact(const Tensor& x, DType dtype) {
  if (x.dtype() == dtype) return x;
  if (std::optional<Tensor> cast = CastElement(x, dtype)) return *std::move(cast);
  if (!fold::IsNumeric(x.dtype()) || !fold::IsNumeric(dtype)) {
    return Reason("{} has no values of type {}", Name(x.dtype()), Name(dtype));
  }
  QR_RETURN_IF_ERROR(fold::CheckInput(x));
  const uint64_t key = KeyOf("cast", x, static_cast<int64_t>(dtype));
  if (!AlwaysExact(x.dtype(), dtype)) {
    QR_ASSIGN_OR_RETURN(const Tensor checked, CastChecked(x, dtype));
    // It is known now that nothing fails; a large result is not kept for that.
    if (checked.byte_size() <= fold::kLazyBytes) return checked.WithKey(key);
  }
  return MaybeLazy({dtype, x.dims()}, key, x.lazy_steps(),
                   [=] { return fold::CastTensor(x, dtype, {.saturate = false}); });
}

Result<bool> Near(const Tensor& a, const Tensor& b, double rtol) {
  QR_ASSIGN_OR_RETURN(const std::vector<double> x, ToDoubles(a));
  QR_ASSIGN_OR_RETURN(const std::vector<double> y, ToDoubles(b));
  QR_RETURN_IF_ERROR(fold::CheckInput(a));
  QR_RETURN_IF_ERROR(fold::CheckInput(b));
  QR_ASSIGN_OR_RETURN(const fold::BroadcastLoop loop,
                      fold::BroadcastLoop::Make({&a.dims(), &b.dims()}));
  bool all = true;
  loop.ForEachRow([&](const fold::BroadcastLoop::Row& row) {
    for (int64_t i = 0; all && i < loop.row_length(); ++i) {
      const double p = x[static_cast<size_t>(row.in[0] + i * loop.step(0))];
      const double q = y[static_cast<size_t>(row.in[1] + i * loop.step(1))];
      const double scale = std::max(std::fabs(p), std::fabs(q));
      all = p == q || (std::isfinite(scale) && std::fabs(p - q) <= rtol * scale);
    }
  });
  return all;
}

namespace {

Result<Tensor> ExtremeOf(const Tensor& tensor, std::string_view op) {
  if (tensor.size() == 0) return Reason("{} of no elements", op == "ReduceMax" ? "max" : "min");
  if (IsInteger(tensor.dtype()) && Info(tensor.dtype()).bits < 8) {  // no kernel knows these
    const DType byte = IntMin(tensor.dtype()) < 0 ? DType::kInt8 : DType::kUint8;
    QR_ASSIGN_OR_RETURN(const Tensor bytes, CastExact(tensor, byte));
    QR_ASSIGN_OR_RETURN(const Tensor extreme, ExtremeOf(bytes, op));
    return CastExact(extreme, tensor.dtype());
  }
  const Attributes attributes{{"keepdims", int64_t{0}}};
  const Tensor inputs[] = {tensor};
  QR_ASSIGN_OR_RETURN(
      const std::vector<Tensor> outputs,
      Fold(KernelRegistry::Builtin(),
           {.domain = "", .op = op, .since = 20, .inputs = inputs, .attributes = attributes}));
  return outputs[0];
}

}  // namespace

Result<Tensor> MinOf(const Tensor& tensor) { return ExtremeOf(tensor, "ReduceMin"); }
Result<Tensor> MaxOf(const Tensor& tensor) { return ExtremeOf(tensor, "ReduceMax"); }

Result<bool> All(const Tensor& condition) {
  if (condition.dtype() != DType::kBool)
    return Reason("{} is no condition", Name(condition.dtype()));
  QR_ASSIGN_OR_RETURN(const Tensor t, condition.Materialize());
  return std::ranges::all_of(t.as<uint8_t>(), [](uint8_t v) { return v != 0; });
}

}  // namespace qrewrite
