// Nodes and their attributes.
#include <algorithm>
#include <utility>

#include <onnx/onnx_pb.h>

#include "engine/onnx_io/attributes.h"
#include "engine/onnx_io/planner.h"
#include "engine/onnx_io/wire.h"

namespace qrewrite {
namespace {

using onnx::AttributeProto;
using onnx::FunctionProto;
using onnx::NodeProto;

// What the graph says about a node; the rest of a NodeProto is kept.
bool IsInGraph(int field) {
  return field == NodeProto::kInputFieldNumber || field == NodeProto::kOutputFieldNumber ||
         field == NodeProto::kNameFieldNumber || field == NodeProto::kAttributeFieldNumber ||
         field == NodeProto::kDeviceConfigurationsFieldNumber;
}

bool IsNote(int field) {
  return field == NodeProto::kDocStringFieldNumber || field == NodeProto::kMetadataPropsFieldNumber;
}

// The doc string and fields newer than this program stay with an attribute whose value changed.
bool StaysWithAttribute(int field) {
  return field == AttributeProto::kDocStringFieldNumber ||
         field > AttributeProto::kSparseTensorsFieldNumber;
}

// Inputs to write: absent ones at the end are left out. Not of Loop and the like, whose inputs are
// counted (cond is not optional in number).
size_t CountInputs(const Graph& graph, NodeId n) {
  size_t count = graph.num_inputs(n);
  if (graph.HasSubgraphs(n)) return count;
  while (count > 0 && !graph.input(n, count - 1).valid()) --count;
  return count;
}

void PutName(std::string& text, int number, const Graph& graph, ValueId v) {
  PutBytes(text, number, v.valid() ? graph.name(v) : "");
}

// Values that need neither graphs nor tensors, as fields of an AttributeProto.
struct SpellSimple {
  std::string& out;

