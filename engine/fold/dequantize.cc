// DequantizeLinear: float(int(q) - int(z)) * scale in float32, as ONNX Runtime computes it; other
// output types are rounded once from that.
#include <algorithm>

#include "engine/fold/chunks.h"
#include "engine/fold/quant_params.h"
#include "engine/fold/types.h"

namespace qrewrite::fold {
namespace {

bool IsQuantized(DType dtype) {
  return IsInteger(dtype) || (IsFloat(dtype) && Info(dtype).bits <= 8);
}

Result<DType> OutputType(const FoldCall& call) {
  QR_ASSIGN_OR_RETURN(const Tensor x, Need(call, 0));
  QR_ASSIGN_OR_RETURN(const Tensor scale, Need(call, 1));
  const int64_t wanted = call.attributes.Int("output_dtype", 0);
  const DType dtype =
      wanted > 0 && wanted < kNumDTypes ? static_cast<DType>(wanted) : scale.dtype();
  if (!IsQuantized(x.dtype()) || dtype == DType::kDouble || !HasFloatMath(dtype)) {
    return Reason("{} of {} to {}", call.op, Name(x.dtype()), Name(dtype));
  }
  const Tensor* zero_point = Input(call, 2);
  if (zero_point != nullptr && !IsQuantized(zero_point->dtype())) {
    return Reason("{} with a zero point of type {}", call.op, Name(zero_point->dtype()));
  }
  // Values of more than 16 bits are rounded to float, which is right only if nothing is subtracted.
  if (zero_point != nullptr && Info(x.dtype()).bits > 16 && Info(zero_point->dtype()).bits <= 16) {
    return Reason("{} of {} with a zero point of type {}", call.op, Name(x.dtype()),
                  Name(zero_point->dtype()));
  }
  return dtype;
}

// In place: x becomes (x - z) * s. All differences are exact.
void Apply(const QuantParams& params, const QuantParams::Piece& piece, float* x) {
  const float* s = params.scales() + piece.index;
  const float* z = params.zero_points() + piece.index;
  if (piece.step == 0) {
    const float scale = *s;
    const float zero = *z;
    for (int64_t i = 0; i < piece.length; ++i) x[i] = (x[i] - zero) * scale;
  } else {
    for (int64_t i = 0; i < piece.length; ++i) x[i] = (x[i] - z[i]) * s[i];
  }
}

OutputTypes Types(const FoldCall& call) {
  QR_ASSIGN_OR_RETURN(const DType dtype, OutputType(call));
  QR_RETURN_IF_ERROR(QuantParams::Make(call).status());
  return OneType(dtype, call.inputs[0].dims());
}

Outputs Dequantize(const FoldCall& call) {
  QR_ASSIGN_OR_RETURN(const DType dtype, OutputType(call));
  QR_ASSIGN_OR_RETURN(const QuantParams params, QuantParams::Make(call));
  QR_ASSIGN_OR_RETURN(const Tensor x, NeedBytes(call, 0));
  QR_ASSIGN_OR_RETURN(TensorBuffer buffer, TensorBuffer::Make(dtype, x.dims()));
  const ChunkReader<float> reader(x);
  ChunkWriter<float> writer(buffer);
  std::array<float, kChunk> scratch;
  for (int64_t begin = 0; begin < x.size(); begin += kChunk) {
    const int64_t end = std::min(begin + kChunk, x.size());
    // Floats are computed where they stay.
    float* const chunk =
        dtype == DType::kFloat ? buffer.as<float>().data() + begin : scratch.data();
    const std::span<float> values(chunk, static_cast<size_t>(end - begin));
    reader.Read(begin, values);
    params.ForEachPiece(begin, end, [&](const QuantParams::Piece& piece) {
      Apply(params, piece, chunk + (piece.begin - begin));
    });
    if (dtype != DType::kFloat) writer.Write(begin, values);
  }
  return One(std::move(buffer).Finish());
}

}  // namespace

void RegisterDequantize(KernelRegistry& registry) {
  Add(registry, "DequantizeLinear", {.first = 10, .inputs = 3}, Dequantize, Types);
  registry.Register({.domain = "com.microsoft",
                     .op = "DequantizeLinear",
                     .max_inputs = 3,
                     .run = Dequantize,
                     .infer = Types});
}

}  // namespace qrewrite::fold
