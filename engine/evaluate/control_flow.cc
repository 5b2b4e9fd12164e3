// Branches and loops.
#include <fmt/format.h>

#include "engine/evaluate/interpreter.h"

namespace qrewrite {
namespace {

Result<BodyId> BodyOf(const Attributes& attributes, std::string_view name) {
  const AttrValue* value = attributes.Find(name);
  const auto* body = value == nullptr ? nullptr : std::get_if<BodyId>(value);
  if (body != nullptr) return *body;
  return Status(StatusCode::kInvalidModel, fmt::format("it has no graph `{}`", name));
}

// The only element of a tensor, as a number.
Result<int64_t> Scalar(const Tensor& tensor) {
  if (!tensor.valid() || tensor.size() != 1) {
    return Status(StatusCode::kInvalidModel, "a condition or count is no scalar");
  }
  QR_ASSIGN_OR_RETURN(const std::vector<int64_t> values, ToInt64s(tensor));
  return values[0];
}

// What the iterations gave for one output, along a new first axis.
Result<Tensor> Stacked(const std::vector<Tensor>& parts) {
  if (parts.empty()) {
    return Status(StatusCode::kUnsupported, "a loop without iterations gives values of every one");
  }
  for (const Tensor& part : parts) {  // an output of an If that its branch does not have
    if (!part.valid())
      return Status(StatusCode::kInvalidModel, "nothing makes an output of its body");
  }
  Dims dims = parts[0].dims();
  dims.insert(dims.begin(), static_cast<int64_t>(parts.size()));
  std::vector<std::byte> bytes;
  for (const Tensor& part : parts) {
    if (part.dtype() != parts[0].dtype() || part.dims() != parts[0].dims() ||
        Info(part.dtype()).bits < 8) {
      return Status(StatusCode::kUnsupported, "the values of the iterations cannot be stacked");
    }
    QR_ASSIGN_OR_RETURN(const Tensor whole, part.Materialize());
    bytes.insert(bytes.end(), whole.bytes().begin(), whole.bytes().end());
  }
  return Tensor::Own(parts[0].dtype(), std::move(dims), std::move(bytes));
}

}  // namespace

Status GraphInterpreter::RunIf(NodeId n, const Attributes& call) {
  const Result<int64_t> condition = Scalar(Input(n, 0));
  if (!condition.ok()) return At(n, condition.status());
  const Result<BodyId> body =
      BodyOf(graph_.attributes(n), *condition != 0 ? "then_branch" : "else_branch");
  if (!body.ok()) return At(n, body.status());
  QR_RETURN_IF_ERROR(RunBody(*body, call));
  for (size_t i = 0; i < graph_.num_outputs(n) && i < graph_.body(*body).outputs.size(); ++i) {
    SetOutput(n, i, values_[graph_.output(*body, i).index]);
  }
  return {};
}

// Inputs: the number of iterations, the first condition (each may be absent), the state. The body takes
// the iteration, the condition and the state; gives a condition, the state, and a value for each output
// that collects one of every iteration.
Status GraphInterpreter::RunLoop(NodeId n, const Attributes& call) {
  const Result<BodyId> body = BodyOf(graph_.attributes(n), "body");
  if (!body.ok()) return At(n, body.status());
  int64_t limit = INT64_MAX;
  bool go_on = true;
  if (const Tensor count = Input(n, 0); count.valid()) {
    const Result<int64_t> value = Scalar(count);
    if (!value.ok()) return At(n, value.status());
    limit = *value;
  }
  if (const Tensor condition = Input(n, 1); condition.valid()) {
    const Result<int64_t> value = Scalar(condition);
    if (!value.ok()) return At(n, value.status());
    go_on = *value != 0;
  }
  std::vector<Tensor> state;
  for (size_t i = 2; i < graph_.num_inputs(n); ++i) state.push_back(Input(n, i));
  const size_t outputs = graph_.body(*body).outputs.size();
  size_t named = graph_.num_outputs(n);
  while (named > 0 && !graph_.output(n, named - 1).valid()) --named;
  if (graph_.body(*body).inputs.size() != state.size() + 2 || outputs < state.size() + 1 ||
      outputs < named + 1) {
    return At(n, Status(StatusCode::kInvalidModel, "its body does not fit its inputs and outputs"));
  }
  std::vector<std::vector<Tensor>> collected(outputs);
  for (int64_t i = 0; go_on && i < limit; ++i) {
    QR_RETURN_IF_ERROR(RunIteration(*body, i, state, call));
    const Result<int64_t> next = Scalar(values_[graph_.output(*body, 0).index]);
    if (!next.ok()) return At(n, next.status());
    go_on = *next != 0;
    for (size_t k = 1; k < outputs; ++k) {
      const Tensor& value = values_[graph_.output(*body, k).index];
      if (k <= state.size()) {
        state[k - 1] = value;
      } else {
        collected[k].push_back(value);
      }
    }
  }
  for (size_t i = 0; i < named; ++i) {
    if (!graph_.output(n, i).valid()) continue;
    if (i < state.size()) {
      SetOutput(n, i, state[i]);
      continue;
    }
    Result<Tensor> stacked = Stacked(collected[i + 1]);
    if (!stacked.ok()) return At(n, stacked.status());
    SetOutput(n, i, *std::move(stacked));
  }
  return {};
}

Status GraphInterpreter::RunIteration(BodyId body, int64_t iteration,
                                      const std::vector<Tensor>& state, const Attributes& call) {
  const std::vector<ValueId>& inputs = graph_.body(body).inputs;
  values_[inputs[0].index] = Tensor::Int64Scalar(iteration);
  values_[inputs[1].index] = Tensor::Bool(true);
  for (size_t i = 0; i < state.size(); ++i) values_[inputs[i + 2].index] = state[i];
  return RunBody(body, call);
}

}  // namespace qrewrite
