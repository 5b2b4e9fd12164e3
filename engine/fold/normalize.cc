// Normalizations as they compute once training is over, and Dropout, which is then nothing.
#include <algorithm>
#include <cmath>

#include "engine/fold/support.h"

namespace qrewrite::fold {
namespace {

// Input `i` as numbers. Errors: it has not `size` elements.
Result<std::vector<double>> Numbers(const FoldCall& call, size_t i, int64_t size) {
  QR_ASSIGN_OR_RETURN(const Tensor t, NeedBytes(call, i));
  if (t.size() != size) return Reason("{} with an input of shape {}", call.op, ShapeText(t.dims()));
  return ToDoubles(t);
}

// The same of one axis.
Result<std::vector<double>> Vector(const FoldCall& call, size_t i, int64_t size) {
  QR_ASSIGN_OR_RETURN(const Tensor t, Need(call, i));
  if (t.rank() != 1) return Misfit("{} with an input of shape {}", call.op, ShapeText(t.dims()));
  return Numbers(call, i, size);
}

Result<Tensor> FloatInput(const FoldCall& call) {
  QR_ASSIGN_OR_RETURN(Tensor x, NeedBytes(call, 0));
  if (!IsFloat(x.dtype()) || x.rank() < 1) {
    return Reason("{} of {} {}", call.op, Name(x.dtype()), ShapeText(x.dims()));
  }
  return x;
}

Outputs BatchNormalization(const FoldCall& call) {
  if (call.num_outputs > 1 || call.attributes.Int("training_mode", 0) != 0 ||
      call.attributes.Int("spatial", 1) == 0) {
    return Reason("{} in training is not computed", call.op);
  }
  QR_ASSIGN_OR_RETURN(const Tensor x, FloatInput(call));
  const int64_t channels = x.rank() > 1 ? x.dims()[1] : 1;
  const int64_t inner = x.rank() > 2 ? CountRange(x.dims(), 2, x.dims().size()) : 1;
  QR_ASSIGN_OR_RETURN(const std::vector<double> scale, Vector(call, 1, channels));
  QR_ASSIGN_OR_RETURN(const std::vector<double> bias, Vector(call, 2, channels));
  QR_ASSIGN_OR_RETURN(const std::vector<double> mean, Vector(call, 3, channels));
  QR_ASSIGN_OR_RETURN(const std::vector<double> variance, Vector(call, 4, channels));
  QR_ASSIGN_OR_RETURN(std::vector<double> y, ToDoubles(x));
  const double epsilon = call.attributes.Float("epsilon", 1e-5f);
  for (size_t i = 0; i < y.size(); ++i) {
    const size_t c = i / static_cast<size_t>(inner) % static_cast<size_t>(channels);
    y[i] = (y[i] - mean[c]) / std::sqrt(variance[c] + epsilon) * scale[c] + bias[c];
  }
  return One(FromDoubles(x.dtype(), x.dims(), y));
}

// Each row of `n` gets mean 0 and variance 1.
void Standardize(std::vector<double>& values, size_t n, double epsilon) {
  for (size_t begin = 0; n > 0 && begin < values.size(); begin += n) {
    double sum = 0, squares = 0;
    for (size_t i = 0; i < n; ++i) sum += values[begin + i];
    const double mean = sum / static_cast<double>(n);
    for (size_t i = 0; i < n; ++i) squares += std::pow(values[begin + i] - mean, 2);
    const double factor = 1 / std::sqrt(squares / static_cast<double>(n) + epsilon);
    for (size_t i = 0; i < n; ++i) values[begin + i] = (values[begin + i] - mean) * factor;
  }
}

Outputs InstanceNormalization(const FoldCall& call) {
  QR_ASSIGN_OR_RETURN(const Tensor x, FloatInput(call));
  if (x.rank() < 3) return Reason("{} of shape {}", call.op, ShapeText(x.dims()));
  const auto channels = static_cast<size_t>(x.dims()[1]);
  const auto inner = static_cast<size_t>(CountRange(x.dims(), 2, x.dims().size()));
  QR_ASSIGN_OR_RETURN(const std::vector<double> scale, Vector(call, 1, x.dims()[1]));
  QR_ASSIGN_OR_RETURN(const std::vector<double> bias, Vector(call, 2, x.dims()[1]));
  QR_ASSIGN_OR_RETURN(std::vector<double> y, ToDoubles(x));
  Standardize(y, inner, call.attributes.Float("epsilon", 1e-5f));
  for (size_t i = 0; i < y.size(); ++i) {
    y[i] = y[i] * scale[i / inner % channels] + bias[i / inner % channels];
  }
  return One(FromDoubles(x.dtype(), x.dims(), y));
}

Outputs LayerNormalization(const FoldCall& call) {
  if (call.num_outputs > 1) return Reason("further outputs of {} are not computed", call.op);
  QR_ASSIGN_OR_RETURN(const Tensor x, FloatInput(call));
  QR_ASSIGN_OR_RETURN(const int64_t axis, NormalAxis(call.attributes.Int("axis", -1), x.rank()));
  const int64_t inner = CountRange(x.dims(), static_cast<size_t>(axis), x.dims().size());
  QR_ASSIGN_OR_RETURN(const std::vector<double> scale, Numbers(call, 1, inner));
  std::vector<double> bias(static_cast<size_t>(inner), 0.0);
  if (Input(call, 2) != nullptr) {
    QR_ASSIGN_OR_RETURN(bias, Numbers(call, 2, inner));
  }
  QR_ASSIGN_OR_RETURN(std::vector<double> y, ToDoubles(x));
  Standardize(y, static_cast<size_t>(inner), call.attributes.Float("epsilon", 1e-5f));
  for (size_t i = 0; i < y.size(); ++i) {
    y[i] = y[i] * scale[i % scale.size()] + bias[i % bias.size()];
  }
  return One(FromDoubles(x.dtype(), x.dims(), y));
}

// Each group of channels gets mean 0 and variance 1. Before opset 21 there was a scale for each group.
Outputs GroupNormalization(const FoldCall& call) {
  QR_ASSIGN_OR_RETURN(const Tensor x, FloatInput(call));
  const int64_t groups = call.attributes.Int("num_groups", 0);
  if (x.rank() < 3 || groups < 1 || x.dims()[1] % groups != 0 || x.dims()[1] == 0)
    return Reason("{} of shape {} in {} groups", call.op, ShapeText(x.dims()), groups);
  const int64_t channels = x.dims()[1], inner = CountRange(x.dims(), 2, x.dims().size());
  const int64_t scales = call.since >= 21 ? channels : groups;
  QR_ASSIGN_OR_RETURN(const std::vector<double> scale, Vector(call, 1, scales));
  QR_ASSIGN_OR_RETURN(const std::vector<double> bias, Vector(call, 2, scales));
  QR_ASSIGN_OR_RETURN(std::vector<double> y, ToDoubles(x));
  Standardize(y, static_cast<size_t>(channels / groups * inner),
              call.attributes.Float("epsilon", 1e-5f));
  for (size_t i = 0; i < y.size(); ++i) {
    const int64_t channel = static_cast<int64_t>(i) / inner % channels;
    const auto at = static_cast<size_t>(channel * scales / channels);
    y[i] = y[i] * scale[at] + bias[at];
  }
  return One(FromDoubles(x.dtype(), x.dims(), y));
}

// By the sum of the magnitudes along the axis, or the root of that of the squares; a norm of 0 leaves zeros.
Outputs LpNormalization(const FoldCall& call) {
  QR_ASSIGN_OR_RETURN(const Tensor x, FloatInput(call));
  const int64_t p = call.attributes.Int("p", 2);
  if (p != 1 && p != 2) return Reason("{} with p = {}", call.op, p);
  QR_ASSIGN_OR_RETURN(const int64_t axis, NormalAxis(call.attributes.Int("axis", -1), x.rank()));
  const auto n = static_cast<size_t>(x.dims()[static_cast<size_t>(axis)]);
  const auto inner =
      static_cast<size_t>(CountRange(x.dims(), static_cast<size_t>(axis) + 1, x.dims().size()));
  QR_ASSIGN_OR_RETURN(std::vector<double> y, ToDoubles(x));
  for (size_t column = 0; column * n < y.size(); ++column) {
    const size_t first = column / inner * n * inner + column % inner;
    double norm = 0;
    for (size_t i = 0; i < n; ++i) {
      const double v = y[first + i * inner];
      norm += p == 1 ? std::fabs(v) : v * v;
    }
    if (p == 2) norm = std::sqrt(norm);
    for (size_t i = 0; i < n; ++i) {
      double& v = y[first + i * inner];
      v = norm == 0 ? 0 : v / norm;
    }
  }
  return One(FromDoubles(x.dtype(), x.dims(), y));
}

// By the sum of the squares of `size` neighbouring channels; of an even number one more lies behind.
Outputs Lrn(const FoldCall& call) {
  QR_ASSIGN_OR_RETURN(const Tensor x, FloatInput(call));
  const int64_t size = call.attributes.Int("size", 0);
  if (x.rank() < 3 || size < 1) return Reason("{} of shape {}", call.op, ShapeText(x.dims()));
  const double alpha = call.attributes.Float("alpha", 1e-4f),
               beta = call.attributes.Float("beta", 0.75f), k = call.attributes.Float("bias", 1.0f);
  const int64_t channels = x.dims()[1], inner = CountRange(x.dims(), 2, x.dims().size());
  QR_ASSIGN_OR_RETURN(const std::vector<double> values, ToDoubles(x));
  std::vector<double> y(values.size());
  for (size_t i = 0; i < y.size(); ++i) {
    const int64_t c = static_cast<int64_t>(i) / inner % channels;
    const int64_t first = std::max<int64_t>(0, c - (size - 1) / 2),
                  last = std::min(channels - 1, c + size / 2);
    double sum = 0;
    for (int64_t at = first; at <= last; ++at)
      sum += std::pow(values[static_cast<size_t>(static_cast<int64_t>(i) + (at - c) * inner)], 2);
    y[i] = values[i] / std::pow(k + alpha / static_cast<double>(size) * sum, beta);
  }
  return One(FromDoubles(x.dtype(), x.dims(), y));
}

// Along the axes mean 0 and deviation 1, as the definition of the operator has it.
Outputs MeanVarianceNormalization(const FoldCall& call) {
  constexpr double kLeastDeviation = 1e-9;
  QR_ASSIGN_OR_RETURN(const Tensor x, FloatInput(call));
  // Of 16 bits nothing says where its steps are rounded, and ONNX Runtime has none.
  if (Info(x.dtype()).bits < 32) return Reason("{} of {}", call.op, Name(x.dtype()));
  const std::vector<int64_t>* const given = call.attributes.Ints("axes");
  const Attributes axes{{"axes", given != nullptr ? *given : std::vector<int64_t>{0, 2, 3}}};
  QR_ASSIGN_OR_RETURN(const std::vector<double> values, ToDoubles(x));
  QR_ASSIGN_OR_RETURN(const Tensor wide, FromDoubles(DType::kDouble, x.dims(), values));
  const auto mean = [&](const Tensor& t) { return Compute("ReduceMean", 13, {&t, 1}, axes); };
  QR_ASSIGN_OR_RETURN(const std::vector<Tensor> means, mean(wide));
  const Tensor difference[] = {wide, means[0]};
  QR_ASSIGN_OR_RETURN(const std::vector<Tensor> centered, Compute("Sub", 14, difference, {}));
  const Tensor squares[] = {centered[0], centered[0]};
  QR_ASSIGN_OR_RETURN(const std::vector<Tensor> square, Compute("Mul", 14, squares, {}));
  QR_ASSIGN_OR_RETURN(const std::vector<Tensor> variance, mean(square[0]));
  QR_ASSIGN_OR_RETURN(std::vector<double> deviation, ToDoubles(variance[0]));
  for (double& v : deviation) v = std::sqrt(v) + kLeastDeviation;
  QR_ASSIGN_OR_RETURN(const Tensor divisor,
                      FromDoubles(DType::kDouble, variance[0].dims(), deviation));
  const Tensor quotient[] = {centered[0], divisor};
  QR_ASSIGN_OR_RETURN(const std::vector<Tensor> y, Compute("Div", 14, quotient, {}));
  QR_ASSIGN_OR_RETURN(const std::vector<double> result, ToDoubles(y[0]));
  return One(FromDoubles(x.dtype(), x.dims(), result));
}

Outputs Dropout(const FoldCall& call) {
  if (const Tensor* training = Input(call, 2); training != nullptr) {
    QR_ASSIGN_OR_RETURN(const int64_t on, IntScalar(*training));
    if (on != 0) return Reason("{} in training is not computed", call.op);
  }
  QR_ASSIGN_OR_RETURN(const Tensor x, Need(call, 0));
  if (call.num_outputs == 1) return std::vector{x};
  // Everything is kept. Before opset 12 no text says what the mask is then: in ONNX Runtime it is False, in onnx's own
  // evaluator True. Up to 7 it has the type of the data.
  if (call.since < 10) return Reason("the mask of {} is not computed", call.op);
  const std::vector<uint8_t> kept(static_cast<size_t>(x.size()), call.since < 12 ? 0 : 1);
  return std::vector{x, Tensor::Of<uint8_t>(DType::kBool, x.dims(), kept)};
}

// The type of the data: what a kernel refuses it finds out itself.
OutputTypes TypesOfData(const FoldCall& call) {
  QR_ASSIGN_OR_RETURN(const Tensor x, Need(call, 0));
  return std::vector<TensorType>{{x.dtype(), x.dims(), /*may_fail=*/true}};
}

OutputTypes LrnTypes(const FoldCall& call) {
  QR_ASSIGN_OR_RETURN(std::vector<TensorType> types, TypesOfData(call));
  const std::optional<int64_t> products =
      CheckedCount({Count(types[0].dims), call.attributes.Int("size", 0)}, INT64_MAX);
  if (!products) return Reason("{} over too many channels", call.op);
  types[0].products = static_cast<uint64_t>(*products);
  return types;
}

}  // namespace

void RegisterNormalization(KernelRegistry& registry) {
  Add(registry, "BatchNormalization", {.first = 7, .inputs = 5}, BatchNormalization, TypesOfData);
  Add(registry, "InstanceNormalization", {.inputs = 3}, InstanceNormalization, TypesOfData);
  Add(registry, "LayerNormalization", {.first = 1, .inputs = 3}, LayerNormalization, TypesOfData);
  Add(registry, "GroupNormalization", {.first = 18, .inputs = 3}, GroupNormalization, TypesOfData);
  Add(registry, "LpNormalization", {}, LpNormalization, TypesOfData);
  Add(registry, "LRN", {}, Lrn, LrnTypes);
  Add(registry, "MeanVarianceNormalization", {.first = 9}, MeanVarianceNormalization, TypesOfData);
  Add(registry, "Dropout", {.first = 7, .inputs = 3}, Dropout);
}

}  // namespace qrewrite::fold
