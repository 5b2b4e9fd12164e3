// Cast, CastLike, and computing half types in float.
#include "engine/fold/cast.h"

#include <algorithm>

#include "engine/fold/no_result.h"
#include "engine/fold/types.h"

namespace qrewrite::fold {
namespace {

template <class Via>
Result<Tensor> CastVia(const Tensor& t, DType to, const WriteOptions& options) {
  QR_ASSIGN_OR_RETURN(TensorBuffer buffer, TensorBuffer::Make(to, t.dims()));
  const ChunkReader<Via> reader(t);
  ChunkWriter<Via> writer(buffer, options);
  std::array<Via, kChunk> chunk;
  for (int64_t begin = 0; begin < t.size(); begin += kChunk) {
    const auto n = static_cast<size_t>(std::min(kChunk, t.size() - begin));
    reader.Read(begin, std::span(chunk).first(n));
    if (!writer.Write(begin, std::span(chunk).first(n))) {
      return Reason("a value of type {} {} {}", Name(t.dtype()), kOutOfRange, Name(to));
    }
  }
  return std::move(buffer).Finish();
}

}  // namespace

Result<Tensor> CastTensor(const Tensor& tensor, DType to, const WriteOptions& options) {
  if (!IsNumeric(tensor.dtype()) || !IsNumeric(to)) {
    return Reason("{} is not converted to {}", Name(tensor.dtype()), Name(to));
  }
  if (tensor.dtype() == to) return tensor;
  QR_ASSIGN_OR_RETURN(const Tensor t, tensor.Materialize());
  if (t.dtype() == DType::kDouble) return CastVia<double>(t, to, options);
  if (IsFloat(t.dtype())) return CastVia<float>(t, to, options);
  if (t.dtype() == DType::kUint64) return CastVia<uint64_t>(t, to, options);
  return CastVia<int64_t>(t, to, options);
}

bool CastIsTotal(DType from, DType to) { return !(IsFloat(from) && IsInteger(to)); }

Kernel InFloat(Kernel kernel) {
  return [kernel = std::move(kernel)](const FoldCall& call) -> Outputs {
    const auto is_half = [](const Tensor& t) { return t.valid() && IsHalf(t.dtype()); };
    const auto first = std::ranges::find_if(call.inputs, is_half);
    if (first == call.inputs.end()) return kernel(call);
    std::vector<Tensor> inputs(call.inputs.begin(), call.inputs.end());
    for (Tensor& input : inputs) {
      if (!is_half(input)) continue;
      // Float where the kernel would see two types must stay two types.
      if (input.dtype() != first->dtype()) {
        return Reason("{} of {} and {}", call.op, Name(first->dtype()), Name(input.dtype()));
      }
      QR_ASSIGN_OR_RETURN(input, CastTensor(input, DType::kFloat));
    }
    FoldCall wide = call;
    wide.inputs = inputs;
    QR_ASSIGN_OR_RETURN(std::vector<Tensor> outputs, kernel(wide));
    for (Tensor& output : outputs) {
      if (!output.valid() || output.dtype() != DType::kFloat) continue;
      QR_ASSIGN_OR_RETURN(output, CastTensor(output, first->dtype()));
    }
    return outputs;
  };
}

namespace {

Result<DType> Target(const FoldCall& call) {
  const std::string_view mode = call.attributes.String("round_mode", "up");
  if (mode != "up" && mode != "down" && mode != "nearest") return Reason("Cast rounds {}", mode);
  if (call.op == "CastLike") {
    QR_ASSIGN_OR_RETURN(const Tensor like, Need(call, 1));
    return like.dtype();
  }
  const int64_t to = call.attributes.Int("to", 0);
  if (to <= 0 || to >= kNumDTypes) return Reason("Cast to type {}", to);
  return static_cast<DType>(to);
}

OutputTypes CastTypes(const FoldCall& call) {
  QR_ASSIGN_OR_RETURN(const Tensor x, Need(call, 0));
  QR_ASSIGN_OR_RETURN(const DType to, Target(call));
  if (!IsNumeric(x.dtype()) || !IsNumeric(to)) {
    return Reason("{} is not converted to {}", Name(x.dtype()), Name(to));
  }
  return std::vector<TensorType>{{to, x.dims(), /*may_fail=*/!CastIsTotal(x.dtype(), to)}};
}

Outputs Cast(const FoldCall& call) {
  QR_ASSIGN_OR_RETURN(const Tensor x, Need(call, 0));
  QR_ASSIGN_OR_RETURN(const DType to, Target(call));
  const std::string_view mode = call.attributes.String("round_mode", "up");
  return One(CastTensor(x, to,
                        {.saturate = call.attributes.Int("saturate", 1) != 0,
                         .e8m0_rounding = mode == "up"     ? "up"
                                          : mode == "down" ? "down"
                                                           : "nearest"}));
}

// The same bytes under another type.
Outputs BitCast(const FoldCall& call) {
  QR_ASSIGN_OR_RETURN(const Tensor x, Need(call, 0));
  const int64_t number = call.attributes.Int("to", 0);
  if (number <= 0 || number >= kNumDTypes) return Reason("{} to type {}", call.op, number);
  const auto to = static_cast<DType>(number);
  if (x.is_string() || to == DType::kString || Info(x.dtype()).bits != Info(to).bits)
    return Reason("{} of {} to {}", call.op, Name(x.dtype()), Name(to));
  QR_ASSIGN_OR_RETURN(const Tensor here, x.Materialize());
  return std::vector{Tensor::Own(to, x.dims(), {here.bytes().begin(), here.bytes().end()})};
}

}  // namespace

void RegisterCast(KernelRegistry& registry) {
  Add(registry, "Cast", {.first = 6}, Cast, CastTypes);
  Add(registry, "CastLike", {.first = 15, .inputs = 2}, Cast, CastTypes);
  Add(registry, "BitCast", {.first = 26}, BitCast);
}

}  // namespace qrewrite::fold
