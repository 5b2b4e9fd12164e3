#include "engine/fold/support.h"

#include <algorithm>
#include <numeric>

#include "engine/fold/no_result.h"

namespace qrewrite::fold {

namespace {

// Dimensions with 1 for 0: an empty tensor may have any other dimensions, and they are multiplied
// on the way (strides, slices of a shape).
Dims Extents(Dims dims) {
  std::ranges::replace(dims, int64_t{0}, int64_t{1});
  return dims;
}

constexpr int64_t kMaxInputElements = int64_t{1} << 40;

}  // namespace

std::string ShapeText(const Dims& dims) { return fmt::format("[{}]", fmt::join(dims, ", ")); }

const Tensor* Input(const FoldCall& call, size_t i) {
  return i < call.inputs.size() && call.inputs[i].valid() ? &call.inputs[i] : nullptr;
}

namespace {

Status NoInput(const FoldCall& call, size_t i) { return Reason("{} has no input {}", call.op, i); }

}  // namespace

Status NeedInputs(const FoldCall& call, size_t count) {
  for (size_t i = 0; i < count; ++i) {
    if (Input(call, i) == nullptr) return NoInput(call, i);
  }
  return {};
}

Result<Tensor> Need(const FoldCall& call, size_t i) {
  const Tensor* input = Input(call, i);
  if (input == nullptr) return NoInput(call, i);
  return *input;
}

Result<Tensor> NeedBytes(const FoldCall& call, size_t i) {
  QR_ASSIGN_OR_RETURN(const Tensor input, Need(call, i));
  return input.Materialize();
}

Result<std::vector<int64_t>> IntList(const Tensor& tensor) {
  if (tensor.rank() > 1) return Reason("a list of integers has shape {}", ShapeText(tensor.dims()));
  return ToInt64s(tensor);
}

Result<std::optional<std::vector<int64_t>>> OptionalInts(const FoldCall& call, int from, size_t i,
                                                         std::string_view name) {
  if (call.since < from) {
    const std::vector<int64_t>* ints = call.attributes.Ints(name);
    return ints == nullptr ? std::nullopt : std::optional(*ints);
  }
  const Tensor* input = Input(call, i);
  if (input == nullptr) return std::optional<std::vector<int64_t>>();
  QR_ASSIGN_OR_RETURN(std::vector<int64_t> list, IntList(*input));
  return std::optional(std::move(list));
}

Result<int64_t> IntScalar(const Tensor& tensor) {
  if (tensor.size() != 1) {
    return Reason("one integer expected, not shape {}", ShapeText(tensor.dims()));
  }
  QR_ASSIGN_OR_RETURN(const std::vector<int64_t> values, ToInt64s(tensor));
  return values[0];
}

Result<int64_t> NormalAxis(int64_t axis, int64_t rank) {
  if (axis < -rank || axis >= rank) return Reason("axis {} {} rank {}", axis, kOutside, rank);
  return axis < 0 ? axis + rank : axis;
}

Result<std::vector<bool>> AxisSet(const std::vector<int64_t>& axes, int64_t rank) {
  std::vector<bool> set(static_cast<size_t>(rank), false);
  for (const int64_t a : axes) {
    QR_ASSIGN_OR_RETURN(const int64_t axis, NormalAxis(a, rank));
    if (set[static_cast<size_t>(axis)]) return Reason("axis {} {}", a, kTwice);
    set[static_cast<size_t>(axis)] = true;
  }
  return set;
}

int64_t CountRange(const Dims& dims, size_t begin, size_t end) {
  int64_t count = 1;
  for (size_t i = begin; i < end; ++i) count *= dims[i];
  return count;
}

std::vector<int64_t> Strides(const Dims& dims) {
  std::vector<int64_t> strides(dims.size());
  int64_t step = 1;
  for (size_t i = dims.size(); i-- > 0;) {
    strides[i] = step;
    step *= std::max<int64_t>(dims[i], 1);
  }
  return strides;
}

Status CheckSize(const TensorType& type) {
  if (const auto n = CheckedCount(type.dims, MaxComputedElements()); n && *n > 0) return {};
  if (CheckedCount(Extents(type.dims), MaxComputedElements())) return {};
  return Reason("the result would have the shape {}, which is too large", ShapeText(type.dims));
}

Status CheckInput(const Tensor& tensor) {
  if (const auto n = CheckedCount(tensor.dims(), kMaxInputElements); n && *n > 0) return {};
  if (CheckedCount(Extents(tensor.dims()), kMaxInputElements)) return {};
  return Reason("an input has the shape {}, which is too large", ShapeText(tensor.dims()));
}

Result<Tensor> MaybeLazy(const TensorType& type, uint64_t key, int64_t steps,
                         Tensor::Compute compute) {
  QR_RETURN_IF_ERROR(CheckSize(type));
  const auto count = static_cast<uint64_t>(Count(type.dims));
  if (PackedBytes(type.dtype, count) > kLazyBytes && steps < kMaxLazySteps) {
    return Tensor::Lazy(type.dtype, type.dims, key, std::move(compute), steps + 1);
  }
  QR_ASSIGN_OR_RETURN(const Tensor t, compute());
  return t.WithKey(key);
}

namespace {

// Numbers the strings of `inputs` in order and puts the numbers into their place.
std::vector<std::string> NumberStrings(std::vector<Tensor>& inputs) {
  std::vector<std::string> strings;
  for (Tensor& input : inputs) {
    if (!input.valid() || !input.is_string()) continue;
    std::vector<int64_t> numbers(static_cast<size_t>(input.size()));
    std::iota(numbers.begin(), numbers.end(), static_cast<int64_t>(strings.size()));
    strings.insert(strings.end(), input.strings().begin(), input.strings().end());
    input = Tensor::Of<int64_t>(DType::kInt64, input.dims(), numbers);
  }
  return strings;
}

Result<Tensor> StringsOf(const Tensor& numbers, const std::vector<std::string>& strings) {
  QR_ASSIGN_OR_RETURN(const std::vector<int64_t> picked, ToInt64s(numbers));
  std::vector<std::string> out;
  out.reserve(picked.size());
  for (const int64_t i : picked) out.push_back(strings[static_cast<size_t>(i)]);
  return Tensor::Strings(numbers.dims(), std::move(out));
}

}  // namespace

Kernel MovesStrings(Kernel kernel, uint32_t data) {
  return [kernel = std::move(kernel), data](const FoldCall& call) -> Outputs {
    const auto is_string = [](const Tensor& t) { return t.valid() && t.is_string(); };
    if (!std::ranges::any_of(call.inputs, is_string)) return kernel(call);
    // As numbers they must not be taken for indices, nor meet other numbers.
    for (size_t i = 0; i < call.inputs.size(); ++i) {
      const bool is_data = data == kAllInputs || (i < 32 && (data >> i & 1) != 0);
      if (call.inputs[i].valid() && call.inputs[i].is_string() != is_data) {
        return Reason("{} has an input {} of type {}", call.op, i, Name(call.inputs[i].dtype()));
      }
    }
    std::vector<Tensor> inputs(call.inputs.begin(), call.inputs.end());
    const std::vector<std::string> strings = NumberStrings(inputs);
    FoldCall numbered = call;
    numbered.inputs = inputs;
    QR_ASSIGN_OR_RETURN(std::vector<Tensor> outputs, kernel(numbered));
    for (Tensor& output : outputs) {
      if (!output.valid()) continue;
      QR_ASSIGN_OR_RETURN(output, StringsOf(output, strings));
    }
    return outputs;
  };
}

void Add(KernelRegistry& registry, std::string_view op, Form form, Kernel run, InferTypes infer) {
  registry.Register({.domain = "",
                     .op = std::string(op),
                     .first = form.first,
                     .last = form.last,
                     .max_inputs = form.inputs,
                     .run = std::move(run),
                     .infer = std::move(infer)});
}

Outputs Compute(std::string_view op, int since, std::span<const Tensor> inputs,
                const Attributes& attributes) {
  const KernelEntry* const kernel = KernelRegistry::Evaluation().Find("", op, since);
  return Fold(kernel, {"", op, since, inputs, attributes}, {.lazy = UINT64_MAX});
}

Result<Tensor> Part(std::string_view op, int since, std::span<const Tensor> inputs,
                    const Attributes& attributes) {
  QR_ASSIGN_OR_RETURN(const std::vector<Tensor> y, Compute(op, since, inputs, attributes));
  return y[0];
}

}  // namespace qrewrite::fold
