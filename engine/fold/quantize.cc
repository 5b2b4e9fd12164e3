// QuantizeLinear and DynamicQuantizeLinear: divide in float32, round half to even, add the zero
// point, saturate, in this order. NaN has no quantized value.
#include <algorithm>
#include <cmath>

#include "engine/fold/chunks.h"
#include "engine/fold/no_result.h"
#include "engine/fold/quant_params.h"
#include "engine/fold/types.h"

namespace qrewrite::fold {
namespace {

Result<DType> OutputType(const FoldCall& call) {
  QR_ASSIGN_OR_RETURN(const Tensor x, Need(call, 0));
  const Tensor* zero_point = Input(call, 2);
  const int64_t wanted = call.attributes.Int("output_dtype", 0);
  DType dtype = DType::kUint8;
  if (wanted > 0 && wanted < kNumDTypes) dtype = static_cast<DType>(wanted);
  if (zero_point != nullptr) {
    if (wanted != 0 && zero_point->dtype() != dtype) {
      return Reason("{} to {} with a zero point of type {}", call.op, Name(dtype),
                    Name(zero_point->dtype()));
    }
    dtype = zero_point->dtype();
  }
  const bool narrow_integer = IsInteger(dtype) && Info(dtype).bits <= 16;
  const bool narrow_float = IsFloat(dtype) && Info(dtype).bits <= 8;
  const bool source =
      (HasFloatMath(x.dtype()) && x.dtype() != DType::kDouble) || x.dtype() == DType::kInt32;
  if (!source || !(narrow_integer || narrow_float)) {
    return Reason("{} of {} to {}", call.op, Name(x.dtype()), Name(dtype));
  }
  const int64_t precision = call.attributes.Int("precision", 0);
  if (precision != 0 && precision != static_cast<int64_t>(DType::kFloat)) {
    return Reason("{} in precision {}", call.op, precision);
  }
  return dtype;
}

// x becomes the quantized value as a float. Bounds of integer types are far below 2^22, where
// adding and subtracting 1.5 * 2^23 rounds half to even.
struct ToInteger {
  float lo, hi;
  float operator()(float x, float s, float z) const {
    constexpr float kFar = 0x1p20f;
    constexpr float kRound = 0x1.8p23f;
    const float ratio = x / s;
    const float near = ratio < -kFar ? -kFar : (ratio > kFar ? kFar : ratio);
    const float y = (near + kRound) - kRound + z;
    return y < lo ? lo : (y > hi ? hi : y);
  }
};
struct ToFloat {
  float operator()(float x, float s, float) const { return x / s; }
};

template <class Op>
void Apply(const QuantParams& params, const QuantParams::Piece& piece, float* x, Op op) {
  const float* s = params.scales() + piece.index;
  const float* z = params.zero_points() + piece.index;
  if (piece.step == 0) {
    const float scale = *s;
    const float zero = *z;
    for (int64_t i = 0; i < piece.length; ++i) x[i] = op(x[i], scale, zero);
  } else {
    for (int64_t i = 0; i < piece.length; ++i) x[i] = op(x[i], s[i], z[i]);
  }
}

bool AnyNaN(std::span<const float> values) {
  bool any = false;
  for (const float v : values) any |= v != v;
  return any;
}

template <class Op>
Result<Tensor> Quantize(const Tensor& x, const QuantParams& params, DType dtype, Op op,
                        const WriteOptions& options) {
  QR_ASSIGN_OR_RETURN(TensorBuffer buffer, TensorBuffer::Make(dtype, x.dims()));
  const ChunkReader<float> reader(x);
  ChunkWriter<float> writer(buffer, options);
  std::array<float, kChunk> chunk;
  for (int64_t begin = 0; begin < x.size(); begin += kChunk) {
    const int64_t end = std::min(begin + kChunk, x.size());
    const std::span<float> values(chunk.data(), static_cast<size_t>(end - begin));
    reader.Read(begin, values);
    params.ForEachPiece(begin, end, [&](const QuantParams::Piece& piece) {
      Apply(params, piece, chunk.data() + (piece.begin - begin), op);
    });
    if (AnyNaN(values)) return Reason("{}", kQuantizedNaN);
    QR_CHECK(writer.Write(begin, values));
  }
  return std::move(buffer).Finish();
}

Outputs QuantizeLinear(const FoldCall& call) {
  QR_ASSIGN_OR_RETURN(const DType dtype, OutputType(call));
  QR_ASSIGN_OR_RETURN(const QuantParams params, QuantParams::Make(call));
  QR_ASSIGN_OR_RETURN(const Tensor x, NeedBytes(call, 0));
  const WriteOptions options{.saturate = call.attributes.Int("saturate", 1) != 0};
  if (IsFloat(dtype)) return One(Quantize(x, params, dtype, ToFloat(), options));
  const ToInteger op{static_cast<float>(IntMin(dtype)), static_cast<float>(IntMax(dtype))};
  return One(Quantize(x, params, dtype, op, options));
}

// Only NaN can make it fail later, so a lazy result needs one look at the data.
OutputTypes QuantizeTypes(const FoldCall& call) {
  QR_ASSIGN_OR_RETURN(const DType dtype, OutputType(call));
  QR_ASSIGN_OR_RETURN(const QuantParams params, QuantParams::Make(call));
  const Tensor& input = call.inputs[0];
  std::vector<TensorType> types{{dtype, input.dims()}};
  const auto count = static_cast<uint64_t>(input.size());
  if (!IsFloat(input.dtype()) || PackedBytes(dtype, count) <= kLazyBytes) return types;
  types[0].may_fail = !params.scales_are_regular();
  if (types[0].may_fail) return types;
  QR_ASSIGN_OR_RETURN(const Tensor x, input.Materialize());
  const ChunkReader<float> reader(x);
  std::array<float, kChunk> chunk;
  for (int64_t begin = 0; begin < x.size(); begin += kChunk) {
    const auto n = static_cast<size_t>(std::min(kChunk, x.size() - begin));
    reader.Read(begin, std::span(chunk).first(n));
    if (AnyNaN(std::span(chunk).first(n))) return Reason("{}", kQuantizedNaN);
  }
  return types;
}

Outputs DynamicQuantizeLinear(const FoldCall& call) {
  QR_ASSIGN_OR_RETURN(const Tensor x, NeedBytes(call, 0));
  if (x.dtype() != DType::kFloat) return Reason("{} of {}", call.op, Name(x.dtype()));
  float low = 0;
  float high = 0;
  for (const float v : x.as<float>()) {
    if (!std::isfinite(v)) return Reason("{} cannot be quantized", v);
    low = std::min(low, v);
    high = std::max(high, v);
  }
  const float scale = high == low ? 1.0f : (high - low) / 255.0f;
  const float zero = std::clamp(0.0f - low / scale, 0.0f, 255.0f);
  const auto zero_point = static_cast<uint8_t>(std::nearbyint(zero));
  const Tensor parameters[] = {x, Tensor::FloatScalar(scale),
                               Tensor::Of<uint8_t>(DType::kUint8, {}, std::span(&zero_point, 1))};
  const Attributes none;
  QR_ASSIGN_OR_RETURN(const std::vector<Tensor> y, QuantizeLinear({.domain = "",
                                                                   .op = "QuantizeLinear",
                                                                   .since = 10,
                                                                   .inputs = parameters,
                                                                   .attributes = none}));
  return std::vector<Tensor>{y[0], parameters[1], parameters[2]};
}

}  // namespace

void RegisterQuantize(KernelRegistry& registry) {
  Add(registry, "QuantizeLinear", {.first = 10, .inputs = 3}, QuantizeLinear, QuantizeTypes);
  registry.Register({.domain = "com.microsoft",
                     .op = "QuantizeLinear",
                     .max_inputs = 3,
                     .run = QuantizeLinear,
                     .infer = QuantizeTypes});
  Add(registry, "DynamicQuantizeLinear", {.first = 11}, DynamicQuantizeLinear);
}

}  // namespace qrewrite::fold
