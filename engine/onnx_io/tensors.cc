#include "engine/onnx_io/tensors.h"

#include <array>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <onnx/onnx_pb.h>

#include "engine/base/diagnostics.h"
#include "engine/onnx_io/wire.h"

namespace qrewrite {
namespace {

using onnx::TensorProto;
using KeyValue = onnx::StringStringEntryProto;

constexpr int kMaxTensorField = 16;

// A TensorProto split into its parts; elements in typed fields are only counted.
struct RawTensor {
  std::string_view name;
  Dims dims;
  int64_t dtype = 0;
  bool has_raw = false;
  std::string_view raw;
  std::array<uint64_t, kMaxTensorField> counts = {};  // elements of each typed field
  bool has_typed = false;                             // has one of them any?
  std::vector<ExternalData::Entry> entries;
  bool external = false;
  bool segmented = false;
};

struct TypedField {
  int number = 0;
  uint64_t width = 0;  // bytes of an element on the wire; 0: varints
};

// Where TensorProto keeps elements of a type that are not in raw_data.
TypedField TypedFieldOf(DType dtype) {
  switch (dtype) {
    case DType::kFloat:
    case DType::kComplex64: return {TensorProto::kFloatDataFieldNumber, 4};
    case DType::kDouble:
    case DType::kComplex128: return {TensorProto::kDoubleDataFieldNumber, 8};
    case DType::kInt64: return {TensorProto::kInt64DataFieldNumber, 0};
    case DType::kUint32:
    case DType::kUint64: return {TensorProto::kUint64DataFieldNumber, 0};
    case DType::kString: return {TensorProto::kStringDataFieldNumber, 0};
    default: return {TensorProto::kInt32DataFieldNumber, 0};
  }
}

// Entries of the typed field that `count` elements take: int4 has two elements in an entry.
uint64_t EntriesFor(DType dtype, uint64_t count) {
  const int bits = Info(dtype).bits;
  if (bits == 4 || bits == 2) return PackedBytes(dtype, count);
  if (dtype == DType::kComplex64 || dtype == DType::kComplex128) return 2 * count;
  return count;
}

bool CountEntries(const WireField& f, RawTensor& t) {
  t.has_typed |= f.type != WireType::kBytes || !f.bytes.empty();
  uint64_t& count = t.counts[static_cast<size_t>(f.number)];
  if (f.number == TensorProto::kStringDataFieldNumber) {
    count += f.type == WireType::kBytes;
    return true;
  }
  const uint64_t width = f.number == TensorProto::kFloatDataFieldNumber    ? 4
                         : f.number == TensorProto::kDoubleDataFieldNumber ? 8
                                                                           : 0;
  if (width > 0) {
    if (f.type == WireType::kBytes) count += f.bytes.size() / width;
    if (f.type == (width == 4 ? WireType::kFixed32 : WireType::kFixed64)) ++count;
    return f.type != WireType::kBytes || f.bytes.size() % width == 0;
  }
  return ForEachVarint(f, [&count](uint64_t) { ++count; });
}

bool ParseEntry(std::string_view message, RawTensor& t) {
  ExternalData::Entry& entry = t.entries.emplace_back();
  WireReader fields(message);
  while (const WireField* f = fields.Next()) {
    if (f->IsBytes(KeyValue::kKeyFieldNumber)) entry.key = f->bytes;
    if (f->IsBytes(KeyValue::kValueFieldNumber)) entry.value = f->bytes;
  }
  return fields.ok();
}

bool Split(std::string_view message, RawTensor& t) {
  bool ok = true;
  WireReader fields(message);
  while (const WireField* f = fields.Next()) {
    switch (f->number) {
      case TensorProto::kDimsFieldNumber:
        ok &= ForEachVarint(*f, [&t](uint64_t d) { t.dims.push_back(static_cast<int64_t>(d)); });
        break;
      case TensorProto::kDataTypeFieldNumber:
        if (f->type == WireType::kVarint) t.dtype = static_cast<int32_t>(f->value);
        break;
      case TensorProto::kSegmentFieldNumber: t.segmented = true; break;
      case TensorProto::kNameFieldNumber:
        if (f->type == WireType::kBytes) t.name = f->bytes;
        break;
      case TensorProto::kRawDataFieldNumber:
        t.has_raw = t.has_raw || f->type == WireType::kBytes;
        if (f->type == WireType::kBytes) t.raw = f->bytes;
        break;
      case TensorProto::kExternalDataFieldNumber:
        if (f->type == WireType::kBytes) ok &= ParseEntry(f->bytes, t);
        break;
      case TensorProto::kDataLocationFieldNumber:
        if (f->type == WireType::kVarint) t.external = f->value == TensorProto::EXTERNAL;
        break;
      case TensorProto::kFloatDataFieldNumber:
      case TensorProto::kInt32DataFieldNumber:
      case TensorProto::kStringDataFieldNumber:
      case TensorProto::kInt64DataFieldNumber:
      case TensorProto::kDoubleDataFieldNumber:
      case TensorProto::kUint64DataFieldNumber: ok &= CountEntries(*f, t); break;
      default: break;
    }
  }
  return ok && fields.ok();
}

template <class T>
void PutNumber(std::vector<std::byte>& out, T value) {
  const auto* bytes = reinterpret_cast<const std::byte*>(&value);
  out.insert(out.end(), bytes, bytes + sizeof(T));
}

// 6 bit elements are one entry each, but packed without gaps in memory.
std::vector<std::byte> PackSixBits(const std::vector<std::byte>& elements) {
  std::vector<std::byte> out((elements.size() * 6 + 7) / 8);
  for (size_t i = 0; i < elements.size(); ++i) {
    const unsigned bits = static_cast<unsigned>(elements[i]) & 0x3f;
    const size_t bit = i * 6;
    out[bit / 8] |= static_cast<std::byte>(bits << (bit % 8));
    if (bit % 8 > 2) out[bit / 8 + 1] |= static_cast<std::byte>(bits >> (8 - bit % 8));
  }
  return out;
}

void PutElement(std::vector<std::byte>& out, DType dtype, uint64_t value) {
  const int bits = Info(dtype).bits;
  if (dtype == DType::kBool) value = value != 0;
  if (bits <= 8) return out.push_back(static_cast<std::byte>(value));
  if (bits == 16) return PutNumber(out, static_cast<uint16_t>(value));
  if (bits == 32) return PutNumber(out, static_cast<uint32_t>(value));
  PutNumber(out, value);
}

// Elements of a varint field. The entries were counted, so they fit the shape.
Result<Tensor> DecodeVarints(std::string_view message, DType dtype, Dims dims, int number) {
  std::vector<std::byte> out;
  const int bits = Info(dtype).bits;
  out.reserve(bits == 6 ? static_cast<size_t>(Count(dims))
                        : PackedBytes(dtype, static_cast<uint64_t>(Count(dims))));
  WireReader fields(message);
  while (const WireField* f = fields.Next()) {
    if (f->number != number) continue;
    ForEachVarint(*f, [&](uint64_t value) { PutElement(out, dtype, value); });
  }
  if (bits == 6) out = PackSixBits(out);
  return Tensor::Own(dtype, std::move(dims), std::move(out));
}

// Elements of fixed width: one packed field has the layout of raw_data.
Result<Tensor> DecodeFixed(std::string_view message, DType dtype, Dims dims, TypedField typed,
                           const TensorSource& source) {
  const uint64_t size = PackedBytes(dtype, static_cast<uint64_t>(Count(dims)));
  std::vector<std::byte> out;
  WireReader fields(message);
  while (const WireField* f = fields.Next()) {
    if (f->number != typed.number) continue;
    if (f->type == WireType::kBytes) {
      const auto bytes = std::as_bytes(std::span(f->bytes));
      if (bytes.size() == size) return Tensor::View(dtype, std::move(dims), source.owner, bytes);
      out.insert(out.end(), bytes.begin(), bytes.end());
    } else if (f->type == WireType::kFixed32 && typed.width == 4) {
      PutNumber(out, static_cast<uint32_t>(f->value));
    } else if (f->type == WireType::kFixed64 && typed.width == 8) {
      PutNumber(out, f->value);
    }
  }
  return Tensor::Own(dtype, std::move(dims), std::move(out));
}

Tensor DecodeStrings(std::string_view message, Dims dims) {
  std::vector<std::string> strings;
  WireReader fields(message);
  while (const WireField* f = fields.Next()) {
    if (f->IsBytes(TensorProto::kStringDataFieldNumber)) strings.emplace_back(f->bytes);
  }
  return Tensor::Strings(std::move(dims), std::move(strings));
}

class Decoder {
 public:
  Decoder(std::string_view message, const TensorSource& source, std::string_view what)
      : message_(message), source_(source), what_(what) {}

