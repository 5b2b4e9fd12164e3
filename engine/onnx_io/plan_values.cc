// Constants and declarations of values.
#include <functional>
#include <unordered_map>
#include <utility>

#include <fmt/format.h>
#include <onnx/onnx_pb.h>

#include "engine/onnx_io/planner.h"
#include "engine/onnx_io/types.h"
#include "engine/onnx_io/wire.h"

namespace qrewrite {
namespace {

using onnx::GraphProto;
using onnx::SparseTensorProto;
using onnx::TensorProto;
using onnx::ValueInfoProto;
using KeyValue = onnx::StringStringEntryProto;

// Tensors up to this size are copied into the plan; larger ones are read when they are written.
constexpr uint64_t kCopied = 256;

// Readers map data files: large tensors begin on a page, small ones on a cache line.
constexpr uint64_t kPageAligned = uint64_t{1} << 20;
uint64_t AlignUp(uint64_t offset, uint64_t size) {
  const uint64_t alignment = size >= kPageAligned ? 4096 : 64;
  return (offset + alignment - 1) / alignment * alignment;
}

void PutEntry(std::string& out, std::string_view key, std::string_view value) {
  std::string entry;
  PutBytes(entry, KeyValue::kKeyFieldNumber, key);
  PutBytes(entry, KeyValue::kValueFieldNumber, value);
  PutBytes(out, TensorProto::kExternalDataFieldNumber, entry);
}

// The name that was read from a message is a part of it.
bool IsSlice(std::string_view part, std::string_view whole) {
  return !part.empty() && std::less_equal<>()(whole.data(), part.data()) &&
         std::less_equal<>()(part.data() + part.size(), whole.data() + whole.size());
}

// A message with another text in the bytes field `number`.
std::string WithText(std::string_view message, int number, std::string_view text) {
  std::string out;
  PutBytes(out, number, text);
  WireReader fields(message);
  while (const WireField* f = fields.Next()) {
    if (f->number != number) out += f->whole;
  }
  return out;
}

}  // namespace

bool IsSameTensor(const Tensor& a, const Tensor& b) {
  if (a.dtype() != b.dtype() || a.dims() != b.dims()) return false;
  if (a.key() == b.key()) return true;
  if (a.is_lazy() || b.is_lazy() || a.is_string() || b.is_string()) return false;
  return a.bytes().data() == b.bytes().data();
}

Status Planner::PlanTensor(Tensor tensor, std::string_view name, std::string_view original,
                           int number, Rope& out) {
  if (tensor.is_string() && tensor.is_lazy()) {  // the one type whose size is not known beforehand
    QR_ASSIGN_OR_RETURN(tensor, tensor.Materialize());
  }
  std::string text = SpellTensorHeader(tensor, name, original);
  Rope content(storage_);
  if (tensor.is_string()) {
    for (const std::string& s : tensor.strings()) {
      PutBytes(text, TensorProto::kStringDataFieldNumber, s);
    }
    content.AddCopy(text);
  } else if (!options_.data_file.empty() && tensor.byte_size() >= options_.external_threshold) {
    const uint64_t offset = AlignUp(data_size_, tensor.byte_size());
    PutEntry(text, "location", options_.data_file);
    PutEntry(text, "offset", std::to_string(offset));
    PutEntry(text, "length", std::to_string(tensor.byte_size()));
    PutInt(text, TensorProto::kDataLocationFieldNumber, TensorProto::EXTERNAL);
    content.AddCopy(text);
    data_.push_back({tensor, offset});
    data_size_ = offset + tensor.byte_size();
  } else {
    PutBytesHeader(text, TensorProto::kRawDataFieldNumber, tensor.byte_size());
    if (!tensor.is_lazy() && tensor.byte_size() <= kCopied) {
      text.append(reinterpret_cast<const char*>(tensor.bytes().data()), tensor.bytes().size());
      out.AddMessage(number, text);
      return {};
    }
    content.AddCopy(text);
    content.AddBytesOf(tensor);
  }
  out.AddMessage(number, std::move(content));
  return {};
}

// File order, then new ones.
Status Planner::PlanInitializers(BodyId b, Rope& out) {
  const auto first_time = [&](ValueId v) { return !std::exchange(initialized_[v.index], 1); };
  for (const TensorRecord& record : source_of(b).initializers) {
    if (named_.contains(record.value)) out.AddSlice(record.field);
    if (!graph_.alive(record.value) || graph_.body_of(record.value) != b) continue;
    if (first_time(record.value)) QR_RETURN_IF_ERROR(PlanInitializer(record, out));
  }
  for (const ValueId v : graph_.body(b).constants) {
    const Tensor* tensor = graph_.constant(v);
    if (!graph_.alive(v) || tensor == nullptr || graph_.body_of(v) != b || !first_time(v)) continue;
    QR_RETURN_IF_ERROR(
        PlanTensor(*tensor, graph_.name(v), {}, GraphProto::kInitializerFieldNumber, out));
  }
  return {};
}

bool Planner::HoldsTensor(std::string_view initializer, const Tensor& tensor) const {
  const Result<ParsedTensor> parsed = ParseTensor(initializer, tensors_, "");
  return parsed.ok() && parsed->tensor.valid() && IsSameTensor(parsed->tensor, tensor);
}

Status Planner::PlanInitializer(const TensorRecord& record, Rope& out) {
  constexpr int kField = GraphProto::kInitializerFieldNumber;
  const Tensor* now = graph_.constant(record.value);
  const std::string_view name = graph_.name(record.value);
  const std::string_view original = ContentOf(record.field);
  const bool same_name = IsSlice(name, original) || TensorName(original) == name;
  if (now == nullptr) {
    if (!record.carried || graph_.producer(record.value).valid()) return {};
    if (same_name) {
      out.AddSlice(record.field);
    } else {
      out.AddMessage(kField, WithText(original, TensorProto::kNameFieldNumber, name));
    }
    return {};
  }
  const bool goes_out = !options_.data_file.empty() && !now->is_string() &&
                        now->byte_size() >= options_.external_threshold;
  if (same_name && !record.external && !goes_out && !record.carried &&
      (!graph_.has_new_tensor(record.value) || HoldsTensor(original, *now))) {
    out.AddSlice(record.field);
    return {};
  }
  return PlanTensor(*now, name, original, kField, out);
}

void Planner::PlanSparse(BodyId b, Rope& out) {
  for (const SparseRecord& record : source_of(b).sparse) {
    const ValueId v = record.value;
    if (!graph_.alive(v) || graph_.constant(v) != nullptr || graph_.producer(v).valid()) continue;
    const std::string_view original = ContentOf(record.field);
    const std::string_view values = FindBytes(original, SparseTensorProto::kValuesFieldNumber);
    if (TensorName(values) == graph_.name(v)) {
      out.AddSlice(record.field);
      continue;
    }
    const std::string named = WithText(values, TensorProto::kNameFieldNumber, graph_.name(v));
    out.AddMessage(GraphProto::kSparseInitializerFieldNumber,
                   WithText(original, SparseTensorProto::kValuesFieldNumber, named));
  }
}

bool Planner::IsUnchanged(const ValueRecord& record) const {
  const std::string_view name =
      FindBytes(ContentOf(record.field), ValueInfoProto::kNameFieldNumber);
  return record.declared == graph_.declared_id(record.value) && name == graph_.name(record.value);
}

void Planner::PlanDeclaration(ValueId v, const ValueRecord* record, int number, Rope& out) {
  if (record != nullptr && IsUnchanged(*record)) return out.AddSlice(record->field);
  const std::string_view original =
      record == nullptr ? std::string_view() : ContentOf(record->field);
  out.AddMessage(number, SpellValueInfo(graph_, graph_.name(v), graph_.declared(v), original));
}

void Planner::PlanInputs(BodyId b, Rope& out) {
  std::unordered_map<ValueId, const ValueRecord*> records;
  for (const ValueRecord& r : source_of(b).inputs) records.emplace(r.value, &r);
  for (const ValueId v : graph_.inputs(b)) {
    const auto it = records.find(v);
    PlanDeclaration(v, it == records.end() ? nullptr : it->second, GraphProto::kInputFieldNumber,
                    out);
    announced_[v.index] = true;
  }
}

void Planner::PlanOutputs(BodyId b, Rope& out) {
  const std::vector<ValueRecord>& originals = source_of(b).outputs;
  std::unordered_map<ValueId, const ValueRecord*> records;
  for (const ValueRecord& r : originals) records.emplace(r.value, &r);
  for (size_t i = 0; i < graph_.body(b).outputs.size(); ++i) {
    const ValueId v = graph_.output(b, i);
    if (!v.valid()) continue;
    const auto it = records.find(v);
    const ValueRecord* record = it == records.end() ? nullptr : it->second;
    if (i < originals.size() && originals[i].value == v) record = &originals[i];
    PlanDeclaration(v, record, GraphProto::kOutputFieldNumber, out);
    if (graph_.body_of(v) == b) announced_[v.index] = true;
  }
}

// A type that is not known any more is dropped: readers take value_info for a fact.
void Planner::PlanValueInfos(BodyId b, int number, const std::vector<NodeId>& order, Rope& out) {
  const auto is_worth = [&](ValueId v) {
    const TypeInfo& type = graph_.declared(v);
    return type.is_tensor && type.dtype != DType::kUndefined;
  };
  for (const ValueRecord& record : source_of(b).value_infos) {
    const ValueId v = record.value;
    if (!IsPresent(v) || graph_.body_of(v) != b) continue;
    if (!IsUnchanged(record) && !is_worth(v) && graph_.declared(v).is_tensor) continue;
    PlanDeclaration(v, &record, number, out);
    announced_[v.index] = true;
  }
  for (const NodeId n : order) {
    for (size_t i = 0; i < graph_.num_outputs(n); ++i) {
      const ValueId v = graph_.output(n, i);
      if (!v.valid() || announced_[v.index] || !is_worth(v)) continue;
      PlanDeclaration(v, nullptr, number, out);
    }
  }
}

// They hold as long as the value has its name and its type; another type of an input of the model may
// reach any function.
void Planner::PlanFunctionValues(Rope& out) {
  for (const ValueRecord& input : source_of(graph_.main()).inputs) {
    if (input.declared != graph_.declared_id(input.value)) return;
  }
  for (const ValueRecord& record : source_.function_values) {
    const ValueId v = record.value;
    if (!IsPresent(v) || record.declared != graph_.declared_id(v)) continue;
    const std::string_view name =
        FindBytes(ContentOf(record.field), ValueInfoProto::kNameFieldNumber);
    if (name.ends_with(fmt::format("/{}", graph_.name(v)))) out.AddSlice(record.field);
  }
}

void Planner::PlanAnnotations(BodyId b, Rope& out) {
  using onnx::TensorAnnotation;
  for (const AnnotationRecord& record : source_of(b).annotations) {
    bool holds = record.values[0].valid();
    for (const ValueId v : record.values)
      holds = holds && (!v.valid() || IsPresent(v) || named_.contains(v));
    if (!holds) continue;
    std::string text;
    PutBytes(text, TensorAnnotation::kTensorNameFieldNumber, graph_.name(record.values[0]));
    size_t next = 1;
    WireReader fields(ContentOf(record.field));
    while (const WireField* f = fields.Next()) {
      if (f->IsBytes(TensorAnnotation::kTensorNameFieldNumber)) continue;
      const bool is_parameter = f->IsBytes(TensorAnnotation::kQuantParameterTensorNamesFieldNumber);
      const ValueId v = is_parameter ? record.values[next++] : ValueId();
      if (v.valid() && !named_.contains(v) &&
          FindBytes(f->bytes, KeyValue::kValueFieldNumber) != graph_.name(v)) {
        PutBytes(text, f->number, WithText(f->bytes, KeyValue::kValueFieldNumber, graph_.name(v)));
      } else {
        text += f->whole;
      }
    }
    out.AddMessage(GraphProto::kQuantizationAnnotationFieldNumber, text);
  }
}

}  // namespace qrewrite
