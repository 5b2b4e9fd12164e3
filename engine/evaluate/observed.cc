#include "engine/evaluate/observed.h"

#include <unordered_map>
#include <unordered_set>
#include <utility>

#include <fmt/format.h>

#include "engine/api/constant.h"
#include "engine/api/model_impl.h"

namespace qrewrite {
namespace {

// Values of the main graph by name.
std::unordered_map<std::string_view, ValueId> MainValues(const Graph& graph) {
  std::unordered_map<std::string_view, ValueId> values;
  for (size_t i = 0; i < graph.num_values(); ++i) {
    const ValueId v(i);
    if (graph.alive(v) && graph.body_of(v) == graph.main()) values.emplace(graph.name(v), v);
  }
  return values;
}

std::unordered_set<ValueId> MainOutputs(const Graph& graph) {
  std::unordered_set<ValueId> values;
  const size_t n = graph.body(graph.main()).outputs.size();
  for (size_t i = 0; i < n; ++i) values.insert(graph.output(graph.main(), i));
  return values;
}

bool IsTensorOfNumbers(const TypeInfo& type) {
  return type.is_tensor && type.dtype != DType::kString;
}

std::string ShapeOf(const std::vector<int64_t>& dims) {
  std::string text;
  for (const int64_t d : dims)
    text += (text.empty() ? "" : ", ") + (d < 0 ? "?" : std::to_string(d));
  return "[" + text + "]";
}

Status CheckInput(const ModelValue& formal, const ConstTensor& value) {
  if (formal.dtype != 0 && formal.dtype != value.dtype) {
    return {StatusCode::kUsage,
            fmt::format("input `{}` has type {}, not {}", formal.name,
                        Info(static_cast<DType>(formal.dtype)).text_name,
                        IsKnownDType(value.dtype) ? Info(static_cast<DType>(value.dtype)).text_name
                                                  : "unknown")};
  }
  if (!formal.has_shape) return {};
  bool fits = formal.dims.size() == value.dims.size();
  for (size_t i = 0; fits && i < formal.dims.size(); ++i) {
    fits = formal.dims[i] < 0 || formal.dims[i] == value.dims[i];
  }
  if (fits) return {};
  return {StatusCode::kUsage, fmt::format("input `{}` has shape {}, not {}", formal.name,
                                          ShapeOf(formal.dims), ShapeOf(value.dims))};
}

}  // namespace

std::vector<ModelValue> OverridableInputs(const Model& model) {
  const Graph& graph = std::as_const(*model.impl().file).graph();
  std::vector<ModelValue> inputs;
  if (graph.ir_version < 4) return inputs;
  for (const ValueId v : graph.inputs()) {
    if (graph.constant(v) != nullptr) inputs.push_back(ToModelValue(graph, v));
  }
  return inputs;
}

Result<ObservedModel> ObservedModel::Make(const Model& model,
                                          const std::vector<std::string>& observe) {
  QR_ASSIGN_OR_RETURN(Model clone, model.Clone());
  ObservedModel observed(std::move(clone));
  observed.inputs_ = observed.model_.Inputs();
  Graph& graph = observed.model_.impl().file->graph();
  const size_t own_outputs = graph.body(graph.main()).outputs.size();
  const auto values = MainValues(graph);
  std::unordered_set<ValueId> main_outputs = MainOutputs(graph);
  for (const std::string& name : observe) {
    const auto found = values.find(name);
    if (found == values.end()) {
      return Status(StatusCode::kUsage, fmt::format("the model has no value `{}`", name));
    }
    const ValueId v = found->second;
    if (graph.producer(v).valid()) {
      if (main_outputs.insert(v).second) graph.AddOutput(graph.main(), v);
      continue;
    }
    if (graph.IsInput(v)) {
      observed.passed_inputs_.push_back(name);
    } else if (const Tensor* tensor = graph.constant(v); tensor != nullptr) {
      observed.passed_constants_.push_back({name, ToConstant(*tensor)});
    }
  }
  const size_t outputs = graph.body(graph.main()).outputs.size();
  std::unordered_set<ValueId> seen;  // an output may be there twice
  for (size_t i = 0; i < outputs; ++i) {
    const ValueId v = graph.output(graph.main(), i);
    if (!IsTensorOfNumbers(graph.declared(v)) || !seen.insert(v).second) continue;
    observed.outputs_.emplace_back(graph.name(v));
  }
  if (outputs > own_outputs) graph.MarkChanged();
  return observed;
}

Status ObservedModel::CheckInputs(const Tensors& inputs) const {
  const Graph& graph = model_.impl().file->graph();
  for (const ModelValue& formal : inputs_) {
    const auto given = inputs.find(formal.name);
    if (given == inputs.end()) {
      return {StatusCode::kUsage, fmt::format("input `{}` has no value", formal.name)};
    }
    QR_RETURN_IF_ERROR(CheckInput(formal, given->second));
  }
  for (const ModelValue& formal : OverridableInputs(model_)) {
    const auto given = inputs.find(formal.name);
    if (given != inputs.end()) QR_RETURN_IF_ERROR(CheckInput(formal, given->second));
  }
  std::unordered_set<std::string_view> names;
  for (const ValueId v : graph.inputs()) names.insert(graph.name(v));
  for (const auto& [name, value] : inputs) {
    if (!names.contains(name))
      return {StatusCode::kUsage, fmt::format("the model has no input `{}`", name)};
  }
  return {};
}

Status ObservedModel::AddPassedOn(const Tensors& inputs, Tensors& outputs) const {
  for (const std::string& name : passed_inputs_) {
    const auto given = inputs.find(name);
    if (given != inputs.end()) {
      outputs[name] = given->second;
      continue;
    }
    const std::optional<Constant> initial = model_.FindConstant(name);
    if (!initial) continue;
    QR_ASSIGN_OR_RETURN(outputs[name], initial->Read());
  }
  for (const NamedConstant& constant : passed_constants_) {
    QR_ASSIGN_OR_RETURN(outputs[constant.name], constant.value.Read());
  }
  return {};
}

}  // namespace qrewrite
