// Operators on quantized integers. Products are summed exactly and requantized once, as ONNX Runtime does
// it: multiplied in float32 by x_scale * w_scale / y_scale, rounded half to even, zero point added,
// saturated. The other ones dequantize, compute in float and quantize.
#include <algorithm>
#include <cmath>
#include <functional>

#include "engine/fold/convolution.h"
#include "engine/fold/no_result.h"
#include "engine/fold/pooling.h"

namespace qrewrite::fold {
namespace {

// An 8 or 16 bit operand and its parameters, as numbers.
struct Quantized {
  Tensor q;
  std::vector<double> scales, zeros;
  bool in_rows = true;  // several parameters have one axis

  static Result<Quantized> Make(const FoldCall& call, size_t data, size_t scale, size_t zero) {
    Quantized operand;
    QR_ASSIGN_OR_RETURN(operand.q, NeedBytes(call, data));
    if (!IsInteger(operand.q.dtype()) || Info(operand.q.dtype()).bits > 16) {
      return Reason("{} of {}", call.op, Name(operand.q.dtype()));
    }
    operand.scales = {1.0};
    operand.zeros = {0.0};
    if (scale != kNone) {
      QR_ASSIGN_OR_RETURN(const Tensor s, NeedBytes(call, scale));
      QR_ASSIGN_OR_RETURN(operand.scales, ToDoubles(s));
      operand.in_rows = s.size() == 1 || s.rank() <= 1;
    }
    if (const Tensor* z = Input(call, zero); z != nullptr) {
      QR_ASSIGN_OR_RETURN(operand.zeros, ToDoubles(*z));
      operand.in_rows = operand.in_rows && (z->size() == 1 || z->rank() <= 1);
    }
    if (operand.scales.empty() || operand.zeros.empty())
      return Reason("{} without scales", call.op);
    // Each zero point belongs to a scale.
    if (scale != kNone && operand.zeros.size() > 1 &&
        operand.zeros.size() != operand.scales.size()) {
      return Misfit("{} with {} scales and {} zero points", call.op, operand.scales.size(),
                    operand.zeros.size());
    }
    return operand;
  }
  static constexpr size_t kNone = SIZE_MAX;

  // Elements minus their zero points; parameter of element i: i / inner % number of parameters.
  Result<std::vector<double>> Centered(int64_t inner) const {
    QR_ASSIGN_OR_RETURN(std::vector<double> values, ToDoubles(q));
    for (size_t i = 0; i < values.size(); ++i) {
      values[i] -= zeros[i / static_cast<size_t>(inner) % zeros.size()];
    }
    return values;
  }
};

// Where the result of a sum of products goes. `inner`: elements behind the axis of the channels.
struct Requantizer {
  std::vector<float> factors;  // one, or one a channel
  Tensor zero;                 // of the result; its type is the result's
  int64_t inner;

