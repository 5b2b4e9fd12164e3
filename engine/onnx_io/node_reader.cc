// The nodes of a body.
#include <fmt/format.h>
#include <onnx/onnx_pb.h>

#include "engine/base/diagnostics.h"
#include "engine/onnx_io/attributes.h"
#include "engine/onnx_io/body_reader.h"
#include "engine/onnx_io/wire.h"

namespace qrewrite {
namespace {

using onnx::NodeProto;

Status Invalid(std::string message) { return {StatusCode::kInvalidModel, std::move(message)}; }

}  // namespace

std::string BodyReader::Describe(const RawNode& raw, size_t index) const {
  if (!raw.name.empty()) {
    return fmt::format("node `{}` ({})", Printable(raw.name), Printable(raw.op_type));
  }
  for (const std::string_view output : raw.outputs) {
    if (!output.empty()) {
      return fmt::format("node {} ({}) that makes `{}`", index, Printable(raw.op_type),
                         Printable(output));
    }
  }
  return fmt::format("node {} ({})", index, Printable(raw.op_type));
}

OpId BodyReader::Op(std::string_view domain, std::string_view op_type) {
  if (!CanonicalDomain(domain).empty()) return graph_.InternOp(domain, op_type);
  OpId& op = default_ops_[op_type];
  if (!op.valid()) op = graph_.InternOp("", op_type);
  return op;
}

std::string BodyReader::Overloaded(std::string_view name, std::string_view overload) {
  std::string both = fmt::format("{}:{}", name, overload);
  source_.overloads[both] = overload;
  return both;
}

// Names first, so that nodes may come in any order and inner graphs see later outputs.
Status BodyReader::DeclareOutputsOf(std::string_view node, Scope& scope) {
  WireReader fields(node);
  while (const WireField* f = fields.Next()) {
    if (!f->IsBytes(NodeProto::kOutputFieldNumber) || f->bytes.empty()) continue;
    ValueId v;
    QR_RETURN_IF_ERROR(AddNamed(scope, f->bytes, &v));
  }
  if (!fields.ok()) return Invalid("a node is damaged: it is not a valid protobuf message");
  return {};
}

Status BodyReader::ReadNodes(const std::vector<FieldSlice>& nodes, Scope& scope) {
  // The outputs of all nodes get consecutive ids, in the order in which the nodes come again below.
  ValueId next_output(graph_.num_values());
  for (const FieldSlice field : nodes) {
    QR_RETURN_IF_ERROR(DeclareOutputsOf(ContentOf(field), scope));
  }
  RawNode raw;
  for (size_t i = 0; i < nodes.size(); ++i) {
    raw.name = raw.op_type = raw.domain = raw.overload = {};
    raw.inputs.clear();
    raw.outputs.clear();
    raw.attributes.clear();
    QR_RETURN_IF_ERROR(ReadNode(nodes[i], i, next_output, raw, scope));
  }
  return {};
}

Status BodyReader::ReadNode(FieldSlice field, size_t index, ValueId& next_output, RawNode& raw,
                            Scope& scope) {
  WireReader fields(ContentOf(field));
  while (const WireField* f = fields.Next()) {
    if (f->IsBytes(NodeProto::kInputFieldNumber)) raw.inputs.push_back(f->bytes);
    if (f->IsBytes(NodeProto::kOutputFieldNumber)) raw.outputs.push_back(f->bytes);
    if (f->IsBytes(NodeProto::kNameFieldNumber)) raw.name = f->bytes;
    if (f->IsBytes(NodeProto::kOpTypeFieldNumber)) raw.op_type = f->bytes;
    if (f->IsBytes(NodeProto::kDomainFieldNumber)) raw.domain = f->bytes;
    if (f->IsBytes(NodeProto::kOverloadFieldNumber)) raw.overload = f->bytes;
    if (f->IsBytes(NodeProto::kAttributeFieldNumber)) raw.attributes.push_back(f->bytes);
  }
  if (raw.op_type.empty()) return Invalid(Describe(raw, index) + " has no operator");
  std::vector<ValueId> inputs, outputs;
  inputs.reserve(raw.inputs.size());
  outputs.reserve(raw.outputs.size());
  for (const std::string_view name : raw.inputs) {
    inputs.push_back(name.empty() ? ValueId() : Resolve(name, scope));
    if (name.empty() || inputs.back().valid()) continue;
    return Invalid(fmt::format("{} reads `{}`, which nothing produces", Describe(raw, index),
                               Printable(name)));
  }
  for (const std::string_view name : raw.outputs) {
    outputs.push_back(name.empty() ? ValueId() : ValueId(next_output.index++));
  }
  Attributes attributes;
  bool external = false;
  QR_RETURN_IF_ERROR(ReadAttributes(raw, index, scope, attributes, external));
  const OpId op = raw.overload.empty()
                      ? Op(raw.domain, raw.op_type)
                      : graph_.InternOp(raw.domain, Overloaded(raw.op_type, raw.overload));
  const NodeId node =
      graph_.AddNode(scope.body, op, inputs, outputs, std::move(attributes), std::string(raw.name));
  for (const BodyId body : graph_.SubgraphsOf(node)) graph_.SetOwner(body, node);
  if (source_.nodes.size() <= node.index) source_.nodes.resize(node.index + size_t{1});
  source_.nodes[node.index] = field;
  if (external) source_.external_nodes.insert(node);
  source_.has_external = source_.has_external || external;
  return {};
}

Status BodyReader::ReadAttributes(const RawNode& raw, size_t index, Scope& scope,
                                  Attributes& attributes, bool& external) {
  for (const std::string_view message : raw.attributes) {
    QR_ASSIGN_OR_RETURN(ParsedAttribute parsed,
                        ParseAttribute(
                            message, tensors_, [&] { return Describe(raw, index); },
                            [&](std::string_view graph) { return ReadSubgraph(graph, scope); }));
    if (attributes.Find(parsed.attribute.name) != nullptr) {
      return Invalid(fmt::format("{} has two attributes `{}`", Describe(raw, index),
                                 Printable(parsed.attribute.name)));
    }
    attributes.Set(parsed.attribute.name, std::move(parsed.attribute.value));
    external = external || parsed.external;
  }
  return {};
}

}  // namespace qrewrite
