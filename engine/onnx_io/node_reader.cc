// The nodes of a body.
#include <algorithm>

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

bool HasGraphs(const std::vector<std::string_view>& attributes) {
  return std::any_of(attributes.begin(), attributes.end(), [](std::string_view message) {
    return ParseAttributeHeader(message).has_graphs;
  });
}

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
  auto& [text, op] = recent_ops_[HashName(op_type) % recent_ops_.size()];
  if (!op.valid() || text != op_type) text = op_type, op = graph_.InternOp("", op_type);
  return op;
}

std::string BodyReader::Overloaded(std::string_view name, std::string_view overload) {
  std::string both = fmt::format("{}:{}", name, overload);
  source_.overloads[both] = overload;
  return both;
}

// Nodes may come in any order, and inner graphs see later outputs. All outputs of a body have
// consecutive ids in the order of its nodes, whenever they were declared.
Status BodyReader::DeclareOutputs(const FieldList& nodes, size_t next, Scope& scope) {
  if (scope.declared) return {};
  scope.declared = true;
  scope.next_output = ValueId(graph_.num_values());
  for (size_t i = next; i < nodes.size(); ++i) {
    WireReader fields(ContentOf(nodes[i]));
    while (const WireField* f = fields.Next()) {
      if (!f->IsBytes(NodeProto::kOutputFieldNumber) || f->bytes.empty()) continue;
      QR_RETURN_IF_ERROR(CheckNew(scope, f->bytes));
      ValueId v;
      QR_RETURN_IF_ERROR(AddNamed(scope, f->bytes, &v));
    }
    if (!fields.ok()) return Invalid("a node is damaged: it is not a valid protobuf message");
  }
  return {};
}

// Inner graphs may hide what their outer graphs make later, and initializers and inputs may hide anything; onnx's checker and ONNX
// Runtime refuse the rest.
Status BodyReader::CheckNew(const Scope& scope, std::string_view name) const {
  for (const Scope* outer = scope.outer; outer != nullptr; outer = outer->outer) {
    const ValueId other = Find(*outer, name);
    if (!other.valid() || other.index >= outer->made_here.index) continue;
    return Invalid(fmt::format(
        "a node of the graph `{}` makes `{}`, a name that a graph around it has already",
        Printable(graph_.body(scope.body).name), Printable(name)));
  }
  return {};
}

bool BodyReader::RawNode::Split(std::string_view node) {
  name = op_type = domain = overload = attribute_fields = {};
  has_notes = false;
  inputs.clear();
  outputs.clear();
  attributes.clear();
  size_t attribute_bytes = 0;
  WireReader fields(node);
  while (const WireField* f = fields.Next()) {
    if (f->type != WireType::kBytes) continue;
    switch (f->number) {
      case NodeProto::kInputFieldNumber: inputs.push_back(f->bytes); break;
      case NodeProto::kOutputFieldNumber: outputs.push_back(f->bytes); break;
      case NodeProto::kNameFieldNumber: name = f->bytes; break;
      case NodeProto::kOpTypeFieldNumber: op_type = f->bytes; break;
      case NodeProto::kDomainFieldNumber: domain = f->bytes; break;
      case NodeProto::kOverloadFieldNumber: overload = f->bytes; break;
      case NodeProto::kDocStringFieldNumber:
      case NodeProto::kMetadataPropsFieldNumber: has_notes |= !f->bytes.empty(); break;
      case NodeProto::kAttributeFieldNumber:
        if (attributes.empty()) attribute_fields = f->whole;
        attributes.push_back(f->bytes);
        attribute_bytes += f->whole.size();
        attribute_fields = {
            attribute_fields.data(),
            static_cast<size_t>(f->whole.data() + f->whole.size() - attribute_fields.data())};
        break;
      default: break;
    }
  }
  if (attribute_fields.size() != attribute_bytes) attribute_fields = {};
  return fields.ok();
}

Status BodyReader::ReadNodes(const FieldList& nodes, Scope& scope) {
  // In an inner graph a name may mean a later output and an outer value.
  if (scope.outer != nullptr) QR_RETURN_IF_ERROR(DeclareOutputs(nodes, 0, scope));
  // Each is split while the places of the names of the one before come into the cache.
  RawNode raw, coming;
  if (!nodes.empty()) QR_RETURN_IF_ERROR(SplitNode(nodes, 0, coming, scope));
  for (size_t i = 0; i < nodes.size(); ++i) {
    std::swap(raw, coming);
    if (raw.op_type.empty()) return Invalid(Describe(raw, i) + " has no operator");
    if (i + 1 < nodes.size()) QR_RETURN_IF_ERROR(SplitNode(nodes, i + 1, coming, scope));
    QR_RETURN_IF_ERROR(ReadNode(nodes, i, raw, scope));
  }
  return {};
}