  Result<Tensor> Apply(const std::vector<double>& sums, Dims dims) const {
    QR_ASSIGN_OR_RETURN(const std::vector<double> z, ToDoubles(zero));
    if (z.size() != 1 || !IsInteger(zero.dtype()))
      return Reason("a zero point of {} {}", Name(zero.dtype()), ShapeText(zero.dims()));
    const auto lo = static_cast<double>(IntMin(zero.dtype()));
    const auto hi = static_cast<double>(IntMax(zero.dtype()));
    std::vector<double> y(sums.size());
    for (size_t i = 0; i < sums.size(); ++i) {
      const float factor = factors[i / static_cast<size_t>(inner) % factors.size()];
      const float scaled = static_cast<float>(static_cast<int32_t>(sums[i])) * factor;
      y[i] = std::clamp(static_cast<double>(std::nearbyint(scaled)) + z[0], lo, hi);
    }
    return FromDoubles(zero.dtype(), std::move(dims), y);
  }
};

std::vector<float> Factors(const Quantized& x, const Quantized& w, float alpha, double y_scale) {
  std::vector<float> factors;
  for (const double s : w.scales) {
    const float product = alpha * static_cast<float>(x.scales[0]) * static_cast<float>(s);
    factors.push_back(product / static_cast<float>(y_scale));
  }
  return factors;
}

Result<double> OneScale(const FoldCall& call, size_t i) {
  QR_ASSIGN_OR_RETURN(const Tensor t, NeedBytes(call, i));
  QR_ASSIGN_OR_RETURN(const std::vector<double> values, ToDoubles(t));
  if (values.size() != 1) return Reason("{} with scales {}", call.op, ShapeText(t.dims()));
  return values[0];
}

struct Sums {
  Convolution plan;
  std::vector<double> values;
};

// Operators add up in 32 bits; beyond them there is no result, runtimes wrap or saturate.
Status CheckSums(const FoldCall& call, std::span<const double> sums) {
  const auto low = static_cast<double>(INT32_MIN), high = static_cast<double>(INT32_MAX);
  const bool fit = std::ranges::all_of(sums, [&](double v) { return v >= low && v <= high; });
  return fit ? Status() : Reason("{} {}", call.op, kSumBeyond);
}

// Weights have one parameter, or one for each channel of the result.
Status CheckChannels(const FoldCall& call, const Quantized& w, int64_t channels) {
  if (!w.in_rows) return Misfit("{} with parameters of several axes", call.op);
  for (const std::vector<double>* list : {&w.scales, &w.zeros}) {
    if (list->size() != 1 && list->size() != static_cast<size_t>(channels)) {
      return Misfit("{} of {} channels with {} scales and {} zero points", call.op, channels,
                    w.scales.size(), w.zeros.size());
    }
  }
  return {};
}

// The scales of data and weights are one number, or a row.
Status CheckScales(const FoldCall& call) {
  const bool rows = Input(call, 1)->rank() <= 1 && Input(call, 4)->rank() <= 1;
  return rows ? Status() : Misfit("{} with a scale of two axes", call.op);
}

Result<Sums> Convolve(const FoldCall& call, const Quantized& x, const Quantized& w) {
  Sums sums;
  QR_ASSIGN_OR_RETURN(sums.plan, Convolution::Plan(call, x.q, w.q));
  QR_RETURN_IF_ERROR(CheckChannels(call, w, sums.plan.out_channels));
  if (x.zeros.size() != 1 || x.scales.size() != 1) return Reason("{} of rows", call.op);
  QR_ASSIGN_OR_RETURN(const std::vector<double> xs, x.Centered(1));
  const int64_t filter = w.q.size() / std::max<int64_t>(w.q.dims()[0], 1);
  QR_ASSIGN_OR_RETURN(const std::vector<double> ws, w.Centered(std::max<int64_t>(filter, 1)));
  sums.values = sums.plan.Compute(xs, ws);
  return sums;
}

Outputs ConvInteger(const FoldCall& call) {
  QR_ASSIGN_OR_RETURN(const Quantized x, Quantized::Make(call, 0, Quantized::kNone, 2));
  QR_ASSIGN_OR_RETURN(const Quantized w, Quantized::Make(call, 1, Quantized::kNone, 3));
  QR_ASSIGN_OR_RETURN(const Sums sums, Convolve(call, x, w));
  return One(FromDoubles(DType::kInt32, sums.plan.dims, sums.values));
}

Outputs QLinearConv(const FoldCall& call) {
  QR_ASSIGN_OR_RETURN(const Quantized x, Quantized::Make(call, 0, 1, 2));
  QR_ASSIGN_OR_RETURN(const Quantized w, Quantized::Make(call, 3, 4, 5));
  QR_RETURN_IF_ERROR(CheckScales(call));
  QR_ASSIGN_OR_RETURN(const double y_scale, OneScale(call, 6));
  QR_ASSIGN_OR_RETURN(const Tensor zero, NeedBytes(call, 7));
  QR_ASSIGN_OR_RETURN(Sums sums, Convolve(call, x, w));
  const auto outputs = static_cast<size_t>(std::max<int64_t>(sums.plan.window.outputs, 1));
  if (const Tensor* bias = Input(call, 8); bias != nullptr) {
    QR_ASSIGN_OR_RETURN(const std::vector<double> b, ToDoubles(*bias));
    if (bias->rank() != 1 || static_cast<int64_t>(b.size()) != sums.plan.out_channels) {
      return Reason("{} with a bias of shape {}", call.op, ShapeText(bias->dims()));
    }
    for (size_t i = 0; i < sums.values.size(); ++i) sums.values[i] += b[i / outputs % b.size()];
  }
  QR_RETURN_IF_ERROR(CheckSums(call, sums.values));
  const Requantizer requantizer{Factors(x, w, 1, y_scale), zero, static_cast<int64_t>(outputs)};
  return One(requantizer.Apply(sums.values, sums.plan.dims));
}

// Sums of products of two matrices of integers. Columns of the second may have their own scales.
Result<Tensor> IntegerProduct(const FoldCall& call, const Tensor& a, const Tensor& b, size_t a_zero,
                              size_t b_zero) {
  const auto zero = [&](size_t i) { return Input(call, i) == nullptr ? Tensor() : call.inputs[i]; };
  const Tensor inputs[] = {a, b, zero(a_zero), zero(b_zero)};
  QR_ASSIGN_OR_RETURN(const std::vector<Tensor> y, Compute("MatMulInteger", 10, inputs, {}));
  return y[0];
}

// Integers of 32 bits, and sums of two such, are exact.
Result<Tensor> InDoubles(const Tensor& integers) {
  QR_ASSIGN_OR_RETURN(const std::vector<double> values, ToDoubles(integers));
  return FromDoubles(DType::kDouble, integers.dims(), values);
}

Outputs QLinearMatMul(const FoldCall& call) {
  QR_ASSIGN_OR_RETURN(const Quantized a, Quantized::Make(call, 0, 1, 2));
  QR_ASSIGN_OR_RETURN(const Quantized b, Quantized::Make(call, 3, 4, 5));
  QR_ASSIGN_OR_RETURN(const double y_scale, OneScale(call, 6));
  QR_ASSIGN_OR_RETURN(const Tensor zero, NeedBytes(call, 7));
  if (a.scales.size() != 1) return Reason("{} with scales of rows", call.op);
  if (b.scales.size() != 1 && (call.inputs[4].rank() != 1 || b.q.rank() < 2))
    return Reason("{} with scales {}", call.op, ShapeText(call.inputs[4].dims()));
  if (b.q.rank() >= 2 && b.in_rows) QR_RETURN_IF_ERROR(CheckChannels(call, b, b.q.dims().back()));
  QR_ASSIGN_OR_RETURN(const Tensor sums, IntegerProduct(call, a.q, b.q, 2, 5));
  QR_ASSIGN_OR_RETURN(const std::vector<double> values, ToDoubles(sums));
  return One(Requantizer{Factors(a, b, 1, y_scale), zero, 1}.Apply(values, sums.dims()));
}

// The matrix, transposed if attribute `turned` says so.
Result<Tensor> Operand(const FoldCall& call, std::string_view turned, const Tensor& matrix) {
  if (call.attributes.Int(turned, 0) == 0) return matrix;
  Attributes attributes;
  attributes.Set("perm", std::vector<int64_t>{1, 0});
  QR_ASSIGN_OR_RETURN(const std::vector<Tensor> y,
                      Compute("Transpose", 13, std::span(&matrix, 1), attributes));
  return y[0];
}

Outputs QGemm(const FoldCall& call) {
  QR_ASSIGN_OR_RETURN(Quantized a, Quantized::Make(call, 0, 1, 2));
  QR_ASSIGN_OR_RETURN(Quantized b, Quantized::Make(call, 3, 4, 5));
  if (a.q.rank() != 2 || b.q.rank() != 2 || a.scales.size() != 1) {
    return Reason("{} of {} and {}", call.op, ShapeText(a.q.dims()), ShapeText(b.q.dims()));
  }
  QR_RETURN_IF_ERROR(CheckScales(call));
  QR_ASSIGN_OR_RETURN(a.q, Operand(call, "transA", a.q));
  QR_ASSIGN_OR_RETURN(b.q, Operand(call, "transB", b.q));
  QR_RETURN_IF_ERROR(CheckChannels(call, b, b.q.dims()[1]));
  QR_ASSIGN_OR_RETURN(Tensor sums, IntegerProduct(call, a.q, b.q, 2, 5));
  if (const Tensor* c = Input(call, 6); c != nullptr) {
    QR_ASSIGN_OR_RETURN(const Tensor product, InDoubles(sums));
    QR_ASSIGN_OR_RETURN(const Tensor bias, InDoubles(*c));
    const Tensor terms[] = {product, bias};
    QR_ASSIGN_OR_RETURN(const std::vector<Tensor> y, Compute("Add", 14, terms, {}));
    if (y[0].dims() != sums.dims())
      return Misfit("{} adds {} to {}", call.op, ShapeText(c->dims()), ShapeText(sums.dims()));
    sums = y[0];
  }
  QR_ASSIGN_OR_RETURN(std::vector<double> values, ToDoubles(sums));
  QR_RETURN_IF_ERROR(CheckSums(call, values));
  const float alpha = call.attributes.Float("alpha", 1);
  if (Input(call, 7) == nullptr) {  // the result is float
    const std::vector<float> factors = Factors(a, b, alpha, 1);
    for (size_t i = 0; i < values.size(); ++i) {
      values[i] = static_cast<float>(values[i]) * factors[i % factors.size()];
    }
    return One(FromDoubles(DType::kFloat, sums.dims(), values));
  }
  QR_ASSIGN_OR_RETURN(const double y_scale, OneScale(call, 7));
  QR_ASSIGN_OR_RETURN(const Tensor zero, NeedBytes(call, 8));
  return One(Requantizer{Factors(a, b, alpha, y_scale), zero, 1}.Apply(values, sums.dims()));
}

// An operator in float between dequantized operands and a quantized result.
struct FloatForm {
  std::string_view op;
  int since;
  std::vector<size_t> data;  // inputs that are followed by their scale and zero point
  size_t result;             // the scale of the result, followed by its zero point
  bool condition = false;    // input 0 is one, and the first operand
  Outputs (*run)(const FoldCall&) = nullptr;  // in place of the kernel of `op`
};

Result<Tensor> Dequantized(const FoldCall& call, size_t i) {
  const auto parameter = [&](size_t k) {
    return Input(call, k) == nullptr ? Tensor() : call.inputs[k];
  };
  const Tensor inputs[] = {parameter(i), parameter(i + 1), parameter(i + 2)};
  QR_ASSIGN_OR_RETURN(const std::vector<Tensor> y, Compute("DequantizeLinear", 13, inputs, {}));
  return y[0];
}

Outputs ComputedInFloat(const FoldCall& call, const FloatForm& form) {
  std::vector<Tensor> operands;
  if (form.condition && Input(call, 0) == nullptr) return Reason("{} without a condition", call.op);
  if (form.condition) operands.push_back(call.inputs[0]);
  for (const size_t i : form.data) {
    QR_ASSIGN_OR_RETURN(operands.emplace_back(), Dequantized(call, i));
  }
  QR_ASSIGN_OR_RETURN(const std::vector<Tensor> y,
                      form.run == nullptr
                          ? Compute(form.op, form.since, operands, call.attributes)
                          : form.run({"", form.op, form.since, operands, call.attributes}));
  QR_ASSIGN_OR_RETURN(const Tensor scale, Need(call, form.result));
  Tensor zero;
  if (Input(call, form.result + 1) != nullptr) zero = call.inputs[form.result + 1];
  const Tensor parameters[] = {y[0], scale, zero};
  Attributes attributes;
  if (!zero.valid()) {
    attributes.Set("output_dtype", static_cast<int64_t>(call.inputs[form.data[0]].dtype()));
  }
  return Compute("QuantizeLinear", 21, parameters, attributes);
}

Outputs QLinearConcat(const FoldCall& call) {
  FloatForm form{.op = "Concat", .since = 13, .data = {}, .result = 0};
  for (size_t i = 2; i + 2 < call.inputs.size(); i += 3) form.data.push_back(i);
  if (form.data.empty()) return Reason("{} without data", call.op);
  // The schema cannot say it of a list of inputs; ONNX Runtime refuses others when it makes the node.
  QR_ASSIGN_OR_RETURN(const Tensor zero, Need(call, 1));
  for (const size_t i : form.data) {
    QR_ASSIGN_OR_RETURN(const Tensor part, Need(call, i));
    if (part.dtype() != zero.dtype())
      return Status(StatusCode::kInvalidModel, fmt::format("{} of {} makes no {}", call.op,
                                                           Name(part.dtype()), Name(zero.dtype())));
  }
  return ComputedInFloat(call, form);
}

// Attribute opset says whose meaning Softmax has.
Outputs QLinearSoftmax(const FoldCall& call) {
  const int since = call.attributes.Int("opset", 13) >= 13 ? 13 : 11;
  Attributes attributes = call.attributes;
  attributes.Set("axis", attributes.Int("axis", -1));  // whatever Softmax has as its default
  const FoldCall with_axis{call.domain, call.op, call.since, call.inputs, attributes};
  return ComputedInFloat(with_axis, {.op = "Softmax", .since = since, .data = {0}, .result = 3});
}

Result<Tensor> Transposed(const Tensor& tensor, std::vector<int64_t> perm) {
  Attributes attributes;
  attributes.Set("perm", std::move(perm));
  QR_ASSIGN_OR_RETURN(const std::vector<Tensor> y,
                      Compute("Transpose", 13, {&tensor, 1}, attributes));
  return y[0];
}

// What ONNX Runtime writes for its kernels: channels of data and result are the last axis. The kernels here take the
// data in the usual order.
Outputs WithChannelsLast(const Kernel& run, const FoldCall& call) {
  QR_ASSIGN_OR_RETURN(const Tensor x, Need(call, 0));
  const auto rank = static_cast<int64_t>(x.rank());
  if (rank < 3) return Reason("{} of rank {}", call.op, rank);
  std::vector<int64_t> to_front{0, rank - 1}, to_back{0};
  for (int64_t axis = 1; axis < rank - 1; ++axis) {
    to_front.push_back(axis);
    to_back.push_back(axis + 1);
  }
  to_back.push_back(1);
  std::vector<Tensor> inputs(call.inputs.begin(), call.inputs.end());
  QR_ASSIGN_OR_RETURN(inputs[0], Transposed(x, std::move(to_front)));
  QR_ASSIGN_OR_RETURN(std::vector<Tensor> y,
                      run({call.domain, call.op, call.since, inputs, call.attributes}));
  QR_ASSIGN_OR_RETURN(y[0], Transposed(y[0], std::move(to_back)));
  return y;
}

Kernel InEitherOrder(Kernel run) {
  return [run = std::move(run)](const FoldCall& call) {
    const bool last = call.attributes.Int("channels_last", 0) != 0;
    return last ? WithChannelsLast(run, call) : run(call);
  };
}

Outputs NhwcMaxPool(const FoldCall& call) {
  const Kernel pool = [](const FoldCall& usual) {
    return Compute("MaxPool", 12, usual.inputs, usual.attributes);
  };
  return WithChannelsLast(pool, call);
}

void AddMicrosoft(KernelRegistry& registry, std::string op, Kernel run) {
  registry.Register({.domain = "com.microsoft", .op = std::move(op), .run = std::move(run)});
}

void AddInFloat(KernelRegistry& registry, std::string op, FloatForm form) {
  AddMicrosoft(registry, std::move(op),
               InEitherOrder([form = std::move(form)](const FoldCall& call) {
                 return ComputedInFloat(call, form);
               }));
}

}  // namespace

void RegisterQLinear(KernelRegistry& registry) {
  Add(registry, "ConvInteger", {.first = 10, .inputs = 4}, ConvInteger);
  Add(registry, "QLinearConv", {.first = 10, .inputs = 9}, QLinearConv);
  Add(registry, "QLinearMatMul", {.first = 10, .inputs = 8}, QLinearMatMul);
  AddMicrosoft(registry, "QLinearConv", InEitherOrder(QLinearConv));
  AddMicrosoft(registry, "NhwcMaxPool", NhwcMaxPool);
  AddMicrosoft(registry, "QGemm", QGemm);
  AddMicrosoft(registry, "QLinearConcat", QLinearConcat);
  AddMicrosoft(registry, "QLinearSoftmax", QLinearSoftmax);
  AddInFloat(registry, "QLinearAdd", {"Add", 14, {0, 3}, 6});
  AddInFloat(registry, "QLinearMul", {"Mul", 14, {0, 3}, 6});
  AddInFloat(registry, "QLinearSigmoid", {"Sigmoid", 13, {0}, 3});
  AddInFloat(registry, "QLinearLeakyRelu", {"LeakyRelu", 16, {0}, 3});
  AddInFloat(registry, "QLinearWhere", {"Where", 16, {1, 4}, 7, /*condition=*/true});
  AddInFloat(
      registry, "QLinearAveragePool",
      {.op = "AveragePool", .since = 11, .data = {0}, .result = 3, .run = AveragePoolBeyond});
  AddInFloat(registry, "QLinearGlobalAveragePool", {"GlobalAveragePool", 1, {0}, 3});
}

}  // namespace qrewrite::fold
