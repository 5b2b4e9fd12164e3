// Scan: a body that runs for each slice of some inputs.
#include <algorithm>

#include <fmt/format.h>

#include "engine/evaluate/interpreter.h"

namespace qrewrite {
namespace {

// What a Scan of opset 9 or later says. The body takes the state and a slice of each scanned input; it gives
// the state and a slice of each collected output.
struct ScanForm {
  BodyId body;
  size_t state = 0, scanned = 0, collected = 0;
  // Of the scanned inputs and of the collected outputs.
  std::vector<int64_t> axes_in, axes_out;
  std::vector<int64_t> backwards_in, backwards_out;
};

Status Misfit(std::string_view what) { return {StatusCode::kInvalidModel, std::string(what)}; }

// An attribute with a number for each of `size` things; 0 for all if it is absent.
Result<std::vector<int64_t>> Numbers(const Attributes& attributes, std::string_view name,
                                     size_t size) {
  const std::vector<int64_t>* const numbers = attributes.Ints(name);
  if (numbers == nullptr) return std::vector<int64_t>(size, 0);
  if (numbers->size() != size)
    return Misfit(fmt::format("`{}` has {} numbers, not {}", name, numbers->size(), size));
  return *numbers;
}

Result<ScanForm> FormOf(const Graph& graph, NodeId n, const Attributes& attributes) {
  ScanForm form;
  const AttrValue* const value = attributes.Find("body");
  const auto* const body = value == nullptr ? nullptr : std::get_if<BodyId>(value);
  if (body == nullptr) return Misfit("it has no graph `body`");
  form.body = *body;
  const size_t inputs = graph.num_inputs(n);
  const int64_t scanned = attributes.Int("num_scan_inputs", 0);
  if (scanned < 1 || static_cast<uint64_t>(scanned) > inputs)
    return Misfit(fmt::format("`num_scan_inputs` is {} of {} inputs", scanned, inputs));
  form.scanned = static_cast<size_t>(scanned);
  form.state = inputs - form.scanned;
  const size_t outputs = graph.body(form.body).outputs.size();
  if (graph.body(form.body).inputs.size() != inputs || outputs < form.state ||
      graph.num_outputs(n) > outputs)
    return Misfit("its body does not fit its inputs and outputs");
  form.collected = outputs - form.state;
  QR_ASSIGN_OR_RETURN(form.axes_in, Numbers(attributes, "scan_input_axes", form.scanned));
  QR_ASSIGN_OR_RETURN(form.axes_out, Numbers(attributes, "scan_output_axes", form.collected));
  QR_ASSIGN_OR_RETURN(form.backwards_in,
                      Numbers(attributes, "scan_input_directions", form.scanned));
  QR_ASSIGN_OR_RETURN(form.backwards_out,
                      Numbers(attributes, "scan_output_directions", form.collected));
  return form;
}

// `axis` counted from the front; an error if there is none in `rank`.
Result<size_t> Axis(int64_t axis, size_t rank) {
  const auto end = static_cast<int64_t>(rank);
  if (axis < -end || axis >= end)
    return Misfit(fmt::format("axis {} of a tensor of rank {}", axis, rank));
  return static_cast<size_t>(axis < 0 ? axis + end : axis);
}

Result<Tensor> RunOne(const KernelRegistry& kernels, std::string_view op, int64_t axis,
                      const std::vector<Tensor>& inputs) {
  const Attributes attributes({{"axis", axis}});
  const FoldCall call{"", op, 13, inputs, attributes};
  QR_ASSIGN_OR_RETURN(const std::vector<Tensor> outputs, Fold(kernels, call, {.lazy = UINT64_MAX}));
  return outputs.front();
}

// The slices of all turns along a new axis.
Result<Tensor> Joined(const KernelRegistry& kernels, std::vector<Tensor> slices, int64_t axis,
                      bool backwards) {
  if (slices.empty())
    return Status(StatusCode::kUnsupported, "a Scan of nothing gives slices of every turn");
  for (const Tensor& slice : slices) {  // an output of an If that its branch does not have
    if (!slice.valid()) return Misfit("nothing makes an output of its body");
  }
  QR_ASSIGN_OR_RETURN(const size_t at, Axis(axis, slices.front().dims().size() + 1));
  for (Tensor& slice : slices) {
    Dims dims = slice.dims();
    if (at > dims.size()) return Misfit("the slices of the turns have other shapes");
    dims.insert(dims.begin() + static_cast<std::ptrdiff_t>(at), 1);
    slice = slice.Reshaped(std::move(dims));
  }
  if (backwards) std::reverse(slices.begin(), slices.end());
  return RunOne(kernels, "Concat", static_cast<int64_t>(at), slices);
}

// How many turns: as many as all scanned inputs have slices.
Result<int64_t> Turns(const ScanForm& form, const std::vector<Tensor>& inputs) {
  int64_t turns = -1;
  for (size_t i = 0; i < form.scanned; ++i) {
    const Tensor& input = inputs[form.state + i];
    QR_ASSIGN_OR_RETURN(const size_t axis, Axis(form.axes_in[i], input.dims().size()));
    const int64_t size = input.dims()[axis];
    if (turns >= 0 && size != turns)
      return Misfit(fmt::format("its inputs have {} and {} slices", turns, size));
    turns = size;
  }
  return turns;
}

}  // namespace

Status GraphInterpreter::RunScan(NodeId n, const Attributes& attributes, const Attributes& call) {
  if (graph_.OpsetOf(n, "") < 9)
    return At(n, {StatusCode::kUnsupported, "Scan over batches, of opset 8, has no kernel"});
  const Result<ScanForm> form = FormOf(graph_, n, attributes);
  if (!form.ok()) return At(n, form.status());
  std::vector<Tensor> inputs;
  for (size_t i = 0; i < graph_.num_inputs(n); ++i) {
    inputs.push_back(Input(n, i));
    if (!inputs.back().valid()) return At(n, Misfit(fmt::format("nothing makes its input {}", i)));
  }
  const Result<int64_t> turns = Turns(*form, inputs);
  if (!turns.ok()) return At(n, turns.status());
  const std::vector<ValueId>& taken = graph_.body(form->body).inputs;
  std::vector<std::vector<Tensor>> collected(form->collected);
  for (int64_t turn = 0; turn < *turns; ++turn) {
    for (size_t i = 0; i < form->state; ++i) values_[taken[i].index] = inputs[i];
    for (size_t i = 0; i < form->scanned; ++i) {
      const int64_t at = form->backwards_in[i] != 0 ? *turns - 1 - turn : turn;
      Result<Tensor> slice = RunOne(kernels_, "Gather", form->axes_in[i],
                                    {inputs[form->state + i], Tensor::Int64Scalar(at)});
      if (!slice.ok()) return At(n, slice.status());
      values_[taken[form->state + i].index] = *std::move(slice);
    }
    QR_RETURN_IF_ERROR(RunBody(form->body, call));
    const auto given = [&](size_t i) { return values_[graph_.output(form->body, i).index]; };
    for (size_t i = 0; i < form->state; ++i) inputs[i] = given(i);
    for (size_t i = 0; i < form->collected; ++i) collected[i].push_back(given(form->state + i));
  }
  for (size_t i = 0; i < graph_.num_outputs(n); ++i) {
    if (!graph_.output(n, i).valid()) continue;
    if (i < form->state) {
      SetOutput(n, i, inputs[i]);
      continue;
    }
    const size_t k = i - form->state;
    Result<Tensor> joined =
        Joined(kernels_, std::move(collected[k]), form->axes_out[k], form->backwards_out[k] != 0);
    if (!joined.ok()) return At(n, joined.status());
    SetOutput(n, i, *std::move(joined));
  }
  return {};
}

}  // namespace qrewrite
