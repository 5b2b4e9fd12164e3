// Operators that ONNX Runtime's optimizer of transformers puts together: activations, sums with a normalization,
// products of transposed matrices. Each computes what its parts compute.
#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

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

// What lies between is not computed by ONNX Runtime on a CPU either: the mean and the deviation of each row.
Outputs WithSum(const FoldCall& call, Tensor y, Tensor sum) {
  std::vector<Tensor> outputs{std::move(y)};
  if (call.num_outputs > 1) {
    if (call.num_outputs != 4) return Reason("mean and deviation of {} are not computed", call.op);
    outputs.resize(3);
    outputs.push_back(std::move(sum));
  }
  return outputs;
}

Outputs SkipLayerNormalization(const FoldCall& call) {
  QR_ASSIGN_OR_RETURN(const Tensor sum, SumOf(call, 4));
  QR_ASSIGN_OR_RETURN(const Tensor gamma, RowOf(call, 2, sum));
  std::vector<Tensor> inputs{sum, gamma};
  if (Input(call, 3) != nullptr) {
    QR_ASSIGN_OR_RETURN(const Tensor beta, RowOf(call, 3, sum));
    inputs.push_back(beta);
  }
  const Attributes attributes{{"axis", int64_t{-1}},
                              {"epsilon", call.attributes.Float("epsilon", kEpsilonOfSums)}};
  QR_ASSIGN_OR_RETURN(Tensor y, Part("LayerNormalization", 17, inputs, attributes));
  return WithSum(call, std::move(y), sum);
}

// Each row is divided by the root of its mean square.
Result<Tensor> RootNormalized(const FoldCall& call, const Tensor& x, const Tensor& gamma,
                              int64_t axis, double epsilon) {
  const auto inner =
      static_cast<size_t>(CountRange(x.dims(), static_cast<size_t>(axis), x.dims().size()));
  if (gamma.size() != static_cast<int64_t>(inner) || gamma.rank() > x.rank() - axis)
    return Misfit("{} of {} with a scale of shape {}", call.op, ShapeText(x.dims()),
                  ShapeText(gamma.dims()));
  QR_ASSIGN_OR_RETURN(const std::vector<double> scale, ToDoubles(gamma));
  QR_ASSIGN_OR_RETURN(std::vector<double> y, ToDoubles(x));
  for (size_t begin = 0; inner > 0 && begin < y.size(); begin += inner) {
    double squares = 0;
    for (size_t i = 0; i < inner; ++i) squares += y[begin + i] * y[begin + i];
    const double root = std::sqrt(squares / static_cast<double>(inner) + epsilon);
    for (size_t i = 0; i < inner; ++i) y[begin + i] = y[begin + i] / root * scale[i];
  }
  return FromDoubles(x.dtype(), x.dims(), y);
}

Outputs SimplifiedLayerNormalization(const FoldCall& call) {
  if (call.num_outputs > 1) return Reason("further outputs of {} are not computed", call.op);
  QR_ASSIGN_OR_RETURN(const Tensor x, NeedBytes(call, 0));
  QR_ASSIGN_OR_RETURN(const Tensor gamma, NeedBytes(call, 1));
  if (!IsFloat(x.dtype()) || x.rank() < 1)
    return Reason("{} of {} {}", call.op, Name(x.dtype()), ShapeText(x.dims()));
  QR_ASSIGN_OR_RETURN(const int64_t axis, NormalAxis(call.attributes.Int("axis", -1), x.rank()));
  return One(RootNormalized(call, x, gamma, axis, call.attributes.Float("epsilon", 1e-5f)));
}

Outputs SkipSimplifiedLayerNormalization(const FoldCall& call) {
  QR_ASSIGN_OR_RETURN(const Tensor sum, SumOf(call, 3));
  QR_ASSIGN_OR_RETURN(const Tensor gamma, RowOf(call, 2, sum));
  QR_ASSIGN_OR_RETURN(Tensor y,
                      RootNormalized(call, sum, gamma, static_cast<int64_t>(sum.rank()) - 1,
                                     call.attributes.Float("epsilon", kEpsilonOfSums)));
  return WithSum(call, std::move(y), sum);
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
                       .run = InFloat(std::move(run))});
  };
  const auto of_microsoft = [&](std::string op, size_t inputs, Kernel run) {
    add("com.microsoft", std::move(op), inputs, std::move(run));
  };
  of_microsoft("Gelu", 1, Gelu);
  of_microsoft("BiasGelu", 2, BiasGelu);
  of_microsoft("FastGelu", 2, FastGelu);
  of_microsoft("QuickGelu", 1, QuickGelu);
  of_microsoft("SkipLayerNormalization", 5, SkipLayerNormalization);
  of_microsoft("SkipSimplifiedLayerNormalization", 4, SkipSimplifiedLayerNormalization);
  of_microsoft("FusedMatMul", 2, FusedMatMul);
  add("", "SimplifiedLayerNormalization", 2, SimplifiedLayerNormalization);
}

}  // namespace qrewrite::fold
