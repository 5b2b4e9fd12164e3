// Operators as they were before opset 7, which ONNX Runtime does not run. Each becomes the form that a kernel
// exists for: nothing is computed here. What the old schema did not allow has no result, also where the newer
// form would have one: so a rule is not held to what an invalid model means. Selu is here in every version, made of Elu.
#include <algorithm>
#include <cmath>
#include <initializer_list>
#include <limits>
#include <string>

#include "engine/fold/support.h"
#include "engine/fold/types.h"

namespace qrewrite::fold {
namespace {

constexpr std::string_view kHint = "consumed_inputs";  // of opset 1 to 5; means nothing

// The operator of `call` in another version.
Outputs Newer(const FoldCall& call, int since, std::span<const Tensor> inputs,
              const Attributes& attributes) {
  const KernelEntry* const kernel = KernelRegistry::Evaluation().Find("", call.op, since);
  return Fold(kernel, {"", call.op, since, inputs, attributes, call.num_outputs},
              {.lazy = UINT64_MAX});
}

Attributes Without(Attributes attributes, std::initializer_list<std::string_view> names) {
  for (const std::string_view name : names) attributes.Erase(name);
  return attributes;
}

// ---- Types of the old schemas

bool Floats(DType t) { return t == DType::kFloat || t == DType::kDouble || t == DType::kFloat16; }
bool WideIntegers(DType t) {
  return t == DType::kInt32 || t == DType::kInt64 || t == DType::kUint32 || t == DType::kUint64;
}
bool Numbers(DType t) { return Floats(t) || WideIntegers(t); }
bool Bools(DType t) { return t == DType::kBool; }
bool ComparedForEquality(DType t) { return Bools(t) || t == DType::kInt32 || t == DType::kInt64; }
bool Resized(DType t) { return Floats(t) || ComparedForEquality(t); }
bool CastThen(DType t) { return Floats(t) || Bools(t) || HasIntegerMath(t); }

// ---- Broadcasting: the second operand into the first, from an axis on

// The second operand as it broadcasts since opset 7.
Result<Tensor> Aligned(const FoldCall& call) {
  QR_ASSIGN_OR_RETURN(const Tensor a, Need(call, 0));
  QR_ASSIGN_OR_RETURN(const Tensor b, Need(call, 1));
  const auto misfit = [&](std::string_view why) {
    return Misfit("{} of {} and {} {}", call.op, ShapeText(a.dims()), ShapeText(b.dims()), why);
  };
  if (call.attributes.Int("broadcast", 0) == 0)
    return a.dims() == b.dims() ? Result<Tensor>(b) : misfit("without broadcast");
  const int64_t most = a.rank() - b.rank();
  if (most < 0) return misfit("with broadcast");
  if (b.size() == 1) return b.Reshaped({});
  int64_t axis = call.attributes.Int("axis", most);
  if (axis < 0) axis += a.rank();
  // No dimension of 1 is stretched.
  if (axis < 0 || axis > most ||
      !std::ranges::equal(b.dims(),
                          std::span(a.dims()).subspan(static_cast<size_t>(axis), b.dims().size())))
    return misfit(fmt::format("from axis {} on", axis));
  Dims dims = b.dims();
  dims.resize(static_cast<size_t>(a.rank() - axis), 1);
  return b.Reshaped(std::move(dims));
}

Outputs Binary(const FoldCall& call) {
  QR_ASSIGN_OR_RETURN(const Tensor b, Aligned(call));
  const Tensor inputs[] = {call.inputs[0], b};
  return Newer(call, 7, inputs, {});
}

// Sum, Mean, Max, Min up to opset 7.
Outputs OfEqualShapes(const FoldCall& call) {
  QR_ASSIGN_OR_RETURN(const Tensor first, Need(call, 0));
  for (size_t i = 1; i < call.inputs.size(); ++i) {
    QR_ASSIGN_OR_RETURN(const Tensor next, Need(call, i));
    if (next.dims() != first.dims())
      return Misfit("{} of {} and {}", call.op, ShapeText(first.dims()), ShapeText(next.dims()));
  }
  return Newer(call, 8, call.inputs, {});
}

// One slope, or one for each channel.
Outputs PRelu(const FoldCall& call) {
  QR_ASSIGN_OR_RETURN(const Tensor x, Need(call, 0));
  QR_ASSIGN_OR_RETURN(Tensor slope, Need(call, 1));
  Dims dims;
  if (slope.size() != 1) {
    if (slope.rank() != 1 || x.rank() < 2)
      return Reason("{} of {} with slopes {}", call.op, ShapeText(x.dims()),
                    ShapeText(slope.dims()));
    if (slope.dims()[0] != x.dims()[1])
      return Misfit("{} of {} channels with {} slopes", call.op, x.dims()[1], slope.dims()[0]);
    dims.assign(x.dims().size() - 1, 1);
    dims[0] = slope.size();
  }
  const Tensor inputs[] = {x, slope.Reshaped(std::move(dims))};
  return Newer(call, 7, inputs, {});
}

Outputs Gemm(const FoldCall& call) {
  QR_RETURN_IF_ERROR(NeedInputs(call, 3));
  const Dims& added = call.inputs[2].dims();
  QR_ASSIGN_OR_RETURN(std::vector<Tensor> y,
                      Newer(call, 7, call.inputs, Without(call.attributes, {"broadcast"})));
  if (call.attributes.Int("broadcast", 0) == 0 && added != y[0].dims())
    return Misfit("{} adds {} to {} without broadcast", call.op, ShapeText(added),
                  ShapeText(y[0].dims()));
  return y;
}

// ---- is_test: without it they are as in training

Status NotTrained(const FoldCall& call) {
  if (call.attributes.Int("is_test", 0) != 0) return {};
  return Reason("{} in training is not computed", call.op);
}

Outputs BatchNormalization(const FoldCall& call) {
  QR_RETURN_IF_ERROR(NotTrained(call));
  QR_RETURN_IF_ERROR(NeedInputs(call, 5));
  const Tensor& x = call.inputs[0];
  if (call.since < 6 ? x.rank() != 4 : x.rank() < 2)
    return Reason("{} of shape {}", call.op, ShapeText(x.dims()));
  if (call.attributes.Int("spatial", 1) == 0)
    return Reason("{} of each element is not computed", call.op);
  for (const Tensor& of_channels : call.inputs.subspan(1)) {
    if (of_channels.dims() != Dims{x.dims()[1]})
      return Misfit("{} of {} with {}", call.op, ShapeText(x.dims()),
                    ShapeText(of_channels.dims()));
  }
  return Newer(call, 7, call.inputs,
               Without(call.attributes, {kHint, "is_test", "momentum", "spatial"}));
}

Outputs Dropout(const FoldCall& call) {
  QR_RETURN_IF_ERROR(NotTrained(call));
  return Newer(call, 7, call.inputs, {});
}

// ---- What was an attribute, or a text, or had another default

Outputs Cast(const FoldCall& call) {
  const std::string_view word = call.attributes.String("to", "");
  const std::optional<DType> to = DTypeFromName(word);
  if (!to || !CastThen(*to)) return Reason("{} to type `{}`", call.op, word);
  return Newer(call, 6, call.inputs, {{"to", static_cast<int64_t>(*to)}});
}

// A bound that nobody gave is the last finite number of the type. Since opset 11 the bounds are inputs; version 6
// has none of its own for double.
Outputs Clip(const FoldCall& call) {
  QR_ASSIGN_OR_RETURN(const Tensor x, Need(call, 0));
  constexpr double kMostOfHalf = 65504;
  const auto bound = [&](std::string_view name, double sign) -> Result<Tensor> {
    const bool given = call.attributes.Find(name) != nullptr;
    if (!given && x.dtype() != DType::kFloat16) return Tensor();  // as Clip-11 has it
    const double value = given ? call.attributes.Float(name, 0) : sign * kMostOfHalf;
    return FromDoubles(x.dtype(), {}, {&value, 1});
  };
  QR_ASSIGN_OR_RETURN(const Tensor low, bound("min", -1));
  QR_ASSIGN_OR_RETURN(const Tensor high, bound("max", 1));
  const Tensor inputs[] = {x, low, high};
  return Newer(call, 11, inputs, {});
}

// gamma * Elu(x), of any version.
Outputs Selu(const FoldCall& call) {
  QR_ASSIGN_OR_RETURN(const Tensor x, Need(call, 0));
  const bool short_digits = call.since < 6;
  const float alpha = call.attributes.Float("alpha", short_digits ? 1.6732F : 1.67326319F);
  const double gamma = call.attributes.Float("gamma", short_digits ? 1.0507F : 1.05070102F);
  QR_ASSIGN_OR_RETURN(const std::vector<Tensor> elu,
                      Compute("Elu", 6, {&x, 1}, {{"alpha", alpha}}));
  QR_ASSIGN_OR_RETURN(const Tensor factor, FromDoubles(x.dtype(), {}, {&gamma, 1}));
  const Tensor factors[] = {elu[0], factor};
  return Compute("Mul", 14, factors, {});
}

// The whole numbers of a tensor of floats, as sizes once were.
Result<std::vector<int64_t>> Sizes(const FoldCall& call, size_t i) {
  constexpr double kMost = int64_t{1} << 40;
  QR_ASSIGN_OR_RETURN(const Tensor t, NeedBytes(call, i));
  if (t.rank() > 1) return Reason("{} with sizes of shape {}", call.op, ShapeText(t.dims()));
  QR_ASSIGN_OR_RETURN(const std::vector<double> values, ToDoubles(t));
  std::vector<int64_t> sizes;
  for (const double v : values) {
    if (!(std::fabs(v) <= kMost) || v != std::trunc(v)) return Reason("{} with {}", call.op, v);
    sizes.push_back(static_cast<int64_t>(v));
  }
  return sizes;
}

Outputs Split(const FoldCall& call) {
  QR_ASSIGN_OR_RETURN(const Tensor x, Need(call, 0));
  Attributes attributes = call.attributes;
  // Its text has no default, and runtimes of its time differed.
  if (attributes.Find("axis") == nullptr && x.rank() != 1)
    return Reason("{} of {} without an axis", call.op, ShapeText(x.dims()));
  if (Input(call, 1) != nullptr) {
    if (attributes.Find("split") != nullptr) return Reason("{} with sizes twice", call.op);
    QR_ASSIGN_OR_RETURN(std::vector<int64_t> sizes, Sizes(call, 1));
    attributes.Set("split", std::move(sizes));
  }
  return Newer(call, 2, call.inputs.first(1), attributes);
}

Outputs Pad(const FoldCall& call) {
  const std::vector<int64_t>* const paddings = call.attributes.Ints("paddings");
  const std::string_view mode = call.attributes.String("mode", "constant");
  if (paddings == nullptr) return Reason("{} has no paddings", call.op);
  if (std::ranges::any_of(*paddings, [](int64_t n) { return n < 0; }))
    return Reason("{} by {}", call.op, ShapeText(*paddings));
  if (mode != "constant" && mode != "reflect" && mode != "edge")
    return Reason("{} in mode {}", call.op, mode);
  Attributes attributes = Without(call.attributes, {"paddings"});
  attributes.Set("pads", *paddings);
  return Newer(call, 2, call.inputs, attributes);
}

Outputs Tile(const FoldCall& call) {
  QR_ASSIGN_OR_RETURN(const Tensor x, Need(call, 0));
  QR_ASSIGN_OR_RETURN(const std::vector<int64_t> times, Sizes(call, 1));
  QR_ASSIGN_OR_RETURN(const std::vector<int64_t> axes, Sizes(call, 2));
  if (times.size() != 1 || axes.size() != 1)
    return Reason("{} of {} numbers along {} axes", call.op, times.size(), axes.size());
  QR_ASSIGN_OR_RETURN(const int64_t axis, NormalAxis(axes[0], x.rank()));
  std::vector<int64_t> repeats(x.dims().size(), 1);
  repeats[static_cast<size_t>(axis)] = times[0];
  const Tensor inputs[] = {x, Tensor::Int64s(repeats)};
  return Newer(call, 6, inputs, {});
}

// Of images, which only grow.
Outputs Upsample(const FoldCall& call) {
  QR_ASSIGN_OR_RETURN(const Tensor x, Need(call, 0));
  const float height = call.attributes.Float("height_scale", 0);
  const float width = call.attributes.Float("width_scale", 0);
  if (x.rank() != 4 || !(height >= 1) || !(width >= 1))
    return Reason("{} of {} by {} and {}", call.op, ShapeText(x.dims()), height, width);
  const std::string_view mode = call.attributes.String("mode", "nearest");
  if (mode != "nearest" && mode != "bilinear") return Reason("{} in mode {}", call.op, mode);
  return Newer(call, 7, call.inputs,
               {{"mode", std::string(mode == "nearest" ? mode : "linear")},
                {"scales", std::vector<float>{1, 1, height, width}}});
}

// GRU, LSTM, RNN. That the first output is there says that it is wanted, whatever `output_sequence` is: 0 makes it
// optional.
Outputs Recurrent(const FoldCall& call) {
  Attributes attributes = Without(call.attributes, {"output_sequence"});
  const std::string_view direction = call.attributes.String("direction", "forward");
  const bool misspelled = direction == "foward" && call.op == "GRU" && call.since < 3;
  if (misspelled) attributes.Set("direction", std::string("forward"));
  if (!misspelled && direction != "forward" && direction != "reverse" &&
      direction != "bidirectional")
    return Reason("{} in direction {}", call.op, direction);
  QR_ASSIGN_OR_RETURN(const Tensor r, Need(call, 2));
  const int64_t hidden = r.rank() == 3 ? r.dims()[2] : 0;
  if (call.attributes.Int("hidden_size", hidden) != hidden)
    return Misfit("{} of {} units with weights {}", call.op, call.attributes.Int("hidden_size", 0),
                  ShapeText(r.dims()));
  return Newer(call, 7, call.inputs, attributes);
}

// ---- The table

using Names = std::vector<std::string_view>;  // of attributes

// Null for `types`: the newer kernel looks at them.
void AddOld(KernelRegistry& registry, std::string_view op, Form form, bool (*types)(DType),
            Names names, Outputs (*run)(const FoldCall&)) {
  Add(registry, op, form, [types, names = std::move(names), run](const FoldCall& call) -> Outputs {
    for (const Attribute& attribute : call.attributes) {
      const bool known = std::ranges::find(names, attribute.name) != names.end();
      if (!known || (attribute.name == kHint && call.since >= 6))
        return Reason("{} (version {}) has no attribute {}", call.op, call.since, attribute.name);
    }
    for (const Tensor& t : call.inputs) {
      if (types != nullptr && t.valid() && !types(t.dtype()))
        return Reason("{} (version {}) of {}", call.op, call.since, Name(t.dtype()));
    }
    return run(call);
  });
}

void RegisterOldElementwise(KernelRegistry& registry) {
  const Names broadcast = {"axis", "broadcast"};
  for (const std::string_view op : {"Add", "Sub", "Mul", "Div"}) {
    AddOld(registry, op, {.last = 5, .inputs = 2}, Floats, {"axis", "broadcast", kHint}, Binary);
    AddOld(registry, op, {.first = 6, .last = 6, .inputs = 2}, Numbers, broadcast, Binary);
  }
  const Form binary = {.last = 6, .inputs = 2};
  for (const std::string_view op : {"Pow", "Greater", "Less"})
    AddOld(registry, op, binary, Floats, broadcast, Binary);
  for (const std::string_view op : {"And", "Or", "Xor"})
    AddOld(registry, op, binary, Bools, broadcast, Binary);
  AddOld(registry, "Equal", binary, ComparedForEquality, broadcast, Binary);
  for (const std::string_view op : {"Sum", "Mean", "Max", "Min"})
    AddOld(registry, op, {.last = 7, .inputs = kAnyNumber}, Floats, {kHint}, OfEqualShapes);
  AddOld(registry, "PRelu", binary, Floats, {kHint}, PRelu);
  AddOld(registry, "Clip", {.last = 5}, Floats, {kHint, "max", "min"}, Clip);
}

}  // namespace

void RegisterLegacy(KernelRegistry& registry) {
  RegisterOldElementwise(registry);
  AddOld(registry, "Gemm", {.last = 6, .inputs = 3}, Floats,
         {"alpha", "beta", "broadcast", "transA", "transB"}, Gemm);
  AddOld(registry, "BatchNormalization", {.last = 6, .inputs = 5}, Floats,
         {kHint, "epsilon", "is_test", "momentum", "spatial"}, BatchNormalization);
  AddOld(registry, "Dropout", {.last = 6}, Floats, {kHint, "is_test", "ratio"}, Dropout);
  AddOld(registry, "Cast", {.last = 5}, CastThen, {"to"}, Cast);
  AddOld(registry, "Split", {.last = 1, .inputs = 2}, Floats, {"axis", "split"}, Split);
  AddOld(registry, "Pad", {.last = 1}, Floats, {"mode", "paddings", "value"}, Pad);
  AddOld(registry, "Tile", {.last = 5, .inputs = 3}, Floats, {}, Tile);
  AddOld(registry, "Upsample", {.last = 6}, Resized, {"height_scale", "mode", "width_scale"},
         Upsample);
  Names recurrent = {"activation_alpha", "activation_beta", "activations",    "clip",
                     "direction",        "hidden_size",     "output_sequence"};
  AddOld(registry, "RNN", {.last = 6, .inputs = 6}, nullptr, recurrent, Recurrent);
  AddOld(registry, "GRU", {.last = 2, .inputs = 6}, nullptr, recurrent, Recurrent);
  recurrent.emplace_back("linear_before_reset");
  AddOld(registry, "GRU", {.first = 3, .last = 6, .inputs = 6}, nullptr, recurrent, Recurrent);
  recurrent.back() = "input_forget";
  AddOld(registry, "LSTM", {.last = 6, .inputs = 8}, nullptr, recurrent, Recurrent);
  Add(registry, "Selu", {}, InFloat(Selu));
}

}  // namespace qrewrite::fold