  void operator()(float v) const { PutFloat(out, AttributeProto::kFFieldNumber, v); }
  void operator()(int64_t v) const { PutInt(out, AttributeProto::kIFieldNumber, v); }
  void operator()(const std::string& v) const { PutBytes(out, AttributeProto::kSFieldNumber, v); }
  void operator()(const std::vector<float>& list) const {
    for (const float v : list) PutFloat(out, AttributeProto::kFloatsFieldNumber, v);
  }
  void operator()(const std::vector<int64_t>& list) const {
    for (const int64_t v : list) PutInt(out, AttributeProto::kIntsFieldNumber, v);
  }
  void operator()(const std::vector<std::string>& list) const {
    for (const std::string& v : list) PutBytes(out, AttributeProto::kStringsFieldNumber, v);
  }
  void operator()(const AttrReference& v) const {
    PutBytes(out, AttributeProto::kRefAttrNameFieldNumber, v.name);
  }
  void operator()(const AttrOpaque& v) const {
    WireReader fields(v.bytes);
    while (const WireField* f = fields.Next()) {
      const bool is_kind =
          f->number == AttributeProto::kTypeFieldNumber && v.kind != AttrKind::kUndefined;
      if (f->number != AttributeProto::kNameFieldNumber && !is_kind) out += f->whole;
    }
  }
  template <class T>
  void operator()(const T&) const {}  // nothing, tensors, graphs
};

// Of a node whose attributes stay as they are: all that is not spelled from the graph, attributes
// first.
template <class Keep>
void CopyRest(std::string_view node, Keep keep) {
  WireReader attributes(node);
  while (const WireField* f = attributes.Next()) {
    if (f->IsBytes(NodeProto::kAttributeFieldNumber)) keep(f->whole);
  }
  WireReader others(node);
  while (const WireField* f = others.Next()) {
    if (!IsInGraph(f->number)) keep(f->whole);
  }
}

// Longer nodes are slices in the plan.
constexpr size_t kCopied = 1024;

// One node of the file may be the origin of many new ones: beyond so many bytes, or as many as the
// file has, they go without what they would inherit.
constexpr uint64_t kMostInherited = uint64_t{64} << 20;

}  // namespace

Status Planner::PlanNodes(BodyId b, int number, std::vector<NodeId>& order, Rope& out) {
  QR_ASSIGN_OR_RETURN(order, TopologicalOrder(graph_, b));
  for (const NodeId n : order) QR_RETURN_IF_ERROR(PlanNode(n, number, out));
  return {};
}

// Subgraphs are always spelled again: what changed in them does not show on their node.
bool Planner::CanCopy(NodeId n) const {
  if (n.index >= source_.nodes.size() || graph_.dirty(n)) return false;
  if (source_.external_nodes.contains(n)) return false;
  return CountInputs(graph_, n) == graph_.num_inputs(n) && !graph_.HasSubgraphs(n);
}

// The attributes are as they were read, and can be copied.
bool Planner::KeepsAttributes(NodeId n) const {
  return n.index < source_.nodes.size() && !graph_.has_new_attributes(n) &&
         !graph_.HasSubgraphs(n) && !source_.external_nodes.contains(n);
}

Status Planner::PlanNode(NodeId n, int number, Rope& out) {
  if (CanCopy(n)) {
    out.AddSlice(source_.nodes[n.index]);
    return {};
  }
  std::string& text = text_;  // not used by what is called below while it is in use here
  text.clear();
  const size_t num_inputs = CountInputs(graph_, n);
  for (size_t i = 0; i < num_inputs; ++i) {
    PutName(text, NodeProto::kInputFieldNumber, graph_, graph_.input(n, i));
  }
  for (size_t i = 0; i < graph_.num_outputs(n); ++i) {
    PutName(text, NodeProto::kOutputFieldNumber, graph_, graph_.output(n, i));
  }
  if (!graph_.name(n).empty()) PutBytes(text, NodeProto::kNameFieldNumber, graph_.name(n));
  const std::string_view original = source_of(n);
  text += Devices(n, original);
  if (KeepsAttributes(n) && original.size() <= kCopied) {
    CopyRest(original, [&](std::string_view field) { text += field; });
    out.AddMessage(number, text);
    return {};
  }
  if (original.empty()) {
    const OpName& op = graph_.op_name(graph_.op(n));
    const auto overload = source_.overloads.find(op.name);
    const bool overloaded = overload != source_.overloads.end();
    PutBytes(
        text, NodeProto::kOpTypeFieldNumber,
        overloaded ? op.name.substr(0, op.name.size() - overload->second.size() - 1) : op.name);
    if (overloaded) PutBytes(text, NodeProto::kOverloadFieldNumber, overload->second);
    if (!op.domain.empty()) PutBytes(text, NodeProto::kDomainFieldNumber, op.domain);
    if (source_.has_notes) InheritNotes(n, text);
  }
  Rope node(storage_);
  node.AddCopy(text);
  if (KeepsAttributes(n)) {
    CopyRest(original, [&](std::string_view field) { node.AddSlice(field); });
  } else {
    QR_RETURN_IF_ERROR(PlanAttributes(n, original, node));
    WireReader fields(original);
    while (const WireField* f = fields.Next()) {
      if (!IsInGraph(f->number)) node.AddSlice(f->whole);
    }
  }
  out.AddMessage(number, std::move(node));
  return {};
}

void Planner::InheritNotes(NodeId n, std::string& out) {
  const NodeId origin = graph_.origin(n);
  if (!origin.valid()) return;
  const uint64_t most = std::max<uint64_t>(kMostInherited, source_.bytes.size());
  WireReader fields(source_of(origin));
  while (const WireField* f = fields.Next()) {
    if (!IsNote(f->number) || f->bytes.empty() || inherited_ + f->whole.size() > most) continue;
    inherited_ += f->whole.size();
    out += f->whole;
  }
}

Status Planner::PlanAttributes(NodeId n, std::string_view original, Rope& out) {
  const Attributes& now = graph_.attributes(n);
  std::vector<const AttrValue*> done;
  WireReader fields(original);
  while (const WireField* f = fields.Next()) {
    if (!f->IsBytes(NodeProto::kAttributeFieldNumber)) continue;
    const AttributeHeader header = ParseAttributeHeader(f->bytes);
    const AttrValue* value = now.Find(header.name);
    if (value == nullptr) continue;
    done.push_back(value);
    bool same = false;
    if (!header.has_graphs) {
      const auto old = ParseAttribute(
          f->bytes, tensors_, [] { return std::string(); },
          [](std::string_view) -> Result<BodyId> { return BodyId(); });
      same = old.ok() && !old->external && Equal(old->attribute.value, *value);
    }
    if (same) {
      out.AddSlice(f->whole);
    } else {
      QR_RETURN_IF_ERROR(PlanAttribute({std::string(header.name), *value}, f->bytes, out));
    }
  }
  for (const Attribute& a : now) {
    if (std::find(done.begin(), done.end(), &a.value) != done.end()) continue;
    QR_RETURN_IF_ERROR(PlanAttribute(a, {}, out));
  }
  return {};
}

Status Planner::PlanAttribute(const Attribute& attribute, std::string_view original, Rope& out) {
  std::string text;
  PutBytes(text, AttributeProto::kNameFieldNumber, attribute.name);
  std::visit(SpellSimple{text}, attribute.value);
  const AttrKind kind = KindOf(attribute.value);
  if (kind != AttrKind::kUndefined) {
    PutInt(text, AttributeProto::kTypeFieldNumber, static_cast<int64_t>(kind));
  }
  WireReader fields(original);
  while (const WireField* f = fields.Next()) {
    if (StaysWithAttribute(f->number)) text += f->whole;
  }
  Rope content(storage_);
  content.AddCopy(text);
  const auto add_graph = [&](BodyId body, int number) -> Status {
    Rope graph(storage_);
    QR_RETURN_IF_ERROR(PlanGraph(body, graph));
    content.AddMessage(number, std::move(graph));
    return {};
  };
  if (const auto* tensor = std::get_if<Tensor>(&attribute.value)) {
    const std::string_view old = FindBytes(original, AttributeProto::kTFieldNumber);
    QR_RETURN_IF_ERROR(
        PlanTensor(*tensor, TensorName(old), old, AttributeProto::kTFieldNumber, content));
  } else if (const auto* tensors = std::get_if<std::vector<Tensor>>(&attribute.value)) {
    for (const Tensor& t : *tensors) {
      QR_RETURN_IF_ERROR(PlanTensor(t, {}, {}, AttributeProto::kTensorsFieldNumber, content));
    }
  } else if (const auto* body = std::get_if<BodyId>(&attribute.value)) {
    QR_RETURN_IF_ERROR(add_graph(*body, AttributeProto::kGFieldNumber));
  } else if (const auto* bodies = std::get_if<std::vector<BodyId>>(&attribute.value)) {
    for (const BodyId b : *bodies) {
      QR_RETURN_IF_ERROR(add_graph(b, AttributeProto::kGraphsFieldNumber));
    }
  }
  out.AddMessage(NodeProto::kAttributeFieldNumber, std::move(content));
  return {};
}

Status Planner::PlanConstantNode(ValueId v, Rope& out) {
  std::string text;
  PutBytes(text, NodeProto::kOutputFieldNumber, graph_.name(v));
  PutBytes(text, NodeProto::kOpTypeFieldNumber, "Constant");
  Rope node(storage_);
  node.AddCopy(text);
  QR_RETURN_IF_ERROR(PlanAttribute({"value", *graph_.constant(v)}, {}, node));
  out.AddMessage(FunctionProto::kNodeFieldNumber, std::move(node));
  return {};
}

}  // namespace qrewrite
