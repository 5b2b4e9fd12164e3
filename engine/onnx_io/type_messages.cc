#include "engine/onnx_io/type_messages.h"

#include <algorithm>

#include "engine/graph/type.h"

namespace qrewrite {

void TypeMessages::Reset(const Graph& graph) {
  graph_ = &graph;
  symbols_.clear();
  messages_.Reset();
}

const onnx::TypeProto* TypeMessages::Make(const TypeInfo& type) {
  if (!type.is_tensor || (type.dtype == DType::kUndefined && !type.has_rank)) return nullptr;
  onnx::TypeProto* proto = messages_.TakeUsed();
  auto* tensor = proto->mutable_tensor_type();
  tensor->Clear();
  tensor->set_elem_type(static_cast<int32_t>(type.dtype));
  if (!type.has_rank) return proto;
  auto* shape = tensor->mutable_shape();
  for (const Dim dim : type.dims) {
    auto* d = shape->add_dim();
    if (dim.known()) d->set_dim_value(dim.size());
    if (!dim.symbolic()) continue;
    const std::string& name = graph_->symbol_name(dim);
    d->set_dim_param(name);
    symbols_.emplace_back(name, dim);
  }
  return proto;
}

Dim TypeMessages::Read(const onnx::TensorShapeProto::Dimension& dim) const {
  if (dim.has_dim_value()) return Dim(dim.dim_value());
  if (!dim.has_dim_param()) return Dim();
  const auto known =
      std::ranges::find(symbols_, dim.dim_param(), [](const auto& symbol) { return symbol.first; });
  return known != symbols_.end() ? known->second : Dim();
}

TypeInfo TypeMessages::Read(const onnx::TypeProto& proto) const {
  TypeInfo type;
  if (proto.value_case() == onnx::TypeProto::VALUE_NOT_SET) return type;
  type.is_tensor = proto.has_tensor_type();
  if (!type.is_tensor) return type;
  const auto& tensor = proto.tensor_type();
  if (IsKnownDType(tensor.elem_type())) type.dtype = static_cast<DType>(tensor.elem_type());
  type.has_rank = tensor.has_shape();
  for (const auto& dim : tensor.shape().dim()) type.dims.push_back(Read(dim));
  return type;
}

}  // namespace qrewrite
