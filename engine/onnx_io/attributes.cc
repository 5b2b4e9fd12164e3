#include "engine/onnx_io/attributes.h"

#include <cstring>
#include <optional>
#include <utility>

#include <fmt/format.h>
#include <onnx/onnx_pb.h>

#include "engine/base/diagnostics.h"
#include "engine/onnx_io/sparse.h"
#include "engine/onnx_io/wire.h"

namespace qrewrite {
namespace {

using onnx::AttributeProto;

// An AttributeProto split into its fields; nested messages are slices.
struct RawAttribute {
  std::string_view name, reference;
  AttrKind kind = AttrKind::kUndefined;
  bool newer_kind = false;
  std::optional<float> f;
  std::optional<int64_t> i;
  std::optional<std::string_view> s, t, g;
  std::vector<float> floats;
  std::vector<int64_t> ints;
  std::vector<std::string_view> strings, tensors, graphs, sparse;
  bool opaque = false;  // has a field of a kind that is only carried
};

bool TakeFloats(const WireField& f, std::vector<float>& floats) {
  if (f.type == WireType::kFixed32) floats.push_back(f.AsFloat());
  if (f.type != WireType::kBytes) return true;
  const size_t old = floats.size();
  floats.resize(old + f.bytes.size() / sizeof(float));
  if (f.bytes.size() >= sizeof(float)) {
    std::memcpy(floats.data() + old, f.bytes.data(), (floats.size() - old) * sizeof(float));
  }
  return f.bytes.size() % sizeof(float) == 0;
}

bool TakeScalar(const WireField& f, RawAttribute& a) {
  switch (f.number) {
    case AttributeProto::kTypeFieldNumber:
      if (f.type != WireType::kVarint) return true;
      a.newer_kind = f.value > static_cast<uint64_t>(AttrKind::kTypeProtos);
      if (!a.newer_kind) a.kind = static_cast<AttrKind>(f.value);
      return true;
    case AttributeProto::kFFieldNumber:
      if (f.type == WireType::kFixed32) a.f = f.AsFloat();
      return true;
    case AttributeProto::kIFieldNumber:
      if (f.type == WireType::kVarint) a.i = static_cast<int64_t>(f.value);
      return true;
    case AttributeProto::kFloatsFieldNumber: return TakeFloats(f, a.floats);
    case AttributeProto::kIntsFieldNumber:
      return ForEachVarint(f, [&a](uint64_t v) { a.ints.push_back(static_cast<int64_t>(v)); });
    default: return true;
  }
}

void TakeBytes(const WireField& f, RawAttribute& a) {
  switch (f.number) {
    case AttributeProto::kNameFieldNumber: a.name = f.bytes; break;
    case AttributeProto::kRefAttrNameFieldNumber: a.reference = f.bytes; break;
    case AttributeProto::kSFieldNumber: a.s = f.bytes; break;
    case AttributeProto::kTFieldNumber: a.t = f.bytes; break;
    case AttributeProto::kGFieldNumber: a.g = f.bytes; break;
    case AttributeProto::kStringsFieldNumber: a.strings.push_back(f.bytes); break;
    case AttributeProto::kTensorsFieldNumber: a.tensors.push_back(f.bytes); break;
    case AttributeProto::kGraphsFieldNumber: a.graphs.push_back(f.bytes); break;
    case AttributeProto::kSparseTensorFieldNumber:
    case AttributeProto::kSparseTensorsFieldNumber:
      a.sparse.push_back(f.bytes);
      a.opaque = true;
      break;
    case AttributeProto::kTpFieldNumber:
    case AttributeProto::kTypeProtosFieldNumber: a.opaque = true; break;
    default: break;
  }
}

// Models of IR version 1 do not say the kind.
AttrKind GuessKind(const RawAttribute& a) {
  if (a.f) return AttrKind::kFloat;
  if (a.i) return AttrKind::kInt;
  if (a.s) return AttrKind::kString;
  if (a.t) return AttrKind::kTensor;
  if (a.g) return AttrKind::kGraph;
  if (!a.floats.empty()) return AttrKind::kFloats;
  if (!a.ints.empty()) return AttrKind::kInts;
  if (!a.strings.empty()) return AttrKind::kStrings;
  if (!a.tensors.empty()) return AttrKind::kTensors;
  if (!a.graphs.empty()) return AttrKind::kGraphs;
  return AttrKind::kUndefined;
}

const std::string& NameOf(AttrKind kind) {
  return onnx::AttributeProto_AttributeType_Name(
      static_cast<onnx::AttributeProto_AttributeType>(kind));
}

bool Split(std::string_view message, RawAttribute& a) {
  bool ok = true;
  WireReader fields(message);
  while (const WireField* f = fields.Next()) {
    if (f->type == WireType::kBytes) TakeBytes(*f, a);
    ok &= TakeScalar(*f, a);
  }
  if (a.kind == AttrKind::kUndefined && !a.newer_kind && !a.opaque) a.kind = GuessKind(a);
  return ok && fields.ok();
}

// Whether the field of the declared kind is there, or may be: an empty list, and the 0 of some writers, leave no trace.
bool HoldsItsKind(const RawAttribute& a) {
  switch (a.kind) {
    case AttrKind::kFloat: return a.f.has_value();
    case AttrKind::kInt: return a.i.has_value();
    case AttrKind::kString: return a.s.has_value();
    case AttrKind::kFloats: return !a.floats.empty();
    case AttrKind::kInts: return !a.ints.empty();
    case AttrKind::kStrings: return !a.strings.empty();
    case AttrKind::kTensors: return !a.tensors.empty();
    case AttrKind::kGraphs: return !a.graphs.empty();
    default: return true;  // others are looked at where they are read
  }
}

class Converter {
 public:
  Converter(std::string_view message, RawAttribute& raw, const TensorSource& source,
            FunctionRef<std::string()> node,
            FunctionRef<Result<BodyId>(std::string_view)> read_graph)
      : message_(message), raw_(raw), source_(source), node_(node), read_graph_(read_graph) {}

