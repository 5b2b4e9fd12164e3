// Operators that ONNX Runtime's optimizer of transformers puts together: activations, sums with a normalization,
// products of transposed matrices. Each computes what its parts compute.
#include <algorithm>
#include <cmath>
#include <span>
#include <string>
#include <utility>

#include "engine/fold/cast.h"
#include "engine/fold/support.h"
#include "engine/fold/types.h"

namespace qrewrite::fold {
namespace {

constexpr float kEpsilonOfSums = 1e-12f;

Result<Tensor> Of(std::string_view op, int since, const Tensor& a, const Tensor& b) {
  const Tensor inputs[] = {a, b};
  return Part(op, since, inputs);
}

// The first input, and what is added along its last axis.
Result<Tensor> WithBias(const FoldCall& call) {
  QR_ASSIGN_OR_RETURN(const Tensor x, Need(call, 0));
  const Tensor* const bias = Input(call, 1);
  if (bias == nullptr) return x;
  if (bias->rank() != 1 || x.rank() < 1 || x.dims().back() != bias->size())
    return Misfit("{} of {} with a bias of shape {}", call.op, ShapeText(x.dims()),
                  ShapeText(bias->dims()));
  return Of("Add", 14, x, *bias);
}

Outputs Gelu(const FoldCall& call) {
  QR_ASSIGN_OR_RETURN(const Tensor x, WithBias(call));
  return One(Part("Gelu", 20, {&x, 1}));
}

Outputs BiasGelu(const FoldCall& call) {
  QR_RETURN_IF_ERROR(NeedInputs(call, 2));
  return Gelu(call);
}

Outputs FastGelu(const FoldCall& call) {
  QR_ASSIGN_OR_RETURN(const Tensor x, WithBias(call));
  return One(Part("Gelu", 20, {&x, 1}, {{"approximate", std::string("tanh")}}));
}

Outputs QuickGelu(const FoldCall& call) {
  QR_ASSIGN_OR_RETURN(const Tensor x, Need(call, 0));
  const double alpha[] = {call.attributes.Float("alpha", 1.702f)};
  QR_ASSIGN_OR_RETURN(const Tensor factor, FromDoubles(x.dtype(), {}, alpha));
  QR_ASSIGN_OR_RETURN(const Tensor scaled, Of("Mul", 14, x, factor));
  QR_ASSIGN_OR_RETURN(const Tensor gate, Part("Sigmoid", 13, {&scaled, 1}));
  return One(Of("Mul", 14, x, gate));
}

// --- sums, normalized along their last axis

// A factor or a sum for each number of a row: input `i`.
Result<Tensor> RowOf(const FoldCall& call, size_t i, const Tensor& of) {
  QR_ASSIGN_OR_RETURN(Tensor row, NeedBytes(call, i));
  if (row.rank() != 1 || row.size() != of.dims().back())
    return Misfit("{} of {} with an input of shape {}", call.op, ShapeText(of.dims()),
                  ShapeText(row.dims()));
  return row;
}

// x + skip + bias. The skip may be the same for each batch.
Result<Tensor> SumOf(const FoldCall& call, size_t bias_at) {
  QR_ASSIGN_OR_RETURN(const Tensor x, Need(call, 0));
  QR_ASSIGN_OR_RETURN(const Tensor skip, Need(call, 1));
  const Dims &dims = x.dims(), &others = skip.dims();
  const bool fits =
      dims == others ||
      (dims.size() == 3 && (others.size() == 2 || (others.size() == 3 && others[0] == 1)) &&
       std::equal(dims.begin() + 1, dims.end(), others.end() - 2));
  if (!fits || dims.empty())
    return Misfit("{} of {} and {}", call.op, ShapeText(dims), ShapeText(others));
  QR_ASSIGN_OR_RETURN(Tensor sum, Of("Add", 14, x, skip));
  if (Input(call, bias_at) == nullptr) return sum;
  QR_ASSIGN_OR_RETURN(const Tensor bias, RowOf(call, bias_at, sum));
  return Of("Add", 14, sum, bias);
}

// What each row of `n` numbers is normalized by.
struct RowStatistics {
  std::vector<double> means, factors;  // of the rows; a factor is one by the deviation
};

// Normalizes the rows. What is simplified has no mean: it is divided by the root of its mean square.
RowStatistics Normalize(std::vector<double>& values, size_t n, double epsilon, bool simplified) {
  RowStatistics rows;
  for (size_t begin = 0; n > 0 && begin < values.size(); begin += n) {
    const std::span<double> row(values.data() + begin, n);
    double sum = 0, squares = 0;
    for (const double v : row) sum += v;
    const double mean = simplified ? 0 : sum / static_cast<double>(n);
    for (const double v : row) squares += (v - mean) * (v - mean);
    const double factor = 1 / std::sqrt(squares / static_cast<double>(n) + epsilon);
    for (double& v : row) v = (v - mean) * factor;
    rows.means.push_back(mean);
    rows.factors.push_back(factor);
  }
  return rows;
}

Outputs SimplifiedLayerNormalization(const FoldCall& call) {
  if (call.num_outputs > 1) return Reason("further outputs of {} are not computed", call.op);
  QR_ASSIGN_OR_RETURN(const Tensor x, NeedBytes(call, 0));
  QR_ASSIGN_OR_RETURN(const Tensor gamma, NeedBytes(call, 1));
  if (!IsFloat(x.dtype()) || x.rank() < 1)
    return Reason("{} of {} {}", call.op, Name(x.dtype()), ShapeText(x.dims()));
  QR_ASSIGN_OR_RETURN(const int64_t axis, NormalAxis(call.attributes.Int("axis", -1), x.rank()));
  const int64_t inner = CountRange(x.dims(), static_cast<size_t>(axis), x.dims().size());
  if (gamma.size() != inner || gamma.rank() > x.rank() - axis)
    return Misfit("{} of {} with a scale of shape {}", call.op, ShapeText(x.dims()),
                  ShapeText(gamma.dims()));
  QR_ASSIGN_OR_RETURN(const std::vector<double> scale, ToDoubles(gamma));
  QR_ASSIGN_OR_RETURN(std::vector<double> y, ToDoubles(x));
  Normalize(y, static_cast<size_t>(inner), call.attributes.Float("epsilon", 1e-5f), true);
  for (size_t i = 0; i < y.size(); ++i) y[i] *= scale[i % scale.size()];
  return One(FromDoubles(x.dtype(), x.dims(), y));
}

// Of floats: the normalized sum, its statistics, the sum itself.
Outputs SkipNormOfFloats(const FoldCall& call, bool simplified) {
  QR_ASSIGN_OR_RETURN(const Tensor sum, SumOf(call, simplified ? 3 : 4));
  QR_ASSIGN_OR_RETURN(const Tensor gamma, RowOf(call, 2, sum));
  QR_ASSIGN_OR_RETURN(const std::vector<double> scale, ToDoubles(gamma));
  std::vector<double> shift(scale.size());
  if (!simplified && Input(call, 3) != nullptr) {
    QR_ASSIGN_OR_RETURN(const Tensor beta, RowOf(call, 3, sum));
    QR_ASSIGN_OR_RETURN(shift, ToDoubles(beta));
  }
  QR_ASSIGN_OR_RETURN(std::vector<double> y, ToDoubles(sum));
  const RowStatistics rows =
      Normalize(y, scale.size(), call.attributes.Float("epsilon", kEpsilonOfSums), simplified);
  for (size_t i = 0; i < y.size(); ++i)
    y[i] = y[i] * scale[i % scale.size()] + shift[i % scale.size()];
  Dims of_rows = sum.dims();
  of_rows.back() = scale.empty() ? 0 : 1;
  std::vector<Tensor> outputs(4);
  QR_ASSIGN_OR_RETURN(outputs[0], FromDoubles(sum.dtype(), sum.dims(), y));
  QR_ASSIGN_OR_RETURN(outputs[1], FromDoubles(DType::kFloat, of_rows, rows.means));
  QR_ASSIGN_OR_RETURN(outputs[2], FromDoubles(DType::kFloat, of_rows, rows.factors));
  outputs[3] = sum;
  outputs.resize(static_cast<size_t>(std::clamp(call.num_outputs, 1, 4)));
  return outputs;
}

// The same of 16 bits, where the statistics are floats all the same.
Outputs SkipNorm(const FoldCall& call, bool simplified) {
  std::vector<Tensor> inputs(call.inputs.begin(), call.inputs.end());
  const DType dtype = inputs.empty() || !inputs[0].valid() ? DType::kUndefined : inputs[0].dtype();
  for (Tensor& input : inputs) {
    if (!input.valid() || !IsHalf(input.dtype())) continue;
    if (input.dtype() != dtype)
      return Reason("{} of {} and {}", call.op, Name(dtype), Name(input.dtype()));
    QR_ASSIGN_OR_RETURN(input, CastTensor(input, DType::kFloat));
  }
  FoldCall wide = call;
  wide.inputs = inputs;
  QR_ASSIGN_OR_RETURN(std::vector<Tensor> outputs, SkipNormOfFloats(wide, simplified));
  for (const size_t i : {0, 3}) {
    if (i < outputs.size() && IsHalf(dtype)) {
      QR_ASSIGN_OR_RETURN(outputs[i], CastTensor(outputs[i], dtype));
    }
  }
  return outputs;
}

// --- products

// A matrix with its last two axes in the other order; a vector is none.
Result<Tensor> Transposed(const Tensor& x) {
  if (x.rank() < 2) return x;
  std::vector<int64_t> perm;
  for (int64_t i = 0; i < x.rank(); ++i) perm.push_back(i);
  std::swap(perm[perm.size() - 2], perm.back());
  return Part("Transpose", 13, {&x, 1}, {{"perm", perm}});
}

Outputs FusedMatMul(const FoldCall& call) {
  QR_ASSIGN_OR_RETURN(Tensor a, Need(call, 0));
  QR_ASSIGN_OR_RETURN(Tensor b, Need(call, 1));
  for (const std::string_view name : {"transBatchA", "transBatchB"}) {
    if (call.attributes.Int(name, 0) != 0)
      return Reason("{} with {} is not computed", call.op, name);
  }
  if (call.attributes.Int("transA", 0) != 0) {
    QR_ASSIGN_OR_RETURN(a, Transposed(a));
  }
  if (call.attributes.Int("transB", 0) != 0) {
    QR_ASSIGN_OR_RETURN(b, Transposed(b));
  }
  QR_ASSIGN_OR_RETURN(const Tensor product, Of("MatMul", 13, a, b));
  const double alpha[] = {call.attributes.Float("alpha", 1.0f)};
  if (alpha[0] == 1) return std::vector{product};
  QR_ASSIGN_OR_RETURN(const Tensor factor, FromDoubles(product.dtype(), {}, alpha));
  return One(Of("Mul", 14, product, factor));
}

}  // namespace

void RegisterTransformers(KernelRegistry& registry) {
  const auto add = [&](std::string domain, std::string op, size_t inputs, Kernel run) {
    registry.Register({.domain = std::move(domain),
                       .op = std::move(op),
                       .max_inputs = inputs,
                       .run = std::move(run)});
  };
  const std::string ms = "com.microsoft";
  add(ms, "Gelu", 1, InFloat(Gelu));
  add(ms, "BiasGelu", 2, InFloat(BiasGelu));
  add(ms, "FastGelu", 2, InFloat(FastGelu));
  add(ms, "QuickGelu", 1, InFloat(QuickGelu));
  add(ms, "SkipLayerNormalization", 5, [](const FoldCall& call) { return SkipNorm(call, false); });
  add(ms, "SkipSimplifiedLayerNormalization", 4,
      [](const FoldCall& call) { return SkipNorm(call, true); });
  add(ms, "FusedMatMul", 2, InFloat(FusedMatMul));
  add("", "SimplifiedLayerNormalization", 2, InFloat(SimplifiedLayerNormalization));
}

}  // namespace qrewrite::fold
