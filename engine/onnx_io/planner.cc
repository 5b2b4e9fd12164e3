#include "engine/onnx_io/planner.h"

#include <set>
#include <utility>

#include <onnx/onnx_pb.h>

#include "engine/onnx_io/wire.h"

namespace qrewrite {
namespace {

using onnx::FunctionProto;
using onnx::GraphProto;
using onnx::ModelProto;
using onnx::OperatorSetIdProto;

int NumberOf(FieldSlice field) {
  WireReader fields(field);
  const WireField* f = fields.Next();
  return f == nullptr ? 0 : f->number;
}

}  // namespace

class Planner::OpsetImports {
 public:
  OpsetImports(const std::map<std::string, int64_t>& imports, int number)
      : imports_(imports), number_(number) {}

  // An import of the source: verbatim if it still holds, dropped if the domain is gone.
  void AddOriginal(FieldSlice field, Rope& out) {
    const std::string_view original = ContentOf(field);
    const std::string_view spelled = FindBytes(original, OperatorSetIdProto::kDomainFieldNumber);
    const auto it = imports_.find(std::string(CanonicalDomain(spelled)));
    if (it == imports_.end() || !done_.insert(it->first).second) return;
    int64_t version = 0;
    std::string changed;
    WireReader fields(original);
    while (const WireField* f = fields.Next()) {
      if (f->IsVarint(OperatorSetIdProto::kVersionFieldNumber)) {
        version = static_cast<int64_t>(f->value);
      } else {
        changed += f->whole;
      }
    }
    if (version == it->second) return out.AddSlice(field);
    PutInt(changed, OperatorSetIdProto::kVersionFieldNumber, it->second);
    out.AddMessage(number_, changed);
  }

  void AddRest(Rope& out) {
    for (const auto& [domain, version] : imports_) {
      if (!done_.insert(domain).second) continue;
      std::string import;
      PutBytes(import, OperatorSetIdProto::kDomainFieldNumber, domain);
      PutInt(import, OperatorSetIdProto::kVersionFieldNumber, version);
      out.AddMessage(number_, import);
    }
  }