  Result<AttrValue> Value() {
    if (!raw_.reference.empty()) {
      return AttrValue(AttrReference{std::string(raw_.reference), raw_.kind});
    }
    if (const AttrKind held = GuessKind(raw_);
        held != AttrKind::kUndefined && !HoldsItsKind(raw_)) {
      return Fault(fmt::format("is declared as {} and holds {}", NameOf(raw_.kind), NameOf(held)));
    }
    switch (raw_.kind) {
      case AttrKind::kFloat: return AttrValue(raw_.f.value_or(0.0f));
      case AttrKind::kInt: return AttrValue(raw_.i.value_or(0));
      case AttrKind::kString: return AttrValue(std::string(raw_.s.value_or("")));
      case AttrKind::kFloats: return AttrValue(std::move(raw_.floats));
      case AttrKind::kInts: return AttrValue(std::move(raw_.ints));
      case AttrKind::kStrings:
        return AttrValue(std::vector<std::string>(raw_.strings.begin(), raw_.strings.end()));
      case AttrKind::kTensor: return OneTensor();
      case AttrKind::kTensors: return ManyTensors();
      case AttrKind::kGraph: return OneGraph();
      case AttrKind::kGraphs: return ManyGraphs();
      default: return Opaque();
    }
  }

  bool external() const { return external_; }

  Status Fault(std::string_view fault) const {
    return {StatusCode::kInvalidModel, fmt::format("{} {}", What(), fault)};
  }

 private:
  std::string What() const {
    return fmt::format("attribute `{}` of {}", Printable(raw_.name), node_());
  }

  Result<AttrValue> Opaque() const {
    for (const std::string_view message : raw_.sparse) {
      QR_RETURN_IF_ERROR(CheckSparse(message, source_, What()));
    }
    return AttrValue(AttrOpaque{raw_.kind, std::string(message_)});
  }

  // Not valid: of a type newer than this program.
  Result<Tensor> ReadTensor(std::string_view message) {
    Result<ParsedTensor> parsed = ParseTensor(message, source_, What());
    if (!parsed.ok()) return parsed.status();
    external_ = external_ || parsed->external;
    return std::move(parsed->tensor);
  }

  Result<AttrValue> OneTensor() {
    if (!raw_.t) return Fault("has no tensor");
    QR_ASSIGN_OR_RETURN(Tensor tensor, ReadTensor(*raw_.t));
    if (!tensor.valid()) return Opaque();
    return AttrValue(std::move(tensor));
  }

  Result<AttrValue> ManyTensors() {
    std::vector<Tensor> tensors;
    for (const std::string_view message : raw_.tensors) {
      QR_ASSIGN_OR_RETURN(Tensor tensor, ReadTensor(message));
      if (!tensor.valid()) return Opaque();
      tensors.push_back(std::move(tensor));
    }
    return AttrValue(std::move(tensors));
  }

  Result<AttrValue> OneGraph() {
    if (!raw_.g) return Fault("has no graph");
    QR_ASSIGN_OR_RETURN(const BodyId body, read_graph_(*raw_.g));
    return AttrValue(body);
  }

  Result<AttrValue> ManyGraphs() {
    std::vector<BodyId> bodies;
    for (const std::string_view message : raw_.graphs) {
      QR_ASSIGN_OR_RETURN(const BodyId body, read_graph_(message));
      bodies.push_back(body);
    }
    return AttrValue(std::move(bodies));
  }

  std::string_view message_;
  RawAttribute& raw_;
  const TensorSource& source_;
  FunctionRef<std::string()> node_;
  FunctionRef<Result<BodyId>(std::string_view)> read_graph_;
  bool external_ = false;
};

}  // namespace

Result<ParsedAttribute> ParseAttribute(std::string_view message, const TensorSource& source,
                                       FunctionRef<std::string()> node,
                                       FunctionRef<Result<BodyId>(std::string_view)> read_graph) {
  RawAttribute raw;
  const bool ok = Split(message, raw);
  Converter converter(message, raw, source, node, read_graph);
  if (!ok) return converter.Fault("is damaged");
  if (raw.name.empty()) {
    return Status(StatusCode::kInvalidModel,
                  fmt::format("{} has an attribute without name", node()));
  }
  QR_ASSIGN_OR_RETURN(AttrValue value, converter.Value());
  return ParsedAttribute{.attribute = {std::string(raw.name), std::move(value)},
                         .external = converter.external()};
}

AttributeHeader ParseAttributeHeader(std::string_view message) {
  AttributeHeader header;
  WireReader fields(message);
  while (const WireField* f = fields.Next()) {
    if (f->IsBytes(AttributeProto::kNameFieldNumber)) header.name = f->bytes;
    header.has_graphs |=
        f->IsBytes(AttributeProto::kGFieldNumber) || f->IsBytes(AttributeProto::kGraphsFieldNumber);
  }
  return header;
}

}  // namespace qrewrite