Status BodyReader::SplitNode(const FieldList& nodes, size_t index, RawNode& raw,
                             const Scope& scope) const {
  if (!raw.Split(ContentOf(nodes[index]))) {
    return Invalid("a node is damaged: it is not a valid protobuf message");
  }
  for (const std::string_view name : raw.inputs) scope.names.Prefetch(name);
  for (const std::string_view name : raw.outputs) scope.names.Prefetch(name);
  return {};
}

Status BodyReader::ReadNode(const FieldList& nodes, size_t index, RawNode& raw, Scope& scope) {
  if (raw.outputs.size() > Graph::kMaxOutputs) {
    return Invalid(fmt::format("{} has {} outputs; at most {} are read", Describe(raw, index),
                               raw.outputs.size(), Graph::kMaxOutputs));
  }
  if (raw.has_notes) source_.has_notes = true;
  raw.input_values.clear();
  for (const std::string_view name : raw.inputs) {
    ValueId v = name.empty() ? ValueId() : Resolve(name, scope);
    if (!v.valid() && !name.empty() && !scope.declared) {
      QR_RETURN_IF_ERROR(DeclareOutputs(nodes, index, scope));
      v = Resolve(name, scope);
    }
    raw.input_values.push_back(v);
    if (name.empty() || v.valid()) continue;
    return Invalid(fmt::format("{} reads `{}`, which nothing produces", Describe(raw, index),
                               Printable(name)));
  }
  if (!raw.attributes.empty() && !scope.declared && HasGraphs(raw.attributes)) {
    QR_RETURN_IF_ERROR(DeclareOutputs(nodes, index, scope));
  }
  raw.output_values.clear();
  scope.made_here = scope.next_output;
  for (const std::string_view name : raw.outputs) {
    ValueId v;
    if (!name.empty() && scope.declared) {
      v = ValueId(scope.next_output.index++);
    } else if (!name.empty()) {
      QR_RETURN_IF_ERROR(AddNamed(scope, name, &v));
    }
    raw.output_values.push_back(v);
  }
  Attributes attributes;
  bool external = false;
  if (!raw.attributes.empty()) {
    QR_RETURN_IF_ERROR(ReadAttributes(raw, index, scope, attributes, external));
  }
  const OpId op = raw.overload.empty()
                      ? Op(raw.domain, raw.op_type)
                      : graph_.InternOp(raw.domain, Overloaded(raw.op_type, raw.overload));
  const NodeId node = graph_.AddNode(scope.body, op, raw.input_values, raw.output_values,
                                     std::move(attributes), Borrowed{raw.name});
  if (source_.nodes.size() <= node.index) source_.nodes.resize(node.index + size_t{1});
  source_.nodes[node.index] = nodes[index];
  if (external) source_.external_nodes.insert(node);
  source_.has_external = source_.has_external || external;
  return {};
}

Status BodyReader::ReadAttributes(const RawNode& raw, size_t index, Scope& scope,
                                  Attributes& attributes, bool& external) {
  constexpr size_t kMost = 512;
  const bool may_repeat = !raw.attribute_fields.empty() && raw.attribute_fields.size() <= kMost;
  if (may_repeat) {
    const auto it = simple_attributes_.find(raw.attribute_fields);
    if (it != simple_attributes_.end()) {
      attributes = it->second;
      return {};
    }
  }
  bool simple = true;
  for (const std::string_view message : raw.attributes) {
    QR_ASSIGN_OR_RETURN(ParsedAttribute parsed,
                        ParseAttribute(
                            message, tensors_, [&] { return Describe(raw, index); },
                            [&](std::string_view graph) { return ReadSubgraph(graph, scope); }));
    if (attributes.Find(parsed.attribute.name) != nullptr) {
      return Invalid(fmt::format("{} has two attributes `{}`", Describe(raw, index),
                                 Printable(parsed.attribute.name)));
    }
    const AttrKind kind = KindOf(parsed.attribute.value);
    simple = simple && kind != AttrKind::kTensor && kind != AttrKind::kTensors &&
             kind != AttrKind::kGraph && kind != AttrKind::kGraphs;
    attributes.Set(parsed.attribute.name, std::move(parsed.attribute.value));
    external = external || parsed.external;
  }
  if (simple && may_repeat) simple_attributes_.emplace(raw.attribute_fields, attributes);
  return {};
}

}  // namespace qrewrite
