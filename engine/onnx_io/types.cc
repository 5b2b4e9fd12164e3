#include "engine/onnx_io/types.h"

#include <fmt/format.h>
#include <onnx/onnx_pb.h>

#include "engine/base/diagnostics.h"
#include "engine/onnx_io/wire.h"

namespace qrewrite {
namespace {

using Shape = onnx::TensorShapeProto;
using Dimension = onnx::TensorShapeProto_Dimension;
using TensorType = onnx::TypeProto_Tensor;
using onnx::TypeProto;
using onnx::ValueInfoProto;

// What exporters write for a size that they do not know (Paddle: "?"; Keras: "None"). As names, which is what the
// format takes them for, they would make all such sizes equal.
bool NamesNothing(std::string_view name) {
  return name.empty() || name == "?" || name == "None" || name == "-1";
}

// Each reader below says whether the message was well-formed.
bool ParseDim(std::string_view message, Graph& graph, Dim* dim) {
  WireReader fields(message);
  while (const WireField* f = fields.Next()) {
    if (f->IsVarint(Dimension::kDimValueFieldNumber)) {
      *dim = Dim(static_cast<int64_t>(f->value));
    } else if (f->IsBytes(Dimension::kDimParamFieldNumber)) {
      *dim = NamesNothing(f->bytes) ? Dim() : graph.SymbolDim(f->bytes);
    }
  }
  return fields.ok();
}

bool ParseShape(std::string_view message, Graph& graph, TypeInfo* type) {
  type->has_rank = true;
  WireReader fields(message);
  while (const WireField* f = fields.Next()) {
    if (!f->IsBytes(Shape::kDimFieldNumber)) continue;
    type->dims.emplace_back();
    if (!ParseDim(f->bytes, graph, &type->dims.back())) return false;
  }
  return fields.ok();
}

bool ParseTensorType(std::string_view message, Graph& graph, TypeInfo* type) {
  WireReader fields(message);
  while (const WireField* f = fields.Next()) {
    if (f->IsVarint(TensorType::kElemTypeFieldNumber)) {
      const auto number = static_cast<int32_t>(f->value);
      type->dtype = IsKnownDType(number) ? static_cast<DType>(number) : DType::kUndefined;
    } else if (f->IsBytes(TensorType::kShapeFieldNumber)) {
      type->dims.clear();
      if (!ParseShape(f->bytes, graph, type)) return false;
    }
  }
  return fields.ok();
}

bool ParseType(std::string_view message, Graph& graph, TypeInfo* type) {
  WireReader fields(message);
  while (const WireField* f = fields.Next()) {
    if (f->IsBytes(TypeProto::kTensorTypeFieldNumber)) {
      *type = TypeInfo();
      if (!ParseTensorType(f->bytes, graph, type)) return false;
    } else if (f->type == WireType::kBytes && f->number != TypeProto::kDenotationFieldNumber) {
      *type = TypeInfo{.is_tensor = false};
    }
  }
  return fields.ok();
}

// The fields of a message that `Keep` accepts, verbatim.
template <class Keep>
void CopyFields(std::string& out, std::string_view message, Keep keep) {
  WireReader fields(message);
  while (const WireField* f = fields.Next()) {
    if (keep(f->number)) out += f->whole;
  }
}

std::string SpellDim(const Graph& graph, Dim dim, std::string_view original) {
  std::string out;
  if (dim.known()) PutInt(out, Dimension::kDimValueFieldNumber, dim.size());
  if (dim.symbolic()) PutBytes(out, Dimension::kDimParamFieldNumber, graph.symbol_name(dim));
  CopyFields(out, original, [](int field) {
    return field != Dimension::kDimValueFieldNumber && field != Dimension::kDimParamFieldNumber;
  });
  return out;
}

// Denotations of dimensions are kept if the rank is the same.
std::string SpellShape(const Graph& graph, const TypeInfo& type, std::string_view original) {
  std::vector<std::string_view> dims;
  WireReader fields(original);
  while (const WireField* f = fields.Next()) {
    if (f->IsBytes(Shape::kDimFieldNumber)) dims.push_back(f->bytes);
  }
  if (dims.size() != type.dims.size()) dims.assign(type.dims.size(), {});
  std::string out;
  for (size_t i = 0; i < dims.size(); ++i) {
    PutBytes(out, Shape::kDimFieldNumber, SpellDim(graph, type.dims[i], dims[i]));
  }
  return out;
}

std::string SpellType(const Graph& graph, const TypeInfo& type, std::string_view original) {
  const std::string_view old = FindBytes(original, TypeProto::kTensorTypeFieldNumber);
  std::string tensor;
  PutInt(tensor, TensorType::kElemTypeFieldNumber, static_cast<int64_t>(type.dtype));
  if (type.has_rank) {
    PutBytes(tensor, TensorType::kShapeFieldNumber,
             SpellShape(graph, type, FindBytes(old, TensorType::kShapeFieldNumber)));
  }
  std::string out;
  PutBytes(out, TypeProto::kTensorTypeFieldNumber, tensor);
  CopyFields(out, original, [](int field) { return field == TypeProto::kDenotationFieldNumber; });
  return out;
}

}  // namespace

Result<ValueInfo> ParseValueInfo(std::string_view message, Graph& graph) {
  ValueInfo info;
  bool ok = true;
  WireReader fields(message);
  while (const WireField* f = fields.Next()) {
    if (f->IsBytes(ValueInfoProto::kNameFieldNumber)) info.name = f->bytes;
    if (f->IsBytes(ValueInfoProto::kTypeFieldNumber)) ok &= ParseType(f->bytes, graph, &info.type);
  }
  if (!ok || !fields.ok()) {
    return Status(StatusCode::kInvalidModel,
                  fmt::format("the type of `{}` is damaged", Printable(info.name)));
  }
  return info;
}

std::string SpellValueInfo(const Graph& graph, std::string_view name, const TypeInfo& type,
                           std::string_view original) {
  const std::string_view old_type = FindBytes(original, ValueInfoProto::kTypeFieldNumber);
  std::string out;
  PutBytes(out, ValueInfoProto::kNameFieldNumber, name);
  if (!type.is_tensor) {  // never looked into, so it is what it was
    if (!old_type.empty()) PutBytes(out, ValueInfoProto::kTypeFieldNumber, old_type);
  } else if (type.dtype != DType::kUndefined) {
    PutBytes(out, ValueInfoProto::kTypeFieldNumber, SpellType(graph, type, old_type));
  }
  CopyFields(out, original, [](int field) {
    return field != ValueInfoProto::kNameFieldNumber && field != ValueInfoProto::kTypeFieldNumber;
  });
  return out;
}

}  // namespace qrewrite
