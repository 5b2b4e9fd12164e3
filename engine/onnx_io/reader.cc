#include "engine/onnx_io/reader.h"

#include <string>
#include <unordered_map>
#include <vector>

#include <fmt/format.h>
#include <onnx/onnx_pb.h>

#include "engine/base/diagnostics.h"
#include "engine/base/file_kind.h"
#include "engine/onnx_io/body_reader.h"
#include "engine/onnx_io/functions.h"
#include "engine/onnx_io/required_graphs.h"
#include "engine/onnx_io/wire.h"

namespace qrewrite {
namespace {

using onnx::ModelProto;
using onnx::OperatorSetIdProto;

// Models before this IR version have no opset_import; they use version 1 of the default domain.
constexpr int64_t kFirstIrWithOpsets = 3;

Status Invalid(std::string message) { return {StatusCode::kInvalidModel, std::move(message)}; }

Status SplitModel(std::string_view bytes, ModelSource& source) {
  if (bytes.empty()) return Invalid("the file is empty: there is no graph in it");
  WireReader fields(bytes);
  while (const WireField* f = fields.Next()) {
    source.fields.push_back({.number = f->number, .field = f->whole, .function = {}});
    if (f->IsVarint(ModelProto::kIrVersionFieldNumber)) {
      source.ir_version = static_cast<int64_t>(f->value);
    }
  }
  if (!fields.ok()) {
    if (const FileKind kind = KindOfFile(bytes); !kind.what.empty() && !kind.model) {
      return Invalid(fmt::format("the file is no ONNX model, it is {}; {}", kind.what, kind.hint));
    }
    return Invalid(
        fmt::format("the file is no ONNX model, or it is damaged or cut off (at byte {} "
                    "of {})",
                    fields.offset(), bytes.size()));
  }
  return {};
}

bool IsMessage(const ModelField& field, int number) {
  WireReader reader(field.field);
  const WireField* f = reader.Next();
  return f != nullptr && f->IsBytes(number);
}

// Finds what they are about, and drops those about nothing.
void FindFunctionValues(const Graph& graph, std::vector<ValueRecord>& records) {
  if (records.empty()) return;
  std::unordered_map<std::string, ValueId> values;
  for (size_t i = 0; i < graph.num_values(); ++i) {
    const ValueId v(i);
    const Body& body = graph.body(graph.body_of(v));
    if (body.kind != BodyKind::kFunction) continue;
    const OpName& f = body.function;
    values.emplace(fmt::format("{}::{}/{}", f.domain, f.name, graph.name(v)), v);
  }
  for (ValueRecord& record : records) {
    const auto it = values.find(
        std::string(FindBytes(ContentOf(record.field), onnx::ValueInfoProto::kNameFieldNumber)));
    if (it == values.end()) continue;
    record.value = it->second;
    record.declared = graph.declared_id(record.value);
  }
  std::erase_if(records, [](const ValueRecord& record) { return !record.value.valid(); });
}

}  // namespace

Status ReadOpsetImport(std::string_view message, std::map<std::string, int64_t>& imports,
                       std::string_view who) {
  std::string_view domain;
  int64_t version = 0;
  WireReader fields(message);
  while (const WireField* f = fields.Next()) {
    if (f->IsBytes(OperatorSetIdProto::kDomainFieldNumber)) domain = f->bytes;
    if (f->IsVarint(OperatorSetIdProto::kVersionFieldNumber)) {
      version = static_cast<int64_t>(f->value);
    }
  }
  if (!fields.ok()) return Invalid(fmt::format("an opset import of {} is damaged", who));
  // Of several versions (ONNX Runtime's training tools write such) onnx and ONNX Runtime take the last.
  imports.insert_or_assign(std::string(CanonicalDomain(domain)), version);
  return {};
}

Status ReadModel(std::string_view bytes, const TensorSource& tensors, Graph& graph,
                 ModelSource& source) {
  source.bytes = bytes;
  graph.KeepAlive(tensors.owner);
  QR_RETURN_IF_ERROR(SplitModel(bytes, source));
  graph.ir_version = source.ir_version;
  BodyReader reader(tensors, graph, source);
  bool has_graph = false;
  for (ModelField& field : source.fields) {
    const std::string_view content = ContentOf(field.field);
    if (IsMessage(field, ModelProto::kOpsetImportFieldNumber)) {
      QR_RETURN_IF_ERROR(ReadOpsetImport(content, graph.opset(), "the model"));
    } else if (IsMessage(field, ModelProto::kFunctionsFieldNumber)) {
      QR_ASSIGN_OR_RETURN(field.function, reader.ReadFunction(content));
    } else if (IsMessage(field, ModelProto::kGraphFieldNumber)) {
      if (has_graph) return Invalid("the model has two graphs");
      has_graph = true;
      QR_RETURN_IF_ERROR(reader.ReadMainGraph(content));
    }
  }
  if (!has_graph) return Invalid("the file is no ONNX model: there is no graph in it");
  if (graph.opset().empty() && graph.ir_version < kFirstIrWithOpsets) graph.opset()[""] = 1;
  QR_RETURN_IF_ERROR(CheckFunctions(graph));
  QR_RETURN_IF_ERROR(CheckRequiredGraphs(graph));
  FindFunctionValues(graph, source.function_values);
  source.bodies.resize(graph.num_bodies());
  source.nodes.resize(graph.num_nodes());
  graph.ClearDirty();
  if (source.has_notes) graph.KeepOrigins();
  return {};
}

}  // namespace qrewrite
