#include "engine/onnx_io/body_reader.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>
#include <onnx/onnx_pb.h>

#include "engine/base/diagnostics.h"
#include "engine/onnx_io/attributes.h"
#include "engine/onnx_io/reader.h"
#include "engine/onnx_io/sparse.h"
#include "engine/onnx_io/types.h"
#include "engine/onnx_io/wire.h"

namespace qrewrite {
namespace {

using onnx::FunctionProto;
using onnx::GraphProto;
using onnx::SparseTensorProto;
using KeyValue = onnx::StringStringEntryProto;

Status Invalid(std::string message) { return {StatusCode::kInvalidModel, std::move(message)}; }

}  // namespace

struct BodyReader::RawGraph {
  FieldList nodes, initializers;
  std::vector<FieldSlice> sparse, inputs, outputs, value_infos, annotations;

  // Splits `message`; fields of other kinds go to `others`. False: malformed.
  bool Split(std::string_view message, std::vector<FieldSlice>& others) {
    WireReader fields(message);
    while (const WireField* f = fields.Next()) {
      if (f->IsBytes(GraphProto::kNodeFieldNumber)) {
        nodes.push_back(f->whole);
      } else if (f->IsBytes(GraphProto::kInitializerFieldNumber)) {
        initializers.push_back(f->whole);
      } else {
        ListFor(*f, others).push_back(f->whole);
      }
    }
    return fields.ok();
  }