  Result<ParsedTensor> Run() {
    if (!Split(message_, raw_)) return Fault("is damaged");
    ParsedTensor result{.name = raw_.name, .tensor = {}, .external = raw_.external};
    if (raw_.dtype <= 0) {
      return Fault(fmt::format("has the element type {}, which is undefined", raw_.dtype));
    }
    if (raw_.segmented) return Fault("is split into segments, which nothing supports");
    if (!IsKnownDType(static_cast<int>(raw_.dtype))) {
      if (raw_.external) return Fault("has external data of a type newer than this program");
      return result;
    }
    dtype_ = static_cast<DType>(raw_.dtype);
    const std::optional<int64_t> count = CheckedCount(raw_.dims);
    if (!count) {
      return Fault(fmt::format("has the shape [{}]: a negative or overflowing number of elements",
                               DimsText(raw_.dims)));
    }
    count_ = static_cast<uint64_t>(*count);
    if (int{raw_.has_typed} + int{!raw_.raw.empty()} + int{raw_.external} > 1) {
      return Fault("has data in more than one field, and they may differ");
    }
    QR_ASSIGN_OR_RETURN(result.tensor, raw_.external ? External() : Internal());
    return result;
  }

 private:
  Status Fault(std::string_view fault) const {
    const std::string who =
        raw_.name.empty() ? std::string(what_) : fmt::format("tensor `{}`", Printable(raw_.name));
    return {StatusCode::kInvalidModel, fmt::format("{} {}", who, fault)};
  }