 private:
  const std::map<std::string, int64_t>& imports_;
  int number_;
  std::set<std::string> done_;
};

Planner::Planner(const Graph& graph, const ModelSource& source, const TensorSource& tensors,
                 PlanOptions options)
    : graph_(graph),
      source_(source),
      tensors_(tensors),
      options_(std::move(options)),
      carried_(graph.num_values()),
      announced_(graph.num_values()),
      initialized_(graph.num_values()) {
  for (const BodySource& body : source_.bodies) {
    for (const SparseRecord& r : body.sparse) carried_[r.value.index] = true;
    for (const TensorRecord& r : body.initializers) {
      if (r.carried) carried_[r.value.index] = true;
    }
  }
}

const BodySource& Planner::source_of(BodyId body) const {
  static const BodySource kNew;
  return body.index < source_.bodies.size() ? source_.bodies[body.index] : kNew;
}

std::string_view Planner::source_of(NodeId n) const {
  return n.index < source_.nodes.size() ? ContentOf(source_.nodes[n.index]) : std::string_view();
}

bool Planner::IsPresent(ValueId v) const {
  return graph_.alive(v) && (graph_.producer(v).valid() || graph_.IsInput(v) ||
                             graph_.constant(v) != nullptr || carried_[v.index]);
}

Result<Rope> Planner::PlanModel() {
  FindNamed();
  Rope out(storage_);
  OpsetImports imports(graph_.opset(), ModelProto::kOpsetImportFieldNumber);
  bool has_ir_version = graph_.ir_version == 0;
  std::vector<uint8_t> functions(graph_.num_bodies());
  for (const ModelField& field : source_.fields) {
    if (field.function.valid()) {
      functions[field.function.index] = true;
      if (graph_.body(field.function).alive) {
        QR_RETURN_IF_ERROR(PlanFunction(field.function, out));
      }
    } else if (field.number == ModelProto::kGraphFieldNumber) {
      Rope graph(storage_);
      QR_RETURN_IF_ERROR(PlanGraph(graph_.main(), graph));
      out.AddMessage(ModelProto::kGraphFieldNumber, std::move(graph));
    } else if (field.number == ModelProto::kOpsetImportFieldNumber) {
      imports.AddOriginal(field.field, out);
    } else if (field.number != ModelProto::kIrVersionFieldNumber) {
      out.AddSlice(field.field);
    } else if (!std::exchange(has_ir_version, true)) {
      std::string version;
      PutInt(version, ModelProto::kIrVersionFieldNumber, graph_.ir_version);
      out.AddCopy(version);
    }
  }
  if (!has_ir_version) {
    std::string version;
    PutInt(version, ModelProto::kIrVersionFieldNumber, graph_.ir_version);
    out.AddCopy(version);
  }
  // Version 1 of the default domain is what a model without imports means.
  const bool implied =
      graph_.ir_version < 3 && graph_.opset() == std::map<std::string, int64_t>{{"", 1}};
  if (!implied) imports.AddRest(out);
  for (uint32_t i = 0; i < functions.size(); ++i) {
    const Body& body = graph_.body(BodyId(i));
    if (body.kind != BodyKind::kFunction || !body.alive || functions[i]) continue;
    QR_RETURN_IF_ERROR(PlanFunction(BodyId(i), out));
  }
  return out;
}

Status Planner::PlanGraph(BodyId b, Rope& out) {
  const BodySource& source = source_of(b);
  std::vector<NodeId> order;
  QR_RETURN_IF_ERROR(PlanNodes(b, GraphProto::kNodeFieldNumber, order, out));
  for (const FieldSlice field : source.others) out.AddSlice(field);
  if (b.index >= source_.bodies.size()) {
    std::string name;
    PutBytes(name, GraphProto::kNameFieldNumber, graph_.body(b).name);
    out.AddCopy(name);
  }
  QR_RETURN_IF_ERROR(PlanInitializers(b, out));
  PlanInputs(b, out);
  PlanOutputs(b, out);
  PlanValueInfos(b, GraphProto::kValueInfoFieldNumber, order, out);
  if (b == graph_.main()) PlanFunctionValues(out);
  PlanAnnotations(b, out);
  PlanSparse(b, out);
  return {};
}

Status Planner::PlanFunction(BodyId b, Rope& out) {
  const Body& body = graph_.body(b);
  Rope function(storage_);
  OpsetImports imports(body.opset, FunctionProto::kOpsetImportFieldNumber);
  for (const FieldSlice field : source_of(b).others) {
    if (NumberOf(field) == FunctionProto::kOpsetImportFieldNumber) {
      imports.AddOriginal(field, function);
    } else {
      function.AddSlice(field);
    }
  }
  std::string text;
  if (b.index >= source_.bodies.size()) {
    PutBytes(text, FunctionProto::kNameFieldNumber, body.function.name);
    PutBytes(text, FunctionProto::kDomainFieldNumber, body.function.domain);
  }
  for (const ValueId v : body.inputs) {
    PutBytes(text, FunctionProto::kInputFieldNumber, graph_.name(v));
  }
  for (size_t i = 0; i < body.outputs.size(); ++i) {
    const ValueId v = graph_.output(b, i);
    PutBytes(text, FunctionProto::kOutputFieldNumber, v.valid() ? graph_.name(v) : "");
  }
  function.AddCopy(text);
  imports.AddRest(function);
  // A function has no initializers.
  for (const ValueId v : body.constants) {
    if (!graph_.alive(v) || graph_.constant(v) == nullptr || graph_.body_of(v) != b) continue;
    QR_RETURN_IF_ERROR(PlanConstantNode(v, function));
  }
  std::vector<NodeId> order;
  QR_RETURN_IF_ERROR(PlanNodes(b, FunctionProto::kNodeFieldNumber, order, function));
  PlanValueInfos(b, FunctionProto::kValueInfoFieldNumber, order, function);
  out.AddMessage(ModelProto::kFunctionsFieldNumber, std::move(function));
  return {};
}

}  // namespace qrewrite
