#include "engine/onnx_io/data_propagation.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <new>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <onnx/defs/schema.h>

#include "engine/onnx_io/attribute_proto.h"
#include "engine/onnx_io/schemas.h"

namespace qrewrite {
namespace {

// How many elements a vector or scalar of integers has; -1: it is none, or nobody knows.
int64_t CountOf(const TypeInfo& type) {
  if (type.dtype != DType::kInt64 && type.dtype != DType::kInt32) return -1;
  if (!type.has_rank || type.dims.size() > 1) return -1;
  if (type.dims.empty()) return 1;
  return type.dims[0].known() ? type.dims[0].size() : -1;
}

// Elements that say where, and how far: numbers alone, and none so large that the library's loops over a vector of
// kMostElements, which count with `int`, go astray.
bool MakeIndexes(onnx::TensorShapeProto& elements) {
  constexpr int64_t kBeyondAll = int64_t{1} << 30;
  for (auto& dim : *elements.mutable_dim()) {
    if (!dim.has_dim_value()) return false;
    dim.set_dim_value(std::clamp(dim.dim_value(), -kBeyondAll, kBeyondAll));
  }
  return true;
}

// That says how data propagates through `n`; null: none does. Old versions mostly do not; what the newest one says holds
// for them: it looks for inputs that are attributes there, and knows nothing then.
const onnx::OpSchema* SchemaOf(const Graph& graph, NodeId n) {
  const OpName& op = graph.op_name(graph.op(n));
  const int64_t version = graph.OpsetOf(n, op.domain);
  for (const int64_t asked : {version, std::numeric_limits<int64_t>::max()}) {
    const onnx::OpSchema* schema = version > 0 ? FindSchema(op.domain, op.name, asked) : nullptr;
    if (schema != nullptr && schema->has_data_propagation_function()) return schema;
  }
  return nullptr;
}

}  // namespace

// One node, as its schema wants to see it.
class DataPropagation::Node : public onnx::DataPropagationContext {
 public:
  Node(DataPropagation& asked, NodeId n, const onnx::OpSchema& schema)
      : asked_(asked), n_(n), schema_(schema) {}

  const onnx::AttributeProto* getAttribute(const std::string& name) const override {
    const AttrValue* value = graph().attributes(n_).Find(name);
    if (value == nullptr) return nullptr;
    onnx::AttributeProto* proto = asked_.attributes_.Take();
    FillAttribute(name, *value, kMostInferredElements, proto);
    return proto;
  }
  size_t getNumInputs() const override { return graph().num_inputs(n_); }
  const onnx::TypeProto* getInputType(size_t index) const override { return Type(Input(index)); }
  size_t getNumOutputs() const override { return graph().num_outputs(n_); }
  const onnx::TypeProto* getOutputType(size_t index) const override {
    return index < getNumOutputs() ? Type(graph().output(n_, index)) : nullptr;
  }

  const onnx::TensorShapeProto* getInputData(size_t index) override {
    const ValueId v = Input(index);
    const onnx::TensorShapeProto* elements = v.valid() ? asked_.Elements(v) : nullptr;
    if (elements == nullptr || index == 0 || IsData(index)) return elements;
    onnx::TensorShapeProto* indexes = asked_.elements_.Take();
    *indexes = *elements;
    return MakeIndexes(*indexes) ? indexes : nullptr;
  }

  void addOutputData(size_t index, onnx::TensorShapeProto&& elements) override {
    if (index != 0) return;
    result_ = asked_.elements_.Take();
    *result_ = std::move(elements);
  }

  onnx::TensorShapeProto* result() const { return result_; }

 private:
  const Graph& graph() const { return *asked_.graph_; }
  ValueId Input(size_t index) const {
    return index < getNumInputs() ? graph().input(n_, index) : ValueId();
  }
  const onnx::TypeProto* Type(ValueId v) const {
    return v.valid() ? asked_.types_->Make(asked_.facts_->type(v)) : nullptr;
  }
  // What becomes the output has its type in the schema; numbers of axes and places have another.
  bool IsData(size_t index) const {
    const auto& inputs = schema_.inputs();
    return inputs[std::min(index, inputs.size() - 1)].GetTypeStr() ==
           schema_.outputs()[0].GetTypeStr();
  }

  DataPropagation& asked_;
  NodeId n_;
  const onnx::OpSchema& schema_;
  onnx::TensorShapeProto* result_ = nullptr;
};

void DataPropagation::Reset(const Graph& graph, const ShapeInference::Facts& facts) {
  graph_ = &graph;
  facts_ = &facts;
  nodes_left_ = kMostNodes;
  depth_ = 0;
  known_.clear();
  elements_.Reset();
  attributes_.Reset();
}

const onnx::TensorShapeProto* DataPropagation::ElementsOf(const Tensor& constant) {
  const Result<Tensor> computed =
      constant.is_lazy() ? constant.Materialize() : Result<Tensor>(constant);
  if (!computed.ok()) return nullptr;
  const Result<std::vector<int64_t>> numbers = ToInt64s(*computed);
  if (!numbers.ok()) return nullptr;
  onnx::TensorShapeProto* elements = elements_.Take();
  for (const int64_t number : *numbers) elements->add_dim()->set_dim_value(number);
  return elements;
}

const onnx::TensorShapeProto* DataPropagation::Propagated(NodeId n, DType dtype, int64_t count) {
  const onnx::OpSchema* schema = SchemaOf(*graph_, n);
  if (schema == nullptr) return nullptr;
  const auto refers = [](const Attribute& a) {
    return std::holds_alternative<AttrReference>(a.value);
  };
  if (std::ranges::any_of(graph_->attributes(n), refers)) return nullptr;
  Node node(*this, n, *schema);
  try {
    schema->GetDataPropagationFunction()(node);
  } catch (const std::bad_alloc&) {
    throw;
  } catch (...) {
    return nullptr;  // inputs that contradict the operator
  }
  onnx::TensorShapeProto* elements = node.result();
  if (elements == nullptr || elements->dim_size() != count) return nullptr;
  if (dtype == DType::kInt64) return elements;
  for (auto& dim : *elements->mutable_dim()) {  // what INT32 cannot hold is another number there
    if (dim.has_dim_value() && !std::in_range<int32_t>(dim.dim_value())) dim.clear_dim_value();
  }
  return elements;
}

const onnx::TensorShapeProto* DataPropagation::Elements(ValueId v) {
  const TypeInfo type = facts_->type(v);
  const int64_t count = CountOf(type);
  if (count < 0 || count > kMostElements) return nullptr;
  if (const Tensor* constant = facts_->constant(v)) return ElementsOf(*constant);
  const NodeId n = graph_->producer(v);
  if (!n.valid() || graph_->output(n, 0) != v) return nullptr;
  const auto known = std::ranges::find(known_, v, &decltype(known_)::value_type::first);
  if (known != known_.end()) return known->second;
  if (depth_ == kDeepest || nodes_left_ == 0) return nullptr;
  --nodes_left_;
  ++depth_;
  const onnx::TensorShapeProto* elements = Propagated(n, type.dtype, count);
  --depth_;
  known_.emplace_back(v, elements);
  return elements;
}

}  // namespace qrewrite