  std::string Needs() const {
    return fmt::format("has the type {} and the shape [{}], which needs", Info(dtype_).name,
                       DimsText(raw_.dims));
  }

  Result<Tensor> External() {
    if (dtype_ == DType::kString) return Fault("has strings as external data");
    if (source_.external == nullptr) return Fault("has external data, but is in no model");
    auto slice = source_.external->Find(raw_.entries, PackedBytes(dtype_, count_));
    if (!slice.ok()) {
      const Diagnostic& fault = slice.status().diagnostics().front();
      const Status named = Fault(fmt::format("cannot be read: {}", fault.message));
      return Status(slice.status().code(), named.diagnostics());
    }
    const auto bytes = std::as_bytes(std::span(slice->view));
    return Tensor::View(dtype_, std::move(raw_.dims), slice->owner, bytes);
  }

  Result<Tensor> Internal() {
    const TypedField typed = TypedFieldOf(dtype_);
    const uint64_t entries = raw_.counts[static_cast<size_t>(typed.number)];
    if (raw_.has_raw && dtype_ != DType::kString && (!raw_.raw.empty() || entries == 0)) {
      const uint64_t size = PackedBytes(dtype_, count_);
      if (raw_.raw.size() != size) {
        return Fault(
            fmt::format("{} {} bytes of data, but there are {}", Needs(), size, raw_.raw.size()));
      }
      const auto bytes = std::as_bytes(std::span(raw_.raw));
      return Tensor::View(dtype_, std::move(raw_.dims), source_.owner, bytes);
    }
    const uint64_t needed = EntriesFor(dtype_, count_);
    if (entries != needed) {
      return Fault(
          fmt::format("{} {} entries of data, but there are {}", Needs(), needed, entries));
    }
    if (dtype_ == DType::kString) return DecodeStrings(message_, std::move(raw_.dims));
    if (typed.width > 0) {
      return DecodeFixed(message_, dtype_, std::move(raw_.dims), typed, source_);
    }
    return DecodeVarints(message_, dtype_, std::move(raw_.dims), typed.number);
  }

  std::string_view message_;
  const TensorSource& source_;
  std::string_view what_;
  RawTensor raw_;
  DType dtype_ = DType::kUndefined;
  uint64_t count_ = 0;
};

// Fields that hold elements or say where they are; they are spelled anew with new data.
bool IsData(int field) {
  switch (field) {
    case TensorProto::kDimsFieldNumber:
    case TensorProto::kDataTypeFieldNumber:
    case TensorProto::kSegmentFieldNumber:
    case TensorProto::kFloatDataFieldNumber:
    case TensorProto::kInt32DataFieldNumber:
    case TensorProto::kStringDataFieldNumber:
    case TensorProto::kInt64DataFieldNumber:
    case TensorProto::kDoubleDataFieldNumber:
    case TensorProto::kUint64DataFieldNumber:
    case TensorProto::kRawDataFieldNumber:
    case TensorProto::kExternalDataFieldNumber:
    case TensorProto::kDataLocationFieldNumber: return true;
    default: return false;
  }
}

}  // namespace

Result<ParsedTensor> ParseTensor(std::string_view message, const TensorSource& source,
                                 std::string_view what) {
  return Decoder(message, source, what).Run();
}

std::string DimsText(const Dims& dims) {
  return Printable(fmt::format("{}", fmt::join(dims, ", ")));
}

std::string_view TensorName(std::string_view message) {
  return FindBytes(message, TensorProto::kNameFieldNumber);
}

std::string SpellTensorHeader(const Tensor& tensor, std::string_view name,
                              std::string_view original) {
  std::string out;
  for (const int64_t dim : tensor.dims()) PutInt(out, TensorProto::kDimsFieldNumber, dim);
  PutInt(out, TensorProto::kDataTypeFieldNumber, static_cast<int64_t>(tensor.dtype()));
  if (!name.empty()) PutBytes(out, TensorProto::kNameFieldNumber, name);
  WireReader fields(original);
  while (const WireField* f = fields.Next()) {
    if (!IsData(f->number) && f->number != TensorProto::kNameFieldNumber) out += f->whole;
  }
  return out;
}

}  // namespace qrewrite
