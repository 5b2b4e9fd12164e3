#include "engine/onnx_io/inference_context.h"

#include <algorithm>
#include <stdexcept>

#include "engine/onnx_io/attribute_proto.h"

namespace qrewrite {

void InferenceContext::Reset(const Graph& graph, NodeId node, const ShapeInference::Facts& facts,
                             const std::vector<size_t>* inputs, size_t max_outputs) {
  graph_ = &graph;
  facts_ = &facts;
  node_ = node;
  saw_types_only_ = true;
  saw_elements_ = false;
  types_.Reset();
  messages_.Reset(graph);
  propagation_.Reset(graph, facts);
  tensors_.Reset();
  attribute_pool_.Reset();
  attributes_.clear();
  subgraphs_.clear();
  chosen_ = inputs;
  inputs_.assign(inputs == nullptr ? graph.num_inputs(node) : inputs->size(), Input());
  outputs_.assign(std::min(graph.num_outputs(node), max_outputs), nullptr);
  for (onnx::TypeProto*& output : outputs_) output = types_.Take();
}

ValueId InferenceContext::Operand(size_t index) const {
  if (chosen_ != nullptr) index = (*chosen_)[index];
  return index < graph_->num_inputs(node_) ? graph_->input(node_, index) : ValueId();
}

const onnx::TensorProto* InferenceContext::MakeData(const Tensor& tensor) const {
  if (tensor.size() > kMostInferredElements) return nullptr;
  const Result<Tensor> computed = tensor.is_lazy() ? tensor.Materialize() : Result<Tensor>(tensor);
  if (!computed.ok()) return nullptr;
  onnx::TensorProto* proto = tensors_.Take();
  FillTensor(*computed, /*with_data=*/true, proto);
  return proto;
}

const onnx::TypeProto* InferenceContext::getInputType(size_t index) const {
  if (index >= inputs_.size()) throw std::out_of_range("no such input");
  Input& input = inputs_[index];
  const ValueId v = Operand(index);
  if (!input.has_type && v.valid()) input.type = messages_.Make(facts_->type(v));
  input.has_type = true;
  return input.type;
}

bool InferenceContext::hasInput(size_t index) const {
  return index < inputs_.size() && Operand(index).valid();
}

const onnx::TensorProto* InferenceContext::getInputData(size_t index) const {
  saw_types_only_ = false;
  if (index >= inputs_.size()) throw std::out_of_range("no such input");
  Input& input = inputs_[index];
  const ValueId v = Operand(index);
  if (!input.has_data && v.valid()) {
    const Tensor* tensor = facts_->constant(v);
    if (tensor != nullptr) input.data = MakeData(*tensor);
  }
  input.has_data = true;
  return input.data;
}

const onnx::TensorShapeProto* InferenceContext::getSymbolicInput(size_t index) const {
  saw_types_only_ = false;
  const ValueId v = Operand(index);
  const onnx::TensorShapeProto* elements = v.valid() ? propagation_.Elements(v) : nullptr;
  saw_elements_ |= elements != nullptr && facts_->constant(v) == nullptr;
  return elements;
}

Dim InferenceContext::Element(size_t index, size_t i, size_t count) const {
  const onnx::TensorShapeProto* elements = getSymbolicInput(index);
  if (elements == nullptr || static_cast<size_t>(elements->dim_size()) != count) return {};
  return messages_.Read(elements->dim(static_cast<int>(i)));
}

onnx::TypeProto* InferenceContext::getOutputType(size_t index) {
  if (index >= outputs_.size()) throw std::out_of_range("no such output");
  return outputs_[index];
}

bool InferenceContext::hasOutput(size_t index) {
  return index < outputs_.size() && graph_->output(node_, index).valid();
}

const onnx::AttributeProto* InferenceContext::getAttribute(const std::string& name) const {
  for (const auto& [known, proto] : attributes_) {
    if (known == name) return proto;
  }
  const AttrValue* value = graph_->attributes(node_).Find(name);
  if (value == nullptr) return nullptr;
  onnx::AttributeProto* proto = attribute_pool_.Take();
  FillAttribute(name, *value, kMostInferredElements, proto);
  attributes_.emplace_back(name, proto);
  return proto;
}

onnx::GraphInferencer* InferenceContext::getGraphAttributeInferencer(const std::string& name) {
  saw_types_only_ = false;
  const AttrValue* value = graph_->attributes(node_).Find(name);
  const auto* body = value == nullptr ? nullptr : std::get_if<BodyId>(value);
  if (body == nullptr) throw std::invalid_argument("no such graph");
  return &subgraphs_.emplace_back(this, *body);
}

std::vector<const onnx::TypeProto*> InferenceContext::Subgraph::doInferencing(
    const std::vector<const onnx::TypeProto*>&, const std::vector<const onnx::TensorProto*>&) {
  const Graph& graph = *context_->graph_;
  std::vector<const onnx::TypeProto*> types;
  for (size_t i = 0; i < graph.body(body_).outputs.size(); ++i) {
    const ValueId v = graph.output(body_, i);
    const onnx::TypeProto* type =
        v.valid() ? context_->messages_.Make(context_->facts_->type(v)) : nullptr;
    types.push_back(type != nullptr ? type : context_->types_.Take());
  }
  return types;
}

std::vector<TypeInfo> InferenceContext::OutputTypes(bool with_dtypes) const {
  std::vector<TypeInfo> types;
  types.reserve(outputs_.size());
  for (const onnx::TypeProto* output : outputs_) {
    types.push_back(messages_.Read(*output));
    if (!with_dtypes) types.back().dtype = DType::kUndefined;
  }
  return types;
}

}  // namespace qrewrite
