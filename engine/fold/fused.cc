// Operators that ONNX Runtime's optimizers put together from others: each computes what its parts compute.
#include <algorithm>
#include <optional>
#include <string>

#include "engine/fold/support.h"

namespace qrewrite::fold {
namespace {

// Input `i`, or none.
Tensor Optional(const FoldCall& call, size_t i) {
  const Tensor* const given = Input(call, i);
  return given == nullptr ? Tensor() : *given;
}

std::span<const Tensor> First(const FoldCall& call, size_t count) {
  return call.inputs.first(std::min(call.inputs.size(), count));
}

// An activation and its parameters, as far as the node has them.
struct Activation {
  std::string kind;
  std::optional<float> alpha = {}, beta = {};
};

Result<Tensor> Activated(const FoldCall& call, const Activation& how, const Tensor& x) {
  const std::string& kind = how.kind;
  if (kind.empty()) return x;
  if (kind == "Relu" || kind == "Sigmoid" || kind == "Tanh") return Part(kind, 13, {&x, 1});
  constexpr std::string_view kWithParameters[] = {"LeakyRelu", "Elu", "HardSigmoid", "Clip"};
  if (std::ranges::find(kWithParameters, kind) == std::end(kWithParameters)) {
    return Reason("{} with {} is not computed", call.op, kind);
  }
  // What is left out has not the defaults that the operator has by itself.
  if (!how.alpha) return Reason("{} with {} without parameters is not computed", call.op, kind);
  Attributes attributes{{"alpha", *how.alpha}};
  if (kind == "LeakyRelu") return Part(kind, 6, {&x, 1}, attributes);
  if (kind == "Elu") return Part(kind, 6, {&x, 1}, attributes);
  if (!how.beta) return Reason("{} with {} and one parameter is not computed", call.op, kind);
  attributes.Set("beta", *how.beta);
  if (kind == "HardSigmoid") return Part(kind, 6, {&x, 1}, attributes);
  const double bounds[] = {*how.alpha, *how.beta};
  QR_ASSIGN_OR_RETURN(const Tensor low, FromDoubles(x.dtype(), {}, {bounds, 1}));
  QR_ASSIGN_OR_RETURN(const Tensor high, FromDoubles(x.dtype(), {}, {bounds + 1, 1}));
  const Tensor inputs[] = {x, low, high};
  return Part(kind, 13, inputs);
}

Outputs FusedConv(const FoldCall& call) {
  QR_ASSIGN_OR_RETURN(Tensor y, Part("Conv", 11, First(call, 3), call.attributes));
  if (const Tensor* const more = Input(call, 3); more != nullptr) {
    if (more->dims() != y.dims())
      return Reason("{} of a sum with {}", call.op, ShapeText(more->dims()));
    const Tensor terms[] = {y, *more};
    QR_ASSIGN_OR_RETURN(y, Part("Add", 14, terms));
  }
  Activation how{.kind = std::string(call.attributes.String("activation", ""))};
  if (const std::vector<float>* const given = call.attributes.Floats("activation_params")) {
    if (!given->empty()) how.alpha = (*given)[0];
    if (given->size() > 1) how.beta = (*given)[1];
  }
  return One(Activated(call, how, y));
}

Outputs FusedGemm(const FoldCall& call) {
  QR_ASSIGN_OR_RETURN(const Tensor y, Part("Gemm", 13, First(call, 3), call.attributes));
  Activation how{.kind = std::string(call.attributes.String("activation", ""))};
  if (call.attributes.Find("activation_alpha") != nullptr)
    how.alpha = call.attributes.Float("activation_alpha", 0);
  if (call.attributes.Find("activation_beta") != nullptr)
    how.beta = call.attributes.Float("activation_beta", 0);
  return One(Activated(call, how, y));
}

// Integers that are multiplied, and a factor for each column at most. With several factors and a bias ONNX Runtime
// adds it to products of one matrix alone.
Outputs MatMulIntegerToFloat(const FoldCall& call) {
  QR_ASSIGN_OR_RETURN(const Tensor a, Need(call, 0));
  QR_ASSIGN_OR_RETURN(const Tensor b, Need(call, 1));
  QR_ASSIGN_OR_RETURN(const Tensor row_scale, NeedBytes(call, 2));
  QR_ASSIGN_OR_RETURN(const Tensor column_scale, NeedBytes(call, 3));
  const int64_t columns = b.rank() > 0 ? b.dims().back() : 1;
  const auto fits = [columns](const Tensor& t) {
    return t.size() == 1 || (t.rank() == 1 && t.size() == columns);
  };
  if (row_scale.size() != 1 || !fits(column_scale) || (b.rank() != 2 && column_scale.size() != 1))
    return Reason("{} with scales {} and {}", call.op, ShapeText(row_scale.dims()),
                  ShapeText(column_scale.dims()));
  const Tensor factors[] = {a, b, Optional(call, 4), Optional(call, 5)};
  QR_ASSIGN_OR_RETURN(const Tensor sums, Part("MatMulInteger", 10, factors));
  const Tensor scales[] = {row_scale, column_scale};
  QR_ASSIGN_OR_RETURN(Tensor scale, Part("Mul", 14, scales));
  if (scale.size() == 1) scale = scale.Reshaped({});  // a product of vectors stays a number
  const Attributes to{{"to", static_cast<int64_t>(scale.dtype())}};
  QR_ASSIGN_OR_RETURN(const Tensor floats, Part("Cast", 13, {&sums, 1}, to));
  const Tensor scaled[] = {floats, scale};
  QR_ASSIGN_OR_RETURN(Tensor y, Part("Mul", 14, scaled));
  if (const Tensor* const bias = Input(call, 6); bias != nullptr) {
    if (bias->rank() != 1 || a.rank() < 2 || b.rank() < 2)
      return Reason("{} with a bias of shape {}", call.op, ShapeText(bias->dims()));
    const Tensor terms[] = {y, *bias};
    QR_ASSIGN_OR_RETURN(y, Part("Add", 14, terms));
  }
  return std::vector{y};
}

// The same of floats, which are quantized as a whole first.
Outputs DynamicQuantizeMatMul(const FoldCall& call) {
  QR_ASSIGN_OR_RETURN(const Tensor a, Need(call, 0));
  QR_ASSIGN_OR_RETURN(const std::vector<Tensor> rows,
                      Compute("DynamicQuantizeLinear", 11, {&a, 1}, {}));
  const Tensor inputs[] = {rows[0], Optional(call, 1), rows[1],          Optional(call, 2),
                           rows[2], Optional(call, 3), Optional(call, 4)};
  return MatMulIntegerToFloat({call.domain, call.op, call.since, inputs, call.attributes});
}

}  // namespace

void RegisterFused(KernelRegistry& registry) {
  const auto add = [&](std::string op, size_t inputs, Kernel run) {
    registry.Register({.domain = "com.microsoft",
                       .op = std::move(op),
                       .max_inputs = inputs,
                       .run = std::move(run)});
  };
  add("FusedConv", 4, FusedConv);
  add("FusedGemm", 3, FusedGemm);
  add("MatMulIntegerToFloat", 7, MatMulIntegerToFloat);
  add("DynamicQuantizeMatMul", 5, DynamicQuantizeMatMul);
}

}  // namespace qrewrite::fold
