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
  QR_RETURN_IF_ERROR(NeedInputs(call, 2));
  const Tensor& x = call.inputs[0];
  const Tensor& scale = call.inputs[1];
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
  QR_RETURN_IF_ERROR(QuantParams::Check(call));
  return OneType(dtype, call.inputs[0].dims());
}

// A call whose elements can be computed anywhere. REQUIRES: the inputs outlive it.
class Dequantizer {
 public:
  static Result<Dequantizer> Make(const FoldCall& call) {
    QR_ASSIGN_OR_RETURN(const DType dtype, OutputType(call));
    QR_ASSIGN_OR_RETURN(QuantParams params, QuantParams::Make(call));
    QR_ASSIGN_OR_RETURN(Tensor x, NeedBytes(call, 0));
    return Dequantizer(dtype, std::move(params), std::move(x));
  }

  DType dtype() const { return dtype_; }
  const Dims& dims() const { return x_.dims(); }
  int64_t size() const { return x_.size(); }

  // Elements begin .. begin + out.size() - 1 as float. REQUIRES: begin % kChunk == 0.
  void Compute(int64_t begin, std::span<float> out) const {
    const int64_t last = begin + static_cast<int64_t>(out.size());
    for (float* chunk = out.data(); begin < last; begin += kChunk, chunk += kChunk) {
      const int64_t end = std::min(begin + kChunk, last);
      reader_.Read(begin, {chunk, static_cast<size_t>(end - begin)});
      params_.ForEachPiece(begin, end, [&](const QuantParams::Piece& piece) {
        Apply(params_, piece, chunk + (piece.begin - begin));
      });
    }
  }

 private:
  Dequantizer(DType dtype, QuantParams params, Tensor x)
      : dtype_(dtype), params_(std::move(params)), x_(std::move(x)), reader_(x_) {}

  DType dtype_;
  QuantParams params_;
  Tensor x_;
  ChunkReader<float> reader_;
};

Outputs Dequantize(const FoldCall& call) {
  QR_ASSIGN_OR_RETURN(const Dequantizer dequantizer, Dequantizer::Make(call));
  QR_ASSIGN_OR_RETURN(TensorBuffer buffer,
                      TensorBuffer::Make(dequantizer.dtype(), dequantizer.dims()));
  if (dequantizer.dtype() == DType::kFloat) {  // computed where it stays
    dequantizer.Compute(0, buffer.as<float>());
    return One(std::move(buffer).Finish());
  }
  ChunkWriter<float> writer(buffer);
  std::array<float, kChunk> scratch;
  for (int64_t begin = 0; begin < dequantizer.size(); begin += kChunk) {
    const auto count = static_cast<size_t>(std::min(kChunk, dequantizer.size() - begin));
    const std::span<float> values(scratch.data(), count);
    dequantizer.Compute(begin, values);
    writer.Write(begin, values);
  }
  return One(std::move(buffer).Finish());
}

Status StreamDequantized(const FoldCall& call, Tensor::Sink sink) {
  QR_ASSIGN_OR_RETURN(const Dequantizer dequantizer, Dequantizer::Make(call));
  if (dequantizer.dtype() != DType::kFloat) {
    QR_ASSIGN_OR_RETURN(const std::vector<Tensor> outputs, Dequantize(call));
    return sink(outputs[0].bytes());
  }
  constexpr int64_t kPart = 16 * kChunk;  // what is computed is written from the second cache
  std::vector<float> part(static_cast<size_t>(std::min(kPart, dequantizer.size())));
  for (int64_t begin = 0; begin < dequantizer.size(); begin += kPart) {
    const auto count = static_cast<size_t>(std::min(kPart, dequantizer.size() - begin));
    const std::span<float> values(part.data(), count);
    dequantizer.Compute(begin, values);
    QR_RETURN_IF_ERROR(sink(std::as_bytes(values)));
  }
  return {};
}

}  // namespace

void RegisterDequantize(KernelRegistry& registry) {
  for (const char* domain : {"", "com.microsoft"}) {
    registry.Register({.domain = domain,
                       .op = "DequantizeLinear",
                       .first = *domain == '\0' ? 10 : 1,
                       .max_inputs = 3,
                       .run = Dequantize,
                       .infer = Types,
                       .stream = StreamDequantized});
  }
}

}  // namespace qrewrite::fold