 private:
  std::vector<FieldSlice>& ListFor(const WireField& f, std::vector<FieldSlice>& others) {
    if (f.type != WireType::kBytes) return others;
    switch (f.number) {
      case GraphProto::kSparseInitializerFieldNumber: return sparse;
      case GraphProto::kInputFieldNumber: return inputs;
      case GraphProto::kOutputFieldNumber: return outputs;
      case GraphProto::kValueInfoFieldNumber: return value_infos;
      case GraphProto::kQuantizationAnnotationFieldNumber: return annotations;
      default: return others;
    }
  }
};

BodySource& BodyReader::source_of(BodyId body) {
  if (source_.bodies.size() <= body.index) source_.bodies.resize(body.index + size_t{1});
  return source_.bodies[body.index];
}

ValueId BodyReader::Find(const Scope& scope, std::string_view name) const {
  return ValueId(scope.names.Find(name, [&](uint32_t v) { return graph_.name(ValueId(v)); }));
}

Status BodyReader::AddNamed(Scope& scope, std::string_view name, ValueId* value) {
  const auto [v, added] = scope.names.FindOrAdd(
      name, [&](uint32_t v) { return graph_.name(ValueId(v)); },
      [&] { return graph_.AddValue(scope.body, Borrowed{name}).index; });
  *value = ValueId(v);
  if (added) return {};
  return Invalid(
      fmt::format("the name `{}` has more than one producer: names of inputs, "
                  "initializers and node outputs must differ",
                  Printable(name)));
}

Status BodyReader::ReadGraph(std::string_view message, BodyId body, Scope* outer, int depth) {
  RawGraph raw;
  if (!raw.Split(message, source_of(body).others)) {
    return Invalid("the graph is damaged: it is not a valid protobuf message");
  }
  for (const FieldSlice field : source_of(body).others) {
    const std::string_view name = FindBytes(field, GraphProto::kNameFieldNumber);
    if (!name.empty()) graph_.mutable_body(body).name = name;
  }
  // Empty nodes cost two bytes each: a table for all of them is not worth it.
  const size_t names =
      std::min(raw.nodes.size() + raw.initializers.size() + raw.inputs.size(), message.size() / 16);
  // Room for what rules will name, too.
  Scope scope{.body = body, .outer = outer, .depth = depth, .names = NameTable(names + names / 8)};
  const size_t nodes = std::min(raw.nodes.size(), names);
  // As much again for what comes new: memory that is not touched costs nothing, a table that grows is there twice.
  graph_.Reserve(2 * nodes, 2 * names, 6 * nodes);
  if (outer == nullptr) source_.nodes.reserve(nodes);
  graph_.mutable_body(body).nodes.reserve(nodes);
  graph_.mutable_body(body).constants.reserve(std::min(raw.initializers.size(), names));
  QR_RETURN_IF_ERROR(DeclareInitializers(raw, scope));
  QR_RETURN_IF_ERROR(DeclareInputs(raw, scope));
  QR_RETURN_IF_ERROR(ReadNodes(raw.nodes, scope));
  QR_RETURN_IF_ERROR(ReadValueInfos(raw.value_infos, scope));
  QR_RETURN_IF_ERROR(ReadOutputs(raw, scope));
  QR_RETURN_IF_ERROR(ReadAnnotations(raw, scope));
  BodySource& source = source_of(body);
  for (auto* records : {&source.inputs, &source.outputs, &source.value_infos}) {
    for (ValueRecord& r : *records) r.declared = graph_.declared_id(r.value);
  }
  QR_RETURN_IF_ERROR(CheckAcyclic(scope));
  if (scope.outer == nullptr) graph_.AdoptNames(std::move(scope.names));
  return {};
}

Result<BodyId> BodyReader::ReadFunction(std::string_view message) {
  const BodyId b = graph_.AddBody(BodyKind::kFunction, BodyId());
  Body& body = graph_.mutable_body(b);
  FieldList nodes;
  std::vector<FieldSlice> value_infos;
  std::vector<std::string_view> inputs, outputs, imports, defaults;
  std::string_view overload;
  WireReader fields(message);
  while (const WireField* f = fields.Next()) {
    if (f->IsBytes(FunctionProto::kNodeFieldNumber)) {
      nodes.push_back(f->whole);
    } else if (f->IsBytes(FunctionProto::kInputFieldNumber)) {
      inputs.push_back(f->bytes);
    } else if (f->IsBytes(FunctionProto::kOutputFieldNumber)) {
      outputs.push_back(f->bytes);
    } else if (f->IsBytes(FunctionProto::kValueInfoFieldNumber)) {
      value_infos.push_back(f->whole);
    } else {
      source_of(b).others.push_back(f->whole);
      if (f->IsBytes(FunctionProto::kOpsetImportFieldNumber)) imports.push_back(f->bytes);
      if (f->IsBytes(FunctionProto::kAttributeProtoFieldNumber)) defaults.push_back(f->bytes);
      if (f->IsBytes(FunctionProto::kNameFieldNumber)) body.function.name = f->bytes;
      if (f->IsBytes(FunctionProto::kOverloadFieldNumber)) overload = f->bytes;
      if (f->IsBytes(FunctionProto::kDomainFieldNumber)) {
        body.function.domain = CanonicalDomain(f->bytes);
      }
    }
  }
  if (!overload.empty()) body.function.name = Overloaded(body.function.name, overload);
  body.name = body.function.name;
  const std::string who = fmt::format("function `{}`", Printable(body.function.text()));
  if (!fields.ok()) return Invalid(who + " is damaged");
  for (const std::string_view import : imports) {
    QR_RETURN_IF_ERROR(ReadOpsetImport(import, body.opset, who));
  }
  for (const std::string_view message : defaults) {
    QR_ASSIGN_OR_RETURN(Attribute attribute, ReadDefault(message, who));
    body.defaults.Set(attribute.name, std::move(attribute.value));
  }
  Scope scope{.body = b, .outer = nullptr, .depth = 0, .names = NameTable()};
  for (const std::string_view name : inputs) {
    ValueId v;
    QR_RETURN_IF_ERROR(AddNamed(scope, name, &v));
    graph_.AddInput(b, v);
  }
  QR_RETURN_IF_ERROR(ReadNodes(nodes, scope));
  QR_RETURN_IF_ERROR(ReadValueInfos(value_infos, scope));
  for (const std::string_view name : outputs) QR_RETURN_IF_ERROR(AddOutput(name, scope));
  for (ValueRecord& r : source_of(b).value_infos) r.declared = graph_.declared_id(r.value);
  QR_RETURN_IF_ERROR(CheckAcyclic(scope));
  return b;
}

// What the value of a function's attribute is if a call leaves it out. A graph, or a tensor in a data
// file, is carried alone.
Result<Attribute> BodyReader::ReadDefault(std::string_view message, const std::string& who) {
  const AttributeHeader header = ParseAttributeHeader(message);
  const auto carried = [&](AttrKind kind) {
    return Attribute{std::string(header.name), AttrOpaque{kind, std::string(message)}};
  };
  if (header.has_graphs) return carried(AttrKind::kGraph);
  QR_ASSIGN_OR_RETURN(ParsedAttribute parsed,
                      ParseAttribute(
                          message, tensors_, [&] { return who; },
                          [](std::string_view) -> Result<BodyId> { return BodyId(); }));
  if (parsed.external) return carried(KindOf(parsed.attribute.value));
  return std::move(parsed.attribute);
}

Status BodyReader::DeclareInitializers(const RawGraph& raw, Scope& scope) {
  std::vector<TensorRecord> records;
  records.reserve(raw.initializers.size());
  // Each is parsed while the place of the name of the one before comes into the cache.
  const auto parse = [&](size_t i) -> Result<ParsedTensor> {
    auto parsed =
        spelled_.Parse(ContentOf(raw.initializers[i]), tensors_, "an initializer without name");
    if (parsed.ok()) scope.names.Prefetch(parsed->name);
    return parsed;
  };
  ParsedTensor parsed, coming;
  if (!raw.initializers.empty()) {
    QR_ASSIGN_OR_RETURN(coming, parse(0));
  }
  for (size_t i = 0; i < raw.initializers.size(); ++i) {
    const FieldSlice field = raw.initializers[i];
    std::swap(parsed, coming);
    if (parsed.name.empty()) return Invalid("an initializer has no name");
    if (i + 1 < raw.initializers.size()) {
      QR_ASSIGN_OR_RETURN(coming, parse(i + 1));
    }
    ValueId v;
    QR_RETURN_IF_ERROR(AddNamed(scope, parsed.name, &v));
    const bool carried = !parsed.tensor.valid();
    if (!carried) {
      graph_.SetConstant(v, std::move(parsed.tensor));
    } else {
      carried_.resize(graph_.num_values());
      carried_[v.index] = true;
    }
    source_.has_external = source_.has_external || parsed.external;
    records.push_back({field, v, parsed.external, carried});
  }
  source_of(scope.body).initializers = std::move(records);
  for (const FieldSlice field : raw.sparse) {
    const std::string_view message = ContentOf(field);
    QR_RETURN_IF_ERROR(CheckSparse(message, tensors_, "a sparse initializer without name"));
    const std::string_view name =
        TensorName(FindBytes(message, SparseTensorProto::kValuesFieldNumber));
    if (name.empty()) return Invalid("a sparse initializer has no name");
    ValueId v;
    QR_RETURN_IF_ERROR(AddNamed(scope, name, &v));
    carried_.resize(graph_.num_values());
    carried_[v.index] = true;
    source_of(scope.body).sparse.push_back({v, field});
  }
  return {};
}

Status BodyReader::DeclareInputs(const RawGraph& raw, Scope& scope) {
  for (const FieldSlice field : raw.inputs) {
    QR_ASSIGN_OR_RETURN(const Declaration info, ReadDeclaration(ContentOf(field)));
    ValueId v = Find(scope, info.name);
    if (!v.valid()) {
      QR_RETURN_IF_ERROR(AddNamed(scope, info.name, &v));
    } else if (graph_.IsInput(v)) {
      return Invalid(fmt::format("the graph has two inputs `{}`", Printable(info.name)));
    }
    graph_.AddInput(scope.body, v);
    Declare(v, info.type);
    source_of(scope.body).inputs.push_back({.value = v, .field = field});
  }
  return {};
}

Result<BodyId> BodyReader::ReadSubgraph(std::string_view message, Scope& scope) {
  if (scope.depth >= kMaxSubgraphDepth) {
    return Invalid(fmt::format("subgraphs are nested more than {} levels deep", kMaxSubgraphDepth));
  }
  const BodyId body = graph_.AddBody(BodyKind::kSubgraph, scope.body);
  QR_RETURN_IF_ERROR(ReadGraph(message, body, &scope, scope.depth + 1));
  return body;
}

Status BodyReader::ReadOutputs(const RawGraph& raw, Scope& scope) {
  for (const FieldSlice field : raw.outputs) {
    QR_ASSIGN_OR_RETURN(const Declaration info, ReadDeclaration(ContentOf(field)));
    QR_RETURN_IF_ERROR(AddOutput(info.name, scope));
    const size_t i = graph_.body(scope.body).outputs.size() - 1;
    const ValueId v = graph_.output(scope.body, i);
    if (graph_.body_of(v) == scope.body) Declare(v, info.type);
    source_of(scope.body).outputs.push_back({.value = v, .field = field});
  }
  return {};
}

Status BodyReader::AddOutput(std::string_view name, Scope& scope) {
  const ValueId v = Resolve(name, scope);
  if (!v.valid()) {
    const Body& body = graph_.body(scope.body);
    return Invalid(fmt::format("the output `{}` of {} `{}` is produced by nothing", Printable(name),
                               body.kind == BodyKind::kFunction ? "function" : "graph",
                               Printable(body.name)));
  }
  graph_.AddOutput(scope.body, v);
  return {};
}

Status BodyReader::ReadValueInfos(const std::vector<FieldSlice>& fields, Scope& scope) {
  std::vector<ValueRecord>& records = source_of(scope.body).value_infos;
  for (const FieldSlice field : fields) {
    QR_ASSIGN_OR_RETURN(const Declaration info, ReadDeclaration(ContentOf(field)));
    const ValueId v = Find(scope, info.name);
    if (!v.valid()) {  // about nothing: an unchanged file keeps it, a changed one does not
      const bool perhaps = scope.body == graph_.main() && info.name.find("::") != info.name.npos;
      if (perhaps) source_.function_values.push_back({.value = {}, .field = field});
      continue;
    }
    Declare(v, info.type);
    records.push_back({.value = v, .field = field});
  }
  return {};
}

// Types repeat, so each spelling is read once.
Result<BodyReader::Declaration> BodyReader::ReadDeclaration(std::string_view message) {
  std::string_view name, type;
  int types = 0;
  WireReader fields(message);
  while (const WireField* f = fields.Next()) {
    if (f->IsBytes(onnx::ValueInfoProto::kNameFieldNumber)) name = f->bytes;
    if (f->IsBytes(onnx::ValueInfoProto::kTypeFieldNumber)) type = f->bytes, ++types;
  }
  const bool plain = fields.ok() && types == 1;
  if (plain) {
    const auto it = types_.find(type);
    if (it != types_.end()) return Declaration{name, it->second};
  }
  QR_ASSIGN_OR_RETURN(const ValueInfo info, ParseValueInfo(message, graph_));
  const uint32_t interned = graph_.InternType(info.type);
  if (plain) types_.emplace(type, interned);
  return Declaration{info.name, interned};
}

// What is said twice (an output that is in value_info too) must not lose what the first time knew.
void BodyReader::Declare(ValueId value, uint32_t interned) {
  const TypeInfo& type = graph_.type(interned);
  const TypeInfo& old = graph_.declared(value);
  if (type.is_tensor && type.dtype == DType::kUndefined && !type.has_rank) return;
  if (type.dtype == old.dtype && old.has_rank && !type.has_rank) return;
  graph_.SetDeclared(value, interned);
}

Status BodyReader::ReadAnnotations(const RawGraph& raw, Scope& scope) {
  using onnx::TensorAnnotation;
  for (const FieldSlice field : raw.annotations) {
    const std::string_view tensor =
        FindBytes(ContentOf(field), TensorAnnotation::kTensorNameFieldNumber);
    AnnotationRecord record{.field = field, .values = {Resolve(tensor, scope)}};
    WireReader fields(ContentOf(field));
    while (const WireField* f = fields.Next()) {
      if (!f->IsBytes(TensorAnnotation::kQuantParameterTensorNamesFieldNumber)) continue;
      record.values.push_back(Resolve(FindBytes(f->bytes, KeyValue::kValueFieldNumber), scope));
    }
    if (!fields.ok()) return Invalid("a quantization annotation is damaged");
    source_of(scope.body).annotations.push_back(std::move(record));
  }
  return {};
}

// A file whose nodes are in order has no cycle; only others are worth the search.
Status BodyReader::CheckAcyclic(const Scope& scope) {
  if (scope.sorted) return {};
  const auto order = TopologicalOrder(graph_, scope.body);
  return order.ok() ? Status() : order.status();
}

ValueId BodyReader::Resolve(std::string_view name, Scope& scope) {
  for (Scope* s = &scope; s != nullptr; s = s->outer) {
    const ValueId v = Find(*s, name);
    if (!v.valid()) continue;
    const bool carried = v.index < carried_.size() && carried_[v.index];
    if (!graph_.producer(v).valid() && !graph_.IsInput(v) && graph_.constant(v) == nullptr &&
        !carried) {
      s->sorted = false;
    }
    return v;
  }
  return ValueId();
}

}  // namespace qrewrite
